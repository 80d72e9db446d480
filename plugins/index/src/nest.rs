//! A statement with resolved names: index variables, accesses, and a tree of scalar operations.
//!
//! `resolve` makes it from the syntax tree. Range inference reads the accesses, translation the rest. Sizes
//! are still expressions here: they get values when the arrays of a call, or their symbolic extents, are
//! known.

use crate::syntax::Assign;
use rewright::expr::Monoid;
use rewright::{DType, Literal, Loc, Op};
use std::num::NonZeroU32;

/// A statement with resolved names.
#[derive(Clone, Debug)]
pub(crate) struct Nest {
    /// The index variables; those of the left side come first, in its order, then the reduced ones, in the
    /// order of the text.
    pub indices: Vec<IndexVar>,
    /// All reads and writes whose positions constrain indices.
    pub accesses: Vec<Access>,
    /// Explicit ranges.
    pub given: Vec<Given>,
    /// The result.
    pub target: Target,
    /// The scalar that is computed at each point.
    pub body: Node,
    /// The reduction over the indices that are reduced around the whole right side.
    pub reduction: Reducer,
    /// The place of the reduction's name, or of the statement.
    pub reduction_loc: Loc,
    /// The finisher, of [`Term::Result`].
    pub finish: Option<Node>,
    /// The initial value of the reduction.
    pub init: Option<Node>,
    /// The value of padding and of elements that no point writes.
    pub pad: Option<Node>,
    /// The most threads; `None` for all.
    pub threads: Option<NonZeroU32>,
    /// Products may be contracted pairwise.
    pub tensor: bool,
    /// No liberty is granted.
    pub strict: bool,
    /// A result may begin at another index than the first one.
    pub origin: bool,
    /// The place of the statement.
    pub loc: Loc,
}

/// An index variable.
#[derive(Clone, Debug)]
pub(crate) struct IndexVar {
    pub name: String,
    pub loc: Loc,
    pub role: Role,
    /// The first value and the step of a range with a step. The loops count its values, from 0.
    pub steps: Option<(Size, i64)>,
}

/// The role of an index variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// On the left side.
    Parallel,
    /// Reduced around the whole right side.
    Reduced,
    /// Reduced in a part of the right side.
    Scoped,
}

/// An explicit range of an index, with both ends.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub index: usize,
    pub lo: Size,
    pub hi: Size,
    pub loc: Loc,
}

/// The array of an access.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// An array of this name.
    Array(String),
    /// The integers from the first through the second.
    Range(Size, Size),
    /// An array of equal elements, with these extents.
    Filled(f64, Vec<Size>),
}

/// A read or a write.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub source: Source,
    pub dims: Vec<Along>,
    pub loc: Loc,
    /// Whether this is the write of an array that is there.
    pub is_write: bool,
    /// Whether it happens after the reduction, so also if nothing is reduced.
    pub is_after: bool,
}

/// The position of an access along one dim.
#[derive(Clone, Debug)]
pub(crate) struct Along {
    pub form: Form,
    pub boundary: Boundary,
    pub loc: Loc,
    /// The position is an index alone, so that all ranges of this index must be equal.
    pub is_plain: bool,
}

/// The meaning of a position out of bounds.
#[derive(Clone, Debug)]
pub(crate) enum Boundary {
    /// The position is in bounds.
    Inside,
    /// `mod(e)`.
    Wrap,
    /// `clamp(e)`.
    Clamp,
    /// `pad(e, lo, hi)`: in bounds, or this far out of them; `None` for any distance.
    Pad(Option<(Size, Size)>),
}

/// A position: a sum of indices times sizes, elements of integer arrays, and a size.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub terms: Vec<(usize, Size)>,
    /// Elements of integer arrays, as accesses.
    pub gathers: Vec<(usize, Size)>,
    /// A position that only the loop knows: a name of a block.
    pub computed: Option<Box<Node>>,
    pub offset: Size,
}

impl Form {
    /// The indices of the position, also those in its computed part.
    pub(crate) fn indices(&self) -> Vec<usize> {
        let mut found: Vec<usize> = self.terms.iter().map(|(index, _)| *index).collect();
        if let Some(node) = &self.computed {
            node.walk(&mut |node| {
                if let Term::Index(index) = node.term {
                    found.push(index);
                }
            });
        }
        found
    }
    pub(crate) fn constant(offset: Size) -> Form {
        Form { terms: Vec::new(), gathers: Vec::new(), computed: None, offset }
    }
    pub(crate) fn is_constant(&self) -> bool {
        self.terms.is_empty() && self.gathers.is_empty() && self.computed.is_none()
    }
}

/// An integer that is known before the loops.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Size {
    Int(i64),
    /// The first index of a dim of an array.
    First(String, usize),
    /// The extent of a dim of an array.
    Extent(String, usize),
    /// A scalar that is passed.
    Scalar(String, Loc),
    Add(Box<(Size, Size)>),
    Multiply(Box<(Size, Size)>),
    FloorDivide(Box<(Size, Size)>),
}

impl Size {
    pub(crate) fn add(self, other: Size) -> Size {
        match (&self, &other) {
            (Size::Int(a), Size::Int(b)) if a.checked_add(*b).is_some() => Size::Int(a + b),
            (Size::Int(0), _) => other,
            (_, Size::Int(0)) => self,
            _ => Size::Add(Box::new((self, other))),
        }
    }
    pub(crate) fn multiply(self, other: Size) -> Size {
        match (&self, &other) {
            (Size::Int(a), Size::Int(b)) if a.checked_mul(*b).is_some() => Size::Int(a * b),
            (Size::Int(1), _) => other,
            (_, Size::Int(1)) => self,
            _ => Size::Multiply(Box::new((self, other))),
        }
    }
    /// The last index of a dim.
    pub(crate) fn last(array: &str, dim: usize) -> Size {
        Size::First(array.into(), dim).add(Size::Extent(array.into(), dim)).add(Size::Int(-1))
    }
}

/// The result of a statement.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Its name; `_` if it has none.
    pub name: String,
    pub assign: Assign,
    pub loc: Loc,
    /// `None` for a scalar.
    pub dims: Option<Vec<Write>>,
    /// The names of the parts of its elements; none if they are numbers.
    pub parts: Vec<String>,
}

impl Target {
    /// The names of the arrays or scalars of the result.
    pub(crate) fn names(&self) -> Vec<String> {
        match self.parts.is_empty() {
            true => vec![self.name.clone()],
            false => self.parts.iter().map(|part| format!("{}.{part}", self.name)).collect(),
        }
    }
}

/// The position of the result along one dim.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    /// A dim of extent 1.
    One,
    /// A position. In a new array it is an index alone, or an element of an integer array.
    At(Box<Along>),
    /// An index, moved so that it begins at the first position.
    Moved(usize),
}

/// A scalar operation and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub term: Term,
    pub loc: Loc,
}

/// The scalar operations.
#[derive(Clone, Debug)]
pub(crate) enum Term {
    Literal(Literal),
    Scalar(String),
    Index(usize),
    /// An access.
    Read(usize),
    /// A part of the result of the reduction, in a finisher.
    Result(usize),
    /// The parts of a tuple, with their names.
    Tuple(Vec<(String, Node)>),
    /// A name of a block.
    Local(usize),
    Apply(Function, Vec<Node>),
    Reduce(Reducer, Vec<usize>, Box<Node>),
    Block(Vec<(usize, Node)>, Box<Node>),
    /// A size as a number.
    Size(Size),
}

/// The functions of scalars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Function {
    /// A registered elementwise op.
    Op(Op),
    /// A conversion.
    Cast(DType),
    /// The square of the magnitude.
    Abs2,
    /// An integer as a position, an `i64`. Other numbers are errors.
    Position,
}

/// A reduction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reducer {
    Builtin(Monoid),
    /// A function of two numbers, which needs an initial value.
    Function(Op),
}

impl Node {
    /// The parts of a tuple, with their names. Any other value is one part without a name.
    pub(crate) fn parts(&self) -> Vec<(&str, &Node)> {
        match &self.term {
            Term::Tuple(parts) => parts.iter().map(|(name, part)| (name.as_str(), part)).collect(),
            Term::Block(_, value) if matches!(value.term, Term::Tuple(_)) => value.parts(),
            _ => vec![("", self)],
        }
    }
    /// Calls `each` with this node and all below it.
    pub(crate) fn walk<'a>(&'a self, each: &mut impl FnMut(&'a Node)) {
        each(self);
        match &self.term {
            Term::Apply(_, args) => args.iter().for_each(|arg| arg.walk(each)),
            Term::Tuple(parts) => parts.iter().for_each(|(_, part)| part.walk(each)),
            Term::Reduce(_, _, body) => body.walk(each),
            Term::Block(lets, value) => {
                lets.iter().for_each(|(_, node)| node.walk(each));
                value.walk(each);
            }
            _ => {}
        }
    }
}
