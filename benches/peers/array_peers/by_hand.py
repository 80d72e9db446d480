"""C by hand (`hand.c`), compiled for this processor, with streaming stores and without, the faster of which counts. Of arrays that are so small that
calling C from Python is what takes the time there is nothing."""

import ctypes

import c_library
import numpy as np
from memory import empty_like

VARIANTS = 2
VARIANT = 0
LEAST = 30_000


def results(values):
    return (values,)


def computation(name, *values):
    """One call, of the arrays and the scalars."""
    arrays = [value for value in values if np.ndim(value)]
    like = arrays[0]
    if like.size < LEAST:
        raise NotImplementedError("calling C from Python takes longer")
    scalars = np.array([value for value in values if not np.ndim(value)], dtype=like.dtype)
    out = empty_like(like)
    pointers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
    function = c_library.load("hand.c", "-lmvec", "-lm")[f"{name}_f{8 * like.itemsize}"]
    function.restype = None
    rest = [pointers, ctypes.c_void_p(scalars.ctypes.data), ctypes.c_void_p(out.ctypes.data), ctypes.c_int(VARIANT)]
    size = ctypes.c_long(like.size)
    keep = (arrays, scalars)

    def call():
        function(size, *rest)
        return keep and out

    return call, results


def axpby(a, b, into):
    return computation("axpby", a, b)


def polynomial(a, b, c, into):
    return computation("polynomial", a, b, c)


def trigonometry(a, b, into):
    return computation("trigonometry", a, b)


def exponentials(a, b, into):
    return computation("exponentials", a, b)


def black_scholes(spot, strike, years, rate, vol, into):
    return computation("black_scholes", spot, strike, years, rate, vol)
