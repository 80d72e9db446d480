//! Products of matrices by the crates `faer` and `gemm`, with a C interface.
//!
//! All matrices are contiguous and in row-major order: `z = x @ y`, where `x` is `n` by `k` and `y` is `k` by
//! `m`. One thread computes a product if `threads` is 1.

#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]

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

unsafe fn by_gemm<T: 'static>(call: Call, x: *const T, y: *const T, z: *mut T, scale: [T; 2])
where
    T: Copy,
{
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
    ($($float:ty: $faer:ident, $gemm:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $faer(
            n: usize,
            k: usize,
            m: usize,
            x: *const $float,
            y: *const $float,
            z: *mut $float,
            threads: usize,
            calls: usize,
        ) {
            unsafe { by_faer(Call { n, k, m, threads, calls }, x, y, z) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $gemm(
            n: usize,
            k: usize,
            m: usize,
            x: *const $float,
            y: *const $float,
            z: *mut $float,
            threads: usize,
            calls: usize,
        ) {
            unsafe { by_gemm(Call { n, k, m, threads, calls }, x, y, z, [0.0, 1.0]) }
        }
    )*};
}

functions! {
    f64: faer_f64, gemm_f64;
    f32: faer_f32, gemm_f32;
}
