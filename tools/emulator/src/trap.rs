//! SIGILL handler: takes over the program's registers, interprets, and restores them.
//!
//! Interpretation of code that was generated at run time ends when control leaves it for the program's
//! own code, by a return or a call. In the program's own code it ends when the function has returned and
//! no register holds state that the processor lacks. In both cases, an unknown instruction is left to the
//! processor if no register holds such state.
//!
//! The handler runs on the stack of the interpreted code, below the red zone. So that code may lower its
//! stack pointer by the red zone at most. Kernels of `x64` allocate their frame at entry.

use crate::cpu::{Cpu, Stop};
use crate::{detect, give_up, report};
use libc::{c_int, c_void, siginfo_t, ucontext_t};
use std::cell::RefCell;
use std::sync::OnceLock;

/// The address ranges of the code of the program and of its libraries.
static PROGRAM: OnceLock<Vec<(u64, u64)>> = OnceLock::new();

thread_local! {
    static CPU: RefCell<Option<Box<Cpu>>> = const { RefCell::new(None) };
}

/// The numbers of general registers in a signal frame, by hardware number.
const GENERAL: [c_int; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// The offsets of the lower and upper halves of the 256-bit registers in the `xsave` area, and of its bit
/// set of valid components.
const LOWER: usize = 160;
const UPPER: usize = 576;
const WRITTEN: usize = 512;
const SSE: u64 = 1 << 1;
const AVX: u64 = 1 << 2;

/// The bytes below the stack pointer that a function may use, and that signal handlers preserve.
const RED_ZONE: u64 = 128;

/// Installs the handler of SIGILL.
pub fn install() {
    PROGRAM.get_or_init(program);
    // SAFETY: an action of the right type, all of whose fields are set or may be zero.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        libc::sigaction(libc::SIGILL, &action, std::ptr::null_mut());
    }
}

/// True if this is code of the program or of one of its libraries.
pub fn is_of_program(at: u64) -> bool {
    PROGRAM.get().is_some_and(|list| list.iter().any(|&(from, to)| (from..to).contains(&at)))
}

fn program() -> Vec<(u64, u64)> {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, list: *mut c_void) -> c_int {
        // SAFETY: the loader passes the data of one file with its headers, and the list.
        let (info, list) = unsafe { (&*info, &mut *list.cast::<Vec<(u64, u64)>>()) };
        // SAFETY: as above.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let code = headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0);
        list.extend(code.map(|header| {
            let from = info.dlpi_addr + header.p_vaddr;
            (from, from + header.p_memsz)
        }));
        0
    }
    let mut list: Vec<(u64, u64)> = Vec::new();
    // SAFETY: the function gets the list.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut list).cast()) };
    list
}

/// The saved registers of the program, which the return from the handler restores.
pub struct Frame<'a>(&'a mut ucontext_t);

impl Frame<'_> {
    /// A general register.
    pub fn general(&self, number: c_int) -> u64 {
        self.0.uc_mcontext.gregs[number as usize] as u64
    }
    pub fn set_general(&mut self, number: c_int, value: u64) {
        self.0.uc_mcontext.gregs[number as usize] = value as i64;
    }
    /// The address of the instruction.
    pub fn rip(&self) -> u64 {
        self.general(libc::REG_RIP)
    }
    /// Advances the instruction pointer by `bytes`.
    pub fn go_on(&mut self, bytes: u64) {
        self.set_general(libc::REG_RIP, self.rip() + bytes);
    }

    /// The two halves of a 256-bit register.
    fn halves(&self, number: usize) -> [*mut u8; 2] {
        let area = self.0.uc_mcontext.fpregs.cast::<u8>();
        [LOWER, UPPER].map(|at| area.wrapping_add(at + 16 * number))
    }
    fn written(&self) -> *mut u64 {
        self.0.uc_mcontext.fpregs.cast::<u8>().wrapping_add(WRITTEN).cast()
    }

    fn load(&self, cpu: &mut Cpu) {
        for (to, number) in cpu.general.iter_mut().zip(GENERAL) {
            *to = self.general(number);
        }
        cpu.rip = self.rip();
        cpu.flags = self.general(libc::REG_EFL);
        cpu.forget_upper();
        // SAFETY: the system has saved the registers there, and says which parts it wrote.
        unsafe {
            let written = self.written().read_unaligned();
            for (number, register) in cpu.vectors.iter_mut().take(16).enumerate() {
                for ((from, part), to) in self.halves(number).into_iter().zip([SSE, AVX]).zip(register.0.chunks_mut(16))
                {
                    match written & part {
                        // A component that was not saved is in its initial state.
                        0 => to.fill(0),
                        _ => from.copy_to_nonoverlapping(to.as_mut_ptr(), 16),
                    }
                }
            }
        }
    }

    fn store(&mut self, cpu: &Cpu) {
        for (&value, number) in cpu.general.iter().zip(GENERAL) {
            self.set_general(number, value);
        }
        self.set_general(libc::REG_RIP, cpu.rip);
        self.set_general(libc::REG_EFL, cpu.flags);
        // SAFETY: the system restores the registers from there: all components that are marked valid.
        unsafe {
            let written = self.written();
            written.write_unaligned(written.read_unaligned() | SSE | AVX);
            for (number, register) in cpu.vectors.iter().take(16).enumerate() {
                for (half, to) in self.halves(number).into_iter().enumerate() {
                    register.0.as_ptr().add(16 * half).copy_to_nonoverlapping(to, 16);
                }
            }
        }
    }
}

unsafe extern "C" fn handle(_: c_int, _: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the location belongs to this thread.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the system passes the frame.
    let mut frame = Frame(unsafe { &mut *context.cast::<ucontext_t>() });
    if !(is_of_program(frame.rip()) && detect::answer(&mut frame)) {
        report::signal();
        CPU.with_borrow_mut(|cpu| interpret(cpu.get_or_insert_with(Cpu::new), &mut frame));
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

fn interpret(cpu: &mut Cpu, frame: &mut Frame<'_>) {
    frame.load(cpu);
    let (from, stack) = (cpu.rip, cpu.general[4]);
    cpu.lowest_stack = stack - RED_ZONE;
    cpu.whole_functions = is_of_program(from);
    let left = |cpu: &Cpu| {
        let returned = cpu.general[4] > stack && !cpu.has_upper();
        if cpu.whole_functions { returned } else { is_of_program(cpu.rip) }
    };
    // SAFETY: it is the program's own code, in the state that the program is in.
    match unsafe { cpu.run(left) } {
        Stop::Left => {}
        // The processor lacks the first instruction, which raised the signal, but may know later ones.
        Stop::Unknown(_) if !cpu.has_upper() && cpu.rip != from => {}
        Stop::Unknown(what) => give_up(&format!("`{what}` at {:#x} isn't known, or is no instruction", cpu.rip)),
        Stop::Stack => give_up(&format!("code at {:#x} lowers the stack pointer, which its beginning has to", cpu.rip)),
    }
    frame.store(cpu);
}
