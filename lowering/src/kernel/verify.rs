//! Verifies the rules of kernels, and defines the errors of code generators.

use super::{KOp, KValue, Kernel, Unary};
use rewright_ir::{DType, Kind};
use thiserror::Error;

/// The reason for which a kernel can't be compiled.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum KernelError {
    /// The kernel violates a rule of the IR, which is a defect of its producer.
    #[error("malformed kernel, instruction {inst}: {message}")]
    Malformed {
        /// The number of the instruction.
        inst: usize,
        /// The violated rule.
        message: String,
    },
    /// The code generator does not support the kernel.
    #[error("{codegen} can't compile this kernel: {message}")]
    Unsupported {
        /// The name of the code generator.
        codegen: &'static str,
        /// The reason.
        message: String,
    },
    /// The code generator is not available.
    #[error("{codegen}: {message}")]
    Unavailable {
        /// The name of the code generator.
        codegen: &'static str,
        /// The reason.
        message: String,
    },
}

impl Kernel {
    /// Checks the rules on which code generators rely.
    pub fn verify(&self) -> Result<(), KernelError> {
        // The first instruction that defines each value, if there is one: alternative combinations share
        // values.
        let mut by = vec![None; self.values.len()];
        for (number, inst) in self.insts.iter().enumerate() {
            let results = inst.first.0 as usize..(inst.first.0 as usize).saturating_add(inst.results as usize);
            by.get_mut(results).into_iter().flatten().for_each(|by| *by = by.or(Some(number)));
        }
        for (number, inst) in self.insts.iter().enumerate() {
            let fail = |message: String| Err(KernelError::Malformed { inst: number, message });
            let is_late = |arg: &&KValue| by.get(arg.0 as usize).is_none_or(|by| by.is_some_and(|by| by >= number));
            if let Some(late) = inst.args.iter().find(is_late) {
                return fail(format!("operand {late:?} is not defined before"));
            }
            if inst.first.0 + inst.results > self.values.len() as u32 {
                return fail("results beyond the value table".into());
            }
            let arg = |i: usize| inst.args.get(i).map(|&v| self.dtype(v));
            let out = (inst.results > 0).then(|| self.dtype(inst.first));
            let level = inst.args.iter().map(|a| self.values[a.0 as usize].level).max().unwrap_or(0);
            if self.level(inst) < level || self.level(inst) > self.axes as u32 {
                return fail("level below an operand's, or beyond the loops".into());
            }
            let arity = match &inst.op {
                KOp::Const(_) | KOp::Param(_) | KOp::Index(_) | KOp::Load(..) => 0,
                KOp::Store(..) | KOp::Unary(_) | KOp::Convert | KOp::Bitcast | KOp::Choose(_) => 1,
                KOp::Binary(_) | KOp::Compare(_) => 2,
                KOp::Select | KOp::Fma => 3,
                KOp::Math(call) => call.arity(),
                KOp::MathWhere(call) => 2 + call.arity(),
                KOp::Reference(_) => inst.args.len(),
            };
            if inst.args.len() != arity {
                return fail(format!("{arity} operands wanted, {} given", inst.args.len()));
            }
            if inst.results == 0 && !matches!(inst.op, KOp::Store(..)) {
                return fail("no result".into());
            }
            if let Some(problem) = self.type_problem(&inst.op, &arg, out) {
                return fail(problem);
            }
        }
        match self.fold_problem().or_else(|| self.steps_problem()) {
            Some((inst, message)) => Err(KernelError::Malformed { inst, message }),
            None => Ok(()),
        }
    }

    fn type_problem(&self, op: &KOp, arg: &dyn Fn(usize) -> Option<DType>, out: Option<DType>) -> Option<String> {
        let wrong =
            |text: &str| Some(format!("{text}: operands {:?} {:?} {:?}, result {out:?}", arg(0), arg(1), arg(2)));
        if out.is_some_and(|d| d.kind() == Kind::Complex) {
            return wrong("values are real");
        }
        match op {
            KOp::Param(n) if self.params.get(*n as usize).copied() != out => wrong("no such parameter"),
            KOp::Index(axis) if *axis as usize >= self.axes || out != Some(DType::I64) => wrong("no such axis"),
            KOp::Load(n, _) => match self.buffers.get(*n as usize) {
                Some(b) if Some(b.dtype.real()) == out && b.varies.len() == self.axes => None,
                _ => wrong("no such buffer, or of another dtype"),
            },
            KOp::Store(n, _) => match self.buffers.get(*n as usize) {
                Some(b) if b.written && Some(b.dtype.real()) == arg(0) && b.varies.len() == self.axes => None,
                _ => wrong("no such buffer to write, or of another dtype"),
            },
            KOp::Unary(Unary::PopCount | Unary::LeadingZeros) if !arg(0)?.is_int() => wrong("integers only"),
            KOp::Unary(_) if arg(0) != out => wrong("one dtype"),
            KOp::Binary(_) if arg(0) != out || arg(1) != out => wrong("one dtype"),
            KOp::Compare(_) if arg(0) != arg(1) || out != Some(DType::Bool) => wrong("one dtype, bool result"),
            KOp::Select if arg(0) != Some(DType::Bool) || arg(1) != out || arg(2) != out => {
                wrong("bool, and one dtype")
            }
            KOp::MathWhere(_) if arg(0) != Some(DType::Bool) || arg(1) != out || arg(2) != out || !out?.is_float() => {
                wrong("bool, and one float dtype")
            }
            KOp::Bitcast if arg(0)?.size() != out?.size() => wrong("one size"),
            KOp::Fma if arg(0) != out || arg(1) != out || arg(2) != out || !out?.is_float() => wrong("one float dtype"),
            _ => None,
        }
    }

    /// Whether an instruction uses a value.
    pub fn is_used(&self, value: KValue) -> bool {
        self.insts.iter().any(|i| i.args.contains(&value))
    }
}
