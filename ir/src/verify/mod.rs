//! The verifier: checks the invariants of functions, and reports the violations that it finds. Dominance and
//! `del`s are checked only if every operand and target exists. The parser, type inference, the rewrite driver
//! and the lowering run it.
//!
//! - There is an entry block, and nothing branches to it.
//! - Every block ends with its only terminator. Targets are blocks of the function, and branch arguments fit
//!   the parameters in number and type.
//! - Operands are values of the function, and definitions dominate all uses. In unreachable blocks every
//!   definition does.
//! - Operands and attributes match the op's definition, and results have the types that its type rule
//!   infers.
//! - Callees are functions of the module. Without a module, calls are not checked.
//! - Symbols in types of block parameters are bound by the function's parameters. Otherwise a rewrite could
//!   remove the binding of a symbol that other instructions need.
//! - The operands of `ret` fit the function's results.
//! - Types are known, unless type inference has not run. In that case types are not checked.
//! - Storage styles are registered.
//! - No path leads from a `del` to a use of its operand without a new definition in between.
//!
//! A debug build also checks the [links and use counts](Function::check_integrity) of functions: an error in
//! them is one of this crate, not of the program, so it panics.

mod inst;

use crate::analysis::{Dominators, Liveness, ended_values};
use crate::function::{Block, Function, Inst, Value, ValueDef, ValueLabels};
use crate::loc::Loc;
use crate::module::Module;
use crate::name::Name;
use crate::op::Effects;
use crate::types::{Dim, Type};
use crate::value::Style;
use slotmap::SecondaryMap;
use std::cell::OnceCell;
use std::fmt;
use thiserror::Error;

/// A violation of an invariant.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`@{function}`{}: {message}{}", if .loc.is_none() { String::new() } else { format!(" line {}", .loc.line) }, .help.as_deref().map(|h| format!(" ({h})")).unwrap_or_default())]
pub struct VerifyError {
    /// The function.
    pub function: Name,
    /// The source location; none if the function was not read from a text.
    pub loc: Loc,
    /// The violation; one lower-case sentence.
    pub message: String,
    /// The advice.
    pub help: Option<String>,
}

/// Violations: those of each block and instruction in layout order, then of dominance, then of `del`s.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct VerifyErrors(pub Vec<VerifyError>);

impl fmt::Display for VerifyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            write!(f, "{}{error}", if i > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}
impl std::error::Error for VerifyErrors {}

/// Verifies every function of a module.
pub fn verify_module(module: &Module) -> Result<(), VerifyErrors> {
    finish(module.functions().flat_map(|f| errors_of(f, Some(module))).collect())
}

/// Verifies one function. `module` has its callees; without one, calls are not checked.
pub fn verify_function(func: &Function, module: Option<&Module>) -> Result<(), VerifyErrors> {
    finish(errors_of(func, module))
}

fn finish(errors: Vec<VerifyError>) -> Result<(), VerifyErrors> {
    if errors.is_empty() { Ok(()) } else { Err(VerifyErrors(errors)) }
}

fn errors_of(func: &Function, module: Option<&Module>) -> Vec<VerifyError> {
    debug_assert_eq!(func.check_integrity(), Ok(()), "`@{}` is corrupt", func.name);
    let mut cx = FunctionVerifier::new(func, module);
    cx.styles(&func.results, func.loc);
    match func.entry() {
        None => cx.error(func.loc, "the function has no blocks", Some("it needs one, that ends with `ret`")),
        Some(_) => func.blocks().for_each(|b| cx.block(b)),
    }
    if cx.references_exist {
        let dominators = Dominators::of(func);
        cx.dominance(&dominators);
        cx.dels(&dominators);
    }
    cx.errors
}

/// A symbol in a type that no parameter of the function binds.
pub fn unbound_symbol(func: &Function, ty: &Type) -> Option<Name> {
    let bound = |dim: &Dim| func.params().iter().any(|&param| func.ty(param).dims().contains(dim));
    ty.dims().iter().find_map(|dim| if let Dim::Sym(name) = dim { (!bound(dim)).then_some(*name) } else { None })
}

/// The terminators, for messages.
pub(crate) const TERMINATORS: &str = "`jump`, `br_if`, `switch`, `ret` and `raise` are terminators";

/// Checks one function.
pub(crate) struct FunctionVerifier<'a> {
    func: &'a Function,
    module: Option<&'a Module>,
    errors: Vec<VerifyError>,
    labels: ValueLabels<'a>,
    /// The positions of blocks in the layout, computed for the first message about an unnamed block.
    positions: OnceCell<SecondaryMap<Block, usize>>,
    /// Whether all operands and targets exist, so that paths can be followed.
    references_exist: bool,
}

impl<'a> FunctionVerifier<'a> {
    fn new(func: &'a Function, module: Option<&'a Module>) -> Self {
        let (labels, positions) = (ValueLabels::new(func), OnceCell::new());
        FunctionVerifier { func, module, errors: Vec::new(), labels, positions, references_exist: true }
    }

    fn error(&mut self, loc: Loc, message: impl Into<String>, help: Option<&str>) {
        let loc = if loc.is_none() { self.func.loc } else { loc };
        let error =
            VerifyError { function: self.func.name, loc, message: message.into(), help: help.map(str::to_string) };
        self.errors.push(error);
    }

    /// The name of a value in messages.
    fn label(&self, value: Value) -> String {
        self.labels.of(value)
    }

    fn block_label(&self, block: Block) -> String {
        if !self.func.has_block(block) {
            return "a block that is not in the function".to_string();
        }
        match self.func.block_name(block) {
            Some(name) => format!("`{name}`"),
            None => {
                let positions = || self.func.blocks().enumerate().map(|(at, block)| (block, at)).collect();
                format!("block {}", self.positions.get_or_init(positions)[block])
            }
        }
    }

    fn styles<'t>(&mut self, types: impl IntoIterator<Item = &'t Type>, loc: Loc) {
        for ty in types {
            let Some(name) = ty.style() else { continue };
            if let Err(why) = Style::named(name).and_then(|style| (style.def().components)(ty)) {
                self.error(loc, format!("there is no array of type {ty}: {why}"), None);
            }
        }
    }

    fn block(&mut self, block: Block) {
        let func = self.func;
        let params = || func.block_params(block).iter().map(|&p| func.ty(p));
        let loc = func.first_inst(block).map_or(func.loc, |i| func.inst(i).loc);
        self.styles(params(), loc);
        for &param in func.block_params(block) {
            self.symbols(param, loc);
        }
        if !func.untyped && params().any(|ty| !ty.is_known()) {
            let label = self.block_label(block);
            self.error(loc, format!("{label} has a parameter without a type"), Some("only `untyped` functions may"));
        }
        if func.terminator(block).is_none() {
            let label = self.block_label(block);
            let loc = func.insts(block).next_back().map_or(loc, |i| func.inst(i).loc);
            self.error(loc, format!("{label} does not end with a terminator"), Some(TERMINATORS));
        }
        for inst in func.insts(block) {
            let data = func.inst(inst);
            if data.op.is_terminator() && func.next_inst(inst).is_some() {
                let label = self.block_label(block);
                self.error(data.loc, format!("`{}` stands in the middle of {label}", data.op), None);
            }
            self.inst(inst);
        }
    }

    /// Checks that the symbols in a parameter's type are bound when the function is called.
    fn symbols(&mut self, param: Value, loc: Loc) {
        if let Some(symbol) = unbound_symbol(self.func, self.func.ty(param)) {
            let message = format!(
                "{} is {}, and `{symbol}` is bound by no parameter of the function",
                self.label(param),
                self.func.ty(param)
            );
            self.error(loc, message, Some("a dim that is not known when the function is called is `?`"));
        }
    }

    fn dominance(&mut self, dominators: &Dominators) {
        let func = self.func;
        for inst in func.blocks().flat_map(|b| func.insts(b)) {
            let data = func.inst(inst);
            for value in data.uses() {
                if !dominators.value_dominates(func, value, inst) {
                    let label = self.label(value);
                    let message = format!("`{}` uses {label}, which is not defined on every path to it", data.op);
                    let help =
                        "values go from block to block as block arguments where their definition does not dominate";
                    self.error(data.loc, message, Some(help));
                }
            }
        }
    }

    fn dels(&mut self, dominators: &Dominators) {
        let func = self.func;
        let ended = ended_values(func);
        if ended.is_empty() {
            return;
        }
        let liveness = Liveness::of_values(func, ended);
        let reachable = func.blocks().filter(|&b| dominators.is_reachable(b));
        for inst in reachable.flat_map(|b| func.insts(b)) {
            let data = func.inst(inst);
            if !data.op.effects.contains(Effects::FREES) {
                continue;
            }
            for &value in data.args.iter().filter(|&&v| func.as_const(v).is_none()) {
                if liveness.live_after(func, value, inst) {
                    self.used_after_del(inst, value);
                }
            }
        }
    }

    fn used_after_del(&mut self, del: Inst, value: Value) {
        let func = self.func;
        let label = self.label(value);
        let later = func.users(value).into_iter().filter(|&u| func.comes_before(del, u));
        let later = later.reduce(|a, b| if func.comes_before(b, a) { b } else { a });
        let loc = func.inst(del).loc;
        match later {
            Some(user) => {
                let data = func.inst(user);
                let line = if loc.is_none() { String::new() } else { format!(" in line {}", loc.line) };
                self.error(data.loc, format!("`{}` uses {label} after its `del`{line}", data.op), None);
            }
            None => self.error(loc, format!("{label} is used after this `del`, on some path"), None),
        }
    }

    /// True if a value is defined.
    fn is_defined(&self, value: Value) -> bool {
        let func = self.func;
        func.has_value(value)
            && match func.def(value) {
                ValueDef::Const(_) => true,
                ValueDef::Result(inst, _) => func.is_linked(inst),
                ValueDef::Param(block, index) => {
                    func.has_block(block) && func.block_params(block).get(index as usize) == Some(&value)
                }
            }
    }
}
