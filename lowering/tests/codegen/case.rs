//! One call of a kernel, run by two code generators and compared byte by byte.

use crate::arena::Arena;
use rewright_ir::{DType, Scalar};
use rewright_lowering::internals::kernel::{CompiledKernel, Kernel, KernelArgs, Status};

/// Where a buffer's elements are: strides in bytes, and whether it touches the end of its memory or the start.
#[derive(Clone, Debug)]
pub struct Layout {
    pub strides: Vec<i64>,
    pub at_end: bool,
    /// Distance from the end of the memory.
    pub gap: usize,
}

impl Layout {
    /// Row-major without gaps; axes along which the buffer doesn't vary have stride 0.
    pub fn dense(kernel: &Kernel, buffer: usize, extents: &[u64]) -> Self {
        let b = &kernel.buffers[buffer];
        let mut strides = vec![0; kernel.axes];
        let mut next = b.dtype.size() as i64;
        for axis in (0..kernel.axes).rev().filter(|&a| b.varies[a]) {
            strides[axis] = next;
            next *= extents[axis].max(1) as i64;
        }
        Layout { strides, at_end: true, gap: 0 }
    }
}

/// What a kernel is called with.
#[derive(Clone, Debug)]
pub struct Call {
    pub extents: Vec<u64>,
    pub layouts: Vec<Layout>,
    pub params: Vec<u64>,
    pub seed: u64,
}

/// All that can be seen of a run.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub failed: u64,
    pub error: Option<String>,
    pub memory: Vec<Vec<u8>>,
}

/// Every dtype but the complex ones.
pub const REAL: [DType; 11] = [
    DType::Bool,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F32,
    DType::F64,
];

/// Random numbers, the same for the same seed.
#[derive(Clone)]
pub struct Random(fastrand::Rng);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(fastrand::Rng::with_seed(seed))
    }
    pub fn next(&mut self) -> u64 {
        self.0.u64(..)
    }
    pub fn below(&mut self, n: usize) -> usize {
        self.0.usize(..n.max(1))
    }
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Values where operations change their ways.
pub fn special(dtype: DType) -> Vec<Scalar> {
    let ints = [
        0i64, 1, 2, 3, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 256, 32767, 32768, 65535,
        65536,
    ];
    let big = [
        i32::MAX as i64,
        1 << 31,
        u32::MAX as i64,
        1 << 32,
        1 << 53,
        (1 << 53) + 1,
        i64::MAX,
        i64::MAX - 512,
        i64::MIN,
        i64::MIN + 1,
    ];
    let mut all: Vec<Scalar> =
        ints.iter().chain(&big).flat_map(|&i| [i, i.wrapping_neg()]).map(|i| Scalar::I64(i).cast(dtype)).collect();
    if dtype.is_float() {
        let floats = [
            0.0f64,
            0.1,
            0.49999999999999994,
            0.5,
            0.75,
            1.5,
            2.5,
            3.5,
            1e-310,
            1e-40,
            1e-45,
            5e-324,
            1e10,
            1e20,
            1e38,
            3.4e38,
            1e39,
            1e300,
            f64::MAX,
            f64::MIN_POSITIVE,
            f64::INFINITY,
            f64::NAN,
            127.5,
            254.9,
            255.5,
            32767.5,
            65535.5,
            2147483647.5,
            2147483583.0,
            4294967295.5,
            4294967040.0,
            9223372036854775807.0,
            9223371487098961920.0,
            18446744073709551615.0,
            18446744073709549568.0,
            4503599627370495.5,
            8388607.5,
        ];
        all.extend(floats.iter().flat_map(|&x| [x, -x]).map(|x| Scalar::F64(x).cast(dtype)));
    }
    all.sort_by_key(|s| s.bits());
    all.dedup();
    all
}

/// An element, special or any.
pub fn element(dtype: DType, random: &mut Random) -> Scalar {
    if random.chance(60) {
        let pool = special(dtype);
        return random.pick(&pool);
    }
    match dtype {
        DType::F32 | DType::F64 => {
            Scalar::F64((random.next() as i64 as f64) / 2f64.powi(random.below(64) as i32)).cast(dtype)
        }
        _ => Scalar::from_bits(dtype, (random.next() & mask(dtype), 0)),
    }
}

fn mask(dtype: DType) -> u64 {
    if dtype.size() >= 8 { u64::MAX } else { (1 << (dtype.size() * 8)) - 1 }
}

/// Runs a call.
pub fn run(kernel: &Kernel, code: &dyn CompiledKernel, call: &Call) -> Outcome {
    let mut random = Random::new(call.seed);
    let mut arenas: Vec<Arena> = Vec::new();
    let mut pointers = Vec::new();
    let mut touched: Vec<Vec<usize>> = Vec::new();
    for (n, layout) in call.layouts.iter().enumerate() {
        let buffer = &kernel.buffers[n];
        let (low, high) = reach(layout, &call.extents);
        let size = (high - low) as usize + buffer.dtype.size();
        let mut arena = Arena::new(size + layout.gap);
        let len = arena.bytes().len();
        let start = if layout.at_end { len - size - layout.gap } else { layout.gap };
        let origin = (start as i64 - low) as usize;
        arena.bytes().fill(0xA5);
        let mut offsets: Vec<usize> =
            points(&call.extents).map(|p| (origin as i64 + dot(&p, &layout.strides)) as usize).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let real = buffer.dtype.real();
        for &offset in &offsets {
            for part in 0..buffer.dtype.size() / real.size() {
                let (bits, _) = element(real, &mut random).bits();
                let at = offset + part * real.size();
                arena.bytes()[at..at + real.size()].copy_from_slice(&bits.to_le_bytes()[..real.size()]);
            }
        }
        pointers.push(unsafe { arena.bytes().as_mut_ptr().add(origin) });
        touched.push(offsets);
        arenas.push(arena);
    }
    let strides: Vec<i64> = call.layouts.iter().flat_map(|l| l.strides.iter().copied()).collect();
    let before: Vec<Vec<u8>> = arenas.iter_mut().map(|a| a.bytes().to_vec()).collect();
    let mut status = Status::default();
    let args = KernelArgs {
        extents: call.extents.as_ptr(),
        pointers: pointers.as_ptr(),
        strides: strides.as_ptr(),
        params: call.params.as_ptr(),
        status: &mut status,
    };
    // SAFETY: every element exists, in memory of its own.
    unsafe { code.call(&args) };
    let mut memory = Vec::new();
    for (n, arena) in arenas.iter_mut().enumerate() {
        let (dtype, size) = (kernel.buffers[n].dtype.real(), kernel.buffers[n].dtype.size());
        let mut now = arena.bytes().to_vec();
        let mut elsewhere = vec![true; now.len()];
        for &offset in &touched[n] {
            elsewhere[offset..offset + size].fill(false);
            for part in now[offset..offset + size].chunks_mut(dtype.size()) {
                canonical(dtype, part);
            }
        }
        let stray = (0..now.len()).find(|&i| now[i] != before[n][i] && (elsewhere[i] || !kernel.buffers[n].written));
        let nan_only = |i: usize| kernel.buffers[n].dtype.real().is_float() && !elsewhere[i];
        assert!(stray.is_none_or(nan_only), "buffer {n}: a stray write at {stray:?}");
        memory.push(now);
    }
    Outcome { failed: status.failed, error: status.error.map(|e| e.to_string()), memory }
}

/// One NaN for all.
fn canonical(dtype: DType, bytes: &mut [u8]) {
    match dtype {
        DType::F32 if f32::from_le_bytes(bytes.try_into().unwrap()).is_nan() => {
            bytes.copy_from_slice(&f32::NAN.to_le_bytes())
        }
        DType::F64 if f64::from_le_bytes(bytes.try_into().unwrap()).is_nan() => {
            bytes.copy_from_slice(&f64::NAN.to_le_bytes())
        }
        _ => {}
    }
}

fn reach(layout: &Layout, extents: &[u64]) -> (i64, i64) {
    let ends = layout.strides.iter().zip(extents).map(|(&s, &n)| s * (n as i64 - 1).max(0));
    ends.fold((0, 0), |(low, high), end| (low + end.min(0), high + end.max(0)))
}

fn dot(point: &[u64], strides: &[i64]) -> i64 {
    point.iter().zip(strides).map(|(&i, &s)| i as i64 * s).sum()
}

/// All points, the last index fastest.
fn points(extents: &[u64]) -> impl Iterator<Item = Vec<u64>> + '_ {
    let count: u64 = extents.iter().product();
    (0..count).map(move |mut n| {
        let mut point = vec![0; extents.len()];
        for (i, &extent) in extents.iter().enumerate().rev() {
            point[i] = n % extent;
            n /= extent;
        }
        point
    })
}
