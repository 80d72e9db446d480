//! Functions for operations without vector instructions: scalar functions, and loops over the lanes around
//! them.

use crate::kernel::{Binary, MathPtr, Unary};
use rewright_ir::DType;

/// Computes `count` lanes. `site` is the address of the scalar function, or unused; operand `n` is
/// `n * STRIDE` bytes from `args` on.
///
/// # Safety
/// Operands and results have `count` elements of the dtypes of the function.
pub type Helper = unsafe extern "sysv64" fn(site: usize, args: *const u8, results: *mut u8, count: u64);

/// The distance between operands, in bytes.
pub const STRIDE: usize = 64;
/// The most operands.
pub const MOST: usize = 2;

unsafe fn one<A: Copy, R>(args: *const u8, results: *mut u8, count: u64, f: impl Fn(A) -> R) {
    for lane in 0..count as usize {
        // SAFETY: the caller promises `count` operands and results; the accesses need no alignment.
        unsafe { results.cast::<R>().add(lane).write_unaligned(f(args.cast::<A>().add(lane).read_unaligned())) };
    }
}

unsafe fn two<A: Copy, R>(args: *const u8, results: *mut u8, count: u64, f: impl Fn(A, A) -> R) {
    for lane in 0..count as usize {
        // SAFETY: the caller promises `count` operands, the second ones `STRIDE` bytes further on, and
        // results; the accesses need no alignment.
        unsafe {
            let a = args.cast::<A>().add(lane).read_unaligned();
            let b = args.add(STRIDE).cast::<A>().add(lane).read_unaligned();
            results.cast::<R>().add(lane).write_unaligned(f(a, b));
        }
    }
}

macro_rules! math {
    ($($name:ident: $which:ident($($arg:ident),*) $ty:ty;)*) => {$(
        unsafe extern "sysv64" fn $name(site: usize, args: *const u8, results: *mut u8, count: u64) {
            // SAFETY: the site is the address of a function of this type.
            let f = unsafe { std::mem::transmute::<usize, extern "C" fn($($arg: $ty),*) -> $ty>(site) };
            // SAFETY: the caller's promises are those of `one` or `two`.
            unsafe { $which(args, results, count, |$($arg: $ty),*| f($($arg),*)) }
        }
    )*};
}
math! {
    math_f64x1: one(x) f64;
    math_f64x2: two(x, y) f64;
    math_f32x1: one(x) f32;
    math_f32x2: two(x, y) f32;
}

/// The helper that calls a function, and the function's address.
pub fn math(ptr: MathPtr) -> (Helper, usize) {
    match ptr {
        MathPtr::F64x1(f) => (math_f64x1, f as usize),
        MathPtr::F64x2(f) => (math_f64x2, f as usize),
        MathPtr::F32x1(f) => (math_f32x1, f as usize),
        MathPtr::F32x2(f) => (math_f32x2, f as usize),
    }
}

macro_rules! helper {
    ($which:ident, |$($arg:ident: $ty:ty),*| $value:expr) => {{
        unsafe extern "sysv64" fn helper(_: usize, args: *const u8, results: *mut u8, count: u64) {
            // SAFETY: the caller's promises are those of `one` or `two`.
            unsafe { $which(args, results, count, |$($arg: $ty),*| $value) }
        }
        Some(helper as Helper)
    }};
}

macro_rules! by_dtype {
    ($dtype:expr, $($variant:ident $ty:ident)*; |$t:ident| $value:expr) => {
        match $dtype {
            $(DType::$variant => {
                type $t = $ty;
                $value
            })*
            _ => None,
        }
    };
}

macro_rules! by_int {
    ($dtype:expr; |$t:ident| $value:expr) => {
        by_dtype!($dtype, I8 i8 I16 i16 I32 i32 I64 i64 U8 u8 U16 u16 U32 u32 U64 u64; |$t| $value)
    };
}

/// Integer division. Division by 0 gives 0 and overflow wraps, where the machine instruction traps.
pub fn binary(op: Binary, dtype: DType) -> Option<Helper> {
    match op {
        Binary::Quot => by_int!(dtype; |T| helper!(two, |x: T, y: T| if y == 0 { 0 } else { x.wrapping_div(y) })),
        Binary::Rem => by_int!(dtype; |T| helper!(two, |x: T, y: T| if y == 0 { 0 } else { x.wrapping_rem(y) })),
        _ => None,
    }
}

/// Bit counts.
pub fn unary(op: Unary, dtype: DType) -> Option<Helper> {
    match op {
        Unary::PopCount => by_int!(dtype; |T| helper!(one, |x: T| x.count_ones() as T)),
        Unary::LeadingZeros => by_int!(dtype; |T| helper!(one, |x: T| x.leading_zeros() as T)),
        _ => None,
    }
}

/// Conversions between floats and wide integers. `as` saturates, converts NaN to 0, and rounds to nearest.
pub fn convert(from: DType, to: DType) -> Option<Helper> {
    macro_rules! to {
        ($from:ident) => {
            by_dtype!(to, U32 u32 I64 i64 U64 u64 F32 f32 F64 f64; |T| helper!(one, |x: $from| x as T))
        };
    }
    match from {
        DType::U32 => to!(u32),
        DType::I64 => to!(i64),
        DType::U64 => to!(u64),
        DType::F32 => to!(f32),
        DType::F64 => to!(f64),
        _ => None,
    }
}
