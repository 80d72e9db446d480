//! The verifier: checks the invariants of functions, and reports all violations that it finds. The parser,
//! type inference, the rewrite driver and the lowering run it.
//!
//! Control flow:
//!
//! - There is an entry block, and nothing branches to it.
//! - Every block ends with its only terminator. Targets are blocks of the function, and branch arguments fit
//!   the parameters in number and type.
//! - The operands of `ret` fit the function's results.
//! - Callees are functions of the module. Without a module, calls are not checked.
//!
//! SSA form, checked only if every operand and target exists:
//!
//! - Operands are values of the function, and definitions dominate all uses. In unreachable blocks every
//!   definition does.
//! - No path leads from a `del` to a use of its operand without a new definition in between.
//!
//! Types, checked only after type inference:
//!
//! - Types are known, and their storage styles are registered.
//! - Operands and attributes match the op's definition, and results have the types that its type rule
//!   infers.
//! - Symbols in types of block parameters are bound by the function's parameters. Otherwise a rewrite could
//!   remove the binding of a symbol that other instructions need.
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
use crate::text::Printer;
use crate::types::{Dim, Type};
use crate::value::Style;
use slotmap::SecondaryMap;
use std::cell::OnceCell;
use std::fmt;

/// A violation of an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// The function.
    pub function: Name,
    /// The source location of the instruction, or else of the function; none if neither was read from a text.
    pub loc: Loc,
    /// The instruction as text, if it has no source location.
    pub instruction: Option<String>,
    /// The violation; one lower-case sentence.
    pub message: String,
    /// The advice.
    pub help: Option<String>,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`@{}`", self.function)?;
        if !self.loc.is_none() {
            write!(f, " line {}", self.loc.line)?;
        }
        if let Some(instruction) = &self.instruction {
            write!(f, ", `{instruction}`")?;
        }
        write!(f, ": {}", self.message)?;
        self.help.iter().try_for_each(|help| write!(f, " ({help})"))
    }
}
impl std::error::Error for VerifyError {}

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
///
/// ```
/// use rewright_ir::{parse_unverified, verify_function};
///
/// let text = "func @f(%x: f64) -> f64 {\n  %y = add %z, %x\n  %z = neg %x\n  ret %y\n}";
/// let module = parse_unverified(text, "late.ir").map_err(|e| e.render(false))?;
/// let func = module.functions().next().expect("one function");
/// let errors = verify_function(func, Some(&module)).expect_err("%z is used before its definition");
/// assert!(errors.to_string().starts_with("`@f` line 2: `add` uses %z, which is not defined on every path"));
/// # Ok::<(), String>(())
/// ```
pub fn verify_function(func: &Function, module: Option<&Module>) -> Result<(), VerifyErrors> {
    finish(errors_of(func, module))
}

fn finish(errors: Vec<VerifyError>) -> Result<(), VerifyErrors> {
    if errors.is_empty() { Ok(()) } else { Err(VerifyErrors(errors)) }
}

fn errors_of(func: &Function, module: Option<&Module>) -> Vec<VerifyError> {
    debug_assert_eq!(func.check_integrity(), Ok(()), "`@{}` is corrupt", func.name);
    let mut cx = FunctionVerifier::new(func, module);
    cx.check_styles(&func.results, At::Block(func.loc));
    match func.entry() {
        None => cx.error(At::Block(func.loc), "the function has no blocks", Some("it needs one, that ends with `ret`")),
        Some(_) => func.blocks().for_each(|b| cx.check_block(b)),
    }
    if cx.references_exist {
        let dominators = Dominators::of(func);
        cx.check_dominance(&dominators);
        cx.check_dels(&dominators);
    }
    cx.errors
}

/// The terminators, for messages.
pub(crate) const TERMINATORS: &str = "`jump`, `br_if`, `switch`, `ret` and `raise` are terminators";

/// The texts of instructions without a location, for messages.
pub(crate) struct InstTexts<'f> {
    func: &'f Function,
    printer: OnceCell<Printer<'f>>,
}

impl<'f> InstTexts<'f> {
    pub fn new(func: &'f Function) -> InstTexts<'f> {
        InstTexts { func, printer: OnceCell::new() }
    }

    /// The first line of the instruction; `None` if it has a location.
    pub fn without_loc(&self, inst: Inst) -> Option<String> {
        if !self.func.inst(inst).loc.is_none() {
            return None;
        }
        let text = self.printer.get_or_init(|| Printer::new(self.func)).inst(inst);
        Some(match text.split_once('\n') {
            Some((line, _)) => format!("{line} ..."),
            None => text,
        })
    }
}

/// The place of a violation.
#[derive(Clone, Copy)]
pub(crate) enum At {
    /// A block or the function, at this location.
    Block(Loc),
    Inst(Inst),
}

/// Checks one function.
pub(crate) struct FunctionVerifier<'a> {
    func: &'a Function,
    module: Option<&'a Module>,
    errors: Vec<VerifyError>,
    labels: ValueLabels<'a>,
    texts: InstTexts<'a>,
    /// The positions of blocks in the layout, computed for the first message about an unnamed block.
    positions: OnceCell<SecondaryMap<Block, usize>>,
    /// Whether all operands and targets exist, so that paths can be followed.
    references_exist: bool,
}

impl<'a> FunctionVerifier<'a> {
    fn new(func: &'a Function, module: Option<&'a Module>) -> Self {
        FunctionVerifier {
            func,
            module,
            errors: Vec::new(),
            labels: ValueLabels::new(func),
            texts: InstTexts::new(func),
            positions: OnceCell::new(),
            references_exist: true,
        }
    }

    fn error(&mut self, at: At, message: impl Into<String>, help: Option<&str>) {
        let loc = match at {
            At::Block(loc) => loc,
            At::Inst(inst) => self.func.inst(inst).loc,
        };
        let instruction = match at {
            At::Inst(inst) => self.texts.without_loc(inst),
            At::Block(_) => None,
        };
        let loc = if loc.is_none() { self.func.loc } else { loc };
        let (function, help) = (self.func.name, help.map(str::to_string));
        self.errors.push(VerifyError { function, loc, instruction, message: message.into(), help });
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

    fn check_styles<'t>(&mut self, types: impl IntoIterator<Item = &'t Type>, at: At) {
        for ty in types {
            let Some(name) = ty.style() else { continue };
            if let Err(why) = Style::named(name).and_then(|style| (style.def().components)(ty)) {
                self.error(at, format!("there is no array of type {ty}: {why}"), None);
            }
        }
    }

    fn check_block(&mut self, block: Block) {
        let func = self.func;
        let params = || func.block_params(block).iter().map(|&p| func.ty(p));
        let at = At::Block(func.first_inst(block).map_or(func.loc, |i| func.inst(i).loc));
        self.check_styles(params(), at);
        for &param in func.block_params(block) {
            self.check_symbols(param, at);
        }
        if !func.untyped && params().any(|ty| !ty.is_known()) {
            let label = self.block_label(block);
            self.error(at, format!("{label} has a parameter without a type"), Some("only `untyped` functions may"));
        }
        if func.terminator(block).is_none() {
            let label = self.block_label(block);
            let at = func.insts(block).next_back().map_or(at, At::Inst);
            self.error(at, format!("{label} does not end with a terminator"), Some(TERMINATORS));
        }
        for inst in func.insts(block) {
            let data = func.inst(inst);
            if data.op.is_terminator() && func.next_inst(inst).is_some() {
                let label = self.block_label(block);
                self.error(At::Inst(inst), format!("`{}` stands in the middle of {label}", data.op), None);
            }
            self.check_inst(inst);
        }
    }

    /// Checks that the symbols in a parameter's type are bound when the function is called.
    fn check_symbols(&mut self, param: Value, at: At) {
        if let Some(symbol) = unbound_symbol(self.func, self.func.ty(param)) {
            let message = format!(
                "{} is {}, and `{symbol}` is bound by no parameter of the function",
                self.label(param),
                self.func.ty(param)
            );
            self.error(at, message, Some("a dim that is not known when the function is called is `?`"));
        }
    }

    fn check_dominance(&mut self, dominators: &Dominators) {
        let func = self.func;
        for inst in func.blocks().flat_map(|b| func.insts(b)) {
            let data = func.inst(inst);
            for value in data.uses() {
                if !dominators.value_dominates(func, value, inst) {
                    let label = self.label(value);
                    let message = format!("`{}` uses {label}, which is not defined on every path to it", data.op);
                    let help =
                        "values go from block to block as block arguments where their definition does not dominate";
                    self.error(At::Inst(inst), message, Some(help));
                }
            }
        }
    }

    fn check_dels(&mut self, dominators: &Dominators) {
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
                    self.report_use_after_del(inst, value);
                }
            }
        }
    }

    fn report_use_after_del(&mut self, del: Inst, value: Value) {
        let func = self.func;
        let label = self.label(value);
        let later = func.users(value).into_iter().filter(|&u| func.comes_before(del, u));
        let later = later.reduce(|a, b| if func.comes_before(b, a) { b } else { a });
        let loc = func.inst(del).loc;
        match later {
            Some(user) => {
                let data = func.inst(user);
                let line = if loc.is_none() { String::new() } else { format!(" in line {}", loc.line) };
                self.error(At::Inst(user), format!("`{}` uses {label} after its `del`{line}", data.op), None);
            }
            None => self.error(At::Inst(del), format!("{label} is used after this `del`, on some path"), None),
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

/// A symbol in a type that no parameter of the function binds.
pub fn unbound_symbol(func: &Function, ty: &Type) -> Option<Name> {
    let bound = |dim: &Dim| func.params().iter().any(|&param| func.ty(param).dims().contains(dim));
    ty.dims().iter().find_map(|dim| if let Dim::Sym(name) = dim { (!bound(dim)).then_some(*name) } else { None })
}
