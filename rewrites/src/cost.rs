//! What instructions cost, as far as can be said before anything runs: what equality saturation makes smaller.
//!
//! An op costs its [`cycles`](rewright_ir::Op::cycles) an element of its result. Views and constructors cost next to nothing, for they are read
//! through; a reduction costs a cycle an element of its operand. Any crate may say otherwise of an op by the interface
//! [`CostRule`]. Units are quarters of a cycle. A symbol counts as [`SYMBOL`] elements.

use rewright_ir::op::Traits;
use rewright_ir::{Attrs, Dim, Op, Type, register_interface};

/// So many elements is an extent that is not known counted as.
pub const SYMBOL: u64 = 256;
/// A cycle, in the units of cost.
pub const CYCLE: u64 = 4;

/// An instruction whose cost is asked for.
#[derive(Clone, Copy)]
pub struct CostCx<'a> {
    /// The op.
    pub op: Op,
    /// The operands' types.
    pub args: &'a [Type],
    /// The result's type.
    pub result: &'a Type,
    /// The attributes.
    pub attrs: &'a Attrs,
}

/// Interface: what an instruction of an op costs, in quarters of a cycle.
pub struct CostRule(pub fn(&CostCx<'_>) -> u64);

/// The number of elements of a type.
pub fn elements(ty: &Type) -> u64 {
    ty.dims().iter().fold(1, |all, &dim| all.saturating_mul(extent(dim)))
}

fn extent(dim: Dim) -> u64 {
    if let Dim::Const(n) = dim { n } else { SYMBOL }
}

/// What an instruction costs: at least 1.
pub fn cost(cx: &CostCx<'_>) -> u64 {
    if let Some(rule) = cx.op.interface::<CostRule>() {
        return (rule.0)(cx).max(1);
    }
    let traits = cx.op.traits;
    if traits.contains(Traits::VIEW) {
        return 1;
    }
    if traits.contains(Traits::CONSTRUCTOR) {
        return elements(cx.result).max(1);
    }
    let most = cx.args.iter().map(elements).fold(elements(cx.result), u64::max);
    let cycles = u64::from(cx.op.cycles()).max(1);
    // One besides for its being there at all, of empty arrays too.
    most.saturating_mul(cycles).saturating_mul(CYCLE).saturating_add(1)
}

/// A product and a sum for each element of the result and each position that is summed over.
const DOT: CostRule = CostRule(|cx| {
    let contract = cx.attrs.ints("lhs_contract").unwrap_or(&[]);
    let dims = cx.args.first().map_or(&[][..], Type::dims);
    let summed = contract.iter().filter_map(|&axis| {
        let axis = if axis < 0 { axis + dims.len() as i64 } else { axis };
        usize::try_from(axis).ok().and_then(|axis| dims.get(axis))
    });
    let inner = summed.fold(1u64, |all, &dim| all.saturating_mul(extent(dim)));
    elements(cx.result).saturating_mul(inner).saturating_mul(2 * CYCLE).saturating_add(1)
});
register_interface!("dot_general", CostRule, &DOT);

#[cfg(test)]
mod tests {
    use super::*;
    use rewright_ir::{Attr, DType, registry};

    fn array(dims: &[u64]) -> Type {
        Type::array(DType::F64, dims.iter().map(|&n| Dim::Const(n)).collect::<Vec<_>>())
    }
    fn of(op: &str, args: &[Type], result: &Type, attrs: &Attrs) -> u64 {
        let op = registry().op(op).unwrap();
        cost(&CostCx { op, args, result, attrs })
    }

    #[test]
    fn costs_grow_with_extents() {
        let none = Attrs::new();
        assert_eq!(of("add", &[array(&[10]), array(&[10])], &array(&[10]), &none), 41);
        assert_eq!(of("div", &[array(&[10]), array(&[10])], &array(&[10]), &none), 8 * 40 + 1);
        assert_eq!(of("transpose", &[array(&[10, 20])], &array(&[20, 10]), &none), 1);
        assert_eq!(of("sum", &[array(&[10, 20])], &Type::scalar(DType::F64), &none), 801);
        let axes = none.with("lhs_contract", Attr::Ints([1].into())).with("rhs_contract", Attr::Ints([0].into()));
        assert_eq!(of("dot_general", &[array(&[2, 3]), array(&[3, 5])], &array(&[2, 5]), &axes), 2 * 3 * 5 * 8 + 1);
        let huge = array(&[u64::MAX, u64::MAX]);
        assert_eq!(of("add", &[huge.clone(), huge.clone()], &huge, &Attrs::new()), u64::MAX);
        assert_eq!(of("add", &[array(&[0]), array(&[0])], &array(&[0]), &Attrs::new()), 1);
    }
}
