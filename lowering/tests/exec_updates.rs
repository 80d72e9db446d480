//! Updates of parts by the results of kernels and loop programs: as the reference evaluator has them, for
//! every shape, and again in replayed calls.

use ndarray::{Array2, ArrayD, ArrayViewMutD, Axis, IxDyn, Slice};
use rewright_ir::text::parse_module;
use rewright_ir::{Array, EvalError, Limits};
use rewright_lowering::exec::{Arg, Backend, Executable, Options, Results, ViewMut};
use std::num::NonZeroU32;

fn compile_with(text: &str, options: Options) -> Executable {
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)));
    Executable::compile(&module, "f", options).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn compile(text: &str) -> Executable {
    compile_with(text, Options { threads: NonZeroU32::new(1), ..Options::default() })
}

fn reference(text: &str, args: &[Arg<'_>], limits: Limits) -> Result<Results, EvalError> {
    compile_with(text, Options { backend: Backend::Reference, limits, ..Options::default() }).call(args)
}

/// Other numbers in each round.
fn matrix(rows: usize, columns: usize, round: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 31 + j * 17 + round * 7) % 101) as f64 / 7.0 - 5.0)
}

/// A function of a matrix with these instructions.
fn of(body: &str, results: &[&str]) -> String {
    let types = vec!["f64[n, m]"; results.len()].join(", ");
    format!("func @f(%x: f64[n, m]) -> {types} {{\nentry:\n  {body}\n  ret {}\n}}", results.join(", "))
}

/// Whether the plan has a step that may write into the part of an update.
fn may_fill_a_part(text: &str) -> bool {
    compile(text).plan().to_string().contains("into a part")
}

/// Calls a function several times with other elements, for new results and for buffers of the caller.
#[track_caller]
fn agrees(text: &str, shape: (usize, usize)) {
    let f = compile(text);
    for round in 0..5 {
        let x = matrix(shape.0, shape.1, round);
        let args = [Arg::from(&x)];
        let [found, wanted] = [f.call(&args), reference(text, &args, Limits::default())];
        match (found, wanted) {
            (Ok(found), Ok(wanted)) => {
                assert_eq!(found, wanted, "{shape:?}, round {round}\n{text}");
                into_buffers(&f, &x, &wanted);
            }
            (found, wanted) => {
                let [found, wanted] = [found, wanted].map(|result| result.map_err(|e| e.to_string()));
                assert_eq!(found, wanted, "{shape:?}, round {round}\n{text}");
            }
        }
    }
}

/// Calls for buffers whose elements are contiguous, and apart.
#[track_caller]
fn into_buffers(f: &Executable, x: &Array2<f64>, wanted: &Results) {
    let wanted: Vec<ArrayD<f64>> = wanted
        .iter()
        .map(|result| match result.to_array() {
            Array::F64(array) => array.to_owned(),
            other => panic!("{other} is not of f64"),
        })
        .collect();
    for step in [1isize, 2, -2] {
        let stretched = |w: &ArrayD<f64>| -> Vec<usize> { w.shape().iter().map(|n| n * step.unsigned_abs()).collect() };
        let mut rooms: Vec<ArrayD<f64>> =
            wanted.iter().map(|w| ArrayD::from_elem(IxDyn(&stretched(w)), f64::INFINITY)).collect();
        let mut outs: Vec<ViewMut<'_>> = rooms.iter_mut().map(|room| spread(room, step).into()).collect();
        f.call_into(&[x.into()], &mut outs).unwrap();
        for (room, wanted) in rooms.iter_mut().zip(&wanted) {
            assert_eq!(spread(room, step), wanted, "{:?}, step {step}", x.shape());
            let left = room.iter().filter(|x| x.is_infinite()).count();
            assert_eq!(left, room.len() - wanted.len(), "only elements of the view are written");
        }
    }
}

/// Every `step`th element along all axes.
fn spread(room: &mut ArrayD<f64>, step: isize) -> ArrayViewMutD<'_, f64> {
    let mut view = room.view_mut();
    (0..view.ndim()).for_each(|axis| view.slice_axis_inplace(Axis(axis), Slice::new(0, None, step)));
    view
}

const SHAPES: [(usize, usize); 14] = [
    (0, 0),
    (0, 7),
    (7, 0),
    (1, 1),
    (1, 7),
    (7, 1),
    (2, 2),
    (2, 7),
    (7, 2),
    (7, 7),
    (3, 40),
    (40, 3),
    (64, 65),
    (1000, 7),
];

const JACOBI: &str = "%centre = slice %x, at=[1:-1, 1:-1]
  %left = slice %x, at=[1:-1, :-2]
  %below = slice %x, at=[2:, 1:-1]
  %0 = add %centre, %left
  %inner = arrayexpr [i: ?, j: ?] (a = %0[i, j], b = %below[i, j]) {
    t0 = add a, b
    t1 = mul t0, 0.2
    yield t1
  } : f64[?, ?]
  %r = update %x, %inner, at=[1:-1, 1:-1]";

/// Updates of an argument by a kernel: the body, whose result is `%r`.
const OF_ARGUMENTS: [(&str, &str); 12] = [
    ("an interior", "%p = slice %x, at=[1:-1, 1:-1]\n  %q = mul %p, 0.2\n  %r = update %x, %q, at=[1:-1, 1:-1]"),
    ("everything", "%q = exp %x\n  %r = update %x, %q"),
    ("a row", "%p = getitem %x, 0\n  %q = mul %p, 2.0\n  %r = update %x, %q, -1"),
    ("rows", "%p = slice %x, at=[:-3]\n  %q = neg %p\n  %r = update %x, %q, at=[3:]"),
    ("columns", "%p = slice %x, at=[:, 2:]\n  %q = neg %p\n  %r = update %x, %q, at=[:, :-2]"),
    ("backwards", "%p = slice %x, at=[:, 1:]\n  %q = neg %p\n  %r = update %x, %q, at=[::-1, 1:]"),
    ("steps", "%p = slice %x, at=[::2, ::-3]\n  %q = neg %p\n  %r = update %x, %q, at=[::-2, ::3]"),
    ("a sum", "%q = sum %x, axes=[0]\n  %r = update %x, %q, 0"),
    ("part of a column", "%q = sum %x, axes=[1], keepdims=true\n  %r = update %x, %q, at=[:, 1:2]"),
    ("a broadcast row", "%q = sum %x, axes=[0]\n  %r = update %x, %q, at=[1:]"),
    ("another dtype", "%q = cast %x, to=f32\n  %s = mul %q, 0.3\n  %r = update %x, %s"),
    ("an empty part", "%p = slice %x, at=[0:0]\n  %q = neg %p\n  %r = update %x, %q, at=[2:2]"),
];

#[test]
fn parts_of_arguments_are_replaced_by_kernels() {
    for (what, body) in OF_ARGUMENTS {
        let text = of(body, &["%r"]);
        assert!(may_fill_a_part(&text), "{what}: {}", compile(&text).plan());
        SHAPES.iter().for_each(|&shape| agrees(&text, shape));
    }
}

#[test]
fn the_array_that_is_updated_stays_as_it_is() {
    for (_, body) in OF_ARGUMENTS {
        let own = body.replace("%x", "%y").replace("%r = update", "%e = mul %y, 1.0\n  %r = update");
        let text = of(&format!("%y = mul %x, 3.0\n  {own}"), &["%r", "%y", "%e"]);
        SHAPES.iter().for_each(|&shape| agrees(&text, shape));
        // Nothing comes in between.
        let own = body.replace("%x", "%y");
        let text = of(&format!("%y = mul %x, 3.0\n  {own}"), &["%r", "%y"]);
        SHAPES.iter().for_each(|&shape| agrees(&text, shape));
    }
}

#[test]
fn arrays_that_die_are_updated_in_place_only_if_the_kernel_does_not_read_them() {
    for (_, body) in OF_ARGUMENTS {
        // The kernel reads the array, and then another one.
        for base in ["%z", "%y"] {
            let own = body.replace("%x", "%y").replace("update %y", &format!("update {base}"));
            let text = of(&format!("%y = mul %x, 3.0\n  %z = mul %x, 5.0\n  {own}\n  %t = add %r, %z"), &["%r", "%t"]);
            SHAPES.iter().for_each(|&shape| agrees(&text, shape));
            let text = of(&format!("%y = mul %x, 3.0\n  %z = mul %x, 5.0\n  {own}\n  %t = add %r, 1.0"), &["%t"]);
            SHAPES.iter().for_each(|&shape| agrees(&text, shape));
        }
    }
}

#[test]
fn a_dying_array_is_the_result_and_the_new_elements_have_no_array() {
    let body = "%y = mul %x, 3.0\n  %p = slice %x, at=[1:]\n  %q = neg %p\n  %r = update %y, %q, at=[:-1]";
    let f = compile(&of(body, &["%r"]));
    f.call(&[(&matrix(20, 30, 0)).into()]).unwrap();
    assert_eq!((f.stats().allocations, f.stats().kernels), (1, 2));
    let f = compile(&of(OF_ARGUMENTS[0].1, &["%r"]));
    f.call(&[(&matrix(20, 30, 0)).into()]).unwrap();
    assert_eq!((f.stats().allocations, f.stats().reference), (1, 0));
}

#[test]
fn several_updates_one_after_the_other() {
    let body = "%a = slice %x, at=[:2]
  %b = neg %a
  %y = update %x, %b, at=[-2:]
  %c = slice %y, at=[1:-1, 1:-1]
  %d = mul %c, 0.5
  %z = update %y, %d, at=[1:-1, 1:-1]
  %e = getitem %z, 0
  %g = add %e, 1.0
  %h = update %z, %g, -1
  %s = add %h, %y
  %i = slice %h, at=[:, ::2]
  %j = mul %i, 2.0
  %r = update %h, %j, at=[:, ::2]";
    for results in [&["%r"][..], &["%s"], &["%s", "%r"], &["%h", "%y"], &["%r", "%z", "%s"]] {
        [(2, 5), (3, 3), (9, 8), (1, 4), (0, 3), (90, 100)].iter().for_each(|&shape| agrees(&of(body, results), shape));
    }
}

#[test]
fn parts_are_replaced_by_values() {
    let bodies = [
        "%r = update %x, 7.5, at=[1:-1, 1:-1]",
        "%k = sum %x\n  %r = update %x, %k, at=[1:-1, 1:-1]",
        "%k = sum %x\n  %i = cast %k, to=i32\n  %r = update %x, %i, 0",
        "%p = slice %x, at=[1:]\n  %r = update %x, %p, at=[:-1]",
        "%p = getitem %x, -1\n  %r = update %x, %p",
        "%p = transpose %x\n  %q = transpose %p\n  %r = update %x, %q, at=[::-1]",
        "%n = dim %x, axis=0\n  %k = floordiv %n, 2\n  %p = getitem %x, %k\n  %q = neg %p\n  %r = update %x, %q, %k",
    ];
    for body in bodies {
        SHAPES.iter().for_each(|&shape| agrees(&of(body, &["%r"]), shape));
        let own = format!("%y = mul %x, 3.0\n  {}", body.replace("%x", "%y"));
        SHAPES.iter().for_each(|&shape| agrees(&of(&own, &["%r", "%y"]), shape));
        SHAPES.iter().for_each(|&shape| agrees(&of(&own, &["%r"]), shape));
    }
}

#[test]
fn positions_that_change_between_calls() {
    let text = "func @f(%x: f64[n, m], %i: i64) -> f64[n, m] {
entry:
  %p = getitem %x, 0
  %q = neg %p
  %r = update %x, %q, %i
  ret %r
}";
    let (f, x) = (compile(text), matrix(5, 40, 0));
    for i in [0i64, 0, 0, 0, 4, -1, -5, 2, 2, 2] {
        let args = [Arg::from(&x), i.into()];
        assert_eq!(f.call(&args).unwrap(), reference(text, &args, Limits::default()).unwrap(), "{i}");
    }
    for i in [5i64, -6, i64::MIN] {
        let args = [Arg::from(&x), i.into()];
        let wanted = reference(text, &args, Limits::default()).unwrap_err();
        assert_eq!(f.call(&args).unwrap_err().to_string(), wanted.to_string());
    }
}

#[test]
fn parts_are_replaced_by_loop_programs() {
    let padded = "%q = arrayexpr [i: n, j: m] (a = %x[pad(i - 1, 0.5), j], b = %x[i, clamp(j + 1)]) {
    t0 = add a, b
    yield t0
  } : f64[n, m]";
    let guarded = "%q = arrayexpr [i: n, j: m] where j <= i (x = %x[i, j]) {
    yield x
  } into ([i, j] fill 0.25) : f64[n, m]";
    for made in [padded, guarded] {
        let [whole, dying] =
            ["%x", "%y"].map(|base| of(&format!("%y = mul %x, 2.0\n  {made}\n  %r = update {base}, %q"), &["%r"]));
        for text in [whole, dying] {
            assert!(may_fill_a_part(&text), "{}", compile(&text).plan());
            SHAPES.iter().for_each(|&shape| agrees(&text, shape));
        }
        // The part is as large as the argument.
        let wide = "%w = concat %x, %x, axis=1\n";
        let dims = "func @f(%x: f64[n, m]) -> f64[?, ?] {\nentry:\n  ";
        for at in ["[:, 0:4]", "[:, 1:5]", "[:, ::-2]"] {
            let text = format!("{dims}{wide}  {made}\n  %r = update %w, %q, at={at}\n  ret %r\n}}");
            [(3, 4), (60, 4), (1, 4), (0, 4), (3, 5)].iter().for_each(|&shape| agrees(&text, shape));
        }
    }
}

#[test]
fn a_kernel_that_fails_reports_its_own_error() {
    // Integers have no negative powers.
    let text = "func @f(%x: i64[n]) -> i64[n] {
entry:
  %p = slice %x, at=[1:]
  %q = power 2, %p
  %r = update %x, %q, at=[1:]
  ret %r
}";
    let f = compile(text);
    assert!(may_fill_a_part(text), "{}", f.plan());
    let good = ndarray::Array1::from_iter(0..50i64);
    for round in 0..6 {
        let mut x = good.clone();
        x[30] = if round == 4 { -1 } else { round };
        let [found, wanted] = [f.call(&[(&x).into()]), reference(text, &[(&x).into()], Limits::default())];
        match (found, wanted) {
            (Ok(found), Ok(wanted)) => assert_eq!(found, wanted),
            (found, wanted) => assert_eq!(found.unwrap_err().to_string(), wanted.unwrap_err().to_string()),
        }
    }
}

#[test]
fn a_loop_that_updates_its_own_array() {
    let text = "func @f(%x: f64[n, m]) -> f64[n, m] {
entry:
  jump head(0, %x)
head(%i: i64, %y: f64[n, m]):
  %more = lt %i, 5
  br_if %more, body, done
body:
  %p = slice %y, at=[1:-1, :-2]
  %q = mul %p, 0.5
  %z = update %y, %q, at=[1:-1, 1:-1]
  %j = add %i, 1
  jump head(%j, %z)
done:
  ret %y
}";
    assert!(may_fill_a_part(text));
    SHAPES.iter().filter(|shape| shape.1 > 0).for_each(|&shape| agrees(text, shape));
    // Two arrays exchange their parts: the copy of the border is less than the interior.
    let f = compile(text);
    f.call(&[(&matrix(200, 200, 0)).into()]).unwrap();
    assert_eq!(f.stats().allocations, 2);
}

#[test]
fn limits_are_those_of_the_steps() {
    let body =
        "%y = mul %x, 3.0\n  %p = slice %x, at=[1:-1, 1:-1]\n  %q = neg %p\n  %r = update %y, %q, at=[1:-1, 1:-1]";
    for (body, results) in [(OF_ARGUMENTS[0].1, &["%r"][..]), (body, &["%r"]), (body, &["%r", "%y"])] {
        let (text, x) = (of(body, results), matrix(12, 12, 0));
        let bytes = (0..40).map(|n| Limits { bytes: n * 128, ..Limits::default() });
        let steps = (0..60).map(|n| Limits { steps: n * 12, ..Limits::default() });
        let mut ended = [0, 0];
        for limits in bytes.chain(steps) {
            let f = compile_with(&text, Options { limits, ..Options::default() });
            let found = f.call(&[(&x).into()]);
            let wanted = reference(&text, &[(&x).into()], limits);
            if let (Err(found), Err(wanted)) = (&found, &wanted) {
                assert_eq!(found.kind, wanted.kind);
            }
            if let (Ok(found), Ok(wanted)) = (&found, &wanted) {
                assert_eq!(found, wanted);
            }
            ended[usize::from(found.is_ok())] += 1;
        }
        assert!(ended.iter().all(|&count| count > 10), "{ended:?}");
    }
}

#[test]
fn temporaries_move_when_bands_take_the_place_of_others() {
    let body = "%a = mul %x, 0.5
  %b = exp %a
  %p = slice %b, at=[:, 1:2]
  %c = neg %p
  %d = slice %c, at=[1:]
  %e = neg %d
  %g = update %c, %e, at=[:-1]
  %h = update %g, 0.25, at=[3:5]
  %r = add %x, %h";
    let text = of(body, &["%b", "%r"]);
    agrees(&text, (1000, 300));
    let f = compile(&text);
    let x = matrix(1000, 300, 0);
    (0..3).for_each(|_| assert_eq!(f.call(&[(&x).into()]).unwrap().len(), 2));
    assert!(f.stats().banded > 0, "{:?}", f.stats());
}

#[test]
fn large_arrays_and_several_threads() {
    let text = of(JACOBI, &["%r"]);
    agrees(&text, (1000, 100));
    let threaded = compile_with(&text, Options { threads: NonZeroU32::new(3), ..Options::default() });
    for round in 0..4 {
        let x = matrix(1000, 1000, round);
        let wanted = reference(&text, &[(&x).into()], Limits::default()).unwrap();
        assert_eq!(threaded.call(&[(&x).into()]).unwrap(), wanted);
        let mut r = Array2::<f64>::zeros((1000, 1000));
        threaded.call_into(&[(&x).into()], &mut [(&mut r).into()]).unwrap();
        assert_eq!(wanted[0].to_array(), Array::F64(r.into_dyn().into()));
    }
    // Several callers at once.
    let f = compile(&text);
    std::thread::scope(|scope| {
        for round in 0..4 {
            let (f, text) = (&f, &text);
            scope.spawn(move || {
                let x = matrix(60, 70, round);
                let wanted = reference(text, &[(&x).into()], Limits::default()).unwrap();
                (0..20).for_each(|_| assert_eq!(f.call(&[(&x).into()]).unwrap(), wanted));
            });
        }
    });
}

#[test]
fn columns_are_in_memory_as_the_caller_has_them() {
    let text = of(JACOBI, &["%r"]);
    let f = compile(&text);
    for round in 0..4 {
        let x = matrix(30, 20, round);
        let x = [x.t(), x.slice(ndarray::s![..;-1, ..;2])];
        for x in x {
            let args = [Arg::from(x)];
            assert_eq!(f.call(&args).unwrap(), reference(&text, &args, Limits::default()).unwrap());
        }
    }
}
