//! The printer of functions and modules. The parser reads its output back exactly.

use super::lexer::escape;
use super::names::{Names, Numbering, write_name};
use super::numbers::{weak_literal, write_array, write_scalar, write_weak};
use crate::attr::{Attr, AttrKind, Attrs, SliceSpec};
use crate::function::{Block, Function, Inst, InstData, Target, Value};
use crate::module::Module;
use crate::op::{LiteralCx, OpDef};
use crate::ops::control::{RET, SWITCH};
use crate::ops::effects::UFUNC;
use crate::scalar::{Literal, Scalar};
use crate::style::canonical;
use crate::types::{Dim, Type};
use smallvec::SmallVec;
use std::fmt::{self, Write};

/// The text of a function.
pub fn print_function(func: &Function) -> String {
    Printer::new(func).function()
}

/// The text of a module: its functions, separated by empty lines.
pub fn print_module(module: &Module) -> String {
    let functions: Vec<_> = module.functions().map(print_function).collect();
    functions.join("\n")
}

/// The text of one instruction without indentation. To print several of one function, use a [`Printer`].
pub fn print_inst(func: &Function, inst: Inst) -> String {
    Printer::new(func).inst(inst)
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_function(self))
    }
}
impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_module(self))
    }
}

/// Prints parts of one function, with consistent names.
pub struct Printer<'f> {
    pub(super) func: &'f Function,
    pub(super) names: Names,
}

impl<'f> Printer<'f> {
    /// A printer for the current state of a function.
    pub fn new(func: &'f Function) -> Self {
        Printer { func, names: Names::new(func) }
    }

    /// A printer with the numbers of an earlier state.
    pub fn numbered(func: &'f Function, numbering: &mut Numbering) -> Self {
        Printer { func, names: Names::numbered(func, numbering) }
    }

    /// The whole function, including the final line break.
    pub fn function(&self) -> String {
        let mut out = String::with_capacity(64 + 32 * self.func.inst_count());
        self.header(&mut out);
        for (index, block) in self.func.blocks().enumerate() {
            self.label(block, index == 0, &mut out);
            for inst in self.func.insts(block) {
                out.push_str("  ");
                self.write_inst(inst, &mut out);
                out.push('\n');
            }
        }
        out.push_str("}\n");
        out
    }

    /// One instruction.
    pub fn inst(&self, inst: Inst) -> String {
        let mut out = String::new();
        self.write_inst(inst, &mut out);
        out
    }

    /// `%x`, or a constant's number.
    pub fn value(&self, value: Value) -> String {
        let mut out = String::new();
        match self.constant(value) {
            Some(scalar) => write_scalar(scalar, self.func.ty(value).is_known(), &mut out),
            None => self.names.value(value, &mut out),
        }
        out
    }

    /// A block's name.
    pub fn block(&self, block: Block) -> String {
        let mut out = String::new();
        self.names.block(block, &mut out);
        out
    }

    /// A block's name without quotes.
    pub(crate) fn block_name(&self, block: Block) -> String {
        self.names.block_name(block).map_or_else(|| "?".to_string(), |n| n.to_string())
    }

    fn header(&self, out: &mut String) {
        out.push_str(if self.func.untyped { "untyped func @" } else { "func @" });
        write_func_name(self.func.name, out);
        out.push('(');
        self.params(self.func.params(), out);
        out.push(')');
        if !self.func.results.is_empty() {
            out.push_str(" -> ");
            write_list(&self.func.results, out, write_type);
        }
        out.push_str(" {\n");
    }

    fn params(&self, params: &[Value], out: &mut String) {
        write_list(params, out, |&v, out| {
            self.names.value(v, out);
            if self.func.ty(v).is_known() {
                out.push_str(": ");
                write_type(self.func.ty(v), out);
            }
        });
    }

    fn label(&self, block: Block, is_entry: bool, out: &mut String) {
        self.names.block(block, out);
        let params = self.func.block_params(block);
        if !is_entry && !params.is_empty() {
            out.push('(');
            self.params(params, out);
            out.push(')');
        }
        out.push_str(":\n");
    }

    /// The scalar of a constant value; `None` for a dead key.
    pub(super) fn constant(&self, value: Value) -> Option<Scalar> {
        if self.func.has_value(value) { self.func.as_const(value) } else { None }
    }

    fn write_inst(&self, inst: Inst, out: &mut String) {
        let data = self.func.inst(inst);
        for (i, &result) in data.results.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            self.names.value(result, out);
        }
        out.push_str(if data.results.is_empty() { "" } else { " = " });
        out.push_str(data.op.name);
        match data.attrs.expr() {
            Some(expr) => {
                for (name, value) in data.attrs.iter().filter(|(name, _)| *name != "expr") {
                    let _ = write!(out, " {name}=");
                    write_attr(value, out);
                }
                self.write_array_expr(expr, &data.args, 2, out);
            }
            None => self.write_operation(data, out),
        }
    }

    fn write_operation(&self, data: &InstData, out: &mut String) {
        let mut items = Items { out, first: true };
        let literals = self.literals(data);
        match data.attrs.func("callee") {
            Some(callee) => {
                items.next().push('@');
                write_func_name(callee, items.out);
                items.out.push('(');
                self.write_args(&data.args, &literals, items.out);
                items.out.push(')');
            }
            None if data.args.is_empty() => {}
            None => self.write_args(&data.args, &literals, items.next()),
        }
        let cases = data.attrs.ints("cases").filter(|c| data.op == SWITCH && c.len() + 1 == data.targets.len());
        for (i, target) in data.targets.iter().enumerate() {
            let out = items.next();
            if let Some(cases) = cases {
                let _ = match cases.get(i) {
                    Some(case) => write!(out, "{case}: "),
                    None => write!(out, "default: "),
                };
            }
            self.write_target(target, out);
        }
        for (name, value) in data.attrs.iter() {
            let written = name == "callee" && value.kind() == AttrKind::Func || name == "cases" && cases.is_some();
            if !written {
                let out = items.next();
                let _ = write!(out, "{name}=");
                write_attr(value, out);
            }
        }
    }

    /// The operands' literals, with as few dtypes as their op allows.
    fn literals(&self, data: &InstData) -> SmallVec<[Option<Literal>; 4]> {
        let scalars: SmallVec<[Option<Scalar>; 4]> = data.args.iter().map(|&v| self.constant(v)).collect();
        if scalars.iter().all(Option::is_none) {
            return SmallVec::from_elem(None, scalars.len());
        }
        if self.func.untyped {
            let literal = |(s, &v): (&Option<Scalar>, &Value)| s.map(|s| self.untyped_literal(v, s));
            return scalars.iter().zip(&data.args).map(literal).collect();
        }
        let dtypes = data.args.iter().map(|&v| self.func.ty(v).dtype());
        let dtypes: SmallVec<[_; 4]> = dtypes.collect();
        if data.op == UFUNC {
            return scalars.iter().map(|s| s.map(Literal::Typed)).collect();
        }
        let returns: &[Type] = if data.op == RET { &self.func.results } else { &[] };
        weakest(data.op.0, &data.attrs, &scalars, &dtypes, |i| returns.get(i).map(Type::dtype))
    }

    /// A constant of a function before type inference.
    fn untyped_literal(&self, value: Value, scalar: Scalar) -> Literal {
        let weak = weak_literal(scalar).filter(|_| !self.func.ty(value).is_known());
        weak.unwrap_or(Literal::Typed(scalar))
    }

    fn write_args(&self, args: &[Value], literals: &[Option<Literal>], out: &mut String) {
        for (i, (&arg, literal)) in args.iter().zip(literals).enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            match (literal, self.constant(arg)) {
                (Some(Literal::Typed(s)), _) => write_scalar(*s, true, out),
                (Some(_), Some(s)) => write_weak(s, out),
                _ => self.names.value(arg, out),
            }
        }
    }

    fn write_target(&self, target: &Target, out: &mut String) {
        self.names.block(target.block, out);
        if target.args.is_empty() {
            return;
        }
        let params = if self.func.has_block(target.block) { self.func.block_params(target.block) } else { &[] };
        out.push('(');
        for (i, &arg) in target.args.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            match self.constant(arg) {
                Some(s) => {
                    if self.func.untyped {
                        match self.untyped_literal(arg, s) {
                            Literal::Typed(s) => write_scalar(s, true, out),
                            _ => write_weak(s, out),
                        }
                        continue;
                    }
                    let param = params.get(i).map(|&p| self.func.ty(p).dtype());
                    let weak = weak_literal(s).filter(|l| param.is_some() && reads_as(*l, l.dtype_beside(param), s));
                    match weak {
                        Some(_) => write_weak(s, out),
                        None => write_scalar(s, true, out),
                    }
                }
                None => self.names.value(arg, out),
            }
        }
        out.push(')');
    }
}

/// Chooses literals without a dtype if the op's literal rule gives them the right one.
pub(super) fn weakest(
    op: &'static OpDef,
    attrs: &Attrs,
    scalars: &[Option<Scalar>],
    dtypes: &[crate::DType],
    wanted: impl Fn(usize) -> Option<crate::DType>,
) -> SmallVec<[Option<Literal>; 4]> {
    let typed = |s: Scalar| Literal::Typed(s);
    let mut literals: SmallVec<[Option<Literal>; 4]> =
        scalars.iter().map(|s| s.map(|s| weak_literal(s).unwrap_or(typed(s)))).collect();
    loop {
        let known = |i: usize| match literals[i] {
            Some(Literal::Typed(_)) | None => Some(dtypes[i]),
            Some(_) => None,
        };
        let beside: SmallVec<[_; 4]> = (0..dtypes.len()).map(known).collect();
        let wrong = (0..scalars.len()).find(|&operand| {
            let (Some(literal), Some(scalar)) = (literals[operand], scalars[operand]) else { return false };
            if matches!(literal, Literal::Typed(_)) {
                return false;
            }
            let dtype = match wanted(operand) {
                Some(dtype) => literal.dtype_beside(Some(dtype)),
                None => (op.literal)(&LiteralCx { literal, operand, dtypes: &beside, attrs }),
            };
            !reads_as(literal, dtype, scalar)
        });
        match wrong.and_then(|i| scalars[i].map(|s| (i, s))) {
            Some((i, s)) => literals[i] = Some(typed(s)),
            None => return literals,
        }
    }
}

fn reads_as(literal: Literal, dtype: crate::DType, scalar: Scalar) -> bool {
    literal.at(dtype) == Some(scalar)
}

/// Separates the items after an op's name by commas.
struct Items<'o> {
    out: &'o mut String,
    first: bool,
}
impl Items<'_> {
    fn next(&mut self) -> &mut String {
        self.out.push_str(if self.first { " " } else { ", " });
        self.first = false;
        self.out
    }
}

/// Writes items separated by commas.
pub(super) fn write_list<T>(items: &[T], out: &mut String, mut write: impl FnMut(&T, &mut String)) {
    for (i, item) in items.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        write(item, out);
    }
}

fn write_func_name(name: crate::Name, out: &mut String) {
    write_name(name, out);
}

pub(super) fn write_dim(dim: &Dim, out: &mut String) {
    match dim {
        Dim::Const(n) => {
            let _ = write!(out, "{n}");
        }
        Dim::Sym(name) => write_name(*name, out),
        Dim::Any => out.push('?'),
    }
}

pub(crate) fn write_type(ty: &Type, out: &mut String) {
    if !ty.is_known() {
        return out.push('?');
    }
    out.push_str(ty.dtype().name());
    if ty.is_array() {
        out.push('[');
        write_list(ty.dims(), out, write_dim);
        if let Some(style) = ty.style() {
            out.push_str("; ");
            match canonical(style.as_str()) {
                Some(name) if style == name.as_str() => out.push_str(&name),
                _ => write_name(style, out),
            }
        }
        out.push(']');
    }
}

fn write_slice(spec: &SliceSpec, out: &mut String) {
    let part = |p: Option<i64>| p.map(|p| p.to_string()).unwrap_or_default();
    let _ = write!(out, "{}:{}", part(spec.start), part(spec.stop));
    if spec.step != 1 {
        let _ = write!(out, ":{}", spec.step);
    }
}

/// The text form.
impl std::fmt::Display for Attr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        write_attr(self, &mut out);
        f.write_str(&out)
    }
}

pub(super) fn write_attr(value: &Attr, out: &mut String) {
    let bracketed = |out: &mut String, inside: &mut dyn FnMut(&mut String)| {
        out.push('[');
        inside(out);
        out.push(']');
    };
    match value {
        Attr::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Attr::Int(i) => {
            let _ = write!(out, "{i}");
        }
        Attr::Str(text) => escape(text, out),
        Attr::Ints(list) => bracketed(out, &mut |out| {
            write_list(list, out, |i, out| {
                let _ = write!(out, "{i}");
            })
        }),
        Attr::Dims(list) => bracketed(out, &mut |out| write_list(list, out, write_dim)),
        Attr::Slices(list) => bracketed(out, &mut |out| write_list(list, out, write_slice)),
        Attr::DType(dtype) => out.push_str(dtype.name()),
        Attr::Scalar(scalar) => write_scalar(*scalar, true, out),
        Attr::Func(name) => {
            out.push('@');
            write_func_name(*name, out);
        }
        Attr::Array(array) => write_array(array, out),
        // An expression is printed as an `arrayexpr`, not as an attribute.
        Attr::Expr(_) => out.push_str("..."),
    }
}
