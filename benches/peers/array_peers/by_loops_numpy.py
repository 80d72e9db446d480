"""The cases of `loops.py` by NumPy: as few temporaries as possible, and results in arrays that exist."""

import numpy as np
from memory import empty

VARIANTS = 3
VARIANT = 0


def once(call):
    """For functions with one variant."""
    if VARIANT:
        raise NotImplementedError("one variant only")
    return call, lambda value: value if isinstance(value, tuple) else (value,)


def product(x, y, into):
    out = empty((x.shape[0], y.shape[1]), x.dtype)
    return once(lambda: np.matmul(x, y, out=out))


def product_xyt(x, y, into):
    return product(x, y.T, into)


def product_xty(x, y, into):
    return product(x.T, y, into)


def product_xtyt(x, y, into):
    return product(x.T, y.T, into)


def gelu(x, y, b, into):
    z, t = empty((len(x), len(b)), x.dtype), empty((len(x), len(b)), x.dtype)

    def call():
        np.matmul(x, y, out=z)
        np.add(z, b, out=z)
        np.multiply(z, z, out=t)
        np.multiply(t, 0.044715, out=t)
        np.add(t, 1, out=t)
        np.multiply(t, z, out=t)
        np.multiply(t, 0.7978845608028654, out=t)
        np.tanh(t, out=t)
        np.add(t, 1, out=t)
        np.multiply(z, 0.5, out=z)
        return np.multiply(z, t, out=z)

    return once(call)


def matrix_vector(x, y, into):
    out = empty(x.shape[:1], x.dtype)
    return once(lambda: np.matmul(x, y, out=out))


def vector_matrix(x, y, into):
    out = empty(y.shape[1:], y.dtype)
    return once(lambda: np.matmul(x, y, out=out))


def dot(x, y, into):
    return once(lambda: np.dot(x, y))


def outer(x, y, into):
    out = empty((len(x), len(y)), x.dtype)
    return once(lambda: np.multiply.outer(x, y, out=out))


def cumsum_down(x, into):
    out = empty(x.shape, x.dtype)
    return once(lambda: np.cumsum(x, axis=0, out=out))


def cumsum_along(x, into):
    out = empty(x.shape, x.dtype)
    return once(lambda: np.cumsum(x, axis=1, out=out))


def scatter_at(x, p, size):
    out = empty(size, x.dtype)

    def call():
        out[:] = 0
        np.add.at(out, p, x)
        return out

    return once(call)


def scatter_few_at(x, p, into):
    return scatter_at(x, p, 1000)


def scatter_many_at(x, p, into):
    return scatter_at(x, p, 1_000_000)


def scatter_old_at(x, p, h, into):
    out = empty(h.shape, h.dtype)

    def call():
        out[:] = h
        np.add.at(out, p, x)
        return out

    return once(call)


def scatter_few_bincount(x, p, into):
    return once(lambda: np.bincount(p, x, 1000))


def scatter_many_bincount(x, p, into):
    return once(lambda: np.bincount(p, x, 1_000_000))


def scatter_old_bincount(x, p, h, into):
    out = empty(h.shape, h.dtype)
    return once(lambda: np.add(h, np.bincount(p, x, len(h)), out=out))


def gather_rows(x, p, into):
    """`take` into an array is buffered, unless positions are clipped."""
    out = empty((len(p), x.shape[1]), x.dtype)
    calls = (lambda: np.take(x, p, axis=0), lambda: np.take(x, p, axis=0, out=out, mode="clip"), lambda: x[p])
    return calls[VARIANT], lambda value: (value,)


def covariance(x, into):
    centred, mean, out = empty(x.shape, x.dtype), empty(x.shape[1:], x.dtype), empty((x.shape[1],) * 2, x.dtype)

    def call():
        np.mean(x, axis=0, out=mean)
        np.subtract(x, mean, out=centred)
        np.matmul(centred.T, centred, out=out)
        return np.divide(out, len(x) - 1, out=out)

    return once(call)


def jacobi(x, into):
    out = empty(x.shape, x.dtype)
    inner = out[1:-1, 1:-1]

    def call():
        np.copyto(out, x)
        np.add(x[1:-1, 1:-1], x[1:-1, :-2], out=inner)
        np.add(inner, x[1:-1, 2:], out=inner)
        np.add(inner, x[2:, 1:-1], out=inner)
        np.add(inner, x[:-2, 1:-1], out=inner)
        np.multiply(inner, 0.2, out=inner)
        return out

    return once(call)


def hdiff(x, coefficient, into):
    n, m, k = coefficient.shape
    lap, t = empty((n + 2, m + 2, k), x.dtype), empty((n + 2, m + 2, k), x.dtype)
    down, with_down = empty((n + 1, m, k), x.dtype), empty((n + 1, m, k), x.dtype)
    across, with_across = empty((n, m + 1, k), x.dtype), empty((n, m + 1, k), x.dtype)
    out = empty((n, m, k), x.dtype)

    def call():
        np.multiply(x[1:-1, 1:-1], 4, out=lap)
        np.add(x[2:, 1:-1], x[:-2, 1:-1], out=t)
        np.add(t, x[1:-1, 2:], out=t)
        np.add(t, x[1:-1, :-2], out=t)
        np.subtract(lap, t, out=lap)
        np.subtract(lap[1:, 1:-1], lap[:-1, 1:-1], out=down)
        np.subtract(x[2:-1, 2:-2], x[1:-2, 2:-2], out=with_down)
        np.multiply(with_down, down, out=with_down)
        np.copyto(down, 0, where=with_down > 0)
        np.subtract(lap[1:-1, 1:], lap[1:-1, :-1], out=across)
        np.subtract(x[2:-2, 2:-1], x[2:-2, 1:-2], out=with_across)
        np.multiply(with_across, across, out=with_across)
        np.copyto(across, 0, where=with_across > 0)
        np.subtract(down[1:], down[:-1], out=out)
        np.add(out, across[:, 1:], out=out)
        np.subtract(out, across[:, :-1], out=out)
        np.multiply(out, coefficient, out=out)
        return np.subtract(x[2:-2, 2:-2], out, out=out)

    return once(call)


def arc_distance(t1, p1, t2, p2, into):
    a, b, c = (empty(t1.shape, t1.dtype) for _ in range(3))

    def half_squared(x, y, out):
        np.subtract(y, x, out=out)
        np.multiply(out, 0.5, out=out)
        np.sin(out, out=out)
        np.multiply(out, out, out=out)

    def call():
        half_squared(p1, p2, a)
        np.cos(t1, out=b)
        np.multiply(a, b, out=a)
        np.cos(t2, out=b)
        np.multiply(a, b, out=a)
        half_squared(t1, t2, b)
        np.add(a, b, out=a)
        np.sqrt(a, out=b)
        np.subtract(1, a, out=a)
        np.sqrt(a, out=a)
        np.arctan2(b, a, out=c)
        return np.multiply(c, 2, out=c)

    return once(call)


def forces(x, y, z, m, into):
    n = len(x)
    dx, dy, dz, r, w = (empty((n, n), x.dtype) for _ in range(5))

    def call():
        np.subtract(x, x[:, None], out=dx)
        np.subtract(y, y[:, None], out=dy)
        np.subtract(z, z[:, None], out=dz)
        np.multiply(dx, dx, out=r)
        np.multiply(dy, dy, out=w)
        np.add(r, w, out=r)
        np.multiply(dz, dz, out=w)
        np.add(r, w, out=r)
        np.add(r, 0.01, out=r)
        np.sqrt(r, out=w)
        np.multiply(r, w, out=r)
        np.divide(1, r, out=r)
        return tuple(np.matmul(np.multiply(d, r, out=d), m) for d in (dx, dy, dz))

    return once(call)


def clip(x, y, into):
    a, b = empty(x.shape, x.dtype), empty(x.shape, x.dtype)

    def call():
        np.clip(x, 2, 10, out=a)
        np.multiply(a, 4, out=a)
        np.multiply(y, 3, out=b)
        np.add(a, b, out=a)
        return np.add(a, 9, out=a)

    return once(call)
