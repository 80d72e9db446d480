//! Bodies prepared for evaluation, with references resolved to slots.

use super::super::{ArrayExpr, Body, BodyOp, BodyRef};
use super::env::Env;
use super::space::Space;
use crate::attr::Attrs;
use crate::dtype::DType;
use crate::error::EvalError;
use crate::loc::Loc;
use crate::op::{Eval, ScalarFn};
use crate::scalar::Scalar;
use smallvec::SmallVec;

/// The location of a value in the evaluation of a body.
#[derive(Clone, Copy)]
pub(super) enum Slot {
    Value(usize),
    Axis(usize),
    Const(Scalar),
}

/// The slots of a body's values: operands first, then accumulators, then results of its instructions.
#[derive(Clone, Copy)]
pub(super) struct SlotLayout {
    pub(super) operands: usize,
    pub(super) accumulators: usize,
}

enum BodyStep<'a> {
    Op {
        name: &'static str,
        loc: Loc,
        scalar: ScalarFn,
        attrs: &'a Attrs,
        args: SmallVec<[(Slot, DType); 3]>,
        results: usize,
    },
    Nested {
        space: Box<Space<'a>>,
        captures: SmallVec<[Slot; 4]>,
    },
}

/// A body prepared for evaluation.
pub(super) struct BodyPlan<'a> {
    steps: Vec<BodyStep<'a>>,
    pub(super) yields: Vec<Slot>,
    first: usize,
    /// The operands that the body reads.
    pub(super) reads: Vec<usize>,
}

impl<'a> BodyPlan<'a> {
    /// Resolves a body. `dtypes` are those of operands and accumulators; `ranges` are the bounds of the axes
    /// in scope of nested expressions.
    pub(super) fn new(
        body: &'a Body,
        layout: SlotLayout,
        dtypes: &[DType],
        ranges: &[(i64, i64)],
        env: &Env<'_>,
    ) -> Result<Self, EvalError> {
        let first = layout.operands + layout.accumulators;
        let starts: Vec<usize> = body
            .insts
            .iter()
            .scan(first, |next, inst| {
                let start = *next;
                *next += inst.dtypes.len();
                Some(start)
            })
            .collect();
        let slot = |r: &BodyRef| match *r {
            BodyRef::Operand(k) => Slot::Value(k as usize),
            BodyRef::Acc(k) => Slot::Value(layout.operands + k as usize),
            BodyRef::Inst(i, result) => Slot::Value(starts[i as usize] + result as usize),
            BodyRef::Axis(k) => Slot::Axis(k as usize),
            BodyRef::Const(s) => Slot::Const(s),
        };
        let dtype = |r: &BodyRef| match *r {
            BodyRef::Operand(k) => dtypes[k as usize],
            BodyRef::Acc(k) => dtypes[layout.operands + k as usize],
            BodyRef::Inst(i, result) => body.insts[i as usize].dtypes[result as usize],
            BodyRef::Axis(_) => DType::I64,
            BodyRef::Const(s) => s.dtype(),
        };
        let mut steps = Vec::with_capacity(body.insts.len());
        for inst in &body.insts {
            steps.push(match &inst.op {
                BodyOp::Op(op, attrs) => {
                    let Eval::Elementwise { resolve, scalar } = op.eval else {
                        return Err(EvalError::unsupported(format!("`{op}` in a body is not elementwise")));
                    };
                    let args: SmallVec<[DType; 3]> = inst.args.iter().map(dtype).collect();
                    let found = resolve(&args, attrs).map_err(EvalError::value)?;
                    let args = inst.args.iter().map(slot).zip(found.ins).collect();
                    BodyStep::Op { name: op.name, loc: inst.loc, scalar, attrs, args, results: inst.dtypes.len() }
                }
                BodyOp::Nested(nested) => {
                    let captures: Vec<DType> = inst.args.iter().map(dtype).collect();
                    let space = Space::new(nested, ranges, &captures, env)?;
                    BodyStep::Nested { space: Box::new(space), captures: inst.args.iter().map(slot).collect() }
                }
            });
        }
        let refs = body.insts.iter().flat_map(|i| &i.args).chain(&body.yields);
        let mut reads: Vec<usize> =
            refs.filter_map(|r| if let BodyRef::Operand(k) = r { Some(*k as usize) } else { None }).collect();
        reads.sort_unstable();
        reads.dedup();
        Ok(BodyPlan { steps, yields: body.yields.iter().map(slot).collect(), first, reads })
    }

    /// The number of instructions.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Computes the results of all instructions into `slots`, which start with operands and accumulators.
    pub(super) fn run(&self, slots: &mut Vec<Scalar>, point: &mut Vec<i64>, env: &Env<'_>) -> Result<(), EvalError> {
        slots.truncate(self.first);
        let mut element: SmallVec<[Scalar; 4]> = SmallVec::new();
        for step in &self.steps {
            element.clear();
            match step {
                BodyStep::Op { name, loc, scalar, attrs, args, results } => {
                    element.extend(args.iter().map(|(slot, dtype)| slot.read(slots, point).cast(*dtype)));
                    let found = scalar(&element, attrs).map_err(|e| e.at(name, *loc))?;
                    if found.len() != *results {
                        return Err(EvalError::value(format!(
                            "`{name}` computed {} results, not {results}",
                            found.len()
                        )));
                    }
                    if let Some(watch) = env.cx.watch {
                        let mut floats = watch.get();
                        found.iter().for_each(|&scalar| floats.meet_scalar(scalar));
                        watch.set(floats);
                    }
                    slots.extend(found);
                }
                BodyStep::Nested { space, captures } => {
                    element.extend(captures.iter().map(|slot| slot.read(slots, point)));
                    let found = space.scalars(&element, point, env)?;
                    slots.extend(found);
                }
            }
        }
        Ok(())
    }
}

impl Slot {
    #[inline]
    pub(super) fn read(self, slots: &[Scalar], point: &[i64]) -> Scalar {
        match self {
            Slot::Value(at) => slots[at],
            Slot::Axis(axis) => Scalar::I64(point[axis]),
            Slot::Const(s) => s,
        }
    }
}

/// The dtypes of an expression's operands and accumulators.
pub(super) fn leading_dtypes(expr: &ArrayExpr) -> Vec<DType> {
    expr.operands.iter().map(|o| o.dtype).chain(expr.accumulators()).collect()
}
