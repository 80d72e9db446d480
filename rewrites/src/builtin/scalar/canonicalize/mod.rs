//! `canonicalize`: applies algebraic identities that hold bit for bit, and rewrites equivalent forms to one
//! canonical form.

mod algebra;
mod branches;
mod casts;
mod views;

use crate::prelude::*;
use rewright_ir::builder::infer_types;
use rewright_ir::op::{Eval, Loop};
use rewright_ir::{InstData, Target};
use smallvec::SmallVec;

/// Replaces instructions by simpler equivalent ones, and orders operands, so that other rewrites match fewer
/// forms.
///
/// The identities:
///
/// - Constants move to the right of commutative ops; a comparison with a constant on its left is reversed.
/// - A second `neg`, `not`, `invert` or `conj` cancels the first. `abs`, `floor` and similar ops are
///   idempotent, and have no effect on dtypes without other values.
/// - Neutral constants: `x + 0` and `x - 0` of integers, `x - 0.0` and `x + -0.0` of floats (`x + 0.0` is
///   not `x` where x is -0.0), `x * 1`, `x / 1.0`, shifts by 0, `and`, `or` and `xor`, bitwise or logical,
///   with no bits or all bits, `where` with a decided condition.
/// - Constants that decide a scalar: an integer times 0, `and` with no bits, `or` with all bits.
/// - Equal operands: `x & x`, `minimum x, x`, `where c, x, x`; integer scalars `x - x`, `x ^ x`, `x == x`.
/// - Two integer constants become one: `(x + 1) + 2` is `x + 3`, which is exact since integers wrap;
///   likewise products and bitwise ops.
/// - Casts to the operand's own dtype; lossless casts there and back; the first of two casts, if it is
///   lossless.
/// - Views that are the identity, transposes of transposes, reshapes of reshapes, slices of slices,
///   broadcasts of broadcasts, a flip of a flip.
/// - A branch whose targets are all the same is a `jump`; a branch on `not x` is one on x with its targets
///   swapped.
///
/// Each identity is exact: the result has the same bits for all operands, signed zeros and infinities
/// included, and a NaN stays NaN. No result's type changes, so an identity whose remaining operand has
/// another dtype or other dims does not apply. If a rewritten instruction reads an operand later than the
/// original ones did, nothing may store to that operand or end it.
pub struct Canonicalize;

static CANONICALIZE: RewriteDef = RewriteDef::root(
    "canonicalize",
    "algebraic identities that hold bit for bit, and one order of operands",
    &Canonicalize,
)
.stage(Stage::AfterInference)
.after(&["fold"])
.benefit(5)
.reach(1);
register_rewrite!(CANONICALIZE);

/// The replacement of an instruction.
pub enum Replacement {
    /// An existing value.
    Value(Value),
    /// A constant.
    Constant(Scalar),
    /// Another instruction.
    Op(Op, SmallVec<[Arg; 3]>, Attrs),
    /// Another terminator.
    Terminator(&'static str, SmallVec<[Value; 1]>, SmallVec<[Target; 2]>),
}

impl RootRewrite for Canonicalize {
    type Match = (Inst, Replacement);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let at = Root { cx: *cx, inst: root, data: cx.func().inst(root) };
        if at.is_plain() {
            return Err(NoMatch::quiet());
        }
        let found = at.better().filter(|better| at.fits(better));
        found.map(|better| (root, better)).ok_or(NoMatch::quiet())
    }

    fn apply(&self, (root, better): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        match better {
            Replacement::Value(value) => rw.replace(root, &[value]),
            Replacement::Constant(scalar) => rw.replace_with_constants(root, &[scalar]),
            Replacement::Op(op, args, attrs) => rw.replace_with(root, op.name, args, attrs).map(drop),
            Replacement::Terminator(name, args, targets) => match rw.func().block_of(root) {
                Some(block) => rw.set_terminator(block, name, args, Attrs::new(), targets).map(drop),
                None => Ok(()),
            },
        }
    }
}

/// The instruction that is being canonicalized.
struct Root<'a> {
    cx: MatchCx<'a>,
    inst: Inst,
    data: &'a InstData,
}

impl<'a> Root<'a> {
    /// True for an op on two different values that are no constants: no identity applies. Most ops are of
    /// this kind.
    #[inline]
    fn is_plain(&self) -> bool {
        let [x, y] = self.data.args[..] else { return false };
        let func = self.cx.func();
        self.data.op.is_elementwise() && x != y && !func.is_const(x) && !func.is_const(y)
    }

    fn better(&self) -> Option<Replacement> {
        if self.data.op.is_terminator() {
            return self.branch();
        }
        let ([_], false) = (&self.data.results[..], self.data.args.is_empty()) else { return None };
        if self.data.op.is_elementwise() { self.elementwise() } else { self.view() }
    }

    /// True if the replacement has the same type, and its operands still hold the values that the original
    /// instructions read.
    fn fits(&self, better: &Replacement) -> bool {
        let func = self.cx.func();
        match better {
            Replacement::Value(value) => func.ty(*value) == self.ty() && self.cx.can_replace(self.inst, &[*value]),
            Replacement::Constant(scalar) => *self.ty() == Type::scalar(scalar.dtype()),
            Replacement::Op(op, args, attrs) => {
                let operand = |arg: &Arg| match arg {
                    Arg::Value(v) => (func.ty(*v).clone(), func.as_const(*v)),
                    Arg::Literal(Literal::Typed(s)) => (Type::scalar(s.dtype()), Some(*s)),
                    Arg::Literal(l) => (Type::scalar(l.dtype_beside(None)), None),
                };
                let (types, consts): (SmallVec<[Type; 3]>, SmallVec<[_; 3]>) = args.iter().map(operand).unzip();
                infer_types(*op, &types, &consts, attrs.clone(), None)
                    .is_ok_and(|(_, types)| types[..] == [self.ty().clone()])
            }
            Replacement::Terminator(..) => true,
        }
    }

    /// The type of the only result.
    fn ty(&self) -> &'a Type {
        self.cx.func().ty(self.data.results[0])
    }
    fn arg(&self, operand: usize) -> Value {
        self.data.args[operand]
    }
    fn arg_ty(&self, operand: usize) -> &'a Type {
        self.cx.func().ty(self.arg(operand))
    }
    fn constant(&self, operand: usize) -> Option<Scalar> {
        self.cx.func().as_const(self.data.args[operand])
    }
    /// The instruction that defines an operand, if it has this op and one result, and nothing stores to
    /// that.
    fn inner(&self, operand: usize, op: &str) -> Option<&'a InstData> {
        let def = self.cx.operand_op(self.inst, operand, op)?;
        let data = self.cx.func().inst(def);
        (data.results.len() == 1 && !self.cx.is_written(self.arg(operand))).then_some(data)
    }
    /// The value, if it can be read later than it is now: nothing stores to it, and no `del` ends it.
    fn later(&self, value: Value) -> Option<Value> {
        (!self.cx.is_written(value) && !self.cx.is_ended(value)).then_some(value)
    }
}

/// The dtypes that an elementwise instruction computes at.
fn dtypes_of(func: &Function, data: &InstData) -> Option<Loop> {
    let Eval::Elementwise { resolve, .. } = data.op.eval else { return None };
    let dtypes: SmallVec<[DType; 3]> = data.args.iter().map(|&v| func.ty(v).dtype()).collect();
    resolve(&dtypes, &data.attrs).ok()
}
