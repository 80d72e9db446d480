//! Terminators: `jump`, `br_if`, `switch`, `ret`, `raise`.

use crate::attr::{AttrDef, AttrKind, Attrs};
use crate::dtype::DType;
use crate::error::TypeError;
use crate::op::{Arity, Effects, Eval, InferCx, LiteralCx, Op, OpDef, Traits, Types};
use crate::register_op;

/// `jump b(%x)`: continues at a block.
pub static JUMP: OpDef =
    OpDef::new("jump", "goes on at a block", Arity::Exactly(0), no_results, Eval::Control).traits(Traits::TERMINATOR);

/// `br_if %c, yes(%x), no`: continues at the first block if the operand is true, else at the second.
pub static BR_IF: OpDef =
    OpDef::new("br_if", "goes on at one of two blocks", Arity::Exactly(1), infer_br_if, Eval::Control)
        .traits(Traits::TERMINATOR)
        .literals(bool_literal);

/// `switch %i, a, b(%x), other, cases=[0, 7]`: continues at the block whose case equals the operand, else at
/// the last one.
pub static SWITCH: OpDef = OpDef::new(
    "switch",
    "goes on at the block whose case equals the operand, else at the last block",
    Arity::Exactly(1),
    infer_switch,
    Eval::Control,
)
.traits(Traits::TERMINATOR)
.attrs(&[AttrDef::required("cases", AttrKind::Ints, "the values that the blocks before the last stand for")]);

/// `ret %x, %y`: ends the function with its results.
pub static RET: OpDef =
    OpDef::new("ret", "ends the function with its results", Arity::AtLeast(0), no_results, Eval::Control)
        .traits(Traits::TERMINATOR);

/// `raise kind="ValueError", message="..."`: ends the program with an error.
pub static RAISE: OpDef =
    OpDef::new("raise", "ends the program with an error", Arity::Exactly(0), no_results, Eval::Control)
        .traits(Traits::TERMINATOR)
        .effects(Effects::IO)
        .attrs(&[
            AttrDef::required("kind", AttrKind::Str, "the kind of error"),
            AttrDef::required("message", AttrKind::Str, "the message of the error"),
        ]);

register_op!(JUMP, BR_IF, SWITCH, RET, RAISE);

/// The number of branch targets of a terminator in this file; `None` for other ops.
pub fn target_count(op: Op, attrs: &Attrs) -> Option<usize> {
    if op == JUMP {
        Some(1)
    } else if op == BR_IF {
        Some(2)
    } else if op == SWITCH {
        Some(attrs.ints("cases").map_or(0, <[i64]>::len) + 1)
    } else if op == RET || op == RAISE {
        Some(0)
    } else {
        None
    }
}

/// The type rule of ops that take any operands and have no results.
pub(crate) fn no_results(_: &InferCx<'_>) -> Result<Types, TypeError> {
    Ok(Types::new())
}

fn bool_literal(cx: &LiteralCx<'_>) -> DType {
    cx.literal.dtype_beside(Some(DType::Bool))
}

fn infer_br_if(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = &cx.args[0];
    if ty.is_scalar() && ty.dtype() == DType::Bool {
        return Ok(Types::new());
    }
    let help =
        if ty.is_array() { "`item` gives the element of an array that has one" } else { "compare it: `ne %x, 0`" };
    Err(TypeError::new(format!("`br_if` wants a scalar bool, got {ty}")).operand(0).help(help))
}

fn infer_switch(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = &cx.args[0];
    if !ty.is_scalar() || !ty.dtype().is_int() {
        return Err(TypeError::new(format!("`switch` wants a scalar integer, got {ty}")).operand(0));
    }
    let cases = cx.attrs.ints("cases").unwrap_or(&[]);
    let mut sorted = cases.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(TypeError::new(format!("`switch` has case {} twice", pair[0]))),
        None => Ok(Types::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attr::Attr;
    use crate::builder::infer_types;
    use crate::registry::registry;
    use crate::types::Type;

    #[test]
    fn operands_are_checked() {
        let infer =
            |op, ty: Type, attrs| infer_types(Op(op), &[ty], &[None], attrs, None).map(|_| ()).map_err(|e| e.message);
        let cases = |list: &[i64]| Attrs::new().with("cases", Attr::Ints(list.into()));
        assert_eq!(infer(&BR_IF, Type::scalar(DType::Bool), Attrs::new()), Ok(()));
        assert!(infer(&BR_IF, Type::scalar(DType::I8), Attrs::new()).is_err_and(|m| m.contains("got i8")));
        assert!(infer(&BR_IF, Type::array(DType::Bool, []), Attrs::new()).is_err());
        assert_eq!(infer(&SWITCH, Type::scalar(DType::U8), cases(&[3, 1])), Ok(()));
        assert!(infer(&SWITCH, Type::scalar(DType::U8), cases(&[3, 1, 3])).is_err_and(|m| m.contains("case 3 twice")));
        assert!(infer(&SWITCH, Type::scalar(DType::F32), cases(&[])).is_err());
    }

    #[test]
    fn terminators_know_their_targets() {
        let count = |name, attrs: &Attrs| registry().op(name).map(|op| target_count(op, attrs));
        let none = Attrs::new();
        assert_eq!(count("jump", &none), Some(Some(1)));
        assert_eq!(count("br_if", &none), Some(Some(2)));
        assert_eq!(count("switch", &none.clone().with("cases", Attr::Ints([5, 6].into()))), Some(Some(3)));
        assert_eq!(count("raise", &none), Some(Some(0)));
        assert_eq!(count("call", &none), Some(None));
    }
}
