//! The processor's state, and how it runs.

use crate::block::Block;
use crate::operands::Vector;
use crate::report;
use iced_x86::{Instruction, Mnemonic, OpKind, Register};

/// A processor with AVX-512.
pub struct Cpu {
    /// The general registers, by their numbers: 4 is the stack pointer.
    pub general: [u64; 16],
    /// Where the next instruction is.
    pub rip: u64,
    /// The flags, as `pushf` has them.
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
    /// The next garbage for masks.
    garbage: u64,
    /// True if something was written that a processor without AVX-512 has no registers for.
    upper: bool,
    blocks: Vec<Option<Block>>,
}

/// Why it stopped.
#[derive(Debug)]
pub enum Stop {
    /// The code was left.
    Left,
    /// An instruction isn't known, and nothing of it was done.
    Unknown(String),
    /// The stack pointer was lowered too far.
    Stack,
}

/// No number at f64, and none in either half at f32.
const GARBAGE: u64 = 0xfff5_a5a5_fffa_5a5a;

/// How many blocks are kept, by their addresses.
const BLOCKS: usize = 1 << 14;

impl Cpu {
    /// A processor of which nothing is known but that its flags and general registers are zero.
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

    /// Nothing is known of what a processor without AVX-512 doesn't have: the upper halves are zero, as
    /// instructions of AVX leave them, and elsewhere is garbage, so that who reads it is found: NaNs, and
    /// other masks every time.
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

    /// True if something is in registers that a processor without AVX-512 doesn't have.
    pub fn has_upper(&self) -> bool {
        self.upper
    }

    pub(crate) fn writes_upper(&mut self) {
        self.upper = true;
    }

    /// Runs until `left` says so, which is asked after each jump, call or return, or an instruction isn't
    /// known.
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

    /// Runs an instruction; false if it isn't known, or if the stack pointer was lowered too far before.
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
