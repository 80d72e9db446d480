//! `broadcasted %x, 3.0, op="mul"` and `broadcasted @g(%x)`: a lazy elementwise function with NumPy's
//! broadcasting. [`materialize`](super::materialize) computes it, so a nest of `broadcasted` becomes one
//! function.
//!
//! A parameter of `@g` that is an array takes its operand whole: every element sees the same array, and the
//! operand does not take part in broadcasting.
//!
//! The result's type carries the style that the result may have: see [`lazy`](crate::lazy). If all operands
//! are scalars, the result is a scalar.

use crate::absorption;
use crate::element::zero;
use crate::lattice::{Eager, lattice};
use crate::lazy::Lazy;
use crate::structure::{self, Function, Structure};
use crate::summary::Summary;
use crate::whole_nest;
use rewright::Presence;
use rewright::ir::eval::{apply, map_elements};
use rewright::ir::op::{Eval, broadcast_types, promote_literal};
use rewright::ir::{
    Arity, Array, AttrDef, AttrKind, EvalCx, EvalError, InferCx, LiteralCx, Loop, OpDef, Scalars, Signature, Style,
    Styled, Traits, TypeError, Types, ops::effects,
};
use rewright::{Attr, Attrs, DType, Datum, Name, Op, Scalar, Type, register_op};

/// The op.
pub static BROADCASTED: OpDef = OpDef::new(
    "broadcasted",
    "a function that is yet to be applied to each element, with broadcasting",
    Arity::AtLeast(1),
    infer,
    Eval::Array(eval),
)
.traits(Traits::PARTIAL)
.attrs(&[
    AttrDef::optional("op", AttrKind::Str, "the elementwise op"),
    AttrDef::optional("to", AttrKind::DType, "the dtype of the result of `cast`"),
    AttrDef::optional("n", AttrKind::Int, "the exponent of `integer_power`"),
    AttrDef::optional("callee", AttrKind::Func, "a function of scalars instead"),
    AttrDef::optional("zero", AttrKind::Scalar, "the function's result for zeros"),
    AttrDef::optional(
        "finite",
        AttrKind::Bool,
        "of products: no operand holds NaN or infinities, so that zero times anything is zero",
    ),
])
.literals(literal);

register_op!(BROADCASTED);

fn refuse(why: impl std::fmt::Display) -> TypeError {
    TypeError::new(format!("`broadcasted` {why}"))
}

/// The op that an instruction applies; none if it applies a function.
pub fn op(attrs: &Attrs) -> Result<Option<Op>, TypeError> {
    match (attrs.str("op"), attrs.func("callee")) {
        (None, Some(_)) => Ok(None),
        (Some(name), None) => {
            let op = rewright::ir::builder::find_op(name)?;
            match op.is_elementwise() {
                true => Ok(Some(op)),
                false => Err(refuse(format!("applies elementwise ops, `{op}` is none"))
                    .help("a function of scalars may do anything: `broadcasted @g(%x)`")),
            }
        }
        (Some(op), Some(callee)) => Err(refuse(format!("applies one function, got `{op}` and `@{callee}`"))),
        (None, None) => Err(refuse("applies a function: say `op=\"mul\"`, or `broadcasted @g(%x)`")),
    }
}

/// Attributes that `broadcasted` passes to the applied op.
const PASSED: [&str; 2] = ["to", "n"];

/// The attributes of the applied op.
pub fn attrs_of_op(attrs: &Attrs) -> Attrs {
    PASSED.iter().fold(Attrs::new(), |own, name| match attrs.get(name) {
        Some(value) => own.with(*name, value.clone()),
        None => own,
    })
}

/// Checks that the op takes the passed attributes and requires no others.
fn check_attrs(op: Option<Op>, attrs: &Attrs) -> Result<(), TypeError> {
    let taken = |name: &str| op.and_then(|op| op.attrs.iter().find(|def| def.name == name));
    if let Some(name) = PASSED.into_iter().find(|name| attrs.get(name).is_some() && taken(name).is_none()) {
        let applied = op.map_or("a function", |op| op.name);
        return Err(refuse(format!("has `{name}`, which is for ops that take it, and {applied} does not")));
    }
    let Some(op) = op else { return Ok(()) };
    let missing = |def: &&AttrDef| def.presence == Presence::Required && attrs_of_op(attrs).get(def.name).is_none();
    match op.attrs.iter().find(missing) {
        Some(def) if PASSED.contains(&def.name) => {
            Err(refuse(format!("applies `{op}`, which wants `{}`: {}", def.name, def.doc)))
        }
        Some(def) => Err(refuse(format!("has no attribute `{}`, which `{op}` wants: {}", def.name, def.doc))
            .help("a function of scalars may apply it: `broadcasted @g(%x)`")),
        None => Ok(()),
    }
}

/// Checks the number of operands.
fn check_arity(op: Op, given: usize) -> Result<(), TypeError> {
    match op.arity {
        Arity::Exactly(n) if n != given => {
            Err(refuse(format!("applies `{op}`, which takes {n} operands, got {given}")))
        }
        Arity::AtLeast(n) if n > given => {
            Err(refuse(format!("applies `{op}`, which takes at least {n} operands, got {given}")))
        }
        _ => Ok(()),
    }
}

/// A literal is promoted as by the applied op.
fn literal(cx: &LiteralCx<'_>) -> DType {
    match op(cx.attrs) {
        Ok(Some(op)) => (op.literal)(&LiteralCx { attrs: &attrs_of_op(cx.attrs), ..*cx }),
        _ => promote_literal(cx),
    }
}

/// Infers the result's type and structure.
pub fn analyse(cx: &InferCx<'_>) -> Result<(Type, Structure), TypeError> {
    if let Some(error) = lattice().errors().first() {
        return Err(refuse(format!("does not know which style wins: {error}")));
    }
    let op = op(cx.attrs)?;
    check_attrs(op, cx.attrs)?;
    op.map_or(Ok(()), |op| check_arity(op, cx.args.len()))?;
    let own = attrs_of_op(cx.attrs);
    let whole = cx.callee.map_or_else(Vec::new, wholes);
    let summary = Summary::of(op, cx.attrs, cx.args, cx.consts);
    let (args, signature) =
        (each(cx.args, &whole), cx.callee.map(|callee| by_elements(callee, cx, &whole)).transpose()?);
    let consts = each(cx.consts, &whole);
    let cx = &InferCx { args: &args, consts: &consts, callee: signature.as_ref(), ..*cx };
    // Dtype and shape do not depend on styles.
    let plain: Vec<Type> = cx.args.iter().map(|ty| ty.clone().with_style(None)).collect();
    let given = || format!("of {}", plain.iter().map(Type::to_string).collect::<Vec<_>>().join(", "));
    let dtype = match op {
        Some(op) => {
            let as_op = InferCx { op, args: &plain, attrs: &own, ..*cx };
            let types = (op.infer)(&as_op)?;
            match &types[..] {
                [ty] => ty.dtype(),
                _ => return Err(refuse(format!("applies functions with one result, `{op}` {} has more", given()))),
            }
        }
        None => {
            let as_ufunc = InferCx { op: Op(&effects::UFUNC), args: &plain, ..*cx };
            let types = (effects::UFUNC.infer)(&as_ufunc)?;
            match &types[..] {
                [ty] => ty.dtype(),
                _ => return Err(refuse(format!("applies functions with one result, this one has {}", types.len()))),
            }
        }
    };
    let Some(dims) = broadcast_types(cx.op, &plain)? else {
        return Ok((Type::scalar(dtype), Structure { now: None, lazy: Lazy::dense(), because: Vec::new() }));
    };
    let zero = zero_attr(cx.attrs, op, dtype)?;
    let function = match op {
        Some(op) => Function::Op(op),
        None => Function::Callee(zero),
    };
    let mut structure = structure::apply(function, cx, &dims, dtype, cx.attrs.flag("finite")).map_err(refuse)?;
    structure.lazy.nest = summary.map(|summary| Name::from(summary.written()));
    let style = structure.now.map_or_else(|| structure.lazy.name(), Style::name);
    let ty = Type::array(dtype, dims).with_style(Some(style));
    Ok((ty, structure))
}

/// Which operands a function takes whole.
fn wholes(callee: &Signature) -> Vec<bool> {
    callee.params.iter().map(Type::is_array).collect()
}

/// The operands that a function takes element by element.
fn each<T: Clone>(all: &[T], whole: &[bool]) -> Vec<T> {
    let is_whole = |n: usize| whole.get(n).copied().unwrap_or_default();
    all.iter().enumerate().filter(|(n, _)| !is_whole(*n)).map(|(_, one)| one.clone()).collect()
}

/// The signature without whole-array parameters, after a check of their operands.
fn by_elements(callee: &Signature, cx: &InferCx<'_>, whole: &[bool]) -> Result<Signature, TypeError> {
    for (operand, (given, param)) in cx.args.iter().zip(&callee.params).enumerate().filter(|(n, _)| whole[*n]) {
        let alike = given.rank() == param.rank() && given.dims().iter().zip(param.dims()).all(|(a, &b)| a.may_equal(b));
        if !alike || given.is_scalar() || given.dtype() != param.dtype() || given.style() != param.style() {
            return Err(refuse(format!("passes operand {operand} whole, got {given} for {param}")).operand(operand));
        }
    }
    if whole.iter().all(|&whole| whole) {
        return Err(refuse("applies a function to elements, which takes none").help("`call` passes whole arrays"));
    }
    Ok(Signature { params: each(&callee.params, whole), results: callee.results.clone() })
}

/// Why the result of an instruction is dense though an operand is not.
pub fn why_dense(func: &rewright::Function, module: &rewright::Module, inst: rewright::Inst) -> Option<String> {
    let data = func.inst(inst);
    let types: Vec<Type> = data.args.iter().map(|&arg| func.ty(arg).clone()).collect();
    let consts: Vec<Option<Scalar>> = data.args.iter().map(|&arg| func.as_const(arg)).collect();
    let signature = data.attrs.func("callee").and_then(|name| module.signature(name));
    let cx = InferCx { op: data.op, args: &types, consts: &consts, attrs: &data.attrs, callee: signature.as_ref() };
    let (_, structure) = analyse(&cx).ok()?;
    let name = op(&data.attrs).ok()?.map_or("the function", |op| op.name);
    (structure.lazy.style.is_dense() && !structure.because.is_empty())
        .then(|| format!("of `{name}`, {}", structure.because.join("; ")))
}

/// The declared result of a function for zeros.
fn zero_attr(attrs: &Attrs, op: Option<Op>, dtype: DType) -> Result<Option<Scalar>, TypeError> {
    let zero = match attrs.get("zero") {
        Some(Attr::Scalar(zero)) => Some(*zero),
        _ => None,
    };
    match (zero, op) {
        (Some(_), Some(op)) => {
            Err(refuse(format!("takes `zero` with `callee` only: the result of `{op}` for zeros is computed")))
        }
        (Some(zero), None) if zero.dtype() != dtype => {
            Err(refuse(format!("has `zero` {zero}, but the function gives {dtype}")))
        }
        (zero, _) => Ok(zero),
    }
}

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    Ok(Types::from_iter([analyse(cx)?.0]))
}

fn eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    if let Some(ty) = cx.results.first().filter(|ty| ty.is_array() && !Lazy::is_lazy(ty)) {
        return Ok(vec![at_once(cx, ty, args)?.into()]);
    }
    for arg in args {
        cx.spend(cx.len(arg.shape())? as u64)?;
    }
    let refused = |error: TypeError| EvalError::value(error.message);
    let results = match op(cx.attrs).map_err(refused)? {
        Some(op) => {
            let dense: Vec<Datum> = args.iter().map(dense).collect();
            let own = attrs_of_op(cx.attrs);
            match cx.results.first().filter(|ty| ty.is_array() && absorption::is_asked(op, cx.attrs, ty.dtype())) {
                Some(ty) => {
                    let found =
                        Loop { ins: args.iter().map(Datum::dtype).collect(), outs: [ty.dtype()].into_iter().collect() };
                    map_elements(cx, &found, &dense, |args| absorption::element(op, &own, args, ty.dtype(), true))?
                }
                None => apply(op, &EvalCx { attrs: &own, results: &[], ..*cx }, &dense)?,
            }
        }
        None => applied(cx, cx.attrs.func("callee").unwrap_or(Name::new("")), args)?,
    };
    let Some(ty) = cx.results.first().filter(|ty| ty.is_array()) else { return Ok(results) };
    results.into_iter().map(|result| lazily(ty, result.to_array(), args).map(Datum::from)).collect()
}

/// Computes the result by the interface `Eager` of its style.
fn at_once(cx: &EvalCx<'_>, ty: &Type, args: &[Datum]) -> Result<Styled, EvalError> {
    let style = Style::of(ty).map_err(EvalError::value)?;
    let eager = style.def().interface::<Eager>();
    let eager = eager.ok_or_else(|| EvalError::unsupported(format!("`{style}` has nothing to compute it by")))?;
    let op = op(cx.attrs).map_err(|error| EvalError::value(error.message))?;
    let op = op.ok_or_else(|| EvalError::unsupported("functions are not computed at once"))?;
    cx.spend(1)?;
    (eager.0)(op, args).map_err(EvalError::value)
}

/// The value without its storage style.
fn dense(arg: &Datum) -> Datum {
    match arg {
        Datum::Styled(_) => arg.to_array().into(),
        other => other.clone(),
    }
}

/// Evaluates a function of scalars for each element.
fn applied(cx: &EvalCx<'_>, callee: Name, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let callees = cx.callees.ok_or_else(|| EvalError::unsupported(format!("there is no module with `@{callee}`")))?;
    let missing = || EvalError::unsupported(format!("there is no function `@{callee}` in the module"));
    let signature = callees.signature(callee).ok_or_else(missing)?;
    if callees.stores_to_params(callee) {
        let message =
            format!("`@{callee}` stores to its arguments, which functions that are applied to elements can't");
        return Err(EvalError::unsupported(message));
    }
    let whole = wholes(&signature);
    let ins = each(&signature.params, &whole).iter().map(Type::dtype).collect();
    let found = Loop { ins, outs: signature.results.iter().map(Type::dtype).collect() };
    let by_element = each(args, &whole);
    let claim = cx.results.first().filter(|ty| ty.is_array()).map(|ty| Claim::of(ty, &by_element));
    let claim = claim.transpose()?.flatten();
    let dense: Vec<Datum> = by_element.iter().map(dense).collect();
    map_elements(cx, &found, &dense, |elements| {
        let mut limits = cx.limits;
        limits.steps = cx.steps.get();
        // Bounds the recursion of functions that apply themselves.
        limits.depth /= 2;
        if limits.depth == 0 {
            let message = format!("functions that are applied to elements nest too deep, of which `@{callee}` is one");
            return Err(EvalError::limit(message));
        }
        let made_of = elements;
        let mut elements = elements.iter();
        let given = args.iter().zip(&whole).map(|(arg, &whole)| match whole {
            true => Some(arg.clone()),
            false => elements.next().map(|&element| element.into()),
        });
        let given = given.collect::<Option<_>>().ok_or_else(|| EvalError::shape("got too few operands"))?;
        let (outcome, steps) = callees.evaluate(callee, given, limits);
        cx.spend(steps)?;
        let outcome = outcome?;
        if !outcome.printed.is_empty() {
            return Err(EvalError::unsupported(format!(
                "`@{callee}` prints, which functions that are applied to elements can't"
            )));
        }
        let results: Scalars = outcome.results.iter().filter_map(Datum::as_scalar).collect();
        if let (Some(claim), Some(&found)) = (&claim, results.first()) {
            claim.check(callee, made_of, found)?;
        }
        Ok(results)
    })
}

/// True if numbers are equal or both NaN; zeros of either sign are equal.
fn is_same(a: Scalar, b: Scalar) -> bool {
    let part = |(a, b): (f64, f64)| a == b || (a.is_nan() && b.is_nan());
    let (x, y) = (a.to_c128(), b.to_c128());
    a == b || (!a.dtype().is_int() && part((x.re, y.re)) && part((x.im, y.im)))
}

/// The elements as an array of a lazy type, with the components of operands by which its style allocates.
fn lazily(ty: &Type, elements: Array, args: &[Datum]) -> Result<Styled, EvalError> {
    let style = Style::of(ty).map_err(EvalError::value)?;
    let own = Lazy::of(ty).map_err(EvalError::value)?.style;
    let (dtype, shape) = (elements.dtype(), elements.shape().to_vec());
    let found = whole_nest::found_components(own, ty).map_err(EvalError::value)?;
    let stacks = whole_nest::stacked(&found, &whole_nest::carried(own, args)).map_err(EvalError::limit)?;
    Styled::new(style, dtype, &shape, [elements].into_iter().chain(stacks)).map_err(EvalError::value)
}

/// A claim about a function's result at structural zeros, to be checked.
struct Claim {
    /// Each operand's value at its structural zeros; none for dense arrays and scalars.
    zeros: Vec<Option<Scalar>>,
    /// The claimed result for these values.
    makes: Scalar,
}

impl Claim {
    /// The claim on which the structure of a result relies, if any.
    fn of(ty: &Type, args: &[Datum]) -> Result<Option<Claim>, EvalError> {
        let lazy = Lazy::of(ty).map_err(EvalError::value)?;
        let Some(makes) = lazy.zero.filter(|_| !lazy.style.is_dense()) else { return Ok(None) };
        let zeros = args.iter().map(|arg| match arg {
            Datum::Styled(styled) if Lazy::is_lazy(&styled.ty()) => Lazy::of(&styled.ty()).map(|lazy| lazy.zero),
            Datum::Styled(styled) => Ok(Some(zero(styled.dtype()))),
            _ => Ok(None),
        });
        Ok(Some(Claim { zeros: zeros.collect::<Result<_, _>>().map_err(EvalError::value)?, makes }))
    }

    /// Checks the claim for one element, which was computed from `made_of`.
    fn check(&self, callee: Name, made_of: &[Scalar], found: Scalar) -> Result<(), EvalError> {
        // A stored zero counts like a structural one if it has the same sign.
        let is = |(&element, zero): (&Scalar, &Option<Scalar>)| zero.is_none_or(|zero| is_bitwise(element, zero));
        if !made_of.iter().zip(&self.zeros).all(is) || is_same(found, self.makes) {
            return Ok(());
        }
        let claimed = self.makes;
        Err(EvalError::value(format!("`@{callee}` makes {found} of zeros, and `zero` says {claimed}")))
    }
}

/// True if numbers are equal, including the signs of zeros.
fn is_bitwise(a: Scalar, b: Scalar) -> bool {
    let bits = |number: Scalar| [number.to_c128().re, number.to_c128().im].map(f64::to_bits);
    a == b && bits(a) == bits(b)
}
