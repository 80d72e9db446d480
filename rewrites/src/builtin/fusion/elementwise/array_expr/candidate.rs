//! Instructions that may become part of an array expression.

use crate::MatchCx;
use crate::builtin::fusion::legality::covers;
use rewright_ir::expr::{AxisKind, Body, BodyOp, BodyRef, Index, IndexExpr, Mode, Source, SymExpr, Write};
use rewright_ir::{ArrayExpr, Dim, Effects, Function, Inst, Module, Name, Type, Value, inline_function};

/// How an instruction is inlined into a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// An elementwise op: one body instruction.
    Elementwise,
    /// A scalar function applied elementwise: its instructions.
    Ufunc(Name),
    /// An array expression: its body.
    Expression,
}

/// An instruction that may be fused with others.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// How it is inlined.
    pub role: Role,
    /// Cycles an element.
    pub cycles: u32,
}

impl Candidate {
    /// The instruction as a candidate, if it is one.
    pub fn of(cx: &MatchCx<'_>, inst: Inst) -> Option<Candidate> {
        let func = cx.func();
        let data = func.inst(inst);
        let dense = |ty: &Type| ty.style().is_none();
        let result = func.ty(*data.results.first()?);
        // An array of rank 0 has one element and needs no loop.
        if !result.is_array() || result.rank() == 0 || !data.results.iter().any(|&r| is_needed(func, r)) {
            return None;
        }
        if !data.results.iter().chain(&data.args).all(|&v| dense(func.ty(v))) {
            return None;
        }
        if data.op.is_elementwise() {
            return Some(Candidate { role: Role::Elementwise, cycles: data.op.cycles() });
        }
        if data.op.name == "ufunc" {
            let name = data.attrs.func("callee")?;
            let callee = cx.module().get(name)?;
            return applied_cycles(cx.module(), callee)
                .ok()
                .map(|cycles| Candidate { role: Role::Ufunc(name), cycles });
        }
        // A schedule attribute holds for this expression only, so such an expression is not fused.
        let expr = data.attrs.expr().filter(|_| data.attrs.str("schedule").is_none())?;
        is_simple(func, &data.args, expr).then(|| Candidate { role: Role::Expression, cycles: cycles(&expr.body) })
    }
}

/// The cycles that a body takes at one point.
fn cycles(body: &Body) -> u32 {
    let each = body.insts.iter().map(|i| match &i.op {
        BodyOp::Op(op, _) => op.cycles(),
        BodyOp::Nested(_) => u32::MAX / 2,
    });
    each.fold(0, u32::saturating_add)
}

/// The cycles that a scalar function takes in a body, or why it can't be inlined into one.
pub fn applied_cycles(module: &Module, callee: &Function) -> Result<u32, String> {
    let param = |(n, &p): (usize, &Value)| (BodyRef::Operand(n as u32), callee.ty(p).dtype());
    let args: Vec<_> = callee.params().iter().enumerate().map(param).collect();
    let mut body = Body::default();
    inline_function(&mut body, module, callee, &args, callee.loc)?;
    Ok(cycles(&body))
}

/// True if something uses the value, other than to end its life.
pub fn is_needed(func: &Function, value: Value) -> bool {
    func.use_count(value) > 0 && func.each_user(value).any(|user| !is_del(func, user))
}

/// True for `del`, which is no use that needs the value.
pub fn is_del(func: &Function, inst: Inst) -> bool {
    func.inst(inst).op.effects.contains(Effects::FREES)
}

/// True for expressions of the form that this rewrite makes: parallel axes from 0, operands that are read
/// whole or broadcast, all results at every point. Nested expressions refer to operands and axes of the
/// expressions around them, so they are not fused.
fn is_simple(func: &Function, args: &[Value], expr: &ArrayExpr) -> bool {
    let zero = SymExpr::default();
    let axes = expr.axes.iter().all(|a| a.kind == AxisKind::Parallel && a.lo == zero);
    let whole = |dim: Dim, index: &Index| match &index.expr {
        IndexExpr::Affine(form) => match form.as_axis() {
            Some(axis) => index.mode == Mode::Broadcast || covers(expr.axes[axis as usize].hi.as_ref(), dim),
            None => form.as_constant() == Some(0) && dim == Dim::Const(1),
        },
        _ => false,
    };
    let operands = expr.operands.iter().all(|o| match o.source {
        Source::Scalar(_) => true,
        Source::Array(arg) => {
            let dims = func.ty(args[arg as usize]).dims();
            let plain = o.index.iter().all(|i| matches!(i.mode, Mode::Proved | Mode::Broadcast));
            plain && o.index.len() == dims.len() && dims.iter().zip(&o.index).all(|(&dim, index)| whole(dim, index))
        }
        _ => false,
    });
    let outs = expr.outs.iter().all(|o| {
        let identity = |(axis, index): (usize, &IndexExpr)| match index {
            IndexExpr::Affine(form) => form.as_axis() == Some(axis as u32),
            _ => false,
        };
        o.fill.is_none()
            && o.write == Write::Unique
            && o.index.len() == expr.axes.len()
            && o.index.iter().enumerate().all(identity)
    });
    let flat = expr.body.insts.iter().all(|i| matches!(i.op, BodyOp::Op(..)));
    axes && operands && outs && flat && expr.guard.is_empty() && expr.reductions.is_empty() && expr.finish.is_none()
}
