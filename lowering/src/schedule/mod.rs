//! Schedules: how the loops of a call run.
//!
//! A kernel computes points. A schedule is a sequence of transformations of its loops: their order,
//! threads, blocks and copies. It is data: decided for each call from the kernel, the extents and strides
//! of the arrays, and the threads that are awake ([`Decision`]); printed, parsed, and given by hand:
//!
//! ```
//! use rewright_lowering::Schedule;
//! let schedule: Schedule = "reorder(i*j, k) parallel(threads=2, chunk=64) split(k, 128) stage(x, i*j, k)".parse()?;
//! assert_eq!(schedule.threads, Some(2));
//! assert_eq!(schedule.to_string().parse(), Ok(schedule));
//! # Ok::<(), rewright_lowering::ScheduleError>(())
//! ```
//!
//! **No schedule changes a bit of any result.** Points are independent, or combined in an order that is
//! part of the meaning, and that all schedules keep.
//!
//! | file | |
//! |---|---|
//! | `text`, `given` | the text form; a schedule that is given by hand |
//! | `split`, `stage`, `collapse`, `fission`, `jam` | transformations of the loops of a block |
//! | `legal` | whether a sequence of them is legal |
//! | `decide` | asks the policies for the sequence of a call, and decides on threads and stores |
//! | `policy/` | one file a policy: `tile`, `row_lanes`, `collapse`, `fission`, `jam`, `stream` |
//! | `run`, `sequence` | run a call: the chunks of its threads, and the sequence of each |
//! | `row_blocks`, `result_lanes` | totals of columns in registers, for blocks of rows |
//! | `parts`, `search` | one long row in parts, and the parts of a search |
//! | `band`, `feed`, `packed` | several kernels that share what the cache holds |
//! | `thread_pool`, `series`, `affinity` | threads that share work, and their processors |
//! | `machine_facts`, `lines` | sizes of the caches; memory at cache lines |

mod affinity;
mod band;
mod collapse;
mod decide;
mod feed;
mod fission;
mod given;
mod jam;
mod legal;
mod lines;
mod machine_facts;
mod packed;
mod parts;
mod policy;
mod result_lanes;
pub(crate) mod row_blocks;
mod run;
mod search;
mod sequence;
mod series;
mod split;
mod stage;
mod text;
mod thread_pool;

pub use decide::{Decision, Kernels, Threads};
pub(crate) use decide::{LEAST_POINTS, LEAST_ROWS, LEAST_TURNED, is_apart, nanos, part_of_row, transposed};
pub use machine_facts::{Facts, facts};
pub use parts::Parts;
pub use thread_pool::share;

pub(crate) use band::{Bands, Iterations, Kept, Member, Moved, run_bands};
pub(crate) use feed::{Feed, Passed, run_fed};
pub(crate) use fission::FissionKernels;
pub(crate) use jam::JammedKernel;
pub(crate) use lines::{LINE, Lines};
pub(crate) use packed::{packed_decision, run_packed, written};
pub(crate) use parts::{Halves, run_parts};
pub(crate) use policy::fission::{LEAST_ITEMS, is_much};
pub(crate) use policy::jam::ROWS as JAMMED_ROWS;
pub(crate) use policy::stream::{bytes_of_gather, exceeds_caches};
pub(crate) use result_lanes::ResultLanes;
pub(crate) use row_blocks::BlockKernels;
pub(crate) use run::{Work, run};
pub(crate) use search::Searchers;
pub(crate) use sequence::Sequence;

use rewright_ir::Name;
use thiserror::Error;

/// The schedule of a call's loops. `docs/schedules.md` explains the text form. A field that is `None` is
/// decided for each call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The loops, outermost first, each with its axes.
    pub order: Option<Vec<Vec<Name>>>,
    /// The number of threads.
    pub threads: Option<u32>,
    /// The iterations of the parallel loop that a thread takes at once.
    pub chunk: Option<u64>,
    /// The points of a part of a row that is searched for an extremum, or none for whole rows.
    pub rfactor: Option<Option<u64>>,
    /// The transformations of the loops of a chunk, outermost first.
    pub blocks: Option<Vec<Block>>,
    /// The number of vectors in a round of the innermost loop.
    pub unroll: Option<u32>,
    /// The number of loops, at most, into which the innermost one is cut.
    pub stages: Option<u32>,
    /// Whether stores go past the caches.
    pub stream: Option<bool>,
}

/// A transformation of the loops of a block, with names. A loop has the names of its axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Runs a loop in blocks.
    Split {
        /// The loop.
        along: Vec<Name>,
        /// The iterations of a block.
        by: u64,
    },
    /// Copies the elements of an operand or result to scratch memory.
    Stage {
        /// The operand; `out.0` is the first result, and `value.0` the first value of a point after
        /// `fission`.
        operand: Name,
        /// The loops along which the copy goes, outermost first.
        loops: Vec<Vec<Name>>,
        /// The elements from one iteration of the last loop but one to the next.
        pitch: Option<u64>,
    },
    /// Makes one loop of two.
    Collapse {
        /// The outer loop.
        outer: Vec<Name>,
        /// The inner loop.
        inner: Vec<Name>,
    },
    /// Computes the points of rows before it combines them.
    Fission {
        /// The loop over rows.
        outer: Vec<Name>,
        /// The loop along rows.
        inner: Vec<Name>,
        /// The transformations of the loops that compute the points.
        first: Vec<Block>,
    },
    /// Computes several iterations of a loop around rows at once.
    Jam {
        /// The loop.
        along: Vec<Name>,
        /// The iterations.
        by: u64,
    },
}

/// Why a text is no schedule, or a schedule not one of an expression.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("schedule: {0}")]
pub struct ScheduleError(pub String);

impl ScheduleError {
    /// With a message.
    pub(crate) fn because<T>(message: impl Into<String>) -> Result<T, ScheduleError> {
        Err(ScheduleError(message.into()))
    }
}
