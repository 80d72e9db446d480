//! Instructions give what the manual says, by the emulator and by processors that have them.

use crate::support::{State, code, memory, run};
use iced_x86::{Code, Instruction, MemoryOperand, Register};
use rewright_emulator::Vector;

const Z: [Register; 4] = [Register::ZMM0, Register::ZMM1, Register::ZMM2, Register::ZMM3];
const ROUNDS: usize = 50;

fn two(code: Code, to: Register, from: Register) -> Instruction {
    Instruction::with2(code, to, from).unwrap()
}
fn three(code: Code, to: Register, a: Register, b: Register) -> Instruction {
    Instruction::with3(code, to, a, b).unwrap()
}
fn numbered(code: Code, to: Register, a: Register, b: Register, number: u32) -> Instruction {
    Instruction::with4(code, to, a, b, number).unwrap()
}
/// Under the first mask.
fn masked(mut inst: Instruction, zeroing: bool) -> Instruction {
    inst.set_op_mask(Register::K1);
    inst.set_zeroing_masking(zeroing);
    inst
}

/// Random states, whose floats are of all kinds and whose integers are small now and then.
fn states() -> impl Iterator<Item = State> {
    let mut rng = fastrand::Rng::with_seed(2026);
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE / 8.0,
        f64::MAX,
        4_294_967_295.5,
        -0.75,
        9.3e18,
        1.9e19,
    ];
    (0..ROUNDS).map(move |round| {
        let mut state = State::random(&mut rng);
        for vector in &mut state.vectors {
            for n in 0..8 {
                match round % 3 {
                    0 => {}
                    1 => vector.set_lane(8, n, special[rng.usize(..special.len())].to_bits()),
                    _ => vector.set_lane(8, n, ((rng.f64() - 0.5) * 64.0).to_bits()),
                }
            }
        }
        state
    })
}

/// What one instruction that writes the first register makes of the lanes of the others, under no mask, and
/// under one that keeps or zeroes.
fn lane_by_lane(inst: Instruction, size: usize, expected: impl Fn(&State, usize) -> u64) {
    for (mask, zeroing) in [(false, false), (true, false), (true, true)] {
        let inst = if mask { masked(inst, zeroing) } else { inst };
        let code = code(&[inst]);
        for given in states() {
            let got = run(&code, &given);
            for n in 0..64 / size {
                let wanted = match given.masks[1] >> n & 1 {
                    0 if zeroing => 0,
                    0 if mask => given.vectors[0].lane(size, n),
                    _ => expected(&given, n),
                };
                let low = u64::MAX >> (64 - 8 * size);
                assert_eq!(got.vectors[0].lane(size, n), wanted & low, "{inst}, lane {n} of {given:?}");
            }
        }
    }
}

fn f(state: &State, vector: usize, n: usize) -> f64 {
    f64::from_bits(state.vectors[vector].lane(8, n))
}

#[test]
fn masks_keep_or_zero_and_memory_is_read_or_repeated() {
    let add = Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64;
    let sum = |state: &State, n: usize, with: u64| state.vectors[1].lane(8, n).wrapping_add(with);
    lane_by_lane(three(add, Z[0], Z[1], Z[2]), 8, |state, n| sum(state, n, state.vectors[2].lane(8, n)));
    let read = Instruction::with3(add, Z[0], Z[1], memory(64 * 3)).unwrap();
    lane_by_lane(read, 8, |state, n| sum(state, n, state.vectors[3].lane(8, n)));
    let mut repeated = Instruction::with3(add, Z[0], Z[1], memory(64 * 3 + 8)).unwrap();
    repeated.set_is_broadcast(true);
    lane_by_lane(repeated, 8, |state, n| sum(state, n, state.vectors[3].lane(8, 1)));
    let bytes = three(Code::EVEX_Vpsubb_zmm_k1z_zmm_zmmm512, Z[0], Z[1], Z[2]);
    lane_by_lane(bytes, 1, |state, n| state.vectors[1].lane(1, n).wrapping_sub(state.vectors[2].lane(1, n)));
}

#[test]
fn narrower_registers_end_in_zeros() {
    let add = three(Code::EVEX_Vpaddd_xmm_k1z_xmm_xmmm128b32, Register::XMM0, Register::XMM1, Register::XMM2);
    let code = code(&[add]);
    for given in states() {
        let got = run(&code, &given).vectors[0];
        assert!(got.0[16..].iter().all(|&byte| byte == 0), "{got:?}");
        let sum = given.vectors[1].lane(4, 3) + given.vectors[2].lane(4, 3);
        assert_eq!(got.lane(4, 3), sum & 0xffff_ffff);
    }
}

#[test]
fn lanes_that_are_off_are_neither_read_nor_written() {
    // Six lanes of eight are before a page without rights.
    let page = 4096;
    let mut pages = memmap2::MmapMut::map_anon(2 * page).unwrap();
    // SAFETY: the second of two pages.
    assert_eq!(unsafe { libc::mprotect(pages.as_mut_ptr().add(page).cast(), page, libc::PROT_NONE) }, 0);
    let place = page - 48..page;
    let at = pages.as_ptr() as u64 + place.start as u64;
    let there = MemoryOperand::with_base(Register::RAX);
    let load = masked(Instruction::with2(Code::EVEX_Vmovupd_zmm_k1z_zmmm512, Z[0], there).unwrap(), true);
    let add = masked(Instruction::with3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, Z[2], Z[1], there).unwrap(), true);
    let store = masked(Instruction::with2(Code::EVEX_Vmovupd_zmmm512_k1z_zmm, there, Z[3]).unwrap(), false);
    let (loads, store) = (code(&[load, add]), code(&[store]));
    for mut given in states() {
        (given.masks[1], given.rax) = (0b0010_1101, at);
        let on = |n: usize| given.masks[1] >> n & 1 == 1;
        let before = given.vectors[2];
        pages[place.clone()].copy_from_slice(&before.0[..48]);
        let got = run(&loads, &given);
        (0..8).for_each(|n| assert_eq!(got.vectors[0].lane(8, n), if on(n) { before.lane(8, n) } else { 0 }));
        for n in 0..16 {
            let sum = given.vectors[1].lane(4, n) + before.lane(4, n);
            assert_eq!(got.vectors[2].lane(4, n), if on(n) { sum & 0xffff_ffff } else { 0 });
        }
        run(&store, &given);
        for (n, stored) in pages[place.clone()].chunks(8).enumerate() {
            let wanted = if on(n) { given.vectors[3] } else { before };
            assert_eq!(stored, wanted.lane(8, n).to_le_bytes());
        }
    }
}

fn unordered(a: f64, b: f64) -> bool {
    a.is_nan() || b.is_nan()
}

#[test]
fn where_lanes_are_mixed_all_of_memory_is_read() {
    let unpack = Code::EVEX_Vpunpckldq_zmm_k1z_zmm_zmmm512b32;
    lane_by_lane(Instruction::with3(unpack, Z[0], Z[1], memory(64 * 2)).unwrap(), 4, |state, n| {
        state.vectors[1 + n % 2].lane(4, n / 4 * 4 + n % 4 / 2)
    });
}

#[test]
fn comparisons_give_masks() {
    let floats: [fn(f64, f64) -> bool; 8] = [
        |a, b| a == b,
        |a, b| a < b,
        |a, b| a <= b,
        unordered,
        |a, b| unordered(a, b) || a != b,
        |a, b| unordered(a, b) || a >= b,
        |a, b| unordered(a, b) || a > b,
        |a, b| !unordered(a, b),
    ];
    let quiet: [fn(f64, f64) -> bool; 8] = [
        |a, b| unordered(a, b) || a == b,
        |a, b| unordered(a, b) || a < b,
        |a, b| unordered(a, b) || a <= b,
        |_, _| false,
        |a, b| !unordered(a, b) && a != b,
        |a, b| a >= b,
        |a, b| a > b,
        |_, _| true,
    ];
    for (number, holds) in (0..).zip(floats.iter().chain(&quiet)) {
        let compare = numbered(Code::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae, Register::K2, Z[1], Z[2], number);
        let code = code(&[masked(compare, false)]);
        for mut given in states() {
            given.vectors[2].set_lane(8, 3, given.vectors[1].lane(8, 3));
            given.vectors[2].set_lane(8, 4, f64::NAN.to_bits());
            let wanted = (0..8).filter(|&n| holds(f(&given, 1, n), f(&given, 2, n))).fold(0, |mask, n| mask | 1 << n);
            assert_eq!(run(&code, &given).masks[2], wanted & given.masks[1], "{compare} of {given:?}");
        }
    }
    let integers: [fn(i8, i8) -> bool; 8] = [
        |a, b| a == b,
        |a, b| a < b,
        |a, b| a <= b,
        |_, _| false,
        |a, b| a != b,
        |a, b| a >= b,
        |a, b| a > b,
        |_, _| true,
    ];
    for (number, holds) in (0..).zip(integers) {
        let compare = numbered(Code::EVEX_Vpcmpb_kr_k1_zmm_zmmm512_imm8, Register::K2, Z[1], Z[2], number);
        let code = code(&[compare]);
        for given in states() {
            let lane = |vector: usize, n| given.vectors[vector].lane(1, n) as i8;
            let wanted = (0..64).filter(|&n| holds(lane(1, n), lane(2, n))).fold(0, |mask, n| mask | 1 << n);
            assert_eq!(run(&code, &given).masks[2], wanted, "{compare} of {given:?}");
        }
    }
}

#[test]
fn floats_are_scaled_and_taken_apart() {
    let one = |code, number| Instruction::with3(code, Z[0], Z[1], number).unwrap();
    lane_by_lane(three(Code::EVEX_Vscalefpd_zmm_k1z_zmm_zmmm512b64_er, Z[0], Z[1], Z[2]), 8, |state, n| {
        let (a, b) = (f(state, 1, n), f(state, 2, n));
        let (a_bits, quiet) = (a.to_bits(), 1 << 51);
        match () {
            // Of a quiet NaN an infinity or a zero is made by an infinity.
            () if a.is_nan() && a_bits & quiet != 0 && b == f64::INFINITY => f64::INFINITY.to_bits(),
            () if a.is_nan() && a_bits & quiet != 0 && b == f64::NEG_INFINITY => 0,
            () if a.is_nan() => a_bits | quiet,
            () if b.is_nan() => b.to_bits() | quiet,
            () if a == 0.0 && b == f64::INFINITY || a.is_infinite() && b == f64::NEG_INFINITY => (-f64::NAN).to_bits(),
            () => scaled(a, b.floor().clamp(-4000.0, 4000.0) as i32).to_bits(),
        }
    });
    lane_by_lane(two(Code::EVEX_Vgetexppd_zmm_k1z_zmmm512b64_sae, Z[0], Z[1]), 8, |state, n| {
        let a = f(state, 1, n);
        match () {
            () if a.is_nan() => a.to_bits() | 1 << 51,
            () if a.is_infinite() => f64::INFINITY.to_bits(),
            () if a == 0.0 => f64::NEG_INFINITY.to_bits(),
            () => exponent(a).to_bits(),
        }
    });
    // From 3/4 to 3/2, NaN of negative numbers.
    lane_by_lane(one(Code::EVEX_Vgetmantpd_zmm_k1z_zmmm512b64_imm8_sae, 0b1011), 8, |state, n| {
        let a = f(state, 1, n);
        match () {
            () if a.is_nan() => a.to_bits() | 1 << 51,
            () if a == 0.0 => 1f64.copysign(a).to_bits(),
            () if a < 0.0 => (-f64::NAN).to_bits(),
            () if a.is_infinite() => 1f64.to_bits(),
            () => {
                let significand = scaled(a, -exponent(a) as i32);
                if significand >= 1.5 { significand / 2.0 } else { significand }.to_bits()
            }
        }
    });
}

/// `x * 2^by`, rounded once: the steps before the last one are exact, or so small that nothing is left.
fn scaled(mut x: f64, mut by: i32) -> f64 {
    for _ in 0..2 {
        let step = if by > 1023 {
            1023
        } else if by < -1022 {
            -969
        } else {
            0
        };
        (x, by) = (x * 2f64.powi(step), by - step);
    }
    x * 2f64.powi(by.clamp(-1022, 1023))
}

/// The exponent of a number that isn't zero, infinite or NaN.
fn exponent(a: f64) -> f64 {
    let (scaled, by) = if a.abs() < f64::MIN_POSITIVE { (a * 2f64.powi(100), 100) } else { (a, 0) };
    f64::from((scaled.to_bits() >> 52 & 0x7ff) as i32 - 1023 - by)
}

#[test]
fn conversions_saturate_as_the_processor_does() {
    let from = |state: &State, n| f(state, 1, n);
    lane_by_lane(two(Code::EVEX_Vcvttpd2uqq_zmm_k1z_zmmm512b64_sae, Z[0], Z[1]), 8, |state, n| match from(state, n) {
        x if x > -1.0 && x < 18446744073709551616.0 => x as u64,
        _ => u64::MAX,
    });
    lane_by_lane(two(Code::EVEX_Vcvttpd2qq_zmm_k1z_zmmm512b64_sae, Z[0], Z[1]), 8, |state, n| match from(state, n) {
        x if x.abs() < 9223372036854775808.0 => x as i64 as u64,
        _ => 1 << 63,
    });
    lane_by_lane(two(Code::EVEX_Vcvtuqq2pd_zmm_k1z_zmmm512b64_er, Z[0], Z[1]), 8, |state, n| {
        (state.vectors[1].lane(8, n) as f64).to_bits()
    });
    lane_by_lane(two(Code::EVEX_Vpmovsxbd_zmm_k1z_xmmm128, Z[0], Register::XMM1), 4, |state, n| {
        state.vectors[1].lane(1, n) as i8 as u64
    });
    // Results of half a register or a quarter: the bytes beyond are zero.
    let narrow = two(Code::EVEX_Vcvttpd2udq_ymm_k1z_zmmm512b64_sae, Register::YMM0, Z[1]);
    let bytes = two(Code::EVEX_Vpmovdb_xmmm128_k1z_zmm, Register::XMM2, Z[1]);
    let code = code(&[narrow, bytes]);
    for given in states() {
        let got = run(&code, &given);
        for n in 0..16 {
            let wanted = match n {
                8.. => 0,
                _ => match from(&given, n) {
                    x if x > -1.0 && x < 4294967296.0 => x as u32,
                    _ => u32::MAX,
                },
            };
            assert_eq!(got.vectors[0].lane(4, n), wanted.into(), "lane {n} of {given:?}");
            assert_eq!(got.vectors[2].lane(1, n), given.vectors[1].lane(4, n) & 0xff);
        }
        assert!(got.vectors[2].0[16..].iter().all(|&byte| byte == 0));
    }
}

#[test]
fn lanes_are_moved_and_chosen() {
    lane_by_lane(three(Code::EVEX_Vpermw_zmm_k1z_zmm_zmmm512, Z[0], Z[1], Z[2]), 2, |state, n| {
        state.vectors[2].lane(2, state.vectors[1].lane(2, n) as usize % 32)
    });
    // The table that is overwritten comes first, then the other one.
    lane_by_lane(three(Code::EVEX_Vpermt2ps_zmm_k1z_zmm_zmmm512b32, Z[0], Z[1], Z[2]), 4, |state, n| {
        match state.vectors[1].lane(4, n) as usize % 32 {
            place if place < 16 => state.vectors[0].lane(4, place),
            place => state.vectors[2].lane(4, place - 16),
        }
    });
    let align = numbered(Code::EVEX_Valignq_zmm_k1z_zmm_zmmm512b64_imm8, Z[0], Z[1], Z[2], 3);
    lane_by_lane(align, 8, |state, n| match n + 3 {
        place if place < 8 => state.vectors[2].lane(8, place),
        place => state.vectors[1].lane(8, place - 8),
    });
    let parts = numbered(Code::EVEX_Vshuff64x2_zmm_k1z_zmm_zmmm512b64_imm8, Z[0], Z[1], Z[2], 0b01_00_10_11);
    let places = [3, 2, 0, 1];
    lane_by_lane(parts, 8, |state, n| state.vectors[1 + n / 4].lane(8, 2 * places[n / 2] + n % 2));
    lane_by_lane(numbered(Code::EVEX_Vpternlogq_zmm_k1z_zmm_zmmm512b64_imm8, Z[0], Z[1], Z[2], 0xca), 8, |state, n| {
        let [a, b, c] = [0, 1, 2].map(|vector: usize| state.vectors[vector].lane(8, n));
        a & b | !a & c
    });
    let blend = masked(three(Code::EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32, Z[0], Z[1], Z[2]), false);
    let code = code(&[blend]);
    for given in states() {
        let wanted = Vector::of(4, |n| given.vectors[1 + (given.masks[1] >> n & 1) as usize].lane(4, n));
        assert_eq!(run(&code, &given).vectors[0], wanted);
    }
}

#[test]
fn masks_are_combined_and_tested() {
    let k = [Register::K0, Register::K1, Register::K2, Register::K3];
    let and_not = three(Code::VEX_Kandnq_kr_kr_kr, k[0], k[1], k[2]);
    let shift = Instruction::with3(Code::VEX_Kshiftrq_kr_kr_imm8, k[3], k[1], 11).unwrap();
    let test = two(Code::VEX_Kortestq_kr_kr, k[1], k[2]);
    let number = |number: i32| Instruction::with2(Code::Mov_rm64_imm32, Register::RCX, number).unwrap();
    let if_carry = two(Code::Cmovb_r64_rm64, Register::RAX, Register::RCX);
    let if_zero = two(Code::Cmove_r64_rm64, Register::RAX, Register::RCX);
    let code = code(&[and_not, shift, test, number(1), if_carry, number(2), if_zero]);
    for (round, mut given) in states().enumerate() {
        match round % 3 {
            0 => given.masks[2] = !given.masks[1],
            1 => (given.masks[1], given.masks[2]) = (0, 0),
            _ => {}
        }
        let got = run(&code, &given);
        let [_, a, b, _] = given.masks;
        assert_eq!([got.masks[0], got.masks[3]], [!a & b, a >> 11]);
        assert_eq!(got.rax, [1, 2, given.rax][round % 3]);
    }
}

#[test]
fn an_instruction_that_is_not_known_is_named() {
    let compress = two(Code::EVEX_Vpcompressd_zmmm512_k1z_zmm, Z[0], Z[1]);
    let code = code(&[compress]);
    let given = states().next().unwrap();
    let stopped = std::panic::catch_unwind(|| crate::support::emulate(&code, &given)).unwrap_err();
    let why = stopped.downcast_ref::<String>().unwrap();
    assert_eq!(why, "`vpcompressd zmm0,zmm1` isn't known");
}

#[test]
fn addresses_that_have_to_be_multiples_are() {
    let stream = |offset| {
        let to = MemoryOperand::with_base_displ(Register::RAX, offset);
        code(&[Instruction::with2(Code::EVEX_Vmovntps_m512_zmm, to, Z[1]).unwrap()])
    };
    let (at, beside) = (stream(64), stream(32));
    let mut given = states().next().unwrap();
    let mut memory = [Vector::ZERO; 2];
    given.rax = &raw mut memory as u64;
    run(&at, &given);
    assert_eq!(memory[1], given.vectors[1]);
    let stopped = std::panic::catch_unwind(|| crate::support::emulate(&beside, &given)).unwrap_err();
    let why = stopped.downcast_ref::<String>().unwrap();
    assert_eq!(why, "`vmovntps [rax+20h],zmm1` is not at a multiple of 64 bytes");
}
