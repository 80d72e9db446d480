//! Lowers elementwise ops to kernel IR: the instructions that compute one element of an op, for one of its
//! loops (dtype signatures).
//!
//! The interface [`LowerScalar`] defines the lowering of an op. Any crate can register it for any op:
//!
//! ```
//! use rewright_lowering::Binary;
//! use rewright_lowering::scalar::{Elem, Elems, LowerScalar, ScalarCx};
//! # use rewright_ir::{Attrs, DType, EvalError, Loop, OpDef, Scalar, Scalars};
//! # static TWICE: OpDef = OpDef::elementwise("example.twice", "doubles", 1, resolve, meaning);
//! # fn resolve(_: &[DType], _: &Attrs) -> Result<Loop, String> { Ok(Loop::uniform(1, DType::F64, DType::F64)) }
//! # fn meaning(args: &[Scalar], _: &Attrs) -> Result<Scalars, EvalError> {
//! #     Ok(Scalars::from_slice(&[Scalar::F64(2.0 * args[0].to_f64())]))
//! # }
//! # rewright_ir::register_op!(TWICE);
//! fn twice(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
//!     Some(Elems::from_elem(Elem::real(args[0].dtype, cx.k.binary(Binary::Add, args[0].re, args[0].re)), 1))
//! }
//! rewright_ir::register_interface!("example.twice", LowerScalar, &LowerScalar(twice));
//! # fn main() {}
//! ```
//!
//! The results must be those of the op's reference meaning bit for bit, for all operands. If an op has no
//! lowering for a loop, the reference meaning computes it there, one point at a time.

mod arithmetic;
mod compare;
mod complex;
mod convert;
mod division;
mod elem;
mod expand;
mod floats;
mod functions;
mod integer;
mod logic;
mod power;

pub(crate) use compare::{any_nan, compare};
pub use elem::{Elem, Elems, ScalarCx};

use crate::kernel::{KOp, Reference};
use rewright_ir::{Attrs, DType, Eval, Loop, Op};
use smallvec::SmallVec;

/// Computes one element: appends instructions to the kernel, and returns the results. Operands and results
/// have the dtypes of the op's loop. `None` if there is no lowering for these dtypes.
pub type LowerFn = fn(&mut ScalarCx<'_>, &[Elem]) -> Option<Elems>;

/// Interface: the lowering of an elementwise op to kernel IR.
#[derive(Clone, Copy)]
pub struct LowerScalar(pub LowerFn);

/// Registers lowerings of this crate: `lower! { "add" => add; }`.
macro_rules! lower {
    ($($name:literal => $lower:expr;)*) => {$(
        rewright_ir::register_interface!($name, $crate::scalar::LowerScalar, &$crate::scalar::LowerScalar($lower));
    )*};
}
use lower;

impl ScalarCx<'_> {
    /// Computes an elementwise op on operands of any dtypes: selects its loop, casts the operands, and
    /// applies its lowering, or its reference meaning if there is none. The error is the reason for which
    /// the op can't be applied to these operands.
    pub fn apply(&mut self, op: Op, attrs: &Attrs, args: &[Elem]) -> Result<Elems, String> {
        let Eval::Elementwise { resolve, .. } = op.eval else {
            return Err(format!("`{op}` is not elementwise"));
        };
        let dtypes: SmallVec<[DType; 3]> = args.iter().map(|a| a.dtype).collect();
        let found = resolve(&dtypes, attrs)?;
        if found.ins.len() != args.len() {
            return Err(format!("`{op}` takes {} operands, not {}", found.ins.len(), args.len()));
        }
        let args: SmallVec<[Elem; 3]> = args.iter().zip(&found.ins).map(|(&a, &to)| self.cast(a, to)).collect();
        let lowered = match op.interface::<LowerScalar>() {
            Some(LowerScalar(lower)) => lower(&mut ScalarCx { k: &mut *self.k, attrs }, &args),
            None => None,
        };
        let results = lowered.unwrap_or_else(|| self.reference(op, attrs, &found, &args));
        if !results.iter().map(|r| r.dtype).eq(found.outs.iter().copied()) {
            return Err(format!("the lowering of `{op}` gives other results than {:?}", found.outs));
        }
        Ok(results)
    }

    /// Computes an op by its reference meaning.
    fn reference(&mut self, op: Op, attrs: &Attrs, dtypes: &Loop, args: &[Elem]) -> Elems {
        let flat: SmallVec<[_; 4]> = args.iter().flat_map(Elem::parts).collect();
        let parts = dtypes.outs.iter().flat_map(|d| std::iter::repeat_n(d.real(), 1 + usize::from(d.is_complex())));
        let parts: SmallVec<[DType; 2]> = parts.collect();
        let reference = Reference {
            op,
            attrs: attrs.clone(),
            args: dtypes.ins.clone(),
            results: dtypes.outs.iter().copied().collect(),
        };
        let mut next = self.k.push_many(KOp::Reference(Box::new(reference)), &flat, &parts);
        let mut take = || {
            let value = next;
            next.0 += 1;
            value
        };
        let elem = |&dtype: &DType| {
            let re = take();
            Elem { dtype, re, im: dtype.is_complex().then(&mut take) }
        };
        dtypes.outs.iter().map(elem).collect()
    }
}
