//! Static analyses of functions: dominators, loops, liveness, calls, effects, structure.
//!
//! Every analysis is a snapshot of the function at the time of its computation. All take linear or nearly
//! linear time, and none is recursive, so functions may have any size and shape.

mod call_graph;
mod dominators;
mod effects;
mod liveness;
mod loops;
mod structure;

pub use call_graph::CallGraph;
pub use dominators::{Dominators, predecessors};
pub use effects::{FunctionEffects, InstEffects, ModuleEffects, inst_effects, written_values};
pub use liveness::{Liveness, ended_values};
pub use loops::{LoopId, Loops, NaturalLoop};
pub use structure::{hash_attrs, structural_hash};
