//! Products of matrices by the crates `faer` and `gemm`, with a C interface.
//!
//! All matrices are contiguous and in row-major order: `z = x @ y`, where `x` is `n` by `k` and `y` is `k` by
//! `m`. One thread computes a product if `threads` is 1.

#![allow(clippy::missing_safety_doc, reason = "the matrices are as the crate's documentation says")]
#![allow(clippy::too_many_arguments, reason = "a C interface")]

use faer::linalg::matmul::matmul;
use faer::traits::ComplexField;
use faer::{Accum, MatMut, MatRef, Par};

/// The extents, the number of threads and the number of calls.
#[derive(Clone, Copy)]
struct Call {
    n: usize,
    k: usize,
    m: usize,
    threads: usize,
    calls: usize,
}

unsafe fn by_faer<T: ComplexField>(call: Call, x: *const T, y: *const T, z: *mut T) {
    let Call { n, k, m, threads, calls } = call;
    let par = if threads == 1 { Par::Seq } else { Par::rayon(threads) };
    for _ in 0..calls {
        // SAFETY: the caller passes contiguous matrices of these extents.
        let (x, y, z) = unsafe {
            (
                MatRef::from_raw_parts(x, n, k, k as isize, 1),
                MatRef::from_raw_parts(y, k, m, m as isize, 1),
                MatMut::from_raw_parts_mut(z, n, m, m as isize, 1),
            )
        };
        matmul(z, Accum::Replace, x, y, T::one_impl(), par);
    }
}

unsafe fn by_gemm<T: Copy + 'static>(call: Call, x: *const T, y: *const T, z: *mut T, scale: [T; 2]) {
    let Call { n, k, m, threads, calls } = call;
    let par = if threads == 1 { gemm::Parallelism::None } else { gemm::Parallelism::Rayon(threads) };
    let (k_step, m_step) = (k as isize, m as isize);
    let [zero, one] = scale;
    for _ in 0..calls {
        // SAFETY: the caller passes contiguous matrices of these extents.
        unsafe {
            gemm::gemm(n, m, k, z, 1, m_step, false, x, 1, k_step, y, 1, m_step, zero, one, false, false, false, par);
        }
    }
}

macro_rules! functions {
    ($($name:ident: $float:ty = $product:ident($($more:expr),*);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            n: usize,
            k: usize,
            m: usize,
            x: *const $float,
            y: *const $float,
            z: *mut $float,
            threads: usize,
            calls: usize,
        ) {
            // SAFETY: passed on to the caller.
            unsafe { $product(Call { n, k, m, threads, calls }, x, y, z $(, $more)*) }
        }
    )*};
}

functions! {
    faer_f64: f64 = by_faer();
    faer_f32: f32 = by_faer();
    gemm_f64: f64 = by_gemm([0.0, 1.0]);
    gemm_f32: f32 = by_gemm([0.0, 1.0]);
}
