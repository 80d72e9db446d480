//! The core ops, one file a family. Each registers itself; nothing here needs to be called.

pub mod control;
pub mod effects;
