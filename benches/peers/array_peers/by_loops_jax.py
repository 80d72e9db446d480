"""The cases of `loops.py` by JAX: functions compiled by `jit`."""

import jax.numpy as jnp
from by_index_jax import calling, convolution as convolution_of


def made(function):
    return lambda into, **arrays: (calling(function, arrays.values()), lambda value: (value,))


def gelu_of(x, y, b):
    z = x @ y + b
    return 0.5 * z * (1 + jnp.tanh(0.7978845608028654 * (z + 0.044715 * z * z * z)))


def covariance_of(x):
    c = x - jnp.mean(x, axis=0)
    return c.T @ c / (len(x) - 1)


product = made(jnp.matmul)
gelu = made(gelu_of)
covariance = made(covariance_of)
cumsum_down = made(lambda x: jnp.cumsum(x, axis=0))
cumsum_along = made(lambda x: jnp.cumsum(x, axis=1))
scatter_few = made(lambda x, p: jnp.zeros(1000).at[p].add(x, mode="promise_in_bounds"))
scatter_many = made(lambda x, p: jnp.zeros(1_000_000).at[p].add(x, mode="promise_in_bounds"))
scatter_old = made(lambda x, p, h: h.at[p].add(x, mode="promise_in_bounds"))
gather_rows = made(lambda x, p: x.at[p].get(mode="promise_in_bounds"))
convolution = made(convolution_of())
