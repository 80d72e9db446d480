//! `docs/array-ops.md`: the ops on whole arrays, with an example of each. Written from the registry and the
//! examples here if the environment variable `REWRIGHT_BLESS` is set; checked otherwise.

use rewright_ir::*;
use std::fmt::Write;
use std::path::PathBuf;

const INTRODUCTION: &str = "\
# Ops on whole arrays

<!-- Written by: REWRIGHT_BLESS=1 cargo test -p rewright-ir --test all array_ops_page -->

You know the name of an op, and want its operands, attributes and result. Positive axes count from the first
one, negative axes from the last.

- Extents that are unknown at compile time are checked when the op runs. An error names the op, its operands
  and the line.
- The result of a *view* consists of elements of its operand. It copies none where strides can describe it.
  Like every value it never changes, even if the operand's array is stored to.
- Tests compare each op that NumPy has with NumPy's results: bit for bit, except for sums of floats.
";

const NOTES: &str = "\
## Reductions

Sums and products of bools and signed integers are `i64`, those of unsigned integers `u64`. A reduction along
all axes is a scalar. `min`, `max`, `argmin` and `argmax` of zero elements are errors. NaN counts as the least
and as the greatest element.

The order of combination is part of an op's meaning: it depends neither on strides, nor on vectors, nor on
threads.

- *Rows* are the reduced axes behind the last axis that is kept. A row is summed pairwise, over blocks of 512
  elements with 32 partial sums each. For f32 the numbers are 1024 and 64, for complex numbers 256 and 16.
- Rows are added in blocks of 128, in order, and the blocks pairwise. So an element of a column of a million
  goes through at most 141 additions; in NumPy, through up to a million.
- `dot_general` adds rows to rows in products of matrices (`x @ y`, `x @ y.T`). Products of floats are not
  rounded before they are added there (fused multiply-add), and blocks have 512 rows. In other products,
  contracted axes that come before the other axes of the right operand are rows that are added, too.
- Products go from left to right, like NumPy's for arrays in row-major order.

NumPy sums rows over blocks of 128 elements with eight partial sums, and adds columns row by row. So sums of
floats differ from NumPy's in the last places. The errors of f32 rows of 1,000 to 200,000 uniform numbers were
0.98 to 1.25 times NumPy's (root mean square over 600 rows), 1.08 times on average.

## Scans

`cumsum`, `cumprod`, `cummin` and `cummax` are `scan` with a monoid. Dtypes are those of the reductions.
Elements are combined in sequence: running sums and products of floats have the bits of NumPy's.

## Differences from NumPy

- `take` and `gather` have no modes. A negative position counts from the end; a position out of bounds is an
  error.
- `update` is an assignment to a part of an array, with a new array as its result. Like `store` it does not
  cast floats to integers.
- `dot_general` combines products in the order of `sum`. For `x @ y` these are rows that are added to rows.
  The order in NumPy is that of its BLAS.
- `squeeze` without `axes` needs dims that are constants.
";

/// An op's example: parameters, instruction, result type, and the NumPy expression.
const EXAMPLES: &[[&str; 4]] = &[
    ["%x: f64[n, m]", "all %x, axes=[1]", "bool[n]", "x.all(axis=1)"],
    ["%x: f64[n, m]", "any %x, axes=[1]", "bool[n]", "x.any(axis=1)"],
    ["%x: f64[n, m]", "argmax %x, axes=[1]", "i64[n]", "x.argmax(axis=1)"],
    ["%x: f64[n, m]", "argmin %x", "i64", "x.argmin()"],
    ["%x: f64[n, m]", "assemble %x, style=\"dense\", dims=[n, m]", "f64[n, m]", ""],
    ["%x: f64[n]", "broadcast_in_dim %x, dims=[n, 3], axes=[0]", "f64[n, 3]", "np.broadcast_to(x[:, None], (n, 3))"],
    ["%x: f64[n, m]", "component %x, name=\"elements\"", "f64[n, m]", ""],
    ["%x: f64[n, m], %c: bool[n]", "compress %x, %c", "f64[?, m]", "x[c]"],
    ["%x: f64[n, 3], %y: f32[n, 2]", "concat %x, %y, axis=1", "f64[n, 5]", "np.concatenate([x, y], axis=1)"],
    ["", "constant value=[[1.0, 2.0], [3.0, 4.0]]:f32", "f32[2, 2]", "np.array([[1, 2], [3, 4]], 'f')"],
    ["%x: f64[n, m]", "cummax %x, axis=1", "f64[n, m]", "np.maximum.accumulate(x, 1)"],
    ["%x: f64[n]", "cummin %x, reverse=true", "f64[n]", "np.minimum.accumulate(x[::-1])[::-1]"],
    ["%x: u8[n, m]", "cumprod %x, axis=0", "u64[n, m]", "x.cumprod(axis=0)"],
    ["%x: f32[n, m]", "cumsum %x, axis=-1", "f32[n, m]", "x.cumsum(axis=-1)"],
    ["%x: f64[n, n]", "diagonal %x", "f64[n]", "np.diagonal(x)"],
    ["%x: f64[n, m]", "dim %x, axis=1", "i64", "x.shape[1]"],
    ["%x: f64[n, k], %y: f64[k, m]", "dot_general %x, %y, lhs_contract=[1], rhs_contract=[0]", "f64[n, m]", "x @ y"],
    ["%x: f64[n]", "expand_dims %x, axes=[0]", "f64[1, n]", "x[None, :]"],
    ["%x: f64[n]", "eye dims=[n, n], offset=1", "f64[n, n]", "np.eye(n, n, 1)"],
    ["%x: f64[n, m]", "flip %x, axes=[0]", "f64[n, m]", "np.flip(x, 0)"],
    ["%x: f64[n], %v: f64", "full %v, dims=[n]", "f64[n]", "np.full(n, v)"],
    ["%x: f64[n, m], %i: i64[k], %j: i64[k]", "gather %x, %i, %j", "f64[k]", "x[i, j]"],
    ["%x: f64[n, m], %i: i64", "getitem %x, %i", "f64[m]", "x[i]"],
    ["%x: f64[n]", "iota dims=[n], dtype=i32", "i32[n]", "np.arange(n, dtype='i')"],
    ["%x: f64[1, 1]", "item %x", "f64", "x.item()"],
    ["%x: f64[n, m]", "max %x, axes=[0]", "f64[m]", "x.max(axis=0)"],
    ["%x: f64[n, m]", "min %x", "f64", "x.min()"],
    ["%x: u8[n, m]", "prod %x, axes=[1]", "u64[n]", "x.prod(axis=1)"],
    ["%x: f64[n, m]", "rank %x", "i64", "x.ndim"],
    ["%x: f64[n, 6]", "reshape %x, dims=[n, 2, 3]", "f64[n, 2, 3]", "x.reshape(n, 2, 3)"],
    ["%x: f64[n, m]", "restyle %x, style=\"dense\"", "f64[n, m]", ""],
    ["%x: bool[n]", "scan %x, monoid=\"any\", exclusive=true", "bool[n]", ""],
    ["%x: f64[n, 5]", "slice %x, at=[::-1, 1:]", "f64[n, 4]", "x[::-1, 1:]"],
    ["%x: f64[n, 1]", "squeeze %x, axes=[1]", "f64[n]", "x.squeeze(1)"],
    ["%x: f64[n], %y: f64[n]", "stack %x, %y", "f64[2, n]", "np.stack([x, y])"],
    ["%x: f32[n, m]", "sum %x, axes=[1], keepdims=true", "f32[n, 1]", "x.sum(axis=1, keepdims=True)"],
    ["%x: f64[n, m], %i: i64[k]", "take %x, %i, axis=1", "f64[n, k]", "np.take(x, i, axis=1)"],
    ["%x: f64", "to_array %x", "f64[]", "np.asarray(x)"],
    ["%x: f64[n, m]", "transpose %x", "f64[m, n]", "x.T"],
    ["%x: f64[n]", "tri dims=[n, n]", "f64[n, n]", "np.tri(n)"],
    ["%x: f64[n, m], %v: f64, %i: i64", "update %x, %v, %i, at=[1:]", "f64[n, m]", "x[i, 1:] = v"],
];

/// The ops of the page, in order.
fn ops() -> Vec<Op> {
    let all = registry().ops().map(|(op, _)| op);
    all.filter(|op| matches!(op.eval, Eval::Array(_)) && op.name != "arrayexpr").collect()
}

fn attribute(def: &AttrDef) -> String {
    let presence = match def.presence {
        Presence::Required => String::new(),
        Presence::Optional => ", optional".to_string(),
        Presence::False => ", false if absent".to_string(),
        Presence::Int(n) => format!(", {n} if absent"),
    };
    format!("`{}`{presence}: {}", def.name, def.doc)
}

fn page() -> Result<String, std::fmt::Error> {
    let mut page = INTRODUCTION.to_string();
    writeln!(page, "\n| op | meaning | attributes | example | its result | NumPy |\n|---|---|---|---|---|---|")?;
    for op in ops() {
        let [params, inst, result, numpy] = example(op).unwrap_or_default();
        let view = if op.traits.contains(Traits::VIEW) { " *View.*" } else { "" };
        let attrs: Vec<String> = op.attrs.iter().map(attribute).collect();
        let given = if params.is_empty() { String::new() } else { format!(" of `{params}`") };
        let numpy = if numpy.is_empty() { String::new() } else { format!("`{numpy}`") };
        let (first, rest) = op.doc.split_at(1);
        writeln!(
            page,
            "| `{op}` | {}{rest}.{view} | {} | `{inst}`{given} | `{result}` | {numpy} |",
            first.to_uppercase(),
            attrs.join("<br>")
        )?;
    }
    write!(page, "\n{NOTES}")?;
    Ok(page)
}

fn example(op: Op) -> Option<[&'static str; 4]> {
    EXAMPLES.iter().copied().find(|example| example[1].split(' ').next() == Some(op.name))
}

#[test]
fn every_op_has_an_example_that_is_true() {
    let names: Vec<&str> = ops().iter().map(|op| op.name).collect();
    let shown: Vec<&str> = EXAMPLES.iter().filter_map(|example| example[1].split(' ').next()).collect();
    assert_eq!(shown, names);
    for [params, inst, result, _] in EXAMPLES {
        let text = format!("func @f({params}) {{\nentry:\n  %r = {inst}\n  ret\n}}\n");
        let module = parse_module(&text, "example").unwrap_or_else(|e| panic!("{}", e.render(false)));
        assert_eq!(module.to_string(), text);
        let func = module.functions().next().unwrap();
        let first = func.first_inst(func.entry().unwrap()).unwrap();
        assert_eq!(func.ty(func.inst(first).results[0]).to_string(), *result, "{inst}");
    }
}

#[test]
fn the_page_is_up_to_date() -> Result<(), Box<dyn std::error::Error>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/array-ops.md");
    let page = page()?;
    if std::env::var_os("REWRIGHT_BLESS").is_some() {
        std::fs::write(&path, &page)?;
    }
    let found = std::fs::read_to_string(&path)?;
    pretty_assertions::assert_eq!(found, page, "docs/array-ops.md is out of date: its first lines say how to write it");
    Ok(())
}
