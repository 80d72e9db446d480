//! Eager operations: operators and functions of lazy arrays, computed at once by one kernel each.
//!
//! ```
//! use rewright::{Array, DType, Scalar};
//! use rewright_lazy::LazyArray;
//! let x = LazyArray::of(Array::from_fn(DType::F32, &[3], |i| Scalar::F32(i as f32)).ok_or("no memory")?);
//! // Two views, and one kernel for each operator.
//! let table = &x.expand_dims(1) * &x.expand_dims(0) + 1.0;
//! assert_eq!(table.force()?.to_string(), "[[1. 1. 1.]\n [1. 2. 3.]\n [1. 3. 5.]]");
//! assert_eq!(table.sum(0).force()?.to_string(), "[3. 6. 9.]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Views and constructors stay lazy, as index maps. Every other operation is computed at once. Three data
//! structures are involved:
//!
//! - **Reading** (`reading.rs`): how a kernel reads one operand. A scalar is a parameter. An array, or a
//!   view of one, is a parameter with run-time strides. The kernel computes the elements of a
//!   constructor, from its first number and its step along each axis, which are scalar parameters.
//! - **Key** (`key.rs`): the structure of an operation, a list of 16-bit words. It has the op, its
//!   attributes, and for each operand the kind of its reading and the dtype. For each axis it says
//!   whether the extent is 1, and which axes have equal extents by the rules of the op. A constructor
//!   adds the class of each step: 0, 1, -1, or any other number. No extent, number or stride is part of a
//!   key.
//! - **Kernels** (`kernels.rs`): a bounded table from keys to executables, one for the process. It evicts
//!   the least recently used entry. Each executable has a replay cache, so a repeated call only patches
//!   pointers.
//!
//! Array parameters bind the symbols of extents. An axis that only constructors have is bound by one more
//! parameter: a bool array with strides of 0.
//!
//! An operator can't return a `Result`, and a panic would end programs that read data of any shape. So a
//! failed operation gives an array that carries the error, and so does each operation on such an operand.
//! [`LazyArray::force`], [`LazyArray::arg`] and [`LazyArray::checked`] return the first error, which
//! names the op and the shapes. [`LazyArray::apply`] returns it at once.
//!
//! [`LazyArray::force`]: crate::LazyArray::force
//! [`LazyArray::arg`]: crate::LazyArray::arg
//! [`LazyArray::checked`]: crate::LazyArray::checked
//! [`LazyArray::apply`]: crate::LazyArray::apply

mod apply;
mod axes;
mod build;
mod constructors;
mod deferred;
mod functions;
mod kernels;
mod key;
mod operand;
mod operation;
mod operators;
mod products;
mod reading;
mod reductions;
mod space;
mod views;

pub use axes::Axes;
pub use kernels::{KernelCounts, MOST_KERNELS, kernel_counts};
pub use operand::Operand;
