"""Index notation by Numba: loops with the cheapest index innermost, with fast math and without."""

import math

import numba
import numpy as np
from index_cases import workloads

VARIANTS = 2
VARIANT = 0


def jit(function):
    return numba.njit(fastmath=VARIANT == 1, error_model="numpy")(function)


def product(A, B, C):
    C[:] = 0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            for k in range(B.shape[1]):
                C[i, k] += A[i, j] * B[j, k]


def batched(A, B, C):
    C[:] = 0
    for b in range(A.shape[0]):
        for i in range(A.shape[1]):
            for j in range(A.shape[2]):
                for k in range(B.shape[2]):
                    C[b, i, k] += A[b, i, j] * B[b, j, k]


def batched_rev(A, B, C):
    C[:] = 0
    for i in range(A.shape[0]):
        for k in range(B.shape[1]):
            for j in range(A.shape[1]):
                for b in range(A.shape[2]):
                    C[i, k, b] += A[i, j, b] * B[b, k, j]


def matrix_and_vector(A, x, y):
    for i in range(A.shape[0]):
        total = A.dtype.type(0)
        for j in range(A.shape[1]):
            total += A[i, j] * x[j]
        y[i] = total


def sum_opp(X, Y, s):
    total = 0.0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            total += X[i, j] * math.log(Y[j, i])
    s[()] = total


def sum_part(X, Y, s):
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(X.shape[1]):
            total += X[i, j] * math.log(Y[j, i])
        s[i] = total


def row_sums(a, s):
    for i in range(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            total += math.sin(a[i, j])
        s[i] = total


def conv1(x, k, y):
    y[:] = 0
    for i in range(y.shape[0]):
        for a in range(k.shape[0]):
            for b in range(k.shape[1]):
                for j in range(y.shape[1]):
                    y[i, j] += x[i + a, j + b] * k[a, b]


def conv2(x, k, y):
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            total = 0.0
            for a in range(k.shape[0]):
                for b in range(k.shape[1]):
                    total += x[2 * (i + 3) - a, 2 * (j + 3) - b] * k[a, b]
            y[i, j] = total


def conv3(x, k, y):
    y[:] = 0
    for i in range(y.shape[0]):
        for a in range(k.shape[0]):
            p = i + 3 - a
            if 0 <= p < x.shape[0]:
                for b in range(k.shape[1]):
                    for j in range(max(0, b - 3), min(y.shape[1], x.shape[1] + b - 3)):
                        y[i, j] += x[p, j + 3 - b] * k[a, b]


def covariance(M, S, R):
    for i in range(M.shape[1]):
        for j in range(M.shape[1]):
            total = 0.0
            for m in range(S.shape[0]):
                row = 0.0
                for n in range(S.shape[1]):
                    row += S[m, n] * (M[n, i] - M[n, j])
                total += (M[m, i] - M[m, j]) * row
            R[i, j] = total


def haversine(x, y, E):
    half, two_radii = np.float32(0.5), np.float32(12742)
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            u, v = math.sin((x[i] - x[j]) * half), math.sin((y[i] - y[j]) * half)
            E[i, j] = two_radii * math.asin(math.sqrt(u * u + math.cos(x[i]) * math.cos(x[j]) * v * v))


def sum_tanh(x, s):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += 1 + math.tanh(x[i, j])
    s[()] = total


def numerators(a, b, c):
    c[:] = 0
    for j in range(c.shape[0]):
        for i in range(c.shape[1]):
            for s in range(a.shape[0]):
                for k in range(c.shape[2]):
                    c[j, i, k] += a[s, j, k] * b[s, i, k]


def cosine(a, b, c):
    numerators_of(a, b, c)
    for j in range(c.shape[0]):
        for i in range(c.shape[1]):
            for k in range(c.shape[2]):
                p = a.dtype.type(0)
                q = a.dtype.type(0)
                for s in range(a.shape[0]):
                    p += a[s, j, k] * a[s, j, k]
                    q += b[s, i, k] * b[s, i, k]
                c[j, i, k] /= math.sqrt(p) * math.sqrt(q)


numerators_of = numba.njit(fastmath=True, error_model="numpy")(numerators)


def contraction(a, b, D):
    for k in range(D.shape[0]):
        for n in range(D.shape[1]):
            total = a.dtype.type(0)
            for c in range(b.shape[0]):
                total += a[k, n, c] * np.conj(b[c, k])
            D[k, n] = total


def real_contraction(a, b, D):
    for k in range(D.shape[0]):
        for n in range(D.shape[1]):
            total = a.dtype.type(0)
            for c in range(b.shape[0]):
                total += a[k, n, c] * b[c, k]
            D[k, n] = total


def transpose(A, B):
    for i in range(0, A.shape[0], 16):
        for j in range(0, A.shape[1], 16):
            for p in range(i, min(i + 16, A.shape[0])):
                for q in range(j, min(j + 16, A.shape[1])):
                    B[q, p] = A[p, q]


def permute3(A, B):
    for i in range(A.shape[0]):
        for j in range(0, A.shape[1], 16):
            for k in range(0, A.shape[2], 16):
                for q in range(k, min(k + 16, A.shape[2])):
                    for p in range(j, min(j + 16, A.shape[1])):
                        B[q, i, p] = A[i, p, q]


def permute4(A, B):
    for j in range(A.shape[1]):
        for k in range(A.shape[2]):
            for i in range(0, A.shape[0], 16):
                for l in range(0, A.shape[3], 16):
                    for q in range(l, min(l + 16, A.shape[3])):
                        for p in range(i, min(i + 16, A.shape[0])):
                            B[q, k, j, p] = A[p, j, k, q]


def cp(X, Y, Z, A):
    T = np.ascontiguousarray(Z.T)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = 0
            for r in range(X.shape[1]):
                xy = X[i, r] * Y[j, r]
                for k in range(A.shape[2]):
                    A[i, j, k] += xy * T[r, k]


def stencil(x, y):
    n, m = x.shape
    for i in range(n):
        above, below = (i - 1) % n, (i + 1) % n
        for j in range(1, m - 1):
            y[i, j] = (x[above, j] + x[below, j] + x[i, j - 1] + x[i, j + 1]) / 4
        y[i, 0] = (x[above, 0] + x[below, 0] + x[i, m - 1] + x[i, 1]) / 4
        y[i, m - 1] = (x[above, m - 1] + x[below, m - 1] + x[i, m - 2] + x[i, 0]) / 4


def histogram(J, h, out):
    out[:] = h
    for n in range(len(J)):
        out[J[n]] += 1.0


def nhwc_layer(I, K, o):
    for n in range(o.shape[0]):
        for y in range(o.shape[1]):
            for x in range(o.shape[2]):
                o[n, y, x] = 0
                for i in range(K.shape[0]):
                    for j in range(K.shape[1]):
                        for c in range(K.shape[2]):
                            value = I[n, y + i, x + j, c]
                            for f in range(K.shape[3]):
                                o[n, y, x, f] += value * K[i, j, c, f]


def nchw_layer(I, K, o):
    for n in range(o.shape[0]):
        for f in range(o.shape[1]):
            o[n, f] = 0
            for c in range(K.shape[1]):
                for i in range(K.shape[2]):
                    for j in range(K.shape[3]):
                        for y in range(o.shape[2]):
                            for x in range(o.shape[3]):
                                o[n, f, y, x] += I[n, c, y + i, x + j] * K[f, c, i, j]


def bags(B, E, y):
    y[:] = 0
    for i in range(B.shape[0]):
        for k in range(B.shape[1]):
            for j in range(E.shape[1]):
                y[i, j] += E[B[i, k], j]


def edges(A, B, P, l):
    for e in range(len(A)):
        total = 0.0
        for k in range(P.shape[1]):
            d = P[A[e], k] - P[B[e], k]
            total += d * d
        l[e] = np.sqrt(total)


def forms(x, A, q):
    for n in range(len(x)):
        total = 0.0
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                total += x[n, i] * A[i, j] * x[n, j]
        q[n] = total


# The loops of a statement, and the extents of its result.
LOOPS = {
    "ij,jk->ik": (product, lambda A, B: (A.shape[0], B.shape[1])),
    "bij,bjk->bik": (batched, lambda A, B: (*A.shape[:2], B.shape[2])),
    "ijb,bkj->ikb": (batched_rev, lambda A, B: (A.shape[0], B.shape[1], A.shape[2])),
    "ij,j->i": (matrix_and_vector, lambda A, x: A.shape[:1]),
    "sjk,sik->jik": (numerators, lambda a, b: (a.shape[1], b.shape[1], a.shape[2])),
    "knc,ck->kn": (real_contraction, lambda a, b: a.shape[:2]),
    "ij->ji": (transpose, lambda A: A.shape[::-1]),
    "ijk->kij": (permute3, lambda A: (A.shape[2], *A.shape[:2])),
    "ijkl->lkji": (permute4, lambda A: A.shape[::-1]),
    "ir,jr,kr->ijk": (cp, lambda X, Y, Z: (len(X), len(Y), len(Z))),
    "sum_opp": (sum_opp, lambda X, Y: ()),
    "sum_part": (sum_part, lambda X, Y: X.shape[:1]),
    "row": (row_sums, lambda a: a.shape[:1]),
    "conv1": (conv1, lambda x, k: (94, 94)),
    "conv2": (conv2, lambda x, k: (47, 47)),
    "conv3": (conv3, lambda x, k: (100, 100)),
    "covariance": (covariance, lambda M, S: M.shape),
    "haversine": (haversine, lambda x, y: (len(x), len(x))),
    "sum(1": (sum_tanh, lambda x: ()),
    "cosine": (cosine, lambda a, b: (a.shape[1], b.shape[1], a.shape[2])),
    "contraction": (contraction, lambda a, b: a.shape[:2]),
    "periodic": (stencil, lambda x: x.shape),
    "histogram": (histogram, lambda J, h: h.shape),
    "NHWC": (nhwc_layer, lambda I, K: (I.shape[0], I.shape[1] - 2, I.shape[2] - 2, K.shape[3])),
    "NCHW": (nchw_layer, lambda I, K: (I.shape[0], K.shape[0], I.shape[2] - 2, I.shape[3] - 2)),
    "bags": (bags, lambda B, E: (len(B), E.shape[1])),
    "edges": (edges, lambda A, B, P: A.shape),
    "forms": (forms, lambda x, A: x.shape[:1]),
}


def einsum(name, arrays):
    if name not in LOOPS:
        raise NotImplementedError(name)
    loops, shape = LOOPS[name]
    loops = jit(loops)
    out = np.empty(shape(*arrays), arrays[-1].dtype)

    def call():
        loops(*arrays, out)
        return out

    return call


def by_hand(name, arrays):
    return einsum(name, tuple(arrays.values()))


__getattr__ = workloads(einsum, by_hand)
