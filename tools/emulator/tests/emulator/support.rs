//! Code of a few instructions, run by the emulator, and by the processor where it has AVX-512.

use iced_x86::{Code, Encoder, Instruction, MemoryOperand, Register};
use memmap2::{Mmap, MmapMut};
use rewright_emulator::{Cpu, Stop, Vector};

/// What code is given in memory, at `rdi`, and gives back, at `rsi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct State {
    /// Registers 0 to 3.
    pub vectors: [Vector; 4],
    /// Masks 0 to 3.
    pub masks: [u64; 4],
    /// The register `rax`.
    pub rax: u64,
}

impl State {
    /// Any bits.
    pub fn random(rng: &mut fastrand::Rng) -> State {
        let mut vectors = [Vector::ZERO; 4];
        vectors.iter_mut().for_each(|vector| rng.fill(&mut vector.0));
        State { vectors, masks: std::array::from_fn(|_| rng.u64(..)), rax: rng.u64(..) }
    }
}

/// A memory operand, `offset` bytes after the start of the input state.
pub fn memory(offset: i64) -> MemoryOperand {
    MemoryOperand::with_base_displ(Register::RDI, offset)
}

/// Code that loads the state, does this, and stores the state.
pub fn code(body: &[Instruction]) -> Mmap {
    let mut list: Vec<Instruction> = Vec::new();
    let at = |base: Register, offset: usize| MemoryOperand::with_base_displ(base, offset as i64);
    let (masks, rax) = (std::mem::offset_of!(State, masks), std::mem::offset_of!(State, rax));
    for n in 0..4 {
        let (vector, mask) = (Register::ZMM0 + n, Register::K0 + n);
        list.push(with(Code::EVEX_Vmovups_zmm_k1z_zmmm512, vector, at(Register::RDI, 64 * n as usize)));
        list.push(with(Code::VEX_Kmovq_kr_km64, mask, at(Register::RDI, masks + 8 * n as usize)));
    }
    list.push(with(Code::Mov_r64_rm64, Register::RAX, at(Register::RDI, rax)));
    list.extend(body);
    list.push(into(Code::Mov_rm64_r64, at(Register::RSI, rax), Register::RAX));
    for n in 0..4 {
        let (vector, mask) = (Register::ZMM0 + n, Register::K0 + n);
        list.push(into(Code::EVEX_Vmovups_zmmm512_k1z_zmm, at(Register::RSI, 64 * n as usize), vector));
        list.push(into(Code::VEX_Kmovq_m64_kr, at(Register::RSI, masks + 8 * n as usize), mask));
    }
    list.push(Instruction::with(Code::VEX_Vzeroupper));
    list.push(Instruction::with(Code::Retnq));
    let mut encoder = Encoder::new(64);
    for inst in &list {
        encoder.encode(inst, 0).unwrap_or_else(|why| panic!("{inst}: {why}"));
    }
    runnable(&encoder.take_buffer())
}

/// The bytes as code.
pub fn runnable(bytes: &[u8]) -> Mmap {
    let mut memory = MmapMut::map_anon(bytes.len()).expect("memory for code");
    memory.copy_from_slice(bytes);
    memory.make_exec().expect("memory that may be run")
}

fn with(code: Code, to: Register, from: MemoryOperand) -> Instruction {
    Instruction::with2(code, to, from).expect("operands of the right kinds")
}

fn into(code: Code, to: MemoryOperand, from: Register) -> Instruction {
    Instruction::with2(code, to, from).expect("operands of the right kinds")
}

/// Runs the code on the input state: emulated, and natively if the processor has AVX-512.
pub fn run(code: &Mmap, given: &State) -> State {
    let emulated = emulate(code, given);
    if std::arch::is_x86_feature_detected!("avx512dq") && std::arch::is_x86_feature_detected!("avx512bw") {
        assert_eq!(call(code, given), emulated, "the processor, and the emulator, of {given:?}");
    }
    emulated
}

/// By the emulator.
pub fn emulate(code: &Mmap, given: &State) -> State {
    let mut result = *given;
    let mut stack = [0u64; 64];
    let mut cpu = Cpu::new();
    cpu.general[7] = given as *const State as u64;
    cpu.general[6] = &raw mut result as u64;
    cpu.general[4] = &raw mut stack[63] as u64;
    cpu.rip = code.as_ptr() as u64;
    // SAFETY: the code reads `given`, writes the result, and returns to the zero on the stack.
    match unsafe { cpu.run(|cpu| cpu.rip == 0) } {
        Stop::Left => result,
        Stop::Unknown(what) => panic!("`{what}` isn't known"),
        Stop::Stack => panic!("no limit was given"),
    }
}

/// By the processor.
pub fn call(code: &Mmap, given: &State) -> State {
    let mut result = *given;
    // SAFETY: a function of this type and convention.
    let function =
        unsafe { std::mem::transmute::<*const u8, unsafe extern "sysv64" fn(*const State, *mut State)>(code.as_ptr()) };
    // SAFETY: it reads `given` and writes the result.
    unsafe { function(given, &mut result) };
    result
}
