//! Decimal text of floats: the shortest digits that parse to the same number, limited to eight.

use std::fmt::{Display, LowerExp};
use std::ops::Div;
use std::str::FromStr;

/// The number of digits after the point.
const PRECISION: usize = 8;

/// `f32` and `f64`.
pub(super) trait ShownFloat: Copy + PartialOrd + Div<Output = Self> + Display + LowerExp + FromStr {
    /// The bound from which numbers use scientific notation.
    const LARGE: Self;
    /// The bound below which numbers use scientific notation.
    const SMALL: Self;
    /// The ratio of magnitudes above which an array uses scientific notation.
    const SPREAD: Self;
    fn magnitude(self) -> Self;
    fn is_finite(self) -> bool;
    fn is_nan(self) -> bool;
    fn is_zero(self) -> bool;
    fn is_negative(self) -> bool;
    fn wide(self) -> f64;
    /// The bound from which single numbers use scientific notation.
    const SCALAR_LARGE: f64;
}

macro_rules! real {
    ($ty:ty, $large:expr, $scalar_large:expr) => {
        impl ShownFloat for $ty {
            const LARGE: Self = $large;
            const SMALL: Self = 1e-4;
            const SPREAD: Self = 1000.0;
            const SCALAR_LARGE: f64 = $scalar_large;
            fn magnitude(self) -> Self {
                self.abs()
            }
            fn is_finite(self) -> bool {
                self.is_finite()
            }
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            fn is_zero(self) -> bool {
                self == 0.0
            }
            fn is_negative(self) -> bool {
                self < 0.0
            }
            fn wide(self) -> f64 {
                f64::from(self)
            }
        }
    };
}
// As many digits as the type holds, but at most eight.
real!(f32, 1e6, 1e6);
real!(f64, 1e8, 1e16);

/// The format of the floats of an array: digits before and after the point, padding, notation.
pub(super) struct Column {
    scientific: bool,
    /// Whether to write a plus sign.
    plus: bool,
    left: usize,
    right: usize,
    digits: usize,
    exponent: usize,
}

impl Column {
    /// The common format of several numbers.
    pub(super) fn new<T: ShownFloat>(all: Vec<T>, plus: bool) -> Self {
        let finite: Vec<T> = all.iter().copied().filter(|x| x.is_finite()).collect();
        let mut column = Column { scientific: false, plus, left: 0, right: 0, digits: 0, exponent: 0 };
        let sizes = finite.iter().map(|x| x.magnitude()).filter(|x| !x.is_zero());
        let range = sizes.fold(None, |range: Option<(T, T)>, x| match range {
            None => Some((x, x)),
            Some((low, high)) => Some((if x < low { x } else { low }, if x > high { x } else { high })),
        });
        if let Some((low, high)) = range {
            column.scientific = high >= T::LARGE || low < T::SMALL || high / low > T::SPREAD;
        }
        for &x in &finite {
            let (int, fraction) = if column.scientific {
                let (int, fraction, exponent) = scientific(x);
                column.exponent = column.exponent.max(exponent.len() - 1);
                (int, fraction)
            } else {
                positional(x)
            };
            column.left = column.left.max(int.len() + usize::from(plus && !int.starts_with('-')));
            column.digits = column.digits.max(fraction.len());
        }
        column.right = if column.scientific { column.exponent + 2 + column.digits } else { column.digits };
        if finite.len() < all.len() {
            let signed = plus || all.iter().any(|x| !x.is_finite() && x.is_negative());
            let others = column.right + 1;
            column.left =
                column.left.max(3usize.saturating_sub(others)).max((3 + usize::from(signed)).saturating_sub(others));
        }
        column
    }

    /// One number, at the column's width.
    pub(super) fn write<T: ShownFloat>(&self, x: T) -> String {
        if !x.is_finite() {
            let sign = if x.is_negative() {
                "-"
            } else if self.plus {
                "+"
            } else {
                ""
            };
            let text = format!("{sign}{}", if x.is_nan() { "nan" } else { "inf" });
            return format!("{text:>0$}", self.left + self.right + 1);
        }
        let sign = |int: String| if self.plus && !int.starts_with('-') { format!("+{int}") } else { int };
        let (left, digits) = (self.left, self.digits);
        if self.scientific {
            // All have as many digits as the longest; these are digits of the number itself, not zeros
            // appended to its shortest text.
            let (int, fraction, exponent) = split_scientific(&format!("{x:.digits$e}"));
            let (direction, power) = exponent.split_at(1);
            return format!("{:>left$}.{fraction}e{direction}{power:0>1$}", sign(int), self.exponent);
        }
        let (int, fraction) = positional(x);
        format!("{:>left$}.{fraction:<digits$}", sign(int))
    }
}

/// The shortest digits that parse to the same number. Of two that are equally close, the one with an even
/// last digit.
fn shortest<T: ShownFloat>(x: T) -> String {
    let text = format!("{x}");
    let digits = fraction_digits(&text);
    let even = format!("{x:.digits$}");
    if even.parse().is_ok_and(|back: T| back == x) { even } else { text }
}

/// The shortest digits in scientific notation.
fn shortest_scientific<T: ShownFloat>(x: T) -> String {
    let text = format!("{x:e}");
    let digits = fraction_digits(&text);
    let even = format!("{x:.digits$e}");
    if even.parse().is_ok_and(|back: T| back == x) { even } else { text }
}

/// The number of digits after the point.
fn fraction_digits(text: &str) -> usize {
    let mantissa = text.split_once('e').map_or(text, |(mantissa, _)| mantissa);
    mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len())
}

/// Digits before and after the point.
fn positional<T: ShownFloat>(x: T) -> (String, String) {
    let mut text = shortest(x);
    if fraction_digits(&text) > PRECISION {
        text = format!("{x:.PRECISION$}");
    }
    let (int, fraction) = text.split_once('.').unwrap_or((&text, ""));
    (int.to_string(), fraction.trim_end_matches('0').to_string())
}

/// Digits before and after the point, and the exponent, with its sign and at least two digits.
fn scientific<T: ShownFloat>(x: T) -> (String, String, String) {
    let mut text = shortest_scientific(x);
    if fraction_digits(&text) > PRECISION {
        text = format!("{x:.PRECISION$e}");
    }
    let (int, fraction, exponent) = split_scientific(&text);
    (int, fraction.trim_end_matches('0').to_string(), exponent)
}

fn split_scientific(text: &str) -> (String, String, String) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (int, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    (int.to_string(), fraction.to_string(), signed_exponent(exponent))
}

fn signed_exponent(exponent: &str) -> String {
    match exponent.strip_prefix('-') {
        Some(digits) => format!("-{digits:0>2}"),
        None => format!("+{exponent:0>2}"),
    }
}

/// A single number: its shortest digits. With `point`, whole numbers end in `.0`.
pub(super) fn scalar_float<T: ShownFloat>(x: T, point: bool) -> String {
    if !x.is_finite() {
        return (if x.is_nan() {
            "nan"
        } else if x.is_negative() {
            "-inf"
        } else {
            "inf"
        })
        .to_string();
    }
    // For a single number both bounds are compared at `f64`, independent of its own type.
    let size = x.magnitude().wide();
    if !x.is_zero() && !(1e-4..T::SCALAR_LARGE).contains(&size) {
        let text = shortest_scientific(x);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{mantissa}e{}", signed_exponent(exponent));
    }
    let text = shortest(x);
    if point && !text.contains('.') { format!("{text}.0") } else { text }
}
