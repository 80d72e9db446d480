//! Error-free transformations: numbers as sums of two, the second less than a unit in the last place of the
//! first.

use super::{Real, polynomial};

/// The exact sum of two numbers (D. Knuth, "The Art of Computer Programming", volume 2, 4.2.2).
pub(super) fn sum<F: Real>(a: F, b: F) -> (F, F) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// The exact sum of two numbers, the second of smaller magnitude unless the first is 0 (T. Dekker, "A
/// floating-point technique for extending the available precision", 1971).
pub(super) fn quick_sum<F: Real>(large: F, small: F) -> (F, F) {
    let sum = large + small;
    (sum, (large - sum) + small)
}

/// The quotient of two such sums, nearly rounded, and its error.
pub(super) fn quotient_parts<F: Real>(above: (F, F), below: (F, F)) -> (F, F) {
    let inverse = above.0.of(1.0) / below.0;
    let near = above.0 * inverse;
    let rest = (-near).fma(below.0, above.0) + (-near).fma(below.1, above.1);
    (near, rest * inverse)
}

/// The quotient of two such sums, rounded.
pub(super) fn quotient<F: Real>(above: (F, F), below: (F, F)) -> F {
    let inverse = above.0.of(1.0) / below.0;
    let near = above.0 * inverse;
    let rest = (-near).fma(below.0, above.0) + (-near).fma(below.1, above.1);
    rest.fma(inverse, near)
}

/// The square root of such a sum, rounded, and its error.
pub(super) fn root_parts<F: Real>(x: (F, F)) -> (F, F) {
    let root = x.0.sqrt();
    let twice = root.of(1.0).or(root.equal(root.of(0.0)), root + root);
    (root, ((-root).fma(root, x.0) + x.1) / twice)
}

/// `x y P(y)` as a sum of two numbers, if the terms after the first are small beside it.
pub(super) fn series<F: Real>(x: F, y: F, coefficients: &[f64]) -> (F, F) {
    let Some((&first, others)) = coefficients.split_first() else { return (x.of(0.0), x.of(0.0)) };
    let (first, product) = (x.of(first), x * y);
    let lost = x.fma(y, -product);
    let term = product * first;
    let rest = lost.fma(first, product.fma(first, -term));
    (term, (product * y).fma(polynomial(y, others), rest))
}
