//! Interleaved buffers: the bits of the plainest loops, whether the memory of a call is as expected or not, and
//! nothing is read beyond the last element.

use super::arena::Arena;
use super::case::Random;
use super::{TESTED, Tested};
use rewright_ir::{DType, Scalar};
use rewright_lowering::internals::Interp;
use rewright_lowering::internals::kernel::{
    Binary, Buffer, CodeGen, CompiledKernel, Interleaved, Kernel, KernelBuilder, Part, PlacedBuffer,
};

/// The numbers of parts that are read.
type Parts = Vec<usize>;

/// `out[r, i]` is a sum of products of the parts of a point, and of an element of the row if `is_mixed`. The
/// sum begins with a polynomial whose coefficients are the parts, this many times.
fn kernel(dtype: DType, of: usize, parts: &Parts, is_mixed: bool, times: usize) -> Kernel {
    let mut k = KernelBuilder::new(2);
    let buffer = |written, along| Buffer { dtype, written, varies: [true, along].into_iter().collect() };
    let mut group = vec![None; of];
    let mut loads = Vec::new();
    for &part in parts {
        let number = k.buffer(buffer(false, true));
        group[part] = Some(number);
        loads.push(k.load(number, Part::Re));
    }
    let mut sum = None;
    for &x in std::iter::repeat_n(&loads, times).flatten() {
        let scaled = k.binary(Binary::Mul, sum.unwrap_or(x), loads[0]);
        sum = Some(k.binary(Binary::Add, scaled, x));
    }
    for (&part, &x) in parts.iter().zip(&loads) {
        let factor = k.constant(Scalar::I64(part as i64 + 2).cast(dtype));
        let product = k.binary(Binary::Mul, x, factor);
        sum = Some(sum.map_or(product, |sum| k.binary(Binary::Add, sum, product)));
    }
    let mut sum = sum.unwrap();
    if is_mixed {
        for along in [false, true] {
            let own = k.buffer(buffer(false, along));
            let own = k.load(own, Part::Re);
            sum = k.binary(Binary::Add, sum, own);
        }
    }
    let out = k.buffer(buffer(true, true));
    k.store(out, Part::Re, sum);
    let mut kernel = k.finish();
    kernel.interleaved = vec![Interleaved { parts: group.into_iter().collect() }];
    kernel
}

/// Where the elements of the parts are.
#[derive(Clone, Copy, Debug)]
struct Memory {
    rows: u64,
    points: u64,
    /// Elements between points beyond those of the parts, and between rows.
    gaps: [usize; 2],
    /// How far the second part that is read is from its place, in elements.
    moved: usize,
    at_end: bool,
}

/// The result of a kernel on random elements.
fn run(kernel: &Kernel, code: &dyn CompiledKernel, of: usize, parts: &Parts, memory: Memory) -> Vec<u8> {
    let dtype = kernel.buffers[0].dtype;
    let size = dtype.size();
    let (rows, points) = (memory.rows as usize, memory.points as usize);
    let point = (of + memory.gaps[0]) * size;
    let row = points * point + memory.gaps[1] * size;
    let place = |n: usize| (parts[n] + if n == 1 { memory.moved } else { 0 }) * size;
    let last = (0..parts.len()).map(place).max().unwrap();
    let bytes = (rows - 1) * row + (points - 1) * point + last + size;
    let mut random = Random::new(11);
    let mut fill = |bytes: &mut [u8]| {
        for element in bytes.chunks_exact_mut(size) {
            let value = Scalar::F64(random.below(1 << 12) as f64).cast(dtype).bits().0;
            element.copy_from_slice(&value.to_le_bytes()[..size]);
        }
    };
    let mut arena = Arena::new(bytes);
    let all = arena.bytes();
    let start = if memory.at_end { all.len() - bytes } else { 0 };
    fill(&mut all[start..start + bytes]);
    let first = all[start..].as_mut_ptr();
    let mut others: Vec<Arena> = Vec::new();
    let (mut pointers, mut strides) = (Vec::new(), Vec::new());
    for (n, buffer) in kernel.buffers.iter().enumerate() {
        if n < parts.len() {
            pointers.push(first.wrapping_add(place(n)));
            strides.extend([row as i64, point as i64]);
            continue;
        }
        let along = if buffer.varies[1] { points } else { 1 };
        let mut own = Arena::new(rows * along * size);
        let all = own.bytes();
        let start = all.len() - rows * along * size;
        fill(&mut all[start..]);
        pointers.push(all[start..].as_mut_ptr());
        strides.extend([(along * size) as i64, if buffer.varies[1] { size as i64 } else { 0 }]);
        others.push(own);
    }
    // SAFETY: every element exists, and the result is in memory of its own.
    let status = unsafe { code.run(&[memory.rows, memory.points], &pointers, &strides, &[]) };
    assert_eq!(status.failed, 0);
    others.last_mut().unwrap().bytes().to_vec()
}

fn compiled(tested: &Tested, kernel: &Kernel) -> Box<dyn CompiledKernel> {
    tested.generator.compile(&Kernel { wishes: tested.wishes, ..kernel.clone() }).unwrap()
}

fn check(dtype: DType, of: usize, parts: &Parts, is_mixed: bool, times: usize) {
    let kernel = kernel(dtype, of, parts, is_mixed, times);
    let plain = Kernel { interleaved: Vec::new(), ..kernel.clone() };
    let oracle = Interp.compile(&plain).unwrap();
    let all: Vec<_> = TESTED.iter().map(|tested| (tested.what, compiled(tested, &kernel))).collect();
    let lengths = (1..=18).chain([31, 32, 33, 40, 63, 64, 65, 130]);
    let as_expected = lengths.flat_map(|points| [(1, points, [0, 0], 0), (3, points, [0, 0], 0)]);
    let gaps = [(3, 20, [0, 3], 0), (2, 9, [1, 0], 0), (3, 35, [0, 0], 1), (1, 1, [2, 0], 0)];
    for (rows, points, gaps, moved) in as_expected.chain(gaps) {
        for at_end in [false, true] {
            let memory = Memory { rows, points, gaps, moved, at_end };
            let wanted = run(&kernel, &*oracle, of, parts, memory);
            for (what, code) in &all {
                assert!(run(&kernel, &**code, of, parts, memory) == wanted, "{what}, {memory:?}\n{kernel}");
            }
        }
    }
}

#[test]
fn points_of_any_number_of_parts() {
    for of in 2..=12 {
        let all: Parts = (0..of).collect();
        let holes: Parts = all.iter().copied().filter(|part| part % 3 != 1).collect();
        for dtype in [DType::F32, DType::F64] {
            check(dtype, of, &all, of % 2 == 0, 0);
            check(dtype, of, &holes, of % 2 == 1, 0);
            check(dtype, of, &all[..of - 1].to_vec(), false, 0);
        }
    }
}

#[test]
fn integers_and_single_parts() {
    for dtype in [DType::I32, DType::U32, DType::I64, DType::U64, DType::F32] {
        for of in 2..=4 {
            check(dtype, of, &vec![0], false, 0);
            check(dtype, of, &(0..of).collect(), true, 0);
        }
    }
}

/// Parts that several stages use are permuted once, and kept between stages.
#[test]
fn parts_of_several_stages() {
    for (dtype, of, times) in [(DType::F64, 8, 12), (DType::F32, 4, 24), (DType::F64, 3, 30)] {
        check(dtype, of, &(0..of).collect(), true, times);
        check(dtype, of, &(0..of - 1).collect(), false, times);
        #[cfg(target_arch = "x86_64")]
        if let Ok(x64) = rewright_lowering::internals::x64::X64::new() {
            let code = x64.compile(&kernel(dtype, of, &(0..of).collect(), false, times)).unwrap();
            assert!(code.stages() > Some(1), "{of} parts, {times} times");
        }
    }
}

/// Hints that fit no buffers are left alone.
#[test]
fn wrong_hints_are_ignored() {
    let fit = kernel(DType::F64, 2, &vec![0, 1], true, 0);
    let group = |parts: &[Option<u32>]| Interleaved { parts: parts.iter().copied().collect() };
    let wrong = [
        group(&[]),
        group(&[Some(0)]),
        group(&[None, Some(0)]),
        group(&[Some(0), Some(0)]),
        group(&[Some(0), Some(2)]),
        group(&[Some(0), Some(4)]),
        group(&[Some(0), Some(9)]),
        group(&[Some(0); 17]),
    ];
    let memory = Memory { rows: 2, points: 21, gaps: [0, 0], moved: 0, at_end: true };
    let wanted = run(&fit, &*Interp.compile(&fit).unwrap(), 2, &vec![0, 1], memory);
    for hint in wrong {
        let kernel = Kernel { interleaved: vec![hint], ..fit.clone() };
        assert!(kernel.interleaved_reads().is_empty(), "{kernel}");
        for tested in TESTED.iter() {
            assert!(run(&kernel, &*compiled(tested, &kernel), 2, &vec![0, 1], memory) == wanted, "{}", tested.what);
        }
    }
}

#[test]
fn buffers_of_one_array_are_found() {
    let placed = |number, key, step, offset| PlacedBuffer { number, key, step, offset };
    let find = |placed: &[PlacedBuffer<char>]| {
        let groups = Interleaved::find(placed);
        groups.into_iter().map(|group| group.parts.to_vec()).collect::<Vec<_>>()
    };
    // `a[2 * i]` to `a[2 * i + 2]`, and the same of another array.
    let three = |key, first| (0..3u32).map(move |n| placed(first + n, key, Some(2), i64::from(n) - 1));
    let found = find(&three('a', 0).chain(three('b', 3)).collect::<Vec<_>>());
    assert_eq!(found, [[Some(0), Some(1)], [Some(2), None], [Some(3), Some(4)], [Some(5), None]]);
    // Columns, if the number of all is not known.
    assert_eq!(find(&[placed(0, 'a', None, 2), placed(1, 'a', None, 0)]), [[Some(1), None, Some(0)]]);
    // A part of many, elements side by side, and a step that is too long.
    assert_eq!(find(&[placed(0, 'a', Some(9), 0)]), Vec::<Vec<Option<u32>>>::new());
    assert_eq!(find(&[placed(0, 'a', Some(1), 0), placed(1, 'a', Some(1), 1)]), Vec::<Vec<Option<u32>>>::new());
    assert_eq!(find(&[placed(0, 'a', None, i64::MIN), placed(1, 'a', None, i64::MAX)]), Vec::<Vec<_>>::new());
}

#[cfg(target_arch = "x86_64")]
#[test]
fn vectors_are_loaded_once_and_permuted() {
    use rewright_lowering::internals::x64::{Level, X64};
    let Ok(x64) = X64::at(Level::Avx512) else { return };
    for (of, permutations) in [(2, 2), (3, 6), (4, 8), (8, 24)] {
        let code = x64.compile(&kernel(DType::F64, of, &(0..of).collect(), false, 0)).unwrap();
        let listing = code.disassembly().unwrap();
        // Whole groups, those of short rows, and the last points each.
        let count = listing.matches("vpermt2pd").count() + listing.matches("vpermi2pd").count();
        assert!(count > 0 && count % permutations == 0, "{of} parts: {count}\n{listing}");
    }
}
