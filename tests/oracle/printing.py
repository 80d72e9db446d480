#!/usr/bin/env python3
"""Writes printing.txt: how NumPy 2.4 prints arrays and scalars.

Run it in this folder; it needs numpy. A case is a line `dtype [shape] bits...`, in hexadecimal and complex numbers as `re:im`
(`scalar` in place of a shape), and the lines of its text, each after a bar.
"""

import warnings

import numpy as np

warnings.simplefilter("ignore")
assert np.__version__.startswith("2.4"), np.__version__

NAMES = "bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 c64 c128".split()
DTYPES = {n: np.dtype(c) for n, c in zip(NAMES, "?bhilBHILfdFD")}
NAME = {d: n for n, d in DTYPES.items()}
rng = np.random.default_rng(7)


def bits(x):
    if x.dtype.kind == "c":
        half = np.dtype(f"f{x.dtype.itemsize // 2}")
        parts = np.array([x.real, x.imag], half).view(f"u{half.itemsize}")
        return ":".join(f"{int(p):x}" for p in parts)
    return f"{int(np.array(x).view(f'u{x.dtype.itemsize}')):x}"


def write(out, x):
    shape = "scalar" if isinstance(x, np.generic) else str(list(x.shape)).replace(" ", "")
    elements = " ".join(bits(e) for e in np.asarray(x).ravel())
    out.write(f"{NAME[x.dtype]} {shape} {elements}".rstrip() + "\n")
    for line in str(x).split("\n"):
        out.write(f"|{line}\n")


def specials(dtype):
    if dtype.kind == "f":
        return [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 100.0, 1e-4, 9.9e-5, 1e-5, 0.1, 1 / 3, -2 / 3, 123456.789, 99999.0, 1e6, 1e7,
                12345678.9, 99999999.0, 1e8, 1e15, 1e16, 1.2345678901234567e16, 1e17, 1e-300, 3e38, -1e30, 5e-324, 1e100,
                np.nan, np.inf, -np.inf, np.pi, 1e3, 1000.5, 2.5e-8]
    if dtype.kind == "b":
        return [True, False]
    info = np.iinfo(dtype)
    return [0, 1, info.max, info.min, 42, 7]


def floats(dtype, n):
    kind = rng.integers(0, 9)
    if kind == 0:
        x = rng.integers(-1000, 1000, n) / 4
    elif kind == 1:
        x = rng.normal(size=n)
    elif kind == 2:
        x = rng.normal(size=n) * 10.0 ** rng.integers(-12, 12, n)
    elif kind == 3:
        x = rng.normal(size=n) * 10.0 ** rng.integers(-300, 300)
    elif kind == 4:
        x = rng.choice(specials(np.dtype(float)), n)
    elif kind == 5:
        x = np.where(rng.random(n) < 0.3, rng.choice([np.nan, np.inf, -np.inf], n), rng.integers(0, 10, n) * 1.0)
    elif kind == 6:
        x = np.round(rng.random(n) * 10.0 ** rng.integers(0, 9), rng.integers(0, 10))
    elif kind == 7:
        x = np.full(n, rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-4, 1e8]))
    else:
        x = rng.integers(-9, 10, n).astype(float)
    return x.astype(dtype)


def array(dtype, shape):
    n = int(np.prod(shape))
    if dtype.kind == "b":
        x = rng.random(n) < 0.5
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        span = int(rng.choice([3, 60, info.max]))
        low = max(info.min, -span) if rng.random() < 0.5 else 0
        x = rng.integers(low, min(span, info.max), n, dtype=np.int64 if dtype.kind == "i" else np.uint64, endpoint=True)
    elif dtype.kind == "f":
        x = floats(dtype, n)
    else:
        half = np.dtype(f"f{dtype.itemsize // 2}")
        x = np.empty(n, dtype)
        x.real, x.imag = floats(half, n), floats(half, n)
    return x.astype(dtype).reshape(shape)


SHAPES = [(), (0,), (0, 3), (1,), (2,), (3,), (5,), (12,), (30,), (100,), (1000,), (1, 1), (2, 3), (3, 1), (4, 20), (2, 2, 2),
          (1, 3, 1, 2), (2, 0), (2, 30)]
LARGE = [(1001,), (2000,), (40, 30), (7, 200), (6, 200), (3, 20, 30), (1001, 1), (1, 1001), (2, 2, 2, 150), (11, 10, 10)]

with open("printing.txt", "w") as out:
    for dtype in DTYPES.values():
        if dtype.kind == "c":
            half = np.dtype(f"f{dtype.itemsize // 2}")
            values = [complex(a, b) for a in specials(half)[::3] for b in specials(half)[::4]]
            values += [complex(a, b) for a in (0.0, -0.0, np.nan, np.inf, 1.0) for b in (0.0, -0.0, np.nan, -np.inf, 2.5)]
        else:
            values = specials(dtype)
        for v in values:
            write(out, np.array(v).astype(dtype)[()])
        for _ in range(4 if dtype.kind in "fc" else 1):
            for shape in SHAPES:
                write(out, array(dtype, shape))
    for name in ("bool", "i64", "f64", "f32", "c128"):
        for shape in LARGE:
            x = array(DTYPES[name], shape)
            # Numbers that take few digits: what is tested is which elements are shown.
            write(out, x if name == "bool" else np.arange(x.size).reshape(shape).astype(DTYPES[name]))
