"""Index notation by NumPy: `einsum` with `optimize`, or the functions that its documentation shows."""

import numpy as np
from index_cases import BY_HAND, workloads
from memory import empty


def einsum(text, arrays):
    """Into an array that is there. Of one array, `einsum` is a view."""
    first = np.einsum(text, *arrays, optimize=True)
    out = empty(first.shape, first.dtype)
    if len(arrays) > 1:
        return lambda: np.einsum(text, *arrays, optimize=True, out=out)

    def call():
        np.copyto(out, first)
        return out

    return call


def by_hand(name, arrays):
    """The same statement as whole-array functions."""
    if name == "sum_opp":
        X, Y = arrays.values()
        return lambda: np.einsum("ij,ji->", X, np.log(Y))
    if name == "sum_part":
        X, Y = arrays.values()
        return lambda: np.einsum("ij,ji->i", X, np.log(Y))
    if name in BY_HAND:
        return lambda: BY_HAND[name](**arrays)
    raise NotImplementedError(name)


__getattr__ = workloads(einsum, by_hand)
