//! `passdump asm`: prints the kernels and loop programs of a function, with their schedules, instructions and
//! machine code.

use crate::args::{AsmArgs, Level};
use crate::engine::{self, Backend};
use crate::error::Error;
use crate::output::{Out, Tone, count};
use crate::program::Program;
use rewright::lowering::internals::Cranelift;
use rewright::lowering::internals::kernel::{CodeGen, CompiledKernel, Kernel, KernelError};
use rewright::lowering::internals::plan::{KernelStep, LoopProgram, StepKind};
use rewright::rewrites::Options;
use rewright::{Loc, Name, Op, exec};
use std::io::Write;

/// A kernel or a loop program with its origin.
struct Found<'a> {
    code: Code<'a>,
    func: Name,
    op: Op,
    loc: Loc,
}

#[derive(Clone, Copy)]
enum Code<'a> {
    Kernel(&'a KernelStep),
    Program(&'a LoopProgram),
}

/// Rewrites and compiles the program, and prints its kernels and loop programs.
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
            let codes = match &step.kind {
                StepKind::Kernel(kernel) => vec![Code::Kernel(kernel)],
                StepKind::Program(program) => vec![Code::Program(&program.program)],
                _ => continue,
            };
            let loc = module.get(function.name).map_or_else(Loc::default, |func| func.inst(step.inst).loc);
            kernels.extend(codes.into_iter().map(|code| Found { code, func: function.name, op: step.op, loc }));
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
        let what = if let Code::Kernel(_) = found.code { "kernel" } else { "loop program" };
        out.line(
            Tone::Strong,
            format!("{what} {number} of {all}: `{}` of `@{}`, {}", found.op, found.func, found.loc),
        )?;
        match found.code {
            Code::Kernel(step) => show(out, step, args.level)?,
            Code::Program(program) => show_program(out, program, args.level)?,
        }
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
    listing(out, by, compiled)
}

/// A loop program, and the kernels that it calls.
fn show_program(out: &mut Out, program: &LoopProgram, level: Option<Level>) -> Result<(), Error> {
    let compiled_by = |level| -> Result<(&'static str, Box<dyn CompiledKernel>), String> {
        let codegen = codegen(level).map_err(|why| why.to_string())?;
        Ok((codegen.name(), program.compiled_by(&*codegen)?))
    };
    let other = match level.map(compiled_by).transpose() {
        Ok(other) => other,
        Err(why) => return Ok(out.wrapped(&format!("not compiled: {why}"), 2)?),
    };
    let (by, compiled): (&str, &dyn CompiledKernel) = match (&other, program.compiled()) {
        (Some((by, compiled)), _) => (by, &**compiled),
        (None, Ok(compiled)) => compiled,
        (None, Err(why)) => return Ok(out.wrapped(&format!("not compiled: {why}"), 2)?),
    };
    out.wrapped(&format!("schedule by {by}: {}", compiled.schedule()), 2)?;
    if let Some(program) = compiled.program() {
        writeln!(out, "\n{program}")?;
        for (number, kernel) in program.kernels().iter().enumerate() {
            writeln!(out, "kernel {number}:\n{kernel}")?;
        }
    }
    listing(out, by, compiled)
}

/// The machine code.
fn listing(out: &mut Out, by: &str, compiled: &dyn CompiledKernel) -> Result<(), Error> {
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
