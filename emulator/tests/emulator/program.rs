//! A program finds AVX-512 and runs what it makes for it, as its own.

use crate::support::{State, call, code};
use iced_x86::{Code, Instruction, Register};
use std::path::PathBuf;
use std::process::Command;

/// What says to the program that it is the one that is run with the library.
const CHILD: &str = "REWRIGHT_EMULATOR_CHILD";

/// The library, beside the tests or above them.
fn library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let folders = program.ancestors().skip(1).take(2);
    let names = folders.map(|folder| folder.join("librewright_emulator.so"));
    names.into_iter().find(|name| name.exists()).expect("cargo makes the library with its tests")
}

#[test]
fn a_program_finds_avx512_and_runs_it() {
    if std::env::var_os(CHILD).is_some() {
        return child();
    }
    if !std::arch::is_x86_feature_detected!("avx2") || !std::arch::is_x86_feature_detected!("fma") {
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "program::a_program_finds_avx512_and_runs_it", "--nocapture"]);
    command.env(CHILD, "1").env("LD_PRELOAD", library()).env("REWRIGHT_EMULATOR_REPORT", "1");
    let output = command.output().unwrap();
    let (said, why) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("512 bits"), "{said}{why}");
    if !std::arch::is_x86_feature_detected!("avx512f") {
        assert!(why.contains("emulated: "), "{why}");
    }
}

fn child() {
    assert!(std::arch::is_x86_feature_detected!("avx512f") && std::arch::is_x86_feature_detected!("avx512vl"));
    let add =
        Instruction::with3(Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, Register::ZMM0, Register::ZMM1, Register::ZMM2);
    let code = code(&[add.unwrap()]);
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
    println!("512 bits are added");
}
