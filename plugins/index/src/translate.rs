//! Translation: makes the instructions of a statement whose ranges are known, one `arrayexpr` for the loops.
//!
//! Indices of the left side become parallel axes, from 0; the others become reduce axes. A scoped reduction
//! is a nested expression. Positions that no index map can say (elements of integer arrays times a number,
//! names of blocks) are computed into an integer array first, which the map reads by `gather`.
//!
//! A statement that changes an array makes a new value of it: elements that no point writes are those of the
//! old array. So reads on the right side always see the old elements.

mod axes;
mod factored;
mod hoist;
mod level;
mod positions;
mod products;
mod reductions;
mod target;
mod values;
mod written_box;

use crate::checked::CheckedPosition;
use crate::known::{Known, Unknown};
use crate::nest::{Nest, Node, Term};
use crate::ranges::Ranges;
use indexmap::IndexMap;
use level::Level;
use rewright::expr::SymExpr;
use rewright::{Diagnostic, FuncBuilder, Loc, Scalar, TypeError, Value};

/// The reason why a statement has no instructions.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The statement is wrong.
    Wrong(Box<Diagnostic>),
    /// Only the arrays of a call decide it.
    Undecided(Box<Diagnostic>),
}

pub(crate) type Made<T> = Result<T, Refusal>;

/// The refusal of a statement, at a place.
pub(crate) fn refuse<T>(message: impl Into<String>, loc: Loc, help: &str) -> Made<T> {
    let error = Diagnostic::new(message).at(loc);
    Err(Refusal::Wrong(Box::new(if help.is_empty() { error } else { error.help(help) })))
}

/// The refusal that only the arrays of a call can lift.
pub(crate) fn undecided<T>(message: impl Into<String>, loc: Loc) -> Made<T> {
    Err(Refusal::Undecided(Box::new(Diagnostic::new(message).at(loc).help("give the arrays"))))
}

pub(crate) fn at(unknown: Unknown, loc: Loc) -> Refusal {
    match crate::ranges::located(unknown, loc) {
        crate::ranges::NoRanges::Wrong(error) => Refusal::Wrong(error),
        crate::ranges::NoRanges::Undecided(error) => Refusal::Undecided(error),
    }
}

/// The error of the type rule of an op.
pub(crate) fn typed(error: TypeError, loc: Loc) -> Refusal {
    Refusal::Wrong(Box::new(Diagnostic::from(error).at(loc)))
}

/// The result of a statement: one value, or one for each part of a tuple.
#[derive(Default)]
pub(crate) struct Outcome {
    pub values: Vec<Value>,
    /// The extents; `None` for a scalar.
    pub extents: Option<Vec<SymExpr>>,
    /// The first index of each dim.
    pub first: Vec<i64>,
    /// The contraction order and the order of axes, for the explanation.
    pub orders: Vec<String>,
    /// The positions that are verified at each element.
    pub checked: Vec<CheckedPosition>,
}

/// Appends the instructions of a statement. `values` are the arrays and scalars by name.
pub(crate) fn translate(
    build: &mut FuncBuilder<'_>,
    values: &IndexMap<String, Value>,
    nest: &Nest,
    ranges: &Ranges,
    known: &Known,
    text: &str,
) -> Made<Outcome> {
    let mut definitions = IndexMap::new();
    let nodes = [Some(&nest.body), nest.finish.as_ref()];
    nodes.into_iter().flatten().for_each(|node| {
        node.walk(&mut |node| {
            if let Term::Block(lets, _) = &node.term {
                definitions.extend(lets.iter().map(|(local, node)| (*local, node)));
            }
        });
    });
    let mut translation = Translation {
        build,
        values,
        nest,
        ranges,
        known,
        definitions,
        args: Vec::new(),
        levels: Vec::new(),
        stored: Vec::new(),
        checked: Vec::new(),
        text,
    };
    let outcome = translation.statement()?;
    Ok(Outcome { checked: translation.checked, ..outcome })
}

/// A statement in translation.
struct Translation<'a, 'b, 'm> {
    build: &'b mut FuncBuilder<'m>,
    values: &'a IndexMap<String, Value>,
    nest: &'a Nest,
    ranges: &'a Ranges,
    known: &'a Known,
    /// The definitions of the names of blocks.
    definitions: IndexMap<usize, &'a Node>,
    /// The operands of the instruction.
    args: Vec<Value>,
    /// The expression under construction, and those nested in it.
    levels: Vec<Level>,
    /// The parts of the body that are in arrays, and the indices of these.
    stored: Vec<(&'a Node, Value, Vec<usize>)>,
    /// The positions that are verified at each element.
    checked: Vec<CheckedPosition>,
    /// The text of the program.
    text: &'a str,
}

impl Translation<'_, '_, '_> {
    /// The operand of the instruction with this value.
    fn arg(&mut self, value: Value) -> u32 {
        let found = self.args.iter().position(|own| *own == value);
        found.unwrap_or_else(|| {
            self.args.push(value);
            self.args.len() - 1
        }) as u32
    }

    /// The value of a name.
    fn value_of(&self, name: &str, loc: Loc) -> Made<Value> {
        match self.values.get(name) {
            Some(value) => Ok(*value),
            None => refuse(format!("`{name}` is not given"), loc, ""),
        }
    }

    /// The value of an expression of numbers and scalars.
    fn constant(&self, node: &Node) -> Made<rewright::Literal> {
        values::constant(self.known, node)
    }

    /// The padding of an element type.
    fn padding(&self, dtype: rewright::DType) -> Made<Scalar> {
        let Some(node) = &self.nest.pad else { return Ok(Scalar::zero(dtype)) };
        let literal = self.constant(node)?;
        let literal = match literal {
            rewright::Literal::Typed(scalar) if scalar.dtype().can_cast_safely(dtype) => return Ok(scalar.cast(dtype)),
            other => other,
        };
        match literal.at(dtype) {
            Some(scalar) => Ok(scalar),
            None => refuse(
                format!("the padding {literal} is no value of {dtype}"),
                node.loc,
                "pad by a number of the array's dtype",
            ),
        }
    }
}

/// The dim of a size.
pub(crate) fn dim_of(size: &SymExpr) -> rewright::Dim {
    positions::dim(size)
}
