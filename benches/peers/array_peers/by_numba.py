"""Numba: explicit loops, compiled with NumPy's error model; with fast math and without, and where several threads are wanted, with parallel loops and
without, the fastest of which counts."""

import math
import os
import time
import warnings

import numba
import numpy as np
from memory import empty, empty_like
from numba import prange

# That there is nothing to share out is known.
warnings.simplefilter("ignore", numba.NumbaPerformanceWarning)
VARIANTS = 2 if os.environ["PEER_THREADS"] == "1" else 4
VARIANT = 0


def jit(function):
    return numba.njit(fastmath=VARIANT % 2 == 1, parallel=VARIANT >= 2, error_model="numpy")(function)


def results(values):
    return values if isinstance(values, tuple) else (values,)


def calling(function, into, arrays, rest=()):
    """Calls that write to an array that is there, or make one."""
    if into:
        out = empty_like(arrays[0])

        def call():
            function(*arrays, *rest, out)
            return out

        return call, results

    @jit
    def make(*arrays):
        out = np.empty_like(arrays[0])
        function(*arrays, out)
        return out

    return lambda: make(*arrays), results


def axpby(a, b, into):
    two, three = a.dtype.type(2), a.dtype.type(3)

    @jit
    def f(a, b, out):
        for i in prange(len(out)):
            out[i] = two * a[i] + three * b[i]

    return calling(f, into, (a, b))


def polynomial(a, b, c, into):
    half, one = a.dtype.type(0.5), a.dtype.type(1)

    @jit
    def f(a, b, c, out):
        for i in prange(len(out)):
            out[i] = a[i] * b[i] + c[i] * (a[i] - b[i]) * half + one

    return calling(f, into, (a, b, c))


def trigonometry(a, b, into):
    @jit
    def f(a, b, out):
        for i in prange(len(out)):
            s, c = math.sin(a[i]), math.cos(b[i])
            out[i] = s * s + c * c

    return calling(f, into, (a, b))


def exponentials(a, b, into):
    one = a.dtype.type(1)

    @jit
    def f(a, b, out):
        for i in prange(len(out)):
            out[i] = math.exp(-a[i] * a[i]) * math.log(one + b[i])

    return calling(f, into, (a, b))


def black_scholes_loop(dtype):
    v = dtype.type
    half, one, c, s = v(0.5), v(1), v(0.044715), v(0.7978845608028654)

    def f(spot, strike, years, rate, vol, out):
        drift = rate + half * vol * vol
        for i in prange(len(out)):
            root = vol * math.sqrt(years[i])
            d1 = (math.log(spot[i] / strike[i]) + drift * years[i]) / root
            d2 = d1 - root
            n1 = half * (one + math.tanh(s * (d1 + c * d1 * d1 * d1)))
            n2 = half * (one + math.tanh(s * (d2 + c * d2 * d2 * d2)))
            out[i] = spot[i] * n1 - strike[i] * math.exp(-rate * years[i]) * n2

    return f


def black_scholes(spot, strike, years, rate, vol, into):
    return calling(jit(black_scholes_loop(spot.dtype)), into, (spot, strike, years), (rate, vol))


def sum_x_log_yt(x, y, into):
    zero = x.dtype.type(0)

    @jit
    def f(x, y):
        total = zero
        for i in prange(x.shape[0]):
            for j in range(x.shape[1]):
                total += x[i, j] * math.log(y[j, i])
        return total

    return lambda: f(x, y), results


def mean_variance(x, into):
    zero = x.dtype.type(0)

    @jit
    def f(x):
        total = zero
        for i in prange(len(x)):
            total += x[i]
        mean = total / x.dtype.type(len(x))
        spread = zero
        for i in prange(len(x)):
            spread += (x[i] - mean) * (x[i] - mean)
        return mean, spread / x.dtype.type(len(x))

    return lambda: f(x), results


def softmax(x, into):
    zero = x.dtype.type(0)
    out = empty_like(x)

    @jit
    def f(x, out):
        for i in prange(x.shape[0]):
            top = x[i, 0]
            for j in range(x.shape[1]):
                top = max(top, x[i, j])
            total = zero
            for j in range(x.shape[1]):
                e = math.exp(x[i, j] - top)
                out[i, j] = e
                total += e
            for j in range(x.shape[1]):
                out[i, j] /= total

    def call():
        f(x, out)
        return out

    return call, results


def logsumexp(x, into):
    zero = x.dtype.type(0)

    @jit
    def f(x):
        top = x[0]
        for i in prange(len(x)):
            top = max(top, x[i])
        total = zero
        for i in prange(len(x)):
            total += math.exp(x[i] - top)
        return math.log(total) + top

    return lambda: f(x), results


def distances(x, y, into):
    zero = x.dtype.type(0)
    out = empty((len(x), len(y)), x.dtype)

    @jit
    def f(x, y, out):
        for i in prange(x.shape[0]):
            for j in range(y.shape[0]):
                total = zero
                for k in range(x.shape[1]):
                    d = x[i, k] - y[j, k]
                    total += d * d
                out[i, j] = math.sqrt(total)

    def call():
        f(x, y, out)
        return out

    return call, results


def image_statistics(x, into):
    @jit
    def f(x):
        least, most, total, count = x[0], x[0], np.uint64(0), np.int64(0)
        for i in prange(len(x)):
            least = min(least, x[i])
            most = max(most, x[i])
            total += np.uint64(x[i])
            count += np.int64(x[i] > 128)
        return least, most, total, count

    return lambda: f(x), results


def compile_times(workload, count, inputs):
    if workload != "black_scholes":
        raise KeyError(workload)
    spot, strike, years, rate, vol = (inputs[k] for k in ("spot", "strike", "years", "rate", "vol"))
    kind = numba.typeof(spot)
    signature = (kind, kind, kind, numba.typeof(rate), numba.typeof(vol), kind)
    times = []
    for _ in range(count):
        start = time.process_time_ns()
        numba.njit(signature, error_model="numpy")(black_scholes_loop(spot.dtype))
        times.append(time.process_time_ns() - start)
    return times
