//! Name resolution, from syntax to functions: names become values and blocks, literals get dtypes, and
//! result types are inferred. It follows parsing.
//!
//! Instructions are created in the order of their data dependences, not in text order: a block may stand
//! before the blocks that dominate it. Afterwards they are placed into their blocks in text order.

use super::ast::{PArg, PDef, PFunction, PInst, POperand, PParam};
use super::names::Numbering;
use super::parser::clip;
use super::refused::Refused;
use super::resolve_expr::resolve_expr;
use crate::attr::Attr;
use crate::builder::{Arg, infer, literal_at, resolve_literals, too_large};
use crate::diag::{Diagnostic, Diagnostics};
use crate::error::TypeError;
use crate::function::{Block, Function, Inst, Target, Value};
use crate::module::Module;
use crate::name::Name;
use crate::op::{Op, Types};
use crate::registry::Registry;
use crate::types::{Signature, Type};
use crate::verify::verify_function;
use indexmap::IndexMap;
use smallvec::SmallVec;

/// The signatures of a module's functions; `None` if a header has errors.
pub(super) type Signatures = IndexMap<Name, Option<Signature>>;

/// The numbers of each function's anonymous values in the text.
pub(super) type Numberings = IndexMap<Name, Numbering>;

/// The greatest number that is kept: values created later are numbered from the greatest one on.
const GREATEST_NUMBER: u32 = u32::MAX / 2;

/// Creates the module. It is incomplete if there are errors.
pub(crate) fn resolve_module(functions: &mut [PFunction<'_>], errors: &mut Diagnostics) -> (Module, Numberings) {
    let mut signatures = Signatures::new();
    for f in functions.iter() {
        if signatures.insert(f.name, signature(f)).is_some() {
            errors.push(Diagnostic::new(format!("function `@{}` is defined twice", clip(&f.name))).at(f.loc));
        }
    }
    let mut module = Module::new();
    let mut numberings = Numberings::new();
    for f in functions {
        let before = errors.count();
        let (func, numbering) = resolve_function(f, &signatures, errors);
        numberings.insert(func.name, numbering);
        module.insert(func);
        f.failed |= errors.count() > before;
        if f.failed {
            open_blocks(f, errors);
        }
    }
    (module, numberings)
}

/// Reports the errors of the verifier, except for functions with earlier errors, where they would only be
/// consequences.
pub(crate) fn verify_resolved(functions: &[PFunction<'_>], module: &Module, errors: &mut Diagnostics) {
    let complete = functions.iter().all(|f| signature(f).is_some());
    for func in functions.iter().filter(|f| !f.failed).filter_map(|f| module.get(f.name)) {
        for error in verify_function(func, complete.then_some(module)).err().into_iter().flat_map(|all| all.0) {
            let message = if error.loc.is_none() { error.to_string() } else { error.message };
            errors.push(Diagnostic::new(message).at(error.loc).maybe_help(error.help));
        }
    }
}

/// Reports blocks without a terminator. For functions without other errors the verifier does so.
fn open_blocks(f: &PFunction<'_>, errors: &mut Diagnostics) {
    for &id in &f.order {
        let block = &f.blocks[id as usize];
        let last = f.insts[block.insts.clone()].last();
        if !block.failed && !last.is_some_and(|i| i.op.is_terminator()) {
            let message = format!("`{}` does not end with a terminator", clip(block.name));
            let loc = last.map_or(block.loc, |i| i.loc);
            errors.push(in_function(f, message).at(loc).help(crate::verify::TERMINATORS));
        }
    }
}

fn signature(f: &PFunction<'_>) -> Option<Signature> {
    let params = f.params.iter().map(|p| p.ty.clone()).collect::<Option<Vec<_>>>()?;
    Some(Signature { params, results: f.results.clone()? })
}

fn resolve_function(f: &PFunction<'_>, signatures: &Signatures, errors: &mut Diagnostics) -> (Function, Numbering) {
    let mut func = Function::new(f.name, f.results.clone().unwrap_or_default());
    func.reserve(f.values.len(), f.insts.len());
    func.loc = f.loc;
    func.untyped = f.untyped;
    let mut resolver = FunctionResolver {
        f,
        func,
        numbering: Numbering::default(),
        signatures,
        errors,
        values: vec![None; f.values.len()],
        blocks: vec![None; f.blocks.len()],
        made: vec![None; f.insts.len()],
        state: vec![State::Untouched; f.insts.len()],
    };
    resolver.names();
    resolver.make_blocks();
    resolver.make_insts();
    resolver.link();
    (resolver.func, resolver.numbering)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Untouched,
    /// Its operands are being created.
    Begun,
    /// Created or refused.
    Done,
}

pub(super) struct FunctionResolver<'a, 'e> {
    f: &'a PFunction<'a>,
    pub func: Function,
    numbering: Numbering,
    pub signatures: &'a Signatures,
    errors: &'e mut Diagnostics,
    /// Values that exist. A value that stays `None` belongs to a part of the text with an error.
    values: Vec<Option<Value>>,
    blocks: Vec<Option<Block>>,
    made: Vec<Option<Inst>>,
    state: Vec<State>,
}

impl FunctionResolver<'_, '_> {
    /// Reports values and blocks that are used but not defined.
    fn names(&mut self) {
        for value in self.f.values.iter().filter(|v| v.def == PDef::Undefined) {
            let known = self.f.values.iter().filter(|v| v.def != PDef::Undefined).map(|v| v.name);
            let near = near_or_known(value.name, known, "%");
            let message = format!("value `%{}` is not defined", clip(value.name));
            self.errors.push(in_function(self.f, message).at(value.loc).maybe_help(near));
            if self.errors.is_full() {
                break;
            }
        }
        for block in self.f.blocks.iter().filter(|b| !b.defined) {
            let known = self.f.blocks.iter().filter(|b| b.defined).map(|b| b.name);
            let near = near_or_known(block.name, known, "");
            let message = format!("there is no block `{}` in `@{}`", clip(block.name), clip(&self.f.name));
            self.errors.push(in_function(self.f, message).at(block.loc).maybe_help(near));
            if self.errors.is_full() {
                break;
            }
        }
        if self.f.order.is_empty() && !self.f.params.is_empty() {
            let message = format!("`@{}` has parameters and no block", clip(&self.f.name));
            self.errors.push(Diagnostic::new(message).at(self.f.loc));
        }
    }

    fn make_blocks(&mut self) {
        for &id in &self.f.order {
            let block = self.func.create_block(Some(Name::new(self.f.blocks[id as usize].name)));
            self.blocks[id as usize] = Some(block);
            for param in self.f.block_params(id) {
                self.make_param(block, param);
            }
        }
    }

    fn make_param(&mut self, block: Block, param: &PParam) {
        let Some(ty) = &param.ty else { return };
        let value = self.func.add_block_param(block, ty.clone());
        self.name_value(param.value, value);
    }

    fn name_value(&mut self, id: u32, value: Value) {
        let known = &self.f.values[id as usize];
        if !known.numbered {
            self.func.set_value_name(value, Some(Name::new(known.name)));
        } else if let Some(number) = known.name.parse().ok().filter(|&number| number <= GREATEST_NUMBER) {
            self.numbering.set(value, number);
        }
        self.values[id as usize] = Some(value);
    }

    fn make_insts(&mut self) {
        let mut stack = Vec::new();
        for root in 0..self.f.insts.len() as u32 {
            stack.push(root);
            while let Some(&at) = stack.last() {
                let state = self.state[at as usize];
                match state {
                    State::Done => {
                        stack.pop();
                    }
                    State::Untouched if self.push_needed(at, &mut stack) => {}
                    _ => {
                        self.make(at);
                        stack.pop();
                    }
                }
            }
        }
    }

    /// Pushes the instructions that define an instruction's operands. False if all of them exist.
    fn push_needed(&mut self, at: u32, stack: &mut Vec<u32>) -> bool {
        self.state[at as usize] = State::Begun;
        let before = stack.len();
        let inst = &self.f.insts[at as usize];
        for arg in inst.args.iter().chain(inst.targets.iter().flat_map(|t| &t.args)) {
            let POperand::Value(id) = arg.operand else { continue };
            let PDef::Result(def) = self.f.values[id as usize].def else { continue };
            match self.state[def as usize] {
                State::Untouched => stack.push(def),
                State::Begun => self.report_cycle(at, arg),
                State::Done => {}
            }
        }
        stack.len() > before
    }

    fn report_cycle(&mut self, at: u32, arg: &PArg) {
        let POperand::Value(id) = arg.operand else { return };
        let message = format!("value `%{}` is needed for its own definition", clip(self.f.values[id as usize].name));
        let help = "values go around a loop as arguments of its first block";
        let inst = &self.f.insts[at as usize];
        self.errors.push(placed(Diagnostic::new(message).at(arg.loc).help(help), inst));
    }

    fn make(&mut self, at: u32) {
        let f = self.f;
        self.state[at as usize] = State::Done;
        let inst = &f.insts[at as usize];
        match self.build(inst) {
            Ok(made) => {
                for (at, &id) in inst.results.iter().enumerate() {
                    self.name_value(id, self.func.inst(made).results[at]);
                }
                self.made[at as usize] = Some(made);
            }
            Err(Refused::Now(error)) => self.errors.push(placed(*error, inst)),
            Err(Refused::Before) => {}
        }
    }

    fn build(&mut self, inst: &PInst) -> Result<Inst, Refused> {
        let callee = self.callee(inst)?;
        let args = self.operands(&inst.args)?;
        let mut attrs = inst.attrs.clone();
        if self.func.untyped && (inst.expr.is_some() || inst.types.is_some()) {
            let error = Diagnostic::new("types of results can't be written in an untyped function").at(inst.op_loc);
            return Err(error.help("type inference finds them; leave `untyped` out to write them").into());
        }
        if let Some(expr) = &inst.expr {
            let types = self.types_of(&args);
            let resolved = resolve_expr(expr, &types, inst.loc, self.errors).ok_or(Refused::Before)?;
            attrs.set("expr".into(), Attr::Expr(resolved));
        }
        let at_operand = |e: TypeError| {
            let loc = e.operand.and_then(|i| inst.args.get(i)).map_or(inst.op_loc, |a| a.loc);
            Refused::from(Diagnostic::from(e).at(loc))
        };
        let op = inst.op;
        let returns: &[Type] = if is_ret(op) { self.f.results.as_deref().ok_or(Refused::Before)? } else { &[] };
        let wanted = |i: usize| {
            let param = callee.as_ref().and_then(|s| s.params.get(i));
            param.or_else(|| returns.get(i)).cloned()
        };
        let values = resolve_literals(&mut self.func, op, &args, &attrs, wanted).map_err(at_operand)?;
        let (attrs, types) = infer(&self.func, op, &values, attrs, callee.as_ref()).map_err(at_operand)?;
        check_types(inst, &types)?;
        let targets = self.targets(inst)?;
        Ok(self.func.create_inst(op, values, attrs, targets, types, inst.loc))
    }

    fn types_of(&self, args: &[Arg]) -> Vec<Type> {
        let ty = |arg: &Arg| match arg {
            Arg::Value(v) => self.func.ty(*v).clone(),
            Arg::Literal(literal) => Type::scalar(literal.dtype_beside(None)),
        };
        args.iter().map(ty).collect()
    }

    /// The signature of an instruction's callee.
    fn callee(&self, inst: &PInst) -> Result<Option<Signature>, Refused> {
        let Some(name) = inst.attrs.func("callee") else { return Ok(None) };
        match self.signatures.get(&name) {
            Some(Some(signature)) => Ok(Some(signature.clone())),
            Some(None) => Err(Refused::Before),
            None => {
                let near = near_or_known(&name, self.signatures.keys().map(|n| n.as_str()), "@");
                let error = Diagnostic::new(format!("there is no function `@{}` in the module", clip(&name)));
                Err(error.at(inst.op_loc).maybe_help(near).into())
            }
        }
    }

    fn operands(&self, args: &[PArg]) -> Result<SmallVec<[Arg; 4]>, Refused> {
        args.iter()
            .map(|arg| match arg.operand {
                POperand::Literal(id) => Ok(Arg::Literal(self.f.literals[id as usize])),
                POperand::Value(id) => self.values[id as usize].map(Arg::Value).ok_or(Refused::Before),
            })
            .collect()
    }

    fn targets(&mut self, inst: &PInst) -> Result<SmallVec<[Target; 2]>, Refused> {
        let f = self.f;
        let mut targets = SmallVec::new();
        for target in &inst.targets {
            let block = self.blocks[target.block as usize].ok_or(Refused::Before)?;
            let params = f.block_params(target.block);
            if params.len() != target.args.len() {
                let name = clip(f.blocks[target.block as usize].name);
                let (want, got) = (params.len(), target.args.len());
                let plural = if want == 1 { "" } else { "s" };
                let message = format!("block `{name}` takes {want} argument{plural}, got {got}");
                return Err(Diagnostic::new(message).at(target.loc).into());
            }
            let args = target.args.iter().zip(params).map(|(arg, param)| self.branch_arg(arg, param));
            let args = args.collect::<Result<_, Refused>>()?;
            targets.push(Target { block, args });
        }
        Ok(targets)
    }

    fn branch_arg(&mut self, arg: &PArg, param: &PParam) -> Result<Value, Refused> {
        match arg.operand {
            POperand::Value(id) => self.values[id as usize].ok_or(Refused::Before),
            POperand::Literal(id) => {
                let literal = self.f.literals[id as usize];
                let ty = param.ty.as_ref().ok_or(Refused::Before)?;
                if self.func.untyped {
                    let weak = self.func.weak_constant(literal);
                    return weak.ok_or_else(|| Diagnostic::from(too_large(literal)).at(arg.loc).into());
                }
                let scalar = literal_at(literal, literal.dtype_beside(Some(ty.dtype())));
                Ok(self.func.constant(scalar.map_err(|e| Diagnostic::from(e).at(arg.loc))?))
            }
        }
    }

    fn link(&mut self) {
        for &id in &self.f.order {
            let Some(block) = self.blocks[id as usize] else { continue };
            for at in self.f.blocks[id as usize].insts.clone() {
                if let Some(inst) = self.made[at] {
                    self.func.append(block, inst);
                }
            }
        }
    }
}

fn is_ret(op: Op) -> bool {
    op == crate::ops::control::RET
}

/// Checks the number of results and their types against the text.
fn check_types(inst: &PInst, types: &Types) -> Result<(), Diagnostic> {
    let given = inst.results.len();
    if given != types.len() {
        let plural = if types.len() == 1 { "" } else { "s" };
        let message = format!("`{}` has {} result{plural} here, {given} named", inst.op, types.len());
        let names: Vec<_> = (0..types.len()).map(|i| format!("%r{i}")).collect();
        let help = match types.len() {
            0 => "leave the names and `=` out".to_string(),
            _ => format!("write `{} = {} ...`", names.join(", "), inst.op),
        };
        return Err(Diagnostic::new(message).at(inst.op_loc).help(help));
    }
    match &inst.types {
        Some(written) if written[..] != types[..] => {
            let list = |types: &[Type]| types.iter().map(Type::to_string).collect::<Vec<_>>().join(", ");
            let message = format!("the result is {}, not {}", list(types), list(written));
            Err(Diagnostic::new(message).at(inst.op_loc).label(format!("{} here", list(types))))
        }
        _ => Ok(()),
    }
}

/// The most names that an error lists.
const MAX_LISTED: usize = 8;

/// The advice for an unknown name: the nearest known name, else the known names.
fn near_or_known<'n>(name: &str, known: impl Iterator<Item = &'n str> + Clone, sigil: &str) -> Option<String> {
    if let Some(near) = Registry::suggest(name, known.clone()) {
        return Some(format!("did you mean `{sigil}{near}`?"));
    }
    let mut listed: Vec<String> = known.clone().take(MAX_LISTED).map(|n| format!("`{sigil}{}`", clip(n))).collect();
    if known.count() > listed.len() {
        listed.push("...".to_string());
    }
    (!listed.is_empty()).then(|| format!("known names are {}", listed.join(", ")))
}

/// An error of a function; the message names the function if there is no location.
fn in_function(f: &PFunction<'_>, message: String) -> Diagnostic {
    Diagnostic::new(if f.loc.is_none() { format!("`@{}`: {message}", f.name) } else { message })
}

/// Names the instruction in the message if there is no location.
fn placed(mut error: Diagnostic, inst: &PInst) -> Diagnostic {
    if let Some(place) = &inst.place {
        error.message = format!("{place}: {}", error.message);
    }
    error
}
