//! Op definitions: an op is a `static` [`OpDef`], registered with [`register_op!`](crate::register_op) and
//! compared by address.
//!
//! An `OpDef` has the properties that every part of the system needs: name, operands, attributes, type rule
//! and semantics. Other properties (lowering, cost, derivative) are *interfaces*, which any crate may submit
//! for any op by [`register_interface!`](crate::register_interface).

mod advice;
mod callees;
mod eval_cx;
mod floats;
mod infer;
mod limits;
mod memory;

pub(crate) use advice::MAKE_DENSE;
use advice::shapes_that_broadcast;
pub use callees::{Callees, Outcome};
pub use eval_cx::EvalCx;
pub(crate) use floats::note;
pub use floats::{Floats, Watch};
pub use infer::infer_types;
pub(crate) use infer::{check_arity, normalized};
pub use limits::Limits;
pub use memory::{Memory, reserve};

use crate::attr::{AttrDef, Attrs};
use crate::dtype::DType;
use crate::error::{EvalError, TypeError};
use crate::loc::Loc;
use crate::scalar::{Literal, Scalar, Scalars};
use crate::types::{Dim, Signature, Type, broadcast_dims};
use crate::value::Datum;
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

bitflags::bitflags! {
    /// Properties of an op that rewrites query.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Traits: u32 {
        /// Swapping the two operands never changes a bit of the result.
        const COMMUTATIVE = 1;
        /// Applying it to its own result changes nothing (`abs`, `floor`).
        const IDEMPOTENT = 2;
        /// The result consists of elements of the operand, at other positions.
        const VIEW = 4;
        /// The result is a function of the index only.
        const CONSTRUCTOR = 8;
        /// Combines elements along axes.
        const REDUCTION = 16;
        /// Ends a block.
        const TERMINATOR = 32;
        /// May raise an error for some operand values (an index out of bounds). Still free to move, or to
        /// remove if unused.
        const PARTIAL = 64;
        /// Runs by its reference semantics on whole buffers; no kernel is generated for it.
        const DIRECT = 128;
    }
}

bitflags::bitflags! {
    /// Side effects of an op. Without any the op is pure: free to move, share or remove.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Effects: u32 {
        /// Writes to its first operand.
        const WRITES = 1;
        /// Frees its first operand.
        const FREES = 2;
        /// Is observable outside (prints, raises): never removed or reordered.
        const IO = 4;
        /// Has the effects of its callee.
        const CALLS = 8;
    }
}

/// The dtypes at which an elementwise op computes, for given operand dtypes: operands are cast to `ins`, and
/// results have dtypes `outs`. NumPy calls this a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// One dtype for each operand.
    pub ins: SmallVec<[DType; 3]>,
    /// One dtype for each result.
    pub outs: SmallVec<[DType; 2]>,
}

impl Loop {
    /// All operands at `ins`, one result of dtype `out`.
    pub fn uniform(arity: usize, ins: DType, out: DType) -> Self {
        Loop { ins: SmallVec::from_elem(ins, arity), outs: SmallVec::from_elem(out, 1) }
    }
}

/// Why an elementwise op has no loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoLoop {
    /// The op is not defined for these dtypes.
    Undefined(String),
    /// The definition of the op is wrong; the message names the op.
    Broken(String),
}

/// Chooses the loop of an elementwise op. The error lists the accepted dtypes.
pub type ResolveLoop = fn(&[DType], &Attrs) -> Result<Loop, String>;

/// The semantics of an elementwise op on one element; operands have the loop's dtypes.
pub type ScalarFn = fn(&[Scalar], &Attrs) -> Result<Scalars, EvalError>;

/// The semantics of any other op, on whole values.
pub type ArrayFn = fn(&EvalCx<'_>, &[Datum]) -> Result<Vec<Datum>, EvalError>;

/// The reference semantics of an op.
#[derive(Clone, Copy)]
pub enum Eval {
    /// One element at a time, broadcast over the operands.
    Elementwise {
        /// Chooses the loop.
        resolve: ResolveLoop,
        /// Computes one element.
        scalar: ScalarFn,
    },
    /// Operates on whole values.
    Array(ArrayFn),
    /// Moves control or touches the evaluator's state: the evaluator implements it.
    Control,
}

/// The number of operands of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// Exactly this number.
    Exactly(usize),
    /// This number or more.
    AtLeast(usize),
}

/// The input of a type rule.
pub struct InferCx<'a> {
    /// The op.
    pub op: Op,
    /// The operands' types.
    pub args: &'a [Type],
    /// The values of operands that are constants.
    pub consts: &'a [Option<Scalar>],
    /// The attributes, in order and checked against the schema.
    pub attrs: &'a Attrs,
    /// The signature of the function that attribute `callee` names, if the module has it.
    pub callee: Option<&'a Signature>,
}

/// The types of an instruction's results.
pub type Types = SmallVec<[Type; 1]>;

/// A type rule.
pub type InferFn = fn(&InferCx<'_>) -> Result<Types, TypeError>;

/// The input of a literal rule, which chooses the dtype of a literal operand.
pub struct LiteralCx<'a> {
    /// The literal.
    pub literal: Literal,
    /// The literal's operand number.
    pub operand: usize,
    /// The dtypes of all operands; `None` for weak literals.
    pub dtypes: &'a [Option<DType>],
    /// The attributes.
    pub attrs: &'a Attrs,
}

/// The definition of an op. Build it in a `static` with [`OpDef::elementwise`] or [`OpDef::new`], and
/// register it.
pub struct OpDef {
    /// The name in IR text.
    pub name: &'static str,
    /// One line of documentation.
    pub doc: &'static str,
    /// The number of operands.
    pub arity: Arity,
    /// Properties.
    pub traits: Traits,
    /// Effects; none means pure.
    pub effects: Effects,
    /// The attributes.
    pub attrs: &'static [AttrDef],
    /// The literal rule: chooses the dtype of literal operands.
    pub literal: fn(&LiteralCx<'_>) -> DType,
    /// The type rule.
    pub infer: InferFn,
    /// The reference semantics.
    pub eval: Eval,
    /// See [`Op::number`].
    pub(crate) number: AtomicU32,
}

impl OpDef {
    /// An op on whole values.
    pub const fn new(name: &'static str, doc: &'static str, arity: Arity, infer: InferFn, eval: Eval) -> Self {
        OpDef {
            name,
            doc,
            arity,
            traits: Traits::empty(),
            effects: Effects::empty(),
            attrs: &[],
            literal: promote_literal,
            infer,
            eval,
            number: AtomicU32::new(u32::MAX),
        }
    }

    /// An elementwise op: operands broadcast, `resolve` chooses dtypes, `scalar` computes each element.
    pub const fn elementwise(
        name: &'static str,
        doc: &'static str,
        arity: usize,
        resolve: ResolveLoop,
        scalar: ScalarFn,
    ) -> Self {
        OpDef::new(name, doc, Arity::Exactly(arity), infer_elementwise, Eval::Elementwise { resolve, scalar })
    }

    /// Adds properties.
    pub const fn traits(mut self, traits: Traits) -> Self {
        self.traits = self.traits.union(traits);
        self
    }
    /// Sets the effects.
    pub const fn effects(mut self, effects: Effects) -> Self {
        self.effects = effects;
        self
    }
    /// Sets the attributes.
    pub const fn attrs(mut self, attrs: &'static [AttrDef]) -> Self {
        self.attrs = attrs;
        self
    }
    /// Sets the literal rule.
    pub const fn literals(mut self, rule: fn(&LiteralCx<'_>) -> DType) -> Self {
        self.literal = rule;
        self
    }

    /// The loop of an elementwise op at these dtypes. A loop for another number of operands and a panic are
    /// errors that name the op.
    pub fn loop_at(&self, dtypes: &[DType], attrs: &Attrs) -> Result<Loop, NoLoop> {
        let Eval::Elementwise { resolve, .. } = self.eval else {
            return Err(NoLoop::Undefined("it is not elementwise".to_string()));
        };
        let given = || dtypes.iter().map(|d| d.name()).collect::<Vec<_>>().join(", ");
        let found = catch_unwind(AssertUnwindSafe(|| resolve(dtypes, attrs))).map_err(|panic| {
            let why = panic.downcast_ref::<&str>().map(|why| why.to_string());
            let why = why.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            let of = given();
            NoLoop::Broken(format!(
                "the op `{}` is defined wrongly: choosing its loop for {of} panics: {why}",
                self.name
            ))
        })?;
        let found = found.map_err(NoLoop::Undefined)?;
        if found.ins.len() != dtypes.len() {
            let (name, of, ins, count) = (self.name, given(), found.ins.len(), dtypes.len());
            return Err(NoLoop::Broken(format!(
                "the op `{name}` is defined wrongly: its loop for {of} has {ins} operands, and the op {count}"
            )));
        }
        Ok(found)
    }

    /// True for elementwise ops.
    #[inline]
    pub fn is_elementwise(&self) -> bool {
        matches!(self.eval, Eval::Elementwise { .. })
    }
    /// True for ops without effects that are no terminators.
    #[inline]
    pub fn is_pure(&self) -> bool {
        self.effects.is_empty() && !self.traits.contains(Traits::TERMINATOR)
    }
    /// True for terminators.
    #[inline]
    pub fn is_terminator(&self) -> bool {
        self.traits.contains(Traits::TERMINATOR)
    }
}

/// A registered op. Equal if the definitions are the same; ordered and hashed by name.
#[derive(Clone, Copy)]
pub struct Op(pub &'static OpDef);

impl Op {
    /// The op's index in [`Registry::ops`](crate::Registry::ops) of the [registry](fn@crate::registry), for
    /// tables by op. `usize::MAX` if the op is not registered, or if the registry has not been built yet.
    #[inline]
    pub fn number(self) -> usize {
        match self.0.number.load(Relaxed) {
            u32::MAX => usize::MAX,
            number => number as usize,
        }
    }
}

impl Deref for Op {
    type Target = OpDef;
    #[inline]
    fn deref(&self) -> &OpDef {
        self.0
    }
}
impl PartialEq for Op {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}
impl Eq for Op {}
impl PartialEq<OpDef> for Op {
    #[inline]
    fn eq(&self, other: &OpDef) -> bool {
        std::ptr::eq(self.0, other)
    }
}
impl PartialOrd for Op {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Op {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.name.cmp(other.0.name)
    }
}
impl Hash for Op {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}
impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}
impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

/// The default literal rule: NEP 50 promotion with all operands that have a dtype.
pub fn promote_literal(cx: &LiteralCx<'_>) -> DType {
    cx.literal.dtype_beside(promote_all(cx.dtypes.iter().flatten().copied()))
}

/// The literal rule of operands that are positions: `i64`.
pub fn index_literal(cx: &LiteralCx<'_>) -> DType {
    cx.literal.dtype_beside(Some(DType::I64))
}

/// The promoted dtype of several dtypes; `None` if there are none.
pub fn promote_all(dtypes: impl IntoIterator<Item = DType>) -> Option<DType> {
    dtypes.into_iter().reduce(DType::promote)
}

/// The type rule of elementwise ops: shapes broadcast, the op's loop gives the dtypes, and scalar operands
/// give scalar results.
pub fn infer_elementwise(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    if !cx.op.is_elementwise() {
        return Err(TypeError::new(format!("`{}` is not elementwise", cx.op)));
    }
    let shape = broadcast_shape(cx.op, cx.args)?;
    let dtypes: SmallVec<[DType; 3]> = cx.args.iter().map(Type::dtype).collect();
    let found = cx.op.loop_at(&dtypes, cx.attrs).map_err(|why| match why {
        NoLoop::Undefined(why) => {
            let given: Vec<_> = dtypes.iter().map(DType::to_string).collect();
            TypeError::new(format!("`{}` is not defined for {}", cx.op, given.join(", "))).help(why)
        }
        NoLoop::Broken(why) => TypeError::new(why),
    })?;
    Ok(found.outs.iter().map(|&d| shape.with_dtype(d)).collect())
}

/// The result type without its dtype. Operands of equal dims share them with the result.
fn broadcast_shape(op: Op, args: &[Type]) -> Result<Type, TypeError> {
    let mut arrays = args.iter().filter(|ty| ty.is_array());
    let first = arrays.next().or(args.first()).filter(|first| arrays.all(|ty| ty.dims() == first.dims()));
    match first {
        Some(first) if args.iter().all(|ty| ty.style().is_none()) => Ok(first.clone()),
        _ => Ok(Type::from_parts(DType::Bool, broadcast_types(op, args)?)),
    }
}

/// Computes one element of an elementwise op: chooses the loop, casts the operands, applies the semantics.
pub fn eval_scalar(op: Op, args: &[Scalar], attrs: &Attrs) -> Result<Scalars, EvalError> {
    let Eval::Elementwise { resolve, scalar } = op.eval else {
        return Err(EvalError::unsupported("not elementwise").at(op.name, Loc::default()));
    };
    if op.arity != Arity::Exactly(args.len()) {
        let message = format!("got {} operands", args.len());
        return Err(EvalError::shape(message).at(op.name, Loc::default()));
    }
    let dtypes: SmallVec<[DType; 3]> = args.iter().map(|a| a.dtype()).collect();
    let found = resolve(&dtypes, attrs).map_err(|why| EvalError::value(why).at(op.name, Loc::default()))?;
    let cast: SmallVec<[Scalar; 3]> = args.iter().zip(&found.ins).map(|(a, &to)| a.cast(to)).collect();
    scalar(&cast, attrs).map_err(|e| e.at(op.name, Loc::default()))
}

/// The broadcast dims of operands; `None` if all are scalars.
pub fn broadcast_types(op: Op, args: &[Type]) -> Result<Option<Vec<Dim>>, TypeError> {
    let mut dims: Option<Vec<Dim>> = None;
    for (i, arg) in args.iter().enumerate() {
        if arg.style().is_some() {
            let message = format!("`{op}` reads dense arrays, operand {i} is {arg}");
            return Err(TypeError::new(message).operand(i).help(MAKE_DENSE));
        }
        if !arg.is_array() {
            continue;
        }
        dims = Some(match dims {
            None => arg.dims().to_vec(),
            Some(so_far) => broadcast_dims(&so_far, arg.dims()).map_err(|axis| {
                let list: Vec<_> = args.iter().map(Type::to_string).collect();
                TypeError::new(format!("`{op}` can't broadcast {} along axis {axis} of the result", list.join(", ")))
                    .operand(i)
                    .help(shapes_that_broadcast(&so_far, arg))
            })?,
        });
    }
    Ok(dims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    fn of_loop(resolve: ResolveLoop) -> OpDef {
        OpDef::elementwise("broken", "An op of three operands.", 3, resolve, |args, _| Ok(smallvec![args[0]]))
    }

    #[test]
    fn wrong_loops_name_the_op() {
        let dtypes = [DType::I8; 3];
        let message = |resolve: ResolveLoop| match of_loop(resolve).loop_at(&dtypes, &Attrs::new()) {
            Err(NoLoop::Broken(message)) => message,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            message(|_, _| Ok(Loop::uniform(2, DType::I8, DType::I8))),
            "the op `broken` is defined wrongly: its loop for i8, i8, i8 has 2 operands, and the op 3"
        );
        let panics = message(|dtypes, _| Ok(Loop::uniform(3, dtypes[3], DType::I8)));
        let wanted = "the op `broken` is defined wrongly: choosing its loop for i8, i8, i8 panics: index out of bounds";
        assert!(panics.starts_with(wanted), "{panics}");
        let undefined = of_loop(|_, _| Err("takes floats".to_string())).loop_at(&dtypes, &Attrs::new());
        assert_eq!(undefined, Err(NoLoop::Undefined("takes floats".to_string())));
    }
}
