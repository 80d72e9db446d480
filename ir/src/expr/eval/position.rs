//! Positions and reads, with resolved symbols and extents.

use super::super::{Affine, IndexExpr, Mode, Negative, Operand, Source, SymExpr};
use super::env::Env;
use crate::error::{Accessed, EvalError, OutOfBounds};
use crate::name::Name;
use crate::scalar::Scalar;
use smallvec::SmallVec;

/// A sum of axes times coefficients, and a constant.
pub(super) struct Form {
    terms: SmallVec<[(usize, i128); 2]>,
    constant: i128,
}

impl Form {
    pub(super) fn new(form: &Affine, env: &Env<'_>) -> Result<Form, EvalError> {
        let constant = i128::from(bound(&form.offset, env)?);
        Ok(Form { terms: form.axes().iter().map(|&(a, c)| (a as usize, i128::from(c))).collect(), constant })
    }

    #[inline]
    pub(super) fn at(&self, point: &[i64]) -> Result<i128, EvalError> {
        let sum = self
            .terms
            .iter()
            .try_fold(self.constant, |sum, &(axis, c)| sum.checked_add(c.checked_mul(i128::from(*point.get(axis)?))?));
        sum.ok_or_else(|| EvalError::index("a position overflows"))
    }
}

/// The value of a symbolic expression whose symbols are bound.
pub(super) fn bound(expr: &SymExpr, env: &Env<'_>) -> Result<i64, EvalError> {
    let symbols = env.cx.symbols;
    if let Some((name, _)) = expr.terms().iter().find(|(name, _)| !symbols.contains_key(name)) {
        return Err(EvalError::shape(format!("symbol `{name}` is bound by no parameter, so its extent is not known")));
    }
    expr.eval(|name| symbols.get(&name).and_then(|&n| i64::try_from(n).ok()))
        .ok_or_else(|| EvalError::shape("a bound overflows"))
}

/// A position along one dim.
pub(super) enum Position {
    Form(Form),
    FloorDiv(Form, i128),
    Mod(Form, i128),
    Gather { arg: usize, index: Vec<Position>, offset: Form, negative: Negative },
}

impl Position {
    pub(super) fn new(position: &IndexExpr, env: &Env<'_>) -> Result<Position, EvalError> {
        Ok(match position {
            IndexExpr::Affine(form) => Position::Form(Form::new(form, env)?),
            IndexExpr::FloorDiv(form, d) => Position::FloorDiv(Form::new(form, env)?, i128::from(*d)),
            IndexExpr::Mod(form, d) => Position::Mod(Form::new(form, env)?, i128::from(*d)),
            IndexExpr::Gather { arg, index, offset, negative } => Position::Gather {
                arg: *arg as usize,
                index: index.iter().map(|p| Position::new(p, env)).collect::<Result<_, _>>()?,
                offset: Form::new(offset, env)?,
                negative: *negative,
            },
        })
    }

    /// The position along a dim of `extent` elements; it may be out of bounds.
    pub(super) fn at(&self, point: &[i64], extent: usize, env: &Env<'_>) -> Result<i128, EvalError> {
        match self {
            Position::Form(form) => form.at(point),
            Position::FloorDiv(form, divisor) => Ok(form.at(point)?.div_euclid(*divisor)),
            Position::Mod(form, divisor) => Ok(form.at(point)?.rem_euclid(*divisor)),
            Position::Gather { arg, index, offset, negative } => {
                let (shape, elements) = (env.shape(*arg), &env.elements[*arg]);
                let mut flat = 0;
                for (axis, (position, &n)) in index.iter().zip(shape).enumerate() {
                    let p = position.at(point, n, env)?;
                    let outside = OutOfBounds { accessed: Accessed::Positions, position: p, axis, extent: n };
                    let p = inside(p, n).ok_or_else(|| EvalError::out_of_bounds(outside))?;
                    flat = flat * n + p;
                }
                let found = elements.at(flat).to_i128().unwrap_or_default();
                let is_from_end = found < 0 && negative.is_from_end();
                let from_start = if is_from_end { found + extent as i128 } else { found };
                from_start.checked_add(offset.at(point)?).ok_or_else(|| EvalError::index("a position overflows"))
            }
        }
    }
}

/// The position, if it is in bounds.
pub(super) fn inside(position: i128, extent: usize) -> Option<usize> {
    usize::try_from(position).ok().filter(|&p| p < extent)
}

/// One dim of an operand's source.
pub(super) struct ReadDim {
    position: Position,
    mode: Mode,
    extent: usize,
}

/// The source of an operand.
pub(super) enum Read {
    Capture(usize),
    Array { name: Name, arg: usize, dims: Vec<ReadDim> },
}

impl Read {
    /// Resolves a read, and performs the checks that are done once per call. `range` gives the bounds of an
    /// axis.
    pub(super) fn new(
        operand: &Operand,
        env: &Env<'_>,
        range: impl Fn(u32) -> Option<(i64, i64)>,
    ) -> Result<Read, EvalError> {
        let arg = match operand.source {
            Source::Capture(k) => return Ok(Read::Capture(k as usize)),
            Source::Array(n) | Source::Scalar(n) => n as usize,
        };
        let mut dims = Vec::new();
        for (axis, (index, &extent)) in operand.index.iter().zip(env.shape(arg)).enumerate() {
            let plain = super::super::verify::plain_axis(&index.expr).and_then(&range);
            if let Some((lo, hi)) = plain.filter(|(lo, hi)| lo < hi || index.mode == Mode::Broadcast) {
                let right = match index.mode {
                    Mode::Broadcast => extent == 1 || (lo == 0 && hi == extent as i64),
                    Mode::Proved => lo >= 0 && hi <= extent as i64,
                    _ => true,
                };
                if !right {
                    return Err(EvalError::shape(format!(
                        "operand `{}` has extent {extent} along axis {axis}, and is read at {lo}..{hi}",
                        operand.name
                    )));
                }
            }
            dims.push(ReadDim { position: Position::new(&index.expr, env)?, mode: index.mode, extent });
        }
        Ok(Read::Array { name: operand.name, arg, dims })
    }

    /// The element at a point. Checks every position; the first one in the padding determines the element.
    pub(super) fn at(&self, point: &[i64], captures: &[Scalar], env: &Env<'_>) -> Result<Scalar, EvalError> {
        let (name, arg, dims) = match self {
            Read::Capture(k) => {
                return captures.get(*k).copied().ok_or_else(|| EvalError::unsupported("a capture is missing"));
            }
            Read::Array { name, arg, dims } => (name, *arg, dims),
        };
        let (mut flat, mut pad) = (0, None);
        for (axis, ReadDim { position, mode, extent }) in dims.iter().enumerate() {
            let p = if *mode == Mode::Broadcast && *extent == 1 { 0 } else { position.at(point, *extent, env)? };
            let found = match (inside(p, *extent), mode) {
                (Some(p), _) => p,
                (None, Mode::Wrap) if *extent > 0 => p.rem_euclid(*extent as i128) as usize,
                (None, Mode::Clamp) if *extent > 0 => p.clamp(0, *extent as i128 - 1) as usize,
                (None, Mode::Pad(value)) => {
                    pad.get_or_insert(*value);
                    0
                }
                (None, _) => {
                    let accessed = Accessed::Operand(*name);
                    return Err(EvalError::out_of_bounds(OutOfBounds { accessed, position: p, axis, extent: *extent }));
                }
            };
            flat = flat * extent + found;
        }
        Ok(pad.unwrap_or_else(|| env.elements[arg].at(flat)))
    }
}

/// The write positions of a result.
pub(super) struct WritePositions {
    pub(super) positions: Vec<Position>,
    pub(super) shape: Vec<usize>,
}

impl WritePositions {
    /// The flat index at a point.
    pub(super) fn at(&self, point: &[i64], result: usize, env: &Env<'_>) -> Result<usize, EvalError> {
        let mut flat = 0;
        for (axis, (position, &extent)) in self.positions.iter().zip(&self.shape).enumerate() {
            let p = position.at(point, extent, env)?;
            let p = inside(p, extent).ok_or_else(|| {
                let accessed = Accessed::Result(result);
                EvalError::out_of_bounds(OutOfBounds { accessed, position: p, axis, extent })
            })?;
            flat = flat * extent + p;
        }
        Ok(flat)
    }
}
