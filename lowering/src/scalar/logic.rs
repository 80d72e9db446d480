//! Logic on truth values: an operand is true if it is not zero.

use super::elem::{Elem, Elems, ScalarCx};
use super::lower;
use crate::kernel::Binary;
use rewright_ir::DType;

lower! {
    "and" => |cx, args| combine(cx, args, Binary::And);
    "or" => |cx, args| combine(cx, args, Binary::Or);
    "xor" => |cx, args| combine(cx, args, Binary::Xor);
    "not" => |cx, args| {
        let a = cx.truthy(args[0]);
        Elem::real(DType::Bool, cx.not(a)).only()
    };
}

fn combine(cx: &mut ScalarCx<'_>, args: &[Elem], op: Binary) -> Option<Elems> {
    let (a, b) = (cx.truthy(args[0]), cx.truthy(args[1]));
    Elem::real(DType::Bool, cx.k.binary(op, a, b)).only()
}
