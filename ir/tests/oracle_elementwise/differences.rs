//! The intended differences between ops and NumPy.

use rewright_ir::{DType, Scalar};

/// Cases in which ops give other results than NumPy.
pub struct Difference {
    /// The ops.
    pub ops: &'static [&'static str],
    /// True for operands that may show the difference.
    pub holds: fn(&[Scalar]) -> bool,
    /// The result, and the reason.
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

fn same_number(a: Scalar, b: Scalar) -> bool {
    a.to_c128() == b.to_c128()
}

/// Differences in results. Each must show in at least one case of the table.
pub const DIFFERENCES: &[Difference] = &[
    Difference {
        ops: &["minimum", "maximum", "fmin", "fmax", "clip"],
        holds: |args| same_number(args[0], args[1]) || args.get(2).is_some_and(|&hi| same_number(args[0], hi)),
        why: "Of zeros of different sign it is the first operand, on every machine; NumPy's choice depends on the machine.",
    },
    Difference {
        ops: &["reciprocal"],
        holds: |args| args[0].to_i128() == Some(0),
        why: "Of the integer 0 it is 0, as for every integer division by zero; NumPy's answer is undefined.",
    },
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
    Difference {
        ops: &["sin"],
        holds: |args| {
            let z = args[0].to_c128();
            args[0].dtype().is_complex() && z.im == f64::NEG_INFINITY && !z.re.is_finite()
        },
        why: "Of a conjugate it is the conjugate everywhere; of (inf, -inf), where C leaves the sign open, NumPy's is that of (inf, inf).",
    },
];

/// Differences in dtypes: op, operands as the tables name them (`literal` for an integer literal), reason.
pub const DTYPE_DIFFERENCES: &[(&str, [&str; 2], &str)] = &[(
    "ldexp",
    ["literal", "bool"],
    "An integer literal is scaled at f32 beside every exponent; NumPy scales it at f64 beside a bool.",
)];

/// Differences of many ops, or where NumPy's behaviour is undefined; the table's script says where it
/// applies them.
pub const GENERAL: &[&str] = &[
    "Literals must be values of the dtype that they take: `clip` of u8 with the bounds -1 and 300 is refused, where NumPy finds nothing to clip.",
    "`angle` of bool is f32, the narrowest float, as of all ops; NumPy's is f64.",
    "There is no half precision: where NumPy computes at f16 (`sqrt` of bool, i8 and u8), these ops compute at f32.",
    "Floats cast to integers go toward zero and saturate, and NaN gives 0; NumPy's answer beyond the range is undefined.",
    "Functions have one implementation, in portable code, for every machine; NumPy's differ between machines in the last place.",
    "Nothing warns: division by zero, overflow and invalid operands silently give the values that NumPy gives beside its warning.",
];
