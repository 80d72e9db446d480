#!/usr/bin/env python3
"""Writes ir/src/math/vector/polynomials.rs: the polynomials and tables that exp, log and the others are computed with.

Run it in this folder, and `cargo fmt` after it; it needs mpmath and NumPy. Each polynomial is the one whose greatest weighted error is least, found by Remez' exchange (E. Remez,
"Sur la détermination des polynômes d'approximation de degré donnée", 1934), with its coefficients rounded one after the other to the
precision that they are used in, the others fitted anew after each.
"""

import copy
import math
import textwrap
from pathlib import Path

import mpmath as mp
import numpy as np

mp.mp.prec = 160
OUT = Path(__file__).resolve().parents[2] / "ir" / "src" / "math" / "vector" / "polynomials.rs"
HEAD = """\
//! Minimax polynomials, the constant coefficient first, and tables. Written by
//! `tests/oracle/polynomials.py`.

// Numbers are written in full, and some are close to well-known constants.
#![allow(clippy::excessive_precision, clippy::approx_constant)]

use super::Table;
use super::reading::again;
"""


class Samples:
    """A function and its weight at the points of a fine grid, denser at the ends."""

    def __init__(self, f, weight, a, b, count):
        a, b = mp.mpf(a), mp.mpf(b)
        # No point of the grid is 0, where quotients of small numbers are not defined.
        angles = [mp.pi * (i + mp.mpf("0.37")) / count for i in range(count)]
        self.x = [(a + b) / 2 - (b - a) / 2 * mp.cos(t) for t in angles]
        self.x = [a] * (a != 0) + self.x + [b]
        self.f = [mp.mpf(f(x)) for x in self.x]
        self.w = [mp.mpf(weight(x)) for x in self.x]


def thin_out(peaks, n, error):
    """Leaves n of the peaks, with signs still alternating and the greatest errors among them."""
    while len(peaks) > n:
        if len(peaks) == n + 1:
            peaks.pop(0 if abs(error[peaks[0]]) < abs(error[peaks[-1]]) else -1)
            continue
        least = min(range(len(peaks)), key=lambda k: abs(error[peaks[k]]))
        if 0 < least < len(peaks) - 1:
            other = min(least - 1, least + 1, key=lambda k: abs(error[peaks[k]]))
            del peaks[max(least, other)], peaks[min(least, other)]
        else:
            peaks.pop(least)


def remez(s, f, powers):
    """Coefficients of the powers that are nearest to the values `f` at the samples, and the error."""
    n = len(powers) + 1
    # Where the weight is next to nothing no point of the first set may be.
    least = max(s.w) / 1000
    live = [i for i in range(len(s.x)) if s.w[i] > least]
    at = [live[round(j * (len(live) - 1) / (n - 1))] for j in range(n)]
    basis = [[x**p for p in powers] for x in s.x]
    for _ in range(40):
        matrix = mp.matrix(n, n)
        right = mp.matrix(n, 1)
        for row, i in enumerate(at):
            for column in range(n - 1):
                matrix[row, column] = basis[i][column]
            matrix[row, n - 1] = (-1) ** row / s.w[i]
            right[row] = f[i]
        solution = mp.lu_solve(matrix, right)
        c = [solution[k] for k in range(n - 1)]
        level = abs(solution[n - 1])
        error = [s.w[i] * (sum(a * b for a, b in zip(c, basis[i])) - f[i]) for i in range(len(s.x))]
        # The greatest error of each run of one sign.
        peaks = []
        for i in range(len(error)):
            if peaks and mp.sign(error[i]) == mp.sign(error[peaks[-1]]):
                if abs(error[i]) > abs(error[peaks[-1]]):
                    peaks[-1] = i
            elif error[i] != 0:
                peaks.append(i)
        thin_out(peaks, n, error)
        worst = max(abs(e) for e in error)
        if len(peaks) < n or peaks == at or worst < level * mp.mpf("1.001"):
            return c, worst
        at = peaks
    return c, worst


def rounded(c, single):
    return mp.mpf(float(np.float32(float(c)))) if single else mp.mpf(float(c))


def fit(f, weight, a, b, powers, single, long_first=False):
    """Rounded coefficients of the powers, and log2 of the greatest weighted error. With
    `long_first` the constant coefficient is in two parts, the lesser first."""
    s = Samples(f, weight, a, b, 60 + 24 * len(powers))
    known = []
    if long_first:
        # The constant coefficient has two parts.
        exact = remez(s, s.f, powers)[0][0]
        high = rounded(exact, single)
        s.f = [v - high for v in s.f]
        known = [rounded(exact - high, single)]
    worst = None
    for k in range(len(known), len(powers) + 1):
        rest = [v - sum(c * x**p for c, p in zip(known, powers)) for v, x in zip(s.f, s.x)]
        if k == len(powers):
            worst = max(abs(w * e) for w, e in zip(s.w, rest))
            break
        # All that is left to fit vanishes at 0: it is divided by the power that does.
        reduced = copy.copy(s)
        reduced.w = [w * abs(x) ** k for w, x in zip(s.w, s.x)]
        c, _ = remez(reduced, [v / x**k for v, x in zip(rest, s.x)], [p - k for p in powers[k:]])
        known.append(rounded(c[0], single))
    if long_first:
        known.insert(1, high)
    return known, float(mp.log(worst, 2))


def even(f, at_zero):
    """A function of the square of a number, with a value where it is not to be computed."""
    return lambda z: at_zero if z == 0 else f(mp.sqrt(z))


def scaled_erfc(x):
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def stirling(x):
    """What Stirling's formula lacks, times x."""
    return (mp.loggamma(x) - (x - mp.mpf("0.5")) * mp.log(x) + x - mp.log(2 * mp.pi) / 2) * x


LN2 = mp.log(2)
HALF = LN2 / 2 * mp.mpf("1.0001")
EIGHTH = (mp.pi / 4 * mp.mpf("1.0001")) ** 2
# At f32, where 8 / pi is rounded to 24 bits, numbers near to the last that are reduced are reduced to up to 1.0268 times as much.
SIXTEENTH = [(mp.pi / 16 * mp.mpf(end)) ** 2 for end in ("1.0001", "1.03")]
LOG_END = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.0001")


def roots_of_two(parts, single):
    """2 to the power of n / parts, for n from 0 on, all times one number just below 1: of those tried the one with which they are nearest to
    floats."""
    bits, tried, chunk = (23, 1 << 12, 1 << 12) if single else (52, 1 << 28, 1 << 22)
    roots = [mp.mpf(2) ** (mp.mpf(n) / parts) for n in range(parts)]
    # The number is 1 - m / 2^(bits + 1). What is left of products after the last place, times 2^64, is computed without what goes beyond.
    def fraction(x):
        return np.uint64(int(mp.nint(x * mp.mpf(2) ** 64)) % 2**64)

    starts = [fraction(root * mp.mpf(2) ** bits) for root in roots]
    steps = [fraction(-root / 2) for root in roots]
    best, found = np.uint64(1 << 63), 0
    for first in range(0, tried, chunk):
        m = np.arange(first, first + chunk, dtype=np.uint64)
        off = np.zeros(len(m), dtype=np.uint64)
        for start, step in list(zip(starts, steps))[1:]:
            at = start + m * step
            off = np.maximum(off, np.minimum(at, ~at))
            m, off = m[off < best], off[off < best]
        if len(m):
            best, found = off.min(), int(m[off.argmin()])
    below = 1 - found * mp.mpf(2) ** -(bits + 1)
    off = float(best) / 2**64
    print(f"{parts} roots: m = {found}, off by {off:.4f} units in the last place")
    return below, [rounded(root * below, single) for root in roots], math.ceil(off * 1e4) / 1e4


PARTS = (8, 8)
ROOTS = [roots_of_two(parts, single) for single, parts in enumerate(PARTS)]
NEAR_0 = [LN2 / 2 / parts * mp.mpf("1.0001") for parts in PARTS]

# Name, what it is, function, weight, interval, and how many coefficients at f64 and at f32; where functions or ends differ, one of each.
TABLE = [
    (
        "EXP_NEAR_0",
        "`s e^r - 1` for |r| up to log 2 / 16, where s is the inverse of the first number of `ROOTS`.",
        [lambda r, below=below: mp.exp(r) / below - 1 for below, _, _ in ROOTS],
        lambda r: mp.exp(-r),
        ([-end for end in NEAR_0], NEAR_0),
        (8, 4),
    ),
    (
        "EXP",
        "`(e^r - 1 - r) / r^2` for |r| up to half of log 2.",
        lambda r: (mp.exp(r) - 1 - r) / r**2,
        lambda r: r**2 / mp.exp(r),
        (-HALF, HALF),
        (10, 5),
    ),
    (
        "EXPM1",
        "`(e^r - 1 - r - r^2 / 2) / r^3` for |r| up to half of log 2.",
        lambda r: (mp.exp(r) - 1 - r - r**2 / 2) / r**3,
        lambda r: r**3 / mp.expm1(r),
        (-HALF, HALF),
        (10, 5),
    ),
    (
        "EXPM1_NEAR_0",
        "`(e^r - 1 - r - r^2 / 2) / r^3` for |r| up to log 2 / 8.",
        lambda r: (mp.exp(r) - 1 - r - r**2 / 2) / r**3,
        lambda r: r**3 / mp.expm1(r),
        (-HALF / 4, HALF / 4),
        (7, 3),
    ),
    (
        "LOG",
        "`(2 artanh(s) / s - 2) / s^2` of `s^2`, for |s| up to `(sqrt 2 - 1) / (sqrt 2 + 1)`.",
        even(lambda s: (2 * mp.atanh(s) / s - 2) / s**2, mp.mpf(2) / 3),
        lambda z: z,
        (0, LOG_END),
        (7, 4),
    ),
    (
        "LONG_LOG",
        "`((2 artanh(s) / s - 2) / s^2 - 2 / 3) / s^2` of `s^2`, for the same |s|.",
        even(lambda s: ((2 * mp.atanh(s) / s - 2) / s**2 - mp.mpf(2) / 3) / s**2, mp.mpf(2) / 5),
        lambda z: z**2,
        (0, LOG_END),
        (8, 3),
    ),
    (
        "LOG_NEAR_1",
        "`(log(1 + f) - f) / f^2` for f from -1/32 to 1/16.",
        lambda f: (mp.log1p(f) - f) / f**2,
        lambda f: abs(f**2 / mp.log1p(f)),
        (-mp.mpf(1) / 32 * mp.mpf("1.0001"), mp.mpf(1) / 16 * mp.mpf("1.0001")),
        (9, 4),
    ),
    (
        "SIN",
        "`(sin(r) / r - 1) / r^2` of `r^2`, for |r| up to pi / 4.",
        even(lambda r: (mp.sin(r) / r - 1) / r**2, -mp.mpf(1) / 6),
        lambda z: z,
        (0, EIGHTH),
        (6, 3),
    ),
    (
        "COS",
        "`(cos(r) - 1 + r^2 / 2) / r^4` of `r^2`, for |r| up to pi / 4.",
        even(lambda r: (mp.cos(r) - 1 + r**2 / 2) / r**4, mp.mpf(1) / 24),
        lambda z: z**2,
        (0, EIGHTH),
        (6, 3),
    ),
    (
        "SIN_NEAR_0",
        "`(sin(r) / r - 1) / r^2` of `r^2`, for |r| up to pi / 16, at `f32` to 1.03 times that.",
        even(lambda r: (mp.sin(r) / r - 1) / r**2, -mp.mpf(1) / 6),
        lambda z: z,
        (0, SIXTEENTH),
        (4, 2),
    ),
    (
        "COS_NEAR_0",
        "`(cos(r) - 1) / r^2` of `r^2`, for the same |r|.",
        even(lambda r: (mp.cos(r) - 1) / r**2, -mp.mpf(1) / 2),
        # As far as it is of sin(pi / 8 - r), the least result, to that of sin(pi / 8).
        lambda z: z * mp.sin(mp.pi / 8) / mp.sin(mp.pi / 8 - mp.sqrt(z)),
        (0, SIXTEENTH),
        (5, 2),
    ),
    (
        "ATAN",
        "`(atan(t) / t - 1) / t^2` of `t^2`, for |t| up to tan (pi / 8).",
        even(lambda t: (mp.atan(t) / t - 1) / t**2, -mp.mpf(1) / 3),
        lambda z: z,
        (0, mp.tan(mp.pi / 8) ** 2 * mp.mpf("1.0001")),
        (12, 5),
    ),
    (
        "ASIN",
        "`(asin(s) / s - 1) / s^2` of `s^2`, for |s| up to 1/2.",
        even(lambda s: (mp.asin(s) / s - 1) / s**2, mp.mpf(1) / 6),
        lambda z: z,
        (0, mp.mpf("0.2501")),
        (12, 5),
    ),
    (
        "CBRT",
        "`m^(-1/3)`, for m from 1/2 to 4.",
        lambda m: m ** (-mp.mpf(1) / 3),
        lambda m: m ** (mp.mpf(1) / 3),
        (mp.mpf("0.5"), 4),
        (5, 6),
    ),
    (
        "ERF",
        "`(erf(x) / x - 2 / sqrt(pi)) / x^2` of `x^2`, for |x| up to 0.65.",
        even(lambda x: (mp.erf(x) / x - 2 / mp.sqrt(mp.pi)) / x**2, -2 / (3 * mp.sqrt(mp.pi))),
        lambda z: z,
        (0, mp.mpf("0.4226")),
        (9, 5),
    ),
    (
        "ERFC",
        "`(1 + 2 x) e^(x^2) erfc(x)` of `t = (x - 3) / (x + 3)`, for x from 0.65 on. The "
        "constant coefficient has two parts, the smaller first.",
        lambda t: scaled_erfc(3 * (1 + t) / (1 - t)),
        lambda t: 1,
        (mp.mpf("-2.36") / mp.mpf("3.64"), (mp.mpf("24.6") / mp.mpf("30.6"), mp.mpf("7.6") / mp.mpf("13.6"))),
        (22, 10),
    ),
    (
        "GAMMA",
        "`(log(gamma(2 + e)) / e - (1 - C)) / e`, where C is Euler's constant, for |e| up to 1/2.",
        lambda e: (mp.loggamma(2 + e) / e - (1 - mp.euler)) / e,
        lambda e: e**2 / abs(mp.loggamma(2 + e)),
        (mp.mpf("-0.5001"), mp.mpf("0.5001")),
        (18, 8),
    ),
    (
        "STIRLING",
        "`x (log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2)` of `1 / x^2`, for x from 2.5 on.",
        even(lambda t: stirling(1 / t), mp.mpf(1) / 12),
        lambda z: mp.sqrt(z),
        (0, mp.mpf("0.1601")),
        (13, 4),
    ),
    (
        "SIN_PI",
        "`(sin(pi d) / (pi d) - 1) / d^2` of `d^2`, for |d| up to 1/2.",
        even(lambda d: (mp.sin(mp.pi * d) / (mp.pi * d) - 1) / d**2, -(mp.pi**2) / 6),
        lambda z: z * mp.pi * mp.sqrt(z) / mp.sin(mp.pi * mp.sqrt(z)),
        (0, mp.mpf("0.2501")),
        (8, 5),
    ),
]


def log_table(single):
    """For the sixteen parts of the numbers from 3/4 to 3/2, in the order of the first four bits of their mantissas, a number near to
    the inverse, and minus its logarithm. Beside 1 these are 1 and 0. Elsewhere the logarithm is chosen first, as a number of few bits (at f64 those of
    the upper half of a float, which is half the work to look up), and among those near to where it should be one whose exponential happens to be near to a float (S. Gal, B. Bachelis, "An
    accurate elementary mathematical library for the IEEE floating point standard", ACM TOMS 17(1), 1991)."""
    enough = mp.mpf("-32.5") if single else -65
    inverses, logs = [], []
    for i in range(16):
        low, high = [(16 + i + end) / mp.mpf(16 if i < 8 else 32) for end in (0, 1)]
        inverse, log = mp.mpf(1), mp.mpf(0)
        if low != 1 and high != 1:
            # Above 1 + 1/16 results are smallest at the low end, where f is to be small.
            middle = mp.mpf("1.0815") if i == 1 else (low + high) / 2
            unit = mp.mpf(2) ** (-17 if single else math.floor(mp.log(abs(mp.log(middle)), 2)) - 20)
            near = int(mp.nint(mp.log(middle) / unit))
            steps = sorted(range(-40000, 40001), key=abs)
            found = ((log, mp.exp(-log)) for log in ((near + step) * unit for step in steps))
            off = lambda pair: abs(rounded(pair[1], single) / pair[1] - 1)
            log, inverse = next(pair for pair in found if off(pair) < mp.mpf(2) ** enough)
            inverse = rounded(inverse, single)
        assert -mp.mpf(1) / 32 <= low * inverse - 1 and high * inverse - 1 <= mp.mpf(1) / 16
        inverses.append(inverse)
        logs.append(log)
    return inverses, logs


def eighths():
    """Sines of eighths of pi below pi, and what they are more than that, and the same of cosines; at f64 and at f32. The sine of a sum takes the cosine
    times r, which goes from -pi / 16 to pi / 16. What the cosine is more than its float is in no table; but its product with an r of 0.09, with
    the sign that makes results less, is added to what the sine is more. Units of lesser results are lesser: with it errors are about the same, in units, at
    both ends. For the cosine of a sum it is the other way round."""
    sines = [mp.mpf(0) if k == 0 else mp.sin(mp.pi * k / 8) for k in range(8)]
    cosines = [mp.mpf(0) if k == 4 else mp.cos(mp.pi * k / 8) for k in range(8)]
    tables = [], [], [], []
    for single in (False, True):
        near = [[rounded(x, single) for x in of] for of in (sines, cosines)]
        lost = [[x - a for x, a in zip(of, to)] for of, to in zip((sines, cosines), near)]
        # Of cosines it is -sin(kc) r.
        toward = [-mp.mpf("0.09") * mp.sign(s * c) for s, c in zip(sines, cosines)]
        rests = [s + c * r for s, c, r in zip(*lost, toward)], [c + s * r for s, c, r in zip(*lost, toward)]
        for table, of in zip(tables, (near[0], rests[0], near[1], rests[1])):
            table.append([rounded(x, single) for x in of])
    return tables


def quarters():
    """2 to the power of n quarters, without the exponent that n says, which is added to the bits; and by what of them the power is more, the upper halves at f64.
    Both at f64 and at f32. The latter is times `e^r`, and added to something next to it: it is what it is for an r of -0.03, where results are small beside the power."""
    powers, rests = [], []
    for single, (bits, kind, word) in enumerate(((52, np.float64, np.uint64), (23, np.float32, np.uint32))):
        exact = [mp.mpf(2) ** (mp.mpf(n) / 4) for n in range(4)]
        near = [rounded(x, single) for x in exact]
        without = [kind(x).view(word) - word(n << (bits - 2)) for n, x in enumerate(near)]
        powers.append([float(x.view(kind)) for x in without])
        rest = [float((x - a) / x * mp.exp(mp.mpf("-0.03"))) for x, a in zip(exact, near)]
        rests.append([float(np.float32(x)) if single else upper_half(x) for x in rest])
    return powers, rests


def upper_half(x):
    """The nearest float whose lower half is 0."""
    bits = (int(np.float64(x).view(np.uint64)) + (1 << 31)) >> 32 << 32
    return float(np.uint64(bits).view(np.float64))


def tables():
    """The lines of tables, of which each has 16 numbers at f64 and at f32, or fewer again and again."""
    pairs = [*zip(log_table(False), log_table(True)), [table for _, table, _ in ROOTS], *quarters(), *eighths()]
    docs = {
        "LOG_INVERSES": "Approximate inverses of the numbers from 3/4 to 3/2, by the first four bits of their "
        "mantissas.",
        "LOG_TABLE": "Minus the logarithms of `LOG_INVERSES`. At `f64` floats whose lower halves are 0, off by less "
        "than 2^-65; at `f32` multiples of 2^-17, off by less than 2^-32.5.",
        "ROOTS": "2 to the power of n eighths, each times the first number. With this factor all are within "
        f"{ROOTS[0][2]} (`f64`) and {ROOTS[1][2]} (`f32`) units in the last place of floats.",
        "QUARTERS": "2 to the power of n quarters, with n quarters of an exponent subtracted from the bits.",
        "QUARTERS_REST": "The relative rounding errors of the powers in `QUARTERS`, approximately: see `quarters` in the "
        "script. At `f64` floats whose lower halves are 0.",
        "EIGHTHS_SIN": "Sines of n eighths of pi, below pi.",
        "EIGHTHS_SIN_REST": "The rounding errors of `EIGHTHS_SIN`, plus or minus 0.09 times those of `EIGHTHS_COS`: see "
        "`eighths` in the script.",
        "EIGHTHS_COS": "Cosines of n eighths of pi, below pi.",
        "EIGHTHS_COS_REST": "The rounding errors of `EIGHTHS_COS`, plus or minus 0.09 times those of `EIGHTHS_SIN`: see "
        "`eighths` in the script.",
    }
    lines = []
    for (name, doc), (double, single) in zip(docs.items(), pairs):
        lines += ["", *comment(doc), f"pub(super) static {name}: Table = Table {{", f'    name: "{name.lower()}",']
        for precision, numbers in (("double", double), ("single", single)):
            begin, end = ("[", "],") if len(numbers) == 16 else ("again([", "]),")
            lines += [f"    {precision}: {begin}"] + [f"        {float(x)!r}," for x in numbers] + [f"    {end}"]
        lines.append("};")
    return lines


def comment(text):
    """The lines of a comment, which end before column 110."""
    return textwrap.wrap(text, 108, initial_indent="/// ", subsequent_indent="/// ", break_on_hyphens=False)


def main():
    lines = [HEAD.rstrip()]
    for name, doc, f, weight, (a, b), counts in TABLE:
        for single, count in zip((False, True), counts):
            exact, low, high = [x[single] if isinstance(x, (list, tuple)) else x for x in (f, a, b)]
            c, error = fit(exact, weight, low, high, list(range(count)), single, name == "ERFC")
            # Toward 0, so that it is less.
            error = math.ceil(error * 10) / 10
            width, kind = ("SINGLE", "f32") if single else ("DOUBLE", "f64")
            print(f"{name} {kind}: {count} coefficients, error 2^{error:.1f}")
            lines += ["", *comment(f"{doc} At `{kind}`, off by less than 2^{error:.1f}.")]
            lines.append(f"pub(super) const {name}_{width}: [f64; {len(c)}] = [")
            lines += [f"    {float(x)!r}," for x in c] + ["];"]
    lines += tables()
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
