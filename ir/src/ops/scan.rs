//! Scans along an axis: `cumsum`, `cumprod`, `cummin`, `cummax`, and `scan` with a monoid by its name.
//!
//! The result has the shape of the operand. Its elements are running totals, which combine the elements up to
//! theirs, or those before it (`exclusive`), from the first element on or from the last (`reverse`). Dtypes
//! are those of the reductions: running sums and products of bools and signed integers are `i64`, those of
//! unsigned ones `u64`.
//!
//! Elements are combined in sequence, so floats have the bits of NumPy's `cumsum` and `cumprod`.

use super::rule::{self, array, axis, one, refuse};
use crate::attr::{Attr, AttrDef, AttrKind, Attrs};
use crate::error::{EvalError, TypeError};
use crate::expr::{
    Affine, ArrayExpr, AxisKind, Body, BodyRef, Combine, Index, IndexExpr, Init, Mode, Monoid, Operand, Out, Reduction,
    Source, SymExpr, Write, axes_along,
};
use crate::function::{Function, InstData};
use crate::loc::Loc;
use crate::name::Name;
use crate::op::{Arity, Eval, EvalCx, InferCx, Op, OpDef, Types};
use crate::register_op;
use crate::scalar::Scalar;
use crate::types::{Dim, Type};
use crate::value::{Datum, Elements};

const AXIS: AttrDef = AttrDef::optional("axis", AttrKind::Int, "the axis; the only one if absent");
const EXCLUSIVE: AttrDef = AttrDef::flag("exclusive", "the total at an element is without this element");
const REVERSE: AttrDef = AttrDef::flag("reverse", "from the last element to the first");
const INIT: AttrDef = AttrDef::optional(
    "init",
    AttrKind::Scalar,
    "the total before all elements; if absent, none, and for an exclusive scan the neutral element",
);
const ATTRS: &[AttrDef] = &[AXIS, EXCLUSIVE, REVERSE, INIT];

macro_rules! scans {
    ($($static:ident $eval:ident $name:literal $doc:literal $attrs:expr;)*) => {$(
        #[doc = $doc]
        pub static $static: OpDef =
            OpDef::new($name, $doc, Arity::Exactly(1), infer, Eval::Array($eval)).attrs($attrs);
        fn $eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
            eval(cx, &$static, args)
        }
        register_op!($static);
    )*};
}
scans! {
    CUMSUM eval_cumsum "cumsum" "running sums along an axis" ATTRS;
    CUMPROD eval_cumprod "cumprod" "running products along an axis" ATTRS;
    CUMMIN eval_cummin "cummin" "the smallest element so far along an axis; NaN from the first NaN on" ATTRS;
    CUMMAX eval_cummax "cummax" "the greatest element so far along an axis; NaN from the first NaN on" ATTRS;
    SCAN eval_scan "scan" "running totals along an axis: `sum`, `prod`, `min`, `max`, `any` or `all`" &[
        AttrDef::required("monoid", AttrKind::Str, "how elements are combined"), AXIS, EXCLUSIVE, REVERSE, INIT,
    ];
}

/// A scan of an array along an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// The monoid, which has one accumulator.
    pub monoid: Monoid,
    /// The axis, counted from the first one.
    pub axis: usize,
    /// Whether totals are without their own element.
    pub exclusive: bool,
    /// Whether the last element is the first one that is combined.
    pub reverse: bool,
    /// The total before all elements.
    pub init: Option<Scalar>,
}

/// The monoid of a scan op; the error says which ones there are. `None` for other ops.
fn monoid(op: Op, attrs: &Attrs) -> Option<Result<Monoid, String>> {
    let table = [(&CUMSUM, Monoid::Sum), (&CUMPROD, Monoid::Prod), (&CUMMIN, Monoid::Min), (&CUMMAX, Monoid::Max)];
    if let Some((_, monoid)) = table.iter().find(|(def, _)| std::ptr::eq(*def, op.0)) {
        return Some(Ok(*monoid));
    }
    std::ptr::eq(&SCAN, op.0).then(|| {
        let name = attrs.str("monoid").unwrap_or_default();
        let mut known = Monoid::ALL.into_iter().filter(|monoid| monoid.accumulators() == 1);
        let found = known.clone().find(|monoid| monoid.name() == name);
        found.ok_or_else(|| {
            let first = known.next().map_or("", Monoid::name).to_string();
            let list = known.fold(first, |list, monoid| format!("{list}, {}", monoid.name()));
            format!("has no monoid {name:?}; there are {list}")
        })
    })
}

impl Scan {
    /// The scan of an instruction; `None` for other ops.
    pub fn of(func: &Function, data: &InstData) -> Option<Scan> {
        let monoid = monoid(data.op, &data.attrs)?.ok()?;
        Scan::along(monoid, &data.attrs, func.ty(*data.args.first()?).rank())
    }

    /// `None` if there is no such axis.
    fn along(monoid: Monoid, attrs: &Attrs, rank: usize) -> Option<Scan> {
        let axis = match attrs.int("axis") {
            Some(axis) => usize::try_from(if axis < 0 { axis + rank as i64 } else { axis }).ok()?,
            None => 0,
        };
        let init = if let Some(Attr::Scalar(init)) = attrs.get("init") { Some(*init) } else { None };
        let (exclusive, reverse) = (attrs.flag("exclusive"), attrs.flag("reverse"));
        Some(Scan { monoid, axis, exclusive, reverse, init })
    }

    /// The scan of an operand of this type as an expression; `result` is the type of the result. The error
    /// says why there is none.
    pub fn expression(&self, ty: &Type, result: &Type, loc: Loc) -> Result<ArrayExpr, &'static str> {
        let taken = |name: Name| ty.dims().contains(&Dim::Sym(name));
        let mut axes = axes_along(ty.dims(), taken);
        if axes.iter().zip(ty.dims()).any(|(axis, dim)| axis.hi.is_none() && *dim != Dim::Any) {
            return Err("an extent is too great");
        }
        let scanned = axes.get_mut(self.axis).ok_or("there is no such axis")?;
        scanned.kind = AxisKind::Scan { exclusive: self.exclusive };
        let end = scanned.hi.clone();
        let mut position: Vec<Affine> = (0..ty.rank() as u32).map(Affine::axis).collect();
        if self.reverse {
            position[self.axis] = reversed(self.axis as u32, end.ok_or("it is reversed, and the extent is not known")?)
                .ok_or("an extent is too great")?;
        }
        let place: Vec<IndexExpr> = position.into_iter().map(IndexExpr::Affine).collect();
        let index = place.iter().map(|expr| Index { expr: expr.clone(), mode: Mode::Proved }).collect();
        let operand = Operand { name: Name::from("x"), source: Source::Array(0), dtype: ty.dtype(), index };
        let out =
            Out { dtype: result.dtype(), dims: result.dims().to_vec(), index: place, fill: None, write: Write::Unique };
        Ok(ArrayExpr {
            axes,
            guard: Vec::new(),
            operands: vec![operand],
            body: Body { yields: vec![BodyRef::Operand(0)], ..Body::default() },
            reductions: vec![self.reduction(result, loc)],
            finish: None,
            outs: vec![out],
            locs: vec![loc],
        })
    }

    /// The reduction of a node with a result of this type.
    fn reduction(&self, result: &Type, loc: Loc) -> Reduction {
        Reduction {
            combine: Combine::Builtin(self.monoid),
            accumulators: vec![result.dtype()],
            identity: None,
            init: match self.init {
                Some(value) => Init::Values(vec![value]),
                None if self.exclusive => Init::Identity,
                None => Init::First,
            },
            associative: true,
            commutative: true,
            idempotent: false,
            loc,
        }
    }
}

/// The position `end - 1 - axis`; `None` if it overflows.
fn reversed(axis: u32, end: SymExpr) -> Option<Affine> {
    let mut form = Affine::default().add_axis(axis, -1)?;
    form.offset = end;
    form.offset.constant = form.offset.constant.checked_sub(1)?;
    Some(form)
}

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = array(cx, 0)?;
    let monoid = match monoid(cx.op, cx.attrs) {
        Some(known) => known.map_err(|why| refuse(cx, why))?,
        None => return Err(refuse(cx, "is no scan")),
    };
    match cx.attrs.int("axis") {
        Some(at) => {
            axis(cx, at, ty.rank())?;
        }
        None if ty.rank() != 1 => {
            let error = refuse(cx, format!("needs an axis, as the operand has {}", ty.rank()));
            return Err(error.operand(0).help("state it, as `axis=0`; `reshape` makes an array of one axis"));
        }
        None => {}
    }
    let dtype = monoid.accumulator(ty.dtype());
    match cx.attrs.get("init") {
        Some(Attr::Scalar(init)) if init.dtype() != dtype => {
            let error = refuse(cx, format!("starts from {}, and the result is {dtype}", init.dtype()));
            return Err(error.help(format!("write the number as `init={}:{dtype}`", init.cast(dtype))));
        }
        None if cx.attrs.flag("exclusive") && monoid.identity(dtype).is_none() => {
            let error =
                refuse(cx, format!("has no first element, as `{}` of {dtype} has no neutral one", monoid.name()));
            return Err(error.operand(0).help("state one by `init`"));
        }
        _ => {}
    }
    one(Type::array(dtype, ty.dims()))
}

fn eval(cx: &EvalCx<'_>, op: &'static OpDef, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let (ty, shape) = rule::result(cx, op, args)?;
    let missing = || EvalError::shape("scans one array along an axis");
    let operand = args.first().ok_or_else(missing)?.to_array();
    let monoid = monoid(Op(op), cx.attrs).and_then(Result::ok).ok_or_else(missing)?;
    let scan = Scan::along(monoid, cx.attrs, shape.len()).ok_or_else(missing)?;
    let len = cx.len(&shape)?;
    cx.spend(len as u64)?;
    let (elements, dtype) = (Elements::of(&operand), ty.dtype());
    let mut totals = Elements::filled(Scalar::zero(dtype), len)?;
    let (before, after) = (&shape[..scan.axis], &shape[scan.axis + 1..]);
    let (rows, columns, count): (usize, usize, usize) =
        (before.iter().product(), after.iter().product(), shape[scan.axis]);
    let start = scan.init.or_else(|| monoid.identity(dtype).filter(|_| scan.exclusive));
    for row in 0..rows {
        for column in 0..columns {
            let mut total = start;
            for step in 0..count {
                let along = if scan.reverse { count - 1 - step } else { step };
                let at = (row * count + along) * columns + column;
                let element = elements.at(at).cast(dtype);
                let next = total.map_or(element, |total| monoid.combine(total, element));
                totals.set(at, total.filter(|_| scan.exclusive).unwrap_or(next))?;
                total = Some(next);
            }
        }
    }
    Ok(vec![Datum::Array(totals.into_array(&shape)?)])
}
