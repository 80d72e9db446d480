//! Contractions on every backend: sums of products, and other reductions of pairs, over operands that results
//! share.

use super::{compile, number, same};
use rewright_ir::{Array, DType, Datum, Scalar};
use rewright_lowering::exec::{Arg, Backend, Executable, Options};

/// A random array with small numbers, so that sums of integers stay exact; floats have many digits.
fn array(rng: &mut fastrand::Rng, dtype: DType, shape: &[usize]) -> Datum {
    let element = |_| {
        let (re, im) = (rng.f64() * 8.0 - 4.0, rng.f64() * 8.0 - 4.0);
        match dtype {
            DType::C128 | DType::C64 => Scalar::C128(num_complex::Complex { re, im }).cast(dtype),
            _ if dtype.is_float() => Scalar::F64(re).cast(dtype),
            _ => Scalar::I64(rng.i64(-9..9)).cast(dtype),
        }
    };
    Datum::Array(Array::from_fn(dtype, shape, element).expect("it is small"))
}

/// Names of axes as a shape.
fn dims(axes: &[&str]) -> String {
    axes.join(", ")
}

#[test]
fn contractions_agree() {
    let mut rng = fastrand::Rng::with_seed(number("REWRIGHT_SEED", 7));
    let all = number("REWRIGHT_CONTRACTIONS", 80);
    let backends: Vec<Backend> = Backend::available().filter(|b| *b != Backend::Reference).collect();
    let pick = |rng: &mut fastrand::Rng, of: &[usize]| of[rng.usize(0..of.len())];
    let (mut cases, mut tiled, mut segments) = (0, 0, 0);
    while cases < all {
        let dtype = [DType::F64, DType::F64, DType::F32, DType::C128, DType::I32, DType::Bool][rng.usize(0..6)];
        // Whole and partial tiles of rows, blocks of steps, and tiles of columns.
        let (n, k) = (pick(&mut rng, &[1, 7, 8, 9, 64, 65, 131]), pick(&mut rng, &[0, 1, 8, 127, 128, 129, 257, 300]));
        let (m, batch) = (pick(&mut rng, &[1, 3, 8, 17, 40, 257]), pick(&mut rng, &[1, 1, 3]));
        // Another reduce axis outside of `k`, and one more.
        let (outer, more) = match rng.usize(0..4) {
            0 | 1 => (1, 1),
            2 => (pick(&mut rng, &[0, 2, 3, 16, 40, 129, 600]), 1),
            _ => (pick(&mut rng, &[2, 3, 16]), pick(&mut rng, &[2, 5])),
        };
        if n * k * m * batch * outer * more > 1_500_000 {
            continue;
        }
        cases += 1;
        tiled += usize::from(n >= 64 && k >= 128);
        segments += usize::from(outer * k * more > 512 && outer > 1 && k > 0);
        let of = |axis: &str| match axis {
            "i" => n,
            "k" => k,
            "l" => outer,
            "o" => more,
            "j" => m,
            "i + k" => (n + k).saturating_sub(1),
            _ => batch,
        };
        let (mut a, mut b, mut out) = (vec!["i", "k"], vec!["k", "j"], vec!["i", "j"]);
        // A convolution.
        let is_window = k > 0 && rng.usize(0..4) == 0;
        if is_window {
            a = vec!["i + k"];
        }
        for (axis, extent) in [("l", outer), ("o", more)] {
            if extent != 1 {
                a.push(axis);
                b.push(axis);
            }
        }
        rng.shuffle(&mut a);
        rng.shuffle(&mut b);
        let has_batch = batch > 1;
        if has_batch {
            a.insert(rng.usize(0..=a.len()), "p");
            out.insert(0, "p");
            if rng.bool() {
                b.insert(0, "p");
            }
        }
        let is_real = !dtype.is_complex() && dtype != DType::Bool;
        let (body, reduce) = match rng.usize(0..4) {
            0 => ("t0 = mul a, b\n    yield t0", format!("reduce (sum {dtype})")),
            1 if is_real => ("t0 = add a, b\n    yield t0", format!("reduce (max {dtype}) init 0")),
            2 => (
                "t0 = mul b, b\n    yield a, t0",
                format!("reduce (dot {dtype}, {dtype}) finish (s, one) {{\n    u0 = mul s, s\n    yield u0\n  }}"),
            ),
            _ => ("yield a, b", format!("reduce (dot {dtype}, {dtype}) finish (s, one) {{\n    yield s\n  }}")),
        };
        let body = if dtype == DType::Bool { body.replace("mul", "and") } else { body.to_string() };
        let reduce = if dtype == DType::Bool { reduce.replace("mul", "and").replace("sum", "any") } else { reduce };
        let guard = match rng.usize(0..8) {
            0 | 1 => " where j <= i + 5",
            2 => " where k <= i + 5",
            _ => "",
        };
        let fill = if dtype == DType::Bool { "false" } else { "0" };
        let into = if guard.is_empty() { String::new() } else { format!(" into ([{}] fill {fill})", dims(&out)) };
        let shape = |axes: &[&str]| axes.iter().map(|axis| of(axis)).collect::<Vec<usize>>();
        // Extents are known, or symbols.
        let is_known = is_window || rng.bool();
        let extent = |axis: &&str| match *axis {
            "l" | "o" if !is_known => format!("n{axis}"),
            axis if is_known || of(axis) == 0 => of(axis).to_string(),
            axis => format!("n{axis}"),
        };
        let ty = |axes: &[&str]| format!("{dtype}[{}]", axes.iter().map(extent).collect::<Vec<_>>().join(", "));
        let axes: Vec<String> = ["p", "i", "l", "o", "k", "j"]
            .iter()
            .filter(|axis| a.contains(axis) || b.contains(axis) || out.contains(axis) || **axis == "k")
            .map(|axis| {
                let kind = if ["k", "l", "o"].contains(axis) { "reduce " } else { "" };
                format!("{axis}: {kind}{}", extent(axis))
            })
            .collect();
        let text = format!(
            "func @f(%a: {}, %b: {}) -> {} {{\nentry:\n  %0 = arrayexpr [{}]{guard} (a = %a[{}], b = %b[{}]) {{\n    {body}\n  }} {reduce}{into} : {}\n  ret %0\n}}\n",
            ty(&a),
            ty(&b),
            ty(&out),
            axes.join(", "),
            dims(&a),
            dims(&b),
            ty(&out),
        );
        let args = [array(&mut rng, dtype, &shape(&a)), array(&mut rng, dtype, &shape(&b))];
        let lent: Vec<Arg<'_>> = args.iter().map(Arg::from).collect();
        let reference = compile(&text, Backend::Reference).unwrap_or_else(|| panic!("valid: {text}"));
        let wanted = reference.call(&lent);
        assert!(wanted.is_ok(), "{wanted:?}\n{text}");
        for &backend in &backends {
            let module = rewright_ir::text::parse_module(&text, "product").expect("valid");
            for threads in [1, 3] {
                let options = Options { backend, threads: std::num::NonZeroU32::new(threads), ..Options::default() };
                let f = Executable::compile(&module, "f", options).expect("it compiles");
                let found = f.call(&lent);
                assert!(same(&found, &wanted), "{backend:?}, {threads} threads\n{text}");
                assert!(f.reference_steps().is_empty(), "{backend:?}\n{text}");
            }
        }
    }
    assert!(tiled > 5, "only {tiled} cases have tiles of rows");
    assert!(segments > 5, "only {segments} cases have blocks of points along several axes");
}
