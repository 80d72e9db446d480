//! Printing of `arrayexpr`.

use super::expr::result_index;
use super::expr_index::default_mode;
use super::lexer::is_plain_name;
use super::names::{Uniquifier, write_name};
use super::numbers::{weak_literal, write_scalar, write_weak};
use super::print_forms::{Terms, write_axis};
use super::print_order::{MAX_DEPTH, UseOrder, captures_are_counted};
use super::printer::{Printer, weakest, write_attr, write_list, write_type};
use crate::dtype::DType;
use crate::expr::{
    Affine, ArrayExpr, Body, BodyInst, BodyOp, BodyRef, Combine, Condition, Index, IndexExpr, Init, Mode, Operand, Out,
    Reduction, Source, Test, Write as OutWrite,
};
use crate::function::Value;
use crate::name::Name;
use crate::scalar::{Literal, Scalar};
use crate::types::Type;
use smallvec::SmallVec;
use std::fmt::Write;

impl Printer<'_> {
    /// Writes the text after `arrayexpr`.
    pub(super) fn write_array_expr(&self, expr: &ArrayExpr, args: &[Value], indent: usize, out: &mut String) {
        let mut order = UseOrder::default();
        order.expression(expr, 0);
        let canonical = order.args_are_counted(args.len()) && all_distinct(args);
        let mut writer =
            ExprWriter { printer: self, args, listed: !canonical, axes: Vec::new(), taken: Uniquifier::default() };
        if !canonical {
            out.push_str(" (");
            write_list(args, out, |&v, out| writer.arg(v, out));
            out.push(')');
        }
        writer.expression(expr, None, &[], indent, out);
    }
}

fn all_distinct(args: &[Value]) -> bool {
    let mut seen = rustc_hash::FxHashSet::default();
    args.iter().all(|v| seen.insert(*v))
}

/// The names and dtypes that a body can use.
#[derive(Clone)]
struct BodyNames<'n> {
    axes: Vec<Name>,
    operands: &'n [Name],
    reads: &'n [Operand],
    accumulators: &'n [Name],
    accumulator_dtypes: &'n [DType],
    /// The instructions so far, and the names of their results.
    insts: Vec<(&'n BodyInst, SmallVec<[Name; 1]>)>,
}

impl BodyNames<'_> {
    fn name(&self, r: BodyRef) -> Option<Name> {
        match r {
            BodyRef::Operand(k) => self.operands.get(k as usize),
            BodyRef::Axis(k) => self.axes.get(k as usize),
            BodyRef::Acc(k) => self.accumulators.get(k as usize),
            BodyRef::Inst(i, k) => self.insts.get(i as usize).and_then(|(_, names)| names.get(k as usize)),
            BodyRef::Const(_) => None,
        }
        .copied()
    }

    fn dtype(&self, r: BodyRef) -> DType {
        let found = match r {
            BodyRef::Const(s) => Some(s.dtype()),
            BodyRef::Operand(k) => self.reads.get(k as usize).map(|o| o.dtype),
            BodyRef::Axis(_) => Some(DType::I64),
            BodyRef::Acc(k) => self.accumulator_dtypes.get(k as usize).copied(),
            BodyRef::Inst(i, k) => {
                self.insts.get(i as usize).and_then(|(inst, _)| inst.dtypes.get(k as usize)).copied()
            }
        };
        // The verifier reports missing values.
        found.unwrap_or(DType::F64)
    }
}

struct ExprWriter<'w> {
    printer: &'w Printer<'w>,
    args: &'w [Value],
    /// The operands are listed first and referenced by number.
    listed: bool,
    /// Axes of this expression and of the enclosing ones.
    axes: Vec<Name>,
    taken: Uniquifier,
}

impl ExprWriter<'_> {
    /// Writes an expression. `around` has the names of the enclosing body, and `captures` the values that
    /// the expression captures.
    fn expression(
        &mut self,
        expr: &ArrayExpr,
        around: Option<&BodyNames<'_>>,
        captures: &[BodyRef],
        indent: usize,
        out: &mut String,
    ) {
        let (outer_axes, depth) = (self.axes.len(), indent / 2);
        if depth > MAX_DEPTH {
            out.push_str(" ...");
            return;
        }
        let listed = around.filter(|_| !captures_are_counted(expr, captures));
        if let Some(names) = listed {
            out.push_str(" (");
            write_list(captures, out, |&r, out| write_natural(r, names, out));
            out.push(')');
        }
        let mut taken = Uniquifier::default();
        self.axes.iter().for_each(|&a| {
            taken.name(a);
        });
        for axis in &expr.axes {
            self.axes.push(taken.name(plain(axis.name)));
        }
        let operands: Vec<Name> = expr.operands.iter().map(|o| taken.name(plain(o.name))).collect();
        let before = std::mem::replace(&mut self.taken, taken);
        out.push_str(" [");
        let own: Vec<_> = expr.axes.iter().zip(self.axes[outer_axes..].iter().copied()).collect();
        write_list(&own, out, |(axis, name), out| write_axis(axis, *name, out));
        out.push(']');
        for (i, condition) in expr.guard.iter().enumerate() {
            out.push_str(if i == 0 { " where " } else { " and " });
            self.condition(condition, out);
        }
        out.push_str(" (");
        for (i, (operand, &name)) in expr.operands.iter().zip(&operands).enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            let capture = match (&operand.source, around) {
                (Source::Capture(k), Some(names)) if listed.is_none() => {
                    captures.get(*k as usize).and_then(|r| names.name(*r))
                }
                _ => None,
            };
            self.operand(operand, name, capture, out);
        }
        out.push_str(") ");
        let names = BodyNames {
            axes: self.axes.clone(),
            operands: &operands,
            reads: &expr.operands,
            accumulators: &[],
            accumulator_dtypes: &[],
            insts: Vec::new(),
        };
        self.body(&expr.body, names.clone(), "t", indent, out);
        for reduction in &expr.reductions {
            self.reduction(reduction, &names, indent, out);
        }
        if let Some(finish) = &expr.finish {
            let dtypes: Vec<DType> = expr.accumulators().collect();
            let accumulators = self.accumulator_names("s", dtypes.len());
            out.push_str(" finish (");
            write_list(&accumulators, out, |n, out| write_name(*n, out));
            out.push_str(") ");
            let names = BodyNames { accumulators: &accumulators, accumulator_dtypes: &dtypes, ..names };
            self.body(finish, names, "u", indent, out);
        }
        self.outs(expr, outer_axes, around.is_some(), out);
        self.taken = before;
        self.axes.truncate(outer_axes);
    }

    // --- Operands and positions -----------------------------------------------------------------

    fn arg(&self, value: Value, out: &mut String) {
        match self.printer.constant(value) {
            Some(scalar) => write_alone(scalar, out),
            None => self.printer.names.value(value, out),
        }
    }

    fn arg_reference(&self, n: u32, out: &mut String) {
        match self.args.get(n as usize) {
            Some(&value) if !self.listed => self.arg(value, out),
            _ => {
                let _ = write!(out, "#{n}");
            }
        }
    }

    fn operand(&self, operand: &Operand, name: Name, capture: Option<Name>, out: &mut String) {
        write_name(name, out);
        let arg_dtype = |n: u32| {
            let value = self.args.get(n as usize).filter(|v| self.printer.func.has_value(**v));
            value.map(|&v| self.printer.func.ty(v).dtype())
        };
        let implied = match operand.source {
            Source::Array(n) | Source::Scalar(n) => arg_dtype(n),
            Source::Capture(_) => Some(operand.dtype),
        };
        if implied != Some(operand.dtype) {
            let _ = write!(out, ": {}", operand.dtype);
        }
        out.push_str(" = ");
        match (&operand.source, capture) {
            (Source::Capture(_), Some(name)) => write_name(name, out),
            (Source::Capture(k), None) => {
                let _ = write!(out, "${k}");
            }
            (Source::Array(n) | Source::Scalar(n), _) => self.arg_reference(*n, out),
        }
        if !operand.index.is_empty() || matches!(operand.source, Source::Array(_)) {
            out.push('[');
            write_list(&operand.index, out, |index, out| self.index(index, operand.dtype, out));
            out.push(']');
        }
    }

    fn index(&self, index: &Index, dtype: DType, out: &mut String) {
        if index.mode == default_mode(&index.expr) {
            return self.position(&index.expr, 0, out);
        }
        out.push_str(match index.mode {
            Mode::Proved => "proved(",
            Mode::Broadcast => "bcast(",
            Mode::Check => "check(",
            Mode::Wrap => "wrap(",
            Mode::Clamp => "clamp(",
            Mode::Pad(_) => "pad(",
        });
        self.position(&index.expr, 0, out);
        if let Mode::Pad(value) = index.mode {
            out.push_str(", ");
            write_beside(value, dtype, out);
        }
        out.push(')');
    }

    fn position(&self, position: &IndexExpr, depth: usize, out: &mut String) {
        match position {
            IndexExpr::Affine(form) => self.terms(form).write(out),
            IndexExpr::FloorDiv(form, divisor) => {
                self.terms(form).write_closed(out);
                let _ = write!(out, " // {divisor}");
            }
            IndexExpr::Mod(form, divisor) => {
                self.terms(form).write_closed(out);
                let _ = write!(out, " % {divisor}");
            }
            IndexExpr::Gather { .. } if depth > MAX_DEPTH => out.push_str("..."),
            IndexExpr::Gather { arg, index, offset, negative } => {
                out.push_str(if negative.is_from_end() { "gather(" } else { "gather_from_start(" });
                self.arg_reference(*arg, out);
                if !index.is_empty() {
                    out.push('[');
                    write_list(index, out, |i, out| self.position(i, depth + 1, out));
                    out.push(']');
                }
                out.push(')');
                if *offset != Affine::default() {
                    self.terms(offset).write_signed(out);
                }
            }
        }
    }

    fn terms(&self, form: &Affine) -> Terms {
        let mut terms = Terms::default();
        for &(axis, c) in form.axes() {
            let name = self.axes.get(axis as usize).map_or_else(|| format!("axis{axis}?"), |n| n.to_string());
            terms.push(name, c);
        }
        terms.symbols(&form.offset, &self.axes);
        terms
    }

    fn condition(&self, condition: &Condition, out: &mut String) {
        let terms = self.terms(&condition.form);
        match condition.test {
            Test::DivisibleBy(n) => {
                terms.write_closed(out);
                let _ = write!(out, " % {n} == 0");
            }
            Test::NotPositive => terms.write_compared("<=", out),
            Test::Zero => terms.write_compared("==", out),
        }
    }

    // --- Bodies ---------------------------------------------------------------------------------

    fn body<'n>(&mut self, body: &'n Body, mut names: BodyNames<'n>, prefix: &str, indent: usize, out: &mut String) {
        let mut next = 0;
        out.push_str("{\n");
        for inst in &body.insts {
            push_indent(indent + 2, out);
            let results: SmallVec<[Name; 1]> =
                inst.dtypes.iter().map(|_| self.local(prefix, &mut next, names.accumulators)).collect();
            write_list(&results, out, |n, out| write_name(*n, out));
            out.push_str(" = ");
            self.body_inst(inst, &names, indent + 2, out);
            out.push('\n');
            names.insts.push((inst, results));
        }
        push_indent(indent + 2, out);
        out.push_str("yield");
        for (i, &r) in body.yields.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { " " });
            write_natural(r, &names, out);
        }
        out.push('\n');
        push_indent(indent, out);
        out.push('}');
    }

    /// The next result name that is not the name of an axis, operand or accumulator.
    fn local(&self, prefix: &str, next: &mut u32, accumulators: &[Name]) -> Name {
        loop {
            let name = Name::new(&format!("{prefix}{next}"));
            *next += 1;
            if !self.taken.has(name) && !accumulators.contains(&name) {
                return name;
            }
        }
    }

    fn accumulator_names(&self, prefix: &str, count: usize) -> Vec<Name> {
        let single = Name::new(prefix);
        if count == 1 && !self.taken.has(single) {
            return vec![single];
        }
        let mut next = 0;
        (0..count).map(|_| self.local(prefix, &mut next, &[])).collect()
    }

    fn body_inst(&mut self, inst: &BodyInst, names: &BodyNames<'_>, indent: usize, out: &mut String) {
        let (op, attrs) = match &inst.op {
            BodyOp::Op(op, attrs) => (*op, attrs),
            BodyOp::Nested(nested) => {
                out.push_str("arrayexpr");
                return self.expression(nested, Some(names), &inst.args, indent, out);
            }
        };
        out.push_str(op.name);
        let constant = |r: &BodyRef| if let BodyRef::Const(s) = r { Some(*s) } else { None };
        let scalars: SmallVec<[Option<Scalar>; 4]> = inst.args.iter().map(constant).collect();
        let dtypes: SmallVec<[DType; 4]> = inst.args.iter().map(|r| names.dtype(*r)).collect();
        let literals = weakest(op.0, attrs, &scalars, &dtypes, |_| None);
        let mut first = true;
        for (&arg, literal) in inst.args.iter().zip(&literals) {
            out.push_str(if first { " " } else { ", " });
            first = false;
            match (literal, arg) {
                (Some(Literal::Typed(s)), _) => write_scalar(*s, true, out),
                (Some(_), BodyRef::Const(s)) => write_weak(s, out),
                _ => write_natural(arg, names, out),
            }
        }
        for (name, value) in attrs.iter() {
            let _ = write!(out, "{}{name}=", if first { " " } else { ", " });
            first = false;
            write_attr(value, out);
        }
    }

    // --- Reductions and results -----------------------------------------------------------------

    fn reduction(&mut self, r: &Reduction, names: &BodyNames<'_>, indent: usize, out: &mut String) {
        out.push_str(" reduce (");
        if let Combine::Builtin(monoid) = &r.combine {
            let _ = write!(out, "{}{}", monoid.name(), if r.accumulators.is_empty() { "" } else { " " });
        }
        write_list(&r.accumulators, out, |d, out| out.push_str(d.name()));
        out.push(')');
        let builtin = matches!(r.combine, Combine::Builtin(_));
        if let Combine::Region(body) = &r.combine {
            let accumulators = self.accumulator_names("a", 2 * r.accumulators.len());
            out.push_str(" region (");
            write_list(&accumulators, out, |n, out| write_name(*n, out));
            out.push_str(") ");
            let dtypes: Vec<DType> = r.accumulators.iter().chain(&r.accumulators).copied().collect();
            let names = BodyNames { accumulators: &accumulators, accumulator_dtypes: &dtypes, ..names.clone() };
            self.body(body, names, "t", indent, out);
        }
        for (given, default, yes, no) in [
            (r.associative, builtin, " assoc", " noassoc"),
            (r.commutative, builtin, " comm", " nocomm"),
            (r.idempotent, false, " idem", " noidem"),
        ] {
            if given != default {
                out.push_str(if given { yes } else { no });
            }
        }
        if let Some(values) = &r.identity {
            out.push_str(" identity ");
            write_numbers(values, &r.accumulators, out);
        }
        match &r.init {
            Init::Identity => {}
            Init::First => out.push_str(" init first"),
            Init::Values(values) => {
                out.push_str(" init ");
                write_numbers(values, &r.accumulators, out);
            }
            Init::Existing(args) => {
                out.push_str(" init [");
                write_list(args, out, |n, out| self.arg_reference(*n, out));
                out.push(']');
            }
        }
    }

    fn outs(&self, expr: &ArrayExpr, outer_axes: usize, nested: bool, out: &mut String) {
        let parallel = result_index(&expr.axes, outer_axes);
        let simple = |o: &Out| o.write == OutWrite::Unique && o.fill.is_none() && o.index == parallel;
        if !expr.outs.iter().all(simple) {
            out.push_str(" into (");
            write_list(&expr.outs, out, |o, out| self.out(o, out));
            out.push(')');
        }
        out.push_str(if expr.outs.is_empty() { "" } else { " : " });
        write_list(&expr.outs, out, |o, out| match nested && o.dims.is_empty() {
            true => out.push_str(o.dtype.name()),
            false => write_type(&Type::array(o.dtype, o.dims.as_slice()), out),
        });
    }

    fn out(&self, o: &Out, out: &mut String) {
        out.push('[');
        write_list(&o.index, out, |i, out| self.position(i, 0, out));
        out.push(']');
        if let Some(fill) = o.fill {
            out.push_str(" fill ");
            write_beside(fill, o.dtype, out);
        }
        match o.write {
            OutWrite::Unique => {}
            OutWrite::LastWins => out.push_str(" last"),
            OutWrite::Combine(monoid) => {
                let _ = write!(out, " combine {}", monoid.name());
            }
        }
    }
}

fn push_indent(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// Replaces a name that needs quotes: names in a body have none.
fn plain(name: Name) -> Name {
    if is_plain_name(&name) && !matches!(name.as_str(), "true" | "false" | "inf" | "NaN") {
        return name;
    }
    let kept: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    Name::new(&format!("_{kept}"))
}

/// Writes a value of a body. A constant is written with its dtype unless the number alone has the same
/// dtype.
fn write_natural(r: BodyRef, names: &BodyNames<'_>, out: &mut String) {
    match (r, names.name(r)) {
        (BodyRef::Const(s), _) => write_alone(s, out),
        (_, Some(name)) => write_name(name, out),
        _ => out.push('?'),
    }
}

/// Writes a number for a place where no other dtype determines its own.
fn write_alone(scalar: Scalar, out: &mut String) {
    let weak = weak_literal(scalar).is_some_and(|l| l.at(l.dtype_beside(None)) == Some(scalar));
    if weak { write_weak(scalar, out) } else { write_scalar(scalar, true, out) }
}

/// Writes a number for a place where `dtype` determines its own.
fn write_beside(scalar: Scalar, dtype: DType, out: &mut String) {
    let weak = weak_literal(scalar).is_some_and(|l| l.at(l.dtype_beside(Some(dtype))) == Some(scalar));
    if weak { write_weak(scalar, out) } else { write_scalar(scalar, true, out) }
}

fn write_numbers(values: &[Scalar], dtypes: &[DType], out: &mut String) {
    let one = |k: usize, s: Scalar, out: &mut String| match dtypes.get(k) {
        Some(dtype) => write_beside(s, *dtype, out),
        None => write_alone(s, out),
    };
    if let [value] = values {
        return one(0, *value, out);
    }
    out.push('[');
    for (k, &value) in values.iter().enumerate() {
        out.push_str(if k > 0 { ", " } else { "" });
        one(k, value, out);
    }
    out.push(']');
}
