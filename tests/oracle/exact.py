"""Elementwise functions that NumPy has not, or not exactly: from their definition, rounded once."""

from fractions import Fraction

import mpmath
import numpy as np
import scipy.special


def fma(a, b, c):
    return np.array([one_rounding(*x) for x in zip(a, b, c)], a.dtype)


def one_rounding(a, b, c):
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0:
        return a * b + c
    return round_to(exact, a.dtype)


def round_to(exact, dtype):
    """A fraction rounded to nearest, once: to 53 bits and odd first, which the second rounding can't spoil."""
    try:
        near = float(exact)
    except OverflowError:
        near = np.inf if exact > 0 else -np.inf
    if dtype == np.float32 and np.isfinite(near) and Fraction(near) != exact:
        if not int(np.float64(near).view("u8")) & 1:
            near = np.nextafter(near, np.inf if exact > near else -np.inf)
    return dtype.type(near)


def saturate(column, to):
    """Floats as integers: toward zero. Beyond the range, where NumPy's answer is undefined, the nearest integer; of NaN 0."""
    info = np.iinfo(to)
    whole = [0 if np.isnan(x) else int(x) if np.isfinite(x) else int(np.sign(x)) << 64 for x in column.real]
    for x, w in zip(column, whole):
        assert not info.min <= w <= info.max or np.isnan(x) or abs(x) > 2**62 or x.astype(to) == w
    return np.array([min(max(w, info.min), info.max) for w in whole], to)


def squaring(x, n):
    """The product that the op's documentation states."""
    power, base, rest = None, x, abs(n)
    while rest:
        if rest & 1:
            power = base if power is None else power * base
        rest >>= 1
        if rest:
            base = base * base
    power = np.ones_like(x) if power is None else power
    return np.reciprocal(power) if n < 0 else power


REAL = {np.power: mpmath.power, np.float_power: mpmath.power, np.arctan2: mpmath.atan2, np.hypot: mpmath.hypot}
REAL |= {np.exp: mpmath.exp, np.exp2: lambda x: mpmath.power(2, x), np.expm1: mpmath.expm1, np.cbrt: lambda x: cube_root(x)}
REAL |= {np.log: mpmath.log, np.log2: lambda x: mpmath.log(x, 2), np.log10: mpmath.log10, np.log1p: mpmath.log1p}
REAL |= {np.sin: mpmath.sin, np.cos: mpmath.cos, np.tan: mpmath.tan, np.arcsin: mpmath.asin, np.arccos: mpmath.acos}
REAL |= {np.arctan: mpmath.atan, np.sinh: mpmath.sinh, np.cosh: mpmath.cosh, np.tanh: mpmath.tanh}
REAL |= {np.arcsinh: mpmath.asinh, np.arccosh: mpmath.acosh, np.arctanh: mpmath.atanh}


def cube_root(x):
    return mpmath.cbrt(x) if x > 0 else -mpmath.cbrt(-x)


def fraction(x):
    """An mpmath number, exactly."""
    sign, mantissa, exponent, _ = mpmath.mpf(x)._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def nearest(function, columns, wide):
    """mpmath's values, rounded once, where `wide`, the long double loop's, and the operands are finite and not 0; those elsewhere."""
    mpmath.mp.prec = 300
    out = wide.copy()
    for i, case in enumerate(zip(*columns)):
        if np.isfinite(case).all() and np.all(case) and np.isfinite(wide[i]) and wide[i] != 0:
            out[i] = round_to(fraction(function(*[mpmath.mpf(float(x)) for x in case])), wide.dtype)
    return out


def special_function(op, values):
    """By mpmath, rounded once; checked against scipy."""
    mpmath.mp.prec = 200
    function = dict(erf=mpmath.erf, erfc=mpmath.erfc, lgamma=lgamma)[op]
    plain = dict(erf=scipy.special.erf, erfc=scipy.special.erfc, lgamma=scipy.special.gammaln)[op](values)
    out = np.empty_like(values)
    for i, x in enumerate(values):
        pole = op == "lgamma" and x <= 0 and x == np.floor(x)
        far = op != "lgamma" and abs(x) > 30
        if np.isfinite(x) and not pole and not far and function(mpmath.mpf(float(x))) != 0:
            m, e = mpmath.frexp(function(mpmath.mpf(float(x))))
            exact = Fraction(int(mpmath.ldexp(m, 220))) * Fraction(2) ** (int(e) - 220)
            out[i] = round_to(exact, values.dtype)
            near = out[i] == plain[i] or abs(out[i] - plain[i]) <= 1e-6 * abs(out[i]) + (1e-6 if op == "lgamma" else 2e-45)
            assert near or abs(x) < 1e-300, (op, x, out[i], plain[i])
        else:
            out[i] = plain[i]
    return out


def lgamma(x):
    """The real logarithm of the magnitude of the gamma function."""
    return mpmath.re(mpmath.loggamma(x)) if x > 0 else mpmath.log(abs(mpmath.gamma(x)))
