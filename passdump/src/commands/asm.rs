//! `passdump asm`: prints the kernels of a function, with their schedules, instructions and machine code.

use crate::args::{AsmArgs, Level};
use crate::engine::{self, Backend};
use crate::error::Error;
use crate::output::{Out, Tone, count};
use crate::program::Program;
use rewright::lowering::internals::Cranelift;
use rewright::lowering::internals::kernel::{CodeGen, CompiledKernel, Kernel, KernelError};
use rewright::lowering::internals::plan::{KernelStep, StepKind};
use rewright::rewrites::Options;
use rewright::{Loc, Name, Op, exec};
use std::io::Write;

/// A kernel with its origin.
struct Found<'a> {
    step: &'a KernelStep,
    func: Name,
    op: Op,
    loc: Loc,
}

/// Rewrites and compiles the program, and prints its kernels.
pub fn asm(out: &mut Out, args: &AsmArgs) -> Result<(), Error> {
    let program = Program::load_called(&args.input)?;
    let backend = match args.level {
        None => Backend::Auto,
        Some(Level::Avx2) => Backend::X64Avx2,
        Some(Level::Avx512) => Backend::X64,
        Some(Level::Cranelift) => Backend::Cranelift,
    };
    let options = program.rewriting(backend, Options::default());
    let module = engine::rewrite(program.module.clone(), &options, program.source(), None)?.module;
    let executable = engine::executable(&module, program.func, Backend::Auto, exec::Options::default())?;
    let mut kernels = Vec::new();
    for function in &executable.plan().functions {
        for step in &function.steps {
            if let StepKind::Kernel(kernel) = &step.kind {
                let loc = module.get(function.name).map_or_else(Loc::default, |func| func.inst(step.inst).loc);
                kernels.push(Found { step: kernel, func: function.name, op: step.op, loc });
            }
        }
    }
    if let Some(number) = args.kernel.filter(|number| !(1..=kernels.len()).contains(number)) {
        let there = count(kernels.len() as u64, "kernel");
        return Err(Error::message(format!("--kernel {number}: `@{}` has {there}, counted from 1", program.func)));
    }
    let all = kernels.len();
    let wanted = (1..).zip(&kernels).filter(|(number, _)| args.kernel.is_none_or(|only| only == *number));
    for (shown, (number, found)) in wanted.enumerate() {
        if shown > 0 {
            writeln!(out)?;
        }
        out.line(
            Tone::Strong,
            format!("kernel {number} of {all}: `{}` of `@{}`, {}", found.op, found.func, found.loc),
        )?;
        show(out, found.step, args.level)?;
    }
    if kernels.is_empty() {
        writeln!(out, "`@{}` has no kernels", program.func)?;
    }
    Ok(out.comments(executable.remarks())?)
}

fn show(out: &mut Out, step: &KernelStep, level: Option<Level>) -> Result<(), Error> {
    let kernel = &step.launch.lowered.kernel;
    let other = match level {
        Some(level) => match compile(kernel, level) {
            Ok(compiled) => Some(compiled),
            Err(why) => {
                writeln!(out, "\n{kernel}")?;
                return Ok(out.wrapped(&format!("not compiled: {why}"), 2)?);
            }
        },
        None => None,
    };
    let (by, compiled): (&str, &dyn CompiledKernel) = match &other {
        Some((by, compiled)) => (by, &**compiled),
        None => (step.launch.codegen, &*step.launch.compiled),
    };
    out.wrapped(&format!("schedule by {by}: {}", compiled.schedule()), 2)?;
    if step.launch.packed {
        writeln!(out, "its bools become bits of words while the cache holds them")?;
    }
    writeln!(out, "\n{kernel}")?;
    match compiled.disassembly() {
        Some(listing) => writeln!(out, "{}", listing.trim_end())?,
        None => writeln!(out, "{by} makes no machine code")?,
    }
    Ok(())
}

/// Compiles a kernel with the code generator of a level.
fn compile(kernel: &Kernel, level: Level) -> Result<(&'static str, Box<dyn CompiledKernel>), KernelError> {
    let codegen = codegen(level)?;
    Ok((codegen.name(), codegen.compile(kernel)?))
}

#[cfg(target_arch = "x86_64")]
fn codegen(level: Level) -> Result<Box<dyn CodeGen>, KernelError> {
    use rewright::lowering::internals::x64::{self, X64};
    Ok(match level {
        Level::Avx2 => Box::new(X64::at(x64::Level::Avx2)?),
        Level::Avx512 => Box::new(X64::at(x64::Level::Avx512)?),
        Level::Cranelift => Box::new(Cranelift::new()?),
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn codegen(level: Level) -> Result<Box<dyn CodeGen>, KernelError> {
    match level {
        Level::Cranelift => Ok(Box::new(Cranelift::new()?)),
        _ => Err(KernelError::Unsupported { codegen: "x64", message: "the processor is of another kind".into() }),
    }
}
