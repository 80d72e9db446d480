//! Steps that run by the reference meanings of their ops are named, each once; reshapes, updates and
//! constants are no such steps.

use crate::support::arrays::array;
use crate::support::every::{Every, compile};
use ndarray::{Array1, Array2, Array3, s};
use rewright_ir::{Array, DType, Datum, Element, Scalar, with_dtype};
use rewright_lowering::exec::{Backend, Executable, Instead};
use std::path::Path;

/// The steps of all compiled backends that ran by reference.
fn by_reference(f: &Every) -> usize {
    f.0[1..].iter().map(|f| f.reference_steps().len() + f.stats().reference as usize).sum()
}

fn compiled() -> impl Iterator<Item = Backend> {
    Backend::available().filter(|&backend| backend != Backend::Reference)
}

/// The names, lines, runs and reasons of steps that ran by reference.
fn steps(f: &Executable) -> Vec<(&'static str, u32, u64, String)> {
    let steps = f.reference_steps().into_iter();
    steps.map(|step| (step.op.name, step.loc.line, step.runs, step.why.unwrap_or_default())).collect()
}

#[test]
fn only_one_file_evaluates() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![folder];
    let mut doors = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            // The code of a file, without its tests and comments.
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            let code: String = lines.collect::<Vec<_>>().join("\n");
            let words: Vec<&str> = code.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
            let evaluates = ["EvalCx", "evaluate", "evaluate_op", "evaluate_function", "map_elements"];
            if words.iter().any(|word| evaluates.contains(word)) {
                doors.push(path.file_name().unwrap().to_string_lossy().to_string());
            }
        }
    }
    doors.sort();
    // `mod.rs` asks the door for whole functions.
    assert_eq!(doors, ["by_reference.rs", "mod.rs"]);
}

#[test]
fn a_step_that_does_not_fit_a_call_is_named_once() {
    let text = "func @f(%x: f64[n, m], %y: f64[k, w]) -> f64[?, ?], f64[k] {
entry:
  %a = arrayexpr [i: n - w + 1, j: m - w + 1, r: reduce w, s: reduce w] (x = %x[i + r, j + s]) {
    yield x
  } reduce (max f64) : f64[?, ?]
  %b = sum %y, axes=[1]
  ret %a, %b
}";
    let x = Array2::from_shape_fn((5, 7), |(i, j)| ((i * 31 + j * 17) % 23) as f64);
    let y = Array2::from_shape_fn((3, 2), |(i, j)| (i + j) as f64);
    let wanted = Array2::from_shape_fn((4, 6), |(i, j)| x.slice(s![i..i + 2, j..j + 2]).fold(0.0f64, |a, &b| a.max(b)));
    for backend in compiled() {
        let f = compile(text, backend);
        assert_eq!((f.remarks(), f.call_remarks().len()), (&[][..], 0), "{backend:?}");
        for _ in 0..3 {
            let results = f.call(&[(&x).into(), (&y).into()]).unwrap();
            assert_eq!(array(&results[0]), &wanted.clone().into_dyn());
        }
        let told = f.call_remarks();
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!((told[0].op.name, told[0].loc.line), ("arrayexpr", 3));
        assert!(matches!(told[0].instead, Instead::Loops(_)), "{told:?}");
        assert!(told[0].to_string().contains("not evenly spaced"), "{}", told[0]);
        assert_eq!(f.reference_steps(), []);
    }
}

/// A product of matrices runs as a loop program because it has many points, not because something is wrong.
#[test]
fn a_product_that_runs_as_a_program_has_no_remark() {
    let text = "func @f(%x: f64[n, k], %y: f64[k, m]) -> f64[n, m] {
entry:
  %0 = dot_general %x, %y, lhs_contract=[1], rhs_contract=[0]
  ret %0
}";
    for backend in compiled() {
        let f = compile(text, backend);
        for n in [8, 200] {
            let x = Array2::from_elem((n, n), 0.5);
            f.call(&[(&x).into(), (&x).into()]).unwrap();
            assert_eq!((f.remarks().len(), f.call_remarks()), (0, Vec::new()), "{backend:?} {n}");
        }
    }
}

#[test]
fn a_function_with_a_loop_is_named() {
    let text = "func @f(%x: f64[n]) -> f64[n] {
entry:
  %0 = ufunc @halve(%x)
  ret %0
}

func @halve(%x: f64) -> f64 {
entry:
  jump loop(%x)
loop(%y: f64):
  %more = gt %y, 1.0
  br_if %more, half(%y), done(%y)
half(%z: f64):
  %0 = mul %z, 0.5
  jump loop(%0)
done(%w: f64):
  ret %w
}";
    for backend in compiled() {
        let f = compile(text, backend);
        for _ in 0..2 {
            f.call(&[(&Array1::from(vec![5.0, 0.5])).into()]).unwrap();
        }
        let found = steps(&f);
        assert_eq!((found.len(), found[0].0, found[0].1, found[0].2), (1, "ufunc", 3, 2), "{found:?}");
        assert!(found[0].3.contains("has a loop"), "{found:?}");
    }
}

#[test]
fn what_has_no_kernel_and_no_elements_is_named() {
    let text = "func @f(%x: f64[n, m], %k: i64[j]) -> f64[n], f64[j] {
entry:
  %a = sum %x, axes=[1]
  %z = arrayexpr [i: j] (k = %a[gather(%k[i])]) {
    yield k
  } : f64[j]
  ret %a, %z
}";
    for backend in compiled() {
        let f = compile(text, backend);
        let planned: Vec<_> = f.remarks().iter().map(|r| (r.op.name, r.loc.line)).collect();
        assert_eq!(planned, [("arrayexpr", 4)], "{backend:?}");
        assert!(matches!(f.remarks()[0].instead, Instead::Loops(_)), "{:?}", f.remarks());
        let (empty, full) = (Array2::<f64>::zeros((3, 0)), Array2::<f64>::ones((3, 2)));
        let k = Array1::from(vec![2i64, 0]);
        f.call(&[(&full).into(), (&k).into()]).unwrap();
        assert_eq!((f.call_remarks().len(), f.reference_steps().len()), (0, 0));
        f.call(&[(&empty).into(), (&k).into()]).unwrap();
        let told = f.call_remarks();
        assert!(told.len() == 1 && told[0].to_string().contains("has no elements"), "{told:?}");
        assert_eq!(f.reference_steps(), []);
    }
    // Nothing is told of a call that ends with an error.
    let wrong = "func @f(%x: f64[n], %i: i64) -> f64 {\nentry:\n  %a = getitem %x, %i\n  ret %a\n}";
    for backend in compiled() {
        let f = compile(wrong, backend);
        f.call(&[(&Array1::<f64>::zeros(3)).into(), 7i64.into()]).unwrap_err();
        assert_eq!(f.reference_steps(), []);
    }
}

/// Transposes, slices, windows that lie apart, and none of these; to axes that are split, joined, dropped
/// and put in.
#[test]
fn reshapes_are_views_or_copies() {
    let text = |dtype: &str, view: &str, dims: &str| {
        format!(
            "func @f(%x: {dtype}[n, m, k]) -> {dtype}[{dims}] {{\nentry:\n  %v = {view}\n  %r = reshape %v, dims=[{dims}]\n  ret %r\n}}"
        )
    };
    let views = [
        "transpose %x, perm=[1, 0, 2]",
        "slice %x, at=[:, :, 1:2]",
        "slice %x, at=[::2, ::-1]",
        "flip %x",
        "transpose %x",
    ];
    for view in views {
        for dims in ["?", "1, ?, 1", "2, ?", "?, 2", "?, 1, 2, 1"] {
            for dtype in [DType::F64, DType::U8, DType::C128] {
                let f = Every::new(&text(dtype.name(), view, dims)).all_kernels();
                for shape in [[4, 6, 2], [2, 1, 4], [2, 2, 0], [1, 2, 1]] {
                    let element = |n: usize| Scalar::I64(n as i64 % 251).cast(dtype);
                    let x = Datum::Array(Array::from_fn(dtype, &shape, element).unwrap());
                    // An odd number of elements makes no pairs.
                    let _ = f.outcome(&[(&x).into()]);
                }
                assert_eq!(by_reference(&f), 0, "{view}, {dims}, {dtype}");
            }
        }
    }
}

#[test]
fn a_reshape_without_a_copy_is_free() {
    let text = "func @f(%x: i64[n, 2, m]) -> i64[n, m], i64[1, n, m, 1] {
entry:
  %s = slice %x, at=[:, 1:2]
  %r = reshape %s, dims=[n, m]
  %q = reshape %s, dims=[1, n, m, 1]
  %a = add %r, 1
  %b = add %q, 2
  ret %a, %b
}";
    let x = Array3::from_shape_fn((50, 2, 30), |(i, j, k)| (i * 100 + j * 1000 + k) as i64);
    for backend in compiled() {
        let f = compile(text, backend);
        let results = f.call(&[(&x).into()]).unwrap();
        assert_eq!(results[0].to_array(), Array::I64((x.slice(s![.., 1, ..]).to_owned() + 1).into_dyn().into()));
        // Those of the two sums alone.
        assert_eq!((f.stats().allocations, f.stats().reference), (2, 0), "{backend:?}");
    }
}

#[test]
fn a_reshape_copies_to_the_callers_buffer() {
    let text = "func @f(%x: f64[n, m]) -> f64[m, n, 1] {\nentry:\n  %t = transpose %x\n  %f = flip %t, axes=[0]\n  %r = reshape %f, dims=[m, n, 1]\n  ret %r\n}";
    let joined =
        "func @f(%x: f64[n, m]) -> f64[?] {\nentry:\n  %t = transpose %x\n  %r = reshape %t, dims=[?]\n  ret %r\n}";
    let x = Array2::from_shape_fn((3, 4), |(i, j)| (10 * i + j) as f64);
    for backend in compiled() {
        let (f, g) = (compile(text, backend), compile(joined, backend));
        for _ in 0..3 {
            let mut out = Array3::<f64>::zeros((4, 6, 2));
            f.call_into(&[(&x).into()], &mut [out.slice_mut(s![.., ..;2, 1..]).into()]).unwrap();
            assert_eq!(out.slice(s![.., ..;2, 1]), x.t().slice(s![..;-1, ..]));
            assert_eq!(out.slice(s![.., 1..;2, ..]).sum() + out.slice(s![.., .., 0]).sum(), 0.0);
            let mut row = Array1::<f64>::zeros(24);
            g.call_into(&[(&x).into()], &mut [row.slice_mut(s![..;-2]).into()]).unwrap();
            assert_eq!(row.slice(s![..;-2]).to_vec(), x.t().iter().copied().collect::<Vec<_>>());
            assert_eq!(row.slice(s![..;2]).sum(), 0.0);
        }
        assert_eq!(f.stats().reference + g.stats().reference, 0);
        assert_eq!(f.stats().allocations, 0, "it is written where it is wanted");
    }
}

#[test]
fn views_of_scalars_have_steps() {
    for dtype in DType::ALL {
        let d = dtype.name();
        let text = format!(
            "func @f(%x: {d}) -> {d}[1, 1], {d}[], {d}[1], {d}[3, 2], {d} {{
entry:
  %a = reshape %x, dims=[1, 1]
  %b = to_array %x
  %c = expand_dims %x, axes=[0]
  %d = broadcast_in_dim %x, dims=[3, 2]
  %e = item %b
  ret %a, %b, %c, %d, %e
}}"
        );
        let f = Every::new(&text).all_kernels();
        with_dtype!(dtype, T => {
            let x = T::from_scalar(Scalar::I64(1).cast(dtype)).unwrap().to_scalar();
            let results = f.call(&[x.into()]);
            assert_eq!(results[3].to_array(), Array::full(x, &[3, 2]).unwrap());
        });
        assert_eq!(by_reference(&f), 0, "{d}");
    }
}

/// Of an argument, of a value that is read later, of itself, and of a constant; at positions, slices and
/// steps; with scalars and arrays.
#[test]
fn updates_are_strided_stores() {
    let text = "func @f(%x: f64[n, m], %u: f64[?], %k: i64, %s: f64[?, m]) -> f64[n, m], f64[n, m], f64[n, m], f64[n, m], f64[n, m], f64[3], f64[n, m] {
entry:
  %a = update %x, %u, %k, at=[1:3]
  %b = update %x, %s, at=[::2]
  %c = update %x, %s, at=[::-2, :]
  %d = update %x, 7.0, %k, -1
  %e = update %x, %x
  %t = constant value=[1.0, 2.0, 4.0]:f64
  %g = update %t, 5.0, 1
  %h = mul %x, 2.0
  %i = update %h, %u, %k, at=[1:3]
  %j = add %h, %i
  ret %a, %b, %c, %d, %e, %g, %j
}";
    let f = Every::new(text).all_kernels();
    let wide = Array2::from_shape_fn((10, 8), |(i, j)| (100 * i + j) as f64);
    for x in [wide.slice(s![..5, ..4]), wide.slice(s![..;-2, ..;2])] {
        let (u, s) = (Array1::from(vec![-1.0, -2.0]), Array2::from_shape_fn((3, 4), |(i, j)| -((10 * i + j) as f64)));
        for k in [0i64, -1, 4] {
            let found = f.call(&[x.into(), (&u).into(), k.into(), (&s).into()]);
            let mut wanted = x.to_owned();
            wanted.slice_mut(s![..;-2, ..]).assign(&s);
            assert_eq!(array(&found[2]), &wanted.into_dyn());
            assert_eq!(array(&found[5]).iter().copied().collect::<Vec<_>>(), [1.0, 5.0, 4.0]);
        }
    }
    assert_eq!(by_reference(&f), 0);
    let (x, u) = (wide.slice(s![..5, ..4]), Array1::<f64>::zeros(2));
    let wrong =
        |k: i64, rows: usize| f.outcome(&[x.into(), (&u).into(), k.into(), (&Array2::<f64>::zeros((rows, 4))).into()]);
    assert!(wrong(5, 3).is_err_and(|e| e.message.contains("out of bounds")) && wrong(0, 2).is_err());
}

#[test]
fn an_update_of_an_argument_goes_to_the_callers_buffer() {
    let text =
        "func @f(%x: f64[n, m], %k: i64) -> f64[n, m] {\nentry:\n  %a = update %x, 7.0, %k, at=[::2]\n  ret %a\n}";
    let x = Array2::from_shape_fn((3, 4), |(i, j)| (10 * i + j) as f64);
    let mut wanted = x.clone();
    wanted.slice_mut(s![1, ..;2]).fill(7.0);
    for backend in compiled() {
        let f = compile(text, backend);
        for _ in 0..3 {
            let mut out = Array2::<f64>::zeros((4, 3));
            f.call_into(&[(&x).into(), (-2i64).into()], &mut [(&mut out.view_mut().reversed_axes()).into()]).unwrap();
            assert_eq!(out.t(), wanted);
            assert_eq!(
                f.call(&[(&x).into(), 1i64.into()]).unwrap()[0].to_array(),
                Array::F64(wanted.clone().into_dyn().into())
            );
        }
        assert_eq!((f.stats().reference, f.reference_steps().len()), (0, 0));
    }
}

#[test]
fn one_element_is_read_at_positions() {
    let text = "func @f(%x: f64[n, m], %i: i64, %j: i32) -> f64, f64 {
entry:
  %a = gather %x, %i, %j
  %row = getitem %x, %i
  %b = take %row, %j, axis=0
  %c = mul %b, 2.0
  ret %a, %c
}";
    let f = Every::new(text).all_kernels();
    let x = Array2::from_shape_fn((3, 4), |(i, j)| (10 * i + j) as f64);
    let found = f.call(&[x.slice(s![..;-1, ..]).into(), (-1i64).into(), 2i32.into()]);
    assert_eq!(found, [Datum::Scalar(2.0.into()), Datum::Scalar(4.0.into())]);
    assert_eq!(by_reference(&f), 0);
    assert!(f.outcome(&[(&x).into(), 3i64.into(), 0i32.into()]).is_err_and(|e| e.message.contains("out of bounds")));
}
