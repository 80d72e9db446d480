//! Programs find AVX-512 and run what they make for it, as their own: this one, with the library before it.

use crate::support::{State, call, code, runnable};
use iced_x86::{Code, Instruction, MemoryOperand, Register};
use rewright_emulator::Vector;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The environment variable that tells the program that it is the one with the library.
const CHILD: &str = "REWRIGHT_EMULATOR_CHILD";

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// The library, beside the tests or above them.
fn library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let folders = program.ancestors().skip(1).take(2);
    let names = folders.map(|folder| folder.join("librewright_emulator.so"));
    names.into_iter().find(|name| name.exists()).expect("cargo makes the library with its tests")
}

/// A test of this module, by this program with the library before it; none where that can't be.
fn with_library(test: &str) -> Option<Output> {
    if !is_x86_feature_detected!("avx2") || !is_x86_feature_detected!("fma") {
        return None;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("program::{test}"), "--nocapture"]);
    command.env(CHILD, "1").env("LD_PRELOAD", library()).env("REWRIGHT_EMULATOR_REPORT", "1");
    Some(command.output().unwrap())
}

/// Whether it ended well, and all that it said.
fn said(output: &Output) -> (bool, String) {
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text.into_owned())
}

fn add(to: Register, a: Register, b: Register) -> Instruction {
    Instruction::with3(Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, to, a, b).unwrap()
}

#[test]
fn a_program_finds_avx512_and_runs_it() {
    if !is_child() {
        let Some(output) = with_library("a_program_finds_avx512_and_runs_it") else { return };
        let (well, said) = said(&output);
        assert!(well && said.contains("1 passed"), "{said}");
        assert!(is_x86_feature_detected!("avx512f") || said.contains("emulated: "), "{said}");
        return;
    }
    assert!(is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl"));
    let code = code(&[add(Register::ZMM0, Register::ZMM1, Register::ZMM2)]);
    let mut rng = fastrand::Rng::with_seed(1);
    for _ in 0..1000 {
        let given = State::random(&mut rng);
        let got = call(&code, &given);
        for n in 0..8 {
            let [a, b] = [1, 2].map(|vector: usize| given.vectors[vector].lane(8, n));
            assert_eq!(got.vectors[0].lane(8, n), a.wrapping_add(b));
        }
        assert_eq!(got.vectors[1..], given.vectors[1..]);
        assert_eq!((got.masks, got.rax), (given.masks, given.rax));
    }
}

#[test]
fn registers_that_were_cleared_before_are_zero() {
    if !is_child() {
        let Some(output) = with_library("registers_that_were_cleared_before_are_zero") else { return };
        let (well, said) = said(&output);
        assert!(well, "{said}");
        return;
    }
    let given = State::random(&mut fastrand::Rng::with_seed(1));
    // Leaves its registers full for the next.
    let fills = code(&[]);
    let to = |offset| MemoryOperand::with_base_displ(Register::RSI, offset);
    let store = |offset, from| Instruction::with2(Code::EVEX_Vmovups_zmmm512_k1z_zmm, to(offset), from).unwrap();
    let list = [
        Instruction::with(Code::VEX_Vzeroupper),
        Instruction::with2(Code::VEX_Vmovq_xmm_rm64, Register::XMM0, Register::RDI).unwrap(),
        store(0, Register::ZMM0),
        Instruction::with(Code::Retnq),
    ];
    let mut encoder = iced_x86::Encoder::new(64);
    list.iter().for_each(|inst| assert!(encoder.encode(inst, 0).is_ok()));
    let cleared = runnable(&encoder.take_buffer());
    for _ in 0..10 {
        call(&fills, &given);
        let got = call(&cleared, &given).vectors[0];
        assert_eq!(got, Vector::of(8, |n| if n == 0 { &raw const given as u64 } else { 0 }));
    }
}

#[test]
fn code_that_lowers_the_stack_pointer_later_is_named() {
    let by = |code, bytes| Instruction::with2(code, Register::RSP, bytes).unwrap();
    if !is_child() {
        let Some(output) = with_library("code_that_lowers_the_stack_pointer_later_is_named") else { return };
        let (well, said) = said(&output);
        let named = !well && said.contains("lowers the stack pointer");
        assert!(named || is_x86_feature_detected!("avx512f"), "{said}");
        return;
    }
    let lowers = code(&[
        by(Code::Sub_rm64_imm32, 4096),
        Instruction::with1(Code::Push_r64, Register::RAX).unwrap(),
        by(Code::Add_rm64_imm32, 4096 + 8),
    ]);
    call(&lowers, &State::random(&mut fastrand::Rng::with_seed(1)));
}
