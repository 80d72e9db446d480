//! Positions: boundary modes, sums of indices times sizes, elements of integer arrays, and sizes.

use super::scalars::apply;
use super::{Meaning, Resolver};
use crate::functions::binary;
use crate::nest::{Access, Along, Boundary, Form, Function, Node, Size, Source, Term};
use crate::parse::{Parsed, error};
use crate::syntax::{Binary, Expr, ExprKind, Position, Unary, Word};
use rewright::{Literal, Loc};

const NOT_LINEAR: &str = "positions are sums of indices times integers and of elements of integer arrays; compute another one \
                          in a block: `{ p = i*j; A[p] }`";

/// The op of a function of integers, whose result is one, for this many arguments.
fn integer_function(name: &str, count: usize) -> Option<&'static str> {
    match (name, count) {
        ("abs", 1) => Some("abs"),
        ("clamp", 3) => Some("clip"),
        ("max", 2..) => Some("maximum"),
        ("min", 2..) => Some("minimum"),
        _ => None,
    }
}

impl Resolver<'_> {
    /// Adds the access of `A[i, j]`; returns its number.
    pub(super) fn access(&mut self, array: &Expr, positions: &[Position], loc: Loc) -> Parsed<usize> {
        if let (ExprKind::Read(..) | ExprKind::Field(..), Some((name, mut all))) = (&array.kind, array.element()) {
            all.extend(positions);
            let all: Vec<Position> = all.into_iter().cloned().collect();
            return self.access(&Expr { kind: ExprKind::Name(name), loc: array.loc }, &all, loc);
        }
        let (source, name) = self.source(array)?;
        let mut dims = Vec::new();
        let positions = self.in_order(&name, positions, |p: &Position| (p.dim.as_ref(), p.expr.loc), loc)?;
        for (dim, position) in positions.into_iter().enumerate() {
            dims.push(self.along(&name, dim, &position.expr)?);
        }
        match &source {
            Source::Range(..) if dims.len() != 1 => return error("a range has one position", loc, ""),
            Source::Filled(_, extents) if dims.len() != extents.len() => {
                return error(format!("this array has {} dims and {} positions", extents.len(), dims.len()), loc, "");
            }
            _ => {}
        }
        self.accesses.push(Access { source, dims, loc, is_write: false, is_after: self.is_finish });
        Ok(self.accesses.len() - 1)
    }

    /// Positions in the order of the dims, which may be named.
    pub(super) fn in_order<'p, P>(
        &self,
        array: &str,
        positions: impl IntoIterator<Item = &'p P>,
        dim: impl Fn(&'p P) -> (Option<&'p Word>, Loc),
        loc: Loc,
    ) -> Parsed<Vec<&'p P>> {
        let positions: Vec<&P> = positions.into_iter().collect();
        let Some(word) = positions.iter().find_map(|position| dim(position).0) else { return Ok(positions) };
        let Some(names) = self.options.dims.get(array) else {
            let help = format!("name them: `set dims {array}[row, col]`");
            return error(format!("the dims of `{array}` have no names, so `{word}` is none"), word.loc, &help);
        };
        let list = names.join(", ");
        for position in &positions {
            match dim(position) {
                (Some(word), _) if !names.contains(&word.text) => {
                    return error(format!("`{array}` has no dim `{word}`"), word.loc, &format!("its dims are {list}"));
                }
                (Some(_), _) => {}
                (None, loc) => return error("name all positions or none", loc, &format!("the dims are {list}")),
            }
        }
        let named = |name: &String| {
            let mut own = positions.iter().filter(|position| dim(position).0.is_some_and(|word| word.text == *name));
            match (own.next(), own.next()) {
                (Some(position), None) => Ok(*position),
                (None, _) => error(format!("dim `{name}` has no position"), loc, &format!("the dims are {list}")),
                (Some(_), Some(twice)) => error(format!("dim `{name}` has two positions"), dim(twice).1, ""),
            }
        };
        names.iter().map(named).collect()
    }

    /// The array of an access, and its name; the name is empty if it has none.
    fn source(&mut self, array: &Expr) -> Parsed<(Source, String)> {
        match &array.kind {
            ExprKind::Name(name) => match self.meaning(name) {
                Some(_) => {
                    error(format!("`{name}` is no array"), array.loc, "an index or a name of a block has no positions")
                }
                None => Ok((Source::Array(name.clone()), name.clone())),
            },
            ExprKind::Range(..) => {
                let (lo, hi) = self.range(array)?;
                Ok((Source::Range(lo, hi), String::new()))
            }
            ExprKind::Call(function, args, false) => match (&function.kind, &args[..]) {
                (ExprKind::Name(f), [Expr { kind: ExprKind::Name(name), .. }]) if f == "flat" => {
                    let name = flat(name);
                    Ok((Source::Array(name.clone()), name))
                }
                (ExprKind::Name(f), args) if matches!(f.as_str(), "ones" | "zeros") => {
                    let extents = args.iter().map(|arg| self.size(arg)).collect::<Parsed<Vec<_>>>()?;
                    Ok((Source::Filled(if f == "ones" { 1.0 } else { 0.0 }, extents), String::new()))
                }
                _ => error(
                    "this is no array",
                    array.loc,
                    "read an array by name, `flat(A)`, a range, `ones(n)` or `zeros(n)`",
                ),
            },
            _ => error("this is no array", array.loc, "read an array by name"),
        }
    }

    /// A position along a dim.
    pub(super) fn along(&mut self, array: &str, dim: usize, expr: &Expr) -> Parsed<Along> {
        let call = match &expr.kind {
            ExprKind::Call(function, args, false) => match &function.kind {
                ExprKind::Name(f) => Some((f.as_str(), &args[..])),
                _ => None,
            },
            _ => None,
        };
        let has_range = |args: &[Expr]| matches!(args, [_, range] if matches!(range.kind, ExprKind::Range(..)));
        let (boundary, inner) = match call {
            Some(("mod" | "clamp", args)) if has_range(args) => {
                let node = self.position_node(expr)?;
                let form = Form { computed: Some(Box::new(node)), ..Form::constant(Size::Int(0)) };
                return Ok(Along { form, boundary: Boundary::Inside, loc: expr.loc, is_plain: false });
            }
            Some(("mod", [inner])) => (Boundary::Wrap, inner),
            Some(("clamp", [inner])) => (Boundary::Clamp, inner),
            Some(("pad", [inner])) => (Boundary::Pad(None), inner),
            Some(("pad", [inner, both])) => {
                let size = self.size(both)?;
                (Boundary::Pad(Some((size.clone(), size))), inner)
            }
            Some(("pad", [inner, lo, hi])) => (Boundary::Pad(Some((self.size(lo)?, self.size(hi)?))), inner),
            Some((f @ ("mod" | "clamp" | "pad"), args)) => {
                let help = "write `mod(i)`, `mod(i, 0..n)`, `clamp(i)`, `pad(i, 2)` or `pad(i, 2, 3)`";
                return error(format!("`{f}` of a position with {} arguments", args.len()), expr.loc, help);
            }
            _ => (Boundary::Inside, expr),
        };
        let is_plain = match &inner.kind {
            ExprKind::Name(name) => matches!(self.meaning(name), Some(Meaning::Index(_))) && !self.has_steps(inner),
            _ => false,
        };
        let form = match &inner.kind {
            ExprKind::Name(_) => self.form(array, dim, inner)?,
            // A sum with a name of a block is a name of a block, too.
            _ if self.is_computed(inner) => {
                let node = self.position_node(inner)?;
                Form { computed: Some(Box::new(node)), ..Form::constant(Size::Int(0)) }
            }
            _ => self.form(array, dim, inner)?,
        };
        Ok(Along { form, boundary, loc: expr.loc, is_plain })
    }

    /// The value of a position that only the loop knows. Its sums and products are those of `i64`, whatever
    /// the dtypes of the numbers in it.
    pub(super) fn position_node(&mut self, expr: &Expr) -> Parsed<Node> {
        let loc = expr.loc;
        let term = match &expr.kind {
            ExprKind::Number(_) => return self.node(expr),
            ExprKind::Outer(inner) => {
                let scopes = std::mem::take(&mut self.scopes);
                let found = self.position_node(inner);
                self.scopes = scopes;
                return found;
            }
            ExprKind::Unary(Unary::Plus, inner) => return self.position_node(inner),
            ExprKind::Unary(Unary::Negate, inner) => apply("neg", vec![self.position_node(inner)?]),
            ExprKind::Binary(
                op @ (Binary::Add | Binary::Subtract | Binary::Multiply | Binary::FloorDivide | Binary::Remainder),
                left,
                right,
            ) => apply(binary(*op), vec![self.position_node(left)?, self.position_node(right)?]),
            ExprKind::Call(function, args, false) => match (&function.kind, &args[..]) {
                (ExprKind::Name(f), [value, range])
                    if matches!(f.as_str(), "mod" | "clamp") && matches!(range.kind, ExprKind::Range(..)) =>
                {
                    let value = self.position_node(value)?;
                    self.number_in_range(f == "mod", value, range, loc)?
                }
                (ExprKind::Name(f), args) if let Some(op) = integer_function(f, args.len()) => {
                    let nodes = args.iter().map(|arg| self.position_node(arg)).collect::<Parsed<Vec<_>>>()?;
                    let pair = |left, right| Node { term: apply(op, vec![left, right]), loc };
                    return match op {
                        "abs" | "clip" => Ok(Node { term: apply(op, nodes), loc }),
                        _ => nodes.into_iter().reduce(pair).map_or_else(|| error("no arguments", loc, ""), Ok),
                    };
                }
                _ => Term::Apply(Function::Position, vec![self.node(expr)?]),
            },
            ExprKind::Binary(Binary::Power, base, exponent) if matches!(exponent.kind, ExprKind::Number(_)) => {
                apply("power", vec![self.position_node(base)?, self.node(exponent)?])
            }
            ExprKind::If(three) => {
                let [condition, then, otherwise] = &**three;
                let condition = self.node(condition)?;
                apply("where", vec![condition, self.position_node(then)?, self.position_node(otherwise)?])
            }
            _ => Term::Apply(Function::Position, vec![self.node(expr)?]),
        };
        Ok(Node { term, loc })
    }

    /// Whether only the loop knows a value: a name of a block, or a scalar of an earlier statement, is in it.
    fn is_computed(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Name(name) => match self.meaning(name) {
                Some(meaning) => matches!(meaning, Meaning::Local(_)),
                None => self.options.computed.contains(name),
            },
            _ => expr.parts().any(|part| self.is_computed(part)),
        }
    }

    fn form(&mut self, array: &str, dim: usize, expr: &Expr) -> Parsed<Form> {
        let constant = |size| Ok(Form::constant(size));
        let loc = expr.loc;
        match &expr.kind {
            ExprKind::Name(name) if name == "end" && !array.is_empty() => constant(Size::last(array, dim)),
            ExprKind::Name(name) if name == "begin" && !array.is_empty() => constant(Size::First(array.into(), dim)),
            ExprKind::Name(name) => match self.meaning(name) {
                Some(Meaning::Index(index)) => {
                    self.finishes(index, name, loc)?;
                    let (lo, step) = self.indices[index].steps.clone().unwrap_or((Size::Int(0), 1));
                    Ok(Form { terms: vec![(index, Size::Int(step))], ..Form::constant(lo) })
                }
                Some(Meaning::Local(local)) => {
                    let node = Node { term: Term::Local(local), loc };
                    Ok(Form { computed: Some(Box::new(node)), ..Form::constant(Size::Int(0)) })
                }
                None => error(format!("`{name}` is no index here"), loc, &format!("write `${name}` for a scalar")),
            },
            ExprKind::Number(Literal::Int(n)) => match i64::try_from(*n) {
                Ok(n) => constant(Size::Int(n)),
                Err(_) => error("this position is too large", loc, ""),
            },
            ExprKind::Number(_) => error("a position is an integer", loc, "write it without a fraction"),
            ExprKind::Outer(inner) => constant(self.outer_size(inner)?),
            ExprKind::Unary(Unary::Plus, inner) => self.form(array, dim, inner),
            ExprKind::Unary(Unary::Negate, inner) => {
                let form = self.form(array, dim, inner)?;
                scaled(form, Size::Int(-1), loc)
            }
            ExprKind::Binary(op @ (Binary::Add | Binary::Subtract), left, right) => {
                let (left, right) = (self.form(array, dim, left)?, self.form(array, dim, right)?);
                let right = if *op == Binary::Subtract { scaled(right, Size::Int(-1), loc)? } else { right };
                sum(left, right, loc)
            }
            ExprKind::Binary(Binary::Multiply, left, right) => {
                let (left, right) = (self.form(array, dim, left)?, self.form(array, dim, right)?);
                match (left.is_constant(), right.is_constant()) {
                    (true, _) => scaled(right, left.offset, loc),
                    (_, true) => scaled(left, right.offset, loc),
                    _ => error("a position is no product of two indices", loc, NOT_LINEAR),
                }
            }
            ExprKind::Binary(op, ..) => error(format!("a position has no `{}`", op.printed().0), loc, NOT_LINEAR),
            ExprKind::Read(..) | ExprKind::Field(..) => {
                let Some((name, positions)) = expr.element().filter(|(_, positions)| !positions.is_empty()) else {
                    return error("positions are read from an array by name", loc, "");
                };
                let positions: Vec<Position> = positions.into_iter().cloned().collect();
                let access = self.access(&Expr { kind: ExprKind::Name(name), loc }, &positions, loc)?;
                Ok(Form { gathers: vec![(access, Size::Int(1))], ..Form::constant(Size::Int(0)) })
            }
            ExprKind::Call(function, ..) => match &function.kind {
                ExprKind::Name(f) if matches!(f.as_str(), "mod" | "clamp" | "pad") => {
                    let help = format!("write `{f}` around the whole position");
                    error(format!("`{f}` is the outermost part of a position"), loc, &help)
                }
                _ => error("a position calls no function", loc, NOT_LINEAR),
            },
            ExprKind::Tuple(_) => error("a tuple is no position", loc, "separate positions by `,`"),
            ExprKind::All => {
                error("`:` is no position here", loc, "elements are numbers: write an index, and sum over it")
            }
            _ => error("this is no position", loc, NOT_LINEAR),
        }
    }

    /// A value from outside of the loops, as a size.
    fn outer_size(&mut self, expr: &Expr) -> Parsed<Size> {
        match &expr.kind {
            ExprKind::Name(name) => Ok(Size::Scalar(name.clone(), expr.loc)),
            _ => self.size(expr),
        }
    }

    /// A size: integers, scalars and extents, with `+`, `-`, `*` and `//`.
    pub(super) fn size(&mut self, expr: &Expr) -> Parsed<Size> {
        const SIZES: &str = "write a number, a scalar or `size(A, 0)`";
        match &expr.kind {
            ExprKind::Number(Literal::Int(n)) => match i64::try_from(*n) {
                Ok(n) => Ok(Size::Int(n)),
                Err(_) => error("this size is too large", expr.loc, ""),
            },
            ExprKind::Number(_) => error("a size is an integer", expr.loc, ""),
            ExprKind::Name(name) => match self.meaning(name) {
                Some(_) => {
                    let help = "ranges are rectangular: use numbers, scalars and extents";
                    error(format!("`{name}` is an index, and no size"), expr.loc, help)
                }
                None => Ok(Size::Scalar(name.clone(), expr.loc)),
            },
            ExprKind::Outer(inner) => self.outer_size(inner),
            ExprKind::Unary(Unary::Plus, inner) => self.size(inner),
            ExprKind::Unary(Unary::Negate, inner) => Ok(self.size(inner)?.multiply(Size::Int(-1))),
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.size(left)?, self.size(right)?);
                match op {
                    Binary::Add => Ok(left.add(right)),
                    Binary::Subtract => Ok(left.add(right.multiply(Size::Int(-1)))),
                    Binary::Multiply => Ok(left.multiply(right)),
                    Binary::FloorDivide => Ok(Size::FloorDivide(Box::new((left, right)))),
                    _ => error(
                        format!("a size has no `{}`", op.printed().0),
                        expr.loc,
                        "sizes have `+`, `-`, `*` and `//`",
                    ),
                }
            }
            ExprKind::Call(function, args, false) => match (&function.kind, &args[..]) {
                (ExprKind::Name(f), [array, dim]) if f == "size" => {
                    let (array, dim) = self.dim_of(array, dim)?;
                    Ok(Size::Extent(array, dim))
                }
                _ => error("this is no size", expr.loc, SIZES),
            },
            _ => error("this is no size", expr.loc, SIZES),
        }
    }
}

/// The name of the elements of an array in row-major order.
pub(crate) fn flat(name: &str) -> String {
    format!("flat({name})")
}

/// The array whose elements in row-major order have this name.
pub(crate) fn flattened(name: &str) -> Option<&str> {
    name.strip_prefix("flat(")?.strip_suffix(')')
}

fn scaled(form: Form, by: Size, loc: Loc) -> Parsed<Form> {
    if form.computed.is_some() && by != Size::Int(1) {
        return error("a computed position is a name alone", loc, "compute the whole position in the block");
    }
    Ok(Form {
        terms: form.terms.into_iter().map(|(index, c)| (index, c.multiply(by.clone()))).collect(),
        gathers: form.gathers.into_iter().map(|(access, c)| (access, c.multiply(by.clone()))).collect(),
        computed: form.computed,
        offset: form.offset.multiply(by),
    })
}

fn sum(mut left: Form, right: Form, loc: Loc) -> Parsed<Form> {
    if left.computed.is_some() || right.computed.is_some() {
        return error("a computed position is a name alone", loc, "compute the whole position in the block");
    }
    for (index, c) in right.terms {
        match left.terms.iter_mut().find(|(own, _)| *own == index) {
            Some((_, own)) => *own = std::mem::replace(own, Size::Int(0)).add(c),
            None => left.terms.push((index, c)),
        }
    }
    left.gathers.extend(right.gathers);
    left.offset = left.offset.add(right.offset);
    Ok(left)
}
