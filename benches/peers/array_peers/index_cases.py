"""Programs of index notation: statements, their arrays, and `einsum` strings that say the same, if any."""

from dataclasses import dataclass, field

import numpy as np

TYPES = {"f64": np.float64, "f32": np.float32, "c64": np.complex64}


@dataclass
class Program:
    """A program of statements, and the extents of its arrays."""

    name: str
    text: str
    shapes: dict
    # The same as an `einsum` string of the arrays in the order of `shapes`.
    einsum: str = None
    dtype: str = "f64"
    # The least and the greatest element.
    bounds: tuple = (0.5, 1.5)
    # Arrays of positions below a number.
    positions: dict = field(default_factory=dict)
    # Products of matrices: other goals hold.
    is_product: bool = False
    tolerance: float = 1e-10

    @property
    def function(self):
        """The name of the same by hand."""
        return self.name.split(" ")[0].rstrip(",")

    def inputs(self, rng):
        made = {}
        for name, shape in self.shapes.items():
            if name in self.positions:
                made[name] = rng.integers(0, self.positions[name], shape)
                continue
            value = rng.uniform(*self.bounds, shape)
            if self.dtype == "c64":
                value = value + 1j * rng.uniform(*self.bounds, shape)
            made[name] = value.astype(TYPES[self.dtype])
        return made


def matrices(n, *names):
    return dict.fromkeys(names, (n, n))


CONVOLUTION = {"x": (100, 100), "k": (7, 7)}
COSINE = {"a": (64, 4, 16), "b": (64, 16, 16)}
HAVERSINE = """\
D[i,j] := { u = sin((x[i]-x[j])/2); v = sin((y[i]-y[j])/2); u*u + cos(x[i])*cos(x[j])*v*v }
E[i,j] := 12742 * asin(sqrt(D[i,j]))
"""
COSINE_FUSED = """\
p[j,k] := a[s,j,k]^2 |> sqrt
q[i,k] := b[s,i,k]^2 |> sqrt
c[j,i,k] := a[s,j,k] * b[s,i,k] |> _ / (p[j,k] * q[i,k])
"""

PROGRAMS = [
    *(
        Program(f"product {n}", "C[i,k] := A[i,j] * B[j,k]", matrices(n, "A", "B"), "ij,jk->ik", is_product=True)
        for n in (64, 200, 512, 1000)
    ),
    Program("product, f32 512", "C[i,k] := A[i,j] * B[j,k]", matrices(512, "A", "B"), "ij,jk->ik", "f32", is_product=True, tolerance=1e-4),
    Program("product, c64 200", "C[i,k] := A[i,j] * B[j,k]", matrices(200, "A", "B"), "ij,jk->ik", "c64", is_product=True, tolerance=1e-4),
    Program("transposed factors 512", "C[i,k] := A[j,i] * B[k,j]", matrices(512, "A", "B"), "ji,kj->ik", is_product=True),
    Program("transposed result 512", "C[k,i] := A[i,j] * B[j,k]", matrices(512, "A", "B"), "ij,jk->ki", is_product=True),
    Program("matrix and vector 1000", "y[i] := A[i,j] * x[j]", {"A": (1000, 1000), "x": (1000,)}, "ij,j->i"),
    Program("bmm", "C[b,i,k] := A[b,i,j] * B[b,j,k]", {"A": (500, 20, 30), "B": (500, 30, 40)}, "bij,bjk->bik"),
    Program("bmm_rev", "C[i,k,b] := A[i,j,b] * B[b,k,j]", {"A": (20, 30, 500), "B": (500, 40, 30)}, "ijb,bkj->ikb"),
    Program("sum_opp 1000", "s := X[i,j] * log(Y[j,i])", matrices(1000, "X", "Y")),
    Program("sum_part 1000", "s[i] := X[i,j] * log(Y[j,i])", matrices(1000, "X", "Y")),
    Program("row sums of sin 1000", "s[i] := sin(a[i,j])", matrices(1000, "a")),
    Program("conv1", "y[i,j] := x[i+a,j+b] * k[a,b]", CONVOLUTION),
    Program("conv2", "y[i+_,j+_] := x[2i-a,2j-b] * k[a,b]", CONVOLUTION),
    Program("conv3", "y[i+_,j+_] := x[pad(i-a,3),pad(j-b,3)] * k[a,b]", CONVOLUTION),
    Program("chain 30", "W[i,l] := X[i,j] * Y[j,k] * Z[k,l]", matrices(30, "X", "Y", "Z"), "ij,jk,kl->il", is_product=True),
    Program("chain 100", "W[i,l] := X[i,j] * Y[j,k] * Z[k,l]", matrices(100, "X", "Y", "Z"), "ij,jk,kl->il", is_product=True),
    Program("covariance 100", "R[i,j] := (M[m,i]-M[m,j]) * S[m,n] * (M[n,i]-M[n,j])", matrices(100, "M", "S"), tolerance=1e-9),
    Program("haversine 2000, f32", HAVERSINE, {"x": (2000,), "y": (2000,)}, dtype="f32", tolerance=2e-3),
    Program("sum(1 + tanh(x)) 1000", "s := 1 + tanh(x[i,j])", matrices(1000, "x"), bounds=(-2, 2)),
    Program("cosine, numerators, f32", "c[j,i,k] := a[s,j,k] * b[s,i,k]", COSINE, "sjk,sik->jik", "f32", tolerance=1e-4),
    Program("cosine, f32", COSINE_FUSED, COSINE, dtype="f32", tolerance=1e-4),
    Program("contraction, c64", "D[k,n] := a[k,n,c] * conj(b[c,k])", {"a": (100, 200, 250), "b": (250, 100)}, dtype="c64", tolerance=1e-4),
    Program("contraction, f32", "D[k,n] := a[k,n,c] * b[c,k]", {"a": (100, 200, 250), "b": (250, 100)}, "knc,ck->kn", "f32", tolerance=1e-4),
    Program("transpose 4096", "B[j,i] := A[i,j]", matrices(4096, "A"), "ij->ji"),
    Program("permute 312 of 256³", "B[k,i,j] := A[i,j,k]", {"A": (256, 256, 256)}, "ijk->kij"),
    Program("permute 4321 of 64⁴", "B[l,k,j,i] := A[i,j,k,l]", {"A": (64, 64, 64, 64)}, "ijkl->lkji"),
    Program("CP 100³ of 20", "A[i,j,k] := X[i,r] * Y[j,r] * Z[k,r]", {"X": (100, 20), "Y": (100, 20), "Z": (100, 20)}, "ir,jr,kr->ijk"),
    Program("periodic stencil 1000", "y[i,j] := (x[mod(i-1),j] + x[mod(i+1),j] + x[i,mod(j-1)] + x[i,mod(j+1)]) / 4", matrices(1000, "x")),
    Program("histogram 1e6", "h[J[i]] += 1.0", {"J": (1_000_000,), "h": (256,)}, positions={"J": 256}),
    Program("NHWC layer, f32", "o[n,y,x,f] := I[n,y+i,x+j,c] * K[i,j,c,f]", {"I": (2, 34, 34, 16), "K": (3, 3, 16, 32)}, dtype="f32", tolerance=1e-4),
    Program("NCHW layer, f32", "o[n,f,y,x] := I[n,c,y+i,x+j] * K[f,c,i,j]", {"I": (2, 16, 34, 34), "K": (32, 16, 3, 3)}, dtype="f32", tolerance=1e-4),
    Program("bags of 20 rows of 64", "y[i,j] := E[B[i,k],j]", {"B": (2000, 20), "E": (1000, 64)}, positions={"B": 1000}),
    Program("edges 50000", "l[e] := (P[A[e],k] - P[B[e],k])^2 |> sqrt", {"A": (50_000,), "B": (50_000,), "P": (5000, 3)}, positions={"A": 5000, "B": 5000}),
    Program("forms, quadratic 20000", "q[n] := x[n,i] * A[i,j] * x[n,j]", {"x": (20_000, 4), "A": (4, 4)}),
]


def reference(program, inputs):
    """The results, by NumPy in double precision."""
    x = {name: value if name in program.positions else value.astype(np.complex128 if program.dtype == "c64" else np.float64) for name, value in inputs.items()}
    if program.einsum:
        return np.einsum(program.einsum, *x.values(), optimize=True)
    return BY_HAND[program.function](**x)


def workloads(einsum, by_hand):
    """The `__getattr__` of a peer's module: makes the calls of an `einsum` string, or of a function."""

    def make(name):
        if "->" in name:
            return lambda into, **arrays: (einsum(name, tuple(arrays.values())), lambda value: (value,))
        if name.startswith("by hand: "):
            return lambda into, **arrays: (by_hand(name.removeprefix("by hand: "), arrays), lambda value: (value,))
        raise AttributeError(name)

    return make


def windows(x, k, step=1):
    return np.einsum("ijab,ab->ij", np.lib.stride_tricks.sliding_window_view(x, k.shape)[::step, ::step], k)


def nhwc_layer(I, K):
    return np.einsum("nyxcij,ijcf->nyxf", np.lib.stride_tricks.sliding_window_view(I, (3, 3), (1, 2)), K, optimize=True)


def nchw_layer(I, K):
    return np.einsum("ncyxij,fcij->nfyx", np.lib.stride_tricks.sliding_window_view(I, (3, 3), (2, 3)), K, optimize=True)


def haversine(x, y):
    u, v = np.sin((x[:, None] - x) / 2), np.sin((y[:, None] - y) / 2)
    return 12742 * np.arcsin(np.sqrt(u * u + np.cos(x)[:, None] * np.cos(x) * v * v))


def cosine(a, b):
    return np.einsum("sjk,sik->jik", a, b) / (np.sqrt((a * a).sum(0))[:, None] * np.sqrt((b * b).sum(0)))


def covariance(M, S):
    d = M[:, :, None] - M[:, None, :]
    return np.einsum("mij,mij->ij", d, np.tensordot(S, d, 1))


def stencil(x):
    return (np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1)) / 4


BY_HAND = {
    "sum_opp": lambda X, Y: np.sum(X * np.log(Y.T)),
    "sum_part": lambda X, Y: np.sum(X * np.log(Y.T), axis=1),
    "row": lambda a: np.sin(a).sum(axis=1),
    "conv1": windows,
    # 2i - a, from i = 3: rows 0 to 92, and the kernel reversed.
    "conv2": lambda x, k: windows(x, k[::-1, ::-1], 2)[:47, :47],
    "conv3": lambda x, k: windows(np.pad(x, 3), k[::-1, ::-1]),
    "covariance": covariance,
    "haversine": haversine,
    "sum(1": lambda x: np.sum(1 + np.tanh(x)),
    "cosine": cosine,
    "contraction": lambda a, b: np.einsum("knc,ck->kn", a, b.conj()),
    "periodic": stencil,
    "histogram": lambda J, h: h + np.bincount(J, minlength=len(h)),
    "NHWC": nhwc_layer,
    "NCHW": nchw_layer,
    "bags": lambda B, E: E[B].sum(axis=1),
    "edges": lambda A, B, P: np.sqrt(((P[A] - P[B]) ** 2).sum(axis=1)),
    "forms": lambda x, A: np.einsum("ni,ij,nj->n", x, A, x, optimize=True),
}
