//! From expressions to kernels, and to loop programs.
//!
//! [`lower()`] makes the kernel of an [`ArrayExpr`], at its dtypes, for any extents and strides: a perfect loop
//! nest around the body, whose operands are read at affine positions in bounds, and whose results are indexed
//! by axes. [`Lowered::space`], [`Lowered::result_shape`] and [`Lowered::bind`] compute the loops and
//! addresses of one call; they answer `None` if the operands do not fit.
//!
//! [`program`] translates all other expressions to loop programs, which also run calls that do not fit a kernel
//! and large calls of contractions. Small reductions are unrolled before either.

mod along;
mod bind;
mod monoid;
mod one_point;
mod order;
pub mod program;
mod reduce;
mod rows_first;
mod rows_last;
mod unroll;

pub use bind::{Bound, ResultShape, Space, Strided};
pub use order::Order;

use crate::kernel::{Buffer, ItemWork, KOp, KValue, Kernel, KernelBuilder, Part};
use crate::scalar::{Elem, Elems, ScalarCx};
use crate::schedule::{Schedule, nanos};
use indexmap::IndexSet;
use reduce::Axes;
pub use reduce::BlockJoin;
use rewright_ir::expr::{
    Affine, Axis, AxisKind, Body, BodyOp, BodyRef, IndexExpr, Mode, Operand, Out, Source, SymExpr, Write,
    extent_sources, verify,
};
use rewright_ir::{ArrayExpr, Attrs, DType, Dim, Name, Scalar, Type};
use smallvec::SmallVec;
use thiserror::Error;

/// Why an expression has no kernel.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{reason}")]
pub struct NotLowered {
    /// The reason; goes on after "it is computed by its reference meaning: ".
    pub reason: String,
}

impl NotLowered {
    fn because<T>(reason: impl Into<String>) -> Result<T, NotLowered> {
        Err(NotLowered { reason: reason.into() })
    }
}

/// A kernel, and what its loops, buffers and parameters are.
#[derive(Clone, Debug, PartialEq)]
pub struct Lowered {
    /// The kernel.
    pub kernel: Kernel,
    /// The bounds of its loops.
    pub bounds: Vec<Bounds>,
    /// One a buffer.
    pub accesses: Vec<Access>,
    /// One a parameter.
    pub params: Vec<Param>,
    /// What is known of the results.
    pub results: Vec<ResultMap>,
    /// The loops whose index is used as a value: they can't be merged with others.
    pub indexed: Vec<bool>,
    /// The loops may be in any order.
    pub free_order: bool,
    /// The loops that results are combined along.
    pub reduced: Vec<bool>,
    /// The first of the innermost loops that make a row, which a fold combines: all others of them must
    /// have merged with the last one.
    pub row: usize,
    /// How blocks of rows are joined, if results are combined in memory in an order that has them.
    pub block_join: Option<BlockJoin>,
    /// The names of the axes.
    pub names: Vec<Name>,
    /// The names of buffers: those of operands, and `out.0` for the first result. A buffer may have several.
    pub buffer_names: Vec<(Name, u32)>,
    /// The loops whose iterations write to different elements.
    pub apart: Vec<bool>,
    /// A point may fail.
    pub fallible: bool,
    /// About how long one point takes, in nanoseconds.
    pub point_nanos: f64,
    /// What is computed at a point of a row, if rows may be combined after that.
    pub item_work: Option<ItemWork>,
    /// What was said by hand of how the loops are run.
    pub wish: Schedule,
}

/// The bounds of a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// The first index.
    pub lo: SymExpr,
    /// One past the last; `None` if it follows from operands.
    pub hi: Option<SymExpr>,
    /// The dims (operand of the instruction, dim) that it follows from.
    pub sources: Vec<(u32, usize)>,
}

/// What a buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The instruction's n-th operand, an array.
    Arg(u32),
    /// The instruction's n-th result.
    Result(u32),
}

/// A buffer, and the position along each of its dims.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// What it is.
    pub place: Place,
    /// One position a dim.
    pub positions: Vec<Position>,
}

/// Where along a dim.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// There; must be inside.
    At(Affine),
    /// At this axis, or at 0 if the dim has extent 1.
    Stretched(u32),
    /// The only one of a dim of extent 1.
    Only,
}

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// The instruction's n-th operand, a scalar, or a part of it.
    Arg(u32, Part),
    /// The first index of an axis.
    Start(u32),
}

/// How a result is written.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultMap {
    /// Its dtype.
    pub dtype: DType,
    /// Its dims.
    pub dims: Vec<Dim>,
    /// The axis along each dim; none for one of extent 1 with no axis.
    pub axes: SmallVec<[Option<u32>; 4]>,
    /// What elements hold that are not written.
    pub fill: Option<Scalar>,
    /// Several points may write one element, and the last one stays.
    pub last_wins: bool,
    /// What elements hold before the first point, where points are combined with that.
    pub start: Option<Scalar>,
}

/// Makes the kernel of an expression whose instruction has operands of these types. Small reductions are
/// unrolled.
pub fn lower(expr: &ArrayExpr, args: &[Type]) -> Result<Lowered, NotLowered> {
    let unrolled = unroll::unrolled(expr, args).and_then(|unrolled| lower_as_is(&unrolled, args).ok());
    unrolled.map_or_else(|| lower_rolled(expr, args), Ok)
}

/// The same with a loop for each reduction: for a schedule, which names the axes.
pub fn lower_rolled(expr: &ArrayExpr, args: &[Type]) -> Result<Lowered, NotLowered> {
    match one_point::without_one_point(expr, args) {
        Some(shorter) => lower_as_is(&shorter, args),
        None => lower_as_is(expr, args),
    }
}

/// The same with a loop for each axis, and in the order that was given by hand where that may be and the
/// loops can't be put in it later: axes change places before the kernel is made, so that values which are
/// invariant along an inner loop are outside of it.
pub fn lower_in_order(expr: &ArrayExpr, args: &[Type], order: &[Vec<Name>]) -> Result<Lowered, NotLowered> {
    let lowered = lower_as_is(expr, args)?;
    if lowered.free_order || lowered.fallible {
        return Ok(lowered);
    }
    let axes = along::in_order(expr, order.iter().flatten().copied());
    let sorted = axes.and_then(|axes| lower_as_is(&along::along(expr, &axes)?, args).ok());
    Ok(sorted.unwrap_or(lowered))
}

fn lower_as_is(expr: &ArrayExpr, args: &[Type]) -> Result<Lowered, NotLowered> {
    if let Some(problem) = verify(expr, args).into_iter().next() {
        return NotLowered::because(format!("it is malformed: {}", problem.message));
    }
    if !expr.guard.is_empty() {
        return NotLowered::because("it has a guard");
    }
    if expr.scan().is_some() {
        return NotLowered::because("it has a scan axis");
    }
    let first = rows_first::rows_first(expr);
    let turned = first.is_some();
    let last = if turned { None } else { rows_last::rows_last(expr) };
    let expr = first.as_ref().or(last.as_ref()).unwrap_or(expr);
    let k = KernelBuilder::new(expr.axes.len());
    let is_single = |axis: &Axis| axis.kind == AxisKind::Parallel && one_point::points(axis) == Some(1);
    let single = expr.axes.iter().map(is_single).collect();
    let mut lowering = Lowering {
        k,
        none: Attrs::new(),
        args,
        single,
        accesses: IndexSet::new(),
        params: Vec::new(),
        block_join: None,
        buffer_names: Vec::new(),
    };
    let operands = expr.operands.iter().map(|o| lowering.operand(o)).collect::<Result<Vec<_>, _>>()?;
    let yields = lowering.body(&expr.body, &operands, &[], &expr.axes)?;
    let axes = Axes::of(expr);
    let results = match expr.reductions.is_empty() {
        true => {
            let outs = (0..).zip(&expr.outs).zip(yields);
            outs.map(|((number, out), value)| lowering.result(number, out, value)).collect::<Result<Vec<_>, _>>()?
        }
        false => lowering.reduce(expr, &axes, &operands, yields)?,
    };
    let Lowering { k, accesses, params, block_join, mut buffer_names, .. } = lowering;
    for (number, access) in (0..).zip(&accesses) {
        if let Place::Result(result) = access.place {
            buffer_names.push((Name::from(&*format!("out.{result}")), number));
        }
    }
    let mut kernel = k.finish();
    kernel.drop_unseen_signs();
    let fallible = kernel.insts.iter().any(|inst| matches!(inst.op, KOp::Reference(_)));
    if turned && fallible {
        return NotLowered::because("it combines several rows in sequence, and a point may fail");
    }
    let indexed = |axis| kernel.insts.iter().any(|i| matches!(i.op, KOp::Index(a) if a as usize == axis));
    let indexed = (0..expr.axes.len()).map(indexed).collect();
    let bounds = expr.axes.iter().enumerate().map(|(number, axis)| Bounds {
        lo: axis.lo.clone(),
        hi: axis.hi.clone(),
        sources: extent_sources(expr, number as u32).collect(),
    });
    let written = || kernel.buffers.iter().filter(|buffer| buffer.written);
    let apart = |axis: usize| !axes.reduced[axis] && written().all(|buffer| buffer.varies[axis]);
    Ok(Lowered {
        bounds: bounds.collect(),
        names: expr.axes.iter().map(|axis| axis.name).collect(),
        buffer_names,
        apart: (0..expr.axes.len()).map(apart).collect(),
        fallible,
        point_nanos: nanos(&kernel),
        item_work: kernel.item_work(),
        wish: Schedule::default(),
        accesses: accesses.into_iter().collect(),
        params,
        results,
        indexed,
        // Rows that are combined keep theirs.
        free_order: order::is_free(&kernel) && (!axes.goes_on() || expr.any_order().all(|any| any)),
        block_join,
        reduced: axes.reduced,
        row: axes.row,
        kernel,
    })
}

/// A kernel while it is made.
struct Lowering<'a> {
    k: KernelBuilder,
    /// For ops without attributes.
    none: Attrs,
    args: &'a [Type],
    /// Axes of one point: what goes along others may be said to go along these, and merges with them.
    single: SmallVec<[bool; 4]>,
    /// One a buffer.
    accesses: IndexSet<Access>,
    params: Vec<Param>,
    block_join: Option<BlockJoin>,
    buffer_names: Vec<(Name, u32)>,
}

impl Lowering<'_> {
    fn cx(&mut self) -> ScalarCx<'_> {
        ScalarCx { k: &mut self.k, attrs: &self.none }
    }

    fn param(&mut self, param: Param, dtype: DType) -> crate::kernel::KValue {
        self.params.push(param);
        self.k.param(dtype)
    }

    /// The element that an operand reads at the current point.
    fn operand(&mut self, operand: &Operand) -> Result<Elem, NotLowered> {
        let arg = match operand.source {
            Source::Array(n) => n,
            Source::Scalar(n) if self.args[n as usize].is_array() => n,
            Source::Scalar(n) => {
                let (dtype, real) = (operand.dtype, operand.dtype.real());
                let re = self.param(Param::Arg(n, Part::Re), real);
                let im = dtype.is_complex().then(|| self.param(Param::Arg(n, Part::Im), real));
                return Ok(Elem { dtype, re, im });
            }
            Source::Capture(_) => return NotLowered::because("it captures a value"),
        };
        let dims = self.args[arg as usize].dims();
        let position = |(index, dim): (&rewright_ir::expr::Index, &Dim)| {
            let form = match &index.expr {
                IndexExpr::Affine(form) => form,
                IndexExpr::Gather { .. } => return NotLowered::because("it reads at positions found in an array"),
                IndexExpr::FloorDiv(..) | IndexExpr::Mod(..) => {
                    return NotLowered::because("it reads at quotients or remainders of indices");
                }
            };
            match index.mode {
                Mode::Proved | Mode::Check => Ok(Position::At(form.clone())),
                Mode::Broadcast if *dim == Dim::Const(1) => Ok(Position::Only),
                Mode::Broadcast => match form.as_axis() {
                    Some(axis) => Ok(Position::Stretched(axis)),
                    None => NotLowered::because("it stretches along more than an axis"),
                },
                Mode::Wrap | Mode::Clamp | Mode::Pad(_) => NotLowered::because("it reads beyond the ends of an array"),
            }
        };
        let positions = operand.index.iter().zip(dims).map(position).collect::<Result<Vec<_>, _>>()?;
        let buffer = self.access(Access { place: Place::Arg(arg), positions }, operand.dtype);
        self.buffer_names.push((operand.name, buffer));
        let re = self.k.load(buffer, Part::Re);
        let im = operand.dtype.is_complex().then(|| self.k.load(buffer, Part::Im));
        Ok(Elem { dtype: operand.dtype, re, im })
    }

    /// The buffer of an access; equal ones have one.
    fn access(&mut self, access: Access, dtype: DType) -> u32 {
        if let Some(known) = self.accesses.get_index_of(&access) {
            return known as u32;
        }
        let mut varies: SmallVec<[bool; 4]> = SmallVec::from_elem(false, self.k.axes());
        for position in &access.positions {
            match position {
                Position::At(form) => form.axes().iter().for_each(|(axis, _)| varies[*axis as usize] = true),
                Position::Stretched(axis) => varies[*axis as usize] = true,
                Position::Only => {}
            }
        }
        if varies.contains(&true) {
            varies.iter_mut().zip(&self.single).for_each(|(varies, single)| *varies |= single);
        }
        let written = matches!(access.place, Place::Result(_));
        self.accesses.insert(access);
        self.k.buffer(Buffer { dtype, written, varies })
    }

    /// What a body yields.
    fn body(
        &mut self,
        body: &Body,
        operands: &[Elem],
        accumulators: &[Elem],
        axes: &[Axis],
    ) -> Result<Vec<Elem>, NotLowered> {
        let mut done: Vec<Elems> = Vec::with_capacity(body.insts.len());
        for inst in &body.insts {
            let BodyOp::Op(op, attrs) = &inst.op else {
                return NotLowered::because("an expression is nested in it");
            };
            let mut args: SmallVec<[Elem; 3]> = SmallVec::new();
            for arg in &inst.args {
                args.push(self.value(arg, (operands, accumulators), &done, axes)?);
            }
            self.k.set_loc(inst.loc);
            let results = ScalarCx { k: &mut self.k, attrs }.apply(*op, attrs, &args);
            done.push(results.map_err(|reason| NotLowered { reason })?);
        }
        body.yields.iter().map(|value| self.value(value, (operands, accumulators), &done, axes)).collect()
    }

    fn value(
        &mut self,
        value: &BodyRef,
        (operands, accumulators): (&[Elem], &[Elem]),
        done: &[Elems],
        axes: &[Axis],
    ) -> Result<Elem, NotLowered> {
        Ok(match *value {
            BodyRef::Operand(n) => operands[n as usize],
            BodyRef::Inst(n, result) => done[n as usize][result as usize],
            BodyRef::Const(scalar) => self.cx().constant(scalar),
            BodyRef::Axis(axis) => {
                let mut index = self.k.index(axis);
                if !begins_at_zero(axis, axes) {
                    let start = self.first(axis, axes);
                    index = self.k.binary(crate::kernel::Binary::Add, start, index);
                }
                Elem::real(DType::I64, index)
            }
            BodyRef::Acc(n) => match accumulators.get(n as usize) {
                Some(&accumulator) => accumulator,
                None => return NotLowered::because("it reads an accumulator outside of a reduction"),
            },
        })
    }

    /// The first index along an axis.
    fn first(&mut self, axis: u32, axes: &[Axis]) -> KValue {
        if begins_at_zero(axis, axes) {
            return self.cx().constant(Scalar::I64(0)).re;
        }
        match self.params.iter().position(|p| *p == Param::Start(axis)) {
            Some(n) => self.k.push(KOp::Param(n as u32), &[], DType::I64),
            None => self.param(Param::Start(axis), DType::I64),
        }
    }

    /// Writes a result.
    fn result(&mut self, number: u32, out: &Out, value: Elem) -> Result<ResultMap, NotLowered> {
        let value = self.cx().cast(value, out.dtype);
        let (buffer, map) = self.written(number, out)?;
        self.store(buffer, value);
        Ok(map)
    }

    /// The buffer of a result, and how it is written.
    fn written(&mut self, number: u32, out: &Out) -> Result<(u32, ResultMap), NotLowered> {
        let plain = |(position, dim): (&IndexExpr, &Dim)| match position {
            IndexExpr::Affine(form) if *dim == Dim::Const(1) && *form == Affine::constant(0) => Some(None),
            IndexExpr::Affine(form) => form.as_axis().map(Some),
            _ => None,
        };
        let axes: Option<SmallVec<[Option<u32>; 4]>> = out.index.iter().zip(&out.dims).map(plain).collect();
        let Some(axes) = axes else {
            return NotLowered::because(format!("result {number} is written at positions that are not just axes"));
        };
        if (1..axes.len()).any(|n| axes[n].is_some() && axes[..n].contains(&axes[n])) {
            return NotLowered::because(format!("result {number} is written on a diagonal"));
        }
        if matches!(out.write, Write::Combine(_)) {
            return NotLowered::because(format!("result {number} combines what is written at one place"));
        }
        let position = |axis: &Option<u32>| axis.map_or(Position::Only, |axis| Position::At(Affine::axis(axis)));
        let buffer = self
            .access(Access { place: Place::Result(number), positions: axes.iter().map(position).collect() }, out.dtype);
        let last_wins = out.write == Write::LastWins;
        let map = ResultMap { dtype: out.dtype, dims: out.dims.clone(), axes, fill: out.fill, last_wins, start: None };
        Ok((buffer, map))
    }

    fn store(&mut self, buffer: u32, value: Elem) {
        self.k.store(buffer, Part::Re, value.re);
        if let Some(im) = value.im {
            self.k.store(buffer, Part::Im, im);
        }
    }
}

/// True if every run of a loop begins at 0. Others are run in parts, which begin anywhere: parallel ones in
/// chunks, and any of two loops in tiles; but a row that is combined is whole wherever its indices are
/// read.
fn begins_at_zero(axis: u32, axes: &[Axis]) -> bool {
    let bounds = &axes[axis as usize];
    let is_row = bounds.kind == AxisKind::Reduce && axis as usize + 1 == axes.len();
    is_row && bounds.lo == SymExpr::default()
}
