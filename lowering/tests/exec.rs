//! Executables: control flow, calls, stores, shapes and limits are as the reference evaluator has them.

use ndarray::{Array1, Array2};
use rewright_ir::*;
use rewright_lowering::exec::{Arg as Given, Backend, Executable, Options};

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
fn compile(module: &Module, name: &str, backend: Backend, limits: Limits) -> Executable {
    Executable::compile(module, name, Options { backend, limits, ..Options::default() }).unwrap()
}

/// Runs a function by plans with all code generators, twice each, and by the reference evaluator, and checks that they agree.
fn both(module: &Module, name: &str, args: &[Datum]) -> Result<Outcome, EvalError> {
    let args: Vec<Given<'_>> = args.iter().map(Given::from).collect();
    let run = |backend| compile(module, name, backend, Limits::default()).outcome(&args);
    let reference = run(Backend::Reference);
    for backend in Backend::available().filter(|b| !matches!(b, Backend::Reference | Backend::Auto)) {
        let planned = compile(module, name, backend, Limits::default());
        for _ in 0..2 {
            assert_eq!(planned.outcome(&args), reference, "{}", planned.plan());
        }
    }
    reference
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
    let m = module([sum_below()]);
    for n in [0, 1, 10, 1000] {
        assert_eq!(both(&m, "sum", &[num(n)]).unwrap().results, [num((0..n).sum())]);
    }
}

#[test]
fn endless_loops_end_at_the_step_limit() {
    let limits = Limits { steps: 1000, ..Limits::default() };
    let f = compile(&module([sum_below()]), "sum", Backend::Auto, limits);
    let error = f.call(&[i64::MAX.into()]).unwrap_err();
    assert_eq!(error.kind, EvalErrorKind::Limit);
    assert_eq!(f.call(&[3i64.into()]).unwrap(), [num(3)], "the limit is one call's");
}

#[test]
fn swapped_block_arguments_move_at_once() {
    // Swaps x and y n times.
    let mut b =
        FuncBuilder::new("swap", &[("n", int()), ("x", i64s(&["a"])), ("y", i64s(&["a"]))], vec![i64s(&["a"]); 2]);
    let head = b.block("head", &[("i", int()), ("p", i64s(&["a"])), ("q", i64s(&["a"]))]);
    let body = b.block("body", &[]);
    let done = b.block("done", &[]);
    let zero = b.op("add", [0, 0]).unwrap();
    let (n, x, y) = (b.param(0), b.param(1), b.param(2));
    let (i, p, q) = (b.block_param(head, 0), b.block_param(head, 1), b.block_param(head, 2));
    b.inst("jump", no_args(), Attrs::new(), [jump(head, &[zero, x, y])]).unwrap();
    b.switch_to(head);
    let more = b.op("lt", [i, n]).unwrap();
    b.inst("br_if", [more], Attrs::new(), [jump(body, &[]), jump(done, &[])]).unwrap();
    b.switch_to(body);
    let j = b.op("add", [Arg::from(i), Arg::from(1)]).unwrap();
    b.inst("jump", no_args(), Attrs::new(), [jump(head, &[j, q, p])]).unwrap();
    b.switch_to(done);
    b.ret([p, q]).unwrap();
    let m = module([b.finish()]);
    let (x, y) = (ints(&[2]), Datum::Array(Array::full(Scalar::I64(7), &[2]).unwrap()));
    for n in 0..4 {
        let out = both(&m, "swap", &[num(n), x.clone(), y.clone()]).unwrap();
        assert_eq!(out.results, if n % 2 == 0 { [x.clone(), y.clone()] } else { [y.clone(), x.clone()] });
    }
}

#[test]
fn switches_and_raises() {
    let mut b = FuncBuilder::new("pick", &[("i", int())], vec![int()]);
    let (one, two, other) = (b.block("one", &[]), b.block("two", &[]), b.block("other", &[]));
    let i = b.param(0);
    let cases = Attrs::new().with("cases", Attr::Ints([5, -1].into()));
    b.inst("switch", [i], cases, [jump(one, &[]), jump(two, &[]), jump(other, &[])]).unwrap();
    b.switch_to(one);
    b.ret([50]).unwrap();
    b.switch_to(two);
    b.ret([-10]).unwrap();
    b.switch_to(other);
    let text =
        Attrs::new().with("kind", Attr::Str("KeyError".into())).with("message", Attr::Str("no such case".into()));
    b.inst("raise", no_args(), text, []).unwrap();
    let m = module([b.finish()]);
    assert_eq!(both(&m, "pick", &[num(5)]).unwrap().results, [num(50)]);
    assert_eq!(both(&m, "pick", &[num(-1)]).unwrap().results, [num(-10)]);
    assert_eq!(both(&m, "pick", &[num(0)]).unwrap_err().kind, EvalErrorKind::Raised("KeyError".into()));
}

/// `fill(%a, %v)`: stores `v` to `a` and gives what `a` was before.
fn fill() -> Function {
    let mut b = FuncBuilder::new("fill", &[("a", i64s(&["n"])), ("v", i64s(&["?"]))], vec![i64s(&["n"])]);
    let (a, v) = (b.param(0), b.param(1));
    let before = b.op("add", [Arg::from(a), Arg::from(0)]).unwrap();
    b.inst("store", [a, v], Attrs::new(), []).unwrap();
    b.ret([before]).unwrap();
    b.finish()
}

#[test]
fn stores_change_the_argument_and_nothing_else() {
    let m = module([fill()]);
    let out = both(&m, "fill", &[ints(&[3]), ints(&[1])]).unwrap();
    assert_eq!(out.results, [ints(&[3])]);
    assert_eq!(out.args[0], Datum::Array(Array::full(Scalar::I64(0), &[3]).unwrap()));
    assert_eq!(out.args[1], ints(&[1]));
    let error = both(&m, "fill", &[ints(&[3]), ints(&[2])]).unwrap_err();
    assert!(error.to_string().contains("broadcast"), "{error}");

    let own = Array1::from_vec(vec![1i64, 2, 3]);
    let f = compile(&m, "fill", Backend::Auto, Limits::default());
    let found = f.outcome(&[(&own).into(), (&Array1::from_vec(vec![9i64])).into()]).unwrap();
    assert_eq!(own.as_slice(), Some(&[1, 2, 3][..]), "the caller's array is the caller's");
    assert_eq!(found.args[0], Datum::Array(Array::full(Scalar::I64(9), &[3]).unwrap()));
}

#[test]
fn calls_give_results_and_what_they_stored() {
    let mut m = module([fill()]);
    let mut b = FuncBuilder::new("main", &[("x", i64s(&["k"]))], vec![i64s(&["k"]), i64s(&["k"])]).in_module(&m);
    let x = b.param(0);
    let y = b.op("add", [Arg::from(x), Arg::from(1)]).unwrap();
    let before = b.op_with("call", [y, x], callee("fill")).unwrap();
    b.inst("print", [before, y], Attrs::new().with("label", Attr::Str("now".into())), []).unwrap();
    b.ret([before, y]).unwrap();
    let main = b.finish();
    m.insert(main);
    let out = both(&m, "main", &[ints(&[3])]).unwrap();
    assert_eq!(out.printed.len(), 1);
    assert_eq!(out.results[1], ints(&[3]), "what the callee stored is the caller's value");
}

#[test]
fn one_value_given_twice_to_a_function_that_stores_is_an_error() {
    let mut m = module([fill()]);
    let mut b = FuncBuilder::new("main", &[("x", i64s(&["k"]))], vec![i64s(&["k"])]).in_module(&m);
    let x = b.param(0);
    let before = b.op_with("call", [x, x], callee("fill")).unwrap();
    b.ret([before]).unwrap();
    let main = b.finish();
    m.insert(main);
    assert!(both(&m, "main", &[ints(&[3])]).unwrap_err().message.contains("same value"));
}

#[test]
fn recursion_ends_at_the_depth_limit() {
    let mut b = FuncBuilder::new("f", &[("n", int())], vec![int()]);
    let n = b.param(0);
    b.ret([n]).unwrap();
    let mut m = module([b.finish()]);
    let mut b = FuncBuilder::new("f", &[("n", int())], vec![int()]).in_module(&m);
    let n = b.param(0);
    let r = b.op_with("call", [n], callee("f")).unwrap();
    b.ret([r]).unwrap();
    let again = b.finish();
    m.insert(again);
    assert_eq!(both(&m, "f", &[num(1)]).unwrap_err().kind, EvalErrorKind::Limit);
}

#[test]
fn ufuncs_run_a_function_for_each_element() {
    let mut b = FuncBuilder::new("twice", &[("x", int())], vec![int()]);
    let x = b.param(0);
    let y = b.op("add", [x, x]).unwrap();
    b.ret([y]).unwrap();
    let mut m = module([b.finish()]);
    let mut b = FuncBuilder::new("main", &[("x", i64s(&["n", "m"]))], vec![i64s(&["n", "m"])]).in_module(&m);
    let x = b.param(0);
    let y = b.op_with("ufunc", [x], callee("twice")).unwrap();
    b.ret([y]).unwrap();
    let main = b.finish();
    m.insert(main);
    let out = both(&m, "main", &[ints(&[2, 3])]).unwrap();
    assert_eq!(out.results[0].as_array().unwrap().get(&[1, 2]), Some(Scalar::I64(10)));
}

#[test]
fn wrong_arguments_are_refused_before_anything_runs() {
    let mut b = FuncBuilder::new("f", &[("x", i64s(&["n"])), ("y", i64s(&["n", "3"]))], vec![i64s(&["n", "3"])]);
    let (x, y) = (b.param(0), b.param(1));
    b.inst("print", [x], Attrs::new(), []).unwrap();
    b.ret([y]).unwrap();
    let m = module([b.finish()]);
    assert!(both(&m, "f", &[ints(&[2]), ints(&[2, 3])]).is_ok());
    for args in [
        [ints(&[2]), ints(&[4, 3])],
        [ints(&[2]), ints(&[2, 4])],
        [ints(&[2]), ints(&[2])],
        [num(2), ints(&[2, 3])],
        [Datum::Array(Array::full(Scalar::F64(0.0), &[2]).unwrap()), ints(&[2, 3])],
    ] {
        let error = both(&m, "f", &args).unwrap_err();
        assert!(error.message.contains("`@f`: argument `%"), "{error}");
    }
    assert!(both(&m, "f", &[ints(&[2])]).unwrap_err().message.contains("takes 2 arguments, got 1"));
}

#[test]
fn strided_views_are_read_where_they_are() {
    let mut b = FuncBuilder::new("f", &[("x", i64s(&["n", "m"]))], vec![i64s(&["n", "m"])]);
    let x = b.param(0);
    let y = b.op("add", [Arg::from(x), Arg::from(1)]).unwrap();
    b.ret([y]).unwrap();
    let f = compile(&module([b.finish()]), "f", Backend::Auto, Limits::default());
    let own = Array2::from_shape_fn((4, 6), |(i, j)| (10 * i + j) as i64);
    for view in [own.view(), own.t(), own.slice(ndarray::s![..;-1, 1..;2]), own.slice(ndarray::s![..0, ..])] {
        let want = Datum::Array(view.mapv(|x| x + 1).into_dyn().into());
        assert_eq!(f.call(&[view.into()]).unwrap(), [want]);
    }
}

#[test]
fn threads_share_an_executable() {
    let f = compile(&module([sum_below()]), "sum", Backend::Auto, Limits::default());
    std::thread::scope(|scope| {
        for t in 0..8i64 {
            let f = &f;
            scope.spawn(move || {
                for n in (t * 50)..(t * 50 + 50) {
                    assert_eq!(f.call(&[n.into()]).unwrap(), [num((0..n).sum())]);
                }
            });
        }
    });
}

#[test]
fn stores_are_in_place_where_nobody_else_can_see_them() {
    let mut b = FuncBuilder::new("f", &[("x", i64s(&["n", "m"])), ("v", int())], vec![i64s(&["m", "n"])]);
    let (x, v) = (b.param(0), b.param(1));
    b.inst("store", [x, v], Attrs::new(), []).unwrap();
    let t = b.op("transpose", [x]).unwrap();
    b.inst("store", [x, t], Attrs::new(), []).unwrap_or_else(|_| panic!());
    b.ret([t]).unwrap();
    let m = module([b.finish()]);
    let out = both(&m, "f", &[ints(&[2, 2]), num(4)]).unwrap();
    assert_eq!(out.args[0], Datum::Array(Array::full(Scalar::I64(4), &[2, 2]).unwrap()));

    let mut b = FuncBuilder::new("g", &[("x", i64s(&["n"])), ("v", int())], vec![]);
    let (x, v) = (b.param(0), b.param(1));
    b.inst("store", [x, v], Attrs::new(), []).unwrap();
    b.ret(no_args()).unwrap();
    let g = compile(&module([b.finish()]), "g", Backend::Auto, Limits::default());
    let address = |datum: &Datum| match datum.as_array() {
        Some(Array::I64(a)) => a.as_ptr(),
        _ => panic!("an i64 array"),
    };
    let mut args = [ints(&[5]), num(8)];
    let before = address(&args[0]);
    g.call_mut(&mut args).unwrap();
    assert_eq!(address(&args[0]), before, "the only share: in place");
    assert_eq!(args[0], Datum::Array(Array::full(Scalar::I64(8), &[5]).unwrap()));
    let other = args[0].clone();
    args[1] = num(9);
    g.call_mut(&mut args).unwrap();
    assert_ne!(address(&args[0]), before, "somebody else has a share");
    assert_eq!(other, Datum::Array(Array::full(Scalar::I64(8), &[5]).unwrap()));
    args[1] = Datum::Scalar(Scalar::F64(1.0));
    assert!(g.call_mut(&mut args).is_err());
    assert_eq!(args[0], Datum::Array(Array::full(Scalar::I64(9), &[5]).unwrap()), "kept on an error");
}

#[test]
fn views_read_the_operand_in_another_way() {
    let slices = |list: &[(Option<i64>, Option<i64>, i64)]| {
        let specs: Vec<SliceSpec> = list.iter().map(|&(start, stop, step)| SliceSpec { start, stop, step }).collect();
        Attrs::new().with("at", Attr::Slices(specs.into()))
    };
    let axes = |list: &[i64]| Attrs::new().with("axes", Attr::Ints(list.into()));
    let dims = |list: &[u64]| {
        let dims: Vec<Dim> = list.iter().map(|&n| Dim::Const(n)).collect();
        Attrs::new().with("dims", Attr::Dims(dims.into()))
    };
    let chains: Vec<Vec<(&str, Attrs)>> = vec![
        vec![("transpose", Attrs::new().with("perm", Attr::Ints([2, 0, 1].into())))],
        vec![("slice", slices(&[(None, None, -1), (Some(1), None, 2)])), ("flip", axes(&[-1]))],
        vec![("slice", slices(&[(Some(5), None, 1)])), ("transpose", Attrs::new())],
        vec![("expand_dims", axes(&[1, -1])), ("squeeze", axes(&[1])), ("flip", Attrs::new())],
        vec![(
            "diagonal",
            Attrs::new().with("offset", Attr::Int(1)).with("axis1", Attr::Int(2)).with("axis2", Attr::Int(0)),
        )],
        vec![("diagonal", Attrs::new().with("offset", Attr::Int(-9)))],
        vec![
            ("reshape", dims(&[4, 6])),
            ("slice", slices(&[(None, None, 1), (Some(2), Some(3), 1)])),
            ("broadcast_in_dim", dims(&[2, 4, 6])),
        ],
        vec![("transpose", Attrs::new()), ("reshape", dims(&[24]))],
        vec![
            ("slice", slices(&[(Some(1), None, 1), (Some(1), Some(2), 1), (Some(-1), None, 1)])),
            ("item", Attrs::new()),
            ("to_array", Attrs::new()),
        ],
    ];
    for chain in chains {
        let mut b = FuncBuilder::new("f", &[("x", i64s(&["2", "3", "4"]))], vec![]);
        let mut x = b.param(0);
        for (op, attrs) in &chain {
            x = b.op_with(op, [x], attrs.clone()).unwrap();
        }
        let y = b.op("add", [x, x]).unwrap();
        let mut f = b.func().clone();
        f.results = vec![f.ty(x).clone(), f.ty(y).clone()];
        let block = f.entry().unwrap();
        let inst = f.create_inst(registry().op("ret").unwrap(), [x, y], Attrs::new(), [], Types::new(), Loc::default());
        f.append(block, inst);
        let m = module([f]);
        both(&m, "f", &[ints(&[2, 3, 4])]).unwrap();
        let f = compile(&m, "f", Backend::Auto, Limits::default());
        let wide = ndarray::Array3::from_shape_fn((4, 3, 4), |(i, j, k)| (12 * (i / 2) + 4 * j + k) as i64);
        let lent = f.call(&[wide.slice(ndarray::s![..;2, .., ..]).into()]).unwrap();
        assert_eq!(lent, f.call(&[(&ints(&[2, 3, 4])).into()]).unwrap(), "{chain:?}");
    }
}
