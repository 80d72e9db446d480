//! Loop programs as text, for people.

use super::{Accumulator, Condition, Linear, Location, Program, Stmt, Storage};
use crate::kernel::{Part, inst_text};
use crate::scalar::Elem;
use rewright_ir::DType;
use std::fmt;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, buffer) in self.buffers.iter().enumerate() {
            match &buffer.storage {
                Storage::Caller { rank, streamed } => {
                    let how = if *streamed { ", streamed" } else { "" };
                    writeln!(f, "buffer b{number}: {}, rank {rank}{how}", buffer.dtype)?;
                }
                Storage::Local { .. } => {}
            }
        }
        self.scope(f, &self.body, 0)
    }
}

impl Program {
    fn scope(&self, f: &mut fmt::Formatter<'_>, stmts: &[Stmt], depth: usize) -> fmt::Result {
        let indent = "  ".repeat(depth);
        for stmt in stmts {
            f.write_str(&indent)?;
            match stmt {
                Stmt::Inst(inst) => {
                    let dtype = self.values.get(inst.first.0 as usize).copied().unwrap_or(DType::Bool);
                    writeln!(f, "{}", inst_text(inst, dtype))?;
                }
                Stmt::Load(value, location) => writeln!(f, "{value:?} = load {location}")?,
                Stmt::Local(number) => {
                    let buffer = &self.buffers[*number as usize];
                    let Storage::Local { extents } = &buffer.storage else { continue };
                    writeln!(f, "local b{number}: {}{extents:?}", buffer.dtype)?;
                }
                Stmt::Store(location, value) => writeln!(f, "store {location}, {value:?}")?,
                Stmt::For(nest) => {
                    writeln!(f, "for {:?} in {}..{}:", nest.index, nest.lo, least(&nest.hi))?;
                    self.scope(f, &nest.body, depth + 1)?;
                }
                Stmt::If(branch) => {
                    writeln!(f, "if {}:", branch.condition)?;
                    self.scope(f, &branch.then, depth + 1)?;
                    if !branch.otherwise.is_empty() {
                        writeln!(f, "{indent}else:")?;
                        self.scope(f, &branch.otherwise, depth + 1)?;
                    }
                }
                Stmt::Reduce(reduce) => {
                    writeln!(f, "reduce {:?} in 0..{}:", reduce.index, least(&reduce.points))?;
                    self.scope(f, &reduce.body, depth + 1)?;
                    for (accumulator, total) in &reduce.accumulators {
                        let totals: Vec<String> = total.all().map(|buffer| format!("b{buffer}")).collect();
                        let Accumulator { left, right, both, body, .. } = accumulator;
                        let [left, right, both] = [left, right, both].map(|elems| names(elems));
                        writeln!(f, "{indent}onto {} by {left}, {right} -> {both}:", totals.join(", "))?;
                        self.scope(f, body, depth + 1)?;
                    }
                }
                Stmt::Combine(items) => writeln!(f, "combine {}", names(items))?,
                Stmt::Nest(nest) => {
                    let bounds = nest.bounds.iter().map(|(lo, hi)| format!("{lo}..{}", least(hi)));
                    let bounds: Vec<String> = bounds.collect();
                    writeln!(f, "kernel {} over {}:", nest.number, bounds.join(", "))?;
                    for (number, buffer) in nest.buffers.iter().enumerate() {
                        writeln!(f, "{indent}  buffer {number}: {}, strides {:?}", buffer.first, buffer.along)?;
                    }
                    for (number, param) in nest.params.iter().enumerate() {
                        writeln!(f, "{indent}  param {number}: {param:?}")?;
                    }
                }
                Stmt::Fail => writeln!(f, "fail")?,
            }
        }
        Ok(())
    }
}

fn names(elems: &[Elem]) -> String {
    let names: Vec<String> = elems.iter().flat_map(Elem::parts).map(|value| format!("{value:?}")).collect();
    names.join(", ")
}

/// The least of some forms.
fn least(forms: &[Linear]) -> String {
    let forms: Vec<String> = forms.iter().map(Linear::to_string).collect();
    if let [form] = &forms[..] { form.clone() } else { format!("min({})", forms.join(", ")) }
}

impl fmt::Display for Linear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, &(value, coefficient)) in self.terms().iter().enumerate() {
            let sign = match (n, coefficient < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            match coefficient.unsigned_abs() {
                1 => write!(f, "{sign}{value:?}")?,
                factor => write!(f, "{sign}{factor}*{value:?}")?,
            }
        }
        match (self.terms().is_empty(), self.constant) {
            (true, constant) => write!(f, "{constant}"),
            (false, 0) => Ok(()),
            (false, constant) if constant < 0 => write!(f, " - {}", constant.unsigned_abs()),
            (false, constant) => write!(f, " + {constant}"),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at: Vec<String> = self.at.iter().map(Linear::to_string).collect();
        let part = if self.part == Part::Im { ".im" } else { "" };
        write!(f, "b{}[{}]{part}", self.buffer, at.join(", "))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Value(value) => write!(f, "{value:?}"),
            Condition::NotNegative(forms) => {
                let forms: Vec<String> = forms.iter().map(|form| format!("{form} >= 0")).collect();
                f.write_str(&forms.join(" and "))
            }
        }
    }
}
