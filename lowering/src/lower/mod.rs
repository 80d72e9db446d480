//! Lowers expressions to kernels and to loop programs.
//!
//! [`lower()`] builds the kernel of an [`ArrayExpr`] for its dtypes, and for any extents and strides. A
//! kernel is a perfect loop nest around the body. Operands are read at affine positions in bounds, and
//! results are indexed by axes. [`Lowered::space`], [`Lowered::result_shape`] and [`Lowered::bind`] compute
//! the loops and addresses of one call. They return `None` if the operands do not fit.
//!
//! [`program`] translates all other expressions to loop programs. These also run calls that do not fit a
//! kernel, and large contractions. Small reductions are unrolled before either.

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

/// The reason for which an expression has no kernel.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{reason}")]
pub struct NotLowered {
    /// The reason; it completes "it is computed by its reference meaning: ".
    pub reason: String,
}

impl NotLowered {
    fn because<T>(reason: impl Into<String>) -> Result<T, NotLowered> {
        Err(NotLowered { reason: reason.into() })
    }
}

/// A kernel, and the meaning of its loops, buffers and parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Lowered {
    /// The kernel.
    pub kernel: Kernel,
    /// The bounds of its loops.
    pub bounds: Vec<Bounds>,
    /// The access of each buffer.
    pub accesses: Vec<Access>,
    /// The meaning of each parameter.
    pub params: Vec<Param>,
    /// The properties of the results.
    pub results: Vec<ResultMap>,
    /// For each loop, whether its index is used as a value; such a loop can't be merged with others.
    pub indexed: Vec<bool>,
    /// Whether any order of the loops is legal.
    pub free_order: bool,
    /// For each loop, whether it is a reduction loop.
    pub reduced: Vec<bool>,
    /// The first of the innermost loops that make a row, which a fold combines. All of them must have been
    /// merged into the last one.
    pub row: usize,
    /// The join of blocks of rows, for reductions that accumulate in memory in an order with blocks.
    pub block_join: Option<BlockJoin>,
    /// The names of the axes.
    pub names: Vec<Name>,
    /// The names of buffers: those of operands, and `out.0` for the first result. A buffer may have several
    /// names.
    pub buffer_names: Vec<(Name, u32)>,
    /// For each loop, whether its iterations write disjoint elements.
    pub apart: Vec<bool>,
    /// Whether a point may fail.
    pub fallible: bool,
    /// An estimate of the time of one point, in nanoseconds.
    pub point_nanos: f64,
    /// The work at a point of a row, if fission of map and reduction is possible.
    pub item_work: Option<ItemWork>,
    /// The overrides of a schedule given by hand.
    pub wish: Schedule,
}

/// The bounds of a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// The first index.
    pub lo: SymExpr,
    /// One past the last index; `None` if it follows from operands.
    pub hi: Option<SymExpr>,
    /// The axes of operands (operand of the instruction, axis) that determine the extent.
    pub sources: Vec<(u32, usize)>,
}

/// The array of a buffer.
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
    /// The array.
    pub place: Place,
    /// The position along each axis of the array.
    pub positions: Vec<Position>,
}

/// A position along an axis of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// An affine form, which must be in bounds.
    At(Affine),
    /// The index of this loop, or 0 if the array's axis has extent 1 (broadcast).
    Stretched(u32),
    /// The only position of an axis of extent 1.
    Only,
}

/// The meaning of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// The instruction's n-th operand, a scalar, or one part of a complex scalar.
    Arg(u32, Part),
    /// The first index of an axis.
    Start(u32),
}

/// The writes of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultMap {
    /// Its dtype.
    pub dtype: DType,
    /// Its dims.
    pub dims: Vec<Dim>,
    /// The loop along each dim; none for a dim of extent 1 without a loop.
    pub axes: SmallVec<[Option<u32>; 4]>,
    /// The value of elements that are not written.
    pub fill: Option<Scalar>,
    /// Whether several points may write one element; the last one wins.
    pub last_wins: bool,
    /// The initial value of elements with which points are combined in memory.
    pub start: Option<Scalar>,
}

/// Builds the kernel of an expression whose instruction has operands of these types. Small reductions are
/// unrolled.
pub fn lower(expr: &ArrayExpr, args: &[Type]) -> Result<Lowered, NotLowered> {
    let unrolled = unroll::unrolled(expr, args).and_then(|unrolled| lower_as_is(&unrolled, args).ok());
    unrolled.map_or_else(|| lower_rolled(expr, args), Ok)
}

/// As [`lower()`], with a loop for each reduction: for a schedule, which names the axes.
pub fn lower_rolled(expr: &ArrayExpr, args: &[Type]) -> Result<Lowered, NotLowered> {
    match one_point::without_one_point(expr, args) {
        Some(shorter) => lower_as_is(&shorter, args),
        None => lower_as_is(expr, args),
    }
}

/// As [`lower()`], with a loop for each axis, in the order of a schedule given by hand. If loops can't be
/// reordered later, axes are permuted before the kernel is built, so that values that are invariant along an
/// inner loop are hoisted out of it.
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
    let is_single = |axis: &Axis| axis.kind == AxisKind::Parallel && axis.points() == Some(1);
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
        // Collapsed loops of a row keep their order.
        free_order: order::is_free(&kernel) && (!axes.goes_on() || expr.any_order().all(|any| any)),
        block_join,
        reduced: axes.reduced,
        row: axes.row,
        kernel,
    })
}

/// A kernel under construction.
struct Lowering<'a> {
    k: KernelBuilder,
    /// The attributes of ops without attributes.
    none: Attrs,
    args: &'a [Type],
    /// For each axis, whether it has one point. A buffer that varies along any axis is said to vary along
    /// these as well, so that they merge with others.
    single: SmallVec<[bool; 4]>,
    /// The access of each buffer.
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

    /// The element of an operand at the current point.
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

    /// The buffer of an access; equal accesses share one.
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

    /// The values that a body yields.
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

    /// Stores a result.
    fn result(&mut self, number: u32, out: &Out, value: Elem) -> Result<ResultMap, NotLowered> {
        let value = self.cx().cast(value, out.dtype);
        let (buffer, map) = self.written(number, out)?;
        self.store(buffer, value);
        Ok(map)
    }

    /// The buffer of a result, and its writes.
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
            return NotLowered::because(format!("result {number} combines values that are written at one position"));
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

/// Whether every run of a loop begins at index 0. Other loops also run in parts that begin anywhere:
/// parallel loops in chunks, and any two loops in tiles. A reduced row is whole if its indices are read.
fn begins_at_zero(axis: u32, axes: &[Axis]) -> bool {
    let bounds = &axes[axis as usize];
    let is_row = bounds.kind == AxisKind::Reduce && axis as usize + 1 == axes.len();
    is_row && bounds.lo == SymExpr::default()
}
