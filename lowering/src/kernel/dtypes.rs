//! Checks that each operation is defined for its dtypes, so that code generators need not handle others.

use super::{Binary, KInst, KOp, Kernel, KernelError, MathCall, MathPtr, Part, Unary};
use rewright_ir::DType;
use smallvec::SmallVec;

type DTypes = SmallVec<[DType; 4]>;

impl Kernel {
    /// Refuses operations on dtypes for which they have no meaning.
    pub fn check_dtypes(&self) -> Result<(), KernelError> {
        for (number, inst) in self.insts.iter().enumerate() {
            if let Some(message) = problem(self, inst) {
                return Err(KernelError::Malformed { inst: number, message });
            }
        }
        Ok(())
    }
}

fn problem(kernel: &Kernel, inst: &KInst) -> Option<String> {
    let args: DTypes = inst.args.iter().map(|&a| kernel.dtype(a)).collect();
    let results: DTypes = (0..inst.results).map(|r| kernel.values[(inst.first.0 + r) as usize].dtype).collect();
    let fits = match &inst.op {
        KOp::Unary(op) => match op {
            Unary::Neg | Unary::Abs => !args[0].is_bool(),
            Unary::Not => !args[0].is_float(),
            Unary::Sqrt | Unary::Floor | Unary::Ceil | Unary::Trunc | Unary::Rint | Unary::Significand => {
                args[0].is_float()
            }
            Unary::PopCount | Unary::LeadingZeros => args[0].is_int(),
        },
        KOp::Binary(op) => match op {
            Binary::Add | Binary::Sub | Binary::Mul => !args[0].is_bool(),
            Binary::Div | Binary::CopySign | Binary::Scale | Binary::Exponent => args[0].is_float(),
            Binary::And | Binary::Or | Binary::Xor => !args[0].is_float(),
            Binary::Quot | Binary::Rem | Binary::Shl | Binary::Shr => args[0].is_int(),
            Binary::Min | Binary::Max => !args[0].is_bool(),
        },
        KOp::Choose(_) => args[0].is_unsigned() && results[0].is_float() && args[0].size() == results[0].size(),
        KOp::Math(call) => args.iter().chain(&results).all(|&d| d == dtype_of(call)),
        KOp::MathWhere(call) => args[0].is_bool() && args[1..].iter().chain(&results).all(|&d| d == dtype_of(call)),
        KOp::Reference(r) => {
            r.op.is_elementwise() && args == parts(&r.args) && results == parts(&r.results) && !results.is_empty()
        }
        KOp::Load(n, Part::Im) | KOp::Store(n, Part::Im) => kernel.buffers[*n as usize].dtype.is_complex(),
        _ => true,
    };
    let one_result = matches!(inst.op, KOp::Reference(_) | KOp::Store(..)) || results.len() == 1;
    (!fits || !one_result).then(|| format!("{:?} of {args:?} to {results:?}", inst.op))
}

fn dtype_of(call: &MathCall) -> DType {
    match call.ptr {
        MathPtr::F64x1(_) | MathPtr::F64x2(_) => DType::F64,
        MathPtr::F32x1(_) | MathPtr::F32x2(_) => DType::F32,
    }
}

/// The real dtypes that scalars of these dtypes are split into.
fn parts(dtypes: &[DType]) -> DTypes {
    dtypes.iter().flat_map(|d| std::iter::repeat_n(d.real(), if d.is_complex() { 2 } else { 1 })).collect()
}
