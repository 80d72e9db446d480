//! `lazy-constructors`: array expressions compute the elements of constructors that they read.

use super::chain::{is_inside, step};
use super::elements::{At, Elements};
use rewright::expr::{Affine, Body, BodyInst, BodyOp, BodyRef, Index, IndexExpr, Init, Mode, Operand, Source};
use rewright::ir::builder::find_op;
use rewright::op::Traits;
use rewright::prelude::*;
use rewright::{ArrayExpr, Effects, Function, InstData, ValueDef, register_rewrite};
use std::sync::Arc;

/// Reads no array of a constructor, but computes its elements: `x + iota` is a kernel that adds the index. Between the two may be any views; the
/// index goes through their maps.
///
/// A constructor with several readers is computed in each, for it is never work to share. Where one is read by what is no array expression, or its
/// position can't be computed in a body, it is made in memory, once, and a remark says why.
///
/// It is exact: the element is that of the constructor, and its position is certain to be one.
pub struct LazyConstructors;

static LAZY_CONSTRUCTORS: RewriteDef = RewriteDef::root(
    "lazy-constructors",
    "array expressions compute the elements of constructors that they read",
    &LazyConstructors,
)
.stage(Stage::BeforeLowering)
.after(&["array-expr", "reduce-fusion", "expr-siblings"])
.reach(2);
register_rewrite!(LAZY_CONSTRUCTORS);

/// So long a chain of views is followed.
const LONGEST: usize = 64;

/// An array expression that computes what it read.
pub struct Computed {
    root: Inst,
    expr: ArrayExpr,
    args: Vec<Value>,
    what: &'static str,
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
        let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
        let node = rw.insert(find_op("arrayexpr")?, args, attrs)?;
        let results = rw.func().inst(node).results.clone();
        rw.replace(root, &results)?;
        rw.remark(loc, format!("`{what}` is computed where it is read, and not kept in memory"));
        Ok(())
    }
}

/// Why a constructor has to be made in memory: who reads it.
fn why_made(cx: &MatchCx<'_>, data: &InstData) -> NoMatch {
    let func = cx.func();
    let &[value] = &data.results[..] else { return NoMatch::quiet() };
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
    /// The expression with an operand computed, if that reads a constructor.
    fn without(&self, operand: usize) -> Option<(ArrayExpr, Vec<Value>, &'static str)> {
        let (expr, func) = (self.expr, self.cx.func());
        let (Source::Array(arg) | Source::Scalar(arg)) = expr.operands[operand].source else { return None };
        let (inst, at) = self.constructor(self.data.args[arg as usize], &expr.operands[operand].index)?;
        if !is_plain(expr) || in_finisher(expr, operand) {
            return None;
        }
        let made = func.inst(inst);
        let (mut next, mut args) = (expr.clone(), self.data.args.to_vec());
        let value = self.scalar(made, &mut next, &mut args);
        let dtype = expr.operands[operand].dtype;
        let mut body = Body::default();
        let positions = positions(&at, &mut body, made);
        let element = made.op.interface::<Elements>()?.element;
        let loc = made.loc;
        let mut place = At { body: &mut body, inst: made, operand: value, positions: positions.as_deref(), dtype, loc };
        let element = element(&mut place)?;
        put(&mut next, body, operand, element);
        drop_operand(&mut next, &mut args, operand);
        Some((next, args, made.op.name))
    }

    /// The constructor that a value shows, and the positions in it; all are certain to be inside.
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

    /// The scalar that a constructor has for an operand, in the expression.
    fn scalar(&self, made: &InstData, expr: &mut ArrayExpr, args: &mut Vec<Value>) -> Option<BodyRef> {
        let func = self.cx.func();
        let &value = made.args.first()?;
        if let ValueDef::Const(scalar) = func.def(value) {
            return Some(BodyRef::Const(scalar));
        }
        let arg = args.iter().position(|&known| known == value).unwrap_or_else(|| {
            args.push(value);
            args.len() - 1
        });
        let name = fresh_name(func, value, expr);
        let source = Source::Scalar(arg as u32);
        expr.operands.push(Operand { name, source, dtype: func.ty(value).dtype(), index: Vec::new() });
        Some(BodyRef::Operand(expr.operands.len() as u32 - 1))
    }
}

/// A name that nothing of an expression has.
fn fresh_name(func: &Function, value: Value, expr: &ArrayExpr) -> Name {
    let symbols = func.params().iter().flat_map(|&p| func.ty(p).dims());
    let symbols: Vec<&Dim> = symbols.chain(expr.outs.iter().flat_map(|out| &out.dims)).collect();
    let is_taken = |name: Name| {
        expr.operands.iter().any(|o| o.name == name)
            || expr.axes.iter().any(|axis| axis.name == name)
            || symbols.contains(&&Dim::Sym(name))
    };
    let own = func.value_name(value).filter(|name| name.as_str().starts_with("value"));
    let numbered = (0..).map(|n| Name::from(format!("value_{n}")));
    own.into_iter()
        .chain([Name::new("value")])
        .chain(numbered)
        .find(|name| !is_taken(*name))
        .unwrap_or(Name::new("value"))
}

/// False of what names arguments or operands in places that are not looked at here.
fn is_plain(expr: &ArrayExpr) -> bool {
    let gathers = |index: &IndexExpr| matches!(index, IndexExpr::Gather { .. });
    let reads = expr.operands.iter().flat_map(|o| &o.index).map(|index| &index.expr);
    let writes = expr.outs.iter().flat_map(|out| &out.index);
    let nested = expr.body.insts.iter().any(|inst| matches!(inst.op, BodyOp::Nested(_)));
    let existing = expr.reductions.iter().any(|r| matches!(r.init, Init::Existing(_)));
    !nested && !existing && !reads.chain(writes).any(gathers)
}

fn in_finisher(expr: &ArrayExpr, operand: usize) -> bool {
    let is_it = |r: &BodyRef| *r == BodyRef::Operand(operand as u32);
    expr.finish.as_ref().is_some_and(|f| f.yields.iter().any(is_it) || f.insts.iter().any(|i| i.args.iter().any(is_it)))
}

/// Positions as values of a body. `None` if one depends on an extent that only a call knows.
fn positions(at: &[Affine], body: &mut Body, made: &InstData) -> Option<Vec<BodyRef>> {
    use rewright::ops::arithmetic::{ADD, MUL};
    let int = |n: i64| BodyRef::Const(Scalar::I64(n));
    let mut value = |form: &Affine| {
        let constant = form.offset.as_constant()?;
        let mut apply = |op: &'static OpDef, args: [BodyRef; 2]| {
            body.push(BodyOp::Op(Op(op), Attrs::new()), args, [DType::I64], made.loc)[0]
        };
        let mut sum: Option<BodyRef> = None;
        for &(axis, step) in form.axes() {
            let axis = BodyRef::Axis(axis);
            let term = if step == 1 { axis } else { apply(&MUL, [axis, int(step)]) };
            sum = Some(sum.map_or(term, |sum| apply(&ADD, [sum, term])));
        }
        Some(match sum {
            None => int(constant),
            Some(sum) if constant == 0 => sum,
            Some(sum) => apply(&ADD, [sum, int(constant)]),
        })
    };
    at.iter().map(&mut value).collect()
}

/// Puts a computation before the body, and its value in the place of an operand. What the body computes of the same already is the same.
fn put(expr: &mut ArrayExpr, first: Body, operand: usize, element: BodyRef) {
    let mut insts = first.insts;
    let count = insts.len();
    // Where the results of each old instruction are now.
    let mut places: Vec<u32> = Vec::with_capacity(expr.body.insts.len());
    let moved = |places: &[u32], r: &mut BodyRef| match r {
        BodyRef::Inst(n, _) => *n = places[*n as usize],
        BodyRef::Operand(n) if *n as usize == operand => *r = element,
        _ => {}
    };
    for mut inst in std::mem::take(&mut expr.body.insts) {
        inst.args.iter_mut().for_each(|r| moved(&places, r));
        let same = |known: &BodyInst| (&known.op, &known.args, &known.dtypes) == (&inst.op, &inst.args, &inst.dtypes);
        places.push(match insts[..count].iter().position(same) {
            Some(known) => known as u32,
            None => {
                insts.push(inst);
                insts.len() as u32 - 1
            }
        });
    }
    expr.body.yields.iter_mut().for_each(|r| moved(&places, r));
    expr.body.insts = insts;
}

/// Takes out an operand that nothing reads, and its argument if nothing else reads that.
fn drop_operand(expr: &mut ArrayExpr, args: &mut Vec<Value>, operand: usize) {
    let gone = expr.operands.remove(operand);
    let moved = |r: &mut BodyRef| match r {
        BodyRef::Operand(n) if *n as usize > operand => *n -= 1,
        _ => {}
    };
    for body in [Some(&mut expr.body), expr.finish.as_mut()].into_iter().flatten() {
        body.insts.iter_mut().flat_map(|inst| inst.args.iter_mut()).for_each(moved);
        body.yields.iter_mut().for_each(moved);
    }
    let arg_of = |source: &Source| match source {
        Source::Array(arg) | Source::Scalar(arg) => Some(*arg),
        Source::Capture(_) => None,
    };
    let Some(arg) = arg_of(&gone.source).filter(|arg| expr.operands.iter().all(|o| arg_of(&o.source) != Some(*arg)))
    else {
        return;
    };
    args.remove(arg as usize);
    for operand in &mut expr.operands {
        if let Source::Array(n) | Source::Scalar(n) = &mut operand.source
            && *n > arg
        {
            *n -= 1;
        }
    }
}
