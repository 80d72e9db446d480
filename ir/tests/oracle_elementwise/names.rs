//! The ops' names, compared with NumPy's.

use super::table::text;
use super::{elementwise, table};
use std::collections::BTreeSet;

/// Ops that are NumPy ufuncs under other names, with all their NumPy names.
pub const RENAMED: &[(&str, &[&str])] = &[
    ("abs", &["absolute", "abs"]),
    ("acos", &["arccos", "acos"]),
    ("acosh", &["arccosh", "acosh"]),
    ("and", &["logical_and"]),
    ("asin", &["arcsin", "asin"]),
    ("asinh", &["arcsinh", "asinh"]),
    ("atan", &["arctan", "atan"]),
    ("atan2", &["arctan2", "atan2"]),
    ("atanh", &["arctanh", "atanh"]),
    ("bit_count", &["bitwise_count"]),
    ("bitand", &["bitwise_and"]),
    ("bitor", &["bitwise_or"]),
    ("bitxor", &["bitwise_xor"]),
    ("conj", &["conjugate", "conj"]),
    ("deg2rad", &["deg2rad", "radians"]),
    ("div", &["divide", "true_divide"]),
    ("eq", &["equal"]),
    ("floordiv", &["floor_divide"]),
    ("ge", &["greater_equal"]),
    ("gt", &["greater"]),
    ("invert", &["invert", "bitwise_not", "bitwise_invert"]),
    ("le", &["less_equal"]),
    ("left_shift", &["left_shift", "bitwise_left_shift"]),
    ("lt", &["less"]),
    ("mod", &["remainder", "mod"]),
    ("mul", &["multiply"]),
    ("ne", &["not_equal"]),
    ("neg", &["negative"]),
    ("not", &["logical_not"]),
    ("or", &["logical_or"]),
    ("pos", &["positive"]),
    ("power", &["power", "pow"]),
    ("rad2deg", &["rad2deg", "degrees"]),
    ("right_shift", &["right_shift", "bitwise_right_shift"]),
    ("sub", &["subtract"]),
    ("xor", &["logical_xor"]),
];

/// Ops that are no ufuncs, and equivalent Python expressions.
pub const NO_UFUNC: &[(&str, &str)] = &[
    ("angle", "`np.angle(x)`"),
    ("cast", "`x.astype(to)`"),
    ("clip", "`np.clip(x, lo, hi)`"),
    ("complex", "`re + 1j * im`, without the arithmetic"),
    ("erf", "`scipy.special.erf(x)`"),
    ("erfc", "`scipy.special.erfc(x)`"),
    ("fma", "`math.fma(a, b, c)`"),
    ("imag", "`np.imag(x)`"),
    ("integer_power", "`np.linalg.matrix_power`'s products, of elements"),
    ("lgamma", "`scipy.special.gammaln(x)`"),
    ("logistic", "`scipy.special.expit(x)`"),
    ("real", "`np.real(x)`"),
    ("rsqrt", "`1 / np.sqrt(x)`"),
    ("where", "`np.where(c, x, y)`"),
];

/// NumPy's ufuncs without an elementwise op, and the reason.
pub const ABSENT: &[(&str, &str)] = &[
    ("isnat", "There are no dates."),
    ("matmul", "Not elementwise: `dot_general`."),
    ("matvec", "Not elementwise: `dot_general`."),
    ("vecdot", "Not elementwise: `dot_general`."),
    ("vecmat", "Not elementwise: `dot_general`."),
];

/// NumPy's names of an op that is a ufunc.
pub fn numpy_names(op: &'static str) -> Option<Vec<&'static str>> {
    if NO_UFUNC.iter().any(|(name, _)| *name == op) {
        return None;
    }
    let renamed = RENAMED.iter().find(|(name, _)| *name == op);
    Some(renamed.map_or_else(|| vec![op], |(_, names)| names.to_vec()))
}

#[test]
fn every_ufunc_is_an_op_or_absent_for_a_reason() {
    let text = text("ufuncs.txt");
    let ufuncs: BTreeSet<_> = text.lines().collect();
    let named: Vec<_> = elementwise().filter_map(|op| numpy_names(op.name)).flatten().collect();
    let absent = ABSENT.iter().map(|(name, _)| *name);
    let accounted: BTreeSet<_> = named.iter().copied().chain(absent).collect();
    assert_eq!(accounted, ufuncs);
    assert_eq!(accounted.len(), named.len() + ABSENT.len(), "a ufunc is accounted for twice");
}

#[test]
fn names_are_of_ops() {
    for name in RENAMED.iter().map(|(name, _)| name).chain(NO_UFUNC.iter().map(|(name, _)| name)) {
        assert!(table::op(name).is_elementwise());
    }
}
