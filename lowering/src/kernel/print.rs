//! Prints kernels as text.

use super::{KInst, KOp, KValue, Kernel, Part, Steps};
use rewright_ir::{DType, Scalar};
use std::fmt;

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, b) in self.buffers.iter().enumerate() {
            let axes: Vec<_> = (0..self.axes).map(|a| if b.varies[a] { format!("i{a}") } else { "-".into() }).collect();
            writeln!(f, "{} b{n}: {}[{}]", if b.written { "write" } else { "read " }, b.dtype, axes.join(", "))?;
        }
        for group in &self.interleaved {
            let name = |part: &Option<u32>| part.map_or("-".into(), |number| format!("b{number}"));
            writeln!(f, "interleaved {}", group.parts.iter().map(name).collect::<Vec<_>>().join(", "))?;
        }
        if self.wishes.streaming {
            writeln!(f, "streaming stores")?;
        }
        if self.wishes.backwards {
            writeln!(f, "backwards")?;
        }
        if let Some(lanes) = self.wishes.lanes {
            writeln!(f, "{lanes} points a vector")?;
        }
        if let Some(unroll) = self.wishes.unroll {
            writeln!(f, "{unroll} vectors a round")?;
        }
        if let Some(stages) = self.wishes.stages {
            writeln!(f, "at most {stages} stages")?;
        }
        let levels = self.levels();
        for level in 0..=self.axes as u32 {
            let indent = "  ".repeat(level as usize);
            if level > 0 {
                writeln!(f, "{}for i{}:", "  ".repeat(level as usize - 1), level - 1)?;
            }
            for &inst in &levels[level as usize] {
                self.print_inst(f, inst, &indent)?;
            }
        }
        let list = |values: &[KValue]| values.iter().map(|v| format!("{v:?}")).collect::<Vec<_>>().join(", ");
        if let Some(Steps { first, before, after, last, end, alike: _ }) = &self.steps {
            let (indent, inner) = ("  ".repeat(self.axes - 1), "  ".repeat(self.axes));
            writeln!(f, "{inner}carry {} from {} as {}", list(after), list(first), list(before))?;
            writeln!(f, "{indent}then, with {}:", list(last))?;
            for inst in end.clone() {
                self.print_inst(f, inst, &indent)?;
            }
        }
        let Some(fold) = &self.fold else { return Ok(()) };
        let indent = "  ".repeat(self.axes);
        writeln!(
            f,
            "{indent}fold {} by ({}), ({}), {:?}:",
            list(&fold.items),
            list(&fold.left),
            list(&fold.right),
            fold.order
        )?;
        for inst in fold.combine.clone() {
            self.print_inst(f, inst, &format!("{indent}  "))?;
        }
        writeln!(f, "{indent}  yield {}", list(&fold.both))?;
        let others = [("onward", &fold.onward), ("alone", &fold.alone)];
        for (name, onward) in others.iter().filter_map(|(name, other)| Some((name, other.as_ref()?))) {
            writeln!(f, "{indent}  {name}:")?;
            for inst in onward.combine.clone() {
                self.print_inst(f, inst, &format!("{indent}  "))?;
            }
            writeln!(f, "{indent}  yield {}", list(&onward.both))?;
        }
        let indent = "  ".repeat(self.axes - 1);
        writeln!(f, "{indent}then, with {}:", list(&fold.totals))?;
        for inst in fold.after.clone() {
            self.print_inst(f, inst, &indent)?;
        }
        Ok(())
    }
}

impl Kernel {
    /// An instruction as text, which listings show before its code.
    pub fn inst_text(&self, number: usize) -> Option<String> {
        let mut text = String::new();
        self.insts.get(number)?;
        self.print_inst(&mut text, number, "").ok()?;
        text.truncate(text.trim_end().len());
        Some(text)
    }

    fn print_inst(&self, f: &mut impl fmt::Write, number: usize, indent: &str) -> fmt::Result {
        let inst = &self.insts[number];
        let dtype = if inst.results > 0 { self.dtype(inst.first) } else { DType::Bool };
        writeln!(f, "{indent}{}", inst_text(inst, dtype))
    }
}

/// An instruction as text; `dtype` is that of its first result.
pub fn inst_text(inst: &KInst, dtype: DType) -> String {
    let part = |part: &Part| if *part == Part::Im { ".im" } else { "" };
    let results: Vec<_> = (0..inst.results).map(|r| format!("v{}", inst.first.0 + r)).collect();
    let args: Vec<_> = inst.args.iter().map(|a| format!("{a:?}")).collect();
    let defined = if results.is_empty() { String::new() } else { format!("{}: {dtype} = ", results.join(", ")) };
    let op = match &inst.op {
        KOp::Const(bits) => Scalar::from_bits(dtype, (*bits, 0)).to_string(),
        KOp::Param(number) => format!("p{number}"),
        KOp::Index(axis) => format!("i{axis}"),
        KOp::Load(buffer, p) => format!("load b{buffer}{}", part(p)),
        KOp::Store(buffer, p) => format!("store b{buffer}{}", part(p)),
        KOp::Unary(op) => format!("{op:?}").to_lowercase(),
        KOp::Binary(op) => format!("{op:?}").to_lowercase(),
        KOp::Compare(op) => format!("{op:?}").to_lowercase(),
        KOp::Reference(r) => format!("reference {}", r.op),
        KOp::Choose(table) => format!("choose {}", table.name),
        KOp::Math(call) => format!("call {}", call.name),
        KOp::MathWhere(call) => format!("call {} where", call.name),
        op => format!("{op:?}").to_lowercase(),
    };
    format!("{defined}{op}{}{}", if args.is_empty() { "" } else { " " }, args.join(", "))
}
