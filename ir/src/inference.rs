//! Type inference: computes the types of an untyped function's values, and the dtypes of its literals. It
//! runs after the rewrites of the first stage, and before all others.
//!
//! A monotone dataflow analysis, iterated to a fixed point. Types of the function's parameters are given,
//! and op rules give those of results. The type of a block parameter joins the types on all branches to the
//! block: dtypes promote, and extents that differ become `?`. The analysis terminates because types only
//! climb the lattice: promotion has no cycles, and an extent becomes `?` at most once.
//!
//! A literal is weak, as in NumPy's promotion: beside an `f32`, `0` is an `f32`. A block parameter that
//! receives only literals is as weak as they are. So `acc = 0` before a loop that adds `f32`s is an `f32`,
//! too. A value computed from weak values only is weak as well. It is kept as an `i64` or `f64`, as Python
//! keeps its numbers, and is cast where it meets an array's dtype.
//!
//! If a branch passes an argument whose dtype differs from the parameter's, a `cast` is inserted before the
//! branch. Unreachable blocks have no types, and are removed.

use crate::analysis::Dominators;
use crate::attr::{Attr, Attrs};
use crate::builder::{find_op, infer_types, literal_at};
use crate::dtype::DType;
use crate::error::TypeError;
use crate::function::{Block, Function, Inst, Value, ValueDef};
use crate::module::Module;
use crate::op::{LiteralCx, Op};
use crate::ops::control::RET;
use crate::scalar::{Literal, Scalar};
use crate::types::Signature;
use crate::types::{Dim, Type};
use crate::verify::{InstTexts, VerifyError, VerifyErrors, verify_function};
use slotmap::SecondaryMap;
use smallvec::SmallVec;

/// The lattice element of a value; it only climbs.
#[derive(Clone, Debug, PartialEq)]
enum Known {
    /// A literal of this kind; its value does not matter.
    Weak(Literal),
    /// This type, or one that it promotes to.
    Type(Type),
}

/// Infers the types of all values of an untyped function; a typed function stays unchanged. On errors, all
/// of which are reported, the function stays unchanged, too.
pub fn infer_function(func: &mut Function, module: &Module) -> Result<(), VerifyErrors> {
    if !func.untyped {
        return Ok(());
    }
    let mut typed = func.clone();
    infer(&mut typed, module)?;
    verify_function(&typed, Some(module))?;
    *func = typed;
    Ok(())
}

fn infer(func: &mut Function, module: &Module) -> Result<(), VerifyErrors> {
    let dominators = Dominators::of(func);
    let unreachable: Vec<Block> = func.blocks().filter(|&b| !dominators.is_reachable(b)).collect();
    let mut inference = Inference {
        order: func.blocks().filter(|&b| dominators.is_reachable(b)).collect(),
        func,
        module,
        known: SecondaryMap::new(),
        errors: Vec::new(),
        texts: InstTexts::new(func),
        changed: false,
    };
    inference.parameters();
    inference.go_round();
    inference.complain();
    if !inference.errors.is_empty() {
        return Err(VerifyErrors(inference.errors));
    }
    let known = inference.known;
    func.remove_blocks(&unreachable);
    TypeWriter { func, module, known: &known }.write();
    Ok(())
}

struct Inference<'a> {
    func: &'a Function,
    module: &'a Module,
    order: Vec<Block>,
    known: SecondaryMap<Value, Known>,
    errors: Vec<VerifyError>,
    texts: InstTexts<'a>,
    changed: bool,
}

impl Inference<'_> {
    fn parameters(&mut self) {
        for &block in &self.order {
            for &param in self.func.block_params(block) {
                if self.func.ty(param).is_known() {
                    self.known.insert(param, Known::Type(self.func.ty(param).clone()));
                }
            }
        }
    }

    /// Iterates over the function to a fixed point. Reports the errors of the last iteration only: earlier
    /// ones may come from types that are not known yet.
    fn go_round(&mut self) {
        loop {
            self.changed = false;
            self.errors.clear();
            for at in 0..self.order.len() {
                let block = self.order[at];
                let func = self.func;
                for inst in func.insts(block) {
                    self.inst(inst);
                }
            }
            if !self.changed {
                return;
            }
        }
    }

    fn inst(&mut self, inst: Inst) {
        let func = self.func;
        let data = func.inst(inst);
        let operands: Option<SmallVec<[Known; 4]>> = data.args.iter().map(|&arg| self.of(arg)).collect();
        if let Some(operands) = operands
            && !data.op.is_terminator()
        {
            match result_types(func, self.module, inst, &operands) {
                Ok((types, weak)) if types.len() == data.results.len() => {
                    for (&result, ty) in data.results.iter().zip(types) {
                        let known =
                            if weak && ty.is_scalar() { Known::Weak(sample(ty.dtype())) } else { Known::Type(ty) };
                        self.replace(result, known);
                    }
                }
                Ok((types, _)) => {
                    let message = format!("`{}` has {} results, here {}", data.op, types.len(), data.results.len());
                    self.error(inst, TypeError::new(message));
                }
                Err(error) => self.error(inst, error),
            }
        }
        for target in &data.targets {
            for (&arg, &param) in target.args.iter().zip(func.block_params(target.block)) {
                if let Some(known) = self.of(arg) {
                    self.learn(param, known, inst);
                }
            }
        }
    }

    fn of(&self, value: Value) -> Option<Known> {
        match self.func.as_const(value) {
            Some(scalar) if self.func.ty(value).is_known() => Some(Known::Type(Type::scalar(scalar.dtype()))),
            Some(scalar) => Some(Known::Weak(weak(scalar))),
            None => self.known.get(value).cloned(),
        }
    }

    /// Sets the type of an op's result, which follows from the operands and climbs with them.
    fn replace(&mut self, value: Value, new: Known) {
        if self.known.get(value) != Some(&new) {
            self.known.insert(value, new);
            self.changed = true;
        }
    }

    fn learn(&mut self, value: Value, new: Known, inst: Inst) {
        // A type written in the text stays.
        if self.func.ty(value).is_known() {
            return;
        }
        let joined = match self.known.get(value) {
            None => Ok(new),
            Some(old) => join(old, &new),
        };
        match joined {
            Ok(joined) if self.known.get(value) == Some(&joined) => {}
            Ok(joined) => {
                self.known.insert(value, joined);
                self.changed = true;
            }
            Err(message) => {
                let name = self.func.value_name(value).map_or(String::new(), |name| format!(" `%{name}`"));
                let error = TypeError::new(format!("block parameter{name} {message}"));
                self.error(inst, error.help("give it one type on every branch to its block, with casts or views"));
            }
        }
    }

    /// Reports block parameters that only depend on themselves, so that they have no type.
    fn complain(&mut self) {
        if !self.errors.is_empty() {
            return;
        }
        for at in 0..self.order.len() {
            let block = self.order[at];
            let func = self.func;
            for &param in func.block_params(block).iter().filter(|&&p| !self.known.contains_key(p)) {
                let name = func.value_name(param).map_or("a block parameter".to_string(), |name| format!("`%{name}`"));
                let loc = func.first_inst(block).map_or(func.loc, |i| func.inst(i).loc);
                let message = format!("the type of {name} can't be inferred: it depends on nothing but itself");
                let help = Some("write its type in the block's parameters".to_string());
                self.errors.push(VerifyError { function: func.name, loc, instruction: None, message, help });
            }
        }
    }

    fn error(&mut self, inst: Inst, error: TypeError) {
        let TypeError { message, help, .. } = error;
        let loc = self.func.inst(inst).loc;
        let instruction = self.texts.without_loc(inst);
        let loc = if loc.is_none() { self.func.loc } else { loc };
        self.errors.push(VerifyError { function: self.func.name, loc, instruction, message, help });
    }
}

/// The literal for a weak constant.
fn weak(scalar: Scalar) -> Literal {
    match scalar {
        Scalar::Bool(b) => Literal::Bool(b),
        Scalar::F64(x) => Literal::Float(x),
        Scalar::C128(z) => Literal::Complex(z.re, z.im),
        other => other.to_i128().map_or(Literal::Typed(other), Literal::Int),
    }
}

/// A literal whose own dtype is `dtype`.
fn sample(dtype: DType) -> Literal {
    match dtype {
        DType::Bool => Literal::Bool(false),
        DType::I64 => Literal::Int(0),
        DType::F64 => Literal::Float(0.0),
        DType::C128 => Literal::Complex(0.0, 0.0),
        other => Literal::Typed(Scalar::zero(other)),
    }
}

/// The join of two lattice elements, for a block parameter that receives both.
fn join(a: &Known, b: &Known) -> Result<Known, String> {
    match (a, b) {
        (Known::Weak(a), Known::Weak(b)) => {
            let dtype = a.dtype_beside(None).promote(b.dtype_beside(None));
            Ok(Known::Weak(if sample(dtype) == sample(a.dtype_beside(None)) { *a } else { sample(dtype) }))
        }
        (Known::Weak(literal), Known::Type(ty)) | (Known::Type(ty), Known::Weak(literal)) if ty.is_scalar() => {
            let beside = literal.dtype_beside(Some(ty.dtype()));
            Ok(Known::Type(Type::scalar(ty.dtype().promote(beside))))
        }
        (Known::Type(a), Known::Type(b)) => join_types(a, b).map(Known::Type),
        (Known::Weak(_), Known::Type(ty)) | (Known::Type(ty), Known::Weak(_)) => {
            Err(format!("gets a scalar on one branch and {ty} on another"))
        }
    }
}

fn join_types(a: &Type, b: &Type) -> Result<Type, String> {
    if a.is_array() != b.is_array() || a.rank() != b.rank() || a.style() != b.style() {
        return Err(format!("gets {a} on one branch and {b} on another"));
    }
    let dims: Vec<Dim> = a.dims().iter().zip(b.dims()).map(|(&x, &y)| if x == y { x } else { Dim::Any }).collect();
    let joined = Type::from_parts(a.dtype().promote(b.dtype()), a.is_array().then_some(dims));
    Ok(joined.with_style(a.style()))
}

/// The dtypes of operands; `None` for weak ones.
fn dtypes_of(operands: &[Known]) -> SmallVec<[Option<DType>; 4]> {
    let dtype = |known: &Known| match known {
        Known::Type(ty) => Some(ty.dtype()),
        Known::Weak(Literal::Typed(scalar)) => Some(scalar.dtype()),
        Known::Weak(_) => None,
    };
    operands.iter().map(dtype).collect()
}

/// The dtype of a weak operand: that of the callee's parameter, or the one that the op's literal rule
/// chooses.
fn weak_dtype(
    (op, attrs): (Op, &Attrs),
    operand: usize,
    literal: Literal,
    dtypes: &[Option<DType>],
    callee: Option<&Signature>,
    returns: &[Type],
) -> DType {
    let wanted = callee.map_or(returns, |s| &s.params[..]).get(operand);
    match wanted {
        Some(ty) => literal.dtype_beside(Some(ty.dtype())),
        None => (op.literal)(&LiteralCx { literal, operand, dtypes, attrs }),
    }
}

fn signature(func: &Function, module: &Module, inst: Inst) -> Option<Signature> {
    let name = func.inst(inst).attrs.func("callee")?;
    if name == func.name { Some(func.signature()) } else { module.signature(name) }
}

/// The result types of an instruction, and whether it computes from weak operands only, so that its result
/// is weak, too.
fn result_types(
    func: &Function,
    module: &Module,
    inst: Inst,
    operands: &[Known],
) -> Result<(SmallVec<[Type; 1]>, bool), TypeError> {
    let data = func.inst(inst);
    let callee = signature(func, module, inst);
    let dtypes = dtypes_of(operands);
    let typed = |(at, known): (usize, &Known)| match known {
        Known::Type(ty) => ty.clone(),
        Known::Weak(literal) => {
            Type::scalar(weak_dtype((data.op, &data.attrs), at, *literal, &dtypes, callee.as_ref(), &[]))
        }
    };
    let types: SmallVec<[Type; 4]> = operands.iter().enumerate().map(typed).collect();
    let consts: SmallVec<[Option<Scalar>; 4]> = data
        .args
        .iter()
        .zip(&types)
        .map(|(&arg, ty)| func.as_const(arg).map(|scalar| scalar.cast(ty.dtype())))
        .collect();
    let (_, results) = infer_types(data.op, &types, &consts, data.attrs.clone(), callee.as_ref())?;
    let weak = !operands.is_empty()
        && data.op.is_elementwise()
        && data.op.name != "cast"
        && operands.iter().all(|k| matches!(k, Known::Weak(_)));
    // A comparison of numbers is a bool, even if the numbers are weak.
    let weak = weak
        && results.iter().all(|ty| ty.dtype() == DType::I64 || ty.dtype() == DType::F64 || ty.dtype() == DType::C128);
    Ok((results, weak))
}

/// Writes the inferred types into the function.
struct TypeWriter<'a> {
    func: &'a mut Function,
    module: &'a Module,
    known: &'a SecondaryMap<Value, Known>,
}

impl TypeWriter<'_> {
    fn write(mut self) {
        let blocks: Vec<Block> = self.func.blocks().collect();
        for (value, known) in self.known {
            if self.func.has_value(value) && !self.func.ty(value).is_known() {
                let ty = match known {
                    Known::Type(ty) => ty.clone(),
                    Known::Weak(literal) => Type::scalar(literal.dtype_beside(None)),
                };
                self.func.set_type(value, ty);
            }
        }
        self.func.untyped = false;
        let insts: Vec<Inst> = blocks.iter().flat_map(|&b| self.func.insts(b)).collect();
        for inst in insts {
            self.operands(inst);
            self.branch_args(inst);
        }
    }

    /// Turns literals into constants of their inferred dtypes, and casts weak values to theirs.
    fn operands(&mut self, inst: Inst) {
        let data = self.func.inst(inst);
        let callee = signature(self.func, self.module, inst);
        let args = data.args.clone();
        let operands: SmallVec<[Known; 4]> = args.iter().map(|&arg| self.of(arg)).collect();
        let dtypes = dtypes_of(&operands);
        let (op, attrs) = (data.op, data.attrs.clone());
        let returns = if data.op == RET { self.func.results.clone() } else { Vec::new() };
        for (at, known) in operands.iter().enumerate() {
            let Known::Weak(literal) = known else { continue };
            let dtype = weak_dtype((op, &attrs), at, *literal, &dtypes, callee.as_ref(), &returns);
            self.strengthen(inst, at, args[at], *literal, dtype);
        }
    }

    /// The lattice element of a value: weak for literals and for values computed from them only.
    fn of(&self, value: Value) -> Known {
        match (self.func.as_const(value), self.known.get(value)) {
            (Some(scalar), _) if !self.func.ty(value).is_known() => Known::Weak(weak(scalar)),
            (None, Some(known)) => known.clone(),
            _ => Known::Type(self.func.ty(value).clone()),
        }
    }

    /// Gives a weak operand a dtype.
    fn strengthen(&mut self, inst: Inst, at: usize, arg: Value, literal: Literal, dtype: DType) {
        if self.func.as_const(arg).is_some() {
            return self.set_constant(inst, at, literal, dtype);
        }
        let ty = self.func.ty(arg).clone();
        if ty.dtype() != dtype {
            self.cast(inst, at, arg, &ty, dtype);
        }
    }

    /// Casts branch arguments to the dtypes of the block parameters.
    fn branch_args(&mut self, inst: Inst) {
        let data = self.func.inst(inst);
        let first = data.args.len();
        let pairs: Vec<(Value, Value)> = data
            .targets
            .iter()
            .flat_map(|t| t.args.iter().copied().zip(self.func.block_params(t.block).iter().copied()))
            .collect();
        for (at, (arg, param)) in pairs.into_iter().enumerate() {
            let to = self.func.ty(param).dtype();
            match self.of(arg) {
                Known::Weak(literal) => self.strengthen(inst, first + at, arg, literal, to),
                Known::Type(ty) if ty.dtype() != to => self.cast(inst, first + at, arg, &ty, to),
                Known::Type(_) => {}
            }
        }
    }

    fn set_constant(&mut self, inst: Inst, at: usize, literal: Literal, dtype: DType) {
        // A literal that has no value of the dtype keeps its own dtype, and the verifier reports it.
        let scalar = literal_at(literal, dtype).ok().or_else(|| literal.at(literal.dtype_beside(None)));
        if let Some(scalar) = scalar {
            let value = self.func.constant(scalar);
            self.func.set_use(inst, at, value);
        }
    }

    fn cast(&mut self, inst: Inst, at: usize, arg: Value, ty: &Type, to: DType) {
        if let ValueDef::Const(scalar) = self.func.def(arg) {
            let value = self.func.constant(scalar.cast(to));
            return self.func.set_use(inst, at, value);
        }
        let Ok(op) = find_op("cast") else { return };
        let loc = self.func.inst(inst).loc;
        let attrs = Attrs::new().with("to", Attr::DType(to));
        let types = SmallVec::from_elem(ty.with_dtype(to), 1);
        let cast = self.func.create_inst(op, [arg], attrs, [], types, loc);
        self.func.insert_before(inst, cast);
        let value = self.func.inst(cast).results[0];
        self.func.set_use(inst, at, value);
    }
}
