//! Machine code as readable text. Loops and other jump targets have labels, and each instruction of the
//! kernel stands above the code that it became.

use crate::kernel::Kernel;
use iced_x86::{
    Code, Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter, OpKind, SymbolResolver, SymbolResult,
};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The code of a kernel, with its metadata.
pub struct Listing<'a> {
    /// The constants, followed by the code.
    pub bytes: &'a [u8],
    /// The offsets at which the code begins and is entered.
    pub start: usize,
    pub entry: usize,
    /// The address at which the code of each instruction of the kernel begins. Code that belongs to no
    /// instruction has a number out of range.
    pub marks: &'a [(u64, u32)],
    pub kernel: &'a Kernel,
}

/// The names of jump targets and constants.
#[derive(Clone)]
struct Names(BTreeMap<u64, String>);

impl SymbolResolver for Names {
    fn symbol(&mut self, inst: &Instruction, _: u32, _: Option<u32>, address: u64, _: u32) -> Option<SymbolResult<'_>> {
        // Other numbers, such as frame offsets, are not addresses.
        let name = self.0.get(&address).filter(|_| is_jump(inst) || inst.is_ip_rel_memory_operand())?;
        Some(SymbolResult::with_str(address, name))
    }
}

impl Listing<'_> {
    /// The text.
    pub fn text(&self) -> String {
        let insts = self.instructions();
        let names = self.names(&insts);
        let mut formatter = IntelFormatter::with_options(Some(Box::new(names.clone())), None);
        formatter.options_mut().set_space_after_operand_separator(true);
        formatter.options_mut().set_show_branch_size(false);
        let mut text = self.constants(&insts, &names);
        let mut marks = self.marks.iter().peekable();
        for inst in &insts {
            // Writing to a string never fails.
            if let Some(name) = names.0.get(&inst.ip()) {
                let _ = writeln!(text, "{name}:");
            }
            while let Some((_, number)) = marks.next_if(|(at, _)| *at <= inst.ip()) {
                let _ = match self.kernel.inst_text(*number as usize) {
                    Some(inst) => writeln!(text, "  ; {inst}"),
                    None => Ok(()),
                };
            }
            let mut line = String::new();
            formatter.format(inst, &mut line);
            let _ = writeln!(text, "  {:4x}  {line}", inst.ip());
        }
        text
    }

    fn instructions(&self) -> Vec<Instruction> {
        let code = self.bytes.get(self.start..).unwrap_or_default();
        let mut decoder = Decoder::with_ip(64, code, self.start as u64, DecoderOptions::NONE);
        let mut insts = Vec::new();
        while decoder.can_decode() {
            let inst = decoder.decode();
            insts.push(inst);
            // Only the rest of the page follows the entry's jump.
            if inst.ip() >= self.entry as u64 && inst.code() == Code::Jmp_rel32_64 {
                break;
            }
        }
        insts
    }

    /// The names of jump targets, `loop` for those with a backward jump, and of the constants that are read.
    fn names(&self, insts: &[Instruction]) -> Names {
        let jumps = || insts.iter().filter(|inst| is_jump(inst));
        let mut names: BTreeMap<u64, String> = jumps().map(|jump| (jump.near_branch_target(), String::new())).collect();
        let end = insts.iter().find(|inst| inst.code() == Code::Retnq).map_or(self.entry as u64, Instruction::ip);
        let (mut loops, mut others) = (0, 0);
        for (target, name) in &mut names {
            // Backward jumps of the entry, which is at the end, and of cold code after the function are no
            // loops.
            let back = jumps().any(|jump| (*target..end).contains(&jump.ip()) && jump.near_branch_target() == *target);
            let (kind, count) = if back { ("loop", &mut loops) } else { ("L", &mut others) };
            *count += 1;
            *name = format!("{kind}{count}");
        }
        names.insert(self.entry as u64, "entry".into());
        let constants = insts.iter().filter(|inst| inst.is_ip_rel_memory_operand());
        let constants = constants.map(Instruction::ip_rel_memory_address);
        let pool: BTreeMap<u64, String> = constants.map(|at| (at, String::new())).collect();
        names.extend((1..).zip(pool).map(|(number, (at, _))| (at, format!("c{number}"))));
        Names(names)
    }

    /// The named constants, as the integer and the float of their bits.
    fn constants(&self, insts: &[Instruction], names: &Names) -> String {
        let mut text = String::new();
        for (&at, name) in names.0.range(..self.start as u64) {
            let reader = insts.iter().find(|i| i.is_ip_rel_memory_operand() && i.ip_rel_memory_address() == at);
            let (size, all) = reader.map_or((8, 8), |inst| {
                let memory = inst.memory_size();
                let all = if inst.is_broadcast() { memory.element_size() } else { memory.size() };
                (all.clamp(1, 8), all)
            });
            let bytes = self.bytes.get(at as usize..at as usize + size).unwrap_or_default();
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            let bits = u64::from_le_bytes(word);
            let more = if all > size { " and others" } else { "" };
            let _ = match size {
                8 => writeln!(text, "{name}: {bits:#018x}{more}  ; {:?}", f64::from_bits(bits)),
                4 => writeln!(text, "{name}: {bits:#010x}{more}  ; {:?}", f32::from_bits(bits as u32)),
                _ => writeln!(text, "{name}: {bits:#x}{more}"),
            };
        }
        text
    }
}

fn is_jump(inst: &Instruction) -> bool {
    inst.op0_kind() == OpKind::NearBranch64
}
