//! Strip-mining: the number of points that are computed at once, if rows are copied to the frame or the
//! innermost loop has several stages.
//!
//! Pieces are so short that the first-level cache holds all their elements, while the first stages prefetch
//! those of the next piece. With many operands that would be a few points, and each piece restarts every
//! loop and every row. If pieces would be too short, long ones are used: only the rows between stages stay
//! in the first-level cache, and nothing is prefetched, because the next piece has no room there. Long
//! pieces are faster if the elements are in some cache, or if a stage does little with each element: it then
//! reads many rows at once, and the hardware prefetches them. If elements are in memory and each takes much
//! computation, software prefetching pays more.

use super::round_plan::RoundPlan;
use super::select::Row;
use super::stages::Stages;

/// The budget, in bytes, for a piece's elements in the first-level cache, and for copies of rows in the
/// frame. A single round or leaf may exceed it.
const BYTES: usize = 1 << 14;
/// The most points of a piece.
const MOST: usize = 1024;
/// Pieces of fewer points are too short, unless elements are in memory: sums of 20, 50 and 200 operands in
/// the caches take 1.2, 1.3 and 2 times as long as with long pieces.
const SHORT: usize = 128;
/// The most points of a long piece. With 1024 points nothing is faster, and rows that several stages read
/// take a tenth longer in the caches.
const LONG: usize = 512;
/// The instructions for each row below which long pieces are used: at 1 they are faster also for elements in
/// memory, at 2 both are equal.
const LITTLE: f64 = 2.0;
/// If not even this many points fit into the first-level cache, the second-level cache holds the prefetched
/// elements, and pieces can be longer.
const LEAST: usize = 32;
/// The points of a piece whose elements only the second-level cache holds.
const BEYOND: usize = 64;

/// See the module's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// The points of a piece.
    pub points: usize,
    /// The points of a piece in calls that copy rows; the frame has room for these copies.
    pub copied: usize,
    /// True if stages prefetch the next piece's elements.
    pub ahead: bool,
}

impl Pieces {
    /// For rows and stages. A piece is a multiple of a round, or of a leaf of `leaf` points.
    pub fn new(rows: &[Row], stages: &Stages, schedule: RoundPlan, leaf: usize) -> Pieces {
        let unit = schedule.points().max(leaf);
        let whole = |points: usize| points.clamp(unit, MOST.max(unit)) / unit * unit;
        let room = |bytes: usize| whole(BYTES / bytes.max(1));
        let moving = || rows.iter().filter(|row| row.moves);
        let passed: usize = stages.sizes.iter().sum();
        let copied = room(passed + moving().map(|row| row.size).sum::<usize>());
        let little = stages.work <= LITTLE * moving().count() as f64;
        let long = room(passed).min(whole(LONG));
        let (points, ahead) = match copied {
            _ if schedule.stages <= 1 => (copied, false),
            SHORT.. => (copied, true),
            // Stores are streamed if arrays are in memory; the operands are in memory as well.
            _ if little || !schedule.streams => (long, false),
            LEAST.. => (copied, true),
            _ if schedule.level.is_evex() => (whole(BEYOND), true),
            // Loops with AVX2 do not prefetch.
            _ => (long, false),
        };
        Pieces { points, copied, ahead }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Binary, Buffer, Kernel, KernelBuilder, Part, Wishes};
    use crate::x64::Level;
    use crate::x64::bytes::ByteSums;
    use crate::x64::select::Rows;
    use rewright_ir::DType;

    /// The sum of `operands` operands, with `work` multiplications of each.
    fn sum(operands: usize, work: usize, streaming: bool) -> Kernel {
        let mut k = KernelBuilder::new(1);
        let varies = || [true].into_iter().collect();
        let mut sum = None;
        for _ in 0..operands {
            let buffer = k.buffer(Buffer { dtype: DType::F64, written: false, varies: varies() });
            let element = k.load(buffer, Part::Re);
            let term = (0..work).fold(element, |term, _| k.binary(Binary::Mul, term, element));
            sum = Some(sum.map_or(term, |sum| k.binary(Binary::Add, sum, term)));
        }
        let out = k.buffer(Buffer { dtype: DType::F64, written: true, varies: varies() });
        k.store(out, Part::Re, sum.unwrap());
        let mut kernel = k.finish();
        kernel.wishes = Wishes { streaming, stages: None, ..kernel.wishes };
        kernel
    }

    fn pieces(operands: usize, work: usize, streaming: bool) -> Pieces {
        let kernel = sum(operands, work, streaming);
        let live = vec![true; kernel.insts.len()];
        let (stages, rows) = (Stages::new(&kernel, &live, Level::Avx512, &[]), Rows::new(&kernel, &live, &[]));
        let schedule = RoundPlan::new(&kernel, &live, (&ByteSums::default(), &stages), Level::Avx512);
        let pieces = Pieces::new(&rows.list, &stages, schedule, 0);
        assert!(pieces.copied <= pieces.points, "values that cross stages fit calls that copy rows: {pieces:?}");
        assert_eq!([pieces.points % schedule.points(), pieces.copied % schedule.points()], [0, 0]);
        pieces
    }

    #[test]
    fn operands_do_not_make_pieces_short() {
        for operands in [24, 50, 200, 1000] {
            for streaming in [false, true] {
                let found = pieces(operands, 0, streaming);
                assert_eq!((found.points, found.ahead), (LONG, false), "{operands} operands: {found:?}");
                assert!(found.copied * (operands + 2) * 8 <= BYTES.max(8 * 8 * (operands + 2)), "{found:?}");
            }
        }
    }

    #[test]
    fn memory_is_asked_where_much_is_done_with_each_element() {
        // All elements of a piece fit into the cache.
        assert_eq!(pieces(6, 40, false), pieces(6, 40, true));
        assert!(pieces(6, 40, true).ahead);
        // With more operands, nothing is prefetched if they are in a cache.
        assert!(!pieces(50, 8, false).ahead);
        let found = [50, 100, 400].map(|operands| pieces(operands, 8, true));
        assert!(found.iter().all(|found| found.ahead), "{found:?}");
        assert_eq!(found.map(|found| found.points), [32, BEYOND, BEYOND]);
    }
}
