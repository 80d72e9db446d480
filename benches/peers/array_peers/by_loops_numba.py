"""The cases of `loops.py` by Numba: loops, with fast math and without."""

import math

import numba
import numpy as np
from by_index_numba import conv1
from memory import empty

VARIANTS = 2
VARIANT = 0


def loops(function, shapes):
    """A workload of a function that writes into its last arguments, of these shapes."""

    def make(into, **arrays):
        compiled = numba.njit(fastmath=VARIANT == 1, error_model="numpy")(function)
        arrays = list(arrays.values())
        made = shapes(*arrays)
        out = tuple(empty(shape, arrays[0].dtype) for shape in (made if isinstance(made, list) else [made]))

        def call():
            compiled(*arrays, *out)
            return out

        return call, lambda value: value

    return make


def add_down(x, y):
    for j in range(x.shape[1]):
        y[0, j] = x[0, j]
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = y[i - 1, j] + x[i, j]


def add_along(x, y):
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            total += x[i, j]
            y[i, j] = total


def scatter(x, p, y):
    y[:] = 0
    for i in range(len(x)):
        y[p[i]] += x[i]


def scatter_to(x, p, h, y):
    y[:] = h
    for i in range(len(x)):
        y[p[i]] += x[i]


def gather(x, p, y):
    for i in range(len(p)):
        row = x[p[i]]
        for j in range(len(row)):
            y[i, j] = row[j]


def padded_windows(x, k, y):
    n, m = x.shape
    padded = np.zeros((n + 6, m + 6))
    for i in range(n):
        for j in range(m):
            padded[i + 3, j + 3] = x[i, j]
    windows_of(padded, k, y)


windows_of = numba.njit(fastmath=True, error_model="numpy")(conv1)


def covariance_of(x, y):
    n, m = x.shape
    mean = np.zeros(m)
    for i in range(n):
        for j in range(m):
            mean[j] += x[i, j]
    centred = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            centred[i, j] = x[i, j] - mean[j] / n
    np.dot(centred.T, centred, y)
    for i in range(m):
        for j in range(m):
            y[i, j] /= n - 1


def jacobi_of(x, y):
    n, m = x.shape
    for j in range(m):
        y[0, j] = x[0, j]
        y[n - 1, j] = x[n - 1, j]
    for i in range(1, n - 1):
        y[i, 0] = x[i, 0]
        for j in range(1, m - 1):
            y[i, j] = 0.2 * (x[i, j] + x[i, j - 1] + x[i, j + 1] + x[i + 1, j] + x[i - 1, j])
        y[i, m - 1] = x[i, m - 1]


def hdiff_of(x, coefficient, y):
    n, m, d = y.shape
    lap = np.empty((n + 2, m + 2, d))
    for i in range(n + 2):
        for j in range(m + 2):
            for k in range(d):
                around = x[i + 2, j + 1, k] + x[i, j + 1, k] + x[i + 1, j + 2, k] + x[i + 1, j, k]
                lap[i, j, k] = 4 * x[i + 1, j + 1, k] - around
    down = np.empty((n + 1, m, d))
    for i in range(n + 1):
        for j in range(m):
            for k in range(d):
                flux = lap[i + 1, j + 1, k] - lap[i, j + 1, k]
                down[i, j, k] = 0 if flux * (x[i + 2, j + 2, k] - x[i + 1, j + 2, k]) > 0 else flux
    across = np.empty((m + 1, d))
    for i in range(n):
        for j in range(m + 1):
            for k in range(d):
                flux = lap[i + 1, j + 1, k] - lap[i + 1, j, k]
                across[j, k] = 0 if flux * (x[i + 2, j + 2, k] - x[i + 2, j + 1, k]) > 0 else flux
        for j in range(m):
            for k in range(d):
                change = down[i + 1, j, k] - down[i, j, k] + across[j + 1, k] - across[j, k]
                y[i, j, k] = x[i + 2, j + 2, k] - coefficient[i, j, k] * change


def arc_distance_of(t1, p1, t2, p2, y):
    for i in range(len(t1)):
        u, v = math.sin((t2[i] - t1[i]) * 0.5), math.sin((p2[i] - p1[i]) * 0.5)
        a = u * u + math.cos(t1[i]) * math.cos(t2[i]) * v * v
        y[i] = 2 * math.atan2(math.sqrt(a), math.sqrt(1 - a))


def forces_of(x, y, z, m, ax, ay, az):
    for i in range(len(x)):
        p = q = r = 0.0
        for j in range(len(x)):
            dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
            square = dx * dx + dy * dy + dz * dz + 0.01
            w = m[j] / (square * math.sqrt(square))
            p += dx * w
            q += dy * w
            r += dz * w
        ax[i], ay[i], az[i] = p, q, r


def clip_of(x, y, z):
    for i in range(len(x)):
        z[i] = min(max(x[i], 2), 10) * 4 + y[i] * 3 + 9


cumsum_down = loops(add_down, lambda x: x.shape)
cumsum_along = loops(add_along, lambda x: x.shape)
scatter_few = loops(scatter, lambda x, p: 1000)
scatter_many = loops(scatter, lambda x, p: 1_000_000)
scatter_old = loops(scatter_to, lambda x, p, h: h.shape)
gather_rows = loops(gather, lambda x, p: (len(p), x.shape[1]))
convolution = loops(conv1, lambda x, k: (x.shape[0] - 6, x.shape[1] - 6))
convolution_padded = loops(padded_windows, lambda x, k: x.shape)
covariance = loops(covariance_of, lambda x: (x.shape[1],) * 2)
jacobi = loops(jacobi_of, lambda x: x.shape)
hdiff = loops(hdiff_of, lambda x, coefficient: coefficient.shape)
arc_distance = loops(arc_distance_of, lambda t1, p1, t2, p2: t1.shape)
forces = loops(forces_of, lambda x, y, z, m: [x.shape] * 3)
clip = loops(clip_of, lambda x, y: x.shape)
