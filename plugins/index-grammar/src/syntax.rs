//! The syntax tree of a program, as it is written.
//!
//! The parser builds it; `resolve` turns it into accesses and index variables. Trees compare by structure:
//! places are ignored.

use rewright_ir::{Literal, Loc};

/// Statements and settings, in the order of the text.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Program {
    /// The lines.
    pub lines: Vec<Line>,
}

/// A line of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// `set one_based, threads=2`: settings for the lines below.
    Set(Vec<Setting>),
    /// A statement.
    Statement(Box<Statement>),
}

/// A statement: `(max) C[i] := A[i, j] |> sqrt (j in 0..3) strict`.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The reduction in parentheses at the beginning: `+`, `max` or a function of two numbers.
    pub reduction: Option<Word>,
    /// The left side.
    pub left: Left,
    /// The assignment.
    pub assign: Assign,
    /// The right side, without its finisher.
    pub right: Expr,
    /// The finisher: an expression of `_`, the result of the reduction.
    pub finish: Option<Expr>,
    /// Explicit ranges.
    pub ranges: Vec<IndexRange>,
    /// Options after the right side.
    pub settings: Vec<Setting>,
    /// The whole statement.
    pub loc: Loc,
}

impl PartialEq for Statement {
    fn eq(&self, other: &Self) -> bool {
        self.reduction == other.reduction
            && self.left == other.left
            && self.assign == other.assign
            && self.right == other.right
            && self.finish == other.finish
            && self.ranges == other.ranges
            && self.settings == other.settings
    }
}

/// A name and its place.
#[derive(Clone, Debug, Eq)]
pub struct Word {
    /// The name.
    pub text: String,
    /// Its place.
    pub loc: Loc,
}

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// The left side of a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Left {
    /// The name of the result; `_` if it has none.
    pub name: Word,
    /// The positions; `None` for a scalar.
    pub positions: Option<Vec<LeftPosition>>,
}

/// A position on the left side.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftPosition {
    /// The name of the dim, as in `row=i`.
    pub dim: Option<Word>,
    /// The position.
    pub position: Place,
}

/// The kinds of a position on the left side.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// `_`: a dim of extent 1.
    One,
    /// A position.
    At(Expr),
    /// `i + _`: the index, moved so that it begins at the first position.
    Moved(Expr),
}

/// The assignments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assign {
    /// `:=`: a new array.
    New,
    /// `=`: into an array that is there.
    Store,
    /// `+=`.
    Add,
    /// `-=`.
    Subtract,
    /// `*=`.
    Multiply,
    /// `/=`.
    Divide,
    /// `^=`: combined with the old element by the reduction of the statement.
    Combine,
}

impl Assign {
    /// All assignments and their signs.
    pub const ALL: [(Assign, &'static str); 7] = [
        (Assign::New, ":="),
        (Assign::Store, "="),
        (Assign::Add, "+="),
        (Assign::Subtract, "-="),
        (Assign::Multiply, "*="),
        (Assign::Divide, "/="),
        (Assign::Combine, "^="),
    ];
    /// The sign.
    pub fn sign(self) -> &'static str {
        Assign::ALL.iter().find(|(assign, _)| *assign == self).map_or("", |(_, sign)| sign)
    }
}

/// `(i, j in 0..3)`.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexRange {
    /// The indices.
    pub names: Vec<Word>,
    /// Their range.
    pub range: Expr,
}

/// An option: `strict`, `threads=2`, `origin K[-2]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The key.
    pub key: Word,
    /// The value, if there is one.
    pub value: Option<Expr>,
}

/// An expression and its place.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The form.
    pub kind: ExprKind,
    /// The place.
    pub loc: Loc,
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Expr {
    /// The expressions that are parts of this one.
    pub fn parts(&self) -> impl Iterator<Item = &Expr> {
        let mut parts: Vec<&Expr> = Vec::new();
        match &self.kind {
            ExprKind::Number(_) | ExprKind::Name(_) | ExprKind::Result | ExprKind::All => {}
            ExprKind::Outer(inner) | ExprKind::Field(inner, _) | ExprKind::Unary(_, inner) => parts.push(inner),
            ExprKind::Read(array, positions) => {
                parts.push(array);
                parts.extend(positions.iter().map(|position| &position.expr));
            }
            ExprKind::Call(function, args, _) => {
                parts.push(function);
                parts.extend(args);
            }
            ExprKind::Binary(_, left, right) | ExprKind::Range(_, left, right) => parts.extend([&**left, &**right]),
            ExprKind::If(three) | ExprKind::Stepped(three) => parts.extend(three.iter()),
            ExprKind::Reduce(_, indices, body) => {
                parts.extend(indices.iter().filter_map(|index| index.range.as_ref()));
                parts.push(body);
            }
            ExprKind::Tuple(items) => parts.extend(items.iter().map(|(_, item)| item)),
            ExprKind::Block(lets, value) => {
                parts.extend(lets.iter().map(|item| &item.value));
                parts.push(value);
            }
        }
        parts.into_iter()
    }
}

impl Expr {
    /// The name of an array and the positions of its element: those of `A[i]`, and of `C[i][j]`, which is
    /// `C[i, j]`. Each field of elements is an array of its own: `E[i].c[j]` is element `[i, j]` of `E.c`.
    pub fn element(&self) -> Option<(String, Vec<&Position>)> {
        match &self.kind {
            ExprKind::Name(name) => Some((name.clone(), Vec::new())),
            ExprKind::Field(of, field) => {
                let (name, positions) = of.element()?;
                Some((format!("{name}.{field}"), positions))
            }
            ExprKind::Read(array, last) => {
                let (name, mut positions) = array.element()?;
                positions.extend(last);
                Some((name, positions))
            }
            _ => None,
        }
    }
}

/// The forms of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A number.
    Number(Literal),
    /// An index, a scalar, an array, or a name of a block.
    Name(String),
    /// `$x`, `$(x[0] + 1)`: a value from outside of the loops.
    Outer(Box<Expr>),
    /// `_` in a finisher.
    Result,
    /// `:` as a position.
    All,
    /// `A[i, j]`.
    Read(Box<Expr>, Vec<Position>),
    /// `x.field`.
    Field(Box<Expr>, Word),
    /// `f(x, y)`; `f.(x)` if the flag is set.
    Call(Box<Expr>, Vec<Expr>, bool),
    /// A unary operation.
    Unary(Unary, Box<Expr>),
    /// A binary operation.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `c ? x : y`.
    If(Box<[Expr; 3]>),
    /// `sum[k, l in 0..3](x)`: a reduction over these indices alone.
    Reduce(Word, Vec<ScopedIndex>, Box<Expr>),
    /// `(x, y)` or `(r=x, c=y)`.
    Tuple(Vec<(Option<Word>, Expr)>),
    /// `{ x = 1; x + 1 }`.
    Block(Vec<Let>, Box<Expr>),
    /// `0..3`, `0..=2` or `1:3`.
    Range(RangeSign, Box<Expr>, Box<Expr>),
    /// `0:10:2`: as NumPy's slices, with the step last, in one-based programs in the middle.
    Stepped(Box<[Expr; 3]>),
}

/// A position of a read.
#[derive(Clone, Debug, PartialEq)]
pub struct Position {
    /// The name of the dim.
    pub dim: Option<Word>,
    /// The position.
    pub expr: Expr,
}

/// An index of a scoped reduction.
#[derive(Clone, Debug, PartialEq)]
pub struct ScopedIndex {
    /// Its name.
    pub name: Word,
    /// Its range.
    pub range: Option<Expr>,
}

/// `x = 1` or `a, b = t` in a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Let {
    /// The names; several take a tuple apart.
    pub names: Vec<Word>,
    /// The value.
    pub value: Expr,
}

/// The signs of ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeSign {
    /// `lo..hi`, without `hi`.
    Below,
    /// `lo..=hi`, with `hi`.
    Through,
    /// `lo:hi`: as NumPy's slices without `hi`, in one-based programs with it.
    Colon,
}

impl RangeSign {
    /// The sign.
    pub fn sign(self) -> &'static str {
        match self {
            RangeSign::Below => "..",
            RangeSign::Through => "..=",
            RangeSign::Colon => ":",
        }
    }
}

/// The unary operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// `-x`.
    Negate,
    /// `+x`.
    Plus,
    /// `!x`.
    Not,
    /// `√x`.
    Root,
}

impl Unary {
    /// The sign.
    pub fn sign(self) -> &'static str {
        match self {
            Unary::Negate => "-",
            Unary::Plus => "+",
            Unary::Not => "!",
            Unary::Root => "√",
        }
    }
}

/// The binary operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`: true quotient.
    Divide,
    /// `//`, `÷`: quotient rounded down.
    FloorDivide,
    /// `%`: remainder of `//`.
    Remainder,
    /// `^`, `**`.
    Power,
    /// `==`.
    Equal,
    /// `!=`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterEqual,
    /// `&`, `&&`.
    And,
    /// `|`, `||`.
    Or,
}

impl Binary {
    /// All operations with their signs and binding powers.
    pub(crate) const ALL: [(Binary, &'static str, u8); 17] = [
        (Binary::Or, "||", 1),
        (Binary::And, "&&", 2),
        (Binary::Equal, "==", 3),
        (Binary::NotEqual, "!=", 3),
        (Binary::LessEqual, "<=", 3),
        (Binary::Less, "<", 3),
        (Binary::GreaterEqual, ">=", 3),
        (Binary::Greater, ">", 3),
        (Binary::Or, "|", 4),
        (Binary::And, "&", 5),
        (Binary::Add, "+", 6),
        (Binary::Subtract, "-", 6),
        (Binary::FloorDivide, "//", 7),
        (Binary::Multiply, "*", 7),
        (Binary::Divide, "/", 7),
        (Binary::Remainder, "%", 7),
        (Binary::Power, "^", 10),
    ];
    /// The sign and the binding power with which the operation is printed.
    pub fn printed(self) -> (&'static str, u8) {
        let found = Binary::ALL.iter().find(|(op, ..)| *op == self);
        found.map_or(("", 0), |&(_, sign, power)| (sign, power))
    }
}

/// The binding power of unary operations, above products and below powers.
pub(crate) const UNARY: u8 = 9;
