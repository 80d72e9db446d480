//! The core ops, a file for each family. Each op registers itself, without a call.
//!
//! Names are those of NumPy, if it has the op. In particular, the elementwise minimum and maximum of two
//! operands are `minimum` and `maximum`; `min`, `max`, `sum`, `prod`, `any` and `all` are reductions.

#[macro_use]
mod define;

pub mod arithmetic;
pub mod arrayexpr;
pub mod compare;
pub mod compress;
pub mod concat;
pub mod contraction;
pub mod control;
pub mod convert;
pub mod create;
pub mod dim;
pub mod dot;
pub mod effects;
pub mod floats;
pub mod functions;
pub mod gather;
pub mod getitem;
pub mod integer;
pub mod logic;
mod loops;
pub mod power;
pub mod rank;
pub mod reduce;
pub mod reduced;
mod rule;
pub mod scan;
pub mod styled;
pub mod update;
pub mod view;
