//! Peak rates of the processor: loops to measure against.
//!
//! They are written with the instructions and the register width of the code generator. The caller measures
//! their time.

use super::allocate::vector_register;
use super::asm::{Asm, Mem, Operand};
use super::codes;
use super::machine::Width;
use super::memory::CodeMemory;
use super::multiply_add::MultiplyAdd;
use super::{Level, unsupported};
use crate::kernel::KernelError;
use iced_x86::{Code, Register};

/// Bytes of a cache line.
const LINE: usize = 64;
/// Arrays that can be read and written at once.
const MOST_STREAMS: usize = 6;
/// Registers for each iteration of the loop over memory.
const UNROLL: usize = 4;
/// Instructions in an iteration of the loop on registers.
const ISSUED: usize = 64;

/// The registers with the addresses of arrays.
const BASES: [Register; MOST_STREAMS] =
    [Register::RSI, Register::RDX, Register::RCX, Register::R8, Register::R9, Register::R10];

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// Through the caches.
    Cached,
    /// Past the caches (non-temporal stores).
    Streaming,
}

/// A loop that reads some arrays and writes others, and computes nothing.
pub struct Sweep {
    code: CodeMemory,
    /// The arrays, one after the other from `first` on; the length of each is a multiple of an iteration.
    memory: Vec<u8>,
    first: usize,
    streams: usize,
    /// Bytes of one array.
    each: usize,
}

impl Sweep {
    /// A loop over `reads + writes` arrays, with about `bytes` bytes in total.
    pub fn new(level: Level, reads: usize, writes: usize, bytes: usize, stores: Stores) -> Result<Sweep, KernelError> {
        let streams = reads + writes;
        if streams == 0 || streams > MOST_STREAMS || !level.is_available() {
            return Err(unsupported(format!("measuring {streams} arrays with {level}")));
        }
        let round = UNROLL * level.register_bytes();
        let each = (bytes / streams).next_multiple_of(round).max(round);
        // Pages of zeros would not be mapped until they are written.
        let memory = vec![1; each * streams + LINE];
        let first = memory.as_ptr().align_offset(LINE).min(LINE);
        let code = CodeMemory::new(&sweep(level, reads, writes, stores)?).map_err(unsupported)?;
        Ok(Sweep { code, memory, first, streams, each })
    }

    /// The bytes that a run reads and writes.
    pub fn bytes(&self) -> usize {
        self.each * self.streams
    }

    /// Runs over all arrays once.
    pub fn run(&mut self) {
        let start = self.memory[self.first..].as_mut_ptr();
        let mut words = [0; MOST_STREAMS + 1];
        words[0] = self.each as u64;
        for (n, word) in words[1..=self.streams].iter_mut().enumerate() {
            *word = start.wrapping_add(n * self.each) as u64;
        }
        // SAFETY: the code reads the number of bytes and the addresses. It reads and writes this number of
        // bytes at each address, all in `memory`, which is borrowed mutably. `new` checked that the
        // processor supports the instructions.
        unsafe { enter(&self.code, words.as_ptr()) };
    }
}

/// A loop of independent multiply-adds and additions on registers, half of each.
pub struct Issue {
    code: CodeMemory,
}

impl Issue {
    /// For the widest registers of a level.
    pub fn new(level: Level) -> Result<Issue, KernelError> {
        if !level.is_available() {
            return Err(unsupported(format!("measuring {level}, which the processor does not have")));
        }
        Ok(Issue { code: CodeMemory::new(&issue(level)?).map_err(unsupported)? })
    }

    /// Executes at least `count` vector instructions; returns the number of those executed.
    pub fn run(&self, count: u64) -> u64 {
        let rounds = count.div_ceil(ISSUED as u64).max(1);
        // SAFETY: the code reads the number of iterations, and changes registers only. `new` checked that
        // the processor supports the instructions.
        unsafe { enter(&self.code, &rounds) };
        rounds * ISSUED as u64
    }
}

/// # Safety
/// The code is that of a function that may be called with these words on this processor.
unsafe fn enter(code: &CodeMemory, words: *const u64) {
    let entry = code.bytes().as_ptr();
    // SAFETY: the caller promises a function of this type and calling convention.
    let entry = unsafe { std::mem::transmute::<*const u8, unsafe extern "sysv64" fn(*const u64)>(entry) };
    // SAFETY: the caller's promise.
    unsafe { entry(words) }
}

fn widest(level: Level) -> Width {
    Width::of(level.register_bytes())
}

fn sweep(level: Level, reads: usize, writes: usize, stores: Stores) -> Result<Vec<u8>, KernelError> {
    let (width, bytes) = (widest(level), level.register_bytes());
    let mut asm = Asm::new(0);
    let store = match (stores, level) {
        (Stores::Cached, level) => codes::MOV_PS_STORE.code(level.is_evex(), width),
        (Stores::Streaming, Level::Avx2) => Code::VEX_Vmovntps_m256_ymm,
        (Stores::Streaming, Level::Avx512) => Code::EVEX_Vmovntps_m512_zmm,
    };
    let (end, index) = (Register::RAX, Register::R11);
    asm.load(end, Mem::at(Register::RDI, 0));
    for (n, &base) in BASES[..reads + writes].iter().enumerate() {
        asm.load(base, Mem::at(Register::RDI, 8 * (n as i64 + 1)));
    }
    asm.constant(index, 0);
    let again = asm.bound();
    for (n, &base) in BASES[..reads + writes].iter().enumerate() {
        for part in 0..UNROLL {
            let mem = Operand::Mem(Mem { index: Some((index, 1)), ..Mem::at(base, (part * bytes) as i64) });
            // Loaded values are not used, and stored ones are arbitrary.
            if n < reads {
                let to = Operand::Reg(vector_register(width, part as u8));
                asm.vector(codes::MOV_PS_LOAD.code(level.is_evex(), width), &[to, mem], None);
            } else {
                asm.vector(store, &[mem, Operand::Reg(vector_register(width, 15))], None);
            }
        }
    }
    asm.ri(Code::Add_rm64_imm32, index, (UNROLL * bytes) as i32);
    asm.rr(Code::Cmp_r64_rm64, index, end);
    asm.jump(Code::Jb_rel32_64, again);
    if stores == Stores::Streaming {
        // Completes the non-temporal stores before the return.
        asm.plain(Code::Sfence);
    }
    asm.plain(Code::VEX_Vzeroupper);
    asm.plain(Code::Retnq);
    asm.finish()
}

fn issue(level: Level) -> Result<Vec<u8>, KernelError> {
    let (width, evex) = (widest(level), level.is_evex());
    let mut asm = Asm::new(0);
    let register = |number: usize| Operand::Reg(vector_register(width, number as u8));
    for number in 0..16 {
        // Zeros stay zeros, so that no operand slows an operation down.
        asm.vector(codes::XOR_PS.code(evex, width), &[register(number); 3], None);
    }
    asm.load(Register::RAX, Mem::at(Register::RDI, 0));
    let multiply_add = MultiplyAdd::signed(8, false, false).plain();
    let again = asm.bound();
    for n in 0..ISSUED {
        let (form, number) = if n % 2 == 0 { (multiply_add, n / 2 % 8) } else { (&codes::ADD_PD, 8 + n / 2 % 8) };
        asm.vector(form.code(evex, width), &[register(number); 3], None);
    }
    asm.r(Code::Dec_rm64, Register::RAX);
    asm.jump(Code::Jne_rel32_64, again);
    asm.plain(Code::VEX_Vzeroupper);
    asm.plain(Code::Retnq);
    asm.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_go_over_what_they_say() {
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            for (reads, writes, bytes) in [(1, 0, 1), (0, 1, 1000), (2, 1, 10_000), (3, 3, 100_000)] {
                for stores in [Stores::Cached, Stores::Streaming] {
                    let mut sweep = Sweep::new(level, reads, writes, bytes, stores).unwrap();
                    sweep.memory.fill(7);
                    sweep.run();
                    assert!((bytes..bytes + 4096).contains(&sweep.bytes()), "{}", sweep.bytes());
                    // Arrays that are read keep their contents.
                    assert!(sweep.memory[..sweep.first + reads * sweep.each].iter().all(|&byte| byte == 7));
                }
            }
            let issue = Issue::new(level).unwrap();
            assert_eq!((issue.run(1), issue.run(64), issue.run(65)), (64, 64, 128));
        }
        assert!(Sweep::new(Level::Avx2, 0, 0, 64, Stores::Cached).is_err());
        assert!(Sweep::new(Level::Avx2, 4, 3, 64, Stores::Cached).is_err());
    }
}
