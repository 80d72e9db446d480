//! Passes that use knowledge about shapes and storage: ranks and extents that types state, views between an
//! array and its reduction, and components of assembled arrays.
//!
//! - [`extents`]: folds ranks and extents that a type states.
//! - [`components`]: replaces a component of an assembled array by the operand that it was assembled from.
//! - [`reduce_views`]: replaces reductions of views by reductions of the viewed arrays.
//! - [`flat_positions`]: replaces positions in a whole array by positions in its elements as one row.
//! - [`node_extents`]: fills in extents of nodes that later types make known.

pub mod components;
pub mod extents;
pub mod flat_positions;
pub mod node_extents;
pub mod reduce_views;
