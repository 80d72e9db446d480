//! Interfaces that a crate registers for its storage styles. Beside the crate's own names, a style needs
//! `use rewright::plugin::*;` and `use rewright_broadcast::interfaces::*;`.
//!
//! | an interface | states | with |
//! |---|---|---|
//! | [`Broadcasting`], [`register_join!`] | the style of results | [`Keeps`], [`Answer`], [`Applying`] |
//! | [`Element`] | an element as an expression of its index | [`Cell`], [`Leaf`], [`minus`], [`plus`] |
//! | [`Stored`] | the places of stored elements | [`Places`] |
//! | [`Pattern`] | how the places of sparse arrays are united | [`United`], [`Ordered`], [`Positions`], [`Terms`] |
//! | [`Nonzeros`], [`Stretches`] | the places that count; the style of an array that is broadcast | |
//! | [`WholeNest`] | the style of the result of a whole nest | [`Deciding`], [`Decision`], [`Allocating`], [`Summary`] |
//! | [`Eager`] | results that need no kernel | |

pub use crate::element::{Cell, Element, Leaf, Places, Stored, minus, plus};
pub use crate::lattice::{Answer, Applying, Broadcasting, Eager, Keeps};
pub use crate::pattern::{Nonzeros, Ordered, Pattern, Positions, Stretches, United};
pub use crate::register_join;
pub use crate::summary::{OperandKind, Summary};
pub use crate::terms::Terms;
pub use crate::whole_nest::{Allocating, Deciding, Decision, WholeNest};

#[doc(hidden)]
pub use crate::lattice::{Join, Lattice};
#[doc(hidden)]
pub use crate::lazy::Lazy;
