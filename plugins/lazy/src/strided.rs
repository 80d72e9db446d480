//! Strided layouts of lazy arrays: repeated elements are stored once.

use crate::expr::LazyExpr;
use crate::line::Line;
use rewright::ndarray::{ArrayViewD, Axis, IxDyn, ShapeBuilder};
use rewright::{Array, Element, Limits, View, with_array};
use smallvec::SmallVec;

/// Contiguous elements, and the strides with which they form the array.
pub struct Strided {
    /// The table of elements, if one was made. Otherwise the elements are those of the array that the
    /// expression reads.
    table: Option<Array>,
    /// The lowest index of an element in memory order.
    low: usize,
    /// The extents.
    shape: SmallVec<[usize; 4]>,
    /// The stride of each axis, in elements.
    steps: SmallVec<[isize; 4]>,
}

impl Strided {
    /// The layout of an expression over an array, or over a table of its constructor. `None` if the table
    /// would have more elements than the result or than an array may have, or if memory can't address
    /// them.
    pub fn of(expr: &LazyExpr, data: Option<&Array>) -> Option<Strided> {
        match data {
            Some(array) => Strided::of_array(expr, array),
            None => Strided::of_constant(expr),
        }
    }

    fn of_constant(expr: &LazyExpr) -> Option<Strided> {
        let line = Line::of(expr)?;
        let len = usize::try_from(line.len()).ok().filter(|_| line.len() <= expr.len().unwrap_or(u128::MAX).max(1))?;
        Limits::default().len(&[len]).ok()?;
        let elements = Array::from_fn(line.dtype(), &[len], |place| line.at(place))?;
        let steps = line.steps().iter().map(|&step| isize::try_from(step).ok()).collect::<Option<_>>()?;
        Strided { table: Some(elements), low: 0, shape: SmallVec::new(), steps }.beginning_at(expr, line.first())
    }

    fn of_array(expr: &LazyExpr, array: &Array) -> Option<Strided> {
        // An array with gaps in memory is packed first.
        let table = (!is_in_a_row(array)).then(|| array.view().to_array());
        let elements = table.as_ref().unwrap_or(array);
        let strides: SmallVec<[i128; 4]> = elements.strides().iter().map(|&stride| stride as i128).collect();
        let sum = |steps: &[i128]| {
            steps
                .iter()
                .zip(&strides)
                .try_fold(0i128, |sum, (step, stride)| sum.checked_add(step.checked_mul(*stride)?))
        };
        let axes = expr.axes().iter().map(|axis| sum(&axis.steps).and_then(|step| isize::try_from(step).ok()));
        let steps = axes.collect::<Option<_>>()?;
        // With negative strides, index 0 is not the lowest address.
        let back =
            elements.shape().iter().zip(&strides).map(|(&n, &s)| (n as i128 - 1).max(0) * (-s).max(0)).sum::<i128>();
        let first = sum(expr.start())?.checked_add(back)?;
        Strided { table, low: 0, shape: SmallVec::new(), steps }.beginning_at(expr, first)
    }

    /// Sets the extents, and computes `low` from the position of the first element.
    fn beginning_at(self, expr: &LazyExpr, first: i128) -> Option<Strided> {
        let down = expr.axes().iter().zip(&self.steps).try_fold(0i128, |sum, (axis, &step)| {
            sum.checked_add(i128::from(axis.extent.saturating_sub(1)).checked_mul((step as i128).min(0))?)
        })?;
        let low = if expr.is_empty() { 0 } else { usize::try_from(first.checked_add(down)?).ok()? };
        let shape = expr.axes().iter().map(|axis| usize::try_from(axis.extent).ok()).collect::<Option<_>>()?;
        Some(Strided { low, shape, ..self })
    }

    /// The table of elements, if one was made.
    pub fn table(&self) -> Option<&Array> {
        self.table.as_ref()
    }

    /// A view of the elements; `data` is the array that the expression reads. `None` if memory can't
    /// address them.
    pub fn view<'a>(&'a self, data: Option<&'a Array>) -> Option<View<'a>> {
        with_array!(self.table.as_ref().or(data)?, |a| {
            read(a.as_slice_memory_order()?, self.low, &self.shape, &self.steps)
        })
    }

    /// The view without the axes of extent 1.
    pub fn long_view<'a>(&'a self, data: Option<&'a Array>) -> Option<View<'a>> {
        let is_long = |&axis: &usize| self.shape[axis] != 1;
        let shape: SmallVec<[usize; 4]> = self.shape.iter().copied().filter(|&extent| extent != 1).collect();
        let axes = (0..self.shape.len()).filter(is_long);
        let steps: SmallVec<[isize; 4]> = axes.map(|axis| self.steps[axis]).collect();
        with_array!(self.table.as_ref().or(data)?, |a| read(a.as_slice_memory_order()?, self.low, &shape, &steps))
    }
}

/// A view of contiguous elements, the lowest of which is at `low`.
fn read<'a, T: Element>(elements: &'a [T], low: usize, shape: &[usize], steps: &[isize]) -> Option<View<'a>> {
    let strides: SmallVec<[usize; 4]> = steps.iter().map(|step| step.unsigned_abs()).collect();
    let layout = IxDyn(shape).strides(IxDyn(&strides));
    let mut view = ArrayViewD::from_shape(layout, elements.get(low..)?).ok()?;
    for (axis, _) in steps.iter().enumerate().filter(|(_, step)| **step < 0) {
        view.invert_axis(Axis(axis));
    }
    Some(T::wrap_view(view))
}

fn is_in_a_row(array: &Array) -> bool {
    with_array!(array, |a| a.as_slice_memory_order().is_some())
}
