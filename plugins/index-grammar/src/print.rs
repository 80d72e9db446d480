//! The printer: writes a syntax tree as text that parses to the same tree.

use crate::syntax::{
    Binary, Expr, ExprKind, IndexRange, Left, LeftPosition, Let, Line, Place, Position, Program, ScopedIndex, Setting,
    Statement, UNARY, Word,
};
use rewright_ir::Literal;
use std::fmt::{self, Display, Formatter, Write as _};

/// Writes items with a separator.
fn list<T: Display>(f: &mut Formatter<'_>, items: &[T], separator: &str) -> fmt::Result {
    items.iter().enumerate().try_for_each(|(n, item)| {
        if n > 0 {
            f.write_str(separator)?;
        }
        write!(f, "{item}")
    })
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl Display for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Line::Set(settings) => {
                f.write_str("set ")?;
                list(f, settings, ", ")
            }
            Line::Statement(statement) => write!(f, "{statement}"),
        }
    }
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(reduction) = &self.reduction {
            write!(f, "({}) ", reduction.text)?;
        }
        write!(f, "{} {} {}", self.left, self.assign.sign(), self.right)?;
        if let Some(finish) = &self.finish {
            write!(f, " |> {finish}")?;
        }
        self.ranges.iter().try_for_each(|range| write!(f, " ({range})"))?;
        self.settings.iter().try_for_each(|setting| write!(f, " {setting}"))
    }
}

impl Display for Word {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Display for Left {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        let Some(positions) = &self.positions else { return Ok(()) };
        f.write_char('[')?;
        list(f, positions, ", ")?;
        f.write_char(']')
    }
}

impl Display for LeftPosition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(dim) = &self.dim {
            write!(f, "{dim}=")?;
        }
        match &self.position {
            Place::One => f.write_char('_'),
            Place::At(expr) => write!(f, "{expr}"),
            Place::Moved(expr) => write!(f, "{expr} + _"),
        }
    }
}

impl Display for Position {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(dim) = &self.dim {
            write!(f, "{dim}=")?;
        }
        write!(f, "{}", self.expr)
    }
}

impl Display for IndexRange {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        list(f, &self.names, ", ")?;
        write!(f, " in {}", self.range)
    }
}

impl Display for ScopedIndex {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.range {
            Some(range) => write!(f, "{} in {range}", self.name),
            None => write!(f, "{}", self.name),
        }
    }
}

impl Display for Setting {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.value {
            None => write!(f, "{}", self.key),
            Some(value) if self.is_of_array() => write!(f, "{} {value}", self.key),
            Some(value) => write!(f, "{}={value}", self.key),
        }
    }
}

impl Setting {
    /// `origin A[-2]` or `dims A[row, col]`.
    fn is_of_array(&self) -> bool {
        let is_name = |array: &Expr| matches!(array.kind, ExprKind::Name(_));
        let of_array =
            self.value.as_ref().map(|value| matches!(&value.kind, ExprKind::Read(array, _) if is_name(array)));
        matches!(self.key.text.as_str(), "origin" | "dims") && of_array == Some(true)
    }
}

impl Display for Let {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        list(f, &self.names, ", ")?;
        write!(f, " = {}", self.value)
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.print(f, 0)
    }
}

impl Expr {
    /// How tightly the outermost operation binds.
    fn power(&self) -> u8 {
        match &self.kind {
            ExprKind::Binary(op, ..) => op.printed().1,
            ExprKind::Unary(..) => UNARY,
            ExprKind::If(_) | ExprKind::Range(..) | ExprKind::Stepped(_) => 0,
            _ => u8::MAX,
        }
    }

    /// Prints the expression as an operand of an operation with this binding power.
    fn print(&self, f: &mut Formatter<'_>, around: u8) -> fmt::Result {
        let power = self.power();
        let is_open = power < around;
        if is_open {
            f.write_char('(')?;
        }
        match &self.kind {
            ExprKind::Number(Literal::Complex(re, im)) if *re == 0.0 => write!(f, "{im:?}im")?,
            ExprKind::Number(Literal::Float(x)) if x.is_nan() => f.write_str("nan")?,
            ExprKind::Number(literal) => write!(f, "{literal}")?,
            ExprKind::Name(name) => f.write_str(name)?,
            ExprKind::Outer(inner) => match &inner.kind {
                ExprKind::Name(name) => write!(f, "${name}")?,
                _ => write!(f, "$({inner})")?,
            },
            ExprKind::Result => f.write_char('_')?,
            ExprKind::All => f.write_char(':')?,
            ExprKind::Read(array, positions) => {
                array.print(f, u8::MAX)?;
                f.write_char('[')?;
                list(f, positions, ", ")?;
                f.write_char(']')?;
            }
            ExprKind::Field(of, name) => {
                of.print(f, u8::MAX)?;
                write!(f, ".{name}")?;
            }
            ExprKind::Call(function, args, each) => {
                match &function.kind {
                    ExprKind::Name(name) => f.write_str(name)?,
                    _ => write!(f, "({function})")?,
                }
                f.write_str(if *each { ".(" } else { "(" })?;
                list(f, args, ", ")?;
                f.write_char(')')?;
            }
            ExprKind::Unary(op, arg) => {
                f.write_str(op.sign())?;
                arg.print(f, UNARY)?;
            }
            ExprKind::Binary(op, left, right) => {
                let (sign, own) = op.printed();
                // Powers group from the right, comparisons not at all, the others from the left.
                let (l, r) = match op {
                    Binary::Power => (own + 1, UNARY),
                    _ if own == 3 => (own + 1, own + 1),
                    _ => (own, own + 1),
                };
                left.print(f, l)?;
                write!(f, " {sign} ")?;
                right.print(f, r)?;
            }
            ExprKind::If(parts) => {
                parts[0].print(f, 1)?;
                f.write_str(" ? ")?;
                parts[1].print(f, 1)?;
                f.write_str(" : ")?;
                parts[2].print(f, 1)?;
            }
            ExprKind::Reduce(name, indices, body) => {
                write!(f, "{name}[")?;
                list(f, indices, ", ")?;
                write!(f, "]({body})")?;
            }
            ExprKind::Tuple(items) => {
                f.write_char('(')?;
                for (n, (name, item)) in items.iter().enumerate() {
                    if n > 0 {
                        f.write_str(", ")?;
                    }
                    if let Some(name) = name {
                        write!(f, "{name}=")?;
                    }
                    write!(f, "{item}")?;
                }
                f.write_str(if items.len() == 1 { ",)" } else { ")" })?;
            }
            ExprKind::Block(lets, value) => {
                f.write_str("{ ")?;
                lets.iter().try_for_each(|item| write!(f, "{item}; "))?;
                write!(f, "{value} }}")?;
            }
            ExprKind::Range(sign, lo, hi) => {
                lo.print(f, 1)?;
                f.write_str(sign.sign())?;
                hi.print(f, 1)?;
            }
            ExprKind::Stepped(parts) => {
                parts[0].print(f, 1)?;
                parts[1..].iter().try_for_each(|part| {
                    f.write_char(':')?;
                    part.print(f, 1)
                })?;
            }
        }
        if is_open {
            f.write_char(')')?;
        }
        Ok(())
    }
}
