//! Where the ops differ from NumPy on purpose.

use rewright_ir::{DType, Scalar};

/// Cases where some ops answer something else than NumPy.
pub struct Difference {
    /// The ops.
    pub ops: &'static [&'static str],
    /// True for operands that may show the difference.
    pub holds: fn(&[Scalar]) -> bool,
    /// What they answer, and the reason.
    pub why: &'static str,
}

fn has_nan(x: Scalar) -> bool {
    let z = x.to_c128();
    z.re.is_nan() || z.im.is_nan()
}

fn is_finite(x: Scalar) -> bool {
    let z = x.to_c128();
    z.re.is_finite() && z.im.is_finite()
}

/// Differences in answers. Each must show in at least one case of the table.
pub const DIFFERENCES: &[Difference] = &[
    Difference {
        ops: &["clip"],
        holds: |args| args[1].dtype().is_complex() && (has_nan(args[1]) || has_nan(args[2])),
        why: "A complex bound with a NaN part gives NaN, as `minimum` and `maximum` do; NumPy looks at the real parts first.",
    },
    Difference {
        ops: &["lgamma"],
        holds: |args| args[0].to_f64() == f64::NEG_INFINITY,
        why: "Of minus infinity it is infinity, as in C; SciPy's `gammaln` gives minus infinity.",
    },
    Difference {
        ops: &["power", "float_power"],
        holds: |args| args[0].dtype().is_complex() && args.iter().any(|&x| has_nan(x)),
        why: "A complex power with a NaN part in an operand is NaN; NumPy's may have an infinite or zero part.",
    },
    Difference {
        ops: &["power"],
        holds: |args| args[1].dtype() == DType::C64 && !is_finite(args[1]),
        why: "Powers of c64 are computed at c128 and rounded, so that products with an infinite exponent do not meet an underflowed zero.",
    },
];
