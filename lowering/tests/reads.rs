//! Expressions that only read: beyond the ends of an array, at quotients and remainders of indices, along several
//! axes at once. They are loop programs, and agree with the reference evaluator, in the words of errors, too.

use ndarray::ArrayD;
use rewright_ir::eval::evaluate;
use rewright_ir::text::parse_module;
use rewright_ir::{Array, DType, Datum, Limits, Scalar, Type};
use rewright_lowering::exec::{Arg, Backend, Executable, Options, ViewMut};

/// The normal number of expressions.
const CASES: usize = 3000;

/// A position over these axes.
fn position(rng: &mut fastrand::Rng, axes: &[&str]) -> String {
    let mut form = rng.i64(0..=6).to_string();
    for axis in axes {
        match rng.u8(0..5) {
            0 => form += &format!(" + {axis}"),
            1 => form += &format!(" - {axis}"),
            2 => form += &format!(" {} {} * {axis}", if rng.bool() { "+" } else { "-" }, rng.i64(1..=3)),
            _ => {}
        }
    }
    form += &format!(" - {}", rng.i64(0..=4));
    match rng.u8(0..6) {
        0 => format!("({form}) // {}", rng.i64(1..=5)),
        1 => format!("({form}) % {}", rng.i64(1..=5)),
        _ => form,
    }
}

/// The text of a function that reads `%a`, whose extents are these, and of which every symbol is an extent of `%s`.
fn function(rng: &mut fastrand::Rng, dtype: DType, extents: &[usize]) -> (String, Vec<usize>) {
    let axes = &["i", "j", "k"][..rng.usize(1..=3)];
    let symbols = ["n", "m", "p"];
    let shape: Vec<usize> = axes.iter().map(|_| *rng.choice(&[0, 1, 2, 5, 7, 9, 20]).unwrap()).collect();
    let pad = if dtype == DType::Bool { "true" } else { "7" };
    let positions: Vec<String> = extents
        .iter()
        .map(|_| match rng.u8(0..9) {
            0 => axes[rng.usize(0..axes.len())].to_string(),
            1 => format!("bcast({})", axes[rng.usize(0..axes.len())]),
            2 => format!("check({})", position(rng, axes)),
            3 | 4 => format!("wrap({})", position(rng, axes)),
            5 | 6 => format!("clamp({})", position(rng, axes)),
            _ => format!("pad({}, {pad})", position(rng, axes)),
        })
        .collect();
    let ty = |extents: &[usize]| {
        Type::array(dtype, extents.iter().map(|&n| rewright_ir::Dim::Const(n as u64)).collect::<Vec<_>>())
    };
    let named: Vec<String> = axes.iter().zip(symbols).map(|(axis, symbol)| format!("{axis}: {symbol}")).collect();
    let result = symbols[..axes.len()].join(", ");
    let text = format!(
        "func @f(%a: {}, %s: bool[{result}]) -> {dtype}[{result}] {{\nentry:\n  %r = arrayexpr [{}] (x = %a[{}]) {{\n    yield x\n  }} : {dtype}[{result}]\n  ret %r\n}}",
        ty(extents),
        named.join(", "),
        positions.join(", "),
    );
    (text, shape)
}

#[test]
fn elements_are_read_where_the_reference_evaluator_reads_them() {
    let cases = std::env::var("REWRIGHT_READS").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES);
    let mut rng = fastrand::Rng::with_seed(7);
    let (mut results, mut errors) = (0, 0);
    for _ in 0..cases {
        let dtype = *rng.choice(&DType::ALL).unwrap();
        let extents: Vec<usize> = (0..rng.usize(1..=3)).map(|_| *rng.choice(&[0, 1, 1, 3, 5, 8]).unwrap()).collect();
        let (text, shape) = function(&mut rng, dtype, &extents);
        let module = parse_module(&text, "test").unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)));
        let element = |i: usize| Scalar::I64((i * 37 % 101) as i64 - 50).cast(dtype);
        let whole = Array::from_fn(dtype, &extents, element).unwrap();
        let sizes = Array::from_fn(DType::Bool, &shape, |_| Scalar::Bool(false)).unwrap();
        let wanted = evaluate(&module, "f", vec![whole.clone().into(), sizes.clone().into()], Limits::default());
        let f =
            Executable::compile(&module, "f", Options { backend: Backend::Cranelift, ..Options::default() }).unwrap();
        let reference = f.remarks().iter().any(|remark| remark.to_string().contains("reference"));
        assert!(!reference, "{:?}\n{text}", f.remarks());
        if let (Ok(wanted), DType::F64) = (&wanted, dtype) {
            // To a buffer of the caller's, whose elements lie otherwise.
            let mut out = ArrayD::<f64>::zeros(shape.iter().rev().copied().collect::<Vec<_>>()).reversed_axes();
            f.call_into(&[Arg::Array(&whole), Arg::Array(&sizes)], &mut [ViewMut::from(out.view_mut())]).unwrap();
            assert_eq!(Some(&Datum::Array(out.into())), wanted.results.first(), "{text}");
        }
        for _ in 0..3 {
            match (&wanted, f.call(&[Arg::Array(&whole), Arg::Array(&sizes)])) {
                (Ok(wanted), Ok(found)) => {
                    assert_eq!(found.iter().next(), wanted.results.first(), "{extents:?} {shape:?}\n{text}");
                    results += 1;
                }
                (Err(wanted), Err(found)) => {
                    assert_eq!((&wanted.kind, &wanted.message), (&found.kind, &found.message), "{text}");
                    errors += 1;
                }
                (wanted, found) => panic!("{wanted:?}\n{found:?}\n{extents:?} {shape:?}\n{text}"),
            }
        }
    }
    assert!(results > cases && errors > cases / 100, "{results} {errors}");
}

#[test]
fn positions_from_arrays_of_every_integer_wrap_exactly() {
    let extremes = |dtype: DType| match dtype {
        DType::U64 => [u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 7, 0].map(Scalar::U64),
        DType::I64 => [i64::MAX, i64::MIN, i64::MIN + 1, -1, 7, 0].map(Scalar::I64),
        _ => [-1, -7, 127, 100, 7, 0].map(|n| Scalar::I64(n).cast(dtype)),
    };
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_int()) {
        let positions = Array::from_fn(dtype, &[6], |i| extremes(dtype)[i]).unwrap();
        for (extent, offset) in [(1, "0"), (3, "0"), (6, "i"), (7, "i - 9"), (8, "3 * i + 5")] {
            let text = format!(
                "func @f(%a: i64[{extent}], %p: {dtype}[6]) -> i64[6] {{\nentry:\n  %r = arrayexpr [i: 6] (x = \
                 %a[wrap(gather(%p[i]) + {offset})]) {{\n    yield x\n  }} : i64[6]\n  ret %r\n}}"
            );
            let module = parse_module(&text, "test").unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)));
            let whole = Array::from_fn(DType::I64, &[extent], |i| Scalar::I64(i as i64)).unwrap();
            let args = || vec![whole.clone().into(), positions.clone().into()];
            let wanted = evaluate(&module, "f", args(), Limits::default()).unwrap().results;
            for backend in [Backend::Interp, Backend::Cranelift, Backend::Auto] {
                let f = Executable::compile(&module, "f", Options { backend, ..Options::default() }).unwrap();
                let found = f.call(&[Arg::Array(&whole), Arg::Array(&positions)]).unwrap();
                assert_eq!(found.iter().next(), wanted.first(), "{backend:?}\n{text}");
            }
        }
    }
}

/// Each row of products begins with a rounded product, also if all rows have one point.
#[test]
fn rows_of_one_product_are_rounded_before_they_are_added() {
    let element = |i: usize| Scalar::F64(0.1 + (i as f64).sin());
    for (axes, x, w) in [
        ("a: reduce 5, i: 70, b: reduce 1", "i, a", "a, b"),
        ("a: reduce 5, i: 70, b: reduce 1", "a, i", "a, b"),
        ("i: 70, a: reduce 5, b: reduce 1", "i, a", "a, b"),
        ("a: reduce 5, b: reduce 1, i: 70", "i, a", "a, b"),
        ("b: reduce 1, i: 70, a: reduce 5", "i, a", "a, b"),
    ] {
        let shape = |index: &str| if index == "i, a" { [70, 5] } else { [5, 70] };
        let [rows, columns] = shape(x);
        let text = format!(
            "func @f(%x: f64[{rows}, {columns}], %w: f64[5, 1]) -> f64[70] {{\nentry:\n  %r = arrayexpr [{axes}] (x = \
             %x[{x}], w = %w[{w}]) {{\n    yield x, w\n  }} reduce (dot f64, f64) finish (s, one) {{\n    yield s\n  }} : \
             f64[70]\n  ret %r\n}}"
        );
        let module = parse_module(&text, "test").unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)));
        let (x, w) = (
            Array::from_fn(DType::F64, &shape(x), element).unwrap(),
            Array::from_fn(DType::F64, &[5, 1], element).unwrap(),
        );
        let args = vec![x.clone().into(), w.clone().into()];
        let wanted = evaluate(&module, "f", args, Limits::default()).unwrap().results;
        for backend in [Backend::Interp, Backend::Cranelift, Backend::Auto] {
            let f = Executable::compile(&module, "f", Options { backend, ..Options::default() }).unwrap();
            let found = f.call(&[Arg::Array(&x), Arg::Array(&w)]).unwrap();
            assert_eq!(found.iter().next(), wanted.first(), "{backend:?}\n{text}");
        }
    }
}
