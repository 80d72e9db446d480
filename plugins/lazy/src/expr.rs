//! Lazy expressions: an input, and an index map.

use crate::input::Input;
use rewright::{DType, EvalError, Scalar};
use smallvec::SmallVec;

/// One number for each axis of the input.
pub type Steps = SmallVec<[i128; 2]>;

/// An axis of the result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    /// The extent.
    pub extent: u64,
    /// The step along each axis of the input for one step along this axis. All are 0 where elements
    /// repeat.
    pub steps: Steps,
}

/// An input, and an affine index map into it: element `i` of the result is at `start` plus the sum of
/// `i[k]` times the steps of axis `k`.
///
/// Broadcasts, transposes, slices, flips, diagonals, and inserted or dropped axes of extent 1 are affine
/// maps, and affine maps compose. So a chain of views is one expression, and the cost to create, copy or
/// compare it depends on the ranks only.
///
/// Maps have a canonical form: an axis of extent 1 has zero steps, and a result without elements has zero
/// steps and starts at 0. Equality and hash compare this form and the input.
///
/// ```
/// use rewright_lazy::LazyExpr;
/// let column: LazyExpr = "iota(i64, 3)[i: 3, j: 4 -> i]".parse()?;
/// let row = LazyExpr::iota(rewright::DType::I64, 3).expanded(&[0])?.broadcast(&[4, 3], &[0, 1])?;
/// assert_eq!(row.transposed(&[1, 0])?, column);
/// assert!(column.is_constant() && !column.is_trivial());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LazyExpr {
    input: Input,
    start: Steps,
    axes: Vec<Axis>,
}

impl LazyExpr {
    /// An input with the identity map.
    pub fn of(input: Input) -> LazyExpr {
        let rank = input.shape().len();
        let axis = |(along, &extent): (usize, &u64)| {
            let mut steps = Steps::from_elem(0, rank);
            steps[along] = 1;
            Axis { extent, steps }
        };
        let axes = input.shape().iter().enumerate().map(axis).collect();
        LazyExpr { input, start: Steps::from_elem(0, rank), axes }.in_one_form()
    }

    /// An array of a dtype and shape.
    pub fn var(dtype: DType, shape: &[u64]) -> LazyExpr {
        LazyExpr::of(Input::Var { dtype, shape: shape.to_vec() })
    }

    /// The numbers from 0 to `extent - 1`.
    pub fn iota(dtype: DType, extent: u64) -> LazyExpr {
        LazyExpr::of(Input::Iota { dtype, extent })
    }

    /// An array filled with one value.
    pub fn full(value: Scalar, shape: &[u64]) -> LazyExpr {
        let axes = shape.iter().map(|&extent| Axis { extent, steps: Steps::new() }).collect();
        LazyExpr { input: Input::Full(value), start: Steps::new(), axes }
    }

    /// An input read through a map; an error if the map leaves the input.
    pub fn new(input: Input, start: Steps, axes: Vec<Axis>) -> Result<LazyExpr, EvalError> {
        let rank = input.shape().len();
        if start.len() != rank || axes.iter().any(|axis| axis.steps.len() != rank) {
            let message = format!("`{input}` has rank {rank}: a map into it has as many positions");
            return Err(EvalError::shape(message));
        }
        let expr = LazyExpr { input, start, axes }.in_one_form();
        if expr.is_empty() {
            return Ok(expr);
        }
        for (along, &extent) in expr.input.shape().iter().enumerate() {
            match expr.reach(along) {
                Some((low, high)) if low >= 0 && high < i128::from(extent) => {}
                Some((low, high)) => {
                    let message = format!("the map goes from {low} to {high} along axis {along} of `{}`", expr.input);
                    return Err(EvalError::index(format!("{message}, whose extent is {extent}")));
                }
                None => {
                    let message = format!("the map goes too far along axis {along} of `{}`", expr.input);
                    return Err(EvalError::index(message));
                }
            }
        }
        Ok(expr)
    }

    /// The canonical form of the map.
    fn in_one_form(mut self) -> LazyExpr {
        let empty = self.is_empty();
        if empty {
            self.start.fill(0);
        }
        for axis in self.axes.iter_mut().filter(|axis| empty || axis.extent == 1) {
            axis.steps.fill(0);
        }
        self
    }

    /// The lowest and the highest position along an axis of the input; `None` on overflow.
    fn reach(&self, along: usize) -> Option<(i128, i128)> {
        span(self.start[along], self.axes.iter().map(|axis| (axis.extent, axis.steps[along])))
    }

    /// Composes a map into this expression's result with this expression's map. The given map must stay
    /// inside of the result.
    pub(crate) fn through(&self, start: &[i128], axes: Vec<Axis>) -> Result<LazyExpr, EvalError> {
        let along = |steps: &[i128]| -> Option<Steps> {
            let rank = self.start.len();
            (0..rank)
                .map(|n| {
                    steps
                        .iter()
                        .zip(&self.axes)
                        .try_fold(0i128, |sum, (step, axis)| sum.checked_add(step.checked_mul(axis.steps[n])?))
                })
                .collect()
        };
        let composed = || -> Option<LazyExpr> {
            let moved = along(start)?;
            let start = self.start.iter().zip(moved).map(|(a, b)| a.checked_add(b)).collect::<Option<_>>()?;
            let axis = |axis: &Axis| {
                // The stride of an axis of extent 0 or 1 is irrelevant.
                let still = axis.extent <= 1;
                let steps = if still { Some(Steps::from_elem(0, self.start.len())) } else { along(&axis.steps) };
                Some(Axis { extent: axis.extent, steps: steps? })
            };
            let axes = axes.iter().map(axis).collect::<Option<_>>()?;
            Some(LazyExpr { input: self.input.clone(), start, axes }.in_one_form())
        };
        // Composition with the identity.
        if self.is_trivial() && !self.is_empty() {
            return Ok(LazyExpr { input: self.input.clone(), start: start.into(), axes }.in_one_form());
        }
        if axes.iter().any(|axis| axis.extent == 0) {
            let rank = self.start.len();
            let still = |axis: Axis| Axis { extent: axis.extent, steps: Steps::from_elem(0, rank) };
            let axes = axes.into_iter().map(still).collect();
            return Ok(LazyExpr { input: self.input.clone(), start: Steps::from_elem(0, rank), axes });
        }
        composed().ok_or_else(|| EvalError::index(format!("a step in `{self}` is too large a number")))
    }

    /// The input of the expression.
    pub fn input(&self) -> &Input {
        &self.input
    }
    /// The position of the first element.
    pub fn start(&self) -> &[i128] {
        &self.start
    }
    /// The axes of the result.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }
    /// The element type.
    pub fn dtype(&self) -> DType {
        self.input.dtype()
    }
    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.axes.len()
    }
    /// The extents.
    pub fn shape(&self) -> Vec<u64> {
        self.axes.iter().map(|axis| axis.extent).collect()
    }
    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.axes.iter().any(|axis| axis.extent == 0)
    }
    /// The number of elements, if it fits 128 bits.
    pub fn len(&self) -> Option<u128> {
        if self.is_empty() {
            return Some(0);
        }
        self.axes.iter().try_fold(1u128, |len, axis| len.checked_mul(u128::from(axis.extent)))
    }
    /// True if the map is the identity.
    pub fn is_trivial(&self) -> bool {
        let moves = |axis: &Axis| axis.extent > 1 && !self.is_empty();
        let along = |(n, axis): (usize, &Axis)| {
            let own = |(to, &step): (usize, &i128)| step == i128::from(to == n && moves(axis));
            axis.extent == self.input.shape()[n] && axis.steps.iter().enumerate().all(own)
        };
        let same_rank = self.axes.len() == self.start.len();
        same_rank && self.start.iter().all(|&at| at == 0) && self.axes.iter().enumerate().all(along)
    }
    /// True if the input is a constructor: no array is read.
    pub fn is_constant(&self) -> bool {
        self.input.is_constant()
    }

    /// The position in the input of the element at `index`; `None` out of bounds.
    pub fn position(&self, index: &[u64]) -> Option<SmallVec<[u64; 2]>> {
        if index.len() != self.axes.len() || index.iter().zip(&self.axes).any(|(at, axis)| *at >= axis.extent) {
            return None;
        }
        // A valid map stays inside of the input, so no partial sum exceeds the extents in magnitude.
        let along = |(n, &start): (usize, &i128)| {
            let mut steps = index.iter().zip(&self.axes);
            let at = steps.try_fold(start, |sum, (&at, axis)| sum.checked_add(axis.steps[n].checked_mul(at.into())?));
            u64::try_from(at?).ok()
        };
        self.start.iter().enumerate().map(along).collect()
    }

    /// The element at `index`, if the input is a constructor; `None` out of bounds.
    pub fn element(&self, index: &[u64]) -> Option<Scalar> {
        self.input.element(&self.position(index)?)
    }
}

/// The minimum and maximum of `start + sum of step * index`, over all indices below the extents; `None`
/// on overflow.
pub(crate) fn span(start: i128, steps: impl IntoIterator<Item = (u64, i128)>) -> Option<(i128, i128)> {
    steps.into_iter().try_fold((start, start), |(low, high), (extent, step)| {
        let all = step.checked_mul(i128::from(extent.saturating_sub(1)))?;
        Some((low.checked_add(all.min(0))?, high.checked_add(all.max(0))?))
    })
}
