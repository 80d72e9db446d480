//! Ops that copy elements and compute nothing: arrays that are put together, and elements read at positions that are found in arrays. They have kernels or
//! steps of their own, for any strides and dtypes, or a remark.

use crate::support::arrays::array;
use crate::support::every::{Every, compile};
use ndarray::{Array1, Array2, Axis, s};
use rewright_ir::{Array, DType, Scalar};
use rewright_lowering::exec::{Backend, Instead};

/// Views of any strides, no elements, scalars; and what does not fit is an error.
#[test]
fn arrays_are_put_together_without_the_reference_meaning() {
    let concat = "func @f(%a: f64[n, m], %b: f64[k, m]) -> f64[?, m] {
entry:
  %0 = transpose %a, perm=[1, 0]
  %1 = transpose %0, perm=[1, 0]
  %2 = concat %1, %b, %a, axis=-2
  ret %2
}";
    let f = Every::new(concat).all_kernels();
    let a = Array2::from_shape_fn((4, 6), |(i, j)| (i * 10 + j) as f64);
    let b = Array2::from_shape_fn((2, 3), |(i, j)| (i + j) as f64 - 2.0);
    let found = f.call(&[a.slice(s![..;-1, ..;2]).into(), (&b).into()]);
    let own = a.slice(s![..;-1, ..;2]);
    let wanted = ndarray::concatenate![Axis(0), own, b, own];
    assert_eq!(array(&found[0]), &wanted.clone().into_dyn());
    assert!(f.0[1..].iter().all(|f| f.stats().reference == 0));
    f.call(&[a.slice(s![..0, ..3]).into(), (&b).into()]);
    let wrong = f.outcome(&[(&a).into(), (&b).into()]);
    assert!(wrong.is_err(), "{wrong:?}");

    let into = compile(concat, Backend::Auto);
    let mut out = Array2::from_elem((3, 10), 9.0);
    into.call_into(&[own.into(), (&b).into()], &mut [(&mut out.view_mut().reversed_axes()).into()]).unwrap();
    assert_eq!(out.t(), wanted);

    let stack = "func @f(%x: f64[n], %y: f64[n], %s: i64) -> f64[n, 2], f64[3] {
entry:
  %0 = stack %x, %y, axis=1
  %1 = stack %s, 0.5, %s, axis=-1
  ret %0, %1
}";
    let f = Every::new(stack).all_kernels();
    let (x, y) = (Array1::from_iter((0..5).map(f64::from)), Array1::from_iter((0..5).map(|i| -f64::from(i))));
    let found = f.call(&[(&x).into(), (&y).into(), 7i64.into()]);
    let pairs = Array2::from_shape_fn((5, 2), |(i, j)| if j == 0 { i as f64 } else { -(i as f64) });
    assert_eq!(array(&found[0]), &pairs.into_dyn());
    assert_eq!(array(&found[1]), &Array1::from(vec![7.0, 0.5, 7.0]).into_dyn());
    let wrong = f.outcome(&[(&x).into(), y.slice(s![..4]).into(), 7i64.into()]);
    assert!(wrong.is_err(), "{wrong:?}");
}

/// Arrays of any strides, positions that broadcast, count from the end or come in no number at all; and what is out of bounds is an error.
#[test]
fn places_are_read_without_the_reference_meaning() {
    let text = "func @f(%x: f64[n, m, k], %i: i32[a, 1], %j: i64[b], %t: u8[c, d], %m: bool[n, m]) -> f64[a, b, k], f64[n, c, d, k], f64[?, k], f64[b, m, k] {
entry:
  %0 = gather %x, %i, %j
  %1 = take %x, %t, axis=-2
  %2 = compress %x, %m
  %3 = gather %x, %j
  ret %0, %1, %2, %3
}";
    let f = Every::new(text).all_kernels();
    let x = ndarray::Array3::from_shape_fn((4, 6, 10), |(i, j, k)| (i * 100 + j * 10 + k) as f64);
    let i = Array2::from_shape_fn((3, 1), |(a, _)| a as i32 - 2);
    let j = Array1::from(vec![0i64, -1, 1, 1, -2]);
    let t = Array2::from_shape_fn((2, 2), |(c, d)| (c + 2 * d) as u8);
    let mask = Array2::from_shape_fn((4, 5), |(a, b)| (a * b) % 3 == 1);
    let views = [x.slice(s![.., ..5, ..3]), x.slice(s![..;-1, 1.., ..;2]).slice_move(s![.., ..;-1, ..])];
    for x in &views {
        let found = f.call(&[x.into(), (&i).into(), j.view().into(), (&t).into(), (&mask).into()]);
        let x = x.to_owned();
        let wrap = |at: i64, extent: usize| if at < 0 { (at + extent as i64) as usize } else { at as usize };
        let gathered = ndarray::Array3::from_shape_fn((3, 5, x.dim().2), |(a, b, k)| {
            x[[wrap(i[[a, 0]].into(), 4), wrap(j[b], 5), k]]
        });
        assert_eq!(array(&found[0]), &gathered.into_dyn());
        let taken = ndarray::Array4::from_shape_fn((4, 2, 2, x.dim().2), |(n, c, d, k)| x[[n, t[[c, d]] as usize, k]]);
        assert_eq!(array(&found[1]), &taken.into_dyn());
        let rows: Vec<f64> = mask
            .indexed_iter()
            .filter(|(_, yes)| **yes)
            .flat_map(|((a, b), _)| x.slice(s![a, b, ..]).to_vec())
            .collect();
        assert_eq!(array(&found[2]).iter().copied().collect::<Vec<f64>>(), rows);
        assert!(f.0[1..].iter().all(|f| f.stats().reference == 0));
    }
    let call = |i: &Array2<i32>, t: &Array2<u8>| {
        f.outcome(&[(&views[0]).into(), i.into(), (&j).into(), t.into(), (&mask).into()])
    };
    call(&Array2::zeros((0, 1)), &t).unwrap();
    assert!(
        call(&i.mapv(|i| i + 4), &t).is_err_and(|e| e.to_string().contains("position 4 is out of bounds along axis 0"))
    );
    assert!(
        call(&i, &t.mapv(|t| t + 2)).is_err_and(|e| e.to_string().contains("position 5 is out of bounds along axis 1"))
    );
    assert!(call(&i.mapv(|i| i - 3), &t).is_err());
}

#[test]
fn what_is_read_at_positions_goes_to_any_strides() {
    let text = "func @f(%x: f64[n, m], %i: i64[k]) -> f64[k, m] {
entry:
  %0 = take %x, %i, axis=0
  ret %0
}";
    let x = Array2::from_shape_fn((9, 7), |(i, j)| (10 * i + j) as f64);
    let at = Array1::from_vec(vec![8i64, 0, -2, 3]);
    let want = Array2::from_shape_fn((4, 7), |(i, j)| x[[at[i].rem_euclid(9) as usize, j]]);
    for backend in Backend::available() {
        let f = compile(text, backend);
        for _ in 0..3 {
            let mut wide = Array2::from_elem((9, 15), -1.0);
            let part = wide.slice_mut(ndarray::s![..;-2, 1..;2]);
            let part = part.split_at(Axis(0), 4).0;
            f.call_into(&[(&x).into(), (&at).into()], &mut [part.into()]).unwrap();
            assert_eq!(wide.slice(ndarray::s![2..;-2, 1..;2]), want, "{backend:?}");
            assert!(wide.slice(ndarray::s![.., ..;2]).iter().all(|&v| v == -1.0), "{backend:?}");
        }
    }
}

#[test]
fn casts_that_no_kernel_does_are_told() {
    let text = |i: &str| {
        format!(
            "func @f(%x: f64[n], %i: {i}[n]) -> f64[?], f64[2, n], f64[n] {{
entry:
  %0 = concat %x, %i, axis=0
  %1 = stack %x, %i, axis=0
  %2 = mul %x, 2.0
  %3 = update %2, %i
  ret %0, %1, %3
}}"
        )
    };
    let (x, i) = (Array1::from_iter((0..9).map(f64::from)), Array1::from_iter((0..9i32).map(|i| i * i)));
    for backend in Backend::available().filter(|&b| b != Backend::Reference) {
        let f = compile(&text("i32"), backend);
        let told: Vec<_> = f.remarks().iter().map(|remark| (remark.op.name, remark.instead)).collect();
        assert_eq!(told, ["concat", "stack", "update"].map(|op| (op, Instead::Reference)), "{backend:?}");
        let results = f.call(&[(&x).into(), (&i).into()]).unwrap();
        assert_eq!(array(&results[2]), &i.mapv(f64::from).into_dyn());
        assert_eq!(array(&results[0]).sum(), 36.0 + 204.0);
        assert!(compile(&text("f64"), backend).remarks().is_empty(), "{backend:?}");
    }
}

/// Results larger than the caches, at addresses that are not aligned to cache lines: rows of an odd number of
/// elements, in a buffer with a border.
#[test]
fn rows_larger_than_the_caches_are_gathered() {
    let copied = "func @f(%x: f64[n, m], %p: i64[k]) -> f64[k, m] {\nentry:\n  %r = take %x, %p, axis=0\n  ret %r\n}";
    let fused = "func @f(%x: f64[n, m], %p: i64[k]) -> f64[k, m] {
entry:
  %r = arrayexpr [i: k, j: m] (x = %x[gather(%p[i]), j]) {
    yield x
  } : f64[k, m]
  ret %r
}";
    let (rows, width) = (4096, 769);
    let x = Array2::from_shape_fn((rows, width), |(i, j)| (i * 1000 + j) as f64);
    let p = Array1::from_iter((0..rows as i64).map(|i| (i * 1237) % rows as i64 - (i % 2) * rows as i64));
    for text in [copied, fused] {
        let f = compile(text, Backend::Auto);
        let mut whole = Array2::from_elem((rows + 2, width + 4), -1.0);
        for _ in 0..3 {
            let own = whole.slice_mut(s![1..=rows, 3..width + 3]);
            f.call_into(&[(&x).into(), (&p).into()], &mut [own.into()]).unwrap();
        }
        let found = whole.slice(s![1..=rows, 3..width + 3]);
        for (row, &at) in found.rows().into_iter().zip(&p) {
            assert_eq!(row, x.row(at.rem_euclid(rows as i64) as usize));
        }
        let border = whole.iter().filter(|&&element| element == -1.0).count();
        assert_eq!(border, whole.len() - rows * width);
        assert_eq!(f.stats().reference, 0);
    }
}

/// Rows of all sizes that are copied in another way, for positions of every dtype in blocks, along any axis; and
/// positions out of bounds in each of these, also where nothing is copied.
#[test]
fn rows_of_all_sizes_are_taken() {
    let dtypes = [DType::Bool, DType::U8, DType::I16, DType::F32, DType::F64, DType::C128];
    let integers: Vec<DType> = DType::ALL.into_iter().filter(|dtype| dtype.is_int()).collect();
    let lengths = (0..=17).chain([20, 31, 32, 33, 63, 64, 65, 100]);
    for (n, m) in lengths.enumerate() {
        let (dtype, of) = (dtypes[n % dtypes.len()], integers[n % integers.len()]);
        for dtype in if m < 18 { dtypes.to_vec() } else { vec![dtype] } {
            let f = Every::new(&format!(
                "func @f(%x: {dtype}[n, m], %t: {dtype}[m, n], %i: {of}[k], %j: {of}[l, k]) -> {dtype}[k, m], \
                 {dtype}[m, k], {dtype}[l, k, m] {{
entry:
  %0 = take %x, %i, axis=0
  %1 = take %t, %i, axis=1
  %2 = gather %x, %j
  ret %0, %1, %2
}}"
            ));
            for count in [0, 1, 5, 255, 256, 257, 700] {
                let x = Array::from_fn(dtype, &[7, m], |at| Scalar::F64((at * 37 % 251) as f64).cast(dtype)).unwrap();
                let t = Array::from_fn(dtype, &[m, 7], |at| Scalar::F64((at * 11 % 13) as f64).cast(dtype)).unwrap();
                let least = if of.is_signed() { -7 } else { 0 };
                let place = |at: usize| Scalar::I64((at as i64 * 5) % (7 - least) + least).cast(of);
                let i = Array::from_fn(of, &[count], place).unwrap();
                let j = Array::from_fn(of, &[2, count], |at| place(at + 3)).unwrap();
                let call = |i: &Array, j: &Array| f.outcome(&[(&x).into(), (&t).into(), i.into(), j.into()]);
                call(&i, &j).unwrap();
                for wrong in [0, count / 2, count.saturating_sub(1)] {
                    let off = |at: usize| if at == wrong { Scalar::I64(7).cast(of) } else { place(at) };
                    let found = call(&Array::from_fn(of, &[count], off).unwrap(), &j);
                    assert_eq!(found.is_err(), count > 0, "{dtype} {of}: {count} rows of {m}");
                    call(&i, &Array::from_fn(of, &[2, count], off).unwrap()).ok();
                }
            }
        }
    }
}
