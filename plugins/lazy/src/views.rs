//! Views of lazy expressions: each composes index maps, at a cost that depends on the ranks only.

use crate::expr::{Axis, LazyExpr, Steps};
use rewright::{EvalError, SliceSpec};

impl LazyExpr {
    /// Permutes the axes: `perm` has the old axis of each new one.
    pub fn transposed(&self, perm: &[usize]) -> Result<LazyExpr, EvalError> {
        let mut seen = vec![false; self.rank()];
        let is_new = |&axis: &usize| seen.get_mut(axis).is_some_and(|seen| !std::mem::replace(seen, true));
        if perm.len() != self.rank() || !perm.iter().all(is_new) {
            return Err(self.refuse(format!("{perm:?} is no order of its axes")));
        }
        self.pick(perm.iter().map(|&axis| Some(axis)))
    }

    /// Moves the axes `from` to the places `to`; the others keep their order.
    pub fn moved(&self, from: &[usize], to: &[usize]) -> Result<LazyExpr, EvalError> {
        let perm = moved_axes(self.rank(), from, to).map_err(|why| self.refuse(why))?;
        self.transposed(&perm)
    }

    /// Exchanges two axes.
    pub fn swapped(&self, a: usize, b: usize) -> Result<LazyExpr, EvalError> {
        if a.max(b) >= self.rank() {
            return Err(self.refuse(format!("it has no axis {}", a.max(b))));
        }
        let mut perm: Vec<usize> = (0..self.rank()).collect();
        perm.swap(a, b);
        self.transposed(&perm)
    }

    /// Broadcasts to `dims`: axis `k` becomes axis `axes[k]` of the result, stretched if its extent is 1.
    /// Elements repeat along the other axes.
    pub fn broadcast(&self, dims: &[u64], axes: &[usize]) -> Result<LazyExpr, EvalError> {
        let increasing = axes.windows(2).all(|pair| pair[0] < pair[1]);
        if axes.len() != self.rank() || !increasing || axes.iter().any(|&axis| axis >= dims.len()) {
            return Err(self.refuse(format!("its axes can't become the axes {axes:?} of {dims:?}")));
        }
        let start = Steps::from_elem(0, self.rank());
        let mut result: Vec<Axis> = dims.iter().map(|&extent| Axis { extent, steps: start.clone() }).collect();
        for (from, (&to, axis)) in axes.iter().zip(self.axes()).enumerate() {
            match axis.extent {
                extent if extent == dims[to] => result[to].steps[from] = 1,
                1 => {}
                extent => {
                    return Err(
                        self.refuse(format!("axis {from}, of extent {extent}, can't be stretched to {}", dims[to]))
                    );
                }
            }
        }
        self.through(&start, result)
    }

    /// Inserts axes of extent 1 at these places of the result.
    pub fn expanded(&self, axes: &[usize]) -> Result<LazyExpr, EvalError> {
        let rank = self.rank() + axes.len();
        let mut is_new = vec![false; rank];
        for &axis in axes {
            match is_new.get_mut(axis) {
                Some(new) if !*new => *new = true,
                _ => return Err(self.refuse(format!("{axes:?} are no places for new axes at rank {rank}"))),
            }
        }
        let mut old = 0..self.rank();
        self.pick(is_new.iter().map(|&new| if new { None } else { old.next() }))
    }

    /// Drops these axes, which must have extent 1.
    pub fn squeezed(&self, axes: &[usize]) -> Result<LazyExpr, EvalError> {
        if let Some(axis) = axes.iter().find(|&&axis| self.axes().get(axis).is_none_or(|axis| axis.extent != 1)) {
            return Err(self.refuse(format!("axis {axis} can't be dropped: its extent isn't 1")));
        }
        self.pick((0..self.rank()).filter(|axis| !axes.contains(axis)).map(Some))
    }

    /// Reshapes to dims that differ only in axes of extent 1.
    pub fn reshaped(&self, dims: &[u64]) -> Result<LazyExpr, EvalError> {
        let mut long = (0..self.rank()).filter(|&axis| self.axes()[axis].extent != 1);
        let pick: Vec<Option<usize>> = dims.iter().map(|&dim| if dim == 1 { None } else { long.next() }).collect();
        let fits =
            |(pick, &dim): (&Option<usize>, &u64)| dim == 1 || pick.is_some_and(|a| self.axes()[a].extent == dim);
        if long.next().is_some() || !pick.iter().zip(dims).all(fits) {
            let message = format!(
                "the dims {dims:?} are other ones than its own, {:?}, and not only in extents of 1",
                self.shape()
            );
            return Err(self.refuse(message));
        }
        self.pick(pick)
    }

    /// Slices the leading axes, as in Python.
    pub fn sliced(&self, at: &[SliceSpec]) -> Result<LazyExpr, EvalError> {
        if at.len() > self.rank() || at.iter().any(|spec| spec.step == 0) {
            return Err(self.refuse(format!("{} slices are too many, or have a step of 0", at.len())));
        }
        let mut start = Steps::from_elem(0, self.rank());
        let mut axes = Vec::with_capacity(self.rank());
        for (n, axis) in self.axes().iter().enumerate() {
            let spec = at.get(n).copied().unwrap_or(SliceSpec::FULL);
            // `resolve` wraps a first position beyond `i64`.
            let (first, extent) = spec.resolve(axis.extent);
            start[n] = i128::from(first as u64);
            axes.push(self.unit(n, extent, spec.step.into()));
        }
        self.through(&start, axes)
    }

    /// Reverses the elements along these axes.
    pub fn flipped(&self, axes: &[usize]) -> Result<LazyExpr, EvalError> {
        if let Some(axis) = axes.iter().find(|&&axis| axis >= self.rank()) {
            return Err(self.refuse(format!("it has no axis {axis}")));
        }
        let turn =
            |n: usize| if axes.contains(&n) { SliceSpec { step: -1, ..SliceSpec::FULL } } else { SliceSpec::FULL };
        self.sliced(&(0..self.rank()).map(turn).collect::<Vec<_>>())
    }

    /// The diagonal of the axes `rows` and `columns`, as a last axis. A positive `offset` is above the
    /// main diagonal.
    pub fn diagonal(&self, offset: i64, rows: usize, columns: usize) -> Result<LazyExpr, EvalError> {
        if rows == columns || rows.max(columns) >= self.rank() {
            return Err(self.refuse(format!("{rows} and {columns} aren't two of its axes")));
        }
        let mut start = Steps::from_elem(0, self.rank());
        start[rows] = i128::from(offset).min(0).abs();
        start[columns] = i128::from(offset).max(0);
        let left = |axis: usize| (i128::from(self.axes()[axis].extent) - start[axis]).max(0);
        let extent = left(rows).min(left(columns)) as u64;
        let others = (0..self.rank()).filter(|&axis| axis != rows && axis != columns);
        let mut axes: Vec<Axis> = others.map(|axis| self.unit(axis, self.axes()[axis].extent, 1)).collect();
        let mut last = self.unit(rows, extent, 1);
        last.steps[columns] = 1;
        axes.push(last);
        self.through(&start, axes)
    }

    /// The given axes in order, with a new axis of extent 1 for each `None`.
    fn pick(&self, axes: impl IntoIterator<Item = Option<usize>>) -> Result<LazyExpr, EvalError> {
        let one = || Axis { extent: 1, steps: Steps::from_elem(0, self.rank()) };
        let axis = |axis: Option<usize>| axis.map_or_else(one, |axis| self.unit(axis, self.axes()[axis].extent, 1));
        self.through(&Steps::from_elem(0, self.rank()), axes.into_iter().map(axis).collect())
    }

    /// An axis of a view that steps along axis `axis` of this expression.
    fn unit(&self, axis: usize, extent: u64, step: i128) -> Axis {
        let mut steps = Steps::from_elem(0, self.rank());
        steps[axis] = step;
        Axis { extent, steps }
    }

    fn refuse(&self, why: impl std::fmt::Display) -> EvalError {
        EvalError::shape(format!("of `{self}`: {why}"))
    }
}

/// The old axis of each new one, when the axes `from` move to the places `to`.
pub(crate) fn moved_axes(rank: usize, from: &[usize], to: &[usize]) -> Result<Vec<usize>, String> {
    let mut perm = vec![None; rank];
    if from.len() != to.len() {
        return Err(format!("{} axes can't be moved to {} places", from.len(), to.len()));
    }
    for (&from, &to) in from.iter().zip(to) {
        if from >= rank || to >= rank {
            return Err(format!("it has no axis {}", from.max(to)));
        }
        if perm.contains(&Some(from)) || perm[to].is_some() {
            return Err(format!("axis {from} is moved twice, or two axes to {to}"));
        }
        perm[to] = Some(from);
    }
    let mut others = (0..rank).filter(|axis| !from.contains(axis));
    Ok(perm.into_iter().filter_map(|axis| axis.or_else(|| others.next())).collect())
}
