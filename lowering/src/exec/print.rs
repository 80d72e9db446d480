//! Prints plans as text.

use super::plan::{ArrayEval, Edge, FuncPlan, Meaning, Plan, Slot, Step, StepKind};
use rewright_ir::Traits;
use std::fmt;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, func) in self.functions.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            write!(f, "{func}")?;
        }
        Ok(())
    }
}

impl fmt::Display for FuncPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let params: Vec<_> = self.params.iter().map(|p| format!("{:?}: {}", p.slot, p.ty)).collect();
        writeln!(f, "plan @{}({}), {} slots", self.name, params.join(", "), self.slots)?;
        for (slot, scalar) in &self.constants {
            writeln!(f, "  {slot:?} = {scalar}:{}", scalar.dtype())?;
        }
        for (number, step) in self.steps.iter().enumerate() {
            writeln!(f, "  {number}: {step}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.defs.is_empty() {
            let defs: Vec<_> = self.defs.iter().map(|d| format!("{:?}: {}", d.slot, d.ty)).collect();
            write!(f, "{} = ", defs.join(", "))?;
        }
        match &self.kind {
            StepKind::Scalar(_) => write!(f, "scalar {}", self.op)?,
            StepKind::Kernel(_) => write!(f, "kernel {}", self.op)?,
            StepKind::Program(_) => write!(f, "program {}", self.op)?,
            StepKind::View(_) => write!(f, "view {}", self.op)?,
            StepKind::Array(ArrayEval::Op) if self.op.traits.contains(Traits::DIRECT) => write!(f, "{}", self.op)?,
            StepKind::Array(ArrayEval::Op) => write!(f, "reference {}", self.op)?,
            StepKind::Array(ArrayEval::Ufunc(callee)) => write!(f, "reference {} {callee}", self.op)?,
            StepKind::Free => f.write_str("free")?,
            StepKind::Call(call) => write!(f, "call {}", call.callee)?,
            StepKind::GetItem | StepKind::Dim(_) | StepKind::Join(_) | StepKind::Pick(_) => write!(f, "{}", self.op)?,
            StepKind::Component(_) | StepKind::Assemble(_) => write!(f, "{}", self.op)?,
            StepKind::Update(update) => write!(f, "{}{}", self.op, if update.in_place { " in place" } else { "" })?,
            StepKind::Constant(_) => write!(f, "{}", self.op)?,
            StepKind::Store(_) | StepKind::Print(_) | StepKind::Raise(_) | StepKind::Ret(_) => {
                write!(f, "{}", self.op)?
            }
            StepKind::Jump(_) | StepKind::BrIf(_) | StepKind::Switch(..) => write!(f, "{}", self.op)?,
        }
        if !self.args.is_empty() {
            write!(f, " {}", slots(&self.args))?;
        }
        if let StepKind::Kernel(kernel) = &self.kind
            && let Meaning::Assign(_, to) = kernel.meaning
        {
            write!(f, " into {:?}", to.slot)?;
        }
        if let StepKind::Kernel(kernel) = &self.kind
            && kernel.launch.packed
        {
            write!(f, " in bits")?;
        }
        if self.fills_part {
            write!(f, " into a part")?;
        }
        for edge in self.edges() {
            write!(f, " {edge}")?;
        }
        if !self.free.is_empty() {
            write!(f, "; free {}", slots(&self.free))?;
        }
        Ok(())
    }
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moves: Vec<_> = self.moves.iter().map(|m| format!("{:?} = {:?}", m.to, m.from)).collect();
        write!(f, "-> {}({})", self.to, moves.join(", "))?;
        if !self.free.is_empty() {
            write!(f, " free {}", slots(&self.free))?;
        }
        Ok(())
    }
}

fn slots(slots: &[Slot]) -> String {
    let list: Vec<_> = slots.iter().map(|s| format!("{s:?}")).collect();
    list.join(", ")
}
