//! `lazy-constructors`: rematerializes constructors inside of the array expressions that read them.

use super::chain::{is_inside, step};
use super::edit::{drop_operand, in_finisher, is_plain, put};
use super::elements::{At, Elements};
use rewright::expr::{Body, BodyOp, Operand, Source};
use rewright::ir::builder::find_op;
use rewright::plugin::*;
use rewright::{ArrayExpr, OperandNames};
use std::sync::Arc;

/// Rematerializes constructors in array expressions, which compute the elements instead of reading an
/// array: `x + iota` becomes a kernel that adds the index. Views in between only transform the index.
///
/// A constructor with several users is computed in each, because it is too cheap to share. If a user is
/// no array expression, or a body can't compute the position, the constructor is materialized once. A
/// remark says why.
///
/// The rewrite is exact: positions are provably in bounds, and elements are those of the constructor.
pub struct LazyConstructors;

static LAZY_CONSTRUCTORS: RewriteDef = RewriteDef::root(
    "lazy-constructors",
    "array expressions compute the elements of constructors that they read",
    &LazyConstructors,
)
.stage(Stage::BeforeLowering)
.after(&["expr-siblings"])
.reach(2);
register_rewrite!(LAZY_CONSTRUCTORS);

/// The longest chain of views that the rewrite follows.
const LONGEST: usize = 64;

/// The rewritten array expression, which computes an operand that it read before.
pub struct Computed {
    root: Inst,
    expr: ArrayExpr,
    args: Vec<Given>,
    what: &'static str,
}

/// An operand of the new array expression.
#[derive(Clone, Copy, PartialEq)]
enum Given {
    /// An existing value.
    Value(Value),
    /// The extent of an axis of a parameter.
    Extent(Value, usize),
}

impl RootRewrite for LazyConstructors {
    type Match = Box<Computed>;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let data = cx.func().inst(root);
        if data.op.traits.contains(Traits::CONSTRUCTOR) {
            return Err(why_made(cx, data));
        }
        let Some(expr) = data.attrs.expr().filter(|_| data.attrs.str("schedule").is_none()) else {
            return Err(NoMatch::quiet());
        };
        let reader = Reader { cx, data, expr };
        let found = (0..expr.operands.len()).find_map(|n| reader.without(n));
        found.map(|(expr, args, what)| Box::new(Computed { root, expr, args, what })).ok_or(NoMatch::quiet())
    }

    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let Computed { root, expr, args, what } = *found;
        let loc = rw.func().inst(root).loc;
        let value = |rw: &mut Rewriter<'_>, arg: Given| match arg {
            Given::Value(value) => Ok(value),
            Given::Extent(x, axis) => rw.op_with("dim", [x], Attrs::new().with("axis", Attr::Int(axis as i64))),
        };
        let args = args.into_iter().map(|arg| value(rw, arg)).collect::<Result<Vec<Value>, _>>()?;
        let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
        let node = rw.insert(find_op("arrayexpr")?, args, attrs)?;
        let results = rw.func().inst(node).results.clone();
        rw.replace(root, &results)?;
        rw.remark(loc, format!("`{what}` is computed where it is read, and not kept in memory"));
        Ok(())
    }
}

/// The remark about a constructor that is materialized: the user that needs the array.
fn why_made(cx: &MatchCx<'_>, data: &InstData) -> NoMatch {
    let func = cx.func();
    let (&[value], Some(_)) = (&data.results[..], data.op.interface::<Elements>()) else { return NoMatch::quiet() };
    let ends = |inst: &Inst| func.inst(*inst).op.effects.contains(Effects::FREES);
    let reader = func.each_user(value).find(|user| !ends(user) && !func.inst(*user).op.traits.contains(Traits::VIEW));
    match reader.map(|user| func.inst(user)) {
        None => NoMatch::quiet(),
        Some(user) => {
            let why = match user.attrs.expr() {
                Some(_) => "reads it at a position that can't be computed there",
                None => "reads it from there",
            };
            NoMatch::because(format!("`{}` is made in memory, once: `{}` {why}", data.op, user.op)).at(data.loc)
        }
    }
}

/// An array expression that may read constructors.
struct Reader<'a> {
    cx: &'a MatchCx<'a>,
    data: &'a InstData,
    expr: &'a ArrayExpr,
}

impl Reader<'_> {
    /// The expression with an operand computed in the body, if the operand reads a constructor.
    fn without(&self, operand: usize) -> Option<(ArrayExpr, Vec<Given>, &'static str)> {
        let (expr, func) = (self.expr, self.cx.func());
        let (Source::Array(arg) | Source::Scalar(arg)) = expr.operands[operand].source else { return None };
        let (inst, at) = self.constructor(self.data.args[arg as usize], &expr.operands[operand].index)?;
        if !is_plain(expr) || in_finisher(expr, operand) {
            return None;
        }
        let made = func.inst(inst);
        let mut next = expr.clone();
        let mut args: Vec<Given> = self.data.args.iter().copied().map(Given::Value).collect();
        let value = self.scalar(made, &mut next, &mut args);
        let dtype = expr.operands[operand].dtype;
        let mut body = Body::default();
        let extent = |symbol| Some(self.given(self.extent(symbol)?, &mut next, &mut args));
        let positions = positions(&at, &mut body, made, extent);
        let element = made.op.interface::<Elements>()?.element;
        let loc = made.loc;
        let mut place = At { body: &mut body, inst: made, operand: value, positions: positions.as_deref(), dtype, loc };
        let element = element(&mut place)?;
        put(&mut next, body, operand, element);
        drop_operand(&mut next, &mut args, operand);
        Some((next, args, made.op.name))
    }

    /// The constructor behind the views of a value, and the positions in it, which are provably in
    /// bounds.
    fn constructor(&self, mut value: Value, index: &[Index]) -> Option<(Inst, Vec<Affine>)> {
        let (cx, func) = (self.cx, self.cx.func());
        let form = |index: &Index| match &index.expr {
            IndexExpr::Affine(form) if index.mode == Mode::Proved => Some(form.clone()),
            _ => None,
        };
        let mut at: Vec<Affine> = index.iter().map(form).collect::<Option<_>>()?;
        let dims = func.ty(value).dims();
        if !at.iter().zip(dims).all(|(form, &dim)| is_inside(form, &self.expr.axes, dim)) {
            return None;
        }
        for _ in 0..LONGEST {
            let inst = func.def_inst(value).filter(|_| !cx.is_written(value))?;
            let data = func.inst(inst);
            if data.op.traits.contains(Traits::CONSTRUCTOR) {
                return data.op.interface::<Elements>().map(|_| (inst, at));
            }
            let &operand = data.args.first()?;
            at = step(data, func.ty(operand), func.ty(value), &at)?;
            value = operand;
        }
        None
    }

    /// The scalar operand of a constructor, as a value of the expression.
    fn scalar(&self, made: &InstData, expr: &mut ArrayExpr, args: &mut Vec<Given>) -> Option<BodyRef> {
        let &value = made.args.first()?;
        match self.cx.func().def(value) {
            ValueDef::Const(scalar) => Some(BodyRef::Const(scalar)),
            _ => Some(self.given(Given::Value(value), expr, args)),
        }
    }

    /// An axis of a parameter whose extent is the symbol.
    fn extent(&self, symbol: Name) -> Option<Given> {
        let func = self.cx.func();
        let lives = |param: &&Value| !self.cx.is_ended(**param) && func.ty(**param).style().is_none();
        func.params().iter().filter(lives).find_map(|&param| {
            let axis = func.ty(param).dims().iter().position(|dim| *dim == Dim::Sym(symbol))?;
            Some(Given::Extent(param, axis))
        })
    }

    /// Adds a scalar to the operands of the expression.
    fn given(&self, given: Given, expr: &mut ArrayExpr, args: &mut Vec<Given>) -> BodyRef {
        let func = self.cx.func();
        let arg = args.iter().position(|&known| known == given).unwrap_or_else(|| {
            args.push(given);
            args.len() - 1
        });
        let dtype = match given {
            Given::Value(value) => func.ty(value).dtype(),
            Given::Extent(..) => DType::I64,
        };
        let source = Source::Scalar(arg as u32);
        let known = expr.operands.iter().position(|o| o.source == source);
        let number = known.unwrap_or_else(|| {
            let mut names = OperandNames::of(&expr.axes, &expr.operands);
            func.params().iter().for_each(|&param| names.reserve_symbols(func.ty(param).dims()));
            let name = match given {
                Given::Value(value) => names.for_value(func, value, "extent"),
                Given::Extent(..) => names.free("extent"),
            };
            expr.operands.push(Operand { name, source, dtype, index: Vec::new() });
            expr.operands.len() - 1
        });
        BodyRef::Operand(number as u32)
    }
}

/// Positions as values of a body; `None` if one depends on an extent that the body can't read.
fn positions(
    at: &[Affine],
    body: &mut Body,
    made: &InstData,
    mut extent: impl FnMut(Name) -> Option<BodyRef>,
) -> Option<Vec<BodyRef>> {
    use rewright::ops::arithmetic::{ADD, MUL};
    let int = |n: i64| BodyRef::Const(Scalar::I64(n));
    let mut value = |form: &Affine| {
        let mut apply = |op: &'static OpDef, args: [BodyRef; 2]| {
            body.push(BodyOp::Op(Op(op), Attrs::new()), args, [DType::I64], made.loc)[0]
        };
        let axes = form.axes().iter().map(|&(axis, step)| Some((BodyRef::Axis(axis), step)));
        let terms: Vec<(BodyRef, i64)> =
            axes.chain(form.offset.terms().iter().map(|&(name, c)| Some((extent(name)?, c)))).collect::<Option<_>>()?;
        let mut sum: Option<BodyRef> = None;
        for (term, factor) in terms {
            let term = if factor == 1 { term } else { apply(&MUL, [term, int(factor)]) };
            sum = Some(sum.map_or(term, |sum| apply(&ADD, [sum, term])));
        }
        Some(match (sum, form.offset.constant) {
            (None, constant) => int(constant),
            (Some(sum), 0) => sum,
            (Some(sum), constant) => apply(&ADD, [sum, int(constant)]),
        })
    };
    at.iter().map(&mut value).collect()
}
