//! Operations on bools and integers only. Greatest common divisors and least common multiples need loops,
//! and run by their reference meaning.

use super::elem::{Elem, Elems, ScalarCx};
use super::lower;
use crate::kernel::{Binary, Unary};
use rewright_ir::DType;

lower! {
    "bitand" => |cx, args| bits(cx, args, Binary::And);
    "bitor" => |cx, args| bits(cx, args, Binary::Or);
    "bitxor" => |cx, args| bits(cx, args, Binary::Xor);
    "left_shift" => |cx, args| bits(cx, args, Binary::Shl);
    "right_shift" => |cx, args| bits(cx, args, Binary::Shr);
    "invert" => |cx, args| Elem::real(args[0].dtype, cx.not(args[0].re)).only();
    "bit_count" => |cx, args| {
        let magnitude = cx.abs(args[0].re);
        let count = cx.k.unary(Unary::PopCount, magnitude);
        Elem::real(DType::U8, cx.k.convert(count, DType::U8)).only()
    };
}

fn bits(cx: &mut ScalarCx<'_>, args: &[Elem], op: Binary) -> Option<Elems> {
    Elem::real(args[0].dtype, cx.k.binary(op, args[0].re, args[1].re)).only()
}
