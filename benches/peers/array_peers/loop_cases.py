"""Cases of `loops.py`: programs, their arrays, exact results by NumPy, and the peers of each table."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

PROGRAMS = Path(__file__).resolve().parents[1] / "loops"
TYPES = {"f64": np.float64, "f32": np.float32, "c128": np.complex128, "c64": np.complex64}

@dataclass
class Peer:
    module: str
    # The ending of the names of its functions.
    ending: str = ""


PEERS = {
    "NumPy": Peer("loops_numpy"),
    "add.at": Peer("loops_numpy", "_at"),
    "bincount": Peer("loops_numpy", "_bincount"),
    "faer": Peer("loops_gemm", "_faer"),
    "gemm": Peer("loops_gemm", "_gemm"),
    "JAX": Peer("loops_jax"),
    "Numba": Peer("loops_numba"),
    "C": Peer("loops_c"),
}


@dataclass
class Case:
    """A row: a program, the function in it, and the function of peers that computes the same."""

    name: str
    program: str
    workload: str
    # Makes the arrays by name.
    inputs: object
    # Computes the results, a tuple, from the arrays in double precision.
    exact: object
    function: str = None
    tolerance: float = 1e-10
    # Whether a quick run leaves it out.
    is_large: bool = False

    @property
    def path(self):
        return PROGRAMS / self.program


@dataclass
class Table:
    name: str
    title: str
    peers: tuple
    cases: list
    # The numbers of threads, each with columns of its own.
    threads: tuple = (1,)
    variables: dict = field(default_factory=dict)


def uniform(dtype="f64", low=-1.0, high=1.0, **shapes):
    def make(rng):
        made = {}
        for name, shape in shapes.items():
            value = rng.uniform(low, high, shape)
            if dtype in ("c64", "c128"):
                value = value + 1j * rng.uniform(low, high, shape)
            made[name] = value.astype(TYPES[dtype])
        return made

    return make


def in_double(function):
    """The function, of arrays in double precision."""

    def exact(**arrays):
        wide = {np.float32: np.float64, np.complex64: np.complex128}
        arrays = {name: array.astype(wide.get(array.dtype.type, array.dtype)) for name, array in arrays.items()}
        results = function(**arrays)
        return tuple(np.asarray(r) for r in (results if isinstance(results, tuple) else (results,)))

    return exact


def product(name, shape, dtype="f64", program="product.ir", function=None, workload="product"):
    """`shape` has the extents of the rows, the inner dimension and the columns."""
    n, k, m = shape
    x, y = {"xyt": ((n, k), (m, k)), "xty": ((k, n), (k, m)), "xtyt": ((k, n), (m, k))}.get(function, ((n, k), (k, m)))
    how = {"xyt": lambda x, y: x @ y.T, "xty": lambda x, y: x.T @ y, "xtyt": lambda x, y: x.T @ y.T}
    return Case(
        name,
        program,
        workload,
        uniform(dtype, x=x, y=y),
        in_double(how.get(function, lambda x, y: x @ y)),
        function or dtype,
        1e-4 if dtype in ("f32", "c64") else 1e-10,
        n * k * m >= 1 << 30,
    )


def transposed(which, about):
    return product(f"f64 512, {about}", (512, 512, 512), program="product_of_transposes.ir", function=which, workload=f"product_{which}")


def gelu(x, y, b):
    z = x @ y + b
    return 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))


def points_and_positions(points, places):
    return lambda rng: {"x": rng.uniform(-1, 1, points), "p": rng.integers(0, places, points)}


def scatter_add(name, places, workload, program="scatter_add.ir", function=None):
    """Adds a million values. The program in index notation adds to an array that is an argument."""
    base = points_and_positions(1_000_000, places)
    if program.endswith(".idx"):
        inputs = lambda rng: base(rng) | {"h": rng.uniform(-1, 1, places)}
        exact = in_double(lambda x, p, h: h + np.bincount(p, x, places))
    else:
        inputs, exact = base, in_double(lambda x, p: np.bincount(p, x, places))
    return Case(name, program, workload, inputs, exact, function)


def gather_rows(name, rows, width):
    inputs = lambda rng: {"x": rng.uniform(-1, 1, (10_000, width)), "p": rng.integers(0, 10_000, rows)}
    return Case(name, "gather_rows.ir", "gather_rows", inputs, in_double(lambda x, p: x[p]), "f64")


def windows(x, k):
    return np.einsum("ijab,ab->ij", np.lib.stride_tricks.sliding_window_view(x, k.shape), k)


def covariance(x):
    c = x - x.mean(axis=0)
    return c.T @ c / (len(x) - 1)


def jacobi(x):
    y = x.copy()
    y[1:-1, 1:-1] = 0.2 * (x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[2:, 1:-1] + x[:-2, 1:-1])
    return y


def hdiff(x, coefficient):
    lap = 4 * x[1:-1, 1:-1] - (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])
    down = lap[1:, 1:-1] - lap[:-1, 1:-1]
    down = np.where(down * (x[2:-1, 2:-2] - x[1:-2, 2:-2]) > 0, 0, down)
    across = lap[1:-1, 1:] - lap[1:-1, :-1]
    across = np.where(across * (x[2:-2, 2:-1] - x[2:-2, 1:-2]) > 0, 0, across)
    return x[2:-2, 2:-2] - coefficient * (down[1:] - down[:-1] + across[:, 1:] - across[:, :-1])


def arc_distance(t1, p1, t2, p2):
    a = np.sin((t2 - t1) / 2) ** 2 + np.cos(t1) * np.cos(t2) * np.sin((p2 - p1) / 2) ** 2
    return 2 * np.arctan2(np.sqrt(a), np.sqrt(1 - a))


def forces(x, y, z, m):
    dx, dy, dz = x - x[:, None], y - y[:, None], z - z[:, None]
    w = m / (dx * dx + dy * dy + dz * dz + 0.01) ** 1.5
    return (dx * w).sum(1), (dy * w).sum(1), (dz * w).sum(1)


SIZES = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
IMAGE = {"x": (100, 100), "k": (7, 7)}
SQUARE = {"x": (1000, 1000)}
CONVOLUTIONS = [
    Case("convolution 7 x 7 of 100 x 100", "convolution.idx", "convolution", uniform(**IMAGE), in_double(windows)),
    Case(
        "the same, padded by zeros",
        "convolution_padded.idx",
        "convolution_padded",
        uniform(**IMAGE),
        in_double(lambda x, k: windows(np.pad(x, 3), k)),
    ),
]
CUMSUMS = [
    Case("cumsum 1000 x 1000, `axis=0`", "cumsum.ir", "cumsum_down", uniform(**SQUARE), in_double(lambda x: x.cumsum(0)), "down"),
    Case("cumsum 1000 x 1000, `axis=1`", "cumsum.ir", "cumsum_along", uniform(**SQUARE), in_double(lambda x: x.cumsum(1)), "along"),
]


def vectors(name, function, x, y, exact, is_large=False):
    return Case(name, "vectors.ir", function, uniform(x=x, y=y), in_double(exact), function, is_large=is_large)


TABLES = [
    *(
        Table(
            f"products_{dtype}",
            f"Products of matrices, `{dtype}`",
            ("NumPy", "faer", "gemm"),
            [product(f"{n}", (n, n, n), dtype) for n in SIZES],
        )
        for dtype in ("f64", "f32")
    ),
    Table(
        "layouts",
        "Transposed factors and complex numbers",
        ("NumPy",),
        [
            transposed("xyt", "`x @ y.T`"),
            transposed("xty", "`x.T @ y`"),
            transposed("xtyt", "`x.T @ y.T`"),
            *(product(f"{dtype} {n}", (n, n, n), dtype) for dtype in ("c128", "c64") for n in (256, 512)),
        ],
    ),
    Table(
        "avx2",
        "Products of matrices, `f64`, AVX2 only",
        ("NumPy",),
        [product(f"{n}", (n, n, n)) for n in (64, 128, 256, 512, 1024)],
        variables={"REWRIGHT_X64": "avx2", "OPENBLAS_CORETYPE": "Haswell"},
    ),
    Table(
        "chains",
        "Products with work before or after them",
        ("NumPy", "JAX", "Numba"),
        [
            product("the product alone, 512", (512, 512, 512)),
            Case("GELU of `x @ y + b`, 512", "gelu.ir", "gelu", uniform(x=(512, 512), y=(512, 512), b=(512,)), in_double(gelu), "f64"),
            Case("covariance of 1400 x 600", "covariance.ir", "covariance", uniform(x=(1400, 600)), in_double(covariance), "f64"),
        ],
    ),
    Table(
        "vectors",
        "Vectors and narrow matrices",
        ("NumPy",),
        [
            vectors("matrix and vector 1000", "matrix_vector", (1000, 1000), (1000,), lambda x, y: x @ y),
            vectors("matrix and vector 4000", "matrix_vector", (4000, 4000), (4000,), lambda x, y: x @ y, True),
            vectors("vector and matrix 1000", "vector_matrix", (1000,), (1000, 1000), lambda x, y: x @ y),
            vectors("vector and matrix 4000", "vector_matrix", (4000,), (4000, 4000), lambda x, y: x @ y, True),
            vectors("dot of 1e6", "dot", (1_000_000,), (1_000_000,), lambda x, y: x @ y),
            vectors("outer product 1000 x 1000", "outer", (1000,), (1000,), lambda x, y: np.multiply.outer(x, y)),
            product("1000 x 1000 by 1000 x 8", (1000, 1000, 8)),
            product("8 x 1000 by 1000 x 1000", (8, 1000, 1000)),
            product("1000 x 8 by 8 x 1000", (1000, 8, 1000)),
        ],
    ),
    Table("scans", "Running sums", ("NumPy", "JAX", "Numba"), CUMSUMS),
    Table(
        "scatters",
        "Sums at positions of 1e6 values",
        ("add.at", "bincount", "JAX", "Numba"),
        [
            scatter_add("into 1e3 zeros", 1000, "scatter_few", function="few"),
            scatter_add("into 1e6 zeros", 1_000_000, "scatter_many", function="many"),
            scatter_add("`h[p[i]] += x[i]`, 1e3", 1000, "scatter_old", "scatter_add.idx"),
            scatter_add("`h[p[i]] += x[i]`, 1e6", 1_000_000, "scatter_old", "scatter_add.idx"),
        ],
    ),
    Table(
        "gathers",
        "Rows of a table of 10,000 rows",
        ("NumPy", "JAX", "Numba"),
        [gather_rows("100,000 rows of 16", 100_000, 16), gather_rows("10,000 rows of 256", 10_000, 256)],
    ),
    Table("convolutions", "Convolutions", ("C", "Numba"), CONVOLUTIONS),
    Table(
        "loops",
        "Stencils and other loops",
        ("NumPy", "Numba"),
        [
            Case("Jacobi 1000 x 1000", "jacobi.ir", "jacobi", uniform(**SQUARE), in_double(jacobi), "f64"),
            Case("Jacobi, index notation", "jacobi.idx", "jacobi", uniform(**SQUARE), in_double(jacobi)),
            *(
                Case(
                    name,
                    program,
                    "hdiff",
                    uniform(x=(68, 68, 64), coefficient=(64, 64, 64)),
                    in_double(hdiff),
                )
                for name, program in (("horizontal diffusion 64³", "hdiff.ir"), ("diffusion, index notation", "hdiff.idx"))
            ),
            Case(
                "arc distance of 1e6",
                "arc_distance.ir",
                "arc_distance",
                uniform(**dict.fromkeys(("t1", "p1", "t2", "p2"), (1_000_000,))),
                in_double(arc_distance),
                "f64",
            ),
            Case(
                "forces of 2000 bodies",
                "forces.ir",
                "forces",
                uniform(**dict.fromkeys(("x", "y", "z", "m"), (2000,))),
                in_double(forces),
                "f64",
            ),
            Case(
                "clip and multiply, i64 1e6",
                "clip.ir",
                "clip",
                lambda rng: {name: rng.integers(0, 1000, 1_000_000) for name in ("x", "y")},
                in_double(lambda x, y: np.clip(x, 2, 10) * 4 + y * 3 + 9),
                "i64",
                0.0,
            ),
        ],
    ),
    Table(
        "threads",
        "Two threads, times of the clock",
        ("NumPy", "faer", "gemm", "JAX"),
        [product("product 512", (512, 512, 512)), CONVOLUTIONS[0], *CUMSUMS],
        threads=(1, 2),
    ),
]
