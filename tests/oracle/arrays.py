#!/usr/bin/env python3
"""Writes arrays.txt: what NumPy 2.4 answers for the ops on whole arrays (views, constructors, reductions, scans, indexing, products).

Run it in this folder; it needs numpy. A case is the text of an instruction, a line for each operand `%0`, `%1`, ... and a line for
its result:

    take %0, %1, axis=0
    < f64[3, 2] random 7
    < i64[2] = 2 ffffffffffffffff
    > f64[2, 2] = 40b92ab800000000 ...

Elements are bits in hexadecimal, complex numbers `re:im`, every NaN `nan`; a type without brackets is a scalar's. `random s`
stands for elements that are computed from their positions and the seed `s` as in `random` below. `> error` is an error.
"""

import itertools
import os

# One answer on every machine: no loops that fuse a product and a sum.
os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", "X86_V3 X86_V4 AVX512_ICL AVX512_SPR")

import numpy as np

assert np.__version__.startswith("2.4"), np.__version__
np.seterr(all="ignore")

NAMES = "bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 c64 c128".split()
DTYPES = {n: np.dtype(c) for n, c in zip(NAMES, "?bhilBHILfdFD")}
NAME = {d: n for n, d in DTYPES.items()}
BOOL, SIGNED, UNSIGNED, FLOATS, COMPLEX = NAMES[:1], NAMES[1:5], NAMES[5:9], NAMES[9:11], NAMES[11:]
SMALL = {"bool", "i8", "f32"}
RNG = np.random.default_rng(5)
LINES = []
SEED = itertools.count(1)
MASK = 2**64 - 1


class Given(np.ndarray):
    """An operand that knows the text of its elements."""


def mix(z):
    """The 64 bits that the n-th element is made of (splitmix64)."""
    z = (z + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def number(z, name):
    """A number of a dtype from 64 bits. Floats have 24 bits and exponents of no great range, so that sums round."""
    kind = DTYPES[name].kind
    if kind == "b":
        return bool(z & 1)
    if kind in "iu":
        z &= 2 ** (8 * DTYPES[name].itemsize) - 1
        return z - (z >> (8 * DTYPES[name].itemsize - 1) << 8 * DTYPES[name].itemsize) if kind == "i" else z
    return float((z >> 40) - 2**23) * 2.0 ** ((z & 15) - 24)


def random(name, shape):
    """An array whose elements are not listed."""
    seed = next(SEED)
    n = int(np.prod(shape))
    if DTYPES[name].kind == "c":
        values = [complex(number(mix(seed << 32 | 2 * i), "f64"), number(mix(seed << 32 | 2 * i + 1), "f64")) for i in range(n)]
    else:
        values = [number(mix(seed << 32 | i), name) for i in range(n)]
    given = np.array(values, DTYPES[name]).reshape(shape).view(Given)
    given.text = f"{described(given)} random {seed}"
    return given


def listed(values, name):
    return np.asarray(values, DTYPES[name])


def described(x):
    shape = "" if isinstance(x, np.generic) else str(list(x.shape))
    return f"{NAME[x.dtype]}{shape}"


def bits(x):
    x = np.asarray(x)
    if x.dtype.kind == "c":
        return bits(x.real) + ":" + bits(x.imag)
    if x.dtype.kind == "f" and np.isnan(x):
        return "nan"
    return "%x" % int(x.reshape(1).view("u%d" % x.dtype.itemsize)[0])


def text_of(x):
    if isinstance(x, Given):
        return x.text
    return f"{described(x)} = {' '.join(bits(e) for e in np.asarray(x).ravel())}".rstrip()


def case(text, operands, result):
    """Adds a case. `result` is computed by a function of the operands; an exception of NumPy's is an error."""
    plain = [np.asarray(x) if isinstance(x, Given) else x for x in operands]
    try:
        found = result(*plain)
    except (IndexError, ValueError, OverflowError) as e:
        assert not isinstance(e, np.exceptions.AxisError), (text, e)
        found = None
    LINES.append(text)
    LINES.extend("< " + text_of(x) for x in operands)
    LINES.append("> error" if found is None else "> " + text_of(found))


def scalar(x, name="i64"):
    return DTYPES[name].type(x)


def attribute(name, values):
    return f"{name}=[{', '.join(str(v) for v in values)}]"


# --- Views -------------------------------------------------------------------------------------------------------------


def views():
    for rank in range(5):
        shape = [2, 3, 1, 4][:rank]
        case("transpose %0", [random("i16", shape)], np.transpose)
        for perm in itertools.permutations(range(rank)):
            signed = [p - rank if RNG.random() < 0.3 else p for p in perm]
            case(f"transpose %0, {attribute('perm', signed)}", [random("f32", shape)], lambda x: np.transpose(x, perm))
        for count in range(rank + 1):
            for axes in itertools.combinations(range(rank), count):
                case(f"flip %0, {attribute('axes', axes)}", [random("i8", shape)], lambda x: np.asarray(np.flip(x, axes)))
        case("flip %0", [random("c64", shape)], lambda x: np.asarray(np.flip(x)))
    for name in NAMES:
        case("transpose %0", [random(name, [2, 3])], np.transpose)
        case("slice %0, at=[::-1, 1:]", [random(name, [2, 3])], lambda x: x[::-1, 1:])
    for old, new in [([6], [2, 3]), ([2, 3], [6]), ([2, 3], [3, 2]), ([4, 1, 3], [2, 6]), ([1], []), ([], [1, 1]), ([0, 3], [5, 0]), ([2, 3], [4])]:
        case(f"reshape %0, {attribute('dims', new)}", [random("i32", old)], lambda x: x.reshape(new))
    for old, new in [([6], [2, "?"]), ([2, 3], ["?"]), ([4, 3], ["?", 2, 2]), ([0, 3], ["?", 3]), ([5], ["?", 2]), ([], ["?"])]:
        case(f"reshape %0, {attribute('dims', new)}", [random("i32", old)], lambda x: x.reshape([-1 if d == "?" else d for d in new]))
    slices()
    for shape, axes in [([], [0]), ([3], [0]), ([3], [1]), ([3], [-1]), ([2, 3], [0, 2]), ([2, 3], [-1, 1]), ([0], [0, 2])]:
        case(f"expand_dims %0, {attribute('axes', axes)}", [random("u8", shape)], lambda x: np.expand_dims(x, axes))
    for shape, axes in [([1], [0]), ([1, 3, 1], [0, 2]), ([1, 3, 1], [-1]), ([1, 0], [0]), ([2, 1], [0])]:
        case(f"squeeze %0, {attribute('axes', axes)}", [random("u8", shape)], lambda x: np.squeeze(x, tuple(axes)))
    for shape in [[1], [1, 3, 1], [2, 3], []]:
        case("squeeze %0", [random("u8", shape)], np.squeeze)
    for shape in [[3, 3], [2, 4], [4, 2], [0, 3], [2, 3, 4]]:
        for offset in range(-4, 5):
            case(f"diagonal %0, offset={offset}", [random("i16", shape)], lambda x: np.diagonal(x, offset))
    for axis1, axis2 in itertools.permutations(range(3), 2):
        case(f"diagonal %0, offset=1, axis1={axis1}, axis2={axis2 - 3}", [random("f64", [2, 3, 4])], lambda x: np.diagonal(x, 1, axis1, axis2))
    stretched = [([], [2, 2]), ([3], [2, 3]), ([1], [4]), ([2, 1], [2, 5]), ([2, 1, 3], [4, 2, 2, 3]), ([1, 0], [3, 0]), ([3], [2]), ([1], [0])]
    for old, new in stretched:
        case(f"broadcast_in_dim %0, {attribute('dims', new)}", [random("i8", old)], lambda x: np.broadcast_to(x, new))
    for old, new, axes in [([3], [3, 2], [0]), ([2, 3], [2, 4, 3], [0, 2]), ([1, 3], [5, 2, 3], [0, 2]), ([], [2], [])]:
        inserted = [a for a in range(len(new)) if a not in axes]
        text = f"broadcast_in_dim %0, {attribute('dims', new)}, {attribute('axes', axes)}"
        case(text, [random("i8", old)], lambda x: np.broadcast_to(np.expand_dims(x, inserted), new))
    for shape in [[], [1], [1, 1], [2], [0]]:
        case("item %0", [random("f64", shape)], lambda x: x.dtype.type(x.item()))
    case("to_array %0", [scalar(3, "i16")], np.asarray)
    case("to_array %0", [random("f32", [2])], np.asarray)


def slices():
    def part(p):
        return "" if p is None else str(p)

    def text(s):
        return f"{part(s.start)}:{part(s.stop)}" + ("" if s.step is None else f":{s.step}")

    bounds = [None, 0, 1, 2, 4, 5, 7, -1, -2, -5, -6, -9]
    for start, stop, step in itertools.product(bounds, bounds, [None, 2, 3, 9, -1, -2, -7]):
        if RNG.random() < 0.3:
            s = slice(start, stop, step)
            n = int(RNG.integers(0, 7))
            case(f"slice %0, at=[{text(s)}]", [random("i8", [n])], lambda x: x[s])
    for _ in range(60):
        shape = [int(RNG.integers(0, 5)) for _ in range(3)]
        chosen = [slice(*(None if RNG.random() < 0.3 else int(RNG.integers(-5, 6)) for _ in range(2)), RNG.choice([None, -1, 2])) for _ in range(RNG.integers(1, 4))]
        case(f"slice %0, at=[{', '.join(text(s) for s in chosen)}]", [random("i8", shape)], lambda x: x[tuple(chosen)])


# --- Constructors ------------------------------------------------------------------------------------------------------


def constructors():
    for name in NAMES:
        case("full %0, dims=[2, 3]", [listed(-1 if name in SIGNED + FLOATS else 1, name)[()]], lambda x: np.full([2, 3], x))
        case(f"iota dims=[2, 3], axis=1, dtype={name}", [], lambda: np.indices([2, 3])[1].astype(DTYPES[name]))
        case(f"eye dims=[3, 2], offset=-1, dtype={name}", [], lambda: np.eye(3, 2, -1, DTYPES[name]))
        case(f"tri dims=[3, 2], offset=-1, dtype={name}", [], lambda: np.tri(3, 2, -1, DTYPES[name]))
    for shape in [[0], [3], [2, 0], [2, 3, 4]]:
        for axis in range(len(shape)):
            case(f"iota {attribute('dims', shape)}, axis={axis}", [], lambda: np.indices(shape)[axis])
    case("iota dims=[300], dtype=i8", [], lambda: np.arange(300).astype("b"))
    for shape in [[0, 0], [1, 4], [4, 1], [3, 3], [2, 5]]:
        for offset in range(-4, 6):
            case(f"eye {attribute('dims', shape)}, offset={offset}", [], lambda: np.eye(*shape, offset))
            case(f"tri {attribute('dims', shape)}, offset={offset}", [], lambda: np.tri(*shape, offset))
    case("constant value=[[1, -2], [3, 4]]:i16", [], lambda: listed([[1, -2], [3, 4]], "i16"))
    case("constant value=[0.1, -0.0]:f32", [], lambda: listed([0.1, -0.0], "f32"))


# --- Reductions --------------------------------------------------------------------------------------------------------

REDUCTIONS = {n: getattr(np, n) for n in "sum prod min max any all argmin argmax".split()}
CUT = [(), (0,), (1,), (-1,), (0, 1), (1, 2), (0, 2), (0, 1, 2), None]


def reductions():
    for op, f in REDUCTIONS.items():
        for name in NAMES:
            position = op.startswith("arg")
            for shape in [[2, 3, 4], [3, 0, 2], [1, 5, 1]]:
                for axes in CUT:
                    keep = bool(RNG.integers(0, 2))
                    reduced(op, f, random(name, shape), axes, keep)
            for shape in [[], [0], [1], [7], [20]]:
                for keep in (False, True):
                    reduced(op, f, random(name, shape), None, keep)
            # Many equal elements, and few distinct ones.
            values = RNG.integers(0, 2, [3, 40])
            reduced(op, f, listed(values, name), None if position else (0, 1), False)
            reduced(op, f, listed(values, name), (1,), False)
    special_values()
    long_sums()


def reduced(op, f, x, axes, keep):
    attributes = ([] if axes is None else [attribute("axes", axes)]) + (["keepdims=true"] if keep else [])
    text = ", ".join([f"{op} %0", *attributes])
    if op.startswith("arg"):
        if axes is not None and len(axes) != 1:
            return
        axis = None if axes is None else axes[0]
    else:
        axis = axes
    case(text, [x], lambda x: f(x, axis=axis, keepdims=keep))


def special_values():
    nan, inf = np.nan, np.inf
    rows = [[1, nan, 3, nan], [nan, inf, -inf, 2], [inf, 1, inf, -inf], [-inf, -1, -inf, -2], [0.5, -0.25, 8, -9], [-0.0] * 4]
    for op, f in REDUCTIONS.items():
        for name in FLOATS + COMPLEX:
            reduced(op, f, listed(rows, name), (1,), False)
            reduced(op, f, listed(rows, name)[:3], (0,), False)
            long = np.ones(40)
            long[[7, 30]] = nan
            reduced(op, f, listed(long, name), None, False)
        for name in COMPLEX:
            z = [1 + 2j, 1 + 1j, 2 - 5j, 1 + 2j, 2 - 5j, complex(1, nan), complex(nan, 0)]
            reduced(op, f, listed(z[:5], name), None, False)
            # NumPy's minimum of several complex NaNs is any of them.
            if not op.startswith("m"):
                reduced(op, f, listed(z, name), None, False)


def long_sums():
    """Sums and products of which the bits tell the order."""
    edges = [8, 9, 63, 64, 65, 127, 128, 129, 136, 255, 256, 257, 300, 511, 1000, 1023, 1025, 4099, 9001]
    for name in FLOATS + COMPLEX:
        for n in edges:
            reduced("sum", np.sum, random(name, [n]), None, False)
        for shape, axes in [([300, 3], (0,)), ([3, 300], (1,)), ([5, 6, 300], (0, 2)), ([5, 300, 6], (1,)), ([5, 300, 6], (0, 1)), ([4, 20, 30], (1, 2)),
                            ([2, 9, 4, 50], (1, 3)), ([2, 9, 4, 50], (0, 2)), ([9, 11, 13], None), ([3, 131], (0,)), ([2, 2000], (1,))]:
            reduced("sum", np.sum, random(name, shape), axes, False)
        near_one = 1 + np.asarray(random("f64", [3, 2, 40])) / 2**12
        for axes in [(0,), (1,), (2,), (0, 2), (1, 2), None]:
            reduced("prod", np.prod, listed(near_one, name), axes, False)


# --- Indexing ----------------------------------------------------------------------------------------------------------


def indexing():
    for name in NAMES:
        x = random(name, [3, 4])
        case("getitem %0, %1, %2", [x, scalar(1), scalar(-1)], lambda x, i, j: x[i, j])
        case("getitem %0, %1", [x, scalar(-3)], lambda x, i: x[i])
        case("take %0, %1, axis=1", [x, listed([[0, -1], [2, 2]], "i32")], lambda x, i: np.take(x, i, 1))
        case("gather %0, %1", [x, listed([0, -1], "i8")], lambda x, i: x[i])
        case("compress %0, %1", [x, listed([True, False, True], "bool")], lambda x, m: x[m])
        case("update %0, %1, %2", [x, listed([1, 0, 1, 1], name), scalar(-1)], updated)
        case("update %0, %1, at=[1:, ::-2]", [x, listed([[1], [0]], name)], lambda x, v: updated(x, v, slice(1, None), slice(None, None, -2)))
    for i in (-4, -3, 0, 2, 3):
        for kind in ("i8", "i64"):
            case("getitem %0, %1", [random("i16", [3, 2, 2]), scalar(i, kind)], lambda x, i: x[i])
    case("getitem %0, %1", [random("i16", [3]), scalar(2**63, "u64")], lambda x, i: x[int(i)])
    case("getitem %0, %1, %2", [random("i16", [2, 2, 2]), scalar(1), scalar(0)], lambda x, i, j: x[i, j])
    for axis in (0, 1, 2, -1):
        case(f"dim %0, axis={axis}", [random("f32", [2, 0, 3])], lambda x: np.int64(x.shape[axis]))
        for positions in ([0, 1, -1], [], [[1], [0]], [3]):
            case(f"take %0, %1, axis={axis}", [random("f32", [2, 3, 2]), listed(positions, "i64")], lambda x, i: np.take(x, i, axis))
        case(f"take %0, %1, axis={axis}", [random("f32", [2, 3, 2]), scalar(-1, "i16")], lambda x, i: np.take(x, i, axis))
    case("take %0, %1, axis=0", [random("f32", [3]), scalar(2)], lambda x, i: np.take(x, i, 0))
    case("gather %0, %1, %2", [random("i32", [3, 4]), listed([[0], [2]], "i64"), listed([1, 3, 0], "u8")], lambda x, i, j: x[i, j])
    case("gather %0, %1, %2", [random("i32", [3, 4, 2]), scalar(1), listed([1, -1], "i64")], lambda x, i, j: x[np.array(i), j])
    case("gather %0, %1, %2", [random("i32", [3, 4]), listed([0, 1], "i64"), listed([0, 1, 2], "i64")], lambda x, i, j: x[i, j])
    case("gather %0, %1", [random("i32", [3, 0]), listed([3], "i64")], lambda x, i: x[i])
    case("gather %0, %1", [random("i32", [3, 2]), listed([], "i64")], lambda x, i: x[i])
    case("gather %0, %1", [random("i32", [3, 2]), listed(-3, "i64")], lambda x, i: x[i])
    for shape in ([2, 3], [2], [2, 3, 2]):
        case("compress %0, %1", [random("i32", [2, 3, 2]), random("bool", shape)], lambda x, m: x[m])
    case("compress %0, %1", [random("i32", [0, 2]), random("bool", [0])], lambda x, m: x[m])
    case("compress %0, %1", [random("i32", [3]), random("bool", [2])], lambda x, m: x[m])
    updates()


def updated(x, v, *at):
    y = x.copy()
    y[tuple(int(i) if isinstance(i, np.integer) else i for i in at)] = v
    return y


def updates():
    case("update %0, %1", [random("f64", [2, 3]), scalar(2.5, "f32")], updated)
    case("update %0, %1", [random("f64", [2, 3]), random("f64", [2, 3])], updated)
    case("update %0, %1", [random("f32", [2, 3]), random("f64", [3])], updated)
    case("update %0, %1, %2", [random("i64", [2, 3]), random("bool", [1, 3]), scalar(1)], updated)
    case("update %0, %1, %2, %3", [random("i8", [2, 3]), random("i32", []), scalar(-2), scalar(2)], updated)
    case("update %0, %1, %2, at=[1:]", [random("c64", [2, 3]), random("f64", [2]), scalar(0)], lambda x, v, i: updated(x, v, i, slice(1, None)))
    case("update %0, %1, %2", [random("i8", [2, 3]), scalar(1, "i8"), scalar(2)], updated)
    case("update %0, %1, %2", [random("i8", [2, 3]), random("i8", [2]), scalar(0)], updated)
    case("update %0, %1, at=[5:]", [random("i8", [2, 3]), random("i8", [0, 3])], lambda x, v: updated(x, v, slice(5, None)))


# --- Putting together, and products ------------------------------------------------------------------------------------


def together():
    for a, b in itertools.product(NAMES, NAMES):
        if a in SMALL or b in SMALL:
            case("concat %0, %1", [random(a, [2]), random(b, [1])], lambda x, y: np.concatenate([x, y]))
            case("stack %0, %1", [random(a, [2]), random(b, [2])], lambda x, y: np.stack([x, y]))
    for axis in (0, 1, 2, -1, -2):
        shapes = [[2, 3, 2] for _ in range(3)]
        shapes[1][axis], shapes[2][axis] = 1, 0
        case(f"concat %0, %1, %2, axis={axis}", [random("i16", s) for s in shapes], lambda *xs: np.concatenate(xs, axis))
        case(f"stack %0, %1, axis={axis}", [random("i16", [2, 3]) for _ in range(2)], lambda *xs: np.stack(xs, axis))
    case("concat %0", [random("i16", [2, 3])], lambda x: np.concatenate([x]))
    case("concat %0, %1", [random("i16", [2, 3]), random("i16", [2, 2])], lambda *xs: np.concatenate(xs))
    case("stack %0, %1, %2", [scalar(1), scalar(2, "i8"), scalar(0.5, "f32")], lambda *xs: np.stack([np.asarray(x) for x in xs]))
    case("stack %0, %1", [random("i16", [2, 3]), random("i16", [2])], lambda *xs: np.stack(xs))


def dot(a, b, lc, rc, lb, rb):
    """Products summed along rows, by NumPy's elementwise product and its sum."""
    dtype = np.result_type(a, b)
    lf = [i for i in range(a.ndim) if i not in (*lc, *lb)]
    rf = [i for i in range(b.ndim) if i not in (*rc, *rb)]
    batch, rows, columns = [a.shape[i] for i in lb], [a.shape[i] for i in lf], [b.shape[i] for i in rf]
    n = int(np.prod([a.shape[i] for i in lc]))
    x = a.transpose([*lb, *lf, *lc]).astype(dtype).reshape([*batch, *rows, *[1] * len(columns), n])
    y = b.transpose([*rb, *rf, *rc]).astype(dtype).reshape([*batch, *[1] * len(rows), *columns, n])
    products = np.ascontiguousarray(x * y)
    found = products.any(-1) if dtype.kind == "b" else np.add.reduce(products.reshape(int(np.prod(products.shape[:-1])), n), axis=-1, dtype=dtype).reshape(products.shape[:-1])
    if dtype.kind in "iub":
        names = iter("abcdefgh")
        left, right = [""] * a.ndim, [""] * b.ndim
        for i, j in zip((*lb, *lc), (*rb, *rc)):
            left[i] = right[j] = next(names)
        left, right = [s or next(names) for s in left], [s or next(names) for s in right]
        out = [left[i] for i in (*lb, *lf)] + [right[j] for j in rf]
        other = np.einsum(f"{''.join(left)},{''.join(right)}->{''.join(out)}", a.astype(dtype), b.astype(dtype))
        assert np.array_equal(found, other)
    return found[()] if found.ndim == 0 else found


def products():
    kinds = [(a, a) for a in NAMES] + [("i8", "u8"), ("f32", "i32"), ("bool", "i16"), ("f32", "c64"), ("f64", "f32"), ("i64", "u64")]
    shapes = [
        ([3, 4], [4, 2], (1,), (0,), (), ()),
        ([4], [4], (0,), (0,), (), ()),
        ([3], [2], (), (), (), ()),
        ([2, 3, 4], [2, 4, 5], (2,), (1,), (0,), (0,)),
        ([2, 3, 4], [3, 4, 2], (1, 2), (0, 1), (), ()),
        ([2, 3, 4], [4, 2, 3], (2, 0), (0, 1), (1,), (2,)),
        ([2, 3], [3, 2], (), (), (0, 1), (1, 0)),
        ([2, 0], [0, 3], (1,), (0,), (), ()),
        ([0, 2], [2, 3], (1,), (0,), (), ()),
        ([], [], (), (), (), ()),
        ([], [3], (), (), (), ()),
    ]
    for a, b in kinds:
        for left, right, lc, rc, lb, rb in shapes:
            product(random(a, left), random(b, right), lc, rc, lb, rb)
    for name in FLOATS + COMPLEX:
        product(random(name, [2, 300]), random(name, [300, 2]), (1,), (0,), (), ())
        product(random(name, [2, 9, 31]), random(name, [31, 9]), (1, 2), (1, 0), (), ())


def product(x, y, lc, rc, lb, rb):
    lists = [attribute("lhs_contract", lc), attribute("rhs_contract", rc)]
    if lb:
        lists += [attribute("lhs_batch", lb), attribute("rhs_batch", rb)]
    case(f"dot_general %0, %1, {', '.join(lists)}", [x, y], lambda x, y: dot(x, y, lc, rc, lb, rb))


# --- Scans -------------------------------------------------------------------------------------------------------------

SCANS = {
    "sum": ("cumsum", np.cumsum),
    "prod": ("cumprod", np.cumprod),
    "min": ("cummin", np.minimum.accumulate),
    "max": ("cummax", np.maximum.accumulate),
    "any": (None, np.logical_or.accumulate),
    "all": (None, np.logical_and.accumulate),
}


def scans():
    nan, inf = np.nan, np.inf
    rows = [[1, nan, 3, 4], [inf, 1, inf, -inf], [-inf, -1, -inf, -2], [0.5, -0.25, 8, -9], [-0.0] * 4]
    for monoid, (op, f) in SCANS.items():
        for name in NAMES:
            for shape in [[0], [7], [2, 3, 2]]:
                for axis in range(len(shape)):
                    scanned(monoid, op, f, random(name, shape), axis, axis - len(shape) if RNG.random() < 0.3 else axis)
        for name in FLOATS + COMPLEX:
            for axis in (0, 1):
                scanned(monoid, op, f, listed(rows, name), axis, axis)
    for name in FLOATS:
        for monoid in ("sum", "prod"):
            scanned(monoid, *SCANS[monoid], random(name, [300]), 0, 0)
    scanned("sum", *SCANS["sum"], random("i8", [3, 0, 2]), 1, 1)
    scanned("max", *SCANS["max"], random("i8", [3, 0, 2]), 0, 0)


def scanned(monoid, op, f, x, axis, stated):
    start = f"{op} %0" if op else f'scan %0, monoid="{monoid}"'
    along = [f"axis={stated}"] if x.ndim > 1 or RNG.random() < 0.5 else []
    case(", ".join([start, *along]), [x], lambda x: f(x, axis))
    case(", ".join([start, *along, "reverse=true"]), [x], lambda x: np.flip(f(np.flip(x, axis), axis), axis))
    if op and axis == 0:
        case(", ".join([f'scan %0, monoid="{monoid}"', *along]), [x], lambda x: f(x, axis))


views()
constructors()
reductions()
indexing()
together()
products()
scans()
with open("arrays.txt", "w") as out:
    out.write("\n".join(LINES) + "\n")
print(sum(not line.startswith(("<", ">")) for line in LINES), "cases")
