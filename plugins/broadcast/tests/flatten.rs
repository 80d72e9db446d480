//! J16: flattening turns a nest of lazy functions into one function of scalars and a flat argument list.
//! Both compute the same.

use rewright::ir::builder::Arg;
use rewright::ir::eval::evaluate;
use rewright::ir::expr::Mode;
use rewright::ir::{Styled, parse_module};
use rewright::rewrites::{NoObserver, Pipeline};
use rewright::{Array, Attr, Attrs, DType, Datum, FuncBuilder, Function, Limits, Module, Name, Scalar, Value};
use rewright_broadcast::flatten::{FlatArg, FlatNest};

fn parse(text: &str) -> Module {
    parse_module(text, "test").unwrap_or_else(|errors| panic!("{}", errors.render(false)))
}
fn function(module: &Module) -> &Function {
    module.get(Name::new("f")).unwrap()
}
/// The value that `@f` returns.
fn returned(func: &Function) -> Value {
    let last = func.insts(func.entry().unwrap()).next_back().unwrap();
    func.inst(last).args[0]
}
fn flat(module: &Module) -> Result<FlatNest, String> {
    let func = function(module);
    FlatNest::of(module, func, returned(func), Name::new("flat"))
}
/// A readable list of the arguments.
fn listed(module: &Module, flat: &FlatNest) -> Vec<String> {
    let name = |value: &Value| {
        let func = function(module);
        let n = func.params().iter().position(|param| param == value);
        n.map_or("?".into(), |n| format!("%{n}"))
    };
    let one = |arg: &FlatArg| match arg {
        FlatArg::Value(value) => name(value),
        FlatArg::Constant(scalar) => scalar.to_string(),
        FlatArg::Element(value, index) => format!("{}[{}]", name(value), index.len()),
        FlatArg::Position(axis) => format!("axis {axis}"),
    };
    flat.args.iter().map(one).collect()
}

/// The results of `broadcasted @flat(...)` and of the nest.
fn both(text: &str, args: &[Datum]) -> [Datum; 2] {
    let module = parse(text);
    let flat = flat(&module).unwrap();
    let func = function(&module);
    let mut with_flat = module.clone();
    with_flat.insert(flat.function.clone());
    let types: Vec<(String, _)> =
        func.params().iter().map(|&p| func.ty(p).clone()).enumerate().map(|(n, ty)| (format!("p{n}"), ty)).collect();
    let params: Vec<(&str, _)> = types.iter().map(|(name, ty)| (name.as_str(), ty.clone())).collect();
    let mut build = FuncBuilder::new("of_flat", &params, Vec::new()).in_module(&with_flat);
    let arg = |arg: &FlatArg| match arg {
        FlatArg::Value(value) => Arg::from(build.param(func.params().iter().position(|p| p == value).unwrap())),
        FlatArg::Constant(scalar) => Arg::from(*scalar),
        other => panic!("{other:?}"),
    };
    let list: Vec<Arg> = flat.args.iter().map(arg).collect();
    let callee = Attrs::new().with("callee", Attr::Func(Name::new("flat")));
    let nest = build.op_with("broadcasted", list, callee).unwrap();
    let dense = build.op_with("materialize", [nest], Attrs::new().with("style", Attr::Str("dense".into()))).unwrap();
    build.ret([dense]).unwrap();
    let mut caller = build.finish();
    caller.results = vec![caller.ty(dense).clone()];
    with_flat.insert(caller);
    let run = |name: &str| {
        let results = evaluate(&with_flat, name, args.to_vec(), Limits::default()).unwrap().results;
        Datum::from(results[0].to_array())
    };
    [run("of_flat"), run("f")]
}

fn array(shape: &[usize], elements: &[f64]) -> Array {
    Array::from_fn(DType::F64, shape, |i| Scalar::F64(elements[i])).unwrap()
}

/// Arguments keep their order and duplicates, and constants are arguments. A shared function is applied
/// once.
#[test]
fn a_nest_in_the_ir_is_one_function() {
    let text = "func @f(%x: f64[n], %y: f64[m, 1], %k: i32) -> f64[m, n] {
entry:
  %0 = broadcasted %x, 2.0, op=\"mul\"
  %1 = broadcasted %0, %y, op=\"add\"
  %2 = broadcasted %1, %k, op=\"power\"
  %3 = broadcasted %x, op=\"cast\", to=f32
  %4 = broadcasted %3, op=\"integer_power\", n=3
  %5 = broadcasted %1, %4, op=\"sub\"
  %6 = broadcasted %2, %5, op=\"maximum\"
  %7 = materialize %6
  ret %7
}";
    let module = parse(text);
    let flat = flat(&module).unwrap();
    assert_eq!(listed(&module, &flat), ["%0", "2.0", "%1", "%2", "%0"]);
    let body = flat.function.to_string();
    assert_eq!(body.matches(" = ").count(), 7, "{body}");
    assert!(body.contains("to=f32") && body.contains("integer_power") && !body.contains("broadcasted"), "{body}");
    let args =
        [array(&[3], &[1.0, -2.0, f64::INFINITY]).into(), array(&[2, 1], &[0.5, 3.0]).into(), Scalar::I32(3).into()];
    let [flat, nest] = both(text, &args);
    assert!(flat.to_array().same_bits(&nest.to_array()), "{flat} {nest}");
}

/// Nests with styled operands may call functions of scalars. Zeros absorb where the nest says so.
#[test]
fn functions_and_structure_are_flattened() {
    let text = "func @g(%a: f64, %b: f64) -> f64 {
entry:
  %0 = gt %a, %b
  br_if %0, yes, no
yes:
  ret %a
no:
  %1 = mul %b, 2.0
  ret %1
}

func @f(%d: f64[n, n; diagonal], %x: f64[n, n]) -> f64[n, n] {
entry:
  %0 = broadcasted %d, %x, op=\"mul\", finite=true
  %1 = broadcasted @g(%0, %x)
  %2 = materialize %1, style=\"dense\"
  ret %2
}";
    let diagonal = rewright::registry().style(Name::new("diagonal")).unwrap();
    let d = Styled::new(diagonal, DType::F64, &[2, 2], [array(&[2], &[0.0, 2.0])]).unwrap();
    let x = array(&[2, 2], &[f64::INFINITY, f64::NAN, -1.0, 4.0]);
    let [flat, nest] = both(text, &[d.into(), x.into()]);
    assert!(flat.to_array().same_bits(&nest.to_array()), "{flat} {nest}");
}

/// A fused `arrayexpr` flattens, too: its body becomes the function, and its index maps say where each
/// argument is read.
#[test]
fn a_fused_expression_is_one_function() {
    let text = "func @f(%x: f64[n, m], %y: f32[m], %c: f64) -> f64[m, n] {
entry:
  %0 = transpose %x
  %1 = mul %x, %y
  %2 = transpose %1
  %3 = add %0, %2
  %4 = arrayexpr [i: m, j: n] (x = %3[i, j], c = %c) {
    t0 = mul x, j
    t1 = sub t0, c
    yield t1
  } : f64[m, n]
  ret %4
}";
    let mut module = parse(text);
    Pipeline::parse("default").unwrap().run(&mut module, &Default::default(), &mut NoObserver).unwrap();
    let flat = flat(&module).unwrap();
    assert_eq!(listed(&module, &flat), ["%0[2]", "%1[1]", "axis 1", "%2"]);
    let FlatArg::Element(_, index) = &flat.args[0] else { panic!("{:?}", flat.args[0]) };
    assert!(index.iter().all(|index| matches!(index.mode, Mode::Proved)), "{index:?}");
    // Computes element [1, 2] of the result from elements of the arguments.
    let mut with_flat = module.clone();
    with_flat.insert(flat.function.clone());
    let given: Vec<Datum> =
        vec![Scalar::F64(3.0).into(), Scalar::F32(0.5).into(), Scalar::I64(2).into(), Scalar::F64(1.0).into()];
    let one = evaluate(&with_flat, "flat", given, Limits::default()).unwrap().results[0].as_scalar();
    assert_eq!(one, Some(Scalar::F64((3.0 + 3.0 * 0.5) * 2.0 - 1.0)));
    let x = array(&[3, 2], &[0.0, 0.0, 0.0, 0.0, 0.0, 3.0]);
    let y = Array::from_fn(DType::F32, &[2], |_| Scalar::F32(0.5)).unwrap();
    let all = evaluate(&module, "f", vec![x.into(), y.into(), Scalar::F64(1.0).into()], Limits::default()).unwrap();
    assert_eq!(all.results[0].to_array().get(&[1, 2]), one);
}

/// Flattening of every dtype and several ranks, with literals and casts in the nest.
#[test]
fn all_dtypes_and_ranks_are_flattened() {
    use DType::{Bool, C64, C128, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    for dtype in [Bool, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, C64, C128] {
        for shape in [&[][..], &[0], &[3], &[2, 1, 2]] {
            let dims = shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            let text = format!(
                "func @f(%x: {dtype}[{dims}], %k: i16) -> c128[{dims}] {{\nentry:\n  %0 = broadcasted %x, %x, op=\"add\"\n  \
                 %1 = broadcasted %0, %k, op=\"mul\"\n  %2 = broadcasted %1, op=\"cast\", to=c128\n  \
                 %3 = broadcasted %2, %x, op=\"sub\"\n  %4 = materialize %3\n  ret %4\n}}"
            );
            let x = Array::from_fn(dtype, shape, |n| Scalar::I64(n as i64 * 77).cast(dtype)).unwrap();
            let [flat, nest] = both(&text, &[x.into(), Scalar::I16(-3).into()]);
            assert!(flat.to_array().same_bits(&nest.to_array()), "{text} {flat} {nest}");
        }
    }
}

/// One result of a multi-result `arrayexpr` flattens to a function of the elements that this result
/// needs.
#[test]
fn one_result_of_several_is_flattened() {
    let text = "func @f(%x: f64[n], %y: f64[n]) -> f64[n], f64[n] {
entry:
  %0, %1 = arrayexpr [i: n] (x = %x[i], y = %y[i]) {
    t0 = sin y
    t1 = mul x, 3.0
    t2 = mul t0, t1
    yield t1, t2
  } : f64[n], f64[n]
  ret %0, %1
}";
    let module = parse(text);
    let flat = flat(&module).unwrap();
    assert_eq!(listed(&module, &flat), ["%0[1]"]);
    let body = flat.function.to_string();
    assert!(body.contains("mul %a0, 3.0") && !body.contains("sin"), "{body}");
}

/// Values that are not elementwise maps are refused with a reason.
#[test]
fn others_are_refused() {
    let refused = |text: &str, pipeline: &str, wanted: &str| {
        let mut module = parse(text);
        Pipeline::parse(pipeline).unwrap().run(&mut module, &Default::default(), &mut NoObserver).unwrap();
        let error = flat(&module).unwrap_err();
        assert!(error.contains(wanted), "{error}\n{module}");
    };
    refused("func @f(%x: f64[n]) -> f64[n] {\nentry:\n  ret %x\n}", "dce", "a parameter is no nest");
    refused("func @f(%x: f64[n]) -> f64 {\nentry:\n  %0 = sum %x\n  ret %0\n}", "dce", "`sum` makes no nest");
    let sum = "func @f(%x: f64[n, m]) -> f64[n] {\nentry:\n  %0 = mul %x, 2.0\n  %1 = sum %0, axes=[1]\n  ret %1\n}";
    refused(sum, "default", "combines elements");
    let guarded = "func @f(%x: f64[n]) -> f64[n] {\nentry:\n  %0 = arrayexpr [i: n] where 1 <= i (x = %x[i]) {\n    yield x\n  } \
                   into ([i] fill 0.0) : f64[n]\n  ret %0\n}";
    refused(guarded, "dce", "has a guard");
    let taken = "func @flat(%a: f64) -> f64 {\nentry:\n  ret %a\n}\n\nfunc @f(%x: f64[n]) -> f64[n] {\nentry:\n  \
                 %0 = broadcasted @flat(%x)\n  %1 = materialize %0\n  ret %1\n}";
    refused(taken, "dce", "the module has a function `@flat`: choose another name");
    let whole = "func @g(%a: f64, %w: f64[k]) -> f64 {\nentry:\n  %0 = sum %w\n  %1 = mul %a, %0\n  ret %1\n}\n\nfunc @f(%x: \
                 f64[n], %w: f64[k]) -> f64[n] {\nentry:\n  %0 = broadcasted @g(%x, %w)\n  %1 = materialize %0\n  ret %1\n}";
    refused(whole, "dce", "`@g` takes an array as one element");
}
