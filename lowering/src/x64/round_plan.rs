//! The shape of the innermost loop: lanes, unrolling and stages.

use super::Level;
use super::bytes::ByteSums;
use super::pieces::Pieces;
use super::select::divide::dividing_dtype;
use super::stages::Stages;
use crate::kernel::{Binary, Fold, KInst, KOp, Kernel};
use rewright_ir::DType;
use rewright_ir::expr::Order;

/// The most points of a round; the number of remaining points then fits in a byte.
const MOST_POINTS: usize = 128;
/// A round is unrolled up to this many instructions.
const ENOUGH: usize = 96;
/// The bytes of the narrowest streaming store.
const LEAST_STREAMED: usize = 16;
/// The most groups in a round.
const MOST_GROUPS: usize = 4;
/// From this many stages on, more than one group is not worth its compilation.
pub const MANY_STAGES: usize = 8;

/// See the module's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundPlan {
    pub level: Level,
    /// The points of a group: as many as values of the widest dtype fill a register.
    pub lanes: usize,
    /// The groups of a round (unroll factor).
    pub groups: usize,
    /// The loops that the innermost one is cut into.
    pub stages: usize,
    /// True if there are also rounds with streaming stores.
    pub streams: bool,
}

impl RoundPlan {
    /// The schedule of a kernel. `live` says which instructions are live.
    pub fn new(kernel: &Kernel, live: &[bool], (sums, stages): (&ByteSums, &Stages), level: Level) -> RoundPlan {
        let used = || kernel.insts.iter().zip(live).filter(|(_, live)| **live).map(|(inst, _)| inst);
        let widest = match sums.items.is_empty() {
            true => used().map(|inst| width(kernel, inst, level)).max().unwrap_or(8),
            false => 1,
        };
        let lanes = level.register_bytes() / widest;
        // In tree order, a group has at most the lanes of that order.
        let lanes = match kernel.fold.as_ref() {
            Some(Fold { any_order: false, order: Order::Tree { lanes: own, .. }, .. }) => lanes.min(*own),
            Some(_) => lanes,
            None => kernel.wishes.lanes.map_or(lanes, |most| lanes.min(most as usize)),
        };
        let inner: Vec<&KInst> = used().filter(|inst| kernel.level(inst) as usize == kernel.axes).collect();
        let calls = inner.iter().any(|inst| matches!(inst.op, KOp::Math(_)));
        // There are few mask registers for accumulators.
        let bools = kernel.fold.iter().flat_map(|fold| &fold.items).any(|&item| kernel.dtype(item).is_bool());
        let most = if bools && level.is_evex() { 2 } else { MOST_GROUPS };
        let most = most.min(ENOUGH / stages.longest().max(1)).min(groups_of_stages(stages.list.len()));
        let groups = match kernel.fold.as_ref() {
            // All lanes of a leaf.
            Some(Fold { any_order: false, order: Order::Tree { lanes: own, .. }, .. }) => own / lanes,
            _ => {
                let groups = kernel.wishes.unroll.map_or(if calls { 1 } else { most }, |wish| wish as usize);
                groups.clamp(1, most_groups(lanes))
            }
        };
        let streamed = |inst: &&KInst| match inst.op {
            KOp::Store(buffer, _) => lanes * kernel.buffers[buffer as usize].dtype.real().size() >= LEAST_STREAMED,
            _ => false,
        };
        let streams = kernel.wishes.streaming && kernel.fold.is_none() && kernel.axes > 0 && inner.iter().any(streamed);
        RoundPlan { level, lanes, groups, streams, stages: stages.list.len() }
    }

    /// True if the streaming rounds stream stores of elements of this size.
    pub fn streams_size(&self, size: usize) -> bool {
        self.streams && size * self.lanes >= LEAST_STREAMED
    }

    /// The most groups that a round may have.
    pub fn most_groups(&self) -> usize {
        most_groups(self.lanes)
    }

    /// The points of a round.
    pub fn points(&self) -> usize {
        self.lanes * self.groups
    }

    /// A description for users.
    pub fn describe(&self, axes: usize, pieces: Pieces) -> String {
        let loops = match axes {
            0 => "no loop; the point".to_string(),
            1 => "one loop".to_string(),
            axes => format!("{axes} loops; the innermost"),
        };
        let groups = if self.groups == 1 { String::new() } else { format!(" in {} groups", self.groups) };
        let streams = if self.streams { ", with streaming stores" } else { "" };
        let stages = match self.stages {
            0..=1 => String::new(),
            stages => format!(", in {stages} stages over pieces of {} points", pieces.points),
        };
        format!("{loops} by {} points a round{groups}{stages}{streams}, {}", self.points(), self.level)
    }
}

/// The most groups of `lanes` lanes that a round may have.
fn most_groups(lanes: usize) -> usize {
    (MOST_POINTS / lanes).max(1)
}

/// The most groups of a round without interleaving, by the number of stages. Interleaving is decided after
/// selection, and may pay for more groups ([`together`](super::together)). Stages are so short that the
/// processor begins the next round before one has ended. More groups therefore save only a little loop
/// overhead, and are compiled for each stage.
fn groups_of_stages(stages: usize) -> usize {
    match stages {
        0..=1 => MOST_GROUPS,
        2..MANY_STAGES => 2,
        _ => 1,
    }
}

/// The bytes that a lane needs for an instruction.
fn width(kernel: &Kernel, inst: &KInst, level: Level) -> usize {
    let results = (0..inst.results).map(|r| kernel.values[(inst.first.0 + r) as usize].dtype);
    let own = inst.args.iter().map(|&a| kernel.dtype(a)).chain(results).map(DType::size).max().unwrap_or(1);
    own.max(match inst.op {
        // There are no shifts of narrow lanes by a count for each lane.
        KOp::Binary(Binary::Shl | Binary::Shr) if level == Level::Avx512 => 2,
        KOp::Binary(Binary::Shl | Binary::Shr) => 4,
        KOp::Binary(Binary::Quot | Binary::Rem) => {
            dividing_dtype(kernel.dtype(inst.first), level.is_evex()).map_or(1, DType::size)
        }
        _ => 1,
    })
}
