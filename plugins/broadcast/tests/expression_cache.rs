//! Expressions of equal structure are compiled once. The test reads a counter of the whole process, so it
//! is alone in its file.

use rewright::{Array, Scalar};
use rewright_broadcast::expression::{Assign, Broadcast, Expr, compiled_programs};

fn count(shape: &[usize]) -> Array {
    Array::from_fn(rewright::DType::F64, shape, |i| Scalar::F64(i as f64)).unwrap()
}

#[test]
fn expressions_of_one_kind_are_compiled_once() {
    let compiles = |expr: Expr| {
        let before = compiled_programs();
        expr.materialize().unwrap();
        compiled_programs() - before
    };
    let sum = |n, m| count(&[n, m]).lazy() * 2.0 + &count(&[m]);
    assert_eq!(compiles(sum(2, 3)), 1);
    // The program does not depend on extents.
    assert_eq!(compiles(sum(2, 3)), 0);
    assert_eq!(compiles(sum(0, 7)), 0);
    // These differ: equal extents, an extent of 1, other functions, literals and dtypes.
    assert_eq!(compiles(sum(3, 3)), 1);
    assert_eq!(compiles(sum(1, 3)), 1);
    assert_eq!(compiles(count(&[2, 3]).lazy() * 2.0 - &count(&[3])), 1);
    assert_eq!(compiles(count(&[2, 3]).lazy() * 2 + &count(&[3])), 1);
    assert_eq!(compiles(count(&[2, 3]).lazy() * 3.0 + &count(&[3])), 1);
    // Scalars are run-time arguments. An array that occurs twice is one operand.
    let x = count(&[4]);
    let scaled = |s: f64| x.lazy() * Scalar::F64(s);
    assert_eq!((compiles(scaled(2.0)), compiles(scaled(3.0))), (1, 0));
    assert_eq!((compiles(x.lazy() + &x), compiles(x.lazy() + &count(&[4])), compiles(x.lazy() + &x)), (1, 1, 0));
    // A program with a destination is another program.
    let mut y = count(&[4]);
    let before = compiled_programs();
    y.assign(x.lazy() + 1.0).unwrap();
    y.assign(y.lazy() + 1.0).unwrap();
    y.assign(count(&[4]).lazy() + 1.0).unwrap();
    assert_eq!(compiled_programs() - before, 2);
    // Errors are not cached. The cache is bounded: the least recently used program leaves.
    assert_eq!(compiles(scaled(2.0)), 0);
    assert!((x.lazy() + &count(&[3])).materialize().is_err());
    let before = compiled_programs();
    (0..300).for_each(|n| drop((x.lazy() + f64::from(n)).materialize().unwrap()));
    assert_eq!(compiled_programs() - before, 300);
    assert_eq!((compiles(x.lazy() + 299.0), compiles(scaled(2.0))), (0, 1));
}
