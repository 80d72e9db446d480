//! The rewrite `bits-on-words`: computes logic of packed bools by bitwise ops on 64-bit words. It runs
//! before `materialize-nest`.
//!
//! It applies if every operand of a nest is of `bits` or a bool, and every function has a bitwise
//! counterpart. `materialize` then becomes one `arrayexpr` over words. Padding bits at the end of a row
//! stay zero: they are masked off if the nest may map false to true.

use crate::element::{Cell, assembled, insert};
use crate::nest::{Applied, Nest, Part};
use crate::ops::broadcasted::attrs_of_op;
use crate::styles::bits::{BITS_PER_WORD, RANK};
use rewright::ir::expr::{AxisKind, axes_along};
use rewright::plugin::*;
use std::collections::HashMap;

/// See the [module's page](self).
pub struct BitsOnWords;

static BITS_ON_WORDS: RewriteDef =
    RewriteDef::root("bits-on-words", "logic of packed bools is computed a word at a time", &BitsOnWords)
        .roots(&["materialize"])
        .before(&["materialize-nest"])
        .benefit(20);
register_rewrite!(BITS_ON_WORDS);

/// A bitwise function of words.
#[derive(Clone, Copy, Debug)]
enum Logic {
    Same,
    Not,
    And,
    Or,
    Xor,
    Xnor,
    /// `!a & b`
    Less,
    /// `!a | b`
    LessEqual,
    Choose,
}

/// The bitwise counterpart of an op on bools, and whether its operands are swapped.
fn logic(op: &str) -> Option<(Logic, bool)> {
    Some(match op {
        "pos" | "abs" => (Logic::Same, false),
        "not" | "invert" => (Logic::Not, false),
        "and" | "bitand" | "mul" | "minimum" | "min" => (Logic::And, false),
        "or" | "bitor" | "add" | "maximum" | "max" => (Logic::Or, false),
        "xor" | "bitxor" | "ne" => (Logic::Xor, false),
        "eq" => (Logic::Xnor, false),
        "lt" => (Logic::Less, false),
        "le" => (Logic::LessEqual, false),
        "gt" => (Logic::Less, true),
        "ge" => (Logic::LessEqual, true),
        "where" => (Logic::Choose, false),
        _ => return None,
    })
}

impl RootRewrite for BitsOnWords {
    type Match = (Inst, Nest);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let func = cx.func();
        let data = func.inst(root);
        let (arg, result) = (data.args[0], func.ty(data.results[0]));
        if !is_bits(result) || func.ty(arg) == result {
            return Err(NoMatch::quiet());
        }
        let apart = |why: String| NoMatch::because(format!("bools are computed one by one: {why}")).at(data.loc);
        let nest = Nest::of(cx, root, arg).map_err(apart)?;
        let mut has_words = false;
        for part in &nest.parts {
            match part {
                Part::Constant(number) if number.dtype() == DType::Bool => {}
                Part::Constant(number) => return Err(apart(format!("{number} is no bool"))),
                Part::Leaf(leaf) => {
                    has_words |= leaf_words(func.ty(*leaf), result).map_err(apart)?;
                    if !cx.reaches(*leaf, root) {
                        return Err(apart("an operand does not reach it".into()));
                    }
                }
                Part::Applied { inst, function, .. } => {
                    let gives = func.ty(func.inst(*inst).results[0]).dtype();
                    let op = if let Applied::Op(op) = function { Some(*op) } else { None };
                    if gives != DType::Bool || op.is_none_or(|op| logic(op.name).is_none()) {
                        let name = op.map_or("a function", |op| op.name);
                        return Err(apart(format!("words have no `{name}`")));
                    }
                }
            }
        }
        if has_words { Ok((root, nest)) } else { Err(apart("no operand has as long rows".into())) }
    }

    fn apply(&self, (root, nest): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let data = rw.func().inst(root).clone();
        let result = rw.func().ty(data.results[0]).clone();
        let mut words = HashMap::new();
        for leaf in nest.leaves().collect::<Vec<_>>() {
            let value = match rw.func().ty(leaf).is_scalar() {
                true => leaf,
                false => rw.op_with("component", [leaf], Attrs::new().with("name", Attr::Str("words".into())))?,
            };
            words.insert(leaf, value);
        }
        let row = if ones_of_zeros(rw.func(), &nest, &result) { row_length(rw, &nest, &result)? } else { None };
        let value = expression(rw, &nest, &words, &result, row)?;
        let made = assembled(rw, "bits", &result, vec![value])?;
        rw.replace(root, &[made])
    }
}

fn is_bits(ty: &Type) -> bool {
    ty.style().is_some_and(|style| style == "bits")
}

/// True if a leaf has words along the rows of the result, false if it has one bool for each row. The error
/// says why it is neither.
fn leaf_words(ty: &Type, result: &Type) -> Result<bool, String> {
    if ty.is_scalar() && ty.dtype() == DType::Bool {
        return Ok(false);
    }
    if !is_bits(ty) {
        return Err(format!("{ty} is not packed"));
    }
    let missing = result.rank() - ty.rank();
    let mut pairs = ty.dims().iter().zip(&result.dims()[missing..]);
    if !pairs.all(|(&own, &of)| own == Dim::Const(1) || (own == of && own != Dim::Any)) {
        return Err(format!("{ty} is not known to have the extents of the result"));
    }
    Ok(ty.dims().last() == result.dims().last())
}

/// True unless the nest is known to give false in the padding, where the words of operands are zero.
fn ones_of_zeros(func: &Function, nest: &Nest, result: &Type) -> bool {
    let mut values: Vec<Option<Scalar>> = Vec::new();
    for part in &nest.parts {
        values.push(match part {
            Part::Constant(number) => Some(*number),
            // A scalar, or the single bool of a row, also fills the padding, and its value is not known.
            Part::Leaf(leaf) => {
                let has_rows = func.ty(*leaf).dims().last() == result.dims().last();
                has_rows.then_some(Scalar::Bool(false))
            }
            Part::Applied { inst, function: Applied::Op(op), args } => {
                let args: Option<Vec<Scalar>> = args.iter().map(|&n| values[n]).collect();
                let attrs = attrs_of_op(&func.inst(*inst).attrs);
                args.and_then(|args| Some(eval_scalar(*op, &args, &attrs).ok()?[0]))
            }
            Part::Applied { .. } => None,
        });
    }
    values.last().copied().flatten() != Some(Scalar::Bool(false))
}

/// The length of a row of the result: a constant, or computed from an operand. None if rows fill their
/// words.
fn row_length(rw: &mut Rewriter<'_>, nest: &Nest, result: &Type) -> Result<Option<Row>, RewriteError> {
    let dim = result.dims().last().copied().unwrap_or(Dim::Any);
    if let Dim::Const(n) = dim {
        return Ok((!n.is_multiple_of(BITS_PER_WORD)).then_some(Row::Known(n as i64)));
    }
    let own = |leaf: &Value| rw.func().ty(*leaf).dims().last() == Some(&dim);
    let leaf = nest.leaves().find(own).ok_or_else(|| RewriteError::new("no operand has as long rows"))?;
    let axis = rw.func().ty(leaf).rank() as i64 - 1;
    rw.op_with("dim", [leaf], Attrs::new().with("axis", Attr::Int(axis))).map(|n| Some(Row::Of(n)))
}

/// The length of a row.
#[derive(Clone, Copy)]
enum Row {
    Known(i64),
    Of(Value),
}

fn expression(
    rw: &mut Rewriter<'_>,
    nest: &Nest,
    words: &HashMap<Value, Value>,
    result: &Type,
    row: Option<Row>,
) -> Result<Value, RewriteError> {
    let func = rw.func();
    let dims: Vec<Dim> = match result.dims().split_last() {
        Some((Dim::Const(n), around)) => {
            around.iter().copied().chain([Dim::Const(n.div_ceil(BITS_PER_WORD))]).collect()
        }
        Some((_, around)) => around.iter().copied().chain([Dim::Any]).collect(),
        None => return Err(RewriteError::new(RANK)),
    };
    let axes = axes_along(&dims, |name| result.dims().contains(&Dim::Sym(name)));
    debug_assert!(axes.iter().all(|axis| axis.kind == AxisKind::Parallel && axis.lo == SymExpr::default()));
    let mut cell = Cell::new(func, axes, Vec::new());
    let mut maker = Words { cell: &mut cell, words, result };
    let value = maker.nest(func, nest).map_err(RewriteError::new)?;
    let value = match row {
        Some(row) => maker.masked(value, row).map_err(RewriteError::new)?,
        None => value,
    };
    let expr = cell.finish(value, DType::U64, &dims);
    insert(rw, expr)
}

/// Builds the expression of one word of the result.
struct Words<'c, 'f> {
    cell: &'c mut Cell<'f>,
    words: &'c HashMap<Value, Value>,
    result: &'c Type,
}

impl Words<'_, '_> {
    fn op(&mut self, name: &str, args: &[BodyRef]) -> Result<BodyRef, String> {
        self.cell.core(name, args, DType::U64)
    }

    fn nest(&mut self, func: &Function, nest: &Nest) -> Result<BodyRef, String> {
        let all = |bit: bool| BodyRef::Const(Scalar::U64(if bit { u64::MAX } else { 0 }));
        let mut words: Vec<BodyRef> = Vec::new();
        for part in &nest.parts {
            let word = match part {
                Part::Constant(number) => all(number.truthy()),
                Part::Leaf(leaf) => self.leaf(func, *leaf)?,
                Part::Applied { function: Applied::Op(op), args, .. } => {
                    let args: Vec<BodyRef> = args.iter().map(|&n| words[n]).collect();
                    self.logic(op.name, &args)?
                }
                Part::Applied { .. } => return Err("words have no functions".into()),
            };
            words.push(word);
        }
        words.pop().ok_or_else(|| "an empty nest".into())
    }

    /// A word of an operand: its own word, or its single bool repeated 64 times.
    fn leaf(&mut self, func: &Function, leaf: Value) -> Result<BodyRef, String> {
        let (ty, value) = (func.ty(leaf), self.words[&leaf]);
        if ty.is_scalar() {
            let bit = self.cell.read_by(value, Vec::new());
            let bit = self.cell.body.cast(bit, DType::Bool, DType::U64, Loc::default());
            return self.op("neg", &[bit]);
        }
        let missing = self.result.rank() - ty.rank();
        let place = |(axis, &dim): (usize, &Dim)| match dim {
            Dim::Const(1) => Index { expr: IndexExpr::Affine(Affine::constant(0)), mode: Mode::Proved },
            _ => {
                let last = axis + 1 == ty.rank();
                let mode = if last { Mode::Broadcast } else { Mode::Proved };
                Index { expr: IndexExpr::Affine(Affine::axis((axis + missing) as u32)), mode }
            }
        };
        let index = ty.dims().iter().enumerate().map(place).collect();
        let word = self.cell.read_by(value, index);
        match ty.dims().last() == Some(&Dim::Const(1)) && self.result.dims().last() != Some(&Dim::Const(1)) {
            true => self.op("neg", &[word]),
            false => Ok(word),
        }
    }

    fn logic(&mut self, op: &str, args: &[BodyRef]) -> Result<BodyRef, String> {
        let (what, turned) = logic(op).ok_or_else(|| format!("words have no `{op}`"))?;
        let (a, b) = match args {
            [a] => (*a, *a),
            [a, b, ..] if turned => (*b, *a),
            [a, b, ..] => (*a, *b),
            [] => return Err(format!("`{op}` has no operands")),
        };
        Ok(match what {
            Logic::Same => a,
            Logic::Not => self.op("invert", &[a])?,
            Logic::And => self.op("bitand", &[a, b])?,
            Logic::Or => self.op("bitor", &[a, b])?,
            Logic::Xor => self.op("bitxor", &[a, b])?,
            Logic::Xnor => {
                let differ = self.op("bitxor", &[a, b])?;
                self.op("invert", &[differ])?
            }
            Logic::Less | Logic::LessEqual => {
                let not = self.op("invert", &[a])?;
                self.op(if matches!(what, Logic::Less) { "bitand" } else { "bitor" }, &[not, b])?
            }
            Logic::Choose => {
                let other = *args.get(2).ok_or("`where` has three operands")?;
                let (not, yes) = (self.op("invert", &[a])?, self.op("bitand", &[a, b])?);
                let no = self.op("bitand", &[not, other])?;
                self.op("bitor", &[yes, no])?
            }
        })
    }

    /// Masks off the padding bits of a word.
    fn masked(&mut self, word: BodyRef, row: Row) -> Result<BodyRef, String> {
        let number = |n: i64| BodyRef::Const(Scalar::I64(n));
        let signed = |cell: &mut Cell<'_>, name: &str, args: &[BodyRef]| cell.core(name, args, DType::I64);
        let length = match row {
            Row::Known(n) => number(n),
            Row::Of(value) => self.cell.read_by(value, Vec::new()),
        };
        // The number of padding bits in the word at index `axis`: `64 * axis + 64 - length`, or 0 if that
        // is negative.
        let last = signed(self.cell, "sub", &[number(BITS_PER_WORD as i64), length])?;
        let axis = BodyRef::Axis(self.result.rank() as u32 - 1);
        let first = signed(self.cell, "left_shift", &[axis, number(i64::from(BITS_PER_WORD.trailing_zeros()))])?;
        let beyond = signed(self.cell, "add", &[first, last])?;
        let beyond = signed(self.cell, "maximum", &[beyond, number(0)])?;
        let beyond = self.cell.body.cast(beyond, DType::I64, DType::U64, Loc::default());
        let mask = self.op("right_shift", &[BodyRef::Const(Scalar::U64(u64::MAX)), beyond])?;
        self.op("bitand", &[word, mask])
    }
}
