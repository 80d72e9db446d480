"""The convolutions of `loops.py` by C (`loops.c`), compiled for this processor."""

import ctypes

import c_library
from memory import empty

VARIANTS = 3
VARIANT = 0


def calling(name, x, k, shape):
    out = empty(shape, x.dtype)
    function = getattr(c_library.load("loops.c"), f"{name}{VARIANT}")
    function.restype = None
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x, k, out)]
    extents = [ctypes.c_long(extent) for extent in x.shape]
    keep = (x, k)

    def call():
        function(*pointers, *extents, ctypes.c_long(1))
        return keep and out

    call.repeat = lambda count: function(*pointers, *extents, ctypes.c_long(count))
    return call, lambda value: (value,)


def convolution(x, k, into):
    return calling("convolution", x, k, (x.shape[0] - 6, x.shape[1] - 6))


def convolution_padded(x, k, into):
    return calling("convolution_padded", x, k, x.shape)
