//! Functions of one block of any size, for measurements.

use rewright_ir::{Function, Module, parse_module};
use rewright_rewrites::{Analyses, MatchCx};
use std::fmt::Write;

pub fn module(text: &str) -> Module {
    parse_module(text, "straight").unwrap_or_else(|errors| panic!("{errors}"))
}

/// Arithmetic of which an eighth each has no effect, is computed twice, or is unused.
pub fn redundant(n: usize, ty: &str) -> String {
    let mut text = format!("func @f(%x: {ty}, %y: {ty}) -> {ty} {{\nentry:\n");
    let (mut a, mut b) = ("%x".to_string(), "%y".to_string());
    let mut last = "add %x, %y".to_string();
    let mut random = fastrand::Rng::with_seed(1);
    for i in 0..n.saturating_sub(1) {
        let op = ["add", "mul", "sub"][random.usize(0..3)];
        let kind = random.usize(0..8);
        match kind {
            0 => last = format!("{op} {a}, {}.5", random.usize(0..7)),
            1 => last = format!("mul {a}, 1.0"),
            2 => {}
            _ => last = format!("{op} {a}, {b}"),
        }
        // Writing to a string can't fail.
        let _ = writeln!(text, "  %{i} = {last}");
        if kind != 3 {
            b = std::mem::replace(&mut a, format!("%{i}"));
        }
    }
    let _ = writeln!(text, "  ret {a}\n}}");
    text
}

/// Scalar arithmetic that no rewrite of the default pipeline improves.
pub fn minimal(n: usize) -> String {
    let mut text = String::from("func @f(%x: f64, %y: f64) -> f64 {\nentry:\n");
    let name = |i: usize| match i {
        0 => "%x".to_string(),
        1 => "%y".to_string(),
        _ => format!("%{}", i - 2),
    };
    for i in 0..n.saturating_sub(1) {
        let (op, right) = match i % 4 {
            0 => ("add", name(i)),
            1 => ("mul", format!("{}.5", 2 + i % 7)),
            2 => ("sub", name(i)),
            _ => ("mul", name(i)),
        };
        let _ = writeln!(text, "  {} = {op} {}, {right}", name(i + 2), name(i + 1));
    }
    let _ = writeln!(text, "  ret {}\n}}", name(n.max(1)));
    text
}

/// Analyses with a function's effects and paths, which stay valid while instructions are rewritten, and
/// without analyses of the rewrites' own.
pub fn known(func: &Function, module: &Module) -> Analyses {
    let analyses = Analyses::default();
    let cx = MatchCx::new(func, module, &analyses);
    cx.loops();
    for block in func.blocks() {
        cx.predecessors(block);
    }
    for &param in func.params() {
        cx.is_written(param);
        cx.is_ended(param);
    }
    analyses
}
