"""NumPy, SciPy and C beside Rewright's storage styles: each function is one way of one computation, and makes its results comparable when they are
looked at, which is not measured."""

import ctypes
import time

import c_library
import numpy as np
import scipy.sparse as sparse
from memory import empty, empty_like


def packed(bools):
    """64 bools a word."""
    bits = np.packbits(bools, bitorder="little")
    return np.concatenate([bits, np.zeros(-len(bits) % 8, np.uint8)]).view(np.uint64)


def bits_numpy_bytes(a, b, c, into):
    out, t = empty_like(a), empty_like(a)

    def call():
        np.logical_and(a, b, out=out)
        np.logical_not(c, out=t)
        return np.logical_or(out, t, out=out)

    return call, lambda r: (packed(r),)


def bits_numpy_words(a, b, c, n, into):
    out, t = empty_like(a), empty_like(a)

    def call():
        np.bitwise_and(a, b, out=out)
        np.invert(c, out=t)
        return np.bitwise_or(out, t, out=out)

    def results(words):
        words = words.copy()
        if n % 64:
            words[-1] &= np.uint64((1 << int(n) % 64) - 1)
        return (words,)

    return call, results


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def bits_by_bit_in_c(a, b, c, n, into):
    out = empty_like(a)
    out[...] = 0
    function = c_library.load("bits.c").by_bit
    function.restype = None
    arguments = [ctypes.c_long(int(n)), *map(pointer, (a, b, c, out))]
    # Pointers hold nobody's memory.
    keep = (a, b, c)

    def call():
        function(*arguments)
        return keep and out

    return call, lambda r: (r,)


def diagonals(matrix):
    """Those that are kept in a tridiagonal matrix."""
    return tuple(np.asarray(matrix.diagonal(k)) for k in (-1, 0, 1))


def structured(kind, diag, upper=None, tri=None):
    """SciPy's matrices, in one of its formats."""
    d = sparse.diags_array([diag], offsets=[0], format=kind)
    if upper is None:
        return d
    b = sparse.diags_array(upper, offsets=[0, 1], format=kind)
    t = sparse.diags_array(tri, offsets=[-1, 0, 1], format=kind)
    return d, b, t


def scaled(kind, d):
    d = structured(kind, d)
    return lambda: d * 3.0, lambda r: (np.asarray(r.diagonal()),)


def scaled_dia(d, into):
    return scaled("dia", d)


def scaled_csr(d, into):
    return scaled("csr", d)


def banded(kind, d, b0, b1, t0, t1, t2):
    d, b, t = structured(kind, d, [b0, b1], [t0, t1, t2])
    return lambda: d + b.multiply(t), diagonals


def banded_dia(d, b0, b1, t0, t1, t2, into):
    return banded("dia", d, b0, b1, t0, t1, t2)


def banded_csr(d, b0, b1, t0, t1, t2, into):
    return banded("csr", d, b0, b1, t0, t1, t2)


def csc(starts, rows, values):
    side = len(starts) - 1
    matrix = sparse.csc_array((values, rows, starts), shape=(side, side))
    assert matrix.has_sorted_indices and matrix.has_canonical_format
    return matrix


def stored(matrix):
    matrix.sort_indices()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data


def product_sum(s0, s1, s2, t0, t1, t2, u0, u1, u2, into):
    s, t, u = csc(s0, s1, s2), csc(t0, t1, t2), csc(u0, u1, u2)
    return lambda: 2 * s + t.multiply(u), stored


def sum_of_two(s0, s1, s2, t0, t1, t2, into):
    s, t = csc(s0, s1, s2), csc(t0, t1, t2)
    return lambda: s + t, stored


def expm1(s0, s1, s2, into):
    s = csc(s0, s1, s2)
    return lambda: s.expm1(), stored


def straight_in_c(x, y, into):
    return in_c("straight", x, y)


# Rows and columns of what is turned together.
TILES = [(64, 64), (32, 128), (64, 128), (128, 64), (16, 512), (32, 256), (512, 16), (8, 4096)]


def transposed_in_c(x, y, into):
    """By the tiles that turn out to be fastest."""
    calls = [in_c("transposed", x, y, *map(ctypes.c_long, tile)) for tile in TILES]
    times = {}
    for _ in range(5):
        for number, (call, _) in enumerate(calls):
            begin = time.perf_counter()
            call()
            times.setdefault(number, []).append(time.perf_counter() - begin)
    return calls[min(times, key=lambda number: sorted(times[number])[2])]


def in_c(name, x, y, *sizes):
    out = empty_like(x)
    function = getattr(c_library.load("turned.c"), name)
    function.restype = None
    arguments = [ctypes.c_long(len(x)), *sizes, *map(pointer, (x, y, out))]
    # Pointers hold nobody's memory.
    keep = (x, y)

    def call():
        function(*arguments)
        return keep and out

    return call, lambda r: (r,)


def straight(x, y, into):
    out = empty_like(x)
    return lambda: np.add(x, y, out=out), lambda r: (r,)


def transposed(x, y, into):
    return straight(x, y.T, into)


def outer(x, y, into):
    out = empty((len(x), len(y)), x.dtype)
    return lambda: np.multiply(x[:, None], y[None, :], out=out), lambda r: (r,)


def filled(x, y, into):
    out = empty((len(x), len(y)), x.dtype)

    def call():
        out.fill(1.5)
        return out

    return call, lambda r: (r,)


def sum_of_many(into, **operands):
    first, second, *others = operands.values()
    out = empty_like(first)

    def call():
        np.add(first, second, out=out)
        for x in others:
            np.add(out, x, out=out)
        return out

    return call, lambda r: (r,)


def range_elements(r, into):
    out = empty_like(r)

    def call():
        np.add(r, 1, out=out)
        np.multiply(out, 3, out=out)
        return np.subtract(out, 2, out=out)

    return call, lambda x: (x,)


def range_arange(r, into):
    """With the array made each time."""
    n = len(r)
    return lambda: 3 * (np.arange(n) + 1) - 2, lambda x: (x,)
