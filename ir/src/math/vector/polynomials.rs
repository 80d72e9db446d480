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

/// `(e^r - 1 - r - r^2 / 2) / r^3` for |r| up to half of log 2. At `f64`, off by less than 2^-58.6.
pub(super) const EXPM1_DOUBLE: [f64; 10] = [
    0.16666666666666677,
    0.04166666666666596,
    0.008333333333320623,
    0.0013888888888736503,
    0.00019841269891301855,
    2.480158858944492e-05,
    2.755723668105869e-06,
    2.755550770381633e-07,
    2.5112312253823528e-08,
    2.163078151347204e-09,
];

/// `(e^r - 1 - r - r^2 / 2) / r^3` for |r| up to half of log 2. At `f32`, off by less than 2^-31.0.
pub(super) const EXPM1_SINGLE: [f64; 5] =
    [0.1666666567325592, 0.04166646674275398, 0.008333643898367882, 0.0013935035094618797, 0.0001966237323358655];

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

/// `(sin(r) / r - 1) / r^2` of `r^2`, for |r| up to pi / 4. At `f64`, off by less than 2^-58.0.
pub(super) const SIN_DOUBLE: [f64; 6] = [
    -0.16666666666666632,
    0.008333333333322486,
    -0.00019841269829853255,
    2.755731370496742e-06,
    -2.5050759865250948e-08,
    1.589688462886588e-10,
];

/// `(sin(r) / r - 1) / r^2` of `r^2`, for |r| up to pi / 4. At `f32`, off by less than 2^-28.0.
pub(super) const SIN_SINGLE: [f64; 3] = [-0.16666655242443085, 0.008332191035151482, -0.00019518606131896377];

/// `(cos(r) - 1 + r^2 / 2) / r^4` of `r^2`, for |r| up to pi / 4. At `f64`, off by less than 2^-64.2.
pub(super) const COS_DOUBLE: [f64; 6] = [
    0.0416666666666666,
    -0.001388888888887447,
    2.4801587289666827e-05,
    -2.7557314399212344e-07,
    2.087572898263059e-09,
    -1.135991651047645e-11,
];

/// `(cos(r) - 1 + r^2 / 2) / r^4` of `r^2`, for |r| up to pi / 4. At `f32`, off by less than 2^-33.1.
pub(super) const COS_SINGLE: [f64; 3] = [0.04166664555668831, -0.00138873013202101, 2.443066841806285e-05];
