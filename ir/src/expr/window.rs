//! Reductions of few points, which are computed without loops, such as windows of a convolution.

use super::{Affine, ArrayExpr, AxisKind, Operand};

/// The most points of such a reduction, and the most instructions and operands of all points.
const MOST_POINTS: i64 = 64;
const MOST_INSTS: i64 = 512;

impl ArrayExpr {
    /// The number of points of the reduce axes, if it is constant, and if the straight-line code of all
    /// points is short.
    pub fn few_points(&self) -> Option<i64> {
        let mut points = 1i64;
        for axis in self.axes.iter().filter(|axis| axis.kind == AxisKind::Reduce) {
            let extent = axis.hi.as_ref()?.as_constant()?.checked_sub(axis.lo.as_constant()?)?;
            points = points.checked_mul(extent).filter(|&n| n > 0 && n <= MOST_POINTS)?;
        }
        let insts = 1 + self.operands.len() + self.body.insts.len();
        (points.saturating_mul(insts as i64) <= MOST_INSTS).then_some(points)
    }

    /// True if rows along an axis read the same elements, which differ along it: as the rows of a product of
    /// matrices read those of its right factor.
    pub fn rows_share(&self, axis: u32) -> bool {
        let moves = |operand: &Operand, axis: u32| {
            let forms = operand.index.iter().filter_map(|index| index.expr.form());
            forms.flat_map(Affine::axes).any(|&(moving, _)| moving == axis)
        };
        let others = (0..).zip(&self.axes).filter(|(number, _)| *number != axis);
        let others: Vec<u32> =
            others.filter(|(_, other)| other.kind == AxisKind::Parallel).map(|(number, _)| number).collect();
        let mut columns = self.operands.iter().filter(|operand| moves(operand, axis));
        columns.any(|operand| others.iter().any(|&other| !moves(operand, other)))
    }
}
