//! Results that are streamed: the last-level cache, which other processes use, too, would evict them before
//! they are read again.

use super::super::Facts;
use crate::kernel::Buffer;
use crate::schedule::decide::{Call, bytes_of_buffer};
use smallvec::SmallVec;

/// The bytes that are read for each one that is written, from which on streaming is worth it while the
/// last-level cache holds all arrays. A core reads that cache about three times as fast as it writes memory,
/// so streaming takes as long as to read and write the cache if there are two. Measured on an AMD EPYC
/// (Zen 4).
const READ_FOR_WRITTEN: u64 = 2;

/// True if results are written past the caches, for this many bytes of all arrays.
pub fn exceeds_caches(facts: &Facts, bytes: u64) -> bool {
    bytes > facts.last_level
}

impl Call<'_> {
    /// True if results are worth streaming, for the loops of the whole call. `was_written` says whether their
    /// memory was written before: then a third of the last-level cache is the limit, if much is read.
    pub fn is_worth_streaming(&self, was_written: bool) -> bool {
        if self.kernel.fold.is_some() {
            return false;
        }
        let of = |(n, buffer): (usize, &Buffer)| {
            let strides = &self.bound.strides[n * self.bound.extents.len()..];
            bytes_of_buffer(buffer, &self.bound.extents, strides)
        };
        let buffers = || self.kernel.buffers.iter().enumerate();
        let written: u64 = buffers().filter(|(_, buffer)| buffer.written).map(of).fold(0, u64::saturating_add);
        // A stencil reads an array at several places.
        let mut arrays: SmallVec<[(_, u64); 4]> = SmallVec::new();
        for (n, buffer) in buffers().filter(|(_, buffer)| !buffer.written) {
            let (place, bytes) = (self.lowered.accesses[n].place, of((n, buffer)));
            match arrays.iter_mut().find(|(other, _)| *other == place) {
                Some((_, most)) => *most = bytes.max(*most),
                None => arrays.push((place, bytes)),
            }
        }
        let read = arrays.iter().fold(0u64, |all, (_, bytes)| all.saturating_add(*bytes));
        let is_less = was_written && read >= written.saturating_mul(READ_FOR_WRITTEN);
        exceeds_caches(self.facts, read.saturating_add(written).saturating_mul(if is_less { 3 } else { 1 }))
    }
}

/// The bytes that a gather accesses. It reads of an operand no more than about as much as it writes.
pub fn bytes_of_gather(written: u64, operands: impl Iterator<Item = u64>) -> u64 {
    operands.map(|bytes| bytes.min(written)).fold(written, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use crate::exec::{Arg, Backend, Executable, Options};
    use crate::schedule::facts;
    use ndarray::Array1;
    use rewright_ir::text::parse_module;

    /// Whether calls of an expression over this number of points stream, the first one and a later one.
    fn streams(head: &str, body: &str, points: usize) -> [bool; 2] {
        let text = format!(
            "func @f(%x: f64[n], %y: f64[n]) -> f64[?] {{\nentry:\n  %0 = arrayexpr {head} {{\n{body}\n }} : f64[?]\n  ret %0\n}}"
        );
        let module = parse_module(&text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
        let f = Executable::compile(&module, "f", Options { times: true, ..Options::default() }).unwrap();
        let (x, y) = (Array1::<f64>::zeros(points), Array1::<f64>::zeros(points));
        [1, 2].map(|calls| {
            (0..calls).for_each(|_| drop(f.call(&[Arg::from(&x), Arg::from(&y)]).unwrap()));
            f.schedules()[0].schedule.stream.unwrap()
        })
    }

    #[test]
    fn bytes_decide_whether_results_are_streamed() {
        let points = facts().last_level as usize / size_of::<f64>();
        let can_stream = Backend::available().any(|backend| backend == Backend::X64);
        let sum = ("[i: n] (x = %x[i], y = %y[i])", " t0 = add x, y\n yield t0");
        let double = ("[i: n] (x = %x[i])", " t0 = add x, x\n yield t0");
        let stencil = (
            "[i: n - 4] (a = %x[i], b = %x[i + 1], c = %x[i + 2], d = %x[i + 4])",
            " t0 = add a, b\n t1 = add t0, c\n t2 = add t1, d\n yield t2",
        );
        for ((head, body), part, want) in [
            (sum, 2.0, [true, true]),
            (sum, 0.5, [false, true]),
            (sum, 0.3, [false, false]),
            (double, 1.1, [true, true]),
            (double, 0.9, [false, false]),
            // An array that is read at several places counts once.
            (stencil, 1.1, [true, true]),
            (stencil, 0.9, [false, false]),
        ] {
            let arrays = if head == sum.0 { 3.0 } else { 2.0 };
            let points = (points as f64 * part / arrays) as usize;
            assert_eq!(streams(head, body, points), want.map(|streams| streams && can_stream), "{head}, {part}");
        }
    }
}
