//! What can be known of a function without running it: dominators, loops, liveness, calls, effects, structure.
//!
//! Every analysis is a snapshot: it says what held when it was computed. All take linear or near linear time and
//! none recurses, so that functions of any size and shape can be asked about.

pub mod call_graph;
pub mod dominators;
pub mod effects;
pub mod liveness;
pub mod loops;
pub mod structure;

pub use call_graph::CallGraph;
pub use dominators::{Dominators, predecessors};
pub use effects::{FunctionEffects, InstEffects, ModuleEffects, inst_effects, written_values};
pub use liveness::Liveness;
pub use loops::{Loop, LoopId, Loops};
pub use structure::{hash_attrs, structural_hash};
