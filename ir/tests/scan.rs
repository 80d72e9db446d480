//! The meaning of scan axes, and the errors of the verifier.

use rewright_ir::*;

/// The results of a function of one expression, which has parameters `%x: f64[n, m]` and `%v: f64[n]`.
fn run(expr: &str, types: &str, args: Vec<Datum>) -> Result<Vec<Vec<f64>>, String> {
    let results: Vec<String> = (0..types.matches('[').count()).map(|n| format!("%{n}")).collect();
    let results = results.join(", ");
    let text = format!(
        "func @f(%x: f64[n, m], %v: f64[n]) -> {types} {{\nentry:\n  {results} = arrayexpr {expr} : {types}\n  ret {results}\n}}\n"
    );
    let module = parse_module(&text, "scan.ir").map_err(|e| e.render(false))?;
    assert_eq!(
        parse_module(&module.to_string(), "printed.ir").expect("printed text is valid").to_string(),
        module.to_string()
    );
    let outcome = evaluate(&module, "f", args, Limits::default()).map_err(|e| e.to_string())?;
    Ok(outcome.results.iter().map(|d| d.to_array().iter().map(|s| s.to_f64()).collect()).collect())
}

fn array(shape: &[usize], elements: &[f64]) -> Datum {
    Datum::Array(Array::from_fn(DType::F64, shape, |n| Scalar::F64(elements[n])).expect("elements of the dtype"))
}

/// `x = [[1, 2, 3], [4, 5, 6]]`, `v = [10, 20]`.
fn numbers() -> Vec<Datum> {
    vec![array(&[2, 3], &[1., 2., 3., 4., 5., 6.]), array(&[2], &[10., 20.])]
}

const SUM: &str = "{\n    yield x\n  } reduce (sum f64)";

#[test]
fn a_scan_has_the_running_total_at_each_point() {
    let run = |expr: &str, types: &str| run(expr, types, numbers()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(run(&format!("[i: n, k: scan m] (x = %x[i, k]) {SUM}"), "f64[n, m]"), [[1., 3., 6., 4., 9., 15.]]);
    assert_eq!(run(&format!("[k: scan n, j: m] (x = %x[k, j]) {SUM}"), "f64[n, m]"), [[1., 2., 3., 5., 7., 9.]]);
    assert_eq!(
        run(&format!("[i: n, k: scan exclusive m] (x = %x[i, k]) {SUM} init 0.5"), "f64[n, m]"),
        [[0.5, 1.5, 3.5, 0.5, 4.5, 9.5]]
    );
    // Reversed.
    assert_eq!(
        run(&format!("[i: n, k: scan m] (x = %x[i, m - 1 - k]) {SUM} into ([i, m - 1 - k])"), "f64[n, m]"),
        [[6., 5., 3., 15., 11., 6.]]
    );
    // The reduce axes at a point are combined first; the finisher names the scan axis and operands along it.
    assert_eq!(
        run(
            "[r: reduce m, k: scan n] (x = %x[k, r], v = %v[k]) {\n    yield x, x\n  } reduce (sum f64) \
             reduce (argmax f64, i64) finish (s, p, q) {\n    u0 = add s, v\n    u1 = mul u0, k\n    yield u0, u1, p\n  }"
                .replace("yield x, x", "yield x, x, r")
                .as_str(),
            "f64[n], f64[n], f64[n]"
        ),
        [[16., 41.], [0., 41.], [3., 6.]]
    );
    // A region that is not associative: `total = total / 2 + x`.
    assert_eq!(
        run(
            "[i: n, k: scan m] (x = %x[i, k]) {\n    yield x\n  } reduce (f64) region (a, b) {\n    t0 = mul a, 0.5\n    \
             t1 = add t0, b\n    yield t1\n  } noassoc nocomm init first",
            "f64[n, m]"
        ),
        [[1., 2.5, 4.25, 4., 7., 9.5]]
    );
    assert_eq!(
        run(
            "[k: scan n] (a = %v[k]) {\n    yield a, a\n  } reduce (dot f64, f64) finish (s, one) {\n    yield s\n  }",
            "f64[n]"
        ),
        [[100., 500.]]
    );
}

#[test]
fn points_that_the_guard_leaves_out_have_no_result_and_are_not_combined() {
    let run = |expr: &str, types: &str| run(expr, types, numbers());
    let filled = "into ([i, k] fill -1.0)";
    assert_eq!(
        run(&format!("[i: n, k: scan m] where (i + k) % 2 == 0 (x = %x[i, k]) {SUM} {filled}"), "f64[n, m]"),
        Ok(vec![vec![1., -1., 4., -1., 5., -1.]])
    );
    // Conditions on reduce axes say which points are combined.
    let least = "{\n    yield x\n  } reduce (min f64) init first";
    let some = |guard: &str| format!("[i: n, k: scan m, r: reduce 1] where {guard} (x = %x[i, k]) {least}");
    assert_eq!(run(&some("r <= k"), "f64[n, m]"), Ok(vec![vec![1., 1., 1., 4., 4., 4.]]));
    let error = run(&some("r <= k - 1"), "f64[n, m]").unwrap_err();
    assert!(error.contains("there is no min of zero elements"), "{error}");
    assert_eq!(run(&format!("[i: n, k: scan 0] (x = %x[i, k]) {least}"), "f64[n, 0]"), Ok(vec![vec![]]));
}

#[test]
fn the_last_point_is_the_last_one_of_the_scan_axis() {
    let text = format!("[k: scan n, j: m] (x = %x[k, j]) {SUM} into ([0*j] fill 0.0 last)");
    // Scan axes are innermost: the last point is that of the last column.
    assert_eq!(run(&text.replace("0*j", "k"), "f64[n]", numbers()), Ok(vec![vec![3., 9.]]));
}

#[test]
fn running_sums_are_sequential() {
    let mut random = fastrand::Rng::with_seed(3);
    let elements: Vec<f64> = (0..3000).map(|_| (random.f64() * 16. - 8.).exp2()).collect();
    let args = vec![array(&[1, 3000], &elements), array(&[1], &[0.])];
    let found = run(&format!("[i: n, k: scan m] (x = %x[i, k]) {SUM} init first"), "f64[n, m]", args);
    let mut total = -0.0;
    let wanted: Vec<f64> = elements
        .iter()
        .map(|x| {
            total += x;
            total
        })
        .collect();
    assert_eq!(found, Ok(vec![wanted]));
}

#[test]
fn scans_without_a_meaning_are_refused() {
    let refused = |expr: &str, types: &str, why: &str| {
        let error = run(expr, types, numbers()).unwrap_err();
        assert!(error.contains(why), "{expr}\n{error}");
    };
    refused(&format!("[i: scan n, k: scan m] (x = %x[i, k]) {SUM}"), "f64[n, m]", "at most one");
    refused("[i: n, k: scan m] (x = %x[i, k]) {\n    yield x\n  }", "f64[n, m]", "nothing says how");
    refused(
        &format!("[i: n, k: scan exclusive m] (x = %x[i, k]) {SUM} init first"),
        "f64[n, m]",
        "has no value at its first point",
    );
    refused(
        &format!("[i: n, k: scan m] (x = %x[i, k]) {SUM} init [%x]"),
        "f64[n, m]",
        "can't start from existing elements",
    );
    refused(&format!("[i: n, k: scan m] (x = %x[i, k]) {SUM}"), "f64[n]", "2 parallel and scan axes");
    refused(
        "[i: n] (v = %v[i]) {\n    t0 = arrayexpr [k: scan m] (x = %x[i, k]) {\n      yield x\n    } reduce (sum f64) : f64\n    \
         yield t0\n  }",
        "f64[n]",
        "must be a reduce axis",
    );
    refused(
        &format!("[i: n, k: scan m] (x = %x[i, k]) {SUM} into ([i])"),
        "f64[n]",
        "written at one place by all points along axis `k`",
    );
}

#[test]
fn words_of_axes_are_symbols_too() {
    let text = "func @f(%x: f64[scan, exclusive]) -> f64[scan, exclusive] {
entry:
  %0 = arrayexpr [i: scan, k: scan exclusive \"exclusive\"] (x = %x[i, k]) {
    yield x
  } reduce (sum f64) : f64[scan, exclusive]
  ret %0
}
";
    let module = parse_module(text, "symbols.ir").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let expr = module.functions().next().and_then(|f| f.inst(f.first_inst(f.entry()?)?).attrs.expr().cloned());
    assert_eq!(expr.and_then(|expr| expr.scan()), Some((1, true)));
    let printed = module.to_string();
    assert_eq!(parse_module(&printed, "printed.ir").map(|m| m.to_string()).ok(), Some(printed));
}

#[test]
fn mistakes_of_scan_ops_are_told() {
    let refused = |params: &str, inst: &str, why: &str| {
        let text = format!("func @f({params}) {{\nentry:\n  %r = {inst}\n  ret\n}}\n");
        let error = parse_module(&text, "wrong.ir").expect_err(inst).render(false).to_string();
        assert!(error.contains(why), "{inst}\n{error}");
    };
    refused("%x: f64[n, m]", "cumsum %x", "`cumsum` needs an axis, as the operand has 2");
    refused("%x: f64[n, m]", "cumsum %x, axis=2", "has no axis 2 at rank 2");
    refused("%x: f64[]", "cummax %x", "needs an axis, as the operand has 0");
    refused("%x: f64", "cumsum %x", "reads an array, operand 0 is the scalar f64");
    refused("%x: i8[n]", "cumsum %x, init=0:i8", "starts from i8, and the result is i64");
    refused("%x: i8[n]", "cumsum %x, init=1:i8", "`init=1:i64`");
    refused("%x: c64[n]", "cummin %x, exclusive=true", "has no first element, as `min` of c64 has no neutral one");
    refused("%x: f64[n]", "scan %x", "monoid");
    refused(
        "%x: f64[n]",
        "scan %x, monoid=\"argmax\"",
        "has no monoid \"argmax\"; there are sum, prod, min, max, any, all",
    );
}

#[test]
fn scan_ops_are_nodes() {
    let x = || vec![array(&[2, 3], &[1., -0., 3., f64::NAN, 5., -6.]), array(&[2], &[-0., 20.])];
    for monoid in ["sum", "prod", "min", "max", "any", "all"] {
        for attrs in ["", ", exclusive=true", ", reverse=true", ", exclusive=true, reverse=true"] {
            for axis in [0, 1] {
                let text = format!(
                    "func @f(%x: f64[n, m], %v: f64[n]) -> ? {{\nentry:\n  %r = scan %x, monoid=\"{monoid}\", axis={axis}{attrs}\n  ret %r\n}}\n"
                );
                let dtype = if matches!(monoid, "any" | "all") { "bool" } else { "f64" };
                let text = text.replace("-> ?", &format!("-> {dtype}[n, m]"));
                let module = parse_module(&text, "op.ir").unwrap_or_else(|e| panic!("{}", e.render(false)));
                let func = module.functions().next().expect("a function");
                let inst = func.first_inst(func.entry().expect("a block")).expect("an instruction");
                let data = func.inst(inst);
                let scan = ops::scan::Scan::of(func, data).expect("a scan");
                let expr = scan.expression(func.ty(data.args[0]), func.ty(data.results[0]), Loc::default());
                let attrs = Attrs::new().with("expr", Attr::Expr(std::sync::Arc::new(expr.expect("a node"))));
                let mut b =
                    FuncBuilder::new("f", &[("x", func.ty(data.args[0]).clone())], vec![func.results[0].clone()]);
                let r = b.op_with("arrayexpr", [b.param(0)], attrs).expect("valid");
                b.ret([r]).expect("one result");
                let by_node = evaluate_function(&b.finish(), x()[..1].to_vec(), Limits::default()).expect("right");
                let by_op = evaluate(&module, "f", x(), Limits::default()).expect("right");
                let bits = |d: &Datum| d.to_array().iter().map(|s| s.to_f64()).map(f64::to_bits).collect::<Vec<_>>();
                assert_eq!(
                    bits(&by_op.results[0]),
                    bits(&by_node.results[0]),
                    "{monoid}{attrs_text}",
                    attrs_text = text
                );
            }
        }
    }
}
