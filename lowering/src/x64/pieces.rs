//! How many points of a row are computed at once, where rows are copied to the frame or the innermost loop is in stages.
//!
//! Pieces are so short that the first-level cache holds all their elements, while the first stages ask for those of the next piece. Of many operands
//! that would be a few points, and a piece begins each loop and each row anew. Where it would be too short there are long ones: only what goes
//! between stages stays in the first-level cache, and nothing is asked for, since the next piece has no room there. That is the faster way as long as
//! elements are in some cache, and where a stage does so little with each that it reads many rows at once, for which the processor asks by itself. If
//! elements are in memory and much is done with each, asking is worth more.

use super::schedule::Schedule;
use super::select::Row;
use super::stages::Stages;

/// The bytes of a piece's elements in the first-level cache, and of copies of rows in the frame, if so few suffice.
const BYTES: usize = 1 << 14;
/// The most points of a piece.
const MOST: usize = 1024;
/// With fewer points than these a piece is too short, unless elements are in memory: sums of 20, 50 and 200 operands in the caches take 1.2, 1.3 and
/// 2 times as long as by long ones.
const SHORT: usize = 128;
/// The most points of a long piece: of 1024 nothing is faster, and what several stages read takes a tenth longer in the caches.
const LONG: usize = 512;
/// So many instructions for each row are little: with 1 long pieces are the faster ones also for what is in memory, with 2 both are equal.
const LITTLE: f64 = 2.0;
/// Where not even so many points have room in the first-level cache, it is the second one that holds what is asked for: there is room for more.
const LEAST: usize = 32;
/// The points of a piece then.
const BEYOND: usize = 64;

/// See the module's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// The points of a piece.
    pub points: usize,
    /// The same in calls that copy rows, of which the frame has room for copies.
    pub copied: usize,
    /// True if stages ask for the next piece's elements.
    pub ahead: bool,
}

impl Pieces {
    /// For rows and stages; with room for a leaf of a row.
    pub fn new(rows: &[Row], stages: &Stages, schedule: Schedule, leaf: usize) -> Pieces {
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
            // What is written past the caches is in memory, and so is what is read.
            _ if little || !schedule.streams => (long, false),
            LEAST.. => (copied, true),
            _ if schedule.level.is_evex() => (whole(BEYOND), true),
            // Loops with AVX2 ask for nothing.
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

    /// The sum of so many operands, with so many multiplications of each.
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
        let (stages, rows) = (Stages::new(&kernel, &live, Level::Avx512), Rows::new(&kernel, &live));
        let schedule = Schedule::new(&kernel, &live, (&ByteSums::default(), &stages), Level::Avx512);
        let pieces = Pieces::new(&rows.list, &stages, schedule, 0);
        assert!(
            pieces.copied <= pieces.points,
            "what goes between stages has room in calls that copy rows: {pieces:?}"
        );
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
        // All of a piece stays in the cache.
        assert_eq!(pieces(6, 40, false), pieces(6, 40, true));
        assert!(pieces(6, 40, true).ahead);
        // Not of more operands, if it is there.
        assert!(!pieces(50, 8, false).ahead);
        let found = [50, 100, 400].map(|operands| pieces(operands, 8, true));
        assert!(found.iter().all(|found| found.ahead), "{found:?}");
        assert_eq!(found.map(|found| found.points), [32, BEYOND, BEYOND]);
    }
}
