//! The static cost model of instructions, which equality saturation minimizes.
//!
//! An op costs its [`cycles`](rewright_ir::Op::cycles) for each element of its result. Views and
//! constructors cost almost nothing, because kernels read through them; a reduction costs a cycle for each
//! element of its operand. Any crate may override the cost of an op by the interface [`CostRule`]. The unit
//! is a quarter of a cycle. A symbol counts as [`SYMBOL`] elements.

use rewright_ir::op::Traits;
use rewright_ir::{Attrs, Dim, Op, Type, register_interface};

/// The number of elements that an unknown extent counts as.
pub const SYMBOL: u64 = 256;
/// A cycle, in units of cost.
pub const CYCLE: u64 = 4;

/// An instruction whose cost is computed.
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

/// Interface: the cost of an op's instruction, in quarters of a cycle.
pub struct CostRule(pub fn(&CostCx<'_>) -> u64);

/// The number of elements of a type.
pub fn elements(ty: &Type) -> u64 {
    ty.dims().iter().fold(1, |all, &dim| all.saturating_mul(extent(dim)))
}

fn extent(dim: Dim) -> u64 {
    if let Dim::Const(n) = dim { n } else { SYMBOL }
}

/// The cost of an instruction, at least 1.
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
    // One more unit for the instruction itself, which empty arrays cost too.
    most.saturating_mul(cycles).saturating_mul(CYCLE).saturating_add(1)
}

/// A product and a sum for each element of the result and each summed position.
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
