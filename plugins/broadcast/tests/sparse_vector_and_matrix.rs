//! J27: an elementwise op of a sparse vector and a `csc` matrix stays sparse, at every dtype and extent,
//! and agrees with dense operands.

use rewright::ir::{Style, Styled};
use rewright::{Array, DType, Datum, Name, Scalar};
use rewright_broadcast::expression::{Broadcast, Expr};

/// Small numbers, two thirds of them zero.
fn numbers(dtype: DType, shape: &[usize], salt: usize) -> Array {
    let number = |n: usize| if (n * 7 + salt).is_multiple_of(3) { (n + salt) % 4 + 1 } else { 0 };
    Array::from_fn(dtype, shape, |n| Scalar::I64(number(n) as i64).cast(dtype)).unwrap()
}

fn sparse(array: &Array) -> Styled {
    let name = if array.rank() == 1 { "sparse" } else { "csc" };
    Styled::of(Style::named(Name::new(name)).unwrap(), array).unwrap()
}

fn style_of(datum: &Datum) -> String {
    datum.ty().style().map_or("dense".into(), |style| style.to_string())
}

/// Asserts that an op of sparse operands gives a `csc` matrix without stored zeros that equals the dense
/// result.
fn assert_sparse(op: &str, args: [&Array; 2]) {
    let of = |args: [Expr; 2]| Expr::apply(op, args).unwrap().materialize().unwrap();
    let found = of(args.map(|arg| sparse(arg).lazy()));
    let wanted = of(args.map(|arg| arg.lazy())).to_array();
    let (dtypes, shapes) = (args.map(Array::dtype), args.map(Array::shape));
    assert_eq!(style_of(&found), "csc", "`{op}` of {dtypes:?} {shapes:?}");
    assert_eq!(found.to_array(), wanted, "`{op}` of {dtypes:?} {shapes:?}");
    let stored = found.as_styled().unwrap().component("values").unwrap().len();
    assert_eq!(stored, wanted.iter().filter(|element| element.truthy()).count(), "`{op}` of {dtypes:?} {shapes:?}");
}

#[test]
fn all_dtypes_stay_sparse() {
    for vector in DType::ALL {
        for matrix in [vector, DType::F64, DType::I16] {
            let (u, s) = (numbers(vector, &[5], 1), numbers(matrix, &[3, 5], 2));
            for op in ["add", "mul", "ne", "maximum"] {
                let complex = vector.is_complex() && op == "maximum";
                if !complex {
                    assert_sparse(op, [&u, &s]);
                    assert_sparse(op, [&s, &u]);
                }
            }
        }
    }
}

#[test]
fn all_extents_stay_sparse() {
    let shapes: [(&[usize], &[usize]); 12] = [
        (&[0], &[2, 0]),
        (&[0], &[0, 0]),
        (&[3], &[0, 3]),
        (&[1], &[1, 1]),
        (&[1], &[4, 3]),
        (&[3], &[4, 1]),
        (&[3], &[1, 3]),
        (&[70], &[2, 70]),
        (&[1, 3], &[4, 3]),
        (&[4, 1], &[4, 3]),
        (&[4, 1], &[1, 3]),
        (&[1, 1], &[0, 3]),
    ];
    for (a, b) in shapes {
        let (a, b) = (numbers(DType::F64, a, 0), numbers(DType::F64, b, 1));
        for op in ["add", "mul", "sub"] {
            assert_sparse(op, [&a, &b]);
            assert_sparse(op, [&b, &a]);
        }
    }
}

/// The result is dense if the function maps zeros to a nonzero number, or if an operand is dense.
#[test]
fn others_are_dense() {
    let (u, s) = (numbers(DType::I64, &[5], 1), numbers(DType::I64, &[3, 5], 2));
    let both = sparse(&u).lazy() + &sparse(&s);
    let plain = u.lazy() + &s;
    let next = (&both + 1).materialize().unwrap();
    assert_eq!((style_of(&next).as_str(), next), ("dense", (&plain + 1).materialize().unwrap()));
    let with_dense = (&both + &s).materialize().unwrap();
    assert_eq!((style_of(&with_dense).as_str(), with_dense), ("dense", (&plain + &s).materialize().unwrap()));
    let vector_alone = (sparse(&u).lazy() * &s).materialize().unwrap();
    assert_eq!(style_of(&vector_alone), "dense");
    assert_eq!(both.reduce("sum").unwrap(), plain.reduce("sum").unwrap());
    assert_eq!(both.reduce_along("max", &[0]).unwrap(), plain.reduce_along("max", &[0]).unwrap());
    let error = (sparse(&numbers(DType::I64, &[4], 0)).lazy() + &sparse(&s)).materialize().unwrap_err().to_string();
    assert!(error.contains("can't broadcast operand 0, i64[4; sparse], with operand 1, i64[3, 5; csc]"), "{error}");
}
