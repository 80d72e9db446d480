//! The driver's guarantees, shown by small rewrites of the tests.

mod chaos;
mod check;
mod common;
mod compiled;
mod ends;
mod fixed_point;
mod linear;
mod observer;
mod order;
mod pipeline;
mod plugins;
mod rewriter;
mod termination;
mod transactions;
