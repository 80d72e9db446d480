//! Elementwise ops in kernel IR: what computes one element of an op, at one of its loops.
//!
//! Each op says how by the interface [`LowerScalar`], which any crate can register for any op:
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
//! The results must be those of the op's reference meaning bit for bit, whatever the operands are. An op that has no lowering at a
//! loop is computed there by its reference meaning, one point at a time.

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

/// Computes one element: appends what does it to the kernel, and gives the results. Operands and results are of the dtypes
/// of the op's loop. `None` if there is no lowering at these dtypes.
pub type LowerFn = fn(&mut ScalarCx<'_>, &[Elem]) -> Option<Elems>;

/// Interface: how an elementwise op is computed in kernel IR.
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
    /// Computes an elementwise op on operands of any dtypes: chooses its loop, casts the operands, applies its lowering, or its
    /// reference meaning where there is none. The error says why the op can't be applied to these operands.
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
