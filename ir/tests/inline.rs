//! Inlining of scalar functions into bodies: the expression computes the function's results, or inlining is
//! refused.

use rewright_ir::expr::{
    Affine, Axis, AxisKind, Body, BodyRef, Index, IndexExpr, Mode, Operand, Out, Source, SymExpr, Write,
};
use rewright_ir::{
    Array, ArrayExpr, Attr, Attrs, DType, Datum, Dim, Limits, Module, Scalar, evaluate, evaluate_op, inline_function,
    parse_module, registry,
};
use std::sync::Arc;

fn module(text: &str) -> Module {
    parse_module(text, "test").unwrap_or_else(|why| panic!("{why:?}"))
}

/// Inlines `f` into the body of an expression along one axis.
fn expression(module: &Module, dtypes: &[DType]) -> Result<ArrayExpr, String> {
    let f = module.get("f".into()).unwrap();
    let args: Vec<_> = dtypes.iter().enumerate().map(|(k, &d)| (BodyRef::Operand(k as u32), d)).collect();
    let mut body = Body::default();
    body.yields = inline_function(&mut body, module, f, &args, f.loc)?.to_vec();
    let at = || IndexExpr::Affine(Affine::axis(0));
    let operand = |(k, &dtype): (usize, &DType)| Operand {
        name: format!("x{k}").as_str().into(),
        source: Source::Array(k as u32),
        dtype,
        index: vec![Index { expr: at(), mode: Mode::Broadcast }],
    };
    let out = |dtype| Out { dtype, dims: vec![Dim::Any], index: vec![at()], fill: None, write: Write::Unique };
    Ok(ArrayExpr {
        axes: vec![Axis { name: "i".into(), lo: SymExpr::default(), hi: None, kind: AxisKind::Parallel }],
        guard: vec![],
        operands: dtypes.iter().enumerate().map(operand).collect(),
        body,
        reductions: vec![],
        finish: None,
        outs: f.results.iter().map(|ty| out(ty.dtype())).collect(),
        locs: vec![],
    })
}

/// Asserts that expression and function give the same results for each element.
fn same(text: &str, columns: &[Vec<Scalar>]) {
    let module = module(text);
    let dtypes: Vec<DType> = columns.iter().map(|c| c[0].dtype()).collect();
    let expr = expression(&module, &dtypes).unwrap();
    let arrays: Vec<Datum> =
        columns.iter().map(|c| Array::from_fn(c[0].dtype(), &[c.len()], |n| c[n]).unwrap().into()).collect();
    let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
    let results = evaluate_op(registry().op("arrayexpr").unwrap(), &attrs, &arrays, &[], Limits::default()).unwrap();
    let params = module.get("f".into()).unwrap().signature().params;
    for n in 0..columns[0].len() {
        let args = columns.iter().zip(&params).map(|(c, p)| Datum::Scalar(c[n].cast(p.dtype()))).collect();
        let want = evaluate(&module, "f", args, Limits::default()).unwrap().results;
        let got: Vec<Datum> = results.iter().map(|r| r.as_array().unwrap().get(&[n]).unwrap().into()).collect();
        assert_eq!(got, want, "element {n}");
    }
}

fn floats(list: &[f64]) -> Vec<Scalar> {
    list.iter().map(|&x| Scalar::F64(x)).collect()
}

fn refused(text: &str, dtypes: &[DType]) -> String {
    expression(&module(text), dtypes).unwrap_err()
}

#[test]
fn straight_lines_are_taken_as_they_are() {
    let text =
        "func @f(%x: f64, %k: i32) -> (f64, f64) {\nentry:\n  %0 = mul %x, %k\n  %1 = add %0, 1.0\n  ret %1, %x\n}";
    // The second operand is cast to the parameter's dtype.
    let k = [3i64, -2, 1 << 32].map(Scalar::I64).to_vec();
    same(text, &[floats(&[1.5, -0.0, f64::INFINITY]), k]);
}

#[test]
fn branches_become_selections() {
    let text = r"
func @f(%x: f64) -> f64 {
entry:
  %0 = gt %x, 1.0
  br_if %0, big(%x), small
big(%y: f64):
  %1 = mul %y, 10.0
  jump done(%1, %x)
small:
  %2 = lt %x, 0.0
  br_if %2, done(0.5, %x), middle
middle:
  %3 = sqrt %x
  jump done(%3, 7.0)
done(%r: f64, %s: f64):
  %4 = add %r, %s
  ret %4
}";
    same(text, &[floats(&[2.0, -3.0, 0.25, 1.0, f64::NAN, f64::INFINITY])]);
    let insts = expression(&module(text), &[DType::F64]).unwrap().body.insts;
    let names: Vec<String> = insts.iter().map(|i| format!("{:?}", i.op)).collect();
    assert!(names.iter().all(|n| !n.contains("Op(and") && !n.contains("Op(not")), "the tests are enough: {names:?}");
}

#[test]
fn ways_that_meet_crosswise_are_told_apart() {
    // Two different branches lead to `shared`.
    let text = r"
func @f(%x: i64, %y: i64) -> i64 {
entry:
  %0 = lt %x, 0
  br_if %0, left, right
left:
  %1 = lt %y, 0
  br_if %1, shared(1), out(2)
right:
  %2 = gt %y, 5
  br_if %2, shared(3), out(4)
shared(%s: i64):
  %3 = add %s, %x
  jump out(%3)
out(%r: i64):
  ret %r
}";
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for a in [-3i64, 0, 4] {
        for b in [-1i64, 0, 5, 6] {
            x.push(Scalar::I64(a));
            y.push(Scalar::I64(b));
        }
    }
    same(text, &[x, y]);
}

#[test]
fn switches_calls_and_several_returns() {
    let text = r"
func @half(%x: f64) -> f64 {
entry:
  %0 = lt %x, 0.0
  br_if %0, minus, plus
minus:
  ret -1.0
plus:
  %1 = mul %x, 0.5
  ret %1
}
func @f(%i: i32, %x: f64) -> f64 {
entry:
  switch %i, zero, seven(%x), other, cases=[0, 7]
zero:
  ret 100.0
seven(%s: f64):
  %0 = call @half(%s)
  ret %0
other:
  %1 = call @half(2.0)
  %2 = add %1, %x
  ret %2
}";
    let i = [0, 7, 7, -1, 3].map(Scalar::I32).to_vec();
    same(text, &[i, floats(&[1.0, 3.0, -3.0, 5.0, f64::NAN])]);
}

#[test]
fn what_could_fail_elsewhere_is_refused() {
    let conditional = r"
func @f(%x: i64, %n: i64) -> i64 {
entry:
  %0 = ge %n, 0
  br_if %0, fine, negative
fine:
  %1 = power %x, %n
  ret %1
negative:
  ret 0
}";
    assert!(refused(conditional, &[DType::I64; 2]).contains("`power` may fail"));
    let floats = conditional.replace("i64", "f64").replace(", 0\n", ", 0.0\n").replace("ret 0\n", "ret 0.0\n");
    assert!(expression(&module(&floats), &[DType::F64; 2]).is_ok());
    let always = "func @f(%x: i64) -> i64 {\nentry:\n  %0 = power %x, %x\n  ret %0\n}";
    assert!(expression(&module(always), &[DType::I64]).is_ok(), "it fails where the function does");
}

#[test]
fn loops_and_raising_are_refused() {
    let looping = r"
func @f(%x: f64) -> f64 {
entry:
  jump again(%x)
again(%y: f64):
  %0 = mul %y, 0.5
  %1 = gt %0, 1.0
  br_if %1, again(%0), done
done:
  ret %0
}";
    assert!(refused(looping, &[DType::F64]).contains("has a loop"));
    let raising = r#"
func @f(%x: f64) -> f64 {
entry:
  %0 = lt %x, 0.0
  br_if %0, bad, good
bad:
  raise kind="ValueError", message="negative"
good:
  ret %x
}"#;
    assert!(refused(raising, &[DType::F64]).contains("`raise`"));
    let recursive = "func @f(%x: f64) -> f64 {\nentry:\n  %0 = call @f(%x)\n  ret %0\n}";
    assert!(refused(recursive, &[DType::F64]).contains("nest deeper"));
}

#[test]
fn the_number_of_inlined_blocks_is_bounded() {
    // Each function calls the one before three times: many blocks without any instructions.
    let mut text = String::from("func @f0(%x: f64) -> f64 {\nentry:\n  ret %x\n}\n");
    for depth in 1..16 {
        let callee = depth - 1;
        let name = if depth == 15 { "f".to_string() } else { format!("f{depth}") };
        text += &format!(
            "func @{name}(%x: f64) -> f64 {{\nentry:\n  %0 = call @f{callee}(%x)\n  %1 = call @f{callee}(%0)\n  %2 = call @f{callee}(%1)\n  ret %2\n}}\n"
        );
    }
    assert!(refused(&text, &[DType::F64]).contains("blocks, with those of its callees"));
    // Many paths that meet in one block.
    let ways = |count: usize| {
        let mut text = String::from("func @f(%x: f64, %c: bool) -> f64 {\nentry:\n  br_if %c, b0, end\n");
        (0..count).for_each(|n| text += &format!("b{n}:\n  br_if %c, b{}, end\n", n + 1));
        text + &format!("b{count}:\n  ret %x\nend:\n  ret %x\n}}\n")
    };
    assert!(refused(&ways(100_000), &[DType::F64, DType::Bool]).contains("blocks"));
    assert!(expression(&module(&ways(20)), &[DType::F64, DType::Bool]).is_ok());
}
