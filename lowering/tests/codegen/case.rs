//! One call of a kernel, run by two code generators and compared byte by byte.

use super::arena::Arena;
use rewright_ir::{DType, Scalar};
use rewright_lowering::internals::kernel::{Buffer, CompiledKernel, Kernel, KernelArgs, Status};
use std::sync::LazyLock;

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
pub fn special(dtype: DType) -> &'static [Scalar] {
    static ALL: LazyLock<[Vec<Scalar>; REAL.len()]> = LazyLock::new(|| REAL.map(specials));
    let number = REAL.iter().position(|&real| real == dtype).expect("a dtype of real numbers");
    &ALL[number]
}

fn specials(dtype: DType) -> Vec<Scalar> {
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
        return random.pick(special(dtype));
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

/// The memory of a call: one preparation serves all runs.
pub struct Prepared<'a> {
    kernel: &'a Kernel,
    call: &'a Call,
    arenas: Vec<Arena>,
    pointers: Vec<*mut u8>,
    strides: Vec<i64>,
    /// The bytes of each arena before a run.
    before: Vec<Vec<u8>>,
    /// The same with one NaN for all.
    canonical: Vec<Vec<u8>>,
    /// The offsets of each buffer's elements in its arena.
    offsets: Vec<Vec<usize>>,
    /// For each byte of each arena, whether it belongs to no element.
    elsewhere: Vec<Vec<bool>>,
}

impl<'a> Prepared<'a> {
    pub fn new(kernel: &'a Kernel, call: &'a Call) -> Self {
        let strides = call.layouts.iter().flat_map(|l| l.strides.iter().copied()).collect();
        let (arenas, pointers, before, offsets) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (canonical, elsewhere) = (Vec::new(), Vec::new());
        let mut all = Prepared { kernel, call, arenas, pointers, strides, before, canonical, offsets, elsewhere };
        let mut random = Random::new(call.seed);
        for (n, layout) in call.layouts.iter().enumerate() {
            all.allocate(&kernel.buffers[n], layout, &mut random);
        }
        all
    }

    /// Allocates and fills the memory of one buffer.
    fn allocate(&mut self, buffer: &Buffer, layout: &Layout, random: &mut Random) {
        // An element for each point, whatever the extents of other axes are.
        let own =
            self.call.extents.iter().zip(&buffer.varies).map(|(&extent, varies)| if *varies { extent } else { 1 });
        let extents = &own.collect::<Vec<u64>>();
        let (low, high) = reach(layout, extents);
        let size = buffer.dtype.size();
        let len = (high - low) as usize + size;
        let mut arena = Arena::new(len + layout.gap);
        let bytes = arena.bytes();
        let start = if layout.at_end { bytes.len() - len - layout.gap } else { layout.gap };
        let origin = (start as i64 - low) as usize;
        bytes.fill(0xA5);
        let mut offsets: Vec<usize> =
            points(extents).map(|p| (origin as i64 + dot(&p, &layout.strides)) as usize).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let real = buffer.dtype.real();
        let mut elsewhere = vec![true; bytes.len()];
        for &offset in &offsets {
            for at in (offset..offset + size).step_by(real.size()) {
                let (bits, _) = element(real, random).bits();
                bytes[at..at + real.size()].copy_from_slice(&bits.to_le_bytes()[..real.size()]);
            }
            elsewhere[offset..offset + size].fill(false);
        }
        let before = bytes.to_vec();
        let mut canonical = before.clone();
        one_nan(real, size, &offsets, &mut canonical);
        self.before.push(before);
        self.canonical.push(canonical);
        self.pointers.push(bytes[origin..].as_mut_ptr());
        self.offsets.push(offsets);
        self.elsewhere.push(elsewhere);
        self.arenas.push(arena);
    }

    /// Runs the call on fresh memory.
    pub fn run(&mut self, code: &dyn CompiledKernel) -> Outcome {
        for (arena, before) in self.arenas.iter_mut().zip(&self.before) {
            arena.bytes().copy_from_slice(before);
        }
        let mut status = Status::default();
        let args = KernelArgs {
            extents: self.call.extents.as_ptr(),
            pointers: self.pointers.as_ptr(),
            strides: self.strides.as_ptr(),
            params: self.call.params.as_ptr(),
            status: &mut status,
        };
        // SAFETY: every element exists, in memory of its own.
        unsafe { code.call(&args) };
        let memory = (0..self.arenas.len()).map(|n| self.memory(n)).collect();
        Outcome { failed: status.failed, error: status.error.map(|e| e.to_string()), memory }
    }

    /// The bytes of a buffer's memory after a run, with one NaN for all; panics if a byte changed that belongs
    /// to no element, or to a buffer that is only read.
    fn memory(&mut self, n: usize) -> Vec<u8> {
        let buffer = &self.kernel.buffers[n];
        let mut now = self.arenas[n].bytes().to_vec();
        one_nan(buffer.dtype.real(), buffer.dtype.size(), &self.offsets[n], &mut now);
        let (before, elsewhere) = (&self.canonical[n], &self.elsewhere[n]);
        if now != *before {
            let stray = (0..now.len()).find(|&i| now[i] != before[i] && (elsewhere[i] || !buffer.written));
            assert!(stray.is_none(), "buffer {n}: a stray write at {stray:?}");
        }
        now
    }
}

/// Runs a call once.
pub fn run(kernel: &Kernel, code: &dyn CompiledKernel, call: &Call) -> Outcome {
    Prepared::new(kernel, call).run(code)
}

/// Replaces NaNs among elements of this size in bytes, or among their parts, by one NaN.
fn one_nan(real: DType, size: usize, offsets: &[usize], bytes: &mut [u8]) {
    if !real.is_float() {
        return;
    }
    for &offset in offsets {
        for part in bytes[offset..offset + size].chunks_mut(real.size()) {
            match real {
                DType::F32 if f32::from_le_bytes(part.try_into().unwrap()).is_nan() => {
                    part.copy_from_slice(&f32::NAN.to_le_bytes())
                }
                DType::F64 if f64::from_le_bytes(part.try_into().unwrap()).is_nan() => {
                    part.copy_from_slice(&f64::NAN.to_le_bytes())
                }
                _ => {}
            }
        }
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
