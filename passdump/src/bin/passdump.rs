//! The tool with the built-in ops and rewrites only.

fn main() {}
