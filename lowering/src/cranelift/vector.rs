//! Emission of operations on vectors.

use super::emit::{Emitter, clif};
use super::lanes::{Vector, int_lane, lane_order, vector_of};
use super::scalar::{float_condition, int_condition};
use super::unsupported;
use super::widths::Narrowing;
use crate::kernel::{Binary, Compare, KInst, KOp, KValue, KernelError, Unary};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use rewright_ir::DType;
use smallvec::SmallVec;

impl Emitter<'_> {
    /// Emits an instruction of the innermost level, for the points of the group.
    pub fn group_inst(&mut self, number: usize, inst: &KInst) -> Result<(), KernelError> {
        let vector = self.plan.vector[number];
        match &inst.op {
            KOp::Load(buffer, part) => self.load_group(*buffer, *part, inst.first, vector),
            KOp::Store(buffer, part) => self.store_group(*buffer, *part, inst.args[0]),
            KOp::Index(axis) => self.index_group(*axis, inst.first, vector),
            KOp::Const(_) | KOp::Param(_) => {
                let dtype = self.dtype(inst.first);
                let value = match inst.op {
                    KOp::Param(index) => self.param(index, dtype)?,
                    _ => self.scalar_op(&inst.op, dtype, dtype, &[])?,
                };
                self.hold_same(inst.first, value)
            }
            op if vector => {
                let result = self.vector_op(op, inst)?;
                self.hold(inst.first, result)
            }
            op => self.lanes_op(op, inst),
        }
    }

    /// Records a value that is computed in the loop and equal in all lanes.
    pub fn hold_same(&mut self, value: KValue, scalar: Value) -> Result<(), KernelError> {
        let lanes = self.group()?.lanes;
        self.hold_lanes(value, SmallVec::from_elem(scalar, lanes))
    }

    /// Emits an operation lane by lane.
    fn lanes_op(&mut self, op: &KOp, inst: &KInst) -> Result<(), KernelError> {
        let to = self.dtype(inst.first);
        let from = inst.args.last().map_or(to, |&a| self.dtype(a));
        let args = inst.args.iter().map(|&a| self.lane_list(a)).collect::<Result<SmallVec<[_; 3]>, _>>()?;
        let mut results = SmallVec::new();
        for lane in 0..self.group()?.lanes {
            let args: SmallVec<[Value; 3]> = args.iter().map(|a| a[lane]).collect();
            results.push(self.scalar_op(op, from, to, &args)?);
        }
        self.hold_lanes(inst.first, results)
    }

    fn vector_op(&mut self, op: &KOp, inst: &KInst) -> Result<Vector, KernelError> {
        let to = self.dtype(inst.first);
        let from = inst.args.last().map_or(to, |&a| self.dtype(a));
        match (op, &inst.args[..]) {
            (KOp::Unary(_) | KOp::Binary(_), args) if to.is_bool() => self.mask_op(op, args),
            (KOp::Choose(table), &[n]) => {
                let n = self.vector(n)?;
                let chunks = n.chunks.iter().map(|&n| self.choose(table, n)).collect::<Result<_, _>>()?;
                Ok(Vector { elem: clif(to), chunks })
            }
            (KOp::Unary(op), &[a]) => {
                let a = self.vector(a)?;
                self.vector_unary(*op, to, &a)
            }
            (KOp::Binary(op @ (Binary::Shl | Binary::Shr)), &[a, count]) => self.vector_shift(*op, to, a, count),
            (KOp::Binary(op @ (Binary::Quot | Binary::Rem)), &[a, b]) => self.vector_divide(*op, to, a, b),
            (KOp::Binary(op), &[a, b]) => {
                let (a, b) = (self.vector(a)?, self.vector(b)?);
                self.vector_binary(*op, to, &a, &b)
            }
            (KOp::Compare(_), args) if from.is_bool() => self.mask_op(op, args),
            (KOp::Compare(op), &[a, b]) => {
                let (a, b) = (self.vector(a)?, self.vector(b)?);
                Ok(self.vector_compare(*op, from, &a, &b))
            }
            (KOp::Select, &[c, a, b]) => self.vector_select(c, a, b),
            (KOp::MathWhere(call), &[c, otherwise, ref args @ ..]) => {
                let otherwise = self.vector(otherwise)?;
                let condition = self.mask(c, int_lane(otherwise.elem))?;
                let args = args.iter().map(|&a| self.vector(a)).collect::<Result<SmallVec<[_; 2]>, _>>()?;
                self.vector_math_where(call, &condition, &otherwise, &args)
            }
            (KOp::Convert, &[a]) => self.vector_convert(from, to, a),
            (KOp::Bitcast, &[a]) => self.vector_bitcast(from, to, a),
            (KOp::Fma, &[a, b, c]) => {
                let (a, b, c) = (self.vector(a)?, self.vector(b)?, self.vector(c)?);
                let chunks = a.chunks.iter().zip(&b.chunks).zip(&c.chunks);
                let chunks = chunks.map(|((&a, &b), &c)| self.b.ins().fma(a, b, c)).collect();
                Ok(Vector { elem: a.elem, chunks })
            }
            (op, args) => Err(unsupported(format!("{op:?} of {args:?} on vectors"))),
        }
    }

    fn vector_unary(&mut self, op: Unary, dtype: DType, a: &Vector) -> Result<Vector, KernelError> {
        let float = dtype.is_float();
        if matches!(op, Unary::Abs) && dtype.is_unsigned() {
            return Ok(a.clone());
        }
        let apply: fn(&mut Self, Value) -> Value = match op {
            Unary::Neg if float => |e, x| e.b.ins().fneg(x),
            Unary::Neg => |e, x| e.b.ins().ineg(x),
            Unary::Abs if float => |e, x| e.b.ins().fabs(x),
            Unary::Abs => |e, x| e.b.ins().iabs(x),
            Unary::Not => |e, x| e.b.ins().bnot(x),
            Unary::Sqrt => |e, x| e.b.ins().sqrt(x),
            Unary::Floor => |e, x| e.b.ins().floor(x),
            Unary::Ceil => |e, x| e.b.ins().ceil(x),
            Unary::Trunc => |e, x| e.b.ins().trunc(x),
            Unary::Rint => |e, x| e.b.ins().nearest(x),
            Unary::Significand => {
                let chunks = a.chunks.iter().map(|&x| self.significand(x)).collect::<Result<_, _>>()?;
                return Ok(Vector { elem: a.elem, chunks });
            }
            Unary::PopCount | Unary::LeadingZeros => return Err(unsupported(format!("{op:?} on vectors"))),
        };
        Ok(self.each(a, a.elem, apply))
    }

    /// Emits an operation on two vectors of one dtype.
    pub fn vector_binary(&mut self, op: Binary, dtype: DType, a: &Vector, b: &Vector) -> Result<Vector, KernelError> {
        let (float, signed, wide) = (dtype.is_float(), dtype.is_signed(), dtype.size() == 8);
        let apply: fn(&mut Self, Value, Value) -> Value = match op {
            Binary::Add if float => |e, x, y| e.b.ins().fadd(x, y),
            Binary::Sub if float => |e, x, y| e.b.ins().fsub(x, y),
            Binary::Mul if float => |e, x, y| e.b.ins().fmul(x, y),
            Binary::Div => |e, x, y| e.b.ins().fdiv(x, y),
            Binary::Add => |e, x, y| e.b.ins().iadd(x, y),
            Binary::Sub => |e, x, y| e.b.ins().isub(x, y),
            Binary::Mul if dtype.size() == 1 => return self.multiply_bytes(a, b),
            Binary::Mul => |e, x, y| e.b.ins().imul(x, y),
            Binary::And => |e, x, y| e.b.ins().band(x, y),
            Binary::Or => |e, x, y| e.b.ins().bor(x, y),
            Binary::Xor => |e, x, y| e.b.ins().bxor(x, y),
            Binary::Min if float => |e, x, y| e.float_extremum(Binary::Min, x, y),
            Binary::Max if float => |e, x, y| e.float_extremum(Binary::Max, x, y),
            Binary::Min | Binary::Max if wide => return Ok(self.wide_extremum(op, signed, a, b)),
            Binary::Min if signed => |e, x, y| e.b.ins().smin(x, y),
            Binary::Min => |e, x, y| e.b.ins().umin(x, y),
            Binary::Max if signed => |e, x, y| e.b.ins().smax(x, y),
            Binary::Max => |e, x, y| e.b.ins().umax(x, y),
            Binary::CopySign => {
                let sign = self.vector_constant(a.elem, 1 << (a.elem.bits() - 1))?;
                return Ok(self.pairwise(a, b, a.elem, |e, x, y| e.b.ins().bitselect(sign, y, x)));
            }
            Binary::Scale | Binary::Exponent => {
                let compute = if op == Binary::Scale { Self::scale } else { Self::exponent };
                let pairs = a.chunks.iter().zip(&b.chunks);
                let chunks = pairs.map(|(&x, &y)| compute(self, x, y)).collect::<Result<_, _>>()?;
                return Ok(Vector { elem: a.elem, chunks });
            }
            Binary::Quot | Binary::Rem | Binary::Shl | Binary::Shr => {
                return Err(unsupported(format!("{op:?} on vectors")));
            }
        };
        Ok(self.pairwise(a, b, a.elem, apply))
    }

    /// Multiplies bytes as 16-bit lanes; there is no multiplication of bytes.
    fn multiply_bytes(&mut self, a: &Vector, b: &Vector) -> Result<Vector, KernelError> {
        let a = self.resize(a.clone(), types::I16, false)?;
        let b = self.resize(b.clone(), types::I16, false)?;
        let product = self.pairwise(&a, &b, types::I16, |e, x, y| e.b.ins().imul(x, y));
        self.narrow(&product, Narrowing::Wrap)
    }

    fn float_extremum(&mut self, op: Binary, x: Value, y: Value) -> Value {
        let first = self.b.ins().fcmp(first_of_floats(op), x, y);
        self.either(first, x, y)
    }

    fn wide_extremum(&mut self, op: Binary, signed: bool, a: &Vector, b: &Vector) -> Vector {
        let condition = match (matches!(op, Binary::Min), signed) {
            (true, true) => IntCC::SignedLessThan,
            (true, false) => IntCC::UnsignedLessThan,
            (false, true) => IntCC::SignedGreaterThan,
            (false, false) => IntCC::UnsignedGreaterThan,
        };
        self.pairwise(a, b, a.elem, |e, x, y| {
            let first = e.b.ins().icmp(condition, x, y);
            e.b.ins().bitselect(first, x, y)
        })
    }

    /// Shifts all lanes by one count.
    fn vector_shift(&mut self, op: Binary, dtype: DType, a: KValue, count: KValue) -> Result<Vector, KernelError> {
        let a = self.vector(a)?;
        let ty = clif(dtype);
        if let Some(count) = self.constant_bits(count).filter(|&count| count < ty.bits().into()) {
            let count = self.int(ty, count as i64);
            return Ok(match (op, dtype.is_signed()) {
                (Binary::Shl, _) => self.each(&a, a.elem, |e, x| e.b.ins().ishl(x, count)),
                (_, true) => self.each(&a, a.elem, |e, x| e.b.ins().sshr(x, count)),
                (_, false) => self.each(&a, a.elem, |e, x| e.b.ins().ushr(x, count)),
            });
        }
        let count = self.scalar(count)?;
        let most = self.int(ty, ty.bits() as i64 - 1);
        let first = self.b.ins().umin(count, most);
        // A count of at least the width shifts by the width less 1, and then by 1.
        let too_many = self.icmp(IntCC::UnsignedGreaterThan, count, most);
        let rest = if ty == types::I8 { too_many } else { self.b.ins().uextend(ty, too_many) };
        Ok(match (op, dtype.is_signed()) {
            (Binary::Shl, _) => self.each(&a, a.elem, |e, x| {
                let x = e.b.ins().ishl(x, first);
                e.b.ins().ishl(x, rest)
            }),
            (_, true) => self.each(&a, a.elem, |e, x| e.b.ins().sshr(x, first)),
            (_, false) => self.each(&a, a.elem, |e, x| {
                let x = e.b.ins().ushr(x, first);
                e.b.ins().ushr(x, rest)
            }),
        })
    }

    fn vector_compare(&mut self, op: Compare, dtype: DType, a: &Vector, b: &Vector) -> Vector {
        let mask = int_lane(a.elem);
        if dtype.is_float() {
            let condition = float_condition(op);
            return self.pairwise(a, b, mask, |e, x, y| e.b.ins().fcmp(condition, x, y));
        }
        let condition = int_condition(op, dtype.is_signed());
        self.pairwise(a, b, mask, |e, x, y| e.b.ins().icmp(condition, x, y))
    }

    /// Emits an operation on bools, on masks of the narrowest width that an operand has.
    fn mask_op(&mut self, op: &KOp, args: &[KValue]) -> Result<Vector, KernelError> {
        let elem = self.narrowest(args)?;
        let masks = args.iter().map(|&a| self.mask(a, elem)).collect::<Result<SmallVec<[Vector; 2]>, _>>()?;
        let apply: fn(&mut Self, Value, Value) -> Value = match op {
            KOp::Unary(_) => return Ok(self.each(&masks[0], elem, |e, x| e.b.ins().bnot(x))),
            KOp::Binary(Binary::And) => |e, x, y| e.b.ins().band(x, y),
            KOp::Binary(Binary::Or) => |e, x, y| e.b.ins().bor(x, y),
            KOp::Binary(Binary::Xor) | KOp::Compare(Compare::Ne) => |e, x, y| e.b.ins().bxor(x, y),
            KOp::Compare(Compare::Eq) => |e, x, y| e.b.ins().icmp(IntCC::Equal, x, y),
            KOp::Compare(Compare::Lt) => |e, x, y| e.b.ins().band_not(y, x),
            KOp::Compare(Compare::Le) => |e, x, y| e.b.ins().bor_not(y, x),
            op => return Err(unsupported(format!("{op:?} of bools on vectors"))),
        };
        Ok(self.pairwise(&masks[0], &masks[1], elem, apply))
    }

    /// The narrowest lane type of the masks of these values; a byte if none is a mask.
    fn narrowest(&mut self, values: &[KValue]) -> Result<Type, KernelError> {
        let mut found: Option<Type> = None;
        for &value in values {
            if let Some(elem) = self.mask_elem(value)? {
                found = Some(found.map_or(elem, |f| if f.bits() < elem.bits() { f } else { elem }));
            }
        }
        Ok(found.unwrap_or(types::I8))
    }

    fn vector_select(&mut self, c: KValue, a: KValue, b: KValue) -> Result<Vector, KernelError> {
        let dtype = self.dtype(a);
        let (condition, a, b) = if dtype.is_bool() {
            let elem = self.narrowest(&[c, a, b])?;
            (self.mask(c, elem)?, self.mask(a, elem)?, self.mask(b, elem)?)
        } else {
            let elem = clif(dtype);
            (self.mask(c, int_lane(elem))?, self.vector(a)?, self.vector(b)?)
        };
        let mut chunks = SmallVec::new();
        for ((&c, &x), &y) in condition.chunks.iter().zip(&a.chunks).zip(&b.chunks) {
            chunks.push(self.blend(c, x, y, a.elem));
        }
        Ok(Vector { elem: a.elem, chunks })
    }

    /// Takes the lanes of `x` where the mask is set, and of `y` elsewhere.
    pub fn blend(&mut self, mask: Value, x: Value, y: Value, elem: Type) -> Value {
        let mask = self.recast(mask, elem);
        self.b.ins().bitselect(mask, x, y)
    }

    fn vector_bitcast(&mut self, from: DType, to: DType, a: KValue) -> Result<Vector, KernelError> {
        let elem = clif(to);
        if from.is_bool() {
            let mask = self.mask(a, types::I8)?;
            if to.is_bool() {
                return Ok(mask);
            }
            let one = self.vector_constant(types::I8, 1)?;
            return Ok(self.each(&mask, types::I8, |e, x| e.b.ins().band(x, one)));
        }
        let a = self.vector(a)?;
        if to.is_bool() {
            let (one, zero) = (self.vector_constant(types::I8, 1)?, self.vector_constant(types::I8, 0)?);
            return Ok(self.each(&a, types::I8, |e, x| {
                let low = e.b.ins().band(x, one);
                e.b.ins().icmp(IntCC::NotEqual, low, zero)
            }));
        }
        let ty = vector_of(elem);
        Ok(self.each(&a, elem, |e, x| {
            if e.b.func.dfg.value_type(x) == ty { x } else { e.b.ins().bitcast(ty, lane_order(), x) }
        }))
    }
}

/// The condition under which the first of two floats is the minimum, or the maximum.
fn first_of_floats(op: Binary) -> FloatCC {
    if op == Binary::Min { FloatCC::LessThan } else { FloatCC::GreaterThan }
}
