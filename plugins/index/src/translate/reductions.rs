//! Reductions: monoids, accumulators and initial values.

use super::products::Summand;
use super::{Made, Translation, refuse, typed};
use crate::nest::Reducer;
use rewright::builder::infer_types;
use rewright::expr::{AxisKind, Body, BodyOp, BodyRef, Combine, Init, Monoid, Reduction, SymExpr};
use rewright::{Attr, Attrs, DType, Literal, Loc, Op, Scalar, Type};

/// The start of a reduction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Start {
    /// A number.
    Number(Literal),
    /// The elements of an operand of the instruction, at this dtype.
    Existing(u32, DType),
    /// Other elements follow later, so nothing is combined before the first.
    Identity,
}

impl Translation<'_, '_, '_> {
    /// The reduction of a value, and the dtype of its accumulator.
    pub(super) fn reduction(
        &self,
        reducer: Reducer,
        summand: &Summand,
        start: Option<Start>,
        loc: Loc,
        strict: bool,
    ) -> Made<(Reduction, DType)> {
        let term = self.dtype_of(summand, loc)?;
        let beside = |dtype: DType| match start {
            Some(Start::Number(literal)) => dtype.promote(literal.dtype_beside(Some(dtype))),
            Some(Start::Existing(_, own)) => dtype.promote(own),
            _ => dtype,
        };
        let (combine, dtype) = match reducer {
            Reducer::Builtin(monoid) => {
                if matches!(monoid, Monoid::Any | Monoid::All) && !term.is_bool() {
                    let message = format!("`&` and `|` reduce truth values, and this one is {term}");
                    return refuse(message, loc, "compare it with a number: `x[i] > 0`");
                }
                let combine = if let Summand::Product(..) = summand { Monoid::Dot } else { monoid };
                (Combine::Builtin(combine), beside(monoid.accumulator(term)))
            }
            Reducer::Function(op) => {
                if start.is_none() {
                    let help = format!("state it: `init=...`, for example the number that `{op}` leaves as it is");
                    return refuse(format!("a reduction by `{op}` has no initial value of its own"), loc, &help);
                }
                let dtype = self.closed(op, beside(term), loc)?;
                (Combine::Region(self.region(op, dtype, loc)?), dtype)
            }
        };
        let init = match start {
            // An extremum of one element at least may start from the identity.
            None if matches!(reducer, Reducer::Builtin(Monoid::Min | Monoid::Max))
                && !(self.has_points() && identity(reducer, dtype).is_some()) =>
            {
                Init::First
            }
            None | Some(Start::Identity) => Init::Identity,
            Some(Start::Existing(arg, _)) => Init::Existing(vec![arg]),
            Some(Start::Number(literal)) => {
                let scalar = match literal {
                    Literal::Typed(scalar) => Some(scalar.cast(dtype)),
                    weak => weak.at(dtype),
                };
                match scalar {
                    Some(scalar) if matches!(combine, Combine::Builtin(Monoid::Dot)) => {
                        Init::Values(vec![scalar, Scalar::one(dtype)])
                    }
                    Some(scalar) => Init::Values(vec![scalar]),
                    None => return refuse(format!("the initial value {literal} is no value of {dtype}"), loc, ""),
                }
            }
        };
        let is_free = matches!(reducer, Reducer::Builtin(_)) && !strict;
        let accumulators = vec![dtype; if let Summand::Product(..) = summand { 2 } else { 1 }];
        Ok((
            Reduction {
                combine,
                accumulators,
                identity: None,
                init,
                associative: is_free,
                commutative: is_free,
                idempotent: false,
                loc: Loc::default(),
            },
            dtype,
        ))
    }

    /// Whether the reduce axes of the innermost expression are known to have points.
    fn has_points(&self) -> bool {
        let Some(level) = self.levels.last() else { return false };
        level.axes.iter().filter(|axis| axis.kind == AxisKind::Reduce).all(|axis| {
            let extent = axis.hi.as_ref().and_then(SymExpr::as_constant).zip(axis.lo.as_constant());
            extent.is_some_and(|(hi, lo)| hi > lo)
        })
    }

    /// The extremum of tuples, by their first parts that differ, and the dtypes of its accumulators. `argmin`
    /// and `argmax` compare values, and keep the first position of equal ones.
    pub(super) fn extremum_of_tuples(
        &self,
        summands: &[Summand],
        starts: &[Option<Start>],
        loc: Loc,
    ) -> Made<(Reduction, Vec<DType>)> {
        let Reducer::Builtin(monoid) = self.nest.reduction else { return refuse("no extremum", loc, "") };
        let mut dtypes = Vec::new();
        for (summand, start) in summands.iter().zip(starts) {
            let own = self.dtype_of(summand, loc)?;
            dtypes.push(match start {
                Some(Start::Number(literal)) => own.promote(literal.dtype_beside(Some(own))),
                _ => own,
            });
            if own.is_complex() {
                return refuse(format!("the parts are compared, and {own} has no order"), loc, "reduce by `abs(z)`");
            }
        }
        let is_position = matches!(monoid, Monoid::ArgMin | Monoid::ArgMax);
        if is_position && !dtypes[1].is_int() {
            return refuse(format!("the position is {}, and positions are integers", dtypes[1]), loc, "");
        }
        let combine = match monoid {
            // The least of equal positions is the first one.
            Monoid::Min if dtypes.len() == 2 && dtypes[1].is_int() => Combine::Builtin(Monoid::ArgMin),
            _ if is_position => Combine::Builtin(monoid),
            _ => Combine::Region(lexicographic(if monoid == Monoid::Min { "lt" } else { "gt" }, &dtypes, loc)?),
        };
        let mut init = Vec::new();
        for (start, dtype) in starts.iter().zip(&dtypes) {
            let Some(Start::Number(literal)) = start else { continue };
            let scalar = match literal {
                Literal::Typed(scalar) => Some(scalar.cast(*dtype)),
                weak => weak.at(*dtype),
            };
            let Some(scalar) = scalar else {
                return refuse(format!("the initial value {literal} is no value of {dtype}"), loc, "");
            };
            init.push(scalar);
        }
        let reduction = Reduction {
            combine,
            accumulators: dtypes.clone(),
            identity: None,
            init: if init.is_empty() { Init::First } else { Init::Values(init) },
            // No order of tuples gives another extremum.
            associative: true,
            commutative: true,
            idempotent: true,
            loc: Loc::default(),
        };
        Ok((reduction, dtypes))
    }

    /// The dtype that a function of two numbers of it has, from `dtype` up.
    fn closed(&self, op: Op, dtype: DType, loc: Loc) -> Made<DType> {
        let mut dtype = dtype;
        for _ in 0..DType::ALL.len() {
            let own = Type::scalar(dtype);
            let (_, types) =
                infer_types(op, &[own.clone(), own], &[None, None], Attrs::new(), None).map_err(|e| typed(e, loc))?;
            let next = dtype.promote(types[0].dtype());
            if next == dtype {
                break;
            }
            dtype = next;
        }
        Ok(dtype)
    }

    /// The body that combines two accumulators.
    fn region(&self, op: Op, dtype: DType, loc: Loc) -> Made<Body> {
        let own = Type::scalar(dtype);
        let (attrs, types) =
            infer_types(op, &[own.clone(), own], &[None, None], Attrs::new(), None).map_err(|e| typed(e, loc))?;
        let mut body = Body::default();
        let result = types[0].dtype();
        let mut value = body.push(BodyOp::Op(op, attrs), [BodyRef::Acc(0), BodyRef::Acc(1)], [result], loc)[0];
        if result != dtype {
            let cast = super::values::op("cast", loc)?;
            let attrs = Attrs::new().with("to", Attr::DType(dtype));
            value = body.push(BodyOp::Op(cast, attrs), [value], [dtype], loc)[0];
        }
        body.yields = vec![value];
        Ok(body)
    }
}

/// The body that takes the right one of two tuples if it is beyond the left one in lexicographic order. NaN
/// is beyond all numbers, as in `minimum` and `maximum`.
fn lexicographic(beyond: &str, dtypes: &[DType], loc: Loc) -> Made<Body> {
    let mut body = Body::default();
    let count = dtypes.len() as u32;
    let mut push = |name: &str, args: &[BodyRef], dtype: DType| -> Made<BodyRef> {
        let op = super::values::op(name, loc)?;
        Ok(body.push(BodyOp::Op(op, Attrs::new()), args.iter().copied(), [dtype], loc)[0])
    };
    let truth = DType::Bool;
    // Whether the right tuple is beyond the left one, and whether all parts so far are the same.
    let mut state: Option<(BodyRef, BodyRef)> = None;
    for (part, dtype) in (0..).zip(dtypes) {
        let (a, b) = (BodyRef::Acc(part), BodyRef::Acc(count + part));
        let (mut takes, mut same) = (push(beyond, &[b, a], truth)?, push("eq", &[a, b], truth)?);
        if dtype.is_float() {
            let (no_a, no_b) = (push("ne", &[a, a], truth)?, push("ne", &[b, b], truth)?);
            let any = push("bitor", &[no_b, takes], truth)?;
            let is_number = push("not", &[no_a], truth)?;
            takes = push("bitand", &[is_number, any], truth)?;
            let both = push("bitand", &[no_a, no_b], truth)?;
            same = push("bitor", &[same, both], truth)?;
        }
        state = Some(match state {
            None => (takes, same),
            Some((taken, all)) => {
                let next = push("bitand", &[all, takes], truth)?;
                (push("bitor", &[taken, next], truth)?, push("bitand", &[all, same], truth)?)
            }
        });
    }
    let Some((takes, _)) = state else { return refuse("no parts", loc, "") };
    let mut yields = Vec::new();
    for (part, dtype) in (0..).zip(dtypes) {
        yields.push(push("where", &[takes, BodyRef::Acc(count + part), BodyRef::Acc(part)], *dtype)?);
    }
    body.yields = yields;
    Ok(body)
}

/// The identity of a reduction at a dtype.
pub(super) fn identity(reducer: Reducer, dtype: DType) -> Option<Scalar> {
    match reducer {
        Reducer::Builtin(monoid) => monoid.identity(dtype),
        Reducer::Function(_) => None,
    }
}
