//! From expressions to loop programs: translates any valid `arrayexpr`.
//!
//! The loops over the parallel axes are outermost, in the order of the axes, and the reductions of a point
//! are loops inside of them, so the program follows the meaning literally. Transformations of the program
//! then find a fast order.
//!
//! An access is in bounds for one of three reasons. A *proof* from the extents of a call, by interval
//! arithmetic ([`bind`]); a *test* at each point, which leaves the program; or the access mode, which moves
//! the position (`clamp`, `wrap`) or replaces the element (`pad`). A call whose extents prove all positions
//! runs the variant of the program without tests ([`Checks`]).

mod bind;
mod columns;
mod contraction;
mod order;
mod positions;
mod quotients;
mod reduction;
mod scan;
mod symmetric;
mod write;

pub use bind::{ProgramSpace, bind};
use columns::AxisLoop;
pub use columns::{columns_read, reduces_columns};
pub use contraction::has_shared_rows;
use quotients::divisor;
pub use symmetric::is_symmetric;

use super::NotLowered;
use super::unroll::unrolled;
use crate::kernel::{KValue, Part};
use crate::program::{Condition, Linear, Lines, Program, ProgramBuilder, Trip};
use crate::scalar::{Elem, Elems, ScalarCx};
use indexmap::IndexMap;
use rewright_ir::expr::{
    Affine, Axis, AxisKind, Body, BodyOp, BodyRef, Condition as Guard, IndexExpr, Operand, Source, SymExpr, Test,
    extent_sources, verify,
};
use rewright_ir::{ArrayExpr, DType, Name, Scalar, Type};
use smallvec::SmallVec;

/// The tests that a variant of a program makes at each point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Checks {
    /// Whether positions are in bounds.
    pub positions: bool,
    /// Whether each element is written, and how often.
    pub writes: bool,
}

/// The program of an expression has variants: a call chooses one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Variant {
    /// The tests that it makes.
    pub checks: Checks,
    /// The tiles of reductions of columns.
    pub tiling: Tiling,
    /// Whether the points along the reduce axes of a contraction are one block of the order.
    pub one_block: bool,
    /// Whether results are larger than the caches.
    pub streams: bool,
}

impl Variant {
    /// The number of variants.
    pub const COUNT: usize = 80;

    /// The number of the variant, less than [`COUNT`](Variant::COUNT).
    pub fn number(self) -> usize {
        let tiling = match self.tiling {
            Tiling::Columns => 0,
            Tiling::Rows => 1,
            Tiling::HalfOfRows => 2,
            Tiling::Lines(Lines::One) => 3,
            Tiling::Lines(Lines::Several) => 4,
        };
        let bits = [self.checks.positions, self.checks.writes, self.one_block, self.streams];
        bits.into_iter().fold(tiling, |number, bit| 2 * number + usize::from(bit))
    }
}

/// The tiles of a reduction of columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tiling {
    /// Columns whose totals stay in registers along the points of a block.
    #[default]
    Columns,
    /// Rows, too, which share staged elements: for contractions.
    Rows,
    /// The same on one side of the diagonal of a symmetric result.
    HalfOfRows,
    /// Whole lines of adjacent elements, so that operands are read once, in the order of memory.
    Lines(Lines),
}

/// A loop program, and the meaning of its parameters and buffers.
#[derive(Clone, Debug)]
pub struct LoweredProgram {
    /// The program.
    pub program: Program,
    /// The meaning of each parameter.
    pub params: Vec<ProgramParam>,
    /// The meaning of each buffer of the caller.
    pub buffers: Vec<ProgramBuffer>,
    /// True if calls may run slices of the first parallel axis at the same time: different indices write
    /// different elements.
    pub sliced: bool,
    /// The least indices of such a slice: along the last axis several, so that vectors are full, and few
    /// cache lines belong to two slices.
    pub least_slice: u32,
    /// Whether it is a reduction of columns, most of which runs on vectors.
    pub is_columns: bool,
    /// The number of scalar instructions, before transformations copy some.
    pub insts: usize,
}

/// The meaning of a parameter of a program. All but scalars are `i64`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ProgramParam {
    /// One part of the n-th operand of the instruction, a scalar.
    Scalar(u32, Part),
    /// The extent of a dim of the n-th operand.
    ArgExtent(u32, usize),
    /// The extent of a dim of the n-th result.
    ResultExtent(u32, usize),
    /// The value of a symbol.
    Symbol(Name),
    /// The broadcast of the extents of these dims of operands.
    Broadcast(Vec<(u32, usize)>),
    /// The first index of the slice of the outermost axis that a call runs.
    SliceStart,
    /// One past the last index of that slice.
    SliceEnd,
}

/// The meaning of a buffer of the caller. A dim of extent 1 has stride 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProgramBuffer {
    /// The n-th operand of the instruction, an array.
    Arg(u32),
    /// The n-th result.
    Result(u32),
    /// A bool for each element of the n-th result: whether it was written. All are false at first.
    Written(u32),
}

/// The least indices of a slice of the last axis, and of one along which lines are read in the order of
/// memory: some pages.
const LEAST_OF_LAST: u32 = 128;
const LEAST_OF_LINE: u32 = 1024;

/// The most axes in scope, as in text: each is a loop, and passes over programs recurse.
const MOST_AXES: usize = 64;

/// Translates an expression whose instruction has operands of these types.
pub fn lower_program(expr: &ArrayExpr, args: &[Type], variant: Variant) -> Result<LoweredProgram, NotLowered> {
    if let Some(problem) = verify(expr, args).into_iter().next() {
        return NotLowered::because(format!("it is malformed: {}", problem.message));
    }
    let unrolled = unrolled(expr, args);
    let expr = unrolled.as_ref().unwrap_or(expr);
    let mut lowering = ProgramLowering {
        b: ProgramBuilder::new(),
        args,
        checks: variant.checks,
        variant,
        params: IndexMap::new(),
        buffers: IndexMap::new(),
        axes: Vec::new(),
    };
    let sliced = lowering.whole(expr)?;
    let ProgramLowering { b, params, buffers, .. } = lowering;
    let results = buffers.iter().filter(|(of, _)| matches!(of, ProgramBuffer::Result(_)));
    let results: Vec<u32> = results.map(|(_, &buffer)| buffer).collect();
    let (params, buffers) = (params.into_keys().collect(), buffers.into_keys().collect());
    let (program, mut insts) = (b.finish(), 0);
    program.each_inst(&mut |_| insts += 1);
    let mut program = program.optimized();
    if variant.streams {
        program.stream(results.into_iter());
    }
    if let Tiling::Lines(lines) = variant.tiling {
        program.lines = Some(lines);
    }
    let least_slice = match variant.tiling {
        _ if sliced.is_none_or(|axis| axis + 1 < expr.axes.len()) => 1,
        Tiling::Lines(_) => LEAST_OF_LINE,
        _ => LEAST_OF_LAST,
    };
    let (sliced, is_columns) = (sliced.is_some(), reduces_columns(expr));
    Ok(LoweredProgram { program, params, buffers, sliced, least_slice, is_columns, insts })
}

/// A program under construction.
struct ProgramLowering<'a> {
    b: ProgramBuilder,
    args: &'a [Type],
    checks: Checks,
    params: IndexMap<ProgramParam, KValue>,
    buffers: IndexMap<ProgramBuffer, u32>,
    /// The index along each axis in scope, those of enclosing expressions first.
    axes: Vec<Linear>,
    variant: Variant,
}

/// The values that a body can name besides its own.
#[derive(Clone, Copy)]
struct Names<'s> {
    operands: &'s [Operand],
    captures: &'s [Elem],
    accumulators: &'s [Elem],
}

impl ProgramLowering<'_> {
    /// The loops over the parallel axes of the outermost expression. Returns the first axis if it is sliced.
    fn whole(&mut self, expr: &ArrayExpr) -> Result<Option<usize>, NotLowered> {
        self.open_axes(expr)?;
        let parallel = axes_of(expr, AxisKind::Parallel, 0);
        let sliced = parallel.first().copied().filter(|&axis| !self.checks.writes && writes_apart(expr, axis));
        let of = |&axis: &usize| {
            let (lo, hi) = match sliced {
                Some(first) if first == axis => {
                    let slice = [ProgramParam::SliceStart, ProgramParam::SliceEnd];
                    let [start, end] = slice.map(|param| self.param(param));
                    (start.into(), end.into())
                }
                _ => self.bounds(expr, axis, 0),
            };
            AxisLoop { axis, lo, hi, tile: None, divisor: None }
        };
        let mut loops: Vec<AxisLoop> = parallel.iter().map(of).collect();
        match self.column_reducers(expr)? {
            Some(reducers) => self.all_columns(expr, &reducers, loops)?,
            None if expr.scan().is_some() => self.scanned(expr, loops)?,
            None => {
                if let Some(innermost) = loops.last_mut() {
                    innermost.divisor = divisor(expr, innermost.axis as u32);
                }
                self.tiles(&loops, Vec::new(), |this, _| {
                    let guard = this.guard(expr, false);
                    this.when_all(guard, |this| {
                        let values = this.results(expr, &[])?;
                        this.write_all(expr, values)
                    })
                })?;
            }
        }
        (0..).zip(&expr.outs).try_for_each(|(number, out)| self.all_written(number, out))?;
        Ok(sliced)
    }

    /// Brings the axes of an expression in scope.
    fn open_axes(&mut self, expr: &ArrayExpr) -> Result<(), NotLowered> {
        let count = self.axes.len() + expr.axes.len();
        if count > MOST_AXES {
            return NotLowered::because(format!("it has {count} axes, and loop programs have up to {MOST_AXES}"));
        }
        self.axes.resize(count, Linear::default());
        Ok(())
    }

    /// The loops over some axes of an expression, of which the first has this number among all axes in scope.
    fn nest(
        &mut self,
        expr: &ArrayExpr,
        axes: &[usize],
        first: usize,
        body: impl FnOnce(&mut Self) -> Result<(), NotLowered>,
    ) -> Result<(), NotLowered> {
        let Some((&axis, rest)) = axes.split_first() else { return body(self) };
        let (lo, hi) = self.bounds(expr, axis, first);
        self.for_each(lo, &[hi], |this, index| {
            this.axes[axis] = index;
            this.nest(expr, rest, first, body)
        })
    }

    /// Writes the values of all results at the current point.
    fn write_all(&mut self, expr: &ArrayExpr, values: Vec<Elem>) -> Result<(), NotLowered> {
        (0..).zip(&expr.outs).zip(values).try_for_each(|((number, out), value)| self.write(number, out, value))
    }

    /// The bounds of an axis.
    fn bounds(&mut self, expr: &ArrayExpr, axis: usize, first: usize) -> (Linear, Linear) {
        let Axis { lo, hi, .. } = &expr.axes[axis - first];
        let hi = match hi {
            Some(hi) => self.sym(hi),
            None => self.param(ProgramParam::Broadcast(extent_sources(expr, axis as u32).collect())).into(),
        };
        (self.sym(lo), hi)
    }

    /// The results at a point of the parallel axes.
    fn results(&mut self, expr: &ArrayExpr, captures: &[Elem]) -> Result<Vec<Elem>, NotLowered> {
        if expr.reductions.is_empty() {
            return self.body(&expr.body, Names { operands: &expr.operands, captures, accumulators: &[] });
        }
        let accumulators = self.reduced(expr, captures)?;
        self.finished(expr, captures, accumulators)
    }

    /// The results of totals.
    fn finished(
        &mut self,
        expr: &ArrayExpr,
        captures: &[Elem],
        accumulators: Vec<Elem>,
    ) -> Result<Vec<Elem>, NotLowered> {
        match &expr.finish {
            Some(finish) => {
                self.body(finish, Names { operands: &expr.operands, captures, accumulators: &accumulators })
            }
            None => Ok(accumulators),
        }
    }

    /// The values that a body yields. An operand is read where it is used first, so that few values are live
    /// at once.
    fn body(&mut self, body: &Body, names: Names<'_>) -> Result<Vec<Elem>, NotLowered> {
        let mut operands: Vec<Option<Elem>> = vec![None; names.operands.len()];
        let mut done: Vec<Elems> = Vec::with_capacity(body.insts.len());
        for inst in &body.insts {
            let args: SmallVec<[Elem; 3]> = self.body_values(&inst.args, names, &mut operands, &done)?;
            self.b.k.set_loc(inst.loc);
            done.push(match &inst.op {
                BodyOp::Op(op, attrs) => ScalarCx { k: &mut self.b.k, attrs }
                    .apply(*op, attrs, &args)
                    .map_err(|reason| NotLowered { reason })?,
                BodyOp::Nested(nested) => self.nested(nested, &args)?,
            });
        }
        self.body_values(&body.yields, names, &mut operands, &done)
    }

    fn body_values<C: FromIterator<Elem>>(
        &mut self,
        values: &[BodyRef],
        names: Names<'_>,
        operands: &mut [Option<Elem>],
        done: &[Elems],
    ) -> Result<C, NotLowered> {
        let mut value = |value: &BodyRef| {
            let found = match *value {
                BodyRef::Operand(n) => match operands[n as usize] {
                    Some(known) => Some(known),
                    None => {
                        operands[n as usize] = Some(self.read(&names.operands[n as usize], names.captures)?);
                        operands[n as usize]
                    }
                },
                BodyRef::Inst(n, result) => Some(done[n as usize][result as usize]),
                BodyRef::Const(scalar) => Some(self.cx().constant(scalar)),
                BodyRef::Axis(axis) => {
                    let form = self.axes[axis as usize].clone();
                    Some(Elem::real(DType::I64, self.b.value(&form)))
                }
                BodyRef::Acc(n) => names.accumulators.get(n as usize).copied(),
            };
            found.ok_or(NotLowered { reason: "it names a value that is not there".into() })
        };
        values.iter().map(&mut value).collect()
    }

    /// The results of a nested expression.
    fn nested(&mut self, expr: &ArrayExpr, captures: &[Elem]) -> Result<Elems, NotLowered> {
        let outer = self.axes.len();
        self.open_axes(expr)?;
        let guard = self.guard(expr, false);
        let results = if guard.is_empty() {
            let values = self.results(expr, captures)?;
            values.iter().zip(&expr.outs).map(|(&value, out)| self.cx().cast(value, out.dtype)).collect()
        } else {
            let slots: SmallVec<[_; 2]> = expr.outs.iter().map(|out| self.b.local(out.dtype, &[])).collect();
            let fills: Option<Vec<Scalar>> = expr.outs.iter().map(|out| out.fill).collect();
            match fills {
                Some(fills) => {
                    for (&slot, fill) in slots.iter().zip(fills) {
                        let fill = self.cx().constant(fill);
                        self.b.store_elem(slot, &[], fill);
                    }
                }
                None => {
                    // Without a fill the guard must hold; the zeros are never read.
                    for (&slot, out) in slots.iter().zip(&expr.outs) {
                        let zero = self.cx().constant(Scalar::zero(out.dtype));
                        self.b.store_elem(slot, &[], zero);
                    }
                    self.fail_unless(&guard)?;
                }
            }
            self.when_all(guard, |this| {
                let values = this.results(expr, captures)?;
                for ((&slot, out), value) in slots.iter().zip(&expr.outs).zip(values) {
                    let value = this.cx().cast(value, out.dtype);
                    this.b.store_elem(slot, &[], value);
                }
                Ok(())
            })?;
            slots.iter().zip(&expr.outs).map(|(&slot, out)| self.b.load_elem(slot, out.dtype, &[])).collect()
        };
        self.axes.truncate(outer);
        Ok(results)
    }

    /// The conditions of the guard that name reduce axes, or those that name none.
    fn guard(&mut self, expr: &ArrayExpr, of_reduce_axes: bool) -> Vec<Condition> {
        let first = (self.axes.len() - expr.axes.len()) as u32;
        let is_reduced =
            |axis: u32| axis.checked_sub(first).is_some_and(|own| expr.axes[own as usize].kind == AxisKind::Reduce);
        let named = |guard: &&Guard| guard.form.axes().iter().any(|&(axis, _)| is_reduced(axis)) == of_reduce_axes;
        let (mut affine, mut divides) = (SmallVec::<[Linear; 2]>::new(), None);
        for Guard { form, test } in expr.guard.iter().filter(named) {
            let form = self.affine(form);
            match *test {
                Test::NotPositive => affine.push(Linear::default().minus(&form)),
                Test::Zero => affine.extend([form.clone(), Linear::default().minus(&form)]),
                Test::DivisibleBy(n) => {
                    let remainder = self.remainder(&form, n);
                    let zero = self.b.k.constant(Scalar::I64(0));
                    let holds = self.cx().eq(remainder, zero);
                    divides = Some(divides.map_or(holds, |all| self.cx().and(all, holds)));
                }
            }
        }
        let affine = (!affine.is_empty()).then_some(Condition::NotNegative(affine));
        affine.into_iter().chain(divides.map(Condition::Value)).collect()
    }

    /// Statements that run where all conditions hold.
    fn when_all(
        &mut self,
        conditions: Vec<Condition>,
        body: impl FnOnce(&mut Self) -> Result<(), NotLowered>,
    ) -> Result<(), NotLowered> {
        let mut conditions = conditions.into_iter();
        let Some(first) = conditions.next() else { return body(self) };
        let rest = conditions.collect();
        self.when(first, |this| this.when_all(rest, body), |_| Ok(()))
    }

    /// Ends the program unless all conditions hold.
    fn fail_unless(&mut self, conditions: &[Condition]) -> Result<(), NotLowered> {
        conditions.iter().try_for_each(|condition| {
            self.when(
                condition.clone(),
                |_| Ok(()),
                |this| {
                    this.b.fail();
                    Ok(())
                },
            )
        })
    }

    // The builder's scopes, with `self` inside of them.

    fn for_each(
        &mut self,
        lo: Linear,
        hi: &[Linear],
        body: impl FnOnce(&mut Self, Linear) -> Result<(), NotLowered>,
    ) -> Result<(), NotLowered> {
        let index = self.b.open_loop();
        let ended = body(self, index.into());
        self.b.close_loop(index, Trip::Unknown, lo, hi);
        ended
    }

    fn when(
        &mut self,
        condition: Condition,
        then: impl FnOnce(&mut Self) -> Result<(), NotLowered>,
        otherwise: impl FnOnce(&mut Self) -> Result<(), NotLowered>,
    ) -> Result<(), NotLowered> {
        self.b.open();
        let ended = then(self);
        let then = self.b.close();
        self.b.open();
        let ended = ended.and_then(|()| otherwise(self));
        let otherwise = self.b.close();
        self.b.branch(condition, then, otherwise);
        ended
    }

    // --- Values --------------------------------------------------------------------------------------------

    /// For ops without attributes.
    fn cx(&mut self) -> ScalarCx<'_> {
        self.b.cx()
    }

    fn param(&mut self, param: ProgramParam) -> KValue {
        let dtype = match param {
            ProgramParam::Scalar(n, _) => self.args[n as usize].dtype().real(),
            _ => DType::I64,
        };
        *self.params.entry(param).or_insert_with(|| self.b.param(dtype))
    }

    fn sym(&mut self, form: &SymExpr) -> Linear {
        let mut sum = Linear::constant(form.constant);
        for &(name, coefficient) in form.terms() {
            let symbol = self.param(ProgramParam::Symbol(name));
            sum = sum.plus_term(symbol, coefficient);
        }
        sum
    }

    fn affine(&mut self, form: &Affine) -> Linear {
        let offset = self.sym(&form.offset);
        form.axes().iter().fold(offset, |sum, &(axis, c)| sum.plus_scaled(&self.axes[axis as usize], c))
    }

    /// The buffer of an operand, a result, or its flags.
    fn buffer(&mut self, buffer: ProgramBuffer, dtype: DType, rank: usize) -> u32 {
        *self.buffers.entry(buffer).or_insert_with(|| self.b.caller_buffer(dtype, rank))
    }

    /// The element that an operand reads at the current point.
    fn read(&mut self, operand: &Operand, captures: &[Elem]) -> Result<Elem, NotLowered> {
        match operand.source {
            Source::Capture(n) => {
                captures.get(n as usize).copied().ok_or(NotLowered { reason: "a capture is missing".into() })
            }
            Source::Scalar(n) if !self.args[n as usize].is_array() => {
                let re = self.param(ProgramParam::Scalar(n, Part::Re));
                let im = operand.dtype.is_complex().then(|| self.param(ProgramParam::Scalar(n, Part::Im)));
                Ok(Elem { dtype: operand.dtype, re, im })
            }
            Source::Scalar(n) | Source::Array(n) => self.read_array(n, operand),
        }
    }
}

/// True if different indices along an axis write different elements of all results.
fn writes_apart(expr: &ArrayExpr, axis: usize) -> bool {
    let is_axis = |position: &IndexExpr| {
        position.form().and_then(Affine::as_axis) == Some(axis as u32) && matches!(position, IndexExpr::Affine(_))
    };
    expr.outs.iter().all(|out| out.index.iter().any(is_axis))
}

/// The axes of a kind, numbered from the first axis of the expression on.
fn axes_of(expr: &ArrayExpr, kind: AxisKind, first: usize) -> Vec<usize> {
    let own = expr.axes.iter().enumerate();
    own.filter(|(_, axis)| axis.kind == kind).map(|(number, _)| first + number).collect()
}
