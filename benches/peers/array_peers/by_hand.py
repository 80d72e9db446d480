"""C by hand (`hand.c`), compiled for this processor, with streaming stores and without, the faster of which counts. Of arrays that are so small that
calling C from Python is what takes the time there is nothing."""

import ctypes
import functools
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from memory import empty_like

VARIANTS = 2
VARIANT = 0
LEAST = 30_000


@functools.cache
def library():
    """The functions; the file may go once it is loaded."""
    source = Path(__file__).with_name("hand.c")
    with tempfile.TemporaryDirectory() as folder:
        to = f"{folder}/hand.so"
        command = ["cc", "-O3", "-march=native", "-shared", "-fPIC", str(source), "-o", to, "-lmvec", "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise NotImplementedError(f"it can't be compiled: {done.stderr.splitlines()[:1]}")
        return ctypes.CDLL(to)


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
    function = library()[f"{name}_f{8 * like.itemsize}"]
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
