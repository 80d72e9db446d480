//! Kernels of eager operations: one for each operation, found by structure.

use allocation_counter::measure;
use rewright::{Array, DType, Scalar};
use rewright_lazy::eager::{KernelCounts, MOST_KERNELS, kernel_counts};
use rewright_lazy::{Axes, LazyArray};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counts are those of the process, so that tests take turns.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn numbers(shape: &[usize]) -> LazyArray {
    LazyArray::of(Array::from_fn(DType::F64, shape, |i| Scalar::F64(i as f64 + 0.5)).unwrap())
}

/// Hits and compilations since.
fn since(before: KernelCounts) -> (u64, u64) {
    let now = kernel_counts();
    (now.hits - before.hits, now.compiled - before.compiled)
}

/// T87, L6: two views and an operation are one kernel and one buffer.
#[test]
fn an_outer_product_is_one_kernel_and_one_buffer() {
    let _turn = turn();
    let x = numbers(&[300]);
    let product = || &x.expand_dims(1) * &x.expand_dims(0);
    let before = kernel_counts();
    // Repeated calls, for which the replay is recorded.
    (0..3).for_each(|_| assert!(product().error().is_none()));
    assert_eq!(since(before), (2, 1));
    let after = kernel_counts();
    assert_eq!((after.launches - before.launches, after.reference), (3, before.reference));
    let counts = measure(|| assert_eq!(product().get(&[2, 4]), Some(Scalar::F64(2.5 * 4.5))));
    let elements = 300 * 300 * 8;
    assert!(counts.bytes_max < elements + elements / 100, "{counts:?}");
    assert_eq!(since(before), (3, 1));
}

/// T88, L6, L9: constructors have no buffer, neither do views.
#[test]
fn a_constructor_has_no_buffer() {
    let _turn = turn();
    let x = numbers(&[300]);
    let sum = || &x + LazyArray::iota(DType::F64, 300).expand_dims(1);
    (0..3).for_each(|_| assert!(sum().error().is_none()));
    let counts = measure(|| assert_eq!(sum().get(&[7, 2]), Some(Scalar::F64(9.5))));
    let elements = 300 * 300 * 8;
    assert!(counts.bytes_max < elements + elements / 100, "{counts:?}");
    // A sum of a constructor of 9,000,000 elements allocates the sums alone.
    let eye = LazyArray::eye(DType::F64, [3000, 3000], 0);
    let sums = || eye.sum(0);
    (0..3).for_each(|_| assert!(sums().error().is_none()));
    let counts = measure(|| assert_eq!(sums().get(&[77]), Some(Scalar::F64(1.0))));
    assert!(counts.bytes_max < 3000 * 8 + 10_000, "{counts:?}");
    assert_eq!((eye.bytes(), eye.is_forced()), (0, false));
}

/// T94: a lazy operand of two operations is read by both, and not forced.
#[test]
fn a_view_with_two_consumers_is_not_forced() {
    let _turn = turn();
    let view = numbers(&[40]).broadcast_to(&[30, 40]).flip(&[1]);
    let (a, b) = (&view + 1.0, view.sum(0));
    assert_eq!((view.is_forced(), view.bytes()), (false, 0));
    assert_eq!(a.get(&[3, 0]), Some(Scalar::F64(40.5)));
    assert_eq!(b.get(&[0]), Some(Scalar::F64(39.5 * 30.0)));
}

/// L6: each operation launches one kernel, and none runs by the reference meaning of its op.
#[test]
fn each_operation_is_one_kernel() {
    let _turn = turn();
    let x = numbers(&[6, 5]);
    let eye = LazyArray::eye(DType::F64, [6, 5], 1);
    let iota = LazyArray::iota(DType::I32, 5).broadcast_to(&[6, 5]);
    let tri = LazyArray::tri(DType::Bool, [6, 5], -1).flip(&[0]);
    let views = [x.flip(&[1]), x.t().t(), x.index(1, 0).broadcast_to(&[3, 6]).t().slice(&[])];
    let mut all: Vec<Box<dyn Fn() -> LazyArray>> = Vec::new();
    for operand in [&x, &eye, &iota, &tri, &views[0], &views[1]].map(LazyArray::clone) {
        let (other, a, b, c, d) = (x.clone(), operand.clone(), operand.clone(), operand.clone(), operand.clone());
        all.push(Box::new(move || &a + &other));
        all.push(Box::new(move || tri_where(&b)));
        all.push(Box::new(move || c.sum(0)));
        all.push(Box::new(move || d.max(Axes::from(1).kept())));
        let (turned, a, b, c) = (x.t(), operand.clone(), operand.clone(), operand.clone());
        all.push(Box::new(move || a.matmul(&turned)));
        all.push(Box::new(move || b.sum(..)));
        all.push(Box::new(move || c.mean(1)));
        let a = operand.clone();
        all.push(Box::new(move || a.cast(DType::F32).exp()));
    }
    for (n, operation) in all.iter().enumerate() {
        let before = kernel_counts();
        let result = operation();
        let after = kernel_counts();
        let launched = after.launches - before.launches;
        let operations = (after.hits + after.compiled) - (before.hits + before.compiled);
        assert!(result.error().is_none(), "{n}: {result:?}");
        assert_eq!((launched, after.reference - before.reference), (operations, 0), "operation {n}");
    }
}

fn tri_where(x: &LazyArray) -> LazyArray {
    let mask = LazyArray::tri(DType::Bool, [6, 5], 0);
    mask.where_(x, 0)
}

/// L7, T91: a result has its elements, and forcing a view of it makes them once.
#[test]
fn a_result_is_forced_once() {
    let _turn = turn();
    let y = &numbers(&[100]) + 1.0;
    let counts = measure(|| assert!(y.force().is_ok()));
    assert_eq!(counts.bytes_total, 0);
    let view = y.broadcast_to(&[50, 100]);
    let first = view.force().unwrap().view().to_array();
    let counts = measure(|| assert!(view.force().is_ok()));
    assert!(counts.bytes_total < 1000, "{counts:?}");
    assert_eq!(&first, view.clone().force().unwrap());
}

/// No extent, number or stride is part of the structure.
#[test]
fn another_shape_is_no_compilation() {
    let _turn = turn();
    let outer = |n: usize, m: usize, scale: f64| {
        let (x, y) = (numbers(&[n]), numbers(&[m]));
        let table = (&x.expand_dims(1) - &y) * scale;
        let turned = table.t() + LazyArray::iota(DType::F64, n as u64);
        let product = table.matmul(&turned);
        let mean = product.mean(0) + product.sum(..);
        assert!(mean.error().is_none(), "{mean:?}");
    };
    outer(5, 7, 0.5);
    let before = kernel_counts();
    for (n, m) in [(2, 3), (9, 9), (100, 3), (3, 64)] {
        outer(n, m, n as f64);
    }
    assert_eq!(since(before).1, 0);
    // Views that differ in steps alone, and offsets of constructors.
    let x = numbers(&[6, 6]);
    let forms = |x: &LazyArray| [x.clone(), x.t(), x.flip(&[0]), x.flip(&[0, 1]), x.index(0, 2).broadcast_to(&[6, 6])];
    let eyes = [-1, 0, 3].map(|offset| LazyArray::eye(DType::F64, [6, 6], offset));
    let first = &x + &eyes[0];
    assert!(first.error().is_none() && (&x - &x).error().is_none());
    let before = kernel_counts();
    for form in forms(&x) {
        assert!((&form - &x).error().is_none());
        assert!(eyes.iter().all(|eye| (&form + eye).error().is_none()));
    }
    assert_eq!(since(before), (20, 0));
    // An extent of 1 is stretched, which is another kernel.
    let before = kernel_counts();
    assert!((&numbers(&[6, 1]) - &x).error().is_none());
    assert_eq!(since(before), (0, 1));
}

#[test]
fn threads_share_compiled_kernels() {
    let _turn = turn();
    // Another test may have compiled the cast.
    assert!(numbers(&[2]).cast(DType::F32).error().is_none());
    let before = kernel_counts();
    std::thread::scope(|scope| {
        for n in 0..8 {
            scope.spawn(move || {
                let x = numbers(&[n + 2]).cast(DType::F32);
                for _ in 0..50 {
                    let y = x.copysign(&x).fmod(0.75);
                    assert_eq!(y.get(&[1]), Some(Scalar::F32(0.0)));
                }
            });
        }
    });
    let (hits, compiled) = since(before);
    assert_eq!(compiled, 2, "`copysign` and `fmod`");
    assert_eq!(hits, 8 + 2 * 8 * 50 - 2);
}

/// The table of kernels is bounded, and a kernel in use stays.
#[test]
fn kernels_that_are_not_used_leave() {
    let _turn = turn();
    let x = numbers(&[4]);
    let used = |x: &LazyArray| assert!(x.fmax(x).error().is_none());
    used(&x);
    let table = numbers(&[2, 3, 4]);
    // Attributes are part of the structure.
    let power = |n: i64| {
        let attrs = rewright::Attrs::new().with("n", rewright::Attr::Int(n));
        LazyArray::apply_with("integer_power", [&table], &attrs).unwrap();
    };
    let before = kernel_counts();
    let many = MOST_KERNELS as i64 + 20;
    for n in 0..many {
        power(n);
        used(&x);
    }
    assert_eq!(since(before), (many as u64, many as u64), "`fmax` stays");
    assert_eq!(kernel_counts().kept, MOST_KERNELS);
    let before = kernel_counts();
    power(many - 1);
    power(0);
    assert_eq!(since(before), (1, 1), "the first one left");
}
