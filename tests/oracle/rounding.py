#!/usr/bin/env python3
"""Writes rounding.txt: operands whose results come nearest to the middle of two numbers, where rounding goes wrong most easily.

Run it in this folder; it needs numpy, scipy and mpmath. The format is that of elementwise.txt. Of thousands of random operands for
each function and dtype the worst are kept.
"""

import mpmath
import numpy as np

from exact import REAL, fraction, lgamma, round_to

RNG = np.random.default_rng(754)
TRIED, KEPT = 6000, 12
FUNCTIONS = {
    "exp": (np.exp, [(-745, 709), (-40, 40), (-1, 1), (-744, -708)]),
    "exp2": (np.exp2, [(-1074, 1023), (-30, 30), (-1, 1)]),
    "expm1": (np.expm1, [(-40, 709), (-1, 1), (-1e-6, 1e-6)]),
    "log": (np.log, [(0, 4), (0.99, 1.01), (0, 1e300)]),
    "log2": (np.log2, [(0, 4), (0.99, 1.01), (0, 1e300)]),
    "log10": (np.log10, [(0, 4), (0.99, 1.01), (0, 1e300)]),
    "log1p": (np.log1p, [(-1, 3), (-1e-5, 1e-5), (0, 1e300)]),
    "cbrt": (np.cbrt, [(-9, 9), (-1e300, 1e300)]),
    "sin": (np.sin, [(-4, 4), (-1000, 1000), (-1e15, 1e15)]),
    "cos": (np.cos, [(-4, 4), (-1000, 1000), (-1e15, 1e15)]),
    "tan": (np.tan, [(-4, 4), (-1000, 1000), (-1e15, 1e15)]),
    "asin": (np.arcsin, [(-1, 1), (-1e-3, 1e-3), (0.99, 1)]),
    "acos": (np.arccos, [(-1, 1), (-1e-3, 1e-3), (0.99, 1)]),
    "atan": (np.arctan, [(-9, 9), (-1e-3, 1e-3), (-1e5, 1e5)]),
    "sinh": (np.sinh, [(-710, 710), (-4, 4), (-1e-3, 1e-3)]),
    "cosh": (np.cosh, [(-710, 710), (-4, 4), (-1e-3, 1e-3)]),
    "tanh": (np.tanh, [(-20, 20), (-1, 1), (-1e-3, 1e-3)]),
    "asinh": (np.arcsinh, [(-20, 20), (-1, 1), (-1e200, 1e200)]),
    "acosh": (np.arccosh, [(1, 20), (1, 1.01), (1, 1e200)]),
    "atanh": (np.arctanh, [(-1, 1), (-1e-3, 1e-3), (0.999, 1)]),
    "erf": (mpmath.erf, [(-6, 6), (-1, 1), (-1e-3, 1e-3)]),
    "erfc": (mpmath.erfc, [(-6, 27), (-1, 1), (-6, 6), (26, 27.2)]),
    "lgamma": (lgamma, [(0, 30), (2.5, 1000)]),
    "logistic": (lambda x: 1 / (1 + mpmath.exp(-x)), [(-744, 37), (-40, 37), (-1, 1)]),
    "atan2": (np.arctan2, [(-4, 4), (-1e-5, 1e-5)]),
    "hypot": (np.hypot, [(-4, 4), (-1e-160, 1e-160), (-1e300, 1e300)]),
    "power": (np.power, [(0, 4), (0, 100), (0.999, 1.001)]),
}


def distance_from_middle(exact, near):
    """Of an mpmath number from the middle of two floats, in units in the last place; 1 of special ones."""
    unit = mpmath.mpf(float(np.spacing(np.abs(near))))
    return float(abs(0.5 - abs(exact - mpmath.mpf(float(near))) / unit)) if np.isfinite(near) and near != 0 else 1.0


def operands(name, dtype, low, high, count):
    info = np.finfo(dtype)
    first = RNG.uniform(low, high, count).astype(dtype)
    if name == "power":
        # Exponents for results of every magnitude.
        return [first, (RNG.uniform(-1, 1, count) * info.maxexp / np.log2(first)).astype(dtype)]
    if name in ("atan2", "hypot"):
        return [first, (RNG.uniform(low, high, count) * np.exp2(RNG.integers(-20, 1, count))).astype(dtype)]
    return [first]


def hard(name, dtype):
    """The worst operands, with results."""
    function, ranges = FUNCTIONS[name]
    function = REAL.get(function, function)
    for low, high in ranges:
        with np.errstate(all="ignore"):
            columns = operands(name, dtype, low, high, TRIED // len(ranges))
        found = []
        for case in zip(*columns):
            if np.isfinite(case).all() and case[0] not in (0, 1, -1):
                exact = function(*[mpmath.mpf(float(x)) for x in case])
                near = round_to(fraction(exact), dtype)
                found.append((distance_from_middle(exact, near), *case, near))
        found.sort(key=lambda row: row[0])
        yield from (row[1:] for row in found[: KEPT // len(ranges)])


def hexes(x):
    return "%x" % int(np.asarray(x).reshape(1).view("u%d" % x.dtype.itemsize)[0])


if __name__ == "__main__":
    mpmath.mp.prec = 250
    lines = []
    for name in FUNCTIONS:
        for dtype, short in ((np.dtype("f"), "f32"), (np.dtype("d"), "f64")):
            rows = list(hard(name, dtype))
            lines.append(f"{name} {' '.join([short] * (len(rows[0]) - 1))} -> {short}")
            lines += [" ".join(hexes(x) for x in row) for row in rows]
    with open("rounding.txt", "w") as out:
        out.write("\n".join(lines) + "\n")
