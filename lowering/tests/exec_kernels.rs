//! Executables run kernels: the same bits from the reference evaluator, the interpreter and machine code, whatever the shapes and
//! strides, and errors that say the same.

use crate::support::arrays::array;
use crate::support::every::{Every, compile};
use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use rewright_ir::{Array, DType, Datum, EvalErrorKind, Scalar};
use rewright_lowering::exec::{Arg, Backend};

const CHAIN: &str = "func @f(%a: f64[n, m], %b: f64[n, m], %c: f64[n, m]) -> f64[n, m] {
entry:
  %0 = mul %a, %b
  %1 = sub %a, %b
  %2 = mul %c, %1
  %3 = mul %2, 0.5
  %4 = add %0, %3
  %5 = add %4, 1.0
  ret %5
}";
const FUSED_CHAIN: &str = "func @f(%a: f64[n, m], %b: f64[n, m], %c: f64[n, m]) -> f64[n, m] {
entry:
  %0 = arrayexpr [i: n, j: m] (x = %a[i, j], y = %b[i, j], z = %c[i, j]) {
    t0 = mul x, y
    t1 = sub x, y
    t2 = mul z, t1
    t3 = mul t2, 0.5
    t4 = add t0, t3
    t5 = add t4, 1.0
    yield t5
  } : f64[n, m]
  ret %0
}";

/// Views of one shape with all sorts of strides.
fn views<'a>(of: &'a Array2<f64>, row: &'a Array1<f64>, one: &'a Array1<f64>) -> Vec<ArrayView2<'a, f64>> {
    vec![
        of.view(),
        of.slice(s![..;-1, ..]),
        of.slice(s![.., ..;-1]),
        of.slice(s![..;-1, ..;-1]),
        row.broadcast(of.dim()).unwrap(),
        one.broadcast(of.dim()).unwrap(),
    ]
}

#[test]
fn any_strides_and_any_shapes_of_one_compile() {
    let (unfused, fused) = (Every::new(CHAIN).all_kernels(), Every::new(FUSED_CHAIN).all_kernels());
    for (rows, columns) in [(1, 1), (1, 5), (7, 1), (3, 4), (16, 16), (5, 33), (0, 4), (4, 0)] {
        let make = |k: usize| Array2::from_shape_fn((rows, columns), |(i, j)| ((7 * i + 3 * j + k) % 11) as f64 - 4.5);
        let (a, wide) = (make(0), Array2::from_shape_fn((2 * rows, 3 * columns), |(i, j)| (i * j) as f64 / 8.0));
        let transposed = Array2::from_shape_fn((columns, rows), |(i, j)| i as f64 - 0.25 * j as f64);
        let (row, one) = (Array1::from_iter((0..columns).map(|j| j as f64 / 3.0)), Array1::from_elem(1, -7.0));
        let mut seconds = vec![transposed.t(), wide.slice(s![..;2, ..;3]), wide.slice(s![..;-2, ..;-3])];
        seconds.extend(views(&a, &row, &one));
        for b in &seconds {
            for c in &seconds {
                let want = &a * b + &(&(c * &(&a - b)) * 0.5) + 1.0;
                let args = [(&a).into(), b.view().into(), c.view().into()];
                let found = unfused.call(&args);
                assert_eq!(found, fused.call(&args));
                assert_eq!(array(&found[0]), &want.into_dyn());
            }
        }
    }
}

#[test]
fn results_lie_in_memory_as_operands_do() {
    let f = Every::new(CHAIN).all_kernels();
    let a = Array2::from_shape_fn((5, 7), |(i, j)| (7 * i + j) as f64);
    let b = Array2::from_shape_fn((7, 5), |(i, j)| (i + j) as f64);
    let found = f.call(&[a.t().into(), a.t().into(), a.t().into()]);
    assert_eq!(array(&found[0]), &(&a.t() * &a.t() + 1.0).into_dyn());
    let strides = |args: &[Arg<'_>]| array(&compile(CHAIN, Backend::Auto).call(args).unwrap()[0]).strides().to_vec();
    assert_eq!(strides(&[a.t().into(), a.t().into(), a.t().into()]), [1, 7], "all transposed");
    assert_eq!(strides(&[(&b).into(), (&b).into(), (&b).into()]), [5, 1]);
    // Rows of 3 axes, the middle one the outermost in memory.
    let text = "func @f(%x: i64[a, b, c], %k: i64) -> i64[a, b, c] {\nentry:\n  %0 = add %x, %k\n  ret %0\n}";
    let cube = ndarray::Array3::from_shape_fn((4, 2, 3), |(i, j, k)| (100 * i + 10 * j + k) as i64);
    let view = cube.view().permuted_axes([1, 0, 2]);
    let found = Every::new(text).call(&[view.into(), 5i64.into()]);
    assert_eq!(found[0], Datum::Array((&view + 5).into_dyn().into()));
    let planned = compile(text, Backend::Auto).call(&[view.into(), 5i64.into()]).unwrap();
    assert_eq!(planned[0].as_array().unwrap().strides(), [3, 6, 1]);
}

#[test]
fn views_inside_of_the_function_are_read_where_they_are() {
    let f = Every::new(
        "func @f(%a: f64[n, m], %b: f64[m, n]) -> f64[m, n], f64[?, m] {
entry:
  %t = transpose %a
  %0 = sub %t, %b
  %1 = flip %0, axes=[0]
  %2 = mul %1, %b
  %s = slice %a, at=[1::2]
  %3 = add %s, %s
  ret %2, %3
}",
    )
    .all_kernels();
    let a = Array2::from_shape_fn((3, 5), |(i, j)| (10 * i + j) as f64);
    let b = Array2::from_shape_fn((5, 3), |(i, j)| (i + 2 * j) as f64);
    let found = f.call(&[(&a).into(), (&b).into()]);
    let difference = &a.t() - &b;
    assert_eq!(array(&found[0]), &(&difference.slice(s![..;-1, ..]) * &b).into_dyn());
    assert_eq!(array(&found[1]), &(&a.slice(s![1..;2, ..]) * 2.0).into_dyn());
}

#[test]
fn shapes_broadcast_as_they_come() {
    let text = "func @f(%x: f64[a, b], %y: f64[c, d], %k: f64[d]) -> f64[?, ?] {
entry:
  %0 = add %x, %y
  %1 = mul %0, %k
  ret %1
}";
    let f = Every::new(text).all_kernels();
    let make = |rows, columns| Array2::from_shape_fn((rows, columns), |(i, j)| 1.0 + (i * 10 + j) as f64);
    for (x, y) in
        [((3, 4), (3, 4)), ((3, 1), (1, 4)), ((1, 1), (3, 4)), ((3, 4), (1, 1)), ((0, 1), (1, 4)), ((1, 4), (0, 4))]
    {
        let (x, y) = (make(x.0, x.1), make(y.0, y.1));
        let k = Array1::from_iter((0..y.ncols()).map(|i| i as f64 - 1.0));
        let found = f.call(&[(&x).into(), (&y).into(), (&k).into()]);
        assert_eq!(array(&found[0]), &((&x + &y) * &k).into_dyn());
    }
    let error =
        f.outcome(&[(&make(3, 4)).into(), (&make(2, 4)).into(), (&Array1::<f64>::zeros(4)).into()]).unwrap_err();
    assert_eq!((error.kind.clone(), error.op, error.loc.line), (EvalErrorKind::Shape, Some("add"), 3));
    for said in ["%x: f64[3, 4]", "%y: f64[2, 4]", "broadcast"] {
        assert!(error.message.contains(said), "{error}");
    }
    let error =
        f.outcome(&[(&make(3, 4)).into(), (&make(3, 4)).into(), (&Array1::<f64>::zeros(5)).into()]).unwrap_err();
    for said in ["`@f`: argument `%k`", "f64[5]", "d = 4 from `%y`"] {
        assert!(error.message.contains(said), "{error}");
    }
}

#[test]
fn dtypes_promote_and_constants_have_theirs() {
    let f = Every::new(
        "func @f(%i: i32[n], %x: f32[n], %z: c64[n], %b: bool[n], %u: u8[n], %k: i64) -> f64[n], c128[n], u8[n], f32[n], i64[n], bool[n] {
entry:
  %0 = add %i, %x
  %1 = mul %0, %z
  %2 = add %u, 250
  %3 = where %b, %x, 0.5
  %4 = add %u, %k
  %5 = lt %i, %u
  %6 = xor %5, %b
  ret %0, %1, %2, %3, %4, %6
}",
    )
    .all_kernels();
    let n = 37;
    let list = |f: &dyn Fn(usize) -> Scalar, dtype| Array::from_fn(dtype, &[n], f).unwrap();
    let args = [
        list(&|i| Scalar::I32(i as i32 * 3 - 40), DType::I32),
        list(&|i| Scalar::F32(i as f32 / 3.0), DType::F32),
        list(&|i| Scalar::C64(num_complex::Complex32::new(i as f32, -0.5)), DType::C64),
        list(&|i| Scalar::Bool(i % 3 == 0), DType::Bool),
        list(&|i| Scalar::U8(i as u8), DType::U8),
    ];
    let mut given: Vec<Arg<'_>> = args.iter().map(Arg::from).collect();
    given.push((-7i64).into());
    let found = f.call(&given);
    assert_eq!(found[2].as_array().unwrap().get(&[9]), Some(Scalar::U8(3)), "integers wrap");
    assert_eq!(found[3].as_array().unwrap().get(&[1]), Some(Scalar::F32(0.5)));
    assert_eq!(found[4].as_array().unwrap().get(&[2]), Some(Scalar::I64(-5)));
}

const MANDELBROT: &str = "func @mandelbrot(%cx: f64[w], %cy: f64[h, 1], %count: i64[h, w], %limit: i64) -> f64[h, w] {
entry:
  %x = add %cx, %count
  %y = add %cy, %count
  jump head(0, %x, %y)
head(%i: i64, %zx: f64[h, w], %zy: f64[h, w]):
  %more = lt %i, %limit
  br_if %more, body, done
body:
  %xx = mul %zx, %zx
  %yy = mul %zy, %zy
  %norm = add %xx, %yy
  %inside = le %norm, 4.0
  %new = add %count, %inside
  store %count, %new
  %d = sub %xx, %yy
  %nx = add %d, %cx
  %xy = mul %zx, %zy
  %p = mul %xy, 2.0
  %ny = add %p, %cy
  %kx = where %inside, %nx, %zx
  %ky = where %inside, %ny, %zy
  %j = add %i, 1
  jump head(%j, %kx, %ky)
done:
  ret %zx
}";

/// The same, by hand.
fn mandelbrot(cx: f64, cy: f64, limit: i64) -> i64 {
    let (mut x, mut y, mut count) = (cx, cy, 0);
    for _ in 0..limit {
        if x * x + y * y > 4.0 {
            break;
        }
        count += 1;
        (x, y) = (x * x - y * y + cx, 2.0 * (x * y) + cy);
    }
    count
}

#[test]
fn loops_with_stores() {
    let f = Every::new(MANDELBROT).all_kernels();
    let cx = Array1::from_iter((0..40).map(|i| -2.0 + i as f64 * 0.075));
    let cy = Array2::from_shape_fn((30, 1), |(i, _)| -1.125 + i as f64 * 0.075);
    let count = Array2::<i64>::zeros((30, 40));
    let found = f.outcome(&[(&cx).into(), (&cy).into(), (&count).into(), 50i64.into()]).unwrap();
    let want = Array2::from_shape_fn((30, 40), |(i, j)| mandelbrot(cx[j], cy[[i, 0]], 50));
    assert_eq!(found.args[2], Datum::Array(want.into_dyn().into()));
    assert!(count.iter().all(|&c| c == 0), "the caller's array is the caller's");
}

#[test]
fn ufuncs_of_straight_code_are_kernels() {
    let text = "func @f(%x: f64[n], %k: i64) -> f64[n], bool[n] {
entry:
  %0, %1 = ufunc @g(%x, %k)
  ret %0, %1
}
func @g(%a: f64, %b: f64) -> f64, bool {
entry:
  %0 = mul %a, %a
  %1 = add %0, %b
  %2 = gt %1, 10.0
  ret %1, %2
}";
    let f = Every::new(text).all_kernels();
    let x = Array1::from_iter((0..9).map(f64::from));
    let found = f.call(&[(&x).into(), 3i64.into()]);
    assert_eq!(array(&found[0]), &x.mapv(|x| x * x + 3.0).into_dyn());
}

#[test]
fn what_has_no_kernel_runs_by_its_meaning_and_says_so() {
    let text = "func @f(%x: f64[n, m]) -> i64, f64[n, m] {
entry:
  %0 = mul %x, 2.0
  %1 = argmax %0
  %2 = ufunc @g(%x)
  ret %1, %2
}
func @g(%a: f64) -> f64 {
entry:
  jump head(%a)
head(%b: f64):
  %0 = gt %b, 1.0
  br_if %0, body, done
body:
  %1 = mul %b, 0.5
  jump head(%1)
done:
  ret %b
}";
    let f = Every::new(text);
    let x = Array2::from_shape_fn((3, 2), |(i, j)| i as f64 - j as f64);
    let found = f.call(&[(&x).into()]);
    assert_eq!(found[0], Datum::Scalar(Scalar::I64(4)));
    assert_eq!(f.0[0].remarks(), [], "the reference evaluator was asked for");
    for f in &f.0[1..] {
        let remarks: Vec<String> = f.remarks().iter().map(ToString::to_string).collect();
        assert_eq!(remarks.len(), 2, "{remarks:?}");
        assert!(
            remarks[0].contains("`argmax` runs by its reference meaning") && remarks[0].contains("4:"),
            "{remarks:?}"
        );
        assert!(remarks[1].contains("`ufunc`") && remarks[1].contains("`@g` has a loop"), "{remarks:?}");
        assert_eq!((f.stats().kernels, f.stats().reference), (1, 2));
    }
    let names: Vec<_> = f.0.iter().map(|f| f.codegen()).collect();
    assert_eq!(names[..3], [None, Some("interp"), Some("cranelift")]);
    assert_eq!(names.last(), names.get(names.len() - 2), "the best is the last of the others");
}

#[test]
fn errors_inside_of_a_kernel_have_the_place_of_their_own_instruction() {
    // Both functions have the same kernel.
    let first = "func @f(%x: i64[n], %y: i64[n]) -> i64[n] {
entry:
  %0 = power %x, %y
  ret %0
}";
    let second = first.replace("entry:", "entry:\n  print %x");
    let (first, second) = (Every::new(first), Every::new(&second));
    let x = Array1::from_elem(5, 3i64);
    let good = Array1::from_elem(5, 2i64);
    let bad = Array1::from_vec(vec![1i64, 2, -1, 2, 0]);
    for (f, line) in [(&first, 3), (&second, 4)] {
        assert_eq!(
            f.call(&[(&x).into(), (&good).into()]),
            [Datum::Array(Array1::from_elem(5, 9i64).into_dyn().into())]
        );
        let error = f.outcome(&[(&x).into(), (&bad).into()]).unwrap_err();
        assert!(error.message.contains("%y: i64[5]"), "{error}");
        for f in &f.0 {
            let error = f.call(&[(&x).into(), (&bad).into()]).unwrap_err();
            assert_eq!(
                (error.kind.clone(), error.op, error.loc.line),
                (EvalErrorKind::Value, Some("power"), line),
                "{error}"
            );
        }
    }
}

#[test]
fn expressions_with_parts_left_to_a_fill() {
    let text = "func @f(%x: f64[n], %y: f64[m]) -> f64[n, m], f64[n] {
entry:
  %0 = arrayexpr [i: n, j: 1..m] (a = %x[i], b = %y[j - 1]) {
    t0 = mul a, b
    t1 = add t0, j
    yield t1
  } into ([i, j] fill -1.0) : f64[n, m]
  %1 = arrayexpr [i: n] (a = %x[n - 1 - i]) {
    yield a
  } : f64[n]
  ret %0, %1
}";
    let f = Every::new(text).all_kernels();
    for (n, m) in [(3, 4), (2, 1), (0, 3)] {
        let x = Array1::from_iter((0..n).map(|i| i as f64 + 0.5));
        let y = Array1::from_iter((0..m).map(|i| i as f64 - 2.0));
        let found = f.call(&[(&x).into(), (&y).into()]);
        let want = Array2::from_shape_fn((n, m), |(i, j)| if j == 0 { -1.0 } else { x[i] * y[j - 1] + j as f64 });
        assert_eq!(array(&found[0]), &want.into_dyn());
        assert_eq!(array(&found[1]), &x.slice(s![..;-1]).to_owned().into_dyn());
    }
}

#[test]
fn arrays_of_rank_0_and_scalars() {
    let f = Every::new(
        "func @f(%x: f64[], %k: f64, %y: f64[n]) -> f64[], f64[n], f64 {
entry:
  %0 = add %x, %k
  %1 = mul %0, %y
  %2 = mul %k, 2.0
  ret %0, %1, %2
}",
    )
    .all_kernels();
    let (x, y) = (ndarray::arr0(1.5), Array1::from_vec(vec![1.0, 2.0]));
    let found = f.call(&[(&x).into(), 0.5.into(), (&y).into()]);
    assert_eq!(array(&found[0]).shape(), [0; 0]);
    assert_eq!(array(&found[1]), &ndarray::arr1(&[2.0, 4.0]).into_dyn());
    assert_eq!(found[2], Datum::Scalar(Scalar::F64(1.0)));
}

#[test]
fn constructors_are_kernels() {
    let f = Every::new(
        "func @f(%x: f64[n, m], %k: u8) -> u8[n], f32[m, n], i64[n, 3, m], f64[n, m], bool[m, n], f64[] {
entry:
  %0 = full %k, dims=[n]
  %1 = iota dims=[m, n], axis=-1, dtype=f32
  %2 = iota dims=[n, 3, m], axis=1
  %3 = eye dims=[n, m], offset=-1
  %4 = tri dims=[m, n], offset=1, dtype=bool
  %5 = full 2.5, dims=[]
  ret %0, %1, %2, %3, %4, %5
}",
    )
    .all_kernels();
    for shape in [(4, 3), (1, 7), (0, 2)] {
        f.call(&[(&Array2::<f64>::zeros(shape)).into(), 9u8.into()]);
    }
}

#[test]
fn what_is_stored_is_cast_and_broadcast() {
    let f = Every::new(
        "func @f(%x: f64[n, m], %y: i32[m], %z: f64[n, m]) -> f64[n, m] {
entry:
  store %z, %x
  store %x, %y
  store %x, %x
  %0 = transpose %z
  %1 = transpose %0
  store %z, %1
  store %z, 7
  ret %1
}",
    )
    .all_kernels();
    let (x, z) = (Array2::<f64>::zeros((3, 4)), Array2::<f64>::ones((3, 4)));
    let found = f.outcome(&[(&x).into(), (&Array1::from_vec(vec![1i32, 2, 3, 4])).into(), (&z).into()]).unwrap();
    assert_eq!(array(&found.args[0]).index_axis(Axis(0), 2), ndarray::arr1(&[1.0, 2.0, 3.0, 4.0]).into_dyn());
    assert_eq!(array(&found.args[2]), &Array2::from_elem((3, 4), 7.0).into_dyn());
    assert_eq!(array(&found.results[0]), &x.into_dyn());
}

#[test]
fn what_one_code_generator_refuses_is_compiled_by_the_next_which_a_remark_says() {
    let text = "func @f(%a: i64[n], %b: i64[n]) -> i64[n] {
entry:
  %0 = gcd %a, %b
  ret %0
}";
    if !Backend::available().any(|backend| backend == Backend::X64) {
        eprintln!("not tested: the processor has no x64 code generator");
        return;
    }
    let f = compile(text, Backend::X64);
    let remarks: Vec<String> = f.remarks().iter().map(ToString::to_string).collect();
    let refused = "`gcd` runs by cranelift: x64 can't compile this kernel: `gcd` is computed by its reference meaning";
    let calls = "`gcd` runs by calls for each element: there are no vector instructions for `gcd`";
    let [first, second] = &remarks[..] else { panic!("{remarks:?}") };
    assert!(first.ends_with(refused) && first.contains("3:") && second.ends_with(calls), "{remarks:?}");
    let [only] = compile(text, Backend::Cranelift).remarks().to_vec().try_into().unwrap();
    assert!(only.to_string().ends_with(calls), "{only}");
}

#[test]
fn threads_call_one_executable_at_once() {
    let (chain, loops) = (compile(CHAIN, Backend::Auto), compile(MANDELBROT, Backend::Auto));
    std::thread::scope(|scope| {
        for t in 1..=6usize {
            let (chain, loops) = (&chain, &loops);
            scope.spawn(move || {
                for n in 1..30 {
                    let a = Array2::from_shape_fn((t, n), |(i, j)| (i * n + j) as f64);
                    let want = (&a * &a + 1.0).into_dyn();
                    assert_eq!(array(&chain.call(&[(&a).into(), (&a).into(), (&a).into()]).unwrap()[0]), &want);
                    let (cx, cy) = (Array1::from_elem(n, 0.25), Array2::from_elem((t, 1), 0.5));
                    let mut args: Vec<Datum> = vec![
                        Datum::Array(cx.into_dyn().into()),
                        Datum::Array(cy.into_dyn().into()),
                        Datum::Array(Array2::<i64>::zeros((t, n)).into_dyn().into()),
                        Datum::Scalar(Scalar::I64(20)),
                    ];
                    loops.call_mut(&mut args).unwrap();
                    let want = Array2::from_elem((t, n), mandelbrot(0.25, 0.5, 20));
                    assert_eq!(args[2], Datum::Array(want.into_dyn().into()));
                }
            });
        }
    });
}

/// Sums of products of elements that differ by their signs and sizes, at each dtype, along axes of either side, in any order.
#[test]
fn products_along_axes_are_kernels() {
    let pairs = [
        ("n, k", "k, m", "n, m", "lhs_contract=[1], rhs_contract=[0]"),
        ("n, k", "m, k", "n, m", "lhs_contract=[1], rhs_contract=[1]"),
        ("k, n", "k, m", "n, m", "lhs_contract=[0], rhs_contract=[0]"),
        ("k, n", "m, k", "n, m", "lhs_contract=[0], rhs_contract=[1]"),
        ("n, k, m", "m, n, k", "m, n", "lhs_contract=[1], rhs_contract=[2], lhs_batch=[2, 0], rhs_batch=[0, 1]"),
        ("n, m", "k", "n, m, k", "lhs_contract=[], rhs_contract=[]"),
        ("k, m", "k, m", "k, m", "lhs_contract=[], rhs_contract=[], lhs_batch=[0, 1], rhs_batch=[0, 1]"),
    ];
    let extent = |name: &str| {
        [("n", 3), ("m", 5), ("k", 37), ("k1", 38)].into_iter().find(|(n, _)| *n == name).map_or(1, |(_, n)| n)
    };
    let made = |dtype: DType, dims: &str, seed: i64| {
        let shape: Vec<usize> = dims.split(", ").map(extent).collect();
        let element =
            |at: usize| Scalar::F64([-0.0, 0.1, -1e3, 77.7, -3.5][(at as i64 * 7 + seed) as usize % 5]).cast(dtype);
        Array::from_fn(dtype, &shape, element).unwrap()
    };
    for dtype in [DType::Bool, DType::I8, DType::U16, DType::I64, DType::F32, DType::F64, DType::C64, DType::C128] {
        for (a, b, result, axes) in pairs {
            let text = format!(
                "func @f(%a: {dtype}[{a}], %b: {dtype}[{b}]) -> {dtype}[{result}] {{
entry:
  %0 = dot_general %a, %b, {axes}
  ret %0
}}"
            );
            let f = Every::new(&text).all_kernels();
            f.call(&[(&made(dtype, a, 0)).into(), (&made(dtype, b, 3)).into()]);
        }
    }
    let mixed = "func @f(%a: i8[n, ?], %b: f32[k, m]) -> f32[n, m] {
entry:
  %0 = dot_general %a, %b, lhs_contract=[1], rhs_contract=[0]
  ret %0
}";
    let f = Every::new(mixed).all_kernels();
    f.call(&[(&made(DType::I8, "n, k", 0)).into(), (&made(DType::F32, "k, m", 3)).into()]);
    for (columns, extents) in [("m", "extents 5 and 37"), ("k1", "extents 38 and 37")] {
        let a = made(DType::I8, &format!("n, {columns}"), 0);
        let wrong = f.outcome(&[(&a).into(), (&made(DType::F32, "k, m", 3)).into()]);
        assert!(wrong.is_err_and(|e| e.to_string().contains(extents)), "{columns}");
    }
}

#[test]
fn what_is_read_elsewhere_or_held_elsewhere_is_not_written_over() {
    // Each operand dies where the last kernel reads it: it is read backwards too, or a view has a share in it.
    let backwards = "func @f(%x: f64[n]) -> f64[n], f64[n] {
entry:
  %0 = add %x, 1.0
  %1 = arrayexpr [i: n] (a = %0[i], b = %0[n - 1 - i]) {
    t0 = mul a, 10.0
    t1 = add t0, b
    yield t1
  } : f64[n]
  ret %1, %x
}";
    let shared = "func @f(%x: f64[n]) -> f64[n], f64[n] {
entry:
  %0 = add %x, 1.0
  %1 = flip %0, axes=[0]
  %2 = mul %0, 10.0
  ret %2, %1
}";
    let x = Array1::from_iter((0..5000).map(f64::from));
    for text in [backwards, shared] {
        let want = compile(text, Backend::Reference).call(&[(&x).into()]).unwrap();
        for backend in Backend::available() {
            let f = compile(text, backend);
            for _ in 0..3 {
                assert!(f.call(&[(&x).into()]).unwrap() == want, "{backend:?}\n{text}");
            }
        }
    }
}

/// One point after the other: a group is one lane, however wide the registers are that tables are in.
#[test]
fn logarithms_in_order() {
    for dtype in ["f64", "f32"] {
        let text = format!(
            "func @f(%x: {dtype}[n]) -> {dtype}[] {{
entry:
  %0 = arrayexpr [i: reduce n] (x = %x[i]) {{
    t0 = log x
    yield t0
  }} reduce (sum {dtype}) nocomm : {dtype}[]
  ret %0
}}"
        );
        let x: Vec<f64> = (1..200).map(|n| f64::from(n) * 0.07).collect();
        let every = Every::new(&text).all_kernels();
        match dtype {
            "f64" => every.call(&[(&Array1::from(x)).into()]),
            _ => every.call(&[(&Array1::from_iter(x.iter().map(|&x| x as f32))).into()]),
        };
        for (backend, f) in Backend::available().zip(&every.0).skip(1) {
            assert!(f.remarks().is_empty(), "{backend:?}: {}", f.plan());
        }
    }
}
