//! Symmetric contractions: the expressions that are symmetric, and the bits of results: those of elements on both
//! sides of the diagonal are equal.

use crate::support::every::compile;
use ndarray::{Array2, Array3, s};
use num_complex::Complex;
use rewright_ir::text::parse_module;
use rewright_ir::{Array, Element};
use rewright_lowering::exec::{Arg, Backend, Executable, Options};
use rewright_lowering::internals::program::is_symmetric;
use std::num::NonZeroU32;

/// Whether the node of a function of `%x` and `%y` is symmetric in `i` and `j`.
fn symmetric(node: &str) -> bool {
    let text = format!(
        "func @f(%x: f64[m, n], %y: f64[m, n], %b: f64[n], %z: c128[m, n], %s: f64) -> f64[n, n] {{\nentry:\n  \
         %0 = {node} : f64[n, n]\n  ret %0\n}}\n"
    );
    let module = parse_module(&text, "given").unwrap_or_else(|errors| panic!("{}", errors.render(false)));
    let func = module.functions().next().unwrap();
    let mut insts = func.blocks().flat_map(|block| func.insts(block));
    let expr = insts.find_map(|inst| func.inst(inst).attrs.expr()).expect("a node");
    let axis = |name: &str| expr.axes.iter().position(|axis| axis.name.as_str() == name).unwrap();
    is_symmetric(expr, axis("i"), axis("j"))
}

#[test]
fn exchanges_that_change_nothing_are_found() {
    let symmetric_nodes = [
        "arrayexpr [i: n, k: reduce m, j: n] (a = %x[k, i], b = %x[k, j]) {\n yield a, b\n } reduce (dot f64, f64) \
         finish (s, one) {\n yield s\n }",
        // A factor and a point of the finish that are the same on both sides.
        "arrayexpr [i: n, k: reduce m, j: n] (a = %x[k, i], b = %x[k, j], p = %b[i], q = %b[j], c = %s) {\n \
         t0 = sub a, c\n t1 = sub b, c\n t2 = mul t0, t1\n yield t2\n } reduce (sum f64) finish (s) {\n \
         t0 = mul q, p\n t1 = add t0, s\n t2 = div t1, c\n yield t2\n }",
        "arrayexpr [i: n, k: reduce m, j: n] (a = %x[k, i], b = %x[k, j]) {\n t0 = sub a, b\n t1 = abs t0\n yield t1\n \
         } reduce (max f64)",
    ];
    for node in &symmetric_nodes[..2] {
        assert!(symmetric(node), "{node}");
    }
    // `abs` of a difference is no commutative op.
    assert!(!symmetric(symmetric_nodes[2]));
}

#[test]
fn exchanges_that_change_something_are_not() {
    let dot = "{\n yield a, b\n } reduce (dot f64, f64) finish (s, one) {\n yield s\n }";
    let axes = "[i: n, k: reduce m, j: n]";
    for node in [
        format!("arrayexpr {axes} (a = %x[k, i], b = %y[k, j]) {dot}"),
        format!("arrayexpr {axes} (a = %x[k, i], b = %x[k, i]) {dot}")
            .replace("b = %x[k, i]", "b = %x[k, i], c = %x[k, j]"),
        format!("arrayexpr {axes} where j <= i (a = %x[k, i], b = %x[k, j]) {dot} into ([i, j] fill 0.0)"),
        format!("arrayexpr [i: n, k: reduce m, j: 1..n] (a = %x[k, i], b = %x[k, j]) {dot} into ([i, j] fill 0.0)"),
        format!("arrayexpr {axes} (a = %x[k, i], b = %x[k, j]) {dot} into ([i, n - 1 - j])"),
        format!("arrayexpr {axes} (a = %x[k, i], b = %x[k, j]) {{\n t0 = sub a, b\n yield t0\n }} reduce (sum f64)"),
        format!(
            "arrayexpr {axes} (a = %x[k, i], b = %x[k, j]) {{\n t0 = mul a, b\n t1 = mul t0, i\n yield t1\n }} reduce (sum f64)"
        ),
        format!(
            "arrayexpr {axes} (a = %x[k, i], b = %x[k, j], p = %b[i]) {{\n yield a, b\n }} reduce (dot f64, f64) \
             finish (s, one) {{\n t0 = mul s, p\n yield t0\n }}"
        ),
        // The parts of complex products are added in another order.
        format!("arrayexpr {axes} (a = %z[k, i], b = %z[k, j]) {dot}")
            .replace("dot f64, f64", "dot c128, c128")
            .replace("yield s", "t0 = real s\n yield t0"),
    ] {
        assert!(!symmetric(&node), "{node}");
    }
}

/// The functions of a text by each backend but the reference evaluator, on this many threads.
fn compiled(text: &str, threads: u32) -> Vec<Executable> {
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let name = module.functions().next().unwrap().name;
    let options = |backend| Options { backend, threads: NonZeroU32::new(threads), ..Options::default() };
    let fast = Backend::available().filter(|backend| !matches!(backend, Backend::Reference | Backend::Interp));
    fast.map(|backend| Executable::compile(&module, name, options(backend)).unwrap()).collect()
}

fn check<T: Element>(dtype: &str, of: impl Fn(usize) -> T)
where
    for<'a> Arg<'a>: From<&'a Array2<T>> + From<ndarray::ArrayView2<'a, T>>,
{
    // With the same array twice, and with two arrays of the same elements.
    let text = |(lhs, rhs): (usize, usize), second: &str| {
        format!(
            "func @f(%x: {dtype}[n, m], %y: {dtype}[n, m]) -> {dtype}[?, ?] {{
entry:
  %r = dot_general %x, {second}, lhs_contract=[{lhs}], rhs_contract=[{rhs}]
  ret %r
}}"
        )
    };
    let random = |n: usize| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    for dim in [0, 1] {
        let wanted = compile(&text((dim, dim), "%y"), Backend::Cranelift);
        for threads in [1, 3] {
            let found = compiled(&text((dim, dim), "%x"), threads);
            for (rows, steps) in [(97, 128), (193, 140), (100, 300), (241, 600), (300, 1100), (600, 130)] {
                let shape = if dim == 0 { [steps, 2 * rows] } else { [2 * rows, steps] };
                let x = Array2::from_shape_fn(shape, |(i, j)| of(random(i * 1000 + j)));
                let wide = if dim == 0 { x.slice(s![.., ..;2]) } else { x.slice(s![..;-2, ..]) };
                let whole = wide.to_owned();
                let wanted = wanted.call(&[Arg::from(&whole), Arg::from(&whole)]).unwrap();
                for f in &found {
                    for view in [whole.view(), wide] {
                        let results = f.call(&[Arg::from(view), Arg::from(view)]).unwrap();
                        assert!(results[0] == wanted[0], "{dtype}, {rows} rows of {steps}, {:?}", f.codegen());
                    }
                }
            }
        }
    }
}

#[test]
fn copies_have_the_bits_of_products() {
    check("f64", |n| if n % 100_003 == 7 { f64::INFINITY } else { n as f64 / f64::from(u32::MAX) - 0.4 });
    check("f32", |n| n as f32 / u32::MAX as f32 - 0.4);
    check("i64", |n| n as i64 - (1 << 30));
    check("i8", |n| n as i8);
    check("c64", |n| Complex::new(n as f32 / u32::MAX as f32 - 0.4, (n % 1000) as f32));
}

#[test]
fn each_product_of_a_batch_is_symmetric() {
    let text = |y: &str| {
        format!(
            "func @f(%x: f64[b, n, m], %y: f64[b, n, m], %s: f64) -> f64[n, b, n], f64[n, b, n] {{
entry:
  %0, %1 = arrayexpr [i: n, b: b, k: reduce m, j: n] (x = %x[b, i, k], y = {y}[b, j, k], s = %s) {{
    t0 = mul x, s
    t1 = mul y, s
    yield t0, t1
  }} reduce (dot f64, f64) finish (a, one) {{
    t0 = div a, s
    t1 = abs a
    yield t0, t1
  }} : f64[n, b, n], f64[n, b, n]
  ret %0, %1
}}"
        )
    };
    let x = Array3::from_shape_fn([3, 200, 150], |(b, i, k)| ((b * 31 + i * 7 + k * 11) % 97) as f64 / 7.0 - 5.0);
    let (x, s) = (Array::from(x.into_dyn()), 1.25);
    let wanted = compile(&text("%y"), Backend::Cranelift).call(&[Arg::from(&x), Arg::from(&x), s.into()]).unwrap();
    for threads in [1, 2] {
        for f in compiled(&text("%x"), threads) {
            for _ in 0..4 {
                let results = f.call(&[Arg::from(&x), Arg::from(&x), s.into()]).unwrap();
                assert!(results[..] == wanted[..], "{:?}", f.codegen());
            }
        }
    }
}
