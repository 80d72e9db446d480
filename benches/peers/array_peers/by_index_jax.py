"""Index notation by JAX: `jit` of `einsum`, or of the functions that its documentation shows."""

import os

if os.environ["PEER_THREADS"] == "1":
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
from index_cases import workloads
from jax import lax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_cpu_enable_async_dispatch", False)


def calling(function, arrays):
    f = jax.jit(function)
    arrays = [jax.device_put(array) for array in arrays]
    return lambda: jax.block_until_ready(f(*arrays))


def einsum(text, arrays):
    return calling(lambda *arrays: jnp.einsum(text, *arrays, optimize="optimal"), arrays)


def convolution(step=1, pad=0, turn=False):
    def f(x, k):
        k = k[::-1, ::-1] if turn else k
        return lax.conv_general_dilated(x[None, None], k[None, None], (step, step), [(pad, pad)] * 2)[0, 0]

    return f


def haversine(x, y):
    u, v = jnp.sin((x[:, None] - x) / 2), jnp.sin((y[:, None] - y) / 2)
    return 12742 * jnp.arcsin(jnp.sqrt(u * u + jnp.cos(x)[:, None] * jnp.cos(x) * v * v))


def covariance(M, S):
    d = M[:, :, None] - M[:, None, :]
    return jnp.einsum("mij,mn,nij->ij", d, S, d, optimize="optimal")


def cosine(a, b):
    return jnp.einsum("sjk,sik->jik", a, b) / (jnp.sqrt((a * a).sum(0))[:, None] * jnp.sqrt((b * b).sum(0)))


BY_HAND = {
    "sum_opp": lambda X, Y: jnp.sum(X * jnp.log(Y.T)),
    "sum_part": lambda X, Y: jnp.sum(X * jnp.log(Y.T), axis=1),
    "row": lambda a: jnp.sin(a).sum(axis=1),
    "conv1": convolution(),
    "conv2": lambda x, k: convolution(2, turn=True)(x, k)[:47, :47],
    "conv3": convolution(1, 3, turn=True),
    "covariance": covariance,
    "haversine": haversine,
    "sum(1": lambda x: jnp.sum(1 + jnp.tanh(x)),
    "cosine": cosine,
    "contraction": lambda a, b: jnp.einsum("knc,ck->kn", a, b.conj()),
    "periodic": lambda x: (jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0) + jnp.roll(x, 1, 1) + jnp.roll(x, -1, 1)) / 4,
    "histogram": lambda J, h: h.at[J].add(1.0),
    "NHWC": lambda I, K: lax.conv_general_dilated(I, K, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")),
    "NCHW": lambda I, K: lax.conv_general_dilated(I, K, (1, 1), "VALID"),
    "bags": lambda B, E: E[B].sum(axis=1),
    "edges": lambda A, B, P: jnp.sqrt(((P[A] - P[B]) ** 2).sum(axis=1)),
    "forms": lambda x, A: jnp.einsum("ni,ij,nj->n", x, A, x, optimize="optimal"),
}


def by_hand(name, arrays):
    return calling(BY_HAND[name], arrays.values())


__getattr__ = workloads(einsum, by_hand)
