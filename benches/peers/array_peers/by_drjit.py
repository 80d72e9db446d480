"""Dr.Jit with LLVM: traced anew for each call, its kernels cached, or frozen; the faster of the two counts. Each result is
evaluated and waited for. Results are arrays of its own in any case, from the memory that the ones before gave back."""

import os
import time

import drjit as dr
import drjit.llvm as llvm
import numpy as np

dr.set_thread_count(int(os.environ["PEER_THREADS"]))
VARIANTS = 2
VARIANT = 0

TYPES = {np.dtype("f8"): llvm.Float64, np.dtype("f4"): llvm.Float}
for name in ("UInt8",):
    if hasattr(llvm, name):
        TYPES[np.dtype("u1")] = getattr(llvm, name)


def results(values):
    return tuple(np.asarray(v) for v in (values if isinstance(values, tuple) else (values,)))


def calling(function, *arrays, shape=None):
    f = dr.freeze(function) if VARIANT == 1 else function
    arrays = [TYPES[a.dtype](np.ravel(a)) if isinstance(a, np.ndarray) else float(a) for a in arrays]
    dr.eval(*(a for a in arrays if not isinstance(a, float)))

    def call():
        values = f(*arrays)
        dr.eval(values)
        dr.sync_thread()
        return values

    shaped = (lambda values: tuple(v.reshape(shape) for v in results(values))) if shape else results
    return call, shaped


def axpby(a, b, into):
    return calling(lambda a, b: 2 * a + 3 * b, a, b)


def polynomial(a, b, c, into):
    return calling(lambda a, b, c: a * b + c * (a - b) * 0.5 + 1, a, b, c)


def trigonometry(a, b, into):
    return calling(lambda a, b: dr.square(dr.sin(a)) + dr.square(dr.cos(b)), a, b)


def exponentials(a, b, into):
    return calling(lambda a, b: dr.exp(-a * a) * dr.log(1 + b), a, b)


def black_scholes_function(spot, strike, years, rate, vol):
    normal = lambda d: 0.5 * (1 + dr.tanh(0.7978845608028654 * (d + 0.044715 * d * d * d)))
    root = vol * dr.sqrt(years)
    d1 = (dr.log(spot / strike) + (rate + 0.5 * vol * vol) * years) / root
    return spot * normal(d1) - strike * dr.exp(-rate * years) * normal(d1 - root)


def black_scholes(spot, strike, years, rate, vol, into):
    return calling(lambda spot, strike, years: black_scholes_function(spot, strike, years, float(rate), float(vol)), spot, strike, years)


def sum_x_log_yt(x, y, into):
    side, kind = len(x), TYPES[x.dtype]

    def f(x, y):
        i = dr.arange(llvm.UInt32, side * side)
        return dr.sum(x * dr.log(dr.gather(kind, y, i % side * side + i // side)))

    return calling(f, x, y)


def mean_variance(x, into):
    count = x.size

    def f(x):
        mean = dr.sum(x) / count
        return mean, dr.sum(dr.square(x - mean)) / count

    return calling(f, x)


def softmax(x, into):
    width, kind = x.shape[1], TYPES[x.dtype]

    def f(x):
        row = dr.arange(llvm.UInt32, dr.width(x)) // width
        e = dr.exp(x - dr.gather(kind, dr.block_reduce(dr.ReduceOp.Max, x, width), row))
        dr.eval(e)
        return e / dr.gather(kind, dr.block_reduce(dr.ReduceOp.Add, e, width), row)

    return calling(f, x, shape=x.shape)


def logsumexp(x, into):
    def f(x):
        top = dr.max(x)
        return dr.log(dr.sum(dr.exp(x - top))) + top

    return calling(f, x)


def distances(x, y, into):
    (m, width), n, kind = x.shape, len(y), TYPES[x.dtype]

    def f(x, y):
        at = dr.arange(llvm.UInt32, m * n)
        i, j = at // n * width, at % n * width
        total = dr.zeros(kind, m * n)
        for k in range(width):
            total += dr.square(dr.gather(kind, x, i + k) - dr.gather(kind, y, j + k))
        return dr.sqrt(total)

    return calling(f, x, y, shape=(m, n))


def image_statistics(x, into):
    if x.dtype not in TYPES:
        raise NotImplementedError("it has no arrays of bytes")

    def f(x):
        above = dr.count(x > 128)
        return dr.min(x), dr.max(x), dr.sum(llvm.UInt64(x)), above

    return calling(f, x)


def compile_times(workload, count, inputs):
    if workload != "black_scholes":
        raise KeyError(workload)
    spot, strike, years = (TYPES[inputs[k].dtype](inputs[k]) for k in ("spot", "strike", "years"))
    dr.eval(spot, strike, years)
    times = []
    for turn in range(count):
        dr.flush_kernel_cache()
        # Another constant each time: the cache on disk does not have this kernel.
        rate = 0.01 + (time.time_ns() % 1_000_000_007) * 1e-12
        start = time.process_time_ns()
        dr.eval(black_scholes_function(spot, strike, years, rate, 0.25))
        dr.sync_thread()
        times.append(time.process_time_ns() - start)
    return times
