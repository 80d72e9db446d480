//! The state of the emulated processor, and its main loop.

use crate::block::Block;
use crate::operands::Vector;
use crate::report;
use iced_x86::{Instruction, Mnemonic, OpKind, Register};

/// A processor with AVX-512.
pub struct Cpu {
    /// The general registers, by hardware number: 4 is the stack pointer.
    pub general: [u64; 16],
    /// The address of the next instruction.
    pub rip: u64,
    /// The flags, in the format of `pushf`.
    pub flags: u64,
    /// The 512-bit registers.
    pub vectors: [Vector; 32],
    /// The mask registers.
    pub masks: [u64; 8],
    /// True if whole compiled functions are emulated. No caller reads the upper register halves after their
    /// `vzeroupper`.
    pub whole_functions: bool,
    /// The lower limit of the stack pointer.
    pub lowest_stack: u64,
    /// The state of the generator of mask garbage.
    garbage: u64,
    /// True if code has written state that a processor without AVX-512 lacks.
    upper: bool,
    blocks: Vec<Option<Block>>,
}

/// The reason why a run ended.
#[derive(Debug)]
pub enum Stop {
    /// Control left the code.
    Left,
    /// An unknown instruction, which had no effect.
    Unknown(String),
    /// The stack pointer was lowered beyond the limit.
    Stack,
}

/// A NaN as an f64, and in both halves as an f32.
const GARBAGE: u64 = 0xfff5_a5a5_fffa_5a5a;

/// The size of the block cache, which is indexed by address.
const BLOCKS: usize = 1 << 14;

impl Cpu {
    /// A processor whose flags and general registers are zero.
    pub fn new() -> Box<Cpu> {
        let mut cpu = Box::new(Cpu {
            general: [0; 16],
            rip: 0,
            flags: 0,
            vectors: [Vector::ZERO; 32],
            masks: [0; 8],
            whole_functions: false,
            lowest_stack: 0,
            garbage: 1,
            upper: false,
            blocks: (0..BLOCKS).map(|_| None).collect(),
        });
        cpu.forget_upper();
        cpu
    }

    /// Resets the state that a processor without AVX-512 lacks. Upper halves become zero, as AVX
    /// instructions leave them. The upper sixteen registers become NaNs, and masks get new garbage each
    /// time, so that code that reads them is detected.
    pub fn forget_upper(&mut self) {
        let (lower, upper) = self.vectors.split_at_mut(16);
        lower.iter_mut().for_each(|vector| vector.0[32..].fill(0));
        upper.fill(Vector::of(8, |_| GARBAGE));
        for mask in &mut self.masks {
            // Knuth's linear congruential generator.
            self.garbage = self.garbage.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *mask = self.garbage.rotate_left(32);
        }
        self.upper = false;
    }

    /// True if registers hold state that a processor without AVX-512 lacks.
    pub fn has_upper(&self) -> bool {
        self.upper
    }

    pub(crate) fn writes_upper(&mut self) {
        self.upper = true;
    }

    /// Runs until `left` holds, which is tested after each jump, call or return, or until an instruction
    /// is unknown.
    ///
    /// # Safety
    /// There is code at [`rip`](Self::rip) that may be run in this state.
    pub unsafe fn run(&mut self, left: impl Fn(&Cpu) -> bool) -> Stop {
        loop {
            let place = (self.rip as usize ^ self.rip as usize >> 14) % BLOCKS;
            let kept = self.blocks[place].take();
            // SAFETY: the caller says that there is code.
            let kept = kept.filter(|block| unsafe { block.is_at(self.rip) });
            // SAFETY: as above.
            let block = kept.unwrap_or_else(|| unsafe { Block::decode(self.rip) });
            let ran = block.instructions.iter().take_while(|inst| self.step(inst)).count();
            report::instructions(ran);
            let unknown = block.instructions.get(ran).copied();
            self.blocks[place] = Some(block);
            if self.general[4] < self.lowest_stack {
                return Stop::Stack;
            }
            if let Some(inst) = unknown {
                self.rip = inst.ip();
                return Stop::Unknown(inst.to_string());
            }
            if left(self) {
                return Stop::Left;
            }
        }
    }

    /// Executes an instruction; false if it is unknown, or if the stack pointer is already below the
    /// limit.
    fn step(&mut self, inst: &Instruction) -> bool {
        let segment = inst.memory_segment();
        if self.general[4] < self.lowest_stack || segment == Register::FS || segment == Register::GS {
            return false;
        }
        self.rip = inst.next_ip();
        if inst.mnemonic() == Mnemonic::Vzeroupper {
            self.vectors[..16].iter_mut().for_each(|vector| vector.0[16..].fill(0));
            self.upper &= !self.whole_functions;
            return true;
        }
        let special = |n| {
            let register = inst.op_register(n);
            register.is_vector_register() || register.is_k()
        };
        let on_vectors = (0..inst.op_count()).any(|n| inst.op_kind(n) == OpKind::Register && special(n));
        if on_vectors { self.vector(inst) } else { self.general(inst) }
    }
}
