//! Lazy arrays at run time: as arguments, shared, written down, and of extents that no memory holds.

use allocation_counter::measure;
use rewright::exec::{Arg, Options};
use rewright::{Array, Attr, Attrs, DType, Executable, Limits, Scalar, SliceSpec, evaluate_op, parse_module, registry};
use rewright_lazy::{LazyArray, LazyExpr};
use std::collections::HashSet;

fn lazy(text: &str) -> LazyArray {
    LazyArray::constant(text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))).unwrap()
}

fn expr(text: &str) -> LazyExpr {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn numbers(shape: &[usize]) -> Array {
    Array::from_fn(DType::F64, shape, |i| Scalar::F64(i as f64 + 0.5)).unwrap()
}

fn address(array: &Array) -> *const f64 {
    if let Array::F64(a) = array { a.as_ptr() } else { panic!("not of f64") }
}

const MODULE: &str = "func @f(%x: f64[n, m], %y: f64[n, m]) -> f64[n, m] {
entry:
  %0 = mul %x, 2.0
  %1 = add %0, %y
  ret %1
}";

/// T89, L8.
#[test]
fn a_function_is_compiled_once_for_lazy_and_forced_arguments() {
    let module = parse_module(MODULE, "f.ir").unwrap();
    let f = Executable::compile(&module, "f", Options::default()).unwrap();
    let plan = format!("{:?}", f.plan());
    let column = LazyArray::of(numbers(&[3]));
    let forms = [
        LazyArray::of(numbers(&[3, 3])),
        column.view(|e| e.broadcast(&[3, 3], &[0])).unwrap(),
        column.view(|e| e.broadcast(&[3, 3], &[1])?.flipped(&[0, 1])).unwrap(),
        LazyArray::of(numbers(&[6, 4]))
            .view(|e| {
                e.transposed(&[1, 0])?.sliced(&[
                    SliceSpec { start: None, stop: Some(0), step: -1 },
                    SliceSpec { start: None, stop: None, step: -2 },
                ])
            })
            .unwrap(),
        lazy("full(2.5:f64)[i: 3, j: 3]"),
        lazy("iota(f64, 3)[i: 3, j: 3 -> 2 - j]"),
        lazy("eye(f64, 3, 3)"),
        lazy("tri(f64, 5, 3, 1)[i: 3, j: 3 -> i + 2, 2 - j]"),
        lazy("delta(f64, 3, 3, 3)[i: 3, j: 3 -> i, 1, j]"),
    ];
    let mut calls = 0;
    for x in &forms {
        for y in &forms {
            let given = f.call(&[x.arg().unwrap(), y.arg().unwrap()]).unwrap();
            let (forced_x, forced_y) = (x.force().unwrap(), y.force().unwrap());
            let dense =
                f.call(&[Arg::Array(&forced_x.view().to_array()), Arg::Array(&forced_y.view().to_array())]).unwrap();
            assert_eq!(given, dense, "{x:?} and {y:?}");
            calls += 2;
        }
    }
    let stats = f.stats();
    assert_eq!(
        (stats.kernels, stats.reference),
        (2 * calls, 0),
        "each call ran the kernels that were compiled before the first"
    );
    assert_eq!(format!("{:?}", f.plan()), plan);
}

/// L8: what a view is given as is the buffer that it shows.
#[test]
fn views_are_arguments_without_a_copy() {
    let array = numbers(&[400, 300]);
    let x = LazyArray::of(array.clone()).view(|e| e.transposed(&[1, 0])?.flipped(&[0])).unwrap();
    let counts = measure(|| {
        let Arg::View(rewright::View::F64(view)) = x.arg().unwrap() else { panic!("a view of f64 is wanted") };
        assert_eq!((view.shape(), view.strides()), (&[300, 400][..], &[-1, 300][..]));
        // The first element is the last one of the first row.
        assert_eq!(view.as_ptr(), address(&array).wrapping_add(299));
    });
    assert!(counts.bytes_total < 2000, "{counts:?}");
    assert_eq!(x.bytes(), 0);
    assert!(!x.is_forced());
}

/// L8: arrays that lie in memory in another order, backwards, or with gaps, are read as the ones that they
/// are.
#[test]
fn arrays_lie_in_memory_as_they_like() {
    let base = numbers(&[4, 6]);
    let sliced = |at: [SliceSpec; 2]| {
        let attrs = Attrs::new().with("at", Attr::Slices(at.into()));
        let found =
            evaluate_op(registry().op("slice").unwrap(), &attrs, &[base.clone().into()], &[], Limits::default());
        found.unwrap()[0].to_array()
    };
    let step = |step| SliceSpec { step, ..SliceSpec::FULL };
    let back = step(-1);
    let layouts = [
        base.permuted(&[1, 0]),
        sliced([back, back]),
        sliced([back, SliceSpec::FULL]).permuted(&[1, 0]),
        sliced([step(2), SliceSpec { start: Some(1), stop: None, step: 3 }]),
        sliced([step(-3), step(-2)]),
    ];
    for array in layouts {
        let dense = LazyArray::of(array.view().to_array());
        let lazy = LazyArray::of(array);
        for of in [&lazy, &dense] {
            assert_eq!(of.force().unwrap(), &of.data().unwrap().view().to_array());
        }
        let view = |x: &LazyArray| x.view(|e| e.flipped(&[1])?.transposed(&[1, 0])?.expanded(&[0])).unwrap();
        let (seen, wanted) = (view(&lazy), view(&dense));
        let (Arg::View(seen), Arg::View(wanted)) = (seen.arg().unwrap(), wanted.arg().unwrap()) else {
            panic!("views are wanted");
        };
        assert_eq!(seen.to_array(), wanted.to_array());
    }
}

/// T91, L7.
#[test]
fn concurrent_forcing_computes_once() {
    let x = LazyArray::of(numbers(&[100])).view(|e| e.broadcast(&[50, 100], &[1])).unwrap();
    let copies: Vec<LazyArray> = (0..8).map(|_| x.clone()).collect();
    let seen: HashSet<usize> = std::thread::scope(|scope| {
        let force = |x: LazyArray| move || address(x.force().unwrap()) as usize;
        let threads: Vec<_> = copies.into_iter().map(|x| scope.spawn(force(x))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(seen.len(), 1, "all have the same elements");
    let counts = measure(|| assert_eq!(address(x.force().unwrap()) as usize, *seen.iter().next().unwrap()));
    assert!(counts.bytes_total < 1000, "{counts:?}");
    assert!(matches!(x.arg().unwrap(), Arg::Array(a) if address(a) as usize == *seen.iter().next().unwrap()));
    // A contiguous array is not copied.
    let array = numbers(&[4, 5]);
    assert_eq!(address(LazyArray::of(array.clone()).force().unwrap()), address(&array));
}

/// T90.
#[test]
fn lazy_arrays_are_written_and_read_in_ron() {
    let array = numbers(&[2, 3]);
    let forms = [
        LazyArray::of(array.clone()),
        LazyArray::of(array)
            .view(|e| e.transposed(&[1, 0])?.expanded(&[1])?.broadcast(&[3, 2, 2], &[0, 1, 2]))
            .unwrap(),
        lazy("full((NaN, -0.0):c128)[i: 2]"),
        lazy("full(NaN(0xfff8000000000123):f64)[i: 2]"),
        lazy("eye(bool, 3, 4, -1)[i: 4, j: 3 -> j, 3 - i]"),
    ];
    for x in forms {
        let text = ron::to_string(&x).unwrap();
        let again: LazyArray = ron::from_str(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(again.expr(), x.expr());
        assert_eq!(again.force().unwrap(), x.force().unwrap(), "{text}");
        assert_eq!(ron::to_string(&again).unwrap(), text);
    }
    assert_eq!(
        ron::to_string(&lazy("iota(i64, 3)[i: 3, j: 4 -> i]")).unwrap(),
        r#"(expr:"iota(i64, 3)[i: 3, j: 4 -> i]")"#
    );
    for (text, wanted) in [
        (r#"(expr:"var(f64[3])")"#, "which one must be said"),
        (r#"(expr:"var(f64[3])",data:Some("[1.0, 2.0]:f64"))"#, "can't read an array that is `var(f64[2])`"),
        (
            r#"(expr:"iota(i64, 3)[i: 4 -> i]")"#,
            "the map goes from 0 to 3 along axis 0 of `iota(i64, 3)`, whose extent is 3",
        ),
    ] {
        let error = ron::from_str::<LazyArray>(text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

/// L4, L11.
#[test]
fn equality_is_of_the_map_and_the_constructor() {
    let all = [
        "iota(i64, 1)",
        "var(i64[1])",
        "eye(i64, 1, 1)",
        "tri(i64, 1, 1)",
        "delta(i64, 1, 1)",
        "full(1:i64)",
        "full(1:i32)",
        "full(0.0:f64)",
        "full(-0.0:f64)",
        "iota(i64, 3)[i: 3, j: 4 -> i]",
        "iota(i64, 3)[i: 4, j: 3 -> j]",
        "eye(f64, 3, 3)",
        "eye(f64, 3, 3, 1)",
    ];
    let set: HashSet<LazyExpr> = all.iter().map(|text| expr(text)).collect();
    assert_eq!(set.len(), all.len());
    // Ways to one and the same map.
    let e = expr("eye(f64, 3, 4)");
    assert_eq!(e.transposed(&[1, 0]).unwrap().transposed(&[1, 0]).unwrap(), e);
    assert_eq!(e.flipped(&[0]).unwrap().flipped(&[0]).unwrap(), e);
    assert!(set.contains(&expr("iota(i64, 3)").expanded(&[1]).unwrap().broadcast(&[3, 4], &[0, 1]).unwrap()));
    let back = [SliceSpec { start: None, stop: None, step: -1 }];
    assert_eq!(expr("iota(i64, 1)").sliced(&back).unwrap(), expr("iota(i64, 1)"));
    assert_eq!(
        expr("var(f64[4])").sliced(&[SliceSpec { start: Some(2), stop: Some(2), step: 1 }]).unwrap(),
        expr("var(f64[4])[i: 0 -> 0]")
    );
    let kinds = |text: &str| (expr(text).is_trivial(), expr(text).is_constant());
    assert_eq!(kinds("var(f64[3, 4])"), (true, false));
    assert_eq!(kinds("tri(f64, 3, 4)"), (true, true));
    assert_eq!(kinds("full(1:i8)"), (true, true));
    assert_eq!(kinds("full(1:i8)[i: 2]"), (false, true));
    assert_eq!(kinds("var(f64[2])[i: 2 -> 1 - i]"), (false, false));
}

#[test]
fn extents_that_no_memory_holds_are_no_work_and_no_harm() {
    let most = u64::MAX;
    let whole = expr(&format!("iota(u64, {most})"));
    let back = [SliceSpec { start: None, stop: None, step: -1 }];
    let turned = whole.sliced(&back).unwrap();
    assert_eq!(turned.element(&[0]), Some(Scalar::U64(most - 1)));
    assert_eq!(turned.element(&[most - 1]), Some(Scalar::U64(0)));
    assert_eq!(turned.sliced(&back).unwrap(), whole);
    let square = whole.broadcast(&[most, most], &[0]).unwrap();
    assert_eq!(square.element(&[5, most - 1]), Some(Scalar::U64(5)));
    assert_eq!(square.len(), Some(u128::from(most) * u128::from(most)));
    assert_eq!(square.diagonal(0, 0, 1).unwrap(), whole);
    let cube = expr(&format!("delta(u8, {most}, {most}, {most})"));
    assert_eq!(cube.element(&[most - 1, most - 1, most - 1]), Some(Scalar::U8(1)));
    assert_eq!(cube.broadcast(&[most; 4], &[0, 1, 2]).unwrap().len(), None);
    for expr in [turned, square, cube] {
        let error = LazyArray::constant(expr).unwrap().force().unwrap_err().to_string();
        assert!(error.contains("no array has so large extents") || error.contains("more than"), "{error}");
    }
    // Two elements that are far apart are two elements.
    let far = lazy(&format!("iota(u64, {most})[i: 2 -> {}*i]", most - 1));
    assert_eq!(far.force().unwrap().iter().collect::<Vec<_>>(), [Scalar::U64(0), Scalar::U64(most - 1)]);
    assert!(far.bytes() <= 32);
    let corner = lazy(&format!("delta(u8, {most}, {most}, {most})[i: 2, j: 2, k: 2 -> i, j, k]"));
    assert_eq!(corner.force().unwrap().iter().filter(|x| x.truthy()).count(), 2);
}

/// L9: a table is as long as its constructor is wide, not as it is large.
#[test]
fn constructors_are_short_tables() {
    let bytes = |text: &str| {
        let x = lazy(text);
        x.arg().unwrap();
        assert!(!x.is_forced(), "{text}");
        x.bytes()
    };
    assert_eq!(bytes("eye(f64, 1000, 2000, 5)"), 8 * (1000 + 2000 - 1));
    assert_eq!(bytes("tri(bool, 2000, 1000)"), 2999);
    assert_eq!(bytes("iota(i32, 1000)[i: 1000, j: 1000 -> 999 - i]"), 4000);
    assert_eq!(bytes("full(1.5:f64)[i: 1000, j: 1000]"), 8);
    assert_eq!(bytes("eye(f64, 1000, 1000)[i: 1000 -> i, i]"), 8);
    assert_eq!(bytes("delta(u8, 100, 100, 100)"), 2 * 99 * 100 + 1);
}

/// A table that is larger than arrays may be is not made for a call either.
#[test]
fn arguments_have_the_limits_of_forced_arrays() {
    for text in ["iota(i8, 300000000)", "iota(i8, 300000000)[i: 300000000 -> 299999999 - i]", "eye(bool, 300000000, 4)"]
    {
        let x = lazy(text);
        let error = x.arg().err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("more than 268435456 elements"), "{text}: {error}");
        assert_eq!((Some(error), x.bytes()), (x.force().err().map(|error| error.to_string()), 0), "{text}");
    }
    // Of which the elements are too many, and the table is not.
    assert!(lazy("eye(bool, 300000, 300000)").arg().is_ok());
}

#[test]
fn errors_say_what_and_where() {
    let parse = |text: &str| text.parse::<LazyExpr>().unwrap_err().to_string();
    assert_eq!(parse("iota(i64, 3)[i: 3, j: 4 -> x]"), "column 28: there is no axis `x`");
    assert_eq!(parse("iota(i64, 3)[i: 3, i: 4 -> i]"), "column 20: there is an axis `i` already");
    assert_eq!(
        parse("ito(i64, 3)"),
        "column 1: there is no input `ito`; there are `var`, `full`, `iota`, `eye`, `tri` and `delta`"
    );
    assert_eq!(parse("iota(i65, 3)"), "column 6: there is no dtype `i65`");
    assert_eq!(parse("iota(i64 3)"), "column 10: `,` is wanted, not `3`");
    assert_eq!(parse("eye(f64, 3, 3)[i: 3 -> i]"), "column 25: `,` is wanted, not `]`");
    assert_eq!(parse("eye(f64, 3, 3)[i: 3]"), "column 20: `->` and 2 positions in `eye(f64, 3, 3)` is wanted, not `]`");
    assert_eq!(parse("iota(i64, 18446744073709551616)"), "column 11: this is too large or too small for an extent");
    assert!(parse("iota(i64, 3)[i: 5 -> i - 1]").contains("the map goes from -1 to 3 along axis 0"));
    assert!(parse("var(f64[n])").contains("all extents are numbers"));
    let e = expr("var(f64[2, 3])");
    let refused = |e: Result<LazyExpr, rewright::EvalError>| e.unwrap_err().to_string();
    assert_eq!(refused(e.transposed(&[0, 0])), "of `var(f64[2, 3])`: [0, 0] is no order of its axes");
    assert!(refused(e.broadcast(&[2, 4], &[0, 1])).contains("axis 1, of extent 3, can't be stretched to 4"));
    assert!(refused(e.reshaped(&[3, 2])).contains("[3, 2] are other ones than its own, [2, 3]"));
    assert!(refused(e.squeezed(&[1])).contains("its extent isn't 1"));
    assert!(refused(e.moved(&[0], &[2])).contains("it has no axis 2"));
    assert_eq!(e.moved(&[0], &[1]).unwrap(), e.transposed(&[1, 0]).unwrap());
}
