//! Reference evaluation of expressions, point by point.

mod body;
mod env;
mod fold;
mod position;
mod shape_errors;
mod space;

use super::verify::{plain_axis, verify};
use super::{ArrayExpr, Out, Write};
use crate::error::EvalError;
use crate::op::EvalCx;
use crate::scalar::Scalar;
use crate::types::{Dim, Type};
use crate::value::Elements;
use crate::value::{Array, Datum};
use env::Env;
use position::{Position, WritePositions};
use space::Space;

/// Evaluates an expression.
pub(crate) fn evaluate(cx: &EvalCx<'_>, expr: &ArrayExpr, args: &[Datum]) -> Result<Vec<Array>, EvalError> {
    let types: Vec<Type> = args.iter().map(Datum::ty).collect();
    if let Some(problem) = verify(expr, &types).into_iter().next() {
        return Err(EvalError::shape(problem.message));
    }
    let elements = args.iter().map(|arg| match arg {
        Datum::Array(array) => Ok(Elements::of(array)),
        Datum::Scalar(s) => Elements::filled(*s, 1),
        Datum::Styled(s) => Err(EvalError::unsupported(format!("reads dense arrays, got {}", s.ty()))),
    });
    let env = Env { cx, args, elements: elements.collect::<Result<_, _>>()? };
    let space = Space::new(expr, &[], &[], &env).map_err(|error| shape_errors::blamed(error, expr, &env))?;
    let places: Vec<WritePositions> =
        expr.outs.iter().map(|out| place(out, &space.ranges, &env)).collect::<Result<_, _>>()?;
    let mut results: Vec<Output<'_>> =
        expr.outs.iter().zip(&places).map(|(out, place)| Output::new(out, place, cx)).collect::<Result<_, _>>()?;
    space.run(&[], &mut Vec::new(), &places, &env, |values, point| {
        for (k, (result, value)) in results.iter_mut().zip(values).enumerate() {
            let at = places[k].at(point, k, &env)?;
            result.write(at, value.cast(result.out.dtype), k)?;
        }
        Ok(())
    })?;
    results.into_iter().zip(&places).enumerate().map(|(k, (result, place))| result.finish(k, &place.shape)).collect()
}

/// A result's shape and positions.
fn place(out: &Out, ranges: &[(i64, i64)], env: &Env<'_>) -> Result<WritePositions, EvalError> {
    let extent = |(dim, position): (&Dim, _)| match dim {
        // An unknown dim has the extent of the axis along it.
        Dim::Any => plain_axis(position)
            .and_then(|axis| usize::try_from(ranges.get(axis as usize)?.1.max(0)).ok())
            .ok_or_else(|| EvalError::shape("the extent of a result is not known")),
        known => usize::try_from(env.cx.extent(*known)?).map_err(|_| EvalError::limit("an extent is too large")),
    };
    let shape = out.dims.iter().zip(&out.index).map(extent).collect::<Result<_, _>>()?;
    let positions = out.index.iter().map(|p| Position::new(p, env)).collect::<Result<_, _>>()?;
    Ok(WritePositions { positions, shape })
}

/// A result under construction.
struct Output<'a> {
    out: &'a Out,
    elements: Elements<'static>,
    written: Vec<bool>,
}

impl<'a> Output<'a> {
    fn new(out: &'a Out, place: &WritePositions, cx: &EvalCx<'_>) -> Result<Self, EvalError> {
        let len = cx.len(&place.shape)?;
        cx.spend(len as u64)?;
        let elements = Elements::filled(out.fill.unwrap_or(Scalar::zero(out.dtype)), len)?;
        Ok(Output { out, elements, written: vec![false; len] })
    }

    fn write(&mut self, at: usize, value: Scalar, result: usize) -> Result<(), EvalError> {
        let again = std::mem::replace(&mut self.written[at], true);
        let value = match self.out.write {
            Write::Unique if again => {
                let message =
                    format!("several points write element {at} of result {result}, which is to be written once");
                return Err(EvalError::value(message));
            }
            Write::Combine(monoid) if again || self.out.fill.is_some() => monoid.combine(self.elements.at(at), value),
            _ => value,
        };
        self.elements.set(at, value)
    }

    fn finish(self, result: usize, shape: &[usize]) -> Result<Array, EvalError> {
        match self.written.iter().position(|w| !w) {
            Some(at) if self.out.fill.is_none() => {
                Err(EvalError::value(format!("no point writes element {at} of result {result}, which has no fill")))
            }
            _ => self.elements.into_array(shape),
        }
    }
}
