//! Programs with a place for a schedule.

use rewright_ir::text::parse_module;
use rewright_lowering::exec::{Backend, Executable, Options};
use std::num::NonZeroU32;

/// The function `f` of a text, with the schedule where the text says `SCHEDULE`. How its calls are run is told.
pub fn compile(text: &str, schedule: &str, backend: Backend, threads: u32) -> Executable {
    let schedule = if schedule.is_empty() { String::new() } else { format!("schedule=\"{schedule}\"") };
    let module = parse_module(&text.replace("SCHEDULE", &schedule), "test.ir");
    let module = module.unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)));
    let options = Options { backend, times: true, threads: NonZeroU32::new(threads), ..Options::default() };
    Executable::compile(&module, "f", options).unwrap_or_else(|e| panic!("{e}\n{text}"))
}
