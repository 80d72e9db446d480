"""The workloads: what goes in, at which sizes, and how near to the exact results all must be."""

from dataclasses import dataclass, field
from math import isqrt
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE.parent / "workloads"
IMAGE = HERE.parents[2] / "fixtures" / "data" / "astronaut_u8.npy"
SIZES = [8, 1_000, 30_000, 1_000_000, 10_000_000]

RATE, VOL = 0.03, 0.25


@dataclass
class Workload:
    """A program of `workloads/NAME.ir`; `inputs(n, dtype, rng)` gives its arguments by name."""

    name: str
    title: str
    inputs: object
    dtypes: tuple = ("f64", "f32")
    modes: tuple = ("into",)
    # The part of the greatest result's magnitude that results may be off by.
    tolerance: dict = field(default_factory=lambda: {"f64": 1e-11, "f32": 1e-4, "u8": 0.0})
    # A pipeline with a rewrite on request that Rewright has for it, and the liberties which that takes. The faster way counts, with it and without.
    fast_math: tuple = None

    @property
    def program(self):
        return PROGRAMS / f"{self.name}.ir"


def numpy_dtype(dtype):
    return {"f64": np.float64, "f32": np.float32, "u8": np.uint8}[dtype]


def uniform(rng, low, high, shape, dtype):
    return rng.uniform(low, high, shape).astype(numpy_dtype(dtype))


def arrays(**ranges):
    def make(n, dtype, rng):
        return {name: uniform(rng, low, high, n, dtype) for name, (low, high) in ranges.items()}

    return make


def options(n, dtype, rng):
    """Of European calls."""
    value = numpy_dtype(dtype)
    return {
        "spot": uniform(rng, 50, 150, n, dtype),
        "strike": uniform(rng, 50, 150, n, dtype),
        "years": uniform(rng, 0.1, 2, n, dtype),
        "rate": value(RATE),
        "vol": value(VOL),
    }


def squares(n, dtype, rng):
    """Two square arrays of about so many elements."""
    side = (isqrt(n), isqrt(n))
    return {"x": uniform(rng, -1, 1, side, dtype), "y": uniform(rng, 0.5, 2, side, dtype)}


def rows(n, dtype, rng):
    """As many elements, in rows of a thousand where there are enough."""
    width = {8: 4, 1_000: 100}.get(n, 1_000)
    return {"x": uniform(rng, -4, 4, (n // width, width), dtype)}


def points(n, dtype, rng):
    """Points with 16 coordinates, as many as have about n differences of coordinates."""
    width = 2 if n < 100 else 16
    side = max(isqrt(n // width), 1)
    return {"x": uniform(rng, -1, 1, (side, width), dtype), "y": uniform(rng, -1, 1, (side, width), dtype)}


def image(n, dtype, rng):
    """The bytes of a photograph, as often as there are enough."""
    return {"x": np.resize(np.load(IMAGE).ravel(), n)}


WORKLOADS = [
    Workload("axpby", "2a + 3b", arrays(a=(-1, 1), b=(-1, 1)), modes=("into", "new")),
    Workload("polynomial", "a*b + c*(a - b)*0.5 + 1", arrays(a=(-1, 1), b=(-1, 1), c=(-1, 1))),
    Workload("trigonometry", "sin(a)² + cos(b)²", arrays(a=(-10, 10), b=(-10, 10))),
    Workload("exponentials", "exp(-a·a) · log(1 + b)", arrays(a=(-2, 2), b=(0, 10))),
    Workload("black_scholes", "Black-Scholes (tanh form)", options),
    Workload("sum_x_log_yt", "sum(x · log(y.T))", squares),
    Workload(
        "mean_variance",
        "mean and variance",
        arrays(x=(-1, 3)),
        fast_math=("canonicalize, one-pass-variance, default", "reassociate, no_inf"),
    ),
    Workload("softmax", "softmax of rows", rows),
    Workload("logsumexp", "logsumexp", arrays(x=(-4, 4))),
    Workload("distances", "L2 distances", points),
    Workload("image_statistics", "min, max, sum, count of bytes", image, dtypes=("u8",)),
]


def size(inputs):
    """The number that times are divided by: elements of the largest operand, or of the operation where that is larger."""
    if set(inputs) == {"x", "y"} and inputs["x"].shape[1] in (2, 16):
        return inputs["x"].shape[0] * inputs["y"].shape[0] * inputs["x"].shape[1]
    return max(np.size(x) for x in inputs.values())


def reference(name, inputs):
    """The results, by NumPy in double precision."""
    x = {key: np.asarray(value, dtype=np.float64) if value.dtype != np.uint8 else value for key, value in inputs.items()}
    if name == "axpby":
        return [2 * x["a"] + 3 * x["b"]]
    if name == "polynomial":
        return [x["a"] * x["b"] + x["c"] * (x["a"] - x["b"]) * 0.5 + 1]
    if name == "trigonometry":
        return [np.sin(x["a"]) ** 2 + np.cos(x["b"]) ** 2]
    if name == "exponentials":
        return [np.exp(-x["a"] * x["a"]) * np.log(1 + x["b"])]
    if name == "black_scholes":
        spot, strike, years, rate, vol = (x[k] for k in ("spot", "strike", "years", "rate", "vol"))
        normal = lambda d: 0.5 * (1 + np.tanh(0.7978845608028654 * (d + 0.044715 * d * d * d)))
        root = vol * np.sqrt(years)
        d1 = (np.log(spot / strike) + (rate + 0.5 * vol * vol) * years) / root
        return [spot * normal(d1) - strike * np.exp(-rate * years) * normal(d1 - root)]
    if name == "sum_x_log_yt":
        return [np.sum(x["x"] * np.log(x["y"].T))]
    if name == "mean_variance":
        return [np.mean(x["x"]), np.var(x["x"])]
    if name == "softmax":
        e = np.exp(x["x"] - x["x"].max(axis=1, keepdims=True))
        return [e / e.sum(axis=1, keepdims=True)]
    if name == "logsumexp":
        top = x["x"].max()
        return [np.log(np.sum(np.exp(x["x"] - top))) + top]
    if name == "distances":
        u, v = x["x"], x["y"]
        out = np.empty((len(u), len(v)))
        for i, row in enumerate(u):
            out[i] = np.sqrt(np.sum((row - v) ** 2, axis=1))
        return [out]
    if name == "image_statistics":
        x = x["x"]
        return [x.min(), x.max(), x.sum(dtype=np.uint64), np.count_nonzero(x > 128)]
    raise KeyError(name)
