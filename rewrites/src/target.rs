//! The machine that a function is compiled for, as data.

/// The code generator and instruction set that a function is compiled for, as far as the caller states them.
/// By default nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The code generator, by its name: `x64-avx512`, `cranelift`, `interp`.
    pub codegen: Option<String>,
    /// The instruction set that it uses: `avx512`, `avx2`, or the architecture's own, such as `x86_64`; none
    /// for interpreters.
    pub instruction_set: Option<String>,
    /// The bytes of the widest vector register that it uses.
    pub vector_bytes: Option<usize>,
}

impl Target {
    /// True if nothing is known.
    pub fn is_unknown(&self) -> bool {
        *self == Target::default()
    }
}
