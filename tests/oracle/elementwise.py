#!/usr/bin/env python3
"""Writes the tables of what NumPy 2.4 answers for the elementwise ops.

Run it in this folder; it needs numpy, scipy and mpmath. The tables are elementwise.txt (numbers), loops.txt (result dtypes by
operand dtypes), literals.txt (the same with literals), promotion.txt and ufuncs.txt. A block of elementwise.txt is a header

    op operand-dtypes -> result-dtypes [attribute=value]

and a line a case: the operands' bits and the results' bits in hexadecimal, complex numbers as `re:im`.

Where NumPy's own loop is not correctly rounded (exp, sin, ...) the expected value of real operands is mpmath's, rounded once; of
complex ones, and for logaddexp and logaddexp2, that of the long double loop, rounded once: the double loops differ between
machines by some units in the last place. The complex log1p and expm1, where NumPy's formulas cancel, are mpmath's too. Loops at
half precision, which Rewright has not, are replaced by those at single precision.
"""

import os

# One answer on every machine: no loops that fuse a product and a sum.
os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", "X86_V3 X86_V4 AVX512_ICL AVX512_SPR")

import itertools
import sys
import warnings

import mpmath
import numpy as np
import scipy.special

from exact import REAL, fma, nearest, saturate, special_function, squaring

warnings.simplefilter("ignore")
assert np.finfo(np.longdouble).nmant == 63, "this script needs 80-bit long doubles"
assert np.__version__.startswith("2.4"), np.__version__

NAMES = "bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 c64 c128".split()
DTYPES = {n: np.dtype(c) for n, c in zip(NAMES, "?bhilBHILfdFD")}
NAME = {d: n for n, d in DTYPES.items()}
BOOL, INTS, FLOATS, COMPLEX = NAMES[:1], NAMES[1:9], NAMES[9:11], NAMES[11:]
REALS, ALL = INTS + FLOATS, NAMES
RNG = np.random.default_rng(20240923)
# Where an op's name is not the ufunc's.
RENAMED = """
sub=subtract mul=multiply div=divide floordiv=floor_divide mod=remainder neg=negative pos=positive abs=absolute eq=equal
ne=not_equal lt=less le=less_equal gt=greater ge=greater_equal and=logical_and or=logical_or xor=logical_xor not=logical_not
bitand=bitwise_and bitor=bitwise_or bitxor=bitwise_xor bit_count=bitwise_count conj=conjugate atan2=arctan2 asin=arcsin acos=arccos
atan=arctan asinh=arcsinh acosh=arccosh atanh=arctanh
"""
RENAMED = dict(word.split("=") for word in RENAMED.split())
WIDE = {"f": np.longdouble, "d": np.longdouble, "F": np.clongdouble, "D": np.clongdouble}


def hexes(x):
    """The bits of one element."""
    x = np.asarray(x)
    if x.dtype.kind == "c":
        return hexes(x.real) + ":" + hexes(x.imag)
    if x.dtype.kind == "f" and np.isnan(x):
        return "nan"
    return "%x" % int(x.reshape(1).view("u%d" % x.dtype.itemsize)[0])


def specials(name, small=False):
    """Values that tell corner cases apart; fewer of them for operands that are paired."""
    dtype = DTYPES[name]
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        some = [0, 1, 2, 3, 7, 10, info.max, info.max - 1, info.bits - 1, info.bits]
        some += [-1, -2, -3, -7, info.min, info.min + 1] if dtype.kind == "i" else [info.max // 2 + 1]
        return [dtype.type(x) for x in some]
    if dtype.kind == "f":
        info = np.finfo(dtype)
        some = [0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 2.5, 3.0, info.max, info.smallest_subnormal, np.inf, -np.inf, np.nan]
        if not small:
            some += [-0.5, 1.5, -2.5, 3.5, 2.0, -2.0, 10.0, 1e10, -1e-10, 1e-5, -info.max, info.tiny, -info.tiny]
            some += [info.eps, 1 + info.eps, 1 - info.epsneg, 0.1, -0.7, 0.25, 1e22, 1e-30, -3e5, 88.0, -104.0, 709.5, -745.2]
            some += [np.pi / 4, np.pi / 2, np.pi, 1e4, -11.0, 3.9, -3.1, 5.5, 27.5, 170.6, 0.46, 1.46, info.max / 2, 1 / info.max]
        return [dtype.type(x) for x in some]
    part = "f32" if name == "c64" else "f64"
    if small:
        some = [0, 1, -1, 1j, 2 - 3j, complex(0.5, -0.0), complex(-0.0, -2), complex(1, np.inf), complex(np.nan, 0)]
        some += [complex(-np.inf, 1), complex(np.inf, np.nan), complex(1e30, 1e-30)]
        return [dtype.type(z) for z in some]
    parts = [0.0, -0.0, 1.0, -1.0, 0.5, -3.0, 1e-8, 30.0, np.inf, -np.inf, np.nan]
    return [dtype.type(complex(a, b)) for a in parts for b in parts]


def randoms(name, count):
    """Random values: integers of every magnitude, floats mostly of moderate ones."""
    dtype = DTYPES[name]
    if dtype.kind == "b":
        return [bool(x) for x in RNG.integers(0, 2, min(count, 2))]
    if dtype.kind in "iu":
        bits = dtype.itemsize * 8
        raw = [int(x) >> int(s) for x, s in zip(RNG.integers(0, 2**63, count), RNG.integers(0, 63, count))]
        return [np.array([x % 2**bits], "u8").astype(dtype)[0] for x in raw]
    if dtype.kind == "f":
        some = RNG.normal(size=count) * np.exp2(RNG.integers(-6, 7, count))
        return [dtype.type(x) for x in some]
    part = DTYPES["f32" if name == "c64" else "f64"].type
    return [dtype.type(complex(part(a), part(b))) for a, b in zip(randoms("f64", count), randoms("f64", count))]


def array(values, name):
    return np.array(values, DTYPES[name])


class Table:
    """Collects the text."""

    def __init__(self):
        self.lines = []

    def block(self, op, columns, results, attr=""):
        """Adds cases: columns of operands, columns of results."""
        ins = " ".join(NAME[c.dtype] for c in columns)
        outs = " ".join(NAME[r.dtype] for r in results)
        self.lines.append(f"{op} {ins} -> {outs}{' ' if attr else ''}{attr}")
        seen = set()
        for case in zip(*columns, *results):
            line = " ".join(hexes(x) for x in case)
            if line not in seen:
                seen.add(line)
                self.lines.append(line)


TABLE = Table()
USED = {}


def ufunc_of(op):
    """NumPy's ufunc that an op is."""
    USED[op] = np._core.umath.clip if op == "clip" else getattr(np, RENAMED.get(op, op))
    return USED[op]


def loop(ufunc, names):
    """The dtypes that NumPy computes at, half precision made single; None where it is not defined."""
    try:
        found = ufunc.resolve_dtypes(tuple(DTYPES[n] for n in names) + (None,) * ufunc.nout)
    except TypeError:
        return None
    full = [np.dtype("f") if d == np.dtype("e") else d for d in found]
    return full[: ufunc.nin], full[ufunc.nin :]


def apply(ufunc, columns, wide=False):
    """The ufunc's results on columns at the dtypes that Rewright computes at."""
    ins, outs = loop(ufunc, [NAME[c.dtype] for c in columns])
    cast = [c.astype(d) for c, d in zip(columns, ins)]
    if wide:
        full = ufunc(*[c.astype(WIDE[c.dtype.char]) for c in cast])
        plain = ufunc(*cast)
        if ufunc in EXACTLY and cast[0].dtype.kind == "c":
            full = exactly(EXACTLY[ufunc], cast[0], full)
        if ufunc in REAL and cast[0].dtype.kind == "f":
            return [agree(ufunc, cast, nearest(REAL[ufunc], cast, full.astype(outs[0])), plain.astype(outs[0]))]
        full = full if isinstance(full, tuple) else (full,)
        plain = plain if isinstance(plain, tuple) else (plain,)
        return [agree(ufunc, cast, f.astype(o), p.astype(o)) for f, p, o in zip(full, plain, outs)]
    results = ufunc(*cast)
    results = results if isinstance(results, tuple) else (results,)
    return [r.astype(o) for r, o in zip(results, outs)]


def agree(ufunc, columns, full, plain):
    """The long double loop's values, but NumPy's own ones where one of the two is a special value and the other is not."""

    def special(x):
        return np.where(np.isnan(x), 3, np.where(np.isinf(x), np.sign(x), np.where(x == 0, 1 - 2.0 * np.signbit(x), 9)))

    def merge(f, p):
        tiny = np.finfo(f.dtype).tiny
        differs = (special(f) != special(p)) & ~((abs(f) < tiny) & (abs(p) < tiny) & (np.signbit(f) == np.signbit(p)))
        differs &= ~((ufunc in EXACTLY) & np.isfinite(f) & np.isfinite(p) & (f != 0))
        for i in np.flatnonzero(differs):
            DIFFERENT.append((ufunc.__name__, [c[i] for c in columns], f[i], p[i]))
        return np.where(differs, p, f)

    if full.dtype.kind == "c":
        out = np.empty_like(full)
        out.real, out.imag = merge(full.real, plain.real), merge(full.imag, plain.imag)
        return out
    return merge(full, plain)


DIFFERENT = []
EXACTLY = {np.log1p: mpmath.log1p, np.expm1: mpmath.expm1}


def exactly(function, column, wide):
    """mpmath's value for finite complex numbers, on the side of a branch cut that the given one is on."""
    mpmath.mp.prec = 3000
    out = wide.astype(column.dtype)
    for i, z in enumerate(column):
        if np.isfinite(out[i]) and z:
            w = function(mpmath.mpc(float(z.real), float(z.imag)))
            out[i] = complex(np.copysign(float(w.real), out[i].real), np.copysign(float(w.imag), out[i].imag))
    return out


def unary(op, wide=False, only=ALL, extra=(), count=48):
    ufunc = ufunc_of(op)
    for name in only:
        if loop(ufunc, [name]) is None or op in REJECT_BOOL and name == "bool":
            continue
        inexact = name in FLOATS + COMPLEX
        values = specials(name) + (randoms(name, count) if inexact else randoms(name, 4))
        if name in FLOATS:
            values += [DTYPES[name].type(x) for x in extra]
        column = array(values, name)
        TABLE.block(op, [column], apply(ufunc, [column], wide))


REJECT_BOOL = {"neg", "pos", "sign", "sub", "gcd", "lcm"}


def binary(op, wide=False, keep=lambda a, b: True, count=16):
    """Specials against specials at each dtype, and a few cases at each pair of dtypes."""
    ufunc = ufunc_of(op)
    for a, b in itertools.product(ALL, ALL):
        if loop(ufunc, [a, b]) is None or op in REJECT_BOOL and (a, b) == ("bool", "bool"):
            continue
        if a == b:
            pairs = list(itertools.product(specials(a, True), specials(b, True)))
            pairs += list(zip(randoms(a, count), randoms(b, count)))
        else:
            pairs = list(zip(randoms(a, 2), randoms(b, 2))) + [(specials(a)[-1], specials(b)[1])]
        pairs = [p for p in pairs if keep(*p)]
        if pairs:
            columns = [array(c, n) for c, n in zip(zip(*pairs), (a, b))]
            TABLE.block(op, columns, apply(ufunc, columns, wide))


def rows(op, function, names, cases, attr=""):
    """Cases by a function of columns."""
    columns = [array(c, n) for c, n in zip(zip(*cases), names)]
    results = function(*columns)
    TABLE.block(op, columns, list(results) if isinstance(results, tuple) else [results], attr)


def arithmetic():
    for op in "add sub mul div floordiv mod fmod divmod".split():
        binary(op)
    for op in "neg pos abs fabs sign square reciprocal".split():
        unary(op)
    for name in FLOATS:
        cases = list(itertools.product(specials(name, True)[:9], repeat=3))
        cases = [cases[i] for i in sorted(RNG.choice(len(cases), 120, False))]
        cases += list(zip(randoms(name, 40), randoms(name, 40), randoms(name, 40)))
        near = [(a, b, -(a * b)) for a, b in zip(randoms(name, 20), randoms(name, 20))]
        rows("fma", fma, [name] * 3, cases + near)


def power():
    def defined(x, y, kind):
        if kind == "i":
            return y >= 0
        # Complex powers of great or small numbers overflow on the way, at one precision or another.
        return kind != "c" or not np.isfinite([x, y]).all() or abs(y) < 40 and 1e-9 < abs(x) < 1e9 or y == 0

    for op, a, b in itertools.product(["power", "float_power"], ALL, ALL):
        ufunc = ufunc_of(op)
        kind = loop(ufunc, [a, b])[1][0].kind
        if a == b and (op == "power" or a in FLOATS + COMPLEX):
            pairs = list(itertools.product(specials(a, True), specials(b, True)))
            pairs += list(zip(randoms(a, 40), randoms(b, 40)))
        else:
            pairs = [(DTYPES[a].type(2), DTYPES[b].type(2))] + list(zip(randoms(a, 2), randoms(b, 2)))
        columns = [array(c, n) for c, n in zip(zip(*[p for p in pairs if defined(*p, kind)]), (a, b))]
        TABLE.block(op, columns, apply(ufunc, columns, kind not in "iu"))
    for name in INTS + FLOATS + COMPLEX:
        for n in [0, 1, 2, 3, 7, -1, -2] if name in FLOATS + COMPLEX else [0, 1, 2, 3, 7]:
            values = specials(name, True) + randoms(name, 8)
            rows("integer_power", lambda x: squaring(x, n), [name], [(v,) for v in values], f"n={n}")


def comparisons():
    for op in "eq ne lt le gt ge".split():
        binary(op, count=4)
    for a, b in [("i64", "u64"), ("u64", "i64"), ("i8", "u64"), ("u64", "i32")]:
        pairs = list(itertools.product(specials(a), specials(b)))
        for op in "eq ne lt le gt ge".split():
            rows(op, ufunc_of(op), [a, b], pairs)
    for op in "minimum maximum fmin fmax".split():
        binary(op, count=4)
    for name in ALL:
        values = specials(name, True)
        cases = list(itertools.product(values, values[:6], values[-6:]))
        cases = [cases[i] for i in sorted(RNG.choice(len(cases), min(60, len(cases)), False))]
        columns = [array(c, name) for c in zip(*cases)]
        TABLE.block("clip", columns, apply(ufunc_of("clip"), columns))
    for a, b in itertools.product(ALL, ALL):
        cases = [(c, x, y) for c in (False, True) for x, y in zip(randoms(a, 1), randoms(b, 1))]
        rows("where", np.where, ["bool", a, b], cases)
    for name in ALL:
        rows("where", np.where, [name, "i32", "i32"], [(c, 1, 2) for c in specials(name, True)])


def logic():
    for op in "and or xor".split():
        for a, b in itertools.product(ALL, ALL):
            some = specials(a, True)[:3] + specials(a, True)[-2:] if a == b else specials(a, True)[:1] + randoms(a, 1)
            other = specials(b, True)[:2] + specials(b, True)[-1:]
            columns = [array(c, n) for c, n in zip(zip(*itertools.product(some, other)), (a, b))]
            TABLE.block(op, columns, apply(ufunc_of(op), columns))
    unary("not", count=2)
    for op in "bitand bitor bitxor".split():
        binary(op, count=4)
    for op in "left_shift right_shift gcd lcm".split():
        binary(op)
    unary("invert")
    unary("bit_count")


def parts():
    for op in "rint floor ceil trunc modf frexp spacing isnan isinf isfinite signbit".split():
        unary(op, count=20)
    for op in "copysign nextafter heaviside".split():
        binary(op, count=8)
    for a in BOOL + REALS:
        for b in BOOL + INTS:
            if loop(np.ldexp, [a, b]):
                xs = specials(a, a != b) if b == "i32" else randoms(a, 3)
                ns = [0, 1, -1, 5, -1074, 1000, 3000, -30] if b in ("i32", "i64", "i16") else randoms(b, 2)
                columns = [array(c, n) for c, n in zip(zip(*itertools.product(xs, ns)), (a, b))]
                TABLE.block("ldexp", columns, apply(ufunc_of("ldexp"), columns))
    for name in ALL:
        values = [(x,) for x in (specials(name, True) + randoms(name, 4))]
        for op, function in dict(real=np.real, imag=np.imag).items():
            rows(op, lambda x, f=function: np.ascontiguousarray(f(x)), [name], values)
        rows("angle", angle, [name], values)
    unary("conj", count=4)
    for name in FLOATS:
        pairs = list(itertools.product(specials(name, True)[:6] + specials(name, True)[-2:], repeat=2))
        rows("complex", lambda a, b: join(a, b), [name, name], pairs)
    rows("complex", join, ["i8", "u16"], [(1, 2), (-3, 4)])
    rows("complex", join, ["i32", "f32"], [(1, 2.5), (-3, -0.0)])
    casts()


def join(re, im):
    part = np.result_type(re, im, np.float32)
    out = np.empty(len(re), "F" if part == np.float32 else "D")
    out.real, out.imag = re, im
    return out


def angle(z):
    re = z.real if z.dtype.kind == "c" else apply(np.positive, [z])[0] if z.dtype.kind != "b" else z.astype("f")
    im = z.imag if z.dtype.kind == "c" else np.zeros_like(re)
    ins = loop(np.arctan2, [NAME[re.dtype]] * 2)[0]
    columns = [np.ascontiguousarray(im.astype(ins[0])), np.ascontiguousarray(re.astype(ins[0]))]
    return apply(np.arctan2, columns, True)[0]


def casts():
    for a, b in itertools.product(ALL, ALL):
        column = array(specials(a, a not in FLOATS) + randoms(a, 4), a)
        with_range = DTYPES[a].kind in "fc" and DTYPES[b].kind in "iu"
        TABLE.block("cast", [column], [saturate(column, DTYPES[b]) if with_range else column.astype(DTYPES[b])], f"to={b}")


EXTRA = {
    "exp": [1.0, 88.7, -87.3, -103.9, 709.78, 709.79, -708.3, -744.4, 1e-20],
    "sin": [3.1415927, 6.2831855, 1e5, 1e8, 710.0, 11.0, 22.0, 355.0, 1e300, 33.0],
    "lgamma": [0.5, 1.0, 2.0, 3.0, 1e-20, -0.5, -1.5, -2.5, 100.0, 1e15, -1e-10, 0.9, 1.1, 1.99, 2.01, 12.5, -30.3],
    "erf": [0.84, 0.85, 1.2, 1.3, 2.85, 2.86, 5.9, 6.1, 9.0, 10.0, 26.5, 27.2, -4.0, -0.3],
    "asin": [0.999, -0.999, 0.7071, 0.9, -0.9, 0.2, 0.3, -0.4],
    "atanh": [0.999, -0.999, 0.7071, 0.9, -0.9, 0.2, 0.3, -0.4, 1e-9],
    "acosh": [1.0001, 1.5, 2.0, 3.0, 100.0, 1e8, 1e200, 1.01],
    "log": [0.99, 1.01, 0.9999, 1.0001, 0.7, 1.4, 2.0, 4.0, 8.0, 100.0, 1000.0],
}
EXTRA.update(cos=EXTRA["sin"], tan=EXTRA["sin"], acos=EXTRA["asin"], erfc=EXTRA["erf"], exp2=EXTRA["exp"], expm1=EXTRA["exp"])
EXTRA.update(log2=EXTRA["log"], log10=EXTRA["log"], log1p=EXTRA["log"] + EXTRA["asin"])


def functions():
    names = "sqrt exp exp2 expm1 log log2 log10 log1p cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh"
    for op in names.split():
        wide = op != "sqrt"
        unary(op, wide, BOOL + INTS, count=0)
        unary(op, wide, FLOATS, EXTRA.get(op, ()), count=100)
        unary(op, True, COMPLEX, count=100)
    for op in "deg2rad rad2deg".split():
        unary(op, count=10)
    for op in "atan2 hypot logaddexp logaddexp2".split():
        binary(op, True, count=60)
    for name in FLOATS:
        column = array(specials(name) + randoms(name, 60), name)
        logistic = scipy.special.expit(column.astype(np.longdouble)).astype(column.dtype)
        TABLE.block("logistic", [column], [logistic])
        TABLE.block("rsqrt", [column], [1 / np.sqrt(column)])
        for op in ["erf", "erfc", "lgamma"]:
            values = array(specials(name) + [DTYPES[name].type(x) for x in EXTRA[op]] + randoms(name, 100), name)
            TABLE.block(op, [values], [special_function(op, values)])
    rows("erf", lambda x: special_function("erf", x.astype("f")), ["i8"], [(-3,), (0,), (1,)])
    rows("lgamma", lambda x: special_function("lgamma", x.astype("d")), ["u32"], [(3,), (0,), (100,)])


def promotion():
    """Every pair of dtypes; then each with a weak literal of each kind."""
    for a, b in itertools.product(ALL, ALL):
        yield f"{a} {b} {NAME[np.result_type(DTYPES[a], DTYPES[b])]}"
    for a in ALL:
        for kind, literal in LITERALS.items():
            yield f"{a} {kind} {NAME[(np.ones(1, DTYPES[a]) + literal).dtype]}"


LITERALS = {"bool": True, "int": 1, "float": 1.5, "complex": 1j}


def result_dtypes(ufunc, *args):
    """The dtypes of the results, as `f64/i32` if there are two; `-` if the ufunc refuses the operands."""
    try:
        results = ufunc(*args)
    except (TypeError, OverflowError):
        return "-"
    results = results if isinstance(results, tuple) else (results,)
    return "/".join("f32" if r.dtype == np.float16 else NAME[r.dtype] for r in results)


def loops():
    """A line for each ufunc and its operands but the last: the results at every dtype of the last one."""
    one = {n: np.ones(1, DTYPES[n]) for n in ALL}
    for op, ufunc in USED.items():
        for first in itertools.product(ALL, repeat=ufunc.nin - 1):
            found = [result_dtypes(ufunc, *[one[n] for n in first], one[last]) for last in ALL]
            yield " ".join([op, *first, "->", *found])


def literals():
    """A line for each ufunc of two operands and dtype: the results with literals second, then with literals first."""
    for op, ufunc in USED.items():
        for name in ALL if ufunc.nin == 2 else []:
            one = np.ones(1, DTYPES[name])
            found = [result_dtypes(ufunc, one, x) for x in LITERALS.values()]
            found += [result_dtypes(ufunc, x, one) for x in LITERALS.values()]
            yield " ".join([op, name, "->", *found])


def ufuncs():
    """The names of NumPy's ufuncs."""
    return sorted(n for n in dir(np) if isinstance(getattr(np, n), np.ufunc))


def main():
    for part in (arithmetic, power, comparisons, logic, parts, functions):
        part()
    files = dict(elementwise=TABLE.lines, promotion=promotion(), loops=loops(), literals=literals(), ufuncs=ufuncs())
    for name, lines in files.items():
        with open(name + ".txt", "w") as f:
            f.write("\n".join(lines) + "\n")
    print(f"{len(TABLE.lines)} lines; {len(DIFFERENT)} cases where the long double loop has another special value:")
    for case in DIFFERENT if "-v" in sys.argv else DIFFERENT[:20]:
        print(*case)


if __name__ == "__main__":
    main()
