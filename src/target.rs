//! The target of a backend, as rewrites see it.

use rewright_ir::parse_module;
use rewright_lowering::exec::{Backend, Executable, Options};
use rewright_rewrites::Target;
use std::env::consts::ARCH;
use std::sync::OnceLock;

/// A function that every code generator takes.
const SAMPLE: &str = "func @f(%x: f64) -> f64 {\nentry:\n  ret %x\n}\n";

/// The target of a backend on this machine, for
/// [`rewrites::Options::target`](rewright_rewrites::Options::target). The target of a backend that this
/// machine lacks is unknown.
pub fn target_of(backend: Backend) -> Target {
    static KNOWN: [OnceLock<Target>; Backend::ALL.len()] = [const { OnceLock::new() }; Backend::ALL.len()];
    let known = Backend::ALL.iter().position(|other| *other == backend).and_then(|at| KNOWN.get(at));
    known.map_or_else(|| found(backend), |known| known.get_or_init(|| found(backend)).clone())
}

fn found(backend: Backend) -> Target {
    if backend == Backend::Reference {
        return Target { codegen: Some("reference".to_string()), ..Target::default() };
    }
    let options = Options { backend, ..Options::default() };
    let executable = parse_module(SAMPLE, "sample").ok().and_then(|m| Executable::compile(&m, "f", options).ok());
    executable.as_ref().and_then(Executable::codegen).map_or_else(Target::default, target_by)
}

/// The target of a code generator, by its name.
fn target_by(codegen: &str) -> Target {
    let (instruction_set, vector_bytes) = match codegen {
        "interp" => (None, None),
        "x64-avx512" => (Some("avx512"), Some(64)),
        "x64-avx2" => (Some("avx2"), Some(32)),
        _ => (Some(ARCH), None),
    };
    Target { codegen: Some(codegen.to_string()), instruction_set: instruction_set.map(str::to_string), vector_bytes }
}
