//! Row copies: loops that only copy adjacent elements of one array to adjacent ones of another, as those of
//! gathered rows do. They stay loops, which code generators turn into copies of blocks of memory.

use super::{BufferDecl, For, Location, Stmt, Storage};
use crate::kernel::Part;

impl For {
    /// The source and the target of the first part of a loop that only copies elements along the last dims
    /// of arrays of the caller.
    pub fn copied_row(&self, buffers: &[BufferDecl]) -> Option<(&Location, &Location)> {
        let [Stmt::Load(_, from), .., Stmt::Store(to, _)] = &self.body[..] else { return None };
        let [source, target] = [from, to].map(|location| &buffers[location.buffer as usize]);
        let is_of_caller = |buffer: &BufferDecl| matches!(buffer.storage, Storage::Caller { .. });
        let parts = 1 + usize::from(source.dtype.is_complex());
        let is_alike = source.dtype == target.dtype && is_of_caller(source) && is_of_caller(target);
        if !is_alike || from.buffer == to.buffer || self.body.len() != 2 * parts {
            return None;
        }
        let is_next = |location: &Location| {
            let (last, others) = location.at.split_last()?;
            let is_fixed = others.iter().all(|form| form.coefficient(self.index) == 0);
            (is_fixed && last.coefficient(self.index) == 1).then_some(())
        };
        is_next(from).and_then(|()| is_next(to))?;
        // Each part is loaded from the source, and stored to the target.
        let of_part = |part: Part| {
            let is_load = |stmt: &&Stmt| matches!(stmt, Stmt::Load(_, at) if is_part(at, from, part));
            let Stmt::Load(value, _) = self.body.iter().find(is_load)? else { return None };
            let is_store = |stmt: &Stmt| matches!(stmt, Stmt::Store(at, own) if own == value && is_part(at, to, part));
            self.body.iter().any(is_store).then_some(())
        };
        [Part::Re, Part::Im].into_iter().take(parts).try_for_each(of_part)?;
        Some((from, to))
    }
}

/// Whether a location is a part of the element of another one.
fn is_part(location: &Location, of: &Location, part: Part) -> bool {
    location.part == part && (location.buffer, &location.at) == (of.buffer, &of.at)
}
