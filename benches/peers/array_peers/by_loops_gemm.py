"""Products of matrices by the Rust crates `faer` and `gemm`: `loops.py` builds the library `gemm_peers/`."""

import ctypes
import functools
import os

from memory import empty


@functools.cache
def library():
    path = os.environ.get("PEER_GEMM")
    if not path:
        raise NotImplementedError("the library is not built")
    return ctypes.CDLL(path)


def calling(crate, x, y):
    out = empty((x.shape[0], y.shape[1]), x.dtype)
    function = getattr(library(), f"{crate}_f{8 * x.itemsize}")
    function.restype = None
    extents = [ctypes.c_size_t(extent) for extent in (*x.shape, y.shape[1])]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x, y, out)]
    threads = ctypes.c_size_t(int(os.environ["PEER_THREADS"]))
    keep = (x, y)

    def call():
        function(*extents, *pointers, threads, ctypes.c_size_t(1))
        return keep and out

    call.repeat = lambda count: function(*extents, *pointers, threads, ctypes.c_size_t(count))
    return call, lambda value: (value,)


def product_faer(x, y, into):
    return calling("faer", x, y)


def product_gemm(x, y, into):
    return calling("gemm", x, y)
