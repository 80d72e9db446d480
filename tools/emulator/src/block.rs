//! Decodes blocks of consecutive instructions.

use crate::report;
use iced_x86::{Decoder, DecoderError, DecoderOptions, FlowControl, Instruction};

/// The maximal number of instructions of a block.
const MOST: usize = 48;
/// The maximal number of bytes of an instruction.
const LONGEST: usize = 15;
const PAGE: usize = 4096;

/// Instructions up to a branch, with the bytes from which they were decoded: code memory may be reused
/// for other code.
pub struct Block {
    start: u64,
    bytes: Vec<u8>,
    pub instructions: Vec<Instruction>,
}

impl Block {
    /// True if this block was decoded from `at` and the code there is unchanged.
    ///
    /// # Safety
    /// `at` is the address of code.
    pub unsafe fn is_at(&self, at: u64) -> bool {
        let (here, beyond) = self.bytes.split_at(self.bytes.len().min(page_left(at)));
        // SAFETY: the page has code.
        let is = |at: u64, bytes: &[u8]| bytes == unsafe { std::slice::from_raw_parts(at as *const u8, bytes.len()) };
        // If the bytes up to the end of the page are equal, the code continues on the next page, as the
        // block did.
        self.start == at && is(at, here) && is(at + here.len() as u64, beyond)
    }

    /// Decodes a block at an address.
    ///
    /// # Safety
    /// `at` is the address of code.
    pub unsafe fn decode(at: u64) -> Block {
        let mut instructions = Vec::new();
        let mut end = at;
        while instructions.len() < MOST {
            // SAFETY: the block continues here.
            let instruction = unsafe { instruction(end) };
            report::kind(instruction.mnemonic());
            instructions.push(instruction);
            end += instruction.len().max(1) as u64;
            if instruction.is_invalid() || instruction.flow_control() != FlowControl::Next {
                break;
            }
        }
        // SAFETY: instructions were decoded from there.
        let bytes = unsafe { std::slice::from_raw_parts(at as *const u8, (end - at) as usize) }.to_vec();
        Block { start: at, bytes, instructions }
    }
}

/// The number of bytes from an address to the end of its page.
fn page_left(at: u64) -> usize {
    PAGE - at as usize % PAGE
}

/// Decodes the instruction at an address. Reads the next page only if the instruction crosses the page
/// boundary.
unsafe fn instruction(at: u64) -> Instruction {
    let decode = |len| {
        // SAFETY: the rest of a page with code, or the bytes of an instruction that continues on the next
        // page.
        let bytes = unsafe { std::slice::from_raw_parts(at as *const u8, len) };
        let mut decoder = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE);
        (decoder.decode(), decoder.last_error())
    };
    let left = page_left(at);
    match decode(left.min(LONGEST)) {
        (_, DecoderError::NoMoreBytes) if left < LONGEST => decode(LONGEST).0,
        (instruction, _) => instruction,
    }
}
