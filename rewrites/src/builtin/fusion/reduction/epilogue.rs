//! Moves the elementwise consumer of a reduction's results into the epilogue of the reduction's node. The
//! expression calls it the finisher.

use crate::builtin::fusion::node::{FusedExpr, append};
use crate::prelude::*;
use rewright_ir::expr::{Affine, AxisKind, BodyRef, Index, IndexExpr, Mode, Operand, Out, Source, SymExpr};
use rewright_ir::{ArrayExpr, Dim};

impl FusedExpr {
    /// True if the result has one point.
    pub(super) fn is_total(&self) -> bool {
        self.expr.axes.iter().all(|axis| axis.kind == AxisKind::Reduce)
    }

    /// The number of operations of the finisher.
    pub(super) fn finishes(&self) -> usize {
        self.expr.finish.as_ref().map_or(0, |finish| finish.insts.len())
    }

    /// The node with the consumer's operations in its finisher.
    pub(super) fn finished(
        mut self,
        func: &Function,
        reader: &ArrayExpr,
        args: &[Value],
    ) -> Option<(ArrayExpr, Vec<Value>)> {
        let places = self.places(func, reader, args)?;
        let moved = |operand: &Operand| -> Option<Vec<Index>> {
            operand.index.iter().map(|index| moved(index, &places)).collect()
        };
        if reader.operands.iter().any(|operand| moved(operand).is_none()) {
            return None;
        }
        let numbers = self.take_operands(reader, args, moved)?;
        let mut finish = self.finish();
        let totals: Vec<BodyRef> = std::mem::take(&mut finish.yields);
        let mut values = Vec::new();
        for (operand, number) in reader.operands.iter().zip(numbers) {
            let (Source::Array(n) | Source::Scalar(n)) = operand.source else { return None };
            values.push(match self.results.iter().position(|&result| result == args[n as usize]) {
                Some(result) => {
                    let from = self.dtype_of(&finish, totals[result])?;
                    let loc = self.expr.locs.first().copied().unwrap_or_default();
                    finish.cast(totals[result], from, self.expr.outs[result].dtype, loc)
                }
                None => BodyRef::Operand(number),
            });
        }
        let along = |axis: u32| match places[axis as usize] {
            Some(own) => BodyRef::Axis(own),
            None => BodyRef::Const(Scalar::I64(0)),
        };
        finish.yields = append(&mut finish, &reader.body, &values, &along, 0);
        let out = |out: &Out| {
            let position = |place: &Option<u32>| place.map_or(Affine::constant(0), Affine::axis);
            Out { index: places.iter().map(position).map(IndexExpr::Affine).collect(), ..out.clone() }
        };
        self.expr.outs = reader.outs.iter().map(out).collect();
        self.expr.finish = Some(finish);
        self.expr.locs.extend(&reader.locs);
        Some((self.expr, self.args))
    }

    /// For each axis of the consumer, the axis of the reductions that it corresponds to; none for axes of
    /// one point.
    fn places(&self, func: &Function, reader: &ArrayExpr, args: &[Value]) -> Option<Vec<Option<u32>>> {
        let mut places: Vec<Option<u32>> = vec![None; reader.axes.len()];
        for operand in &reader.operands {
            let (Source::Array(n) | Source::Scalar(n)) = operand.source else { return None };
            let Some(result) = self.results.iter().position(|&result| result == args[n as usize]) else { continue };
            let (out, ty) = (&self.expr.outs[result], func.ty(args[n as usize]));
            if out.index.len() != operand.index.len() {
                return None;
            }
            for ((from, to), &dim) in operand.index.iter().zip(&out.index).zip(ty.dims()) {
                let (IndexExpr::Affine(from), IndexExpr::Affine(to)) = (&from.expr, to) else { return None };
                match (from.as_axis(), to.as_axis()) {
                    (Some(axis), Some(own))
                        if SymExpr::of_dim(dim).is_some_and(|extent| reader.axes[axis as usize].hi == Some(extent)) =>
                    {
                        let place = &mut places[axis as usize];
                        if place.is_some_and(|known| known != own) {
                            return None;
                        }
                        *place = Some(own);
                    }
                    (_, None) if dim == Dim::Const(1) => {}
                    _ => return None,
                }
            }
        }
        let mut kept = (0..).zip(&self.expr.axes).filter(|(_, axis)| axis.kind.has_results());
        let each_once = kept.all(|(own, _)| places.iter().filter(|place| **place == Some(own)).count() == 1);
        let one = Some(SymExpr::constant(1));
        let others = reader.axes.iter().zip(&places).all(|(axis, place)| place.is_some() || axis.hi == one);
        (each_once && others).then_some(places)
    }
}

/// A position with its axes renumbered.
fn moved(index: &Index, places: &[Option<u32>]) -> Option<Index> {
    let IndexExpr::Affine(form) = &index.expr else { return None };
    let expr = match (form.as_axis(), form.as_constant()) {
        (Some(axis), _) => places[axis as usize].map_or(Affine::constant(0), Affine::axis),
        (None, Some(constant)) => Affine::constant(constant),
        (None, None) => return None,
    };
    // An axis of one point needs no stretching.
    let is_fixed = expr.as_axis().is_none() && index.mode == Mode::Broadcast;
    let mode = if is_fixed { Mode::Proved } else { index.mode };
    Some(Index { expr: IndexExpr::Affine(expr), mode })
}
