//! Construction of instructions: resolves literals, checks attributes, and infers result types.
//!
//! The builder, the parser and rewrites all call [`infer`], so the same mistake gives the same message
//! everywhere.

use crate::attr::Attrs;
use crate::dtype::DType;
use crate::error::TypeError;
use crate::function::{Block, Function, Inst, Target, Value};
use crate::loc::Loc;
use crate::module::Module;
use crate::name::Name;
pub use crate::op::infer_types;
use crate::op::{Eval, LiteralCx, Op, Types, check_arity, normalized};
use crate::registry::{Registry, registry};
use crate::scalar::{Literal, Scalar};
use crate::types::{Signature, Type};
use smallvec::SmallVec;

/// An operand before resolution: a value, or a literal without a dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arg {
    /// A value.
    Value(Value),
    /// A literal.
    Literal(Literal),
}

impl From<Value> for Arg {
    fn from(v: Value) -> Self {
        Arg::Value(v)
    }
}
impl<T: Into<Literal>> From<T> for Arg {
    fn from(x: T) -> Self {
        Arg::Literal(x.into())
    }
}

/// Turns literals into constants of the function by the op's literal rule. `wanted` overrides the rule if
/// types are known otherwise (from a callee's parameters).
pub fn resolve_literals(
    func: &mut Function,
    op: Op,
    args: &[Arg],
    attrs: &Attrs,
    wanted: impl Fn(usize) -> Option<Type>,
) -> Result<SmallVec<[Value; 3]>, TypeError> {
    if func.untyped {
        let weak = |(operand, arg): (usize, &Arg)| match *arg {
            Arg::Value(value) => Ok(value),
            Arg::Literal(literal) => func.weak_constant(literal).ok_or_else(|| too_large(literal).operand(operand)),
        };
        return args.iter().enumerate().map(weak).collect();
    }
    let dtypes: SmallVec<[_; 4]> = args
        .iter()
        .map(|arg| match arg {
            Arg::Value(v) => Some(func.ty(*v).dtype()),
            Arg::Literal(Literal::Typed(s)) => Some(s.dtype()),
            Arg::Literal(_) => None,
        })
        .collect();
    let mut values = SmallVec::new();
    for (operand, arg) in args.iter().enumerate() {
        values.push(match *arg {
            Arg::Value(v) => v,
            Arg::Literal(Literal::Typed(scalar)) => func.constant(scalar),
            Arg::Literal(literal) => {
                let dtype = match wanted(operand) {
                    Some(ty) => literal.dtype_beside(Some(ty.dtype())),
                    None => (op.literal)(&LiteralCx { literal, operand, dtypes: &dtypes, attrs }),
                };
                func.constant(literal_at(literal, dtype).map_err(|e| e.operand(operand))?)
            }
        });
    }
    Ok(values)
}

/// The error of a literal that exceeds the range of every dtype.
pub(crate) fn too_large(literal: Literal) -> TypeError {
    TypeError::new(format!("literal {literal} is too large for every dtype"))
}

/// The literal at a dtype, or an error with the reason.
pub fn literal_at(literal: Literal, dtype: DType) -> Result<Scalar, TypeError> {
    literal.at(dtype).ok_or_else(|| {
        TypeError::new(format!("literal {literal} is no value of {dtype}"))
            .help(format!("write it with a dtype, as `{literal}:f64`, or cast the other operand"))
    })
}

/// Checks operand count and attributes, and infers the result types. Returns the attributes in schema order.
/// Before type inference, result types are unknown.
pub fn infer(
    func: &Function,
    op: Op,
    args: &[Value],
    attrs: Attrs,
    callee: Option<&Signature>,
) -> Result<(Attrs, Types), TypeError> {
    if func.untyped {
        check_arity(op, args.len())?;
        let attrs = normalized(op, attrs)?;
        let count = result_count(op, args.len(), &attrs, callee);
        return Ok((attrs, SmallVec::from_elem(Type::unknown(), count)));
    }
    let types: SmallVec<[Type; 4]> = args.iter().map(|&v| func.ty(v).clone()).collect();
    let consts: SmallVec<[Option<Scalar>; 4]> = args.iter().map(|&v| func.as_const(v)).collect();
    infer_types(op, &types, &consts, attrs, callee)
}

/// The number of results of an instruction, independent of operand types.
fn result_count(op: Op, args: usize, attrs: &Attrs, callee: Option<&Signature>) -> usize {
    if let Some(callee) = callee {
        return callee.results.len();
    }
    match op.eval {
        Eval::Elementwise { resolve, .. } => {
            // The number is the same for all dtypes that the op accepts.
            let results = |dtype| resolve(&vec![dtype; args], attrs).ok().map(|found| found.outs.len());
            DType::ALL.into_iter().find_map(results).unwrap_or(1)
        }
        _ if op.is_pure() => 1,
        _ => 0,
    }
}

/// Builds a function, block by block.
pub struct FuncBuilder<'m> {
    func: Function,
    module: Option<&'m Module>,
    at: Option<Block>,
    loc: Loc,
}

impl<'m> FuncBuilder<'m> {
    /// Starts a function with an entry block that has these parameters.
    pub fn new(name: &str, params: &[(&str, Type)], results: Vec<Type>) -> Self {
        let mut func = Function::new(name, results);
        let entry = func.create_block(Some(Name::new("entry")));
        for (name, ty) in params {
            let v = func.add_block_param(entry, ty.clone());
            func.set_value_name(v, Some(Name::new(name)));
        }
        FuncBuilder { func, module: None, at: Some(entry), loc: Loc::default() }
    }

    /// Sets the module in which calls find their callees.
    pub fn in_module(mut self, module: &'m Module) -> Self {
        self.module = Some(module);
        self
    }

    /// The n-th parameter. Panics if there is none.
    pub fn param(&self, index: usize) -> Value {
        self.func.params()[index]
    }

    /// Adds a block with parameters; instructions are still appended to the current block.
    pub fn block(&mut self, name: &str, params: &[(&str, Type)]) -> Block {
        let block = self.func.create_block(Some(Name::new(name)));
        for (name, ty) in params {
            let v = self.func.add_block_param(block, ty.clone());
            self.func.set_value_name(v, Some(Name::new(name)));
        }
        block
    }

    /// Makes a block the current one.
    pub fn switch_to(&mut self, block: Block) {
        self.at = Some(block);
    }

    /// Sets the location of the instructions that are appended from now on; it is "nowhere" at first.
    pub fn set_loc(&mut self, loc: Loc) {
        self.loc = loc;
    }

    /// A block's n-th parameter. Panics if there is none.
    pub fn block_param(&self, block: Block, index: usize) -> Value {
        self.func.block_params(block)[index]
    }

    /// Appends an instruction and returns its single result. An error if there are none or several.
    pub fn op(&mut self, name: &str, args: impl IntoIterator<Item = impl Into<Arg>>) -> Result<Value, TypeError> {
        self.op_with(name, args, Attrs::new())
    }

    /// Appends an instruction with attributes and returns its single result.
    pub fn op_with(
        &mut self,
        name: &str,
        args: impl IntoIterator<Item = impl Into<Arg>>,
        attrs: Attrs,
    ) -> Result<Value, TypeError> {
        let inst = self.inst(name, args, attrs, [])?;
        match self.func.inst(inst).results.as_slice() {
            [one] => Ok(*one),
            many => Err(TypeError::new(format!("`{name}` has {} results here, not one", many.len()))),
        }
    }

    /// Appends an instruction.
    pub fn inst(
        &mut self,
        name: &str,
        args: impl IntoIterator<Item = impl Into<Arg>>,
        attrs: Attrs,
        targets: impl IntoIterator<Item = Target>,
    ) -> Result<Inst, TypeError> {
        let op = find_op(name)?;
        let Some(block) = self.at else { return Err(TypeError::new("there is no current block")) };
        let args: SmallVec<[Arg; 4]> = args.into_iter().map(Into::into).collect();
        let callee = attrs.func("callee").and_then(|f| self.module.and_then(|m| m.signature(f)));
        let returns = if op.name == "ret" { self.func.results.clone() } else { Vec::new() };
        let values = resolve_literals(&mut self.func, op, &args, &attrs, |i| {
            callee.as_ref().and_then(|s| s.params.get(i).cloned()).or_else(|| returns.get(i).cloned())
        })?;
        let (attrs, types) = infer(&self.func, op, &values, attrs, callee.as_ref())?;
        let inst = self.func.create_inst(op, values, attrs, targets, types, self.loc);
        self.func.append(block, inst);
        Ok(inst)
    }

    /// Ends the current block by returning values.
    pub fn ret(&mut self, args: impl IntoIterator<Item = impl Into<Arg>>) -> Result<(), TypeError> {
        self.inst("ret", args, Attrs::new(), []).map(drop)
    }

    /// The function under construction.
    pub fn func(&self) -> &Function {
        &self.func
    }

    /// Returns the finished function.
    pub fn finish(self) -> Function {
        self.func
    }
}

/// The op of this name, or an error with a suggestion.
pub fn find_op(name: &str) -> Result<Op, TypeError> {
    registry().op(name).ok_or_else(|| {
        let hint = match Registry::suggest(name, registry().ops().map(|(op, _)| op.name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "is the crate that registers it linked (`use my_plugin as _;`)?".to_string(),
        };
        TypeError::new(format!("unknown op `{name}`")).help(hint)
    })
}
