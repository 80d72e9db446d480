//! Interfaces that a crate registers for its storage styles. Beside the crate's own names, a style needs
//! `use rewright::plugin::*;` and `use rewright_broadcast::interfaces::*;`.
//!
//! - **Style of results**: [`Broadcasting`], with [`Keeps`] and a rule from [`Applying`] to an [`Answer`];
//!   [`register_join!`] for pairs of styles.
//! - **Elements**: [`Element`] computes an element in a [`Cell`] from a [`Leaf`]; [`minus`] and [`plus`] of
//!   affine forms.
//! - **Stored elements**: [`Stored`] lists the [`Places`] of each component.
//! - **Sparse arrays**: [`Pattern`] unites places, given the [`Terms`] of a nest, and returns [`United`]
//!   and [`Ordered`] lists of [`Positions`]. [`Nonzeros`] has the places that count, [`Stretches`] the style
//!   of an array that is broadcast.
//! - **Whole nests**: [`WholeNest`] makes a [`Decision`] by [`Deciding`], which has a [`Summary`], and
//!   components by [`Allocating`].
//! - **Without a kernel**: [`Eager`] computes a result from whole operands.

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
