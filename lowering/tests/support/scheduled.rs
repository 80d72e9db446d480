//! Programs with a place for a schedule.

use rewright_ir::text::parse_module;
use rewright_lowering::exec::{Backend, Executable, Options};
use rewright_lowering::internals::schedule::Block;
use std::num::NonZeroU32;

/// The function `f` of a text, with the schedule where the text says `SCHEDULE`. How its calls are run is told.
pub fn compile(text: &str, schedule: &str, backend: Backend, threads: u32) -> Executable {
    let schedule = if schedule.is_empty() { String::new() } else { format!("schedule=\"{schedule}\"") };
    let module = parse_module(&text.replace("SCHEDULE", &schedule), "test.ir");
    let module = module.unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)));
    let options = Options { backend, times: true, threads: NonZeroU32::new(threads), ..Options::default() };
    Executable::compile(&module, "f", options).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The transformations of the latest call of the first kernel.
pub fn blocks(f: &Executable) -> Vec<Block> {
    f.schedules()[0].schedule.blocks.clone().expect("those of a call are decided")
}

/// True if the latest call collapsed loops, outside of a fission.
pub fn collapses(f: &Executable) -> bool {
    blocks(f).iter().any(|block| matches!(block, Block::Collapse { .. }))
}

/// True if the latest call staged rows as lanes.
pub fn stages_rows(f: &Executable) -> bool {
    blocks(f).iter().any(|block| matches!(block, Block::Stage { pitch: Some(128), .. }))
}

/// True if the latest call computed points before it combined them.
pub fn has_fission(f: &Executable) -> bool {
    blocks(f).iter().any(|block| matches!(block, Block::Fission { .. }))
}

/// True if vectors of the first kernel are those of AVX-512.
pub fn is_avx512(f: &Executable) -> bool {
    f.schedules()[0].codegen == "x64-avx512"
}
