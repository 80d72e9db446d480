//! Kernels without the signs that nothing sees: the same bits.

use super::case::{Call, Layout, Random, run, special};
use rewright_ir::expr::Order;
use rewright_ir::{DType, Scalar};
use rewright_lowering::internals::Interp;
use rewright_lowering::internals::kernel::{
    Binary, Buffer, CodeGen, Compare, KOp, KValue, Kernel, KernelBuilder, MathCall, MathPtr, Part, Unary,
};

extern "C" fn next(x: f64) -> f64 {
    x + 1.0
}
extern "C" fn next_single(x: f32) -> f32 {
    x + 1.0
}

/// How many floats a kernel reads at each point.
const READ: usize = 3;

/// A float made of some others: such as have signs, change them, or do not look at them.
fn step(k: &mut KernelBuilder, random: &mut Random, floats: &[KValue]) -> KValue {
    let [a, b, c] = [(); 3].map(|()| random.pick(&floats[floats.len() / 3..]));
    // Which sign a NaN has is not told but of what is read.
    let read = random.pick(&floats[..READ]);
    let dtype = k.dtype(a);
    let (single, bits) = if dtype == DType::F32 { (true, DType::U32) } else { (false, DType::U64) };
    match random.below(16) {
        0 => k.unary(Unary::Neg, a),
        1 => k.unary(Unary::Abs, a),
        2 => k.binary(Binary::CopySign, a, read),
        3..=5 => k.binary(Binary::Mul, a, a),
        6 => {
            let op = random.pick(&[Binary::Mul, Binary::Div, Binary::Add, Binary::Max]);
            k.binary(op, a, b)
        }
        7 => k.push(KOp::Fma, &[a, a, c], dtype),
        8 => k.push(KOp::Fma, &[a, b, c], dtype),
        9 => {
            let less = k.compare(Compare::Lt, a, b);
            k.select(less, b, c)
        }
        10 => {
            let op = random.pick(&[Unary::Trunc, Unary::Rint, Unary::Floor]);
            k.unary(op, a)
        }
        11 => {
            let ptr = if single { MathPtr::F32x1(next_single) } else { MathPtr::F64x1(next) };
            let less = k.compare(Compare::Lt, b, read);
            k.push(KOp::MathWhere(MathCall { name: "next", ptr }), &[less, c, a], dtype)
        }
        12 => {
            let c = random.pick(special(dtype));
            k.constant(if c == c.cast(DType::I64).cast(dtype) { c } else { Scalar::zero(dtype) })
        }
        // The sign of one, from its bits, given to another, or one more bit.
        _ => {
            let width = 8 * dtype.size() as u64;
            let only = random.chance(80);
            let [to, from] = [if only { a } else { random.pick(&floats[..READ]) }, read].map(|v| k.bitcast(v, bits));
            let sign = if random.chance(50) && only {
                let highest = k.constant(Scalar::from_bits(bits, (1 << (width - 1), 0)));
                k.binary(Binary::And, from, highest)
            } else {
                let count = k.constant(Scalar::from_bits(bits, (width - if only { 1 } else { 2 }, 0)));
                k.binary(Binary::Shl, from, count)
            };
            let op = random.pick(&[Binary::Xor, Binary::Or]);
            let turned = k.binary(op, to, sign);
            k.bitcast(turned, dtype)
        }
    }
}

/// A kernel along one axis, which stores two floats of each point, or what they add up to.
fn kernel(random: &mut Random) -> Kernel {
    let dtype = random.pick(&[DType::F32, DType::F64]);
    let mut k = KernelBuilder::new(1);
    let varies = |varies| [varies].into_iter().collect();
    let buffer = |k: &mut KernelBuilder, written, along| k.buffer(Buffer { dtype, written, varies: varies(along) });
    let read = [(); READ].map(|()| buffer(&mut k, false, true));
    let mut floats: Vec<KValue> = read.map(|buffer| k.load(buffer, Part::Re)).to_vec();
    for _ in 0..4 + random.below(12) {
        let value = step(&mut k, random, &floats);
        floats.push(value);
    }
    let results = [floats[floats.len() - 1], floats[floats.len() - 2]];
    if random.chance(70) {
        for result in results {
            let out = buffer(&mut k, true, true);
            k.store(out, Part::Re, result);
        }
        return k.finish();
    }
    let [left, right, total] = [1, 1, 0].map(|level| k.undefined(dtype, level));
    let section = k.begin_section();
    let sum = k.binary(Binary::Add, left, right);
    let combine = k.end_section(section);
    let section = k.begin_section();
    let minus = k.unary(Unary::Neg, total);
    let square = k.binary(Binary::Mul, minus, minus);
    let out = buffer(&mut k, true, false);
    k.store(out, Part::Re, square);
    let after = k.end_section(section);
    let lists = [vec![results[0]], vec![left], vec![right], vec![sum], vec![total]];
    let neutral = vec![Scalar::F64(-0.0).cast(dtype).bits().0];
    k.fold(super::fold((Order::PAIRWISE, false), lists, neutral, [combine, after]));
    k.finish()
}

#[test]
fn unseen_signs_change_nothing() {
    let cases = 2000;
    let mut shorter = 0;
    for seed in 0..cases {
        let mut random = Random::new(seed);
        let kernel = kernel(&mut random);
        let mut without = kernel.clone();
        without.drop_unseen_signs();
        without.verify().unwrap_or_else(|why| panic!("seed {seed}: {why}\n{kernel}\n{without}"));
        shorter += u32::from(without.insts.len() < kernel.insts.len());
        let extents = vec![random.pick(&[1, 7, 40])];
        let layouts = (0..kernel.buffers.len()).map(|n| Layout::dense(&kernel, n, &extents)).collect();
        let call = Call { extents, layouts, params: Vec::new(), seed };
        let [want, got] = [&kernel, &without].map(|k| run(k, &*Interp.compile(k).expect("it can be run"), &call));
        assert!(want == got, "seed {seed}\n{kernel}\n{without}");
        if seed % 40 == 0 {
            super::same(&without, [call]);
        }
    }
    assert!(shorter > 250, "few have anything to leave out: {shorter} of {cases}");
}
