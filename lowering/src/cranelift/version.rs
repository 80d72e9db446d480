//! Loop versioning: an innermost loop that accesses computed positions along the last dim of a buffer has a
//! version for adjacent elements. There an address is a base, an index and a constant scale, which is one
//! operand of an instruction. A product with a stride would delay each address, and loads that follow a store
//! to a computed position wait for that. If the loop has few statements, that version runs rounds of four
//! iterations, and then the rest.

use super::program::{ProgramEmitter, has_loop};
use crate::kernel::KernelError;
use crate::program::{For, Storage, Trip, count, defined, each_access};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, types};
use smallvec::SmallVec;

/// The most statements of a loop that has two versions: addresses are a small part of longer ones.
const MOST_STATEMENTS: usize = 256;

impl ProgramEmitter<'_> {
    /// Emits a loop, in two versions if it accesses computed positions.
    pub(super) fn versioned_loop(&mut self, nest: &For) -> Result<(), KernelError> {
        let mut all = None;
        let found = self.at_computed_positions(nest);
        for &(buffer, last) in &found {
            let stride = self.stride_along(buffer, last)?;
            let size = self.e.int(types::I64, self.program.buffers[buffer as usize].dtype.size() as i64);
            let is_adjacent = self.e.icmp(IntCC::Equal, stride, size);
            all = Some(all.map_or(is_adjacent, |all| self.e.b.ins().band(all, is_adjacent)));
        }
        let Some(all) = all else { return self.for_loop(nest) };
        let [adjacent, strided, after] = [(); 3].map(|()| self.e.b.create_block());
        self.e.branch(all, (adjacent, &[]), (strided, &[]));
        self.e.b.switch_to_block(adjacent);
        self.adjacent = found.iter().map(|&(buffer, _)| buffer).collect();
        self.for_loop(nest)?;
        self.e.jump(after, &[]);
        self.e.b.switch_to_block(strided);
        self.adjacent.clear();
        self.for_loop(nest)?;
        self.e.jump(after, &[]);
        self.e.b.switch_to_block(after);
        Ok(())
    }

    /// The buffers of the caller along whose last dims an innermost loop with computed positions moves or
    /// accesses several elements, and these dims. None for loops of few iterations, or with many statements.
    fn at_computed_positions(&self, nest: &For) -> SmallVec<[(u32, usize); 2]> {
        let mut found: SmallVec<[(u32, usize); 2]> = SmallVec::new();
        if nest.trip == Trip::Few || has_loop(&nest.body) || count(&nest.body) > MOST_STATEMENTS {
            return found;
        }
        let (inside, mut is_computed) = (defined(&nest.body), false);
        each_access(&nest.body, &mut |buffer, location, _| {
            let is_caller = matches!(self.program.buffers[buffer as usize].storage, Storage::Caller { .. });
            let Some(location) = location.filter(|_| is_caller) else { return };
            let Some((last, form)) = location.at.iter().enumerate().next_back() else { return };
            let mut moves = form.coefficient(nest.index) != 0 || form.constant != 0;
            for (value, _) in form.terms() {
                is_computed |= inside.contains(value);
                moves |= inside.contains(value);
            }
            if moves && !found.contains(&(buffer, last)) {
                found.push((buffer, last));
            }
        });
        if is_computed { found } else { SmallVec::new() }
    }
}
