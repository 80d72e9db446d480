//! The ops for NumPy functions that have another name here.

use rewright::{Op, registry};

/// NumPy's name, and the name of the op.
const NAMES: &[(&str, &str)] = &[
    ("absolute", "abs"),
    ("amax", "max"),
    ("amin", "min"),
    ("arange", "iota"),
    ("arccos", "acos"),
    ("arccosh", "acosh"),
    ("arcsin", "asin"),
    ("arcsinh", "asinh"),
    ("arctan", "atan"),
    ("arctan2", "atan2"),
    ("arctanh", "atanh"),
    ("astype", "cast"),
    ("bitwise_and", "bitand"),
    ("bitwise_count", "bit_count"),
    ("bitwise_not", "invert"),
    ("bitwise_or", "bitor"),
    ("bitwise_xor", "bitxor"),
    ("broadcast_to", "broadcast_in_dim"),
    ("concatenate", "concat"),
    ("conjugate", "conj"),
    ("degrees", "rad2deg"),
    ("divide", "div"),
    ("dot", "dot_general"),
    ("einsum", "dot_general"),
    ("equal", "eq"),
    ("floor_divide", "floordiv"),
    ("greater", "gt"),
    ("greater_equal", "ge"),
    ("less", "lt"),
    ("less_equal", "le"),
    ("logical_and", "and"),
    ("logical_not", "not"),
    ("logical_or", "or"),
    ("logical_xor", "xor"),
    ("matmul", "dot_general"),
    ("multiply", "mul"),
    ("negative", "neg"),
    ("not_equal", "ne"),
    ("ones", "full"),
    ("permute_dims", "transpose"),
    ("radians", "deg2rad"),
    ("remainder", "mod"),
    ("select", "where"),
    ("setitem", "update"),
    ("sigmoid", "logistic"),
    ("subtract", "sub"),
    ("tensordot", "dot_general"),
    ("true_divide", "div"),
    ("zeros", "full"),
];

/// The op for a NumPy function, if its name is another and a linked crate registers it.
pub fn op_for(name: &str) -> Option<Op> {
    let (_, op) = NAMES.iter().find(|(numpy, _)| *numpy == name)?;
    registry().op(op)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_of_an_op_and_is_none_itself() {
        for (numpy, op) in NAMES {
            assert!(op_for(numpy).is_some(), "{op}");
            assert!(registry().op(numpy).is_none(), "{numpy}");
        }
    }
}
