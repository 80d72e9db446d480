"""NumPy: results and temporaries go to arrays that are there, as far as its functions allow."""

import numpy as np
from memory import empty, empty_like


def results(values):
    return values if isinstance(values, tuple) else (values,)


def axpby(a, b, into):
    if not into:
        return lambda: 2 * a + 3 * b, results
    out, t = empty_like(a), empty_like(a)

    def call():
        np.multiply(a, 2, out=out)
        np.multiply(b, 3, out=t)
        return np.add(out, t, out=out)

    return call, results


def polynomial(a, b, c, into):
    out, t = empty_like(a), empty_like(a)

    def call():
        np.subtract(a, b, out=t)
        np.multiply(t, c, out=t)
        np.multiply(t, 0.5, out=t)
        np.multiply(a, b, out=out)
        np.add(out, t, out=out)
        return np.add(out, 1, out=out)

    return call, results


def trigonometry(a, b, into):
    out, t = empty_like(a), empty_like(a)

    def call():
        np.sin(a, out=out)
        np.multiply(out, out, out=out)
        np.cos(b, out=t)
        np.multiply(t, t, out=t)
        return np.add(out, t, out=out)

    return call, results


def exponentials(a, b, into):
    out, t = empty_like(a), empty_like(a)

    def call():
        np.multiply(a, a, out=out)
        np.negative(out, out=out)
        np.exp(out, out=out)
        np.add(b, 1, out=t)
        np.log(t, out=t)
        return np.multiply(out, t, out=out)

    return call, results


def normal(d, t):
    """The normal distribution, in `d`."""
    np.multiply(d, d, out=t)
    np.multiply(t, d, out=t)
    np.multiply(t, 0.044715, out=t)
    np.add(d, t, out=d)
    np.multiply(d, 0.7978845608028654, out=d)
    np.tanh(d, out=d)
    np.add(d, 1, out=d)
    np.multiply(d, 0.5, out=d)


def black_scholes(spot, strike, years, rate, vol, into):
    out, d1, d2, t = (empty_like(spot) for _ in range(4))

    def call():
        np.sqrt(years, out=out)
        np.multiply(out, vol, out=out)
        np.divide(spot, strike, out=d1)
        np.log(d1, out=d1)
        np.multiply(years, rate + 0.5 * vol * vol, out=t)
        np.add(d1, t, out=d1)
        np.divide(d1, out, out=d1)
        np.subtract(d1, out, out=d2)
        normal(d1, t)
        normal(d2, t)
        np.multiply(years, -rate, out=out)
        np.exp(out, out=out)
        np.multiply(out, strike, out=out)
        np.multiply(out, d2, out=out)
        np.multiply(spot, d1, out=d1)
        return np.subtract(d1, out, out=out)

    return call, results


def sum_x_log_yt(x, y, into):
    t = empty_like(y)

    def call():
        np.log(y, out=t)
        return np.vdot(x, t.T) if len(x) < 100 else np.einsum("ij,ji->", x, t)

    return call, results


def mean_variance(x, into):
    t = empty_like(x)

    def call():
        mean = np.mean(x)
        np.subtract(x, mean, out=t)
        np.multiply(t, t, out=t)
        return mean, np.mean(t)

    return call, results


def softmax(x, into):
    out = empty_like(x)

    def call():
        np.subtract(x, np.max(x, axis=1, keepdims=True), out=out)
        np.exp(out, out=out)
        return np.divide(out, np.sum(out, axis=1, keepdims=True), out=out)

    return call, results


def logsumexp(x, into):
    t = empty_like(x)

    def call():
        top = np.max(x)
        np.subtract(x, top, out=t)
        np.exp(t, out=t)
        return np.log(np.sum(t)) + top

    return call, results


def distances(x, y, into):
    out, t = empty((len(x), len(y)), x.dtype), empty((len(x), len(y), x.shape[1]), x.dtype)

    def call():
        np.subtract(x[:, None], y[None], out=t)
        np.einsum("ijk,ijk->ij", t, t, out=out)
        return np.sqrt(out, out=out)

    return call, results


def image_statistics(x, into):
    return lambda: (x.min(), x.max(), x.sum(), np.count_nonzero(x > 128)), results
