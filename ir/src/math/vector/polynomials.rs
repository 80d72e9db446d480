//! Polynomials of least error, the constant coefficient first. Written by `tests/oracle/polynomials.py`.

// Numbers are written in full, and some are near to well-known constants.
#![allow(clippy::excessive_precision, clippy::approx_constant)]

/// `(e^r - 1 - r) / r^2` for |r| up to half of log 2. At `f64`, off by less than 2^-57.9.
pub(super) const EXP_DOUBLE: [f64; 10] = [
    0.5000000000000011,
    0.16666666666666438,
    0.0416666666665258,
    0.008333333333473771,
    0.0013888888944854868,
    0.00019841269560222675,
    2.480149176369885e-05,
    2.755753099894464e-06,
    2.763074316514386e-07,
    2.5019791240690127e-08,
];

/// `(e^r - 1 - r) / r^2` for |r| up to half of log 2. At `f32`, off by less than 2^-28.2.
pub(super) const EXP_SINGLE: [f64; 5] =
    [0.4999999403953552, 0.16666516661643982, 0.041668105870485306, 0.00836915709078312, 0.0013837316073477268];

/// `(2 artanh(s) / s - 2) / s^2` of `s^2`, for |s| up to `(sqrt 2 - 1) / (sqrt 2 + 1)`. At `f64`, off by less than 2^-58.5.
pub(super) const LOG_DOUBLE: [f64; 7] = [
    0.6666666666666734,
    0.39999999999416547,
    0.28571428742063865,
    0.2222219860018638,
    0.18183563158441018,
    0.15314075733194382,
    0.14795736043936744,
];

/// `(2 artanh(s) / s - 2) / s^2` of `s^2`, for |s| up to `(sqrt 2 - 1) / (sqrt 2 + 1)`. At `f32`, off by less than 2^-34.2.
pub(super) const LOG_SINGLE: [f64; 4] =
    [0.6666666269302368, 0.40000972151756287, 0.2849879264831543, 0.24278810620307922];
