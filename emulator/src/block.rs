//! Decodes blocks of consecutive instructions.

use crate::report;
use iced_x86::{Decoder, DecoderError, DecoderOptions, FlowControl, Instruction};

/// The most instructions of a block.
const MOST: usize = 48;
/// The most bytes of an instruction.
const LONGEST: usize = 15;
const PAGE: usize = 4096;

/// Instructions up to a branch, with the bytes that they were decoded from, because code memory may be
/// reused for other code.
pub struct Block {
    start: u64,
    bytes: Vec<u8>,
    pub instructions: Vec<Instruction>,
}

impl Block {
    /// True if this block was decoded from `at` and the code there is unchanged.
    ///
    /// # Safety
    /// There is code.
    pub unsafe fn is_at(&self, at: u64) -> bool {
        let (here, beyond) = self.bytes.split_at(self.bytes.len().min(page_left(at)));
        // SAFETY: the page has code.
        let is = |at: u64, bytes: &[u8]| bytes == unsafe { std::slice::from_raw_parts(at as *const u8, bytes.len()) };
        // Code that is the same up to the end of its page goes on beyond it, as the block did.
        self.start == at && is(at, here) && is(at + here.len() as u64, beyond)
    }

    /// Decodes a block of instructions from `at`.
    ///
    /// # Safety
    /// There is code.
    pub unsafe fn decode(at: u64) -> Block {
        let mut instructions = Vec::new();
        let mut end = at;
        while instructions.len() < MOST {
            // SAFETY: the block goes on here.
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

/// The bytes from there to the end of the page.
fn page_left(at: u64) -> usize {
    PAGE - at as usize % PAGE
}

/// The instruction that is there. The next page is read only if the bytes of this one don't tell what it is.
unsafe fn instruction(at: u64) -> Instruction {
    let decode = |len| {
        // SAFETY: the rest of a page that has code, or the bytes of an instruction that doesn't end with it.
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
