"""What storage styles are measured on: the rows of each table, what is in them, and who computes it how."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

PROGRAMS = Path(__file__).resolve().parent.parent / "styles"
PEERS = "peers"
OURS = "Rewright"


@dataclass
class Styled:
    """An array of a storage style with constant extents, by its components."""

    ty: str
    components: dict

    def __str__(self):
        parts = ", ".join(f'"{name}": {written(value)}' for name, value in self.components.items())
        return f'styled("{self.ty}", {{{parts}}})'


def written(array):
    """An array as fixtures have it."""
    dtype = {"float64": "f64", "int64": "i64", "uint64": "u64"}[array.dtype.name]
    return f"{dtype}({list(array.shape)}, {array.ravel().tolist()})"


@dataclass
class Way:
    """One way to compute it: a function of a program of ours, or one of `by_styles.py`."""

    name: str
    system: str
    function: str
    # By the names of parameters; what is `Styled` is Rewright's only.
    inputs: dict
    # `.ir` files in PROGRAMS, or the text of a program.
    program: str = ""
    into: bool = False
    # How many results it has, what makes them comparable, and the function that gives them where it is not the one that is measured.
    results: int = 1
    shown: object = None
    checked: str = ""
    # Whether to ask how fast memory is.
    roofline: bool = False


@dataclass
class Row:
    """Ways that give the same, of which the first one is what the others are compared with."""

    title: str
    ways: list
    # The difference that results may have, of the greatest one.
    tolerance: float = 0.0
    # What times are divided by.
    per: int = 1
    # The results, where they are known without computing them.
    exact: list = None


@dataclass
class Table:
    """Rows with the same columns."""

    name: str
    title: str
    # A function of a generator of random numbers, so that rows are made one after the other.
    rows: object
    # Whether all rows take turns with each other, for they are compared.
    together: bool = False


def ours(name, file, function, inputs, **more):
    return Way(name, OURS, function, inputs, program=file, **more)


def peer(name, function, inputs, **more):
    return Way(name, PEERS, function, inputs, **more)


def packed(bools):
    bits = np.packbits(bools, bitorder="little")
    return np.concatenate([bits, np.zeros(-len(bits) % 8, np.uint8)]).view(np.uint64)


# Bools of which there are more than this are no longer written down as text.
MOST_WRITTEN = 1_000_000


def bits(n, rng):
    bools = {name: rng.integers(0, 2, n, dtype=np.uint8).view(np.bool_) for name in "abc"}
    words = {name: packed(value) for name, value in bools.items()}
    if n > MOST_WRITTEN:
        first = ours("64 in a word", "bits.ir", "words", words, into=True, roofline=True)
    else:
        styled = {name: Styled(f"bool[{n}; bits]", {"words": value}) for name, value in words.items()}
        first = ours("64 in a word", "bits.ir", "packed", styled, shown=lambda r: [packed(r[0])])
    up = {"j": np.arange(64, dtype=np.uint64)}

    def in_row(r):
        r = r[0].copy()
        r[-1] &= np.uint64(2**64 - 1 >> -n % 64)
        return [r]

    return Row(
        f"{n:.0e}".replace("e+0", "e"),
        [
            first,
            ours("one in a byte", "bits.ir", "bytes", bools, into=True, shown=lambda r: [packed(r[0])]),
            ours("bit by bit, vectors", "bits.ir", "by_bit", words | up, into=True, shown=in_row),
            peer("C, bit by bit", "bits_by_bit_in_c", words | {"n": n}),
            peer("NumPy, bools", "bits_numpy_bytes", bools),
            peer("NumPy, words", "bits_numpy_words", words | {"n": n}),
        ],
    )


def diagonal_of(r):
    """Of a dense result, which has nothing else."""
    (dense,) = r
    assert np.count_nonzero(dense) == np.count_nonzero(np.diagonal(dense)), "there are elements off the diagonal"
    return [np.diagonal(dense)]


def diagonals_of(r):
    (dense,) = r
    kept = [np.diagonal(dense, k) for k in (-1, 0, 1)]
    assert np.count_nonzero(dense) == sum(map(np.count_nonzero, kept)), "there are elements off the diagonals"
    return kept


def dense(n, **diagonals):
    """A matrix by its diagonals: `below`, `diag`, `above`."""
    matrix = np.zeros((n, n))
    for name, values in diagonals.items():
        k = {"below": -1, "diag": 0, "above": 1}[name]
        np.einsum("ii->i", matrix[max(-k, 0) : n - max(k, 0), max(k, 0) : n - max(-k, 0)])[...] = values
    return matrix


def scaled(n, rng):
    diag = rng.uniform(-1, 1, n)
    return Row(
        "`d .* 3`",
        [
            ours("of its style", "structured.ir", "scaled", {"d": Styled(f"f64[{n}, {n}; diagonal]", {"diag": diag})}),
            ours("dense", "structured.ir", "scaled_dense", {"d": dense(n, diag=diag)}, into=True, shown=diagonal_of),
            peer("SciPy dia", "scaled_dia", {"d": diag}),
            peer("SciPy csr", "scaled_csr", {"d": diag}),
        ],
    )


def banded(n, rng):
    make = lambda less: rng.uniform(-1, 1, n - less)
    d = {"diag": make(0)}
    b = {"diag": make(0), "above": make(1)}
    t = {"below": make(1), "diag": make(0), "above": make(1)}
    of = lambda style, parts: Styled(f"f64[{n}, {n}; {style}]", parts)
    styled = {"d": of("diagonal", d), "b": of("upper_bidiagonal", b), "t": of("tridiagonal", t)}
    matrices = {"d": dense(n, **d), "b": dense(n, **b), "t": dense(n, **t)}
    parts = {"d": d["diag"], "b0": b["diag"], "b1": b["above"], "t0": t["below"], "t1": t["diag"], "t2": t["above"]}
    return Row(
        "`d .+ b .* t`",
        [
            ours("of its style", "structured.ir", "banded", styled, results=3),
            ours("dense", "structured.ir", "banded_dense", matrices, into=True, shown=diagonals_of),
            peer("SciPy dia", "banded_dia", parts, results=3),
            peer("SciPy csr", "banded_csr", parts, results=3),
        ],
    )


def columns(side, count, rng):
    """The components of a sparse matrix with about so many elements at random places."""
    at = np.unique(rng.integers(0, side * side, count))
    starts = np.concatenate([[0], np.cumsum(np.bincount(at // side, minlength=side))])
    # Few digits, for these are written down.
    values = rng.integers(1, 1_000_000, len(at)) / 1_000_000
    return {"starts": starts.astype(np.int64), "rows": at % side, "values": values}


def sparse_row(title, function, parts, tolerance=0.0):
    """`parts` has the components of each operand by its name."""
    side = len(next(iter(parts.values()))["starts"]) - 1
    styled = {name: Styled(f"f64[{side}, {side}; csc]", of) for name, of in parts.items()}
    plain = {f"{name}{i}": value for name, of in parts.items() for i, value in enumerate(of.values())}
    ways = [
        ours("Rewright", "sparse.ir", function, styled, results=3),
        peer("SciPy csc", function, plain, results=3),
    ]
    if function == "product_sum" and side == 100_000:
        ways.insert(1, ours("put together in each call", "sparse.ir", "assembled", plain, results=3))
    return Row(title, ways, tolerance)


def sparse(side, count):
    def rows(rng):
        s, t, u = (columns(side, count, rng) for _ in range(3))
        yield sparse_row("`2 .* s .+ t .* u`, three patterns", "product_sum", {"s": s, "t": t, "u": u})
        others = [s | {"values": np.roll(s["values"], by)} for by in (1, 2)]
        yield sparse_row("`2 .* s .+ t .* u`, one pattern", "product_sum", {"s": s, "t": others[0], "u": others[1]})
        yield sparse_row("`s .+ t`, two patterns", "sum_of_two", {"s": s, "t": t})
        yield sparse_row("`expm1.(s)`", "expm1", {"s": s}, 1e-15)

    return rows


# Sides of matrices, and how many elements each of them stores.
SIZES = [(1_000, 10_000), (1_000, 100_000), (10_000, 1_000_000)]


def sizes(rng):
    for side, count in SIZES:
        s, t = (columns(side, count, rng) for _ in range(2))
        of = f"{side:,} × {side:,}, {count:,} stored"
        yield sparse_row(f"`s .+ t`, {of}", "sum_of_two", {"s": s, "t": t})
        yield sparse_row(f"`expm1.(s)`, {of}", "expm1", {"s": s}, 1e-15)


def dense_row(title, function, values, in_c=()):
    way = ours("Rewright", "dense.ir", function, values, into=True, roofline=True)
    return Row(title, [way, peer("NumPy", function, values), *(peer("C, by hand", name, values) for name in in_c)])


def maps(side):
    def rows(rng):
        x, y = rng.uniform(-1, 1, (side, side)), rng.uniform(-1, 1, (side, side))
        yield dense_row("`x + y`", "straight", {"x": x, "y": y}, ["straight_in_c"])
        yield dense_row("`x + y.T`", "transposed", {"x": x, "y": y}, ["transposed_in_c"])
        u, v = rng.uniform(-1, 1, side), rng.uniform(-1, 1, side)
        yield dense_row("`x[:, None] * y[None, :]`", "outer", {"x": u, "y": v})
        yield dense_row("1.5 everywhere", "filled", {"x": u, "y": v})

    return rows


def sum_program(count):
    """The sum of so many operands, in the order of their names, as one nest."""
    names = [f"x{i}" for i in range(count)]
    lines = [f'  %s{i} = broadcasted %{"x0" if i == 1 else f"s{i - 1}"}, %x{i}, op="add"' for i in range(1, count)]
    params = ", ".join(f"%{name}: f64[n]" for name in names)
    return "\n".join([f"func @sum({params}) -> f64[n] {{", "entry:", *lines, f"  %r = materialize %s{count - 1}", "  ret %r", "}", ""])


def operands(n):
    def rows(rng):
        for count in (12, 50, 200):
            values = {f"x{i}": rng.uniform(-1, 1, n) for i in range(count)}
            way = ours("Rewright", sum_program(count), "sum", values, into=True, roofline=True)
            yield Row(f"{count}", [way, peer("NumPy", "sum_of_many", values)], per=count)

    return rows


def ranges(rng):
    ways = []
    for n in (10, 1_000_000_000):
        styled = {"r": Styled(f"i64[{n}; range]", {"start": np.array(3), "step": np.array(2)})}
        ways.append(ours(f"n = {n:,}", "ranges.ir", "affine", styled, checked="parts", results=2))
    yield Row("`i64[n; range]`", ways, exact=[np.array(3 * (3 + 1) - 2), np.array(3 * 2)])


def elements(rng):
    r = {"r": np.arange(1_000_000)}
    ways = [
        ours("Rewright", "ranges.ir", "elements", r, into=True),
        peer("NumPy, of an array", "range_elements", r),
        peer("NumPy, of `arange`", "range_arange", r),
    ]
    yield Row("`i64[1000000]`", ways)


def tables(args):
    side = args.side
    return [
        Table("bits", "`a & b | ~c` of n bools", lambda rng: (bits(n, rng) for n in args.bools)),
        Table("structured", f"{side:,} × {side:,} `f64`", lambda rng: (make(side, rng) for make in (scaled, banded))),
        Table("sparse", f"100,000 × 100,000 `f64`, {args.stored:,} stored elements each", sparse(100_000, args.stored)),
        Table("sizes", "Random patterns of several sizes, `f64`", sizes),
        Table("maps", "4,096 × 4,096 `f64`", maps(4096), together=True),
        Table("operands", "The sum of vectors of 1e5 `f64`, time an operand", operands(100_000)),
        Table("ranges", "`3 * (r + 1) - 2` of a range", ranges),
        Table("elements", "The same of dense arrays", elements),
    ]
