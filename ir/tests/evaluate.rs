//! The evaluator: control flow, calls, stores, shapes and limits.

use rewright_ir::*;

fn i64s(dims: &[&str]) -> Type {
    let dims: Vec<Dim> = dims.iter().map(|s| s.parse().map_or_else(|_| Dim::from(*s), Dim::Const)).collect();
    Type::array(DType::I64, dims)
}
fn int() -> Type {
    Type::scalar(DType::I64)
}
fn num(x: i64) -> Datum {
    Datum::Scalar(Scalar::I64(x))
}
fn ints(shape: &[usize]) -> Datum {
    Datum::Array(Array::from_fn(DType::I64, shape, |i| Scalar::I64(i as i64)).unwrap())
}
fn callee(name: &str) -> Attrs {
    Attrs::new().with("callee", Attr::Func(name.into()))
}
fn jump(block: Block, args: &[Value]) -> Target {
    Target { block, args: args.iter().copied().collect() }
}
fn no_args() -> [Arg; 0] {
    []
}
fn module(functions: impl IntoIterator<Item = Function>) -> Module {
    let mut module = Module::new();
    for f in functions {
        module.insert(f);
    }
    module
}

/// `sum(n)`: 0 + 1 + ... + n-1 by a loop.
fn sum_below() -> Function {
    let mut b = FuncBuilder::new("sum", &[("n", int())], vec![int()]);
    let head = b.block("head", &[("i", int()), ("s", int())]);
    let body = b.block("body", &[]);
    let done = b.block("done", &[]);
    let (n, i, s) = (b.param(0), b.block_param(head, 0), b.block_param(head, 1));
    let start = b.op("add", [Arg::from(0), Arg::from(0)]).unwrap();
    b.inst("jump", no_args(), Attrs::new(), [jump(head, &[start, start])]).unwrap();
    b.switch_to(head);
    let more = b.op("lt", [i, n]).unwrap();
    b.inst("br_if", [more], Attrs::new(), [jump(body, &[]), jump(done, &[])]).unwrap();
    b.switch_to(body);
    let t = b.op("add", [s, i]).unwrap();
    let j = b.op("add", [Arg::from(i), Arg::from(1)]).unwrap();
    b.inst("jump", no_args(), Attrs::new(), [jump(head, &[j, t])]).unwrap();
    b.switch_to(done);
    b.ret([s]).unwrap();
    b.finish()
}

#[test]
fn loops_carry_values_in_block_arguments() {
    let f = sum_below();
    for n in [0, 1, 10, 1000] {
        let out = evaluate_function(&f, vec![num(n)], Limits::default()).unwrap();
        assert_eq!(out.results, [num(n * (n - 1) / 2)]);
    }
}

#[test]
fn steps_are_limited() {
    let error =
        evaluate_function(&sum_below(), vec![num(1000)], Limits { steps: 500, ..Limits::default() }).unwrap_err();
    assert_eq!(error.kind, EvalErrorKind::Limit);
}

#[test]
fn switch_takes_the_case_or_the_last_target() {
    let mut b = FuncBuilder::new("f", &[("x", int())], vec![int()]);
    let blocks: Vec<Block> = ["a", "b", "c"].iter().map(|name| b.block(name, &[])).collect();
    let cases = Attrs::new().with("cases", Attr::Ints([7, -1].into()));
    b.inst("switch", [b.param(0)], cases, blocks.iter().map(|&block| jump(block, &[]))).unwrap();
    for (i, &block) in blocks.iter().enumerate() {
        b.switch_to(block);
        b.ret([i as i64]).unwrap();
    }
    let f = b.finish();
    for (x, block) in [(7, 0), (-1, 1), (0, 2)] {
        assert_eq!(evaluate_function(&f, vec![num(x)], Limits::default()).unwrap().results, [num(block)]);
    }
}

#[test]
fn raise_names_its_kind() {
    let mut b = FuncBuilder::new("f", &[], vec![]);
    let attrs = Attrs::new().with("kind", Attr::Str("ValueError".into())).with("message", Attr::Str("no".into()));
    b.inst("raise", no_args(), attrs, []).unwrap();
    let error = evaluate_function(&b.finish(), vec![], Limits::default()).unwrap_err();
    assert_eq!(error.kind, EvalErrorKind::Raised("ValueError".to_string()));
    assert_eq!(error.message, "no");
}

/// `fill(x, v)`: stores `v` to `x` and returns the contents of `x` afterwards.
fn fill() -> Function {
    let mut b = FuncBuilder::new("fill", &[("x", i64s(&["n"])), ("v", int())], vec![i64s(&["n"])]);
    let (x, v) = (b.param(0), b.param(1));
    b.inst("store", [x, v], Attrs::new(), []).unwrap();
    b.ret([x]).unwrap();
    b.finish()
}

#[test]
fn stores_reach_only_the_caller() {
    let m = module([fill()]);
    let mut b = FuncBuilder::new("f", &[("x", i64s(&["n"])), ("y", i64s(&["n"]))], vec![i64s(&["n"]); 3]).in_module(&m);
    let (x, y) = (b.param(0), b.param(1));
    let before = b.op("add", [Arg::from(x), Arg::from(0)]).unwrap();
    let filled = b.op_with("call", [Arg::from(x), Arg::from(5)], callee("fill")).unwrap();
    b.inst("store", [y, x], Attrs::new(), []).unwrap();
    b.ret([before, filled, x]).unwrap();
    let f = b.finish();
    let m = module([fill(), f]);
    let (x, y) = (ints(&[3]), ints(&[3]));
    let out = evaluate(&m, "f", vec![x.clone(), y], Limits::default()).unwrap();
    let fives = Datum::Array(Array::full(Scalar::I64(5), &[3]).unwrap());
    assert_eq!(out.results, [x.clone(), fives.clone(), fives.clone()]);
    assert_eq!(out.args, [fives.clone(), fives]);
    assert_eq!(x, ints(&[3]), "the caller's own handle keeps its elements");
}

#[test]
fn deleted_values_cant_be_read_and_deleted_parameters_keep_their_stores() {
    let mut b = FuncBuilder::new("f", &[("x", i64s(&["n"]))], vec![]);
    let x = b.param(0);
    b.inst("store", [Arg::from(x), Arg::from(9)], Attrs::new(), []).unwrap();
    b.inst("del", [x], Attrs::new(), []).unwrap();
    let mut bad = b.func().clone();
    b.ret(no_args()).unwrap();
    let out = evaluate_function(&b.finish(), vec![ints(&[2])], Limits::default()).unwrap();
    assert_eq!(out.args, [Datum::Array(Array::full(Scalar::I64(9), &[2]).unwrap())]);

    let print = bad.create_inst(registry().op("print").unwrap(), [x], Attrs::new(), [], Types::new(), Loc::default());
    bad.append(bad.entry().unwrap(), print);
    let error = evaluate_function(&bad, vec![ints(&[2])], Limits::default()).unwrap_err();
    assert!(error.message.contains("`%x` was ended by `del`"), "{error}");
}

#[test]
fn storing_through_two_parameters_of_one_value_is_an_error() {
    let mut b = FuncBuilder::new("two", &[("x", i64s(&["n"])), ("y", i64s(&["n"]))], vec![]);
    let (x, y) = (b.param(0), b.param(1));
    b.inst("store", [Arg::from(x), Arg::from(1)], Attrs::new(), []).unwrap();
    b.inst("store", [y, x], Attrs::new(), []).unwrap();
    b.ret(no_args()).unwrap();
    let m = module([b.finish()]);
    let mut b = FuncBuilder::new("f", &[("a", i64s(&["n"]))], vec![]).in_module(&m);
    let a = b.param(0);
    b.inst("call", [a, a], callee("two"), []).unwrap();
    b.ret(no_args()).unwrap();
    let f = b.finish();
    let m = module([m.get("two".into()).unwrap().clone(), f]);
    let error = evaluate(&m, "f", vec![ints(&[2])], Limits::default()).unwrap_err();
    assert!(error.message.contains("given the same value as another"), "{error}");
}

#[test]
fn endless_recursion_is_an_error() {
    let mut b = FuncBuilder::new("f", &[("x", int())], vec![int()]);
    b.ret([b.param(0)]).unwrap();
    let m = module([b.finish()]);
    let mut b = FuncBuilder::new("f", &[("x", int())], vec![int()]).in_module(&m);
    let y = b.op_with("call", [b.param(0)], callee("f")).unwrap();
    b.ret([y]).unwrap();
    let m = module([b.finish()]);
    let error = evaluate(&m, "f", vec![num(1)], Limits { depth: u32::MAX, ..Limits::default() }).unwrap_err();
    assert_eq!(error.kind, EvalErrorKind::Limit);
    assert!(error.message.contains("deeper than 256"), "{error}");
}

#[test]
fn ufuncs_apply_to_each_element_with_broadcasting() {
    let mut b = FuncBuilder::new("f", &[("x", i64s(&["n", "1"])), ("y", i64s(&["n"]))], vec![i64s(&["n", "n"])]);
    let m = {
        let mut g = FuncBuilder::new("g", &[("a", int()), ("b", int())], vec![int()]);
        let s = g.op("add", [g.param(0), g.param(1)]).unwrap();
        g.ret([s]).unwrap();
        module([g.finish()])
    };
    b = b.in_module(&m);
    let r = b.op_with("ufunc", [b.param(0), b.param(1)], callee("g")).unwrap();
    b.ret([r]).unwrap();
    let f = b.finish();
    let m = module([m.get("g".into()).unwrap().clone(), f]);
    let out = evaluate(&m, "f", vec![ints(&[2, 1]), ints(&[2])], Limits::default()).unwrap();
    let table = Array::from_fn(DType::I64, &[2, 2], |i| Scalar::I64([0, 1, 1, 2][i])).unwrap();
    assert_eq!(out.results, [Datum::Array(table)]);
}

#[test]
fn symbols_are_bound_once() {
    let mut b = FuncBuilder::new("f", &[("x", i64s(&["n"])), ("y", i64s(&["m", "n"]))], vec![i64s(&["m", "n"])]);
    let r = b.op("add", [b.param(0), b.param(1)]).unwrap();
    b.ret([r]).unwrap();
    let f = b.finish();
    assert!(evaluate_function(&f, vec![ints(&[3]), ints(&[2, 3])], Limits::default()).is_ok());
    let error = evaluate_function(&f, vec![ints(&[3]), ints(&[3, 2])], Limits::default()).unwrap_err();
    assert_eq!(error.kind, EvalErrorKind::Shape);
    assert_eq!(
        error.to_string(),
        "`@f`: argument `%y` is i64[3, 2], its type is i64[m, n] with m = 3 from `%y`, n = 3 from `%x`"
    );
    let wrong = evaluate_function(&f, vec![num(3), ints(&[3, 2])], Limits::default()).unwrap_err();
    assert!(wrong.to_string().contains("argument `%x` is i64, its type is i64[n]"), "{wrong}");
    assert!(evaluate_function(&f, vec![ints(&[3])], Limits::default()).is_err_and(|e| e.message.contains("takes 2")));
}

#[test]
fn results_are_checked_against_their_types() {
    let mut b = FuncBuilder::new("f", &[("x", i64s(&["?"])), ("y", i64s(&["?"]))], vec![i64s(&["3"])]);
    let r = b.op("add", [b.param(0), b.param(1)]).unwrap();
    b.ret([r]).unwrap();
    let f = b.finish();
    assert!(evaluate_function(&f, vec![ints(&[3]), ints(&[1])], Limits::default()).is_ok());
    let returned = evaluate_function(&f, vec![ints(&[4]), ints(&[1])], Limits::default()).unwrap_err();
    assert!(returned.to_string().contains("returned `%0` is i64[4], its type is i64[3]"), "{returned}");
    let clash = evaluate_function(&f, vec![ints(&[4]), ints(&[3])], Limits::default()).unwrap_err();
    assert!(clash.to_string().contains("operands %x: i64[4], %y: i64[3]"), "{clash}");
    assert_eq!(clash.op, Some("add"));
}

#[test]
fn arrays_are_limited_before_they_are_made() {
    let mut b = FuncBuilder::new("f", &[("x", i64s(&["n", "1"])), ("y", i64s(&["n"]))], vec![]);
    b.op("add", [b.param(0), b.param(1)]).unwrap();
    b.ret(no_args()).unwrap();
    let f = b.finish();
    let args = || vec![ints(&[1000, 1]), ints(&[1000])];
    assert!(evaluate_function(&f, args(), Limits { elements: 1_000_000, ..Limits::default() }).is_ok());
    let error = evaluate_function(&f, args(), Limits { elements: 999_999, ..Limits::default() }).unwrap_err();
    assert_eq!(error.kind, EvalErrorKind::Limit);
    let error = evaluate_function(&f, args(), Limits { bytes: 8_000_000, ..Limits::default() }).unwrap_err();
    assert!(error.message.contains("live values hold more than"), "{error}");
}

#[test]
fn prints_come_in_order() {
    let mut b = FuncBuilder::new("f", &[("x", int())], vec![]);
    b.inst("print", [b.param(0)], Attrs::new().with("label", Attr::Str("x is".into())), []).unwrap();
    b.inst("print", [Arg::from(1), Arg::from(true)], Attrs::new(), []).unwrap();
    b.ret(no_args()).unwrap();
    let out = evaluate_function(&b.finish(), vec![num(4)], Limits::default()).unwrap();
    assert_eq!(out.printed[0], "x is 4");
    assert_eq!(out.printed.len(), 2);
}
