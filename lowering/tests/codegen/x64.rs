//! What is special about `x64`: few registers, and kernels that it refuses.

use super::case::{Call, Layout, REAL, Random};
use super::random::reference_kernel;
use super::same;
use rewright_ir::expr::Order;
use rewright_ir::{DType, Scalar};
use rewright_lowering::internals::kernel::{
    Binary, Buffer, CodeGen, Compare, KOp, KValue, Kernel, KernelBuilder, KernelError, MathCall, MathPtr, Part,
};
use rewright_lowering::internals::x64::{Level, X64};

fn buffer(k: &mut KernelBuilder, dtype: DType, written: bool) -> u32 {
    k.buffer(Buffer { dtype, written, varies: [true].into_iter().collect() })
}

fn calls(kernel: &Kernel) -> Vec<Call> {
    let mut random = Random::new(7);
    [1, 5, 8, 31, 300]
        .map(|n| {
            let layouts = (0..kernel.buffers.len()).map(|b| Layout::dense(kernel, b, &[n])).collect();
            Call { extents: vec![n], layouts, params: vec![], seed: random.next() }
        })
        .to_vec()
}

fn levels() -> impl Iterator<Item = X64> {
    Level::ALL.into_iter().filter_map(|level| X64::at(level).ok())
}

/// So many values of a dtype that are all computed before any of them is used.
fn many_at_once(dtype: DType, count: u32, between: impl Fn(&mut KernelBuilder, KValue) -> KValue) -> Kernel {
    let mut k = KernelBuilder::new(1);
    let (a, out) = (buffer(&mut k, dtype, false), buffer(&mut k, dtype, true));
    let x = k.load(a, Part::Re);
    let constants: Vec<KValue> = (0..count).map(|n| k.constant(Scalar::F64(0.5 + f64::from(n)).cast(dtype))).collect();
    let all: Vec<KValue> = constants.iter().map(|&c| k.binary(Binary::Mul, x, c)).collect();
    let start = between(&mut k, x);
    let sum = all.iter().rev().fold(start, |sum, &v| k.binary(Binary::Sub, v, sum));
    k.store(out, Part::Re, sum);
    k.finish()
}

#[test]
fn more_values_than_registers() {
    for dtype in [DType::F64, DType::F32, DType::U8, DType::I64] {
        let kernel = many_at_once(dtype, 70, |_, x| x);
        same(&kernel, calls(&kernel));
    }
}

/// A chain of dependent instructions, so that several groups are interleaved, with this many masks alive.
fn chain(dtype: DType, small: DType, masks: usize) -> Kernel {
    let mut k = KernelBuilder::new(1);
    let [a, b, out] = [(dtype, false), (small, false), (dtype, true)].map(|(own, w)| buffer(&mut k, own, w));
    let (x, y) = (k.load(a, Part::Re), k.load(b, Part::Re));
    let y = if small == dtype { y } else { k.convert(y, dtype) };
    let limits: Vec<KValue> = (0..masks).map(|n| k.constant(Scalar::F64(n as f64 * 1.5).cast(dtype))).collect();
    let conditions: Vec<KValue> = limits.iter().map(|&limit| k.compare(Compare::Lt, y, limit)).collect();
    let sum = (0..14).fold(x, |sum, n| k.binary(if n % 2 == 0 { Binary::Add } else { Binary::Mul }, sum, y));
    let chosen = conditions.iter().zip(&limits).fold(sum, |sum, (&mask, &limit)| k.select(mask, limit, sum));
    k.store(out, Part::Re, chosen);
    k.finish()
}

#[test]
fn the_last_points_of_interleaved_groups_are_masked() {
    for (dtype, small) in [(DType::F64, DType::F64), (DType::F32, DType::F32), (DType::F64, DType::U8)] {
        for masks in [0, 2, 6] {
            let kernel = chain(dtype, small, masks);
            let mut random = Random::new(5);
            // Guarded memory is right before the first element, or right after the last one.
            let calls = (1..=100).flat_map(|n| [false, true].map(|at_end| (n, at_end))).map(|(n, at_end)| {
                let layout = |b: usize| Layout { at_end, ..Layout::dense(&kernel, b, &[n]) };
                Call { extents: vec![n], layouts: [0, 1, 2].map(layout).into(), params: vec![], seed: random.next() }
            });
            same(&kernel, calls.collect::<Vec<_>>());
        }
    }
    // Elements are loaded under the masks K6 and K7.
    if let Ok(x64) = X64::at(Level::Avx512) {
        let code = x64.compile(&chain(DType::F64, DType::F64, 0)).unwrap();
        let listing = code.disassembly().unwrap();
        assert!(listing.contains("{k6}{z}") && listing.contains("{k7}{z}"), "{listing}");
    }
}

/// Rows of one group and more, up to a round, each with an element of its own besides.
#[test]
fn rows_shorter_than_a_round() {
    extern "C" fn half(x: f64) -> f64 {
        if is_x86_feature_detected!("avx512bw") {
            // SAFETY: the processor has the instruction, and a function may change each mask register.
            unsafe { std::arch::asm!("kxorq k7, k7, k7", out("k7") _) };
        }
        x / 2.0
    }
    let call = KOp::Math(MathCall { name: "half", ptr: MathPtr::F64x1(half) });
    let parts = |dtype: DType| if dtype.is_complex() { &[Part::Re, Part::Im][..] } else { &[Part::Re] };
    for (dtype, calls) in [DType::U8, DType::I16, DType::F32, DType::F64, DType::C64, DType::C128]
        .map(|dtype| (dtype, false))
        .into_iter()
        .chain([(DType::F64, true)])
    {
        let mut k = KernelBuilder::new(2);
        let [a, scale, out] = [(true, false), (false, false), (true, true)]
            .map(|(along, written)| k.buffer(Buffer { dtype, written, varies: [true, along].into_iter().collect() }));
        let product = |k: &mut KernelBuilder, &part: &Part| {
            let (x, factor) = (k.load(a, part), k.load(scale, part));
            let product = k.binary(Binary::Mul, x, factor);
            if calls { k.push(call.clone(), &[product], dtype) } else { product }
        };
        let products: Vec<KValue> = parts(dtype).iter().map(|part| product(&mut k, part)).collect();
        parts(dtype).iter().zip(products).for_each(|(&part, value)| k.store(out, part, value));
        let kernel = k.finish();
        let mut random = Random::new(9);
        let most = 4 * 64 / dtype.real().size() as u64 + 2;
        let lengths = (1..=most).filter(|n| *n <= 70 || n % 16 <= 1);
        let calls = lengths.flat_map(|n| [false, true].map(|at_end| (n, at_end))).map(|(n, at_end)| {
            let extents = vec![3, n];
            let layout = |b: usize| Layout { at_end, ..Layout::dense(&kernel, b, &extents) };
            let layouts = [0, 1, 2].map(layout).into();
            Call { layouts, extents, params: vec![], seed: random.next() }
        });
        same(&kernel, calls.collect::<Vec<_>>());
    }
}

#[test]
fn long_rows_begin_anywhere() {
    for dtype in [DType::U8, DType::I16, DType::F32, DType::F64] {
        let kernel = many_at_once(dtype, 3, |_, x| x);
        let mut random = Random::new(3);
        let calls = (0..24).map(|gap| {
            let extents = vec![1100 + 37 * gap as u64];
            let layouts =
                (0..2).map(|b| Layout { at_end: false, gap: gap * (b + 1), ..Layout::dense(&kernel, b, &extents) });
            Call { layouts: layouts.collect(), extents, params: vec![], seed: random.next() }
        });
        same(&kernel, calls);
    }
}

/// Vectors of fewer bytes than the smallest register: guarded memory is at both ends of what they are read from and written to.
#[test]
fn rows_of_few_lanes() {
    for (dtype, lanes) in REAL.into_iter().flat_map(|dtype| [1, 2, 4].map(|lanes| (dtype, lanes))) {
        let mut k = KernelBuilder::new(1);
        let [a, out, total] = [(false, true), (true, true), (true, false)]
            .map(|(written, varies)| k.buffer(Buffer { dtype, written, varies: [varies].into_iter().collect() }));
        let x = k.load(a, Part::Re);
        k.store(out, Part::Re, x);
        let [left, right, row] = [1, 1, 0].map(|level| k.undefined(dtype, level));
        let (op, neutral) = match (dtype.is_float(), dtype.is_bool()) {
            (true, _) => (Binary::Add, Scalar::F64(-0.0)),
            (_, true) => (Binary::Or, Scalar::Bool(false)),
            _ => (Binary::Xor, Scalar::U64(0)),
        };
        let section = k.begin_section();
        let both = k.binary(op, left, right);
        let combine = k.end_section(section);
        let section = k.begin_section();
        k.store(total, Part::Re, row);
        let after = k.end_section(section);
        let [items, left, right, both, totals] = [x, left, right, both, row].map(|value| vec![value]);
        let neutral = vec![neutral.cast(dtype).bits().0];
        let (order, any_order) = (Order::Tree { lanes, leaf: 4 * lanes, apart: 1, part: 8 * lanes, block: 128 }, false);
        k.fold(super::fold((order, any_order), [items, left, right, both, totals], neutral, [combine, after]));
        let kernel = k.finish();
        same(&kernel, calls(&kernel));
    }
}

#[test]
fn more_values_than_registers_around_calls() {
    extern "C" fn half(x: f64) -> f64 {
        x / 2.0
    }
    let call = KOp::Math(MathCall { name: "half", ptr: MathPtr::F64x1(half) });
    let kernel = many_at_once(DType::F64, 40, |k, x| {
        let once = k.push(call.clone(), &[x], DType::F64);
        k.push(call.clone(), &[once], DType::F64)
    });
    same(&kernel, calls(&kernel));
}

#[test]
fn more_masks_than_registers() {
    let mut k = KernelBuilder::new(1);
    let (a, out) = (buffer(&mut k, DType::F32, false), buffer(&mut k, DType::F32, true));
    let x = k.load(a, Part::Re);
    let limits: Vec<KValue> = (0..20).map(|n| k.constant(Scalar::F32(n as f32 * 1e3))).collect();
    let masks: Vec<KValue> = limits.iter().map(|&limit| k.compare(Compare::Lt, x, limit)).collect();
    let chosen = masks.iter().zip(&limits).rev().fold(x, |y, (&mask, &limit)| k.select(mask, limit, y));
    k.store(out, Part::Re, chosen);
    let kernel = k.finish();
    same(&kernel, calls(&kernel));
}

#[test]
fn more_rows_than_registers() {
    let mut k = KernelBuilder::new(1);
    let rows: Vec<u32> = (0..23).map(|_| buffer(&mut k, DType::I16, false)).collect();
    let out = buffer(&mut k, DType::I16, true);
    let values: Vec<KValue> = rows.iter().map(|&row| k.load(row, Part::Re)).collect();
    let sum = values[1..].iter().fold(values[0], |sum, &v| k.binary(Binary::Sub, v, sum));
    k.store(out, Part::Re, sum);
    let kernel = k.finish();
    same(&kernel, calls(&kernel));
}

/// Sums of so many operands, with so many multiplications of each, are in stages over several pieces; where rows are copied, over shorter ones.
#[test]
fn many_operands_are_read_in_pieces() {
    for (dtype, operands, work) in [(DType::F64, 24, 0), (DType::F64, 70, 3), (DType::F32, 34, 0)] {
        let mut k = KernelBuilder::new(1);
        let rows: Vec<u32> = (0..operands).map(|_| buffer(&mut k, dtype, false)).collect();
        let out = buffer(&mut k, dtype, true);
        let mut sum = k.load(rows[0], Part::Re);
        for &row in &rows[1..] {
            let element = k.load(row, Part::Re);
            let term = (0..work).fold(element, |term, _| k.binary(Binary::Mul, term, element));
            sum = k.binary(Binary::Add, sum, term);
        }
        k.store(out, Part::Re, sum);
        let kernel = k.finish();
        let size = dtype.size();
        let calls = [(1100, None), (600, Some(3)), (600, Some(operands))].map(|(n, copied)| {
            let layout = |b: usize| Layout {
                strides: vec![if copied == Some(b) { 3 * size as i64 } else { size as i64 }],
                gap: size * (b % 5),
                at_end: true,
            };
            let layouts = (0..kernel.buffers.len()).map(layout).collect();
            Call { extents: vec![n], layouts, params: vec![], seed: n }
        });
        same(&kernel, calls);
        for code in levels().map(|x64| x64.compile(&kernel).unwrap()) {
            let schedule = code.schedule();
            // The most whole rounds in 512.
            let long = ["over pieces of 512 points", "over pieces of 504 points"]
                .iter()
                .any(|pieces| schedule.contains(pieces));
            assert!(code.stages() > Some(1) && long, "{schedule}");
        }
    }
}

#[test]
fn ops_by_their_reference_meaning_are_refused() {
    for x64 in levels() {
        match x64.compile(&reference_kernel()) {
            Err(KernelError::Unsupported { codegen, message }) => {
                assert!(codegen == "x64" && message.contains("`swap_parts`"), "{message}");
            }
            other => panic!("{:?}", other.map(|code| code.schedule())),
        }
    }
}

#[test]
fn frames_that_would_be_too_large_are_refused() {
    let mut k = KernelBuilder::new(1);
    let rows: Vec<u32> = (0..20_000).map(|_| buffer(&mut k, DType::F64, false)).collect();
    let out = buffer(&mut k, DType::F64, true);
    let values: Vec<KValue> = rows.iter().map(|&row| k.load(row, Part::Re)).collect();
    let sum = values[1..].iter().fold(values[0], |sum, &v| k.binary(Binary::Add, v, sum));
    k.store(out, Part::Re, sum);
    let kernel = k.finish();
    for x64 in levels() {
        let message = x64.compile(&kernel).map(|code| code.schedule()).unwrap_err().to_string();
        assert!(message.contains("frame would have"), "{message}");
    }
}

#[test]
fn the_loop_uses_the_widest_registers_and_reads_memory_as_operands() {
    let kernel = {
        let mut k = KernelBuilder::new(1);
        let (a, b, out) =
            (buffer(&mut k, DType::F64, false), buffer(&mut k, DType::F64, false), buffer(&mut k, DType::F64, true));
        let (two, three) = (k.constant(Scalar::F64(2.0)), k.constant(Scalar::F64(3.0)));
        let (x, y) = (k.load(a, Part::Re), k.load(b, Part::Re));
        let (x, y) = (k.binary(Binary::Mul, two, x), k.binary(Binary::Mul, three, y));
        let sum = k.binary(Binary::Add, x, y);
        k.store(out, Part::Re, sum);
        k.finish()
    };
    for level in Level::ALL {
        let Ok(x64) = X64::at(level) else { continue };
        let code = x64.compile(&kernel).unwrap();
        let (lanes, register) = if level == Level::Avx2 { (4, "ymm") } else { (8, "zmm") };
        assert_eq!(code.schedule(), format!("one loop by {} points a round in 4 groups, {level}", 4 * lanes));
        let listing = code.disassembly().unwrap();
        let round: Vec<&str> = listing.lines().filter(|line| line.contains("[rsi+rbx*8")).collect();
        assert!(round[0].contains("vmulpd") && round[0].contains(register), "{listing}");
    }
}
