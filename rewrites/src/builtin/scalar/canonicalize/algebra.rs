//! Identities of elementwise ops.

use super::{Replacement, Root, dtypes_of};
use crate::prelude::*;
use rewright_ir::op::Traits;
use rewright_ir::{Dim, Kind, eval_scalar};
use smallvec::smallvec;

impl Root<'_> {
    pub(super) fn elementwise(&self) -> Option<Replacement> {
        match self.data.args[..] {
            [_] if self.data.op.name == "cast" => self.cast(),
            [_] => self.unary(),
            [x, y] => match (self.constant(0), self.constant(1)) {
                (Some(_), Some(_)) => None,
                (Some(c), None) => self.turned_round(c),
                (None, Some(c)) => self.with_constant(c),
                (None, None) if x == y => self.with_itself(),
                (None, None) => None,
            },
            [_, x, y] if self.data.op.name == "where" => self.selection(x, y),
            _ => None,
        }
    }

    fn unary(&self) -> Option<Replacement> {
        let (op, dtype) = (self.data.op, self.arg_ty(0).dtype());
        let nothing_to_do = match op.name {
            "pos" => true,
            "real" | "conj" => !dtype.is_complex(),
            "abs" => dtype.is_bool() || dtype.is_unsigned(),
            "floor" | "ceil" | "trunc" => dtype.is_bool() || dtype.is_int(),
            _ => false,
        };
        if nothing_to_do {
            return Some(Replacement::Value(self.arg(0)));
        }
        let first = self.inner(0, op.name)?;
        if matches!(op.name, "neg" | "not" | "invert" | "conj") {
            return Some(Replacement::Value(first.args[0]));
        }
        let again = op.traits.contains(Traits::IDEMPOTENT) && first.attrs == self.data.attrs;
        again.then(|| Replacement::Value(self.arg(0)))
    }

    /// Moves a constant from the left operand to the right.
    fn turned_round(&self, constant: Scalar) -> Option<Replacement> {
        let op = self.data.op;
        let turned = match op.name {
            "lt" => "gt",
            "gt" => "lt",
            "le" => "ge",
            "ge" => "le",
            // An op on two NaNs may return the first.
            name => Some(name).filter(|_| op.traits.contains(Traits::COMMUTATIVE) && !is_nan(constant))?,
        };
        let turned = if turned == op.name { op } else { rewright_ir::registry().op(turned)? };
        Some(Replacement::Op(turned, smallvec![self.arg(1).into(), self.arg(0).into()], self.data.attrs.clone()))
    }

    /// A constant right operand that is neutral, decides the result, or combines with an earlier constant.
    fn with_constant(&self, constant: Scalar) -> Option<Replacement> {
        let (func, name) = (self.cx.func(), self.data.op.name);
        let first = func.def_inst(self.arg(0)).map(|def| func.inst(def).op);
        if is_plain(constant) && !self.ty().dtype().is_bool() && first != Some(self.data.op) {
            return None;
        }
        let found = dtypes_of(func, self.data)?;
        let (at, constant) = (found.ins[0], constant.cast(found.ins[1]));
        if at == self.arg_ty(0).dtype() && neutral_on_the_right(name, at) == Some(constant) {
            return Some(Replacement::Value(self.arg(0)));
        }
        if let Some(decided) = decided_by(name, constant).filter(|_| self.ty().is_scalar()) {
            return Some(Replacement::Constant(decided));
        }
        self.with_constant_before(constant)
    }

    /// `(x + c) + d` is `x + (c + d)` for integers, because they wrap.
    fn with_constant_before(&self, constant: Scalar) -> Option<Replacement> {
        let (func, op) = (self.cx.func(), self.data.op);
        if !matches!(op.name, "add" | "mul" | "bitand" | "bitor" | "bitxor") {
            return None;
        }
        let first = self.inner(0, op.name)?;
        let before = func.as_const(first.args[1])?;
        let at = constant.dtype();
        let all_there = at.is_int()
            && func.ty(first.args[0]).dtype() == at
            && [first, self.data].iter().all(|data| {
                dtypes_of(func, data).is_some_and(|found| found.ins.iter().chain(&found.outs).all(|&d| d == at))
            });
        let x = self.later(first.args[0]).filter(|x| all_there && func.as_const(*x).is_none())?;
        let both = eval_scalar(op, &[before.cast(at), constant], &self.data.attrs).ok()?;
        Some(Replacement::Op(op, smallvec![x.into(), both[0].into()], self.data.attrs.clone()))
    }

    /// Identities of ops with two equal operands.
    fn with_itself(&self) -> Option<Replacement> {
        let (name, x) = (self.data.op.name, self.arg(0));
        let ty = self.arg_ty(0);
        if matches!(name, "bitand" | "bitor" | "and" | "or" | "minimum" | "maximum" | "fmin" | "fmax") {
            return Some(Replacement::Value(x));
        }
        // NaN is not equal to itself, and infinity minus infinity is not 0.
        if !ty.is_scalar() || ty.dtype().kind() > Kind::Int {
            return None;
        }
        match name {
            "sub" | "bitxor" => Some(Replacement::Constant(Scalar::zero(ty.dtype()))),
            "eq" | "le" | "ge" => Some(Replacement::Constant(Scalar::Bool(true))),
            "ne" | "lt" | "gt" | "xor" => Some(Replacement::Constant(Scalar::Bool(false))),
            _ => None,
        }
    }

    /// `where` with a decided condition, or with equal choices.
    fn selection(&self, x: Value, y: Value) -> Option<Replacement> {
        let (taken, others) = match self.constant(0) {
            Some(condition) if condition.truthy() => (x, smallvec::SmallVec::from([y, y])),
            Some(_) => (y, smallvec::SmallVec::from([x, x])),
            None if x == y => (x, smallvec::SmallVec::<[Value; 2]>::from([self.arg(0), x])),
            None => return None,
        };
        // The other operands may not stretch the result.
        let taken_ty = self.cx.func().ty(taken);
        let known = !taken_ty.dims().contains(&Dim::Any);
        let stretches_not = |&other: &Value| {
            let ty = self.cx.func().ty(other);
            other == taken || ty.rank() == 0 || (known && ty.dims() == taken_ty.dims())
        };
        others.iter().all(stretches_not).then_some(Replacement::Value(taken))
    }
}

fn is_nan(scalar: Scalar) -> bool {
    let z = scalar.to_c128();
    z.re.is_nan() || z.im.is_nan()
}

/// The right operand for which an op computed at `dtype` returns its left operand.
fn neutral_on_the_right(op: &str, dtype: DType) -> Option<Scalar> {
    let kind = dtype.kind();
    let real = kind <= Kind::Float;
    match op {
        // For bools, `add` is `or` and `mul` is `and`. Adding 0.0 would turn -0.0 into 0.0.
        "add" => Some(Scalar::zero(dtype)).map(|zero| if kind >= Kind::Float { negative(zero) } else { zero }),
        "sub" => Some(Scalar::zero(dtype)),
        "mul" if real => Some(Scalar::one(dtype)),
        "div" if kind == Kind::Float => Some(Scalar::one(dtype)),
        "floordiv" if kind == Kind::Int => Some(Scalar::one(dtype)),
        "power" if matches!(kind, Kind::Int | Kind::Float) => Some(Scalar::one(dtype)),
        "bitor" | "bitxor" | "left_shift" | "right_shift" => Some(Scalar::zero(dtype)),
        "bitand" => Some(ones(dtype)),
        "or" | "xor" | "ne" if dtype.is_bool() => Some(Scalar::Bool(false)),
        "and" | "eq" if dtype.is_bool() => Some(Scalar::Bool(true)),
        _ => None,
    }
}

/// True for most constants: they are neither neutral nor absorbing. It holds for each dtype that represents
/// the same number, and so for all ops but those that compute at bool.
fn is_plain(constant: Scalar) -> bool {
    match constant {
        Scalar::F64(x) => x != 0.0 && x != 1.0,
        Scalar::F32(x) => x != 0.0 && x != 1.0,
        Scalar::I64(n) => !(-1..=1).contains(&n),
        _ => false,
    }
}

/// The result of an op with this right operand, whatever the left one is.
fn decided_by(op: &str, constant: Scalar) -> Option<Scalar> {
    let dtype = constant.dtype();
    let (is_zero, is_ones) = (constant == Scalar::zero(dtype), constant == ones(dtype));
    match op {
        "mul" if dtype.kind() <= Kind::Int && is_zero => Some(constant),
        "add" if dtype.is_bool() && is_ones => Some(constant),
        "bitand" if is_zero => Some(constant),
        "bitor" if is_ones => Some(constant),
        "and" if !constant.truthy() => Some(Scalar::Bool(false)),
        "or" if constant.truthy() => Some(Scalar::Bool(true)),
        _ => None,
    }
}

/// The zero whose parts have the sign bit set.
fn negative(zero: Scalar) -> Scalar {
    match zero {
        Scalar::F32(x) => Scalar::F32(-x),
        Scalar::F64(x) => Scalar::F64(-x),
        Scalar::C64(z) => Scalar::C64(-z),
        Scalar::C128(z) => Scalar::C128(-z),
        other => other,
    }
}

/// The integer or bool all of whose bits are set.
fn ones(dtype: DType) -> Scalar {
    Scalar::from_bits(dtype, (u64::MAX, u64::MAX))
}
