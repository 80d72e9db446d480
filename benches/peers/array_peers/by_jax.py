"""JAX on the processor: jit, waiting for each result. Results are arrays of its own in any case."""

import os
import time

if os.environ["PEER_THREADS"] == "1":
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
# A call that is made in the caller's thread need not wake another one.
jax.config.update("jax_cpu_enable_async_dispatch", False)


def results(values):
    return values if isinstance(values, tuple) else (values,)


def calling(function, *arrays):
    f = jax.jit(function)
    arrays = [jax.device_put(array) for array in arrays]
    return lambda: jax.block_until_ready(f(*arrays)), results


def axpby(a, b, into):
    return calling(lambda a, b: 2 * a + 3 * b, a, b)


def polynomial(a, b, c, into):
    return calling(lambda a, b, c: a * b + c * (a - b) * 0.5 + 1, a, b, c)


def trigonometry(a, b, into):
    return calling(lambda a, b: jnp.sin(a) ** 2 + jnp.cos(b) ** 2, a, b)


def exponentials(a, b, into):
    return calling(lambda a, b: jnp.exp(-a * a) * jnp.log(1 + b), a, b)


def black_scholes_function(spot, strike, years, rate, vol):
    normal = lambda d: 0.5 * (1 + jnp.tanh(0.7978845608028654 * (d + 0.044715 * d * d * d)))
    root = vol * jnp.sqrt(years)
    d1 = (jnp.log(spot / strike) + (rate + 0.5 * vol * vol) * years) / root
    return spot * normal(d1) - strike * jnp.exp(-rate * years) * normal(d1 - root)


def black_scholes(spot, strike, years, rate, vol, into):
    return calling(black_scholes_function, spot, strike, years, rate, vol)


def sum_x_log_yt(x, y, into):
    return calling(lambda x, y: jnp.sum(x * jnp.log(y.T)), x, y)


def mean_variance(x, into):
    return calling(lambda x: (jnp.mean(x), jnp.var(x)), x)


def softmax(x, into):
    def f(x):
        e = jnp.exp(x - jnp.max(x, axis=1, keepdims=True))
        return e / jnp.sum(e, axis=1, keepdims=True)

    return calling(f, x)


def logsumexp(x, into):
    def f(x):
        top = jnp.max(x)
        return jnp.log(jnp.sum(jnp.exp(x - top))) + top

    return calling(f, x)


def distances(x, y, into):
    return calling(lambda x, y: jnp.sqrt(jnp.sum((x[:, None] - y[None]) ** 2, axis=2)), x, y)


def image_statistics(x, into):
    return calling(lambda x: (jnp.min(x), jnp.max(x), jnp.sum(x, dtype=jnp.uint64), jnp.sum(x > 128, dtype=jnp.int64)), x)


def compile_times(workload, count, inputs):
    if workload != "black_scholes":
        raise KeyError(workload)
    arguments = [inputs[k] for k in ("spot", "strike", "years", "rate", "vol")]
    times = []
    for _ in range(count):
        jax.clear_caches()
        start = time.process_time_ns()
        jax.jit(black_scholes_function).lower(*arguments).compile()
        times.append(time.process_time_ns() - start)
    return times
