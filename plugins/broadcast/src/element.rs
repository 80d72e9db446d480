//! Interfaces by which kernels access arrays of a style: the element at an index as a scalar expression
//! ([`Element`]), and the places of stored elements ([`Stored`]).
//!
//! Both use affine forms of the axes of an expression. Some conditions hold at all points or at none, such
//! as "on the diagonal" for a diagonal component. These are decided when the kernel is built; only the
//! others are tested at run time.

use crate::absorption;
use crate::ops::broadcasted::attrs_of_op;
use rewright::OperandNames;
use rewright::ir::ArrayExpr;
use rewright::ir::expr::{Axis, Body, BodyOp, Operand, Out, Source, Write, prune};
use rewright::plugin::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Interface of a storage style: the element of an array at an index in bounds.
#[derive(Debug)]
pub struct Element(pub fn(&mut Cell<'_>, &Leaf, &[Affine]) -> Result<BodyRef, String>);

/// Interface of a storage style: the places of the elements that each component stores, in the order of the
/// components.
#[derive(Debug)]
pub struct Stored(pub fn(&Type) -> Result<Vec<Places>, String>);

/// Where the elements of a component are in the array.
#[derive(Clone, Debug)]
pub struct Places {
    /// The extents of the component.
    pub extents: Vec<SymExpr>,
    /// For each axis of the array, the position of an element as a form of the component's axes.
    pub at: Vec<Affine>,
    /// The condition on elements of the component that count; the others are zero.
    pub guard: Vec<Condition>,
}

/// An operand with a style: its type, and its components as values.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The type.
    pub ty: Type,
    /// The components, in the style's order.
    pub components: Vec<Value>,
    /// The value where nothing is stored: zero, or a function of zero.
    pub zero: Scalar,
}

/// Builds the computation of one element.
pub struct Cell<'f> {
    func: &'f Function,
    /// The axes of the expression.
    pub axes: Vec<Axis>,
    /// The conditions on the points at which it is computed.
    pub guard: Vec<Condition>,
    /// The operands of the expression.
    pub operands: Vec<Operand>,
    /// The values that are read.
    pub args: Vec<Value>,
    /// The scalar SSA body.
    pub body: Body,
    names: OperandNames,
    known: HashMap<(Value, Vec<Index>), BodyRef>,
    /// The number of selections around the current code, in which indices may be out of bounds.
    doubts: usize,
}

impl<'f> Cell<'f> {
    /// Starts a computation from values of `func`, at the points of these axes that the guard admits.
    pub fn new(func: &'f Function, axes: Vec<Axis>, guard: Vec<Condition>) -> Cell<'f> {
        let names = OperandNames::of(&axes, &[]);
        Cell {
            func,
            axes,
            guard,
            operands: Vec::new(),
            args: Vec::new(),
            body: Body::default(),
            names,
            known: HashMap::new(),
            doubts: 0,
        }
    }

    /// The dtype of an instruction's result, and its source location.
    pub(crate) fn result_of(&self, inst: Inst) -> (DType, Loc) {
        let data = self.func.inst(inst);
        (self.func.ty(data.results[0]).dtype(), data.loc)
    }
    /// The type of a value, and its dtype.
    pub(crate) fn type_of(&self, value: Value) -> (&'f Type, DType) {
        let ty = self.func.ty(value);
        (ty, ty.dtype())
    }

    /// Reads an element of a component that has the array's extents.
    pub fn read_inside(&mut self, component: Value, index: &[Affine]) -> BodyRef {
        let at = |form: &Affine| Index { expr: IndexExpr::Affine(form.clone()), mode: Mode::Proved };
        self.read_by(component, index.iter().map(at).collect())
    }

    /// Reads an element of a component. Inside a selection, reads out of bounds give zero.
    pub fn read(&mut self, component: Value, index: &[IndexExpr]) -> BodyRef {
        let dtype = self.func.ty(component).dtype();
        let mode = if self.doubts > 0 { Mode::Pad(zero(dtype)) } else { Mode::Proved };
        let index = index.iter().map(|expr| Index { expr: expr.clone(), mode }).collect();
        self.read_by(component, index)
    }

    /// The number of a value among the expression's arguments; adds it if it is new.
    pub fn arg(&mut self, value: Value) -> u32 {
        let known = self.args.iter().position(|&known| known == value);
        known.unwrap_or_else(|| {
            self.args.push(value);
            self.args.len() - 1
        }) as u32
    }

    /// Reads an element of a dense array, or a scalar, with access modes.
    pub fn read_by(&mut self, value: Value, index: Vec<Index>) -> BodyRef {
        if let Some(&known) = self.known.get(&(value, index.clone())) {
            return known;
        }
        let arg = self.arg(value);
        let ty = self.func.ty(value);
        let source = if ty.rank() > 0 { Source::Array(arg) } else { Source::Scalar(arg) };
        let element = BodyRef::Operand(self.operands.len() as u32);
        self.known.insert((value, index.clone()), element);
        let name = self.names.for_value(self.func, value, "x");
        self.operands.push(Operand { name, source, dtype: ty.dtype(), index });
        element
    }

    /// Appends an op on scalars with result dtype `dtype`.
    pub fn op(&mut self, op: Op, args: &[BodyRef], dtype: DType, loc: Loc) -> BodyRef {
        self.op_with(op, Attrs::new(), args, dtype, loc)
    }

    /// Appends an op on scalars with attributes.
    pub fn op_with(&mut self, op: Op, attrs: Attrs, args: &[BodyRef], dtype: DType, loc: Loc) -> BodyRef {
        self.body.push(BodyOp::Op(op, attrs), args.iter().copied(), [dtype], loc)[0]
    }

    /// The attributes of the op that an instruction applies.
    pub(crate) fn attrs_of(&self, inst: Inst) -> Attrs {
        attrs_of_op(&self.func.inst(inst).attrs)
    }

    /// True if `finite=true` makes zeros absorbing for the op that an instruction applies to arrays.
    pub(crate) fn absorbs(&self, inst: Inst, op: Op) -> bool {
        let data = self.func.inst(inst);
        let ty = self.func.ty(data.results[0]);
        ty.is_array() && absorption::is_asked(op, &data.attrs, ty.dtype())
    }

    /// Appends a core op on scalars.
    pub fn core(&mut self, name: &str, args: &[BodyRef], dtype: DType) -> Result<BodyRef, String> {
        let op = rewright::ir::builder::find_op(name).map_err(|error| error.message)?;
        Ok(self.op(op, args, dtype, Loc::default()))
    }

    /// Selects `then` where the test of a form holds, else `otherwise`. If the test is decided here, only
    /// one of the two is computed.
    pub fn when(
        &mut self,
        form: &Affine,
        test: Test,
        dtype: DType,
        then: impl FnOnce(&mut Self) -> Result<BodyRef, String>,
        otherwise: impl FnOnce(&mut Self) -> Result<BodyRef, String>,
    ) -> Result<BodyRef, String> {
        match self.decided(form, test) {
            Some(true) => return then(self),
            Some(false) => return otherwise(self),
            None => {}
        }
        let [more, less] = self.sides(form)?;
        let name = match test {
            Test::Zero => "eq",
            Test::NotPositive => "le",
            Test::DivisibleBy(_) => return Err("a selection by divisibility".into()),
        };
        let holds = self.core(name, &[more, less], DType::Bool)?;
        self.doubts += 1;
        let both = then(self).and_then(|then| Ok([then, otherwise(self)?]));
        self.doubts -= 1;
        let [then, otherwise] = both?;
        self.core("where", &[holds, then, otherwise], dtype)
    }

    /// The outcome of a test, if it is the same at all points.
    fn decided(&self, form: &Affine, test: Test) -> Option<bool> {
        match (form.as_constant(), test) {
            (Some(c), Test::Zero) => Some(c == 0),
            (Some(c), Test::NotPositive) => Some(c <= 0),
            (Some(c), Test::DivisibleBy(n)) => Some(c % n == 0),
            (None, _) if self.guard.contains(&Condition { form: form.clone(), test }) => Some(true),
            // Axes begin at 0.
            (None, _) => match (least(form), most(form), test) {
                (Some(low), _, Test::Zero | Test::NotPositive) if low > 0 => Some(false),
                (_, Some(high), Test::Zero) if high < 0 => Some(false),
                (_, Some(high), Test::NotPositive) if high <= 0 => Some(true),
                _ => None,
            },
        }
    }

    /// Two values whose difference is the form: the sum of its positive terms, and that of its negated
    /// negative terms.
    fn sides(&mut self, form: &Affine) -> Result<[BodyRef; 2], String> {
        let (mut more, mut less) = (Affine::default(), Affine::default());
        for &(axis, c) in form.axes() {
            let side = if c > 0 { &mut more } else { &mut less };
            *side = std::mem::take(side).add_axis(axis, c.checked_abs().ok_or(LARGE)?).ok_or(LARGE)?;
        }
        more.offset = form.offset.clone();
        if more.offset.constant < 0 {
            less.offset.constant = more.offset.constant.checked_neg().ok_or(LARGE)?;
            more.offset.constant = 0;
        }
        Ok([self.index(&more)?, self.index(&less)?])
    }

    /// The value of a form of the axes.
    pub fn index(&mut self, form: &Affine) -> Result<BodyRef, String> {
        if !form.offset.terms().is_empty() {
            return Err("a position that counts from an end".into());
        }
        let number = |n: i64| BodyRef::Const(Scalar::I64(n));
        let mut sum = None;
        for &(axis, coefficient) in form.axes() {
            let term = match coefficient {
                1 => BodyRef::Axis(axis),
                c => self.core("mul", &[BodyRef::Axis(axis), number(c)], DType::I64)?,
            };
            sum = Some(match sum {
                None => term,
                Some(before) => self.core("add", &[before, term], DType::I64)?,
            });
        }
        match (sum, form.offset.constant) {
            (None, c) => Ok(number(c)),
            (Some(sum), 0) => Ok(sum),
            (Some(sum), c) => self.core("add", &[sum, number(c)], DType::I64),
        }
    }
}

impl Cell<'_> {
    /// Finishes the expression of an array of these dims, with `element` at each point, and zero where the
    /// guard fails. Returns the expression and the values that it reads.
    pub fn finish(mut self, element: BodyRef, dtype: DType, dims: &[Dim]) -> (ArrayExpr, Vec<Value>) {
        let element = self.selected(element, dtype);
        self.body.yields.push(element);
        let index = (0..self.axes.len() as u32).map(|axis| IndexExpr::Affine(Affine::axis(axis))).collect();
        let fill = (!self.guard.is_empty()).then(|| zero(dtype));
        let out = Out { dtype, dims: dims.to_vec(), index, fill, write: Write::Unique };
        let Cell { axes, guard, mut operands, mut args, mut body, .. } = self;
        prune(&mut body, &axes, &mut operands, &mut args);
        let (reductions, locs) = (Vec::new(), Vec::new());
        (ArrayExpr { axes, guard, operands, body, reductions, finish: None, outs: vec![out], locs }, args)
    }
}

impl Cell<'_> {
    /// Replaces the guard by a selection between the element and zero, which is faster in kernels. If an op
    /// of the body can fail, the guard stays, so that no excluded point raises an error.
    fn selected(&mut self, element: BodyRef, dtype: DType) -> BodyRef {
        let cannot_fail = |op: &BodyOp| match op {
            BodyOp::Op(op, _) => !op.traits.contains(Traits::PARTIAL),
            _ => true,
        };
        if self.guard.is_empty() || !self.body.insts.iter().all(|inst| cannot_fail(&inst.op)) {
            return element;
        }
        let guard = std::mem::take(&mut self.guard);
        let otherwise = BodyRef::Const(zero(dtype));
        let selected = guard.iter().try_fold(element, |element, Condition { form, test }| {
            self.when(form, *test, dtype, |_| Ok(element), |_| Ok(otherwise))
        });
        match selected {
            Ok(selected) => selected,
            Err(_) => {
                self.guard = guard;
                element
            }
        }
    }
}

/// Inserts an `arrayexpr` with one result.
pub fn insert(rw: &mut Rewriter<'_>, (expr, args): (ArrayExpr, Vec<Value>)) -> Result<Value, RewriteError> {
    let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
    let inst = rw.insert(rewright::ir::builder::find_op("arrayexpr")?, args, attrs)?;
    Ok(rw.func().inst(inst).results[0])
}

/// Inserts `assemble`: the array of a style with these components, and the extents and the dtype of `ty`.
pub fn assembled(rw: &mut Rewriter<'_>, style: &str, ty: &Type, components: Vec<Value>) -> Result<Value, RewriteError> {
    let attrs = Attrs::new()
        .with("style", Attr::Str(style.into()))
        .with("dims", Attr::Dims(ty.dims().into()))
        .with("dtype", Attr::DType(ty.dtype()));
    rw.op_with("assemble", components, attrs)
}

/// Converts an array to a dense one. For an array with a style this writes every element, and a remark
/// gives the reason, `what_for`.
pub fn dense(rw: &mut Rewriter<'_>, array: Value, loc: Loc, what_for: &str) -> Result<Value, RewriteError> {
    let ty = rw.func().ty(array).clone();
    if ty.style().is_none() {
        return Ok(array);
    }
    rw.missed(loc, format!("{ty} is made dense: {what_for}"));
    rw.op_with("restyle", [array], Attrs::new().with("style", Attr::Str("dense".into())))
}

/// Broadcasts a dense array to the extents of the result, except for axes whose extent is known to be 1.
/// The result is a view, which fails if the extents do not fit. So elements can be read at all places of
/// the result.
pub fn stretched(rw: &mut Rewriter<'_>, array: Value, result: &Type) -> Result<Value, RewriteError> {
    let own = rw.func().ty(array).dims().to_vec();
    let of = &result.dims()[result.rank().saturating_sub(own.len())..];
    let to = own.iter().zip(of).map(|(&own, &of)| if own == Dim::Const(1) { own } else { of });
    let to: Vec<Dim> = to.collect();
    match to == own {
        true => Ok(array),
        false => rw.op_with("broadcast_in_dim", [array], Attrs::new().with("dims", Attr::Dims(to.into()))),
    }
}

/// The minimum of a form, if no coefficient is negative.
fn least(form: &Affine) -> Option<i64> {
    let grows = form.axes().iter().all(|&(_, c)| c > 0) && form.offset.terms().is_empty();
    grows.then_some(form.offset.constant)
}

/// The maximum of a form, if no coefficient is positive.
fn most(form: &Affine) -> Option<i64> {
    let falls = form.axes().iter().all(|&(_, c)| c < 0) && form.offset.terms().is_empty();
    falls.then_some(form.offset.constant)
}

/// The difference of two forms.
pub fn minus(a: &Affine, b: &Affine) -> Result<Affine, String> {
    let mut difference = a.clone();
    for &(axis, c) in b.axes() {
        difference = difference.add_axis(axis, c.checked_neg().ok_or(LARGE)?).ok_or(LARGE)?;
    }
    difference.offset = std::mem::take(&mut difference.offset).plus_scaled(&b.offset, -1).ok_or(LARGE)?;
    Ok(difference)
}

/// The form plus a constant offset.
pub fn plus(form: &Affine, by: i64) -> Result<Affine, String> {
    let mut sum = form.clone();
    sum.offset.constant = sum.offset.constant.checked_add(by).ok_or(LARGE)?;
    Ok(sum)
}

const LARGE: &str = "a position that does not fit 64 bits";

/// Zero of a dtype.
pub fn zero(dtype: DType) -> Scalar {
    Scalar::Bool(false).cast(dtype)
}
