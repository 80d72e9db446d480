//! Loop programs in calls like an earlier one: their parameters, strides and variant are known.

use super::record::Recorder;
use super::{Action, Fill, Where, Word};
use crate::exec::launch::{How, Pointers, operands, symbol};
use crate::exec::loop_program::{CallBuffers, Compiled, LoopProgram, ParamSources};
use crate::exec::plan::{FuncPlan, Step, StepKind};
use crate::exec::value::{Shape, Target, row_major};
use crate::kernel::Part;
use crate::lower::program::{ProgramSpace, Variant, bind};
use rewright_ir::{DType, Name, Scalar};
use smallvec::SmallVec;

/// One call of a loop program.
#[derive(Debug)]
pub(super) struct ProgramRun {
    step: usize,
    variant: Variant,
    points: u64,
    /// Whether it runs on one thread always.
    is_alone: bool,
    /// The bounds of the outermost axis.
    whole: (i64, i64),
    pub buffers: SmallVec<[Where; 6]>,
    strides: SmallVec<[i64; 16]>,
    pub params: SmallVec<[Word; 8]>,
    /// Values that results are filled with first.
    pub fills: Vec<Fill>,
}

/// The parameters of a call, the addresses of its buffers, and their strides.
type Sources = (SmallVec<[Word; 8]>, Pointers, SmallVec<[i64; 16]>);

/// The loop program of a step.
fn program_of(step: &Step) -> Option<&LoopProgram> {
    match &step.kind {
        StepKind::Kernel(kernel) => Some(&kernel.program),
        StepKind::Program(program) => Some(&program.program),
        _ => None,
    }
}

impl ProgramRun {
    /// Runs the program; `None` if it failed.
    ///
    /// # Safety
    /// As [`Band::run`](super::band::Band::run).
    pub unsafe fn run(
        &self,
        plan: &FuncPlan,
        at: impl Fn(Where) -> *mut u8,
        scalars: &[Scalar],
        (pointers, params): (&mut Vec<*mut u8>, &mut Vec<u64>),
        how: How,
    ) -> Option<()> {
        let compiled = program_of(&plan.steps[self.step])?.variant(self.variant).ok()?;
        // SAFETY: passed on: the places of the fills are those of results.
        self.fills.iter().for_each(|fill| unsafe { fill.write(at(fill.at)) });
        pointers.clear();
        pointers.extend(self.buffers.iter().map(|&place| at(place)));
        params.clear();
        params.extend(self.params.iter().map(|word| word.of(scalars)));
        let buffers = CallBuffers { pointers, strides: &self.strides };
        let threads = if self.is_alone { 1 } else { compiled.threads(self.points, how.threads) };
        // SAFETY: passed on. The variant is that of a call with these extents and strides.
        unsafe { compiled.run(&buffers, params, self.whole, threads) }.then_some(())
    }
}

impl Recorder<'_, '_> {
    /// Records a call of a step's loop program, whose results go to function results of these numbers. `into`
    /// is the target of the only result, if that is given.
    pub(super) fn program(
        &mut self,
        number: usize,
        step: &Step,
        exits: &[Option<u32>],
        mut into: Option<Target>,
    ) -> Option<()> {
        let program = program_of(step)?;
        let symbols = |name: Name| symbol(self.plan, &self.frame, name);
        let space = bind(&program.expr, &operands(&self.frame, step), &symbols)?;
        let compiled = program.variant(space.variant).ok()?;
        let (mut targets, mut fills): (SmallVec<[Target; 4]>, Vec<Fill>) = (SmallVec::new(), Vec::new());
        for (nth, (def, (shape, fill))) in step.defs.iter().zip(&space.results).enumerate() {
            self.frame.admits(&def.dims, shape, Some(def.value)).then_some(())?;
            let exit = exits.get(nth).copied().flatten();
            let stays = exit.is_some() || self.is_made_of(number, nth);
            let shape = Shape::from(&shape[..]);
            let strides = row_major(&shape, def.ty.dtype().size());
            let target = match into.take() {
                Some(target) => target,
                None => self.target((&shape, strides, None), def, exit, stays)?,
            };
            if let &Some(scalar) = fill {
                fills.push(Fill::of(scalar, def, &shape, &target)?);
            }
            targets.push(target);
        }
        let (params, pointers, strides) = self.sources(step, compiled, &space, &targets)?;
        let buffers = pointers.iter().map(|&pointer| Where::of(pointer)).collect::<Option<_>>()?;
        let (variant, points, whole) = (space.variant, space.points, space.outermost);
        let is_alone = compiled.is_alone(points, self.how.threads);
        let run = ProgramRun { step: number, variant, points, is_alone, whole, buffers, strides, params, fills };
        self.push(Action::Program(Box::new(run)));
        self.hold_results(step, space.results.iter().map(|(shape, _)| &shape[..]), targets)
    }

    /// The parameters of a call, and the addresses and strides of its buffers.
    fn sources(&self, step: &Step, compiled: &Compiled, space: &ProgramSpace, targets: &[Target]) -> Option<Sources> {
        let args = operands(&self.frame, step);
        let symbols = |name: Name| symbol(self.plan, &self.frame, name);
        let slot = |arg: u32| step.args.get(arg as usize).copied();
        let held = |arg: u32| Some(&self.frame.slots[slot(arg)?.0 as usize]);
        let scalar = |arg: u32, part: Part, dtype: DType| {
            let known = held(arg)?.scalar().ok()?;
            (known.dtype().real() == dtype).then_some(Word::Scalar(slot(arg)?, part))
        };
        let sources = ParamSources { args: &args, symbols: &symbols, space };
        let params = compiled.params(&sources, Word::Known, scalar)?;
        // Flags would be made for each call: programs with them are not recorded.
        let (pointers, strides) = compiled.buffers(space, held, |nth| targets.get(nth), &mut [])?;
        Some((params, pointers, strides))
    }
}
