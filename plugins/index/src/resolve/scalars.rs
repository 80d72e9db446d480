//! Scalar expressions: the body, finishers and initial values.

use super::{Meaning, Resolver, Scope};
use crate::functions::{binary, function, reducer, similar};
use crate::nest::{Function, Given, Node, Role, Size, Term};
use crate::parse::{Parsed, error};
use crate::syntax::{Expr, ExprKind, Let, Position, ScopedIndex, Unary, Word};
use rewright::{Arity, Literal, Loc, registry};

impl Resolver<'_> {
    pub(super) fn node(&mut self, expr: &Expr) -> Parsed<Node> {
        let loc = expr.loc;
        let term = match &expr.kind {
            ExprKind::Number(literal) => Term::Literal(*literal),
            ExprKind::Name(name) => self.name(name, loc)?,
            ExprKind::Outer(inner) => match &inner.kind {
                ExprKind::Name(name) => Term::Scalar(name.clone()),
                _ => return self.outside(inner),
            },
            ExprKind::Result if self.is_finish => Term::Result,
            ExprKind::Result => return error("`_` is the result of a reduction, in its finisher", loc, ""),
            ExprKind::Read(array, positions) => match &array.kind {
                ExprKind::Call(function, args, true) => return self.each(function, args, positions, loc),
                _ => Term::Read(self.access(array, positions, loc)?),
            },
            ExprKind::Unary(Unary::Plus, inner) => return self.node(inner),
            ExprKind::Unary(Unary::Negate, inner) => match inner.kind {
                ExprKind::Number(Literal::Int(n)) => Term::Literal(Literal::Int(-n)),
                ExprKind::Number(Literal::Float(x)) => Term::Literal(Literal::Float(-x)),
                _ => apply("neg", vec![self.node(inner)?]),
            },
            ExprKind::Unary(Unary::Not, inner) => apply("not", vec![self.node(inner)?]),
            ExprKind::Unary(Unary::Root, inner) => apply("sqrt", vec![self.node(inner)?]),
            ExprKind::Binary(op, left, right) => apply(binary(*op), vec![self.node(left)?, self.node(right)?]),
            ExprKind::If(parts) => {
                let parts = parts.iter().map(|part| self.node(part)).collect::<Parsed<Vec<_>>>()?;
                apply("where", parts)
            }
            ExprKind::Call(function, args, false) => self.call(function, args, loc)?,
            ExprKind::Reduce(word, indices, body) => self.reduce(word, indices, body, loc)?,
            ExprKind::Block(lets, value) => self.block(lets, value)?,
            ExprKind::Tuple(_) => {
                return error("elements are numbers, and a tuple is none", loc, "write a statement for each part");
            }
            ExprKind::Range(..) => {
                return error("a range is no number", loc, "read an element of it: `(0..3)[i]`");
            }
            ExprKind::Field(..) => {
                return error("elements have no fields", loc, "pass each field as an array of its own");
            }
            ExprKind::Call(_, _, true) => {
                return error("a function of each element is an array", loc, "read an element of it: `log.(B)[i]`");
            }
            ExprKind::All => return error("`:` is no number", loc, ""),
        };
        Ok(Node { term, loc })
    }

    fn name(&self, name: &str, loc: Loc) -> Parsed<Term> {
        match self.meaning(name) {
            Some(Meaning::Index(index)) => {
                self.finishes(index, name, loc)?;
                Ok(Term::Index(index))
            }
            Some(Meaning::Local(local)) => Ok(Term::Local(local)),
            None if matches!(name, "pi" | "π") => Ok(Term::Literal(Literal::Float(std::f64::consts::PI))),
            None => Ok(Term::Scalar(name.into())),
        }
    }

    /// Refuses a reduced index in a finisher.
    pub(super) fn finishes(&self, index: usize, name: &str, loc: Loc) -> Parsed<()> {
        if !self.is_finish || self.indices[index].role == Role::Parallel {
            return Ok(());
        }
        let help = "a finisher sees the indices of the left side";
        error(format!("`{name}` is reduced, so a finisher can't use it"), loc, help)
    }

    /// `$(x + 1)`: computed from scalars, without indices.
    fn outside(&mut self, expr: &Expr) -> Parsed<Node> {
        let scopes = std::mem::take(&mut self.scopes);
        let before = self.accesses.len();
        let found = self.node(expr);
        self.scopes = scopes;
        match self.accesses.get(before) {
            Some(access) if found.is_ok() => {
                error("`$(...)` computes with scalars", access.loc, "read the element without `$`")
            }
            _ => found,
        }
    }

    /// `f.(A)[i]` is `f(A[i])`.
    fn each(&mut self, function: &Expr, args: &[Expr], positions: &[Position], loc: Loc) -> Parsed<Node> {
        let read = |arg: &Expr| match arg.kind {
            ExprKind::Number(_) | ExprKind::Outer(_) => arg.clone(),
            _ => Expr { kind: ExprKind::Read(Box::new(arg.clone()), positions.to_vec()), loc: arg.loc },
        };
        let call = ExprKind::Call(Box::new(function.clone()), args.iter().map(read).collect(), false);
        self.node(&Expr { kind: call, loc })
    }

    fn call(&mut self, callee: &Expr, args: &[Expr], loc: Loc) -> Parsed<Term> {
        let ExprKind::Name(name) = &callee.kind else {
            return error("a function is called by its name", callee.loc, "");
        };
        match (name.as_str(), args) {
            ("size", [array, dim]) => {
                let (array, dim) = self.dim_of(array, dim)?;
                return Ok(Term::Size(Size::Extent(array, dim)));
            }
            ("max" | "min", [first, rest @ ..]) if rest.len() > 1 => {
                // Of several numbers: of the first two, then of the result and the next.
                let op = if name == "max" { "maximum" } else { "minimum" };
                let mut all = self.node(first)?;
                for next in rest {
                    all = Node { term: apply(op, vec![all, self.node(next)?]), loc };
                }
                return Ok(all.term);
            }
            _ => {}
        }
        let Some(function) = function(name) else {
            let help = similar(name).map_or_else(
                || "is the crate that registers it linked? `passdump list ops` lists the functions".to_string(),
                |near| format!("did you mean `{near}`?"),
            );
            return error(format!("there is no function `{name}`"), callee.loc, &help);
        };
        let wanted = match function {
            Function::Op(op) => op.arity,
            _ => Arity::Exactly(1),
        };
        if wanted != Arity::Exactly(args.len()) && !matches!(wanted, Arity::AtLeast(n) if n <= args.len()) {
            let (Arity::Exactly(n) | Arity::AtLeast(n)) = wanted;
            let help = match name.as_str() {
                "mod" | "clamp" => "of one argument it is a boundary mode, around a position: `A[mod(i)]`",
                _ => "",
            };
            return error(format!("`{name}` has {n} arguments, not {}", args.len()), loc, help);
        }
        let args = args.iter().map(|arg| self.node(arg)).collect::<Parsed<Vec<_>>>()?;
        Ok(Term::Apply(function, args))
    }

    fn reduce(&mut self, word: &Word, indices: &[ScopedIndex], body: &Expr, loc: Loc) -> Parsed<Term> {
        let Some(reducer) = reducer(&word.text) else {
            return error(format!("there is no reduction `{word}`"), word.loc, "");
        };
        if self.is_finish {
            let help = "write it in a statement of its own";
            return error("a finisher has no reduction of its own", loc, help);
        }
        if indices.is_empty() {
            let help = "write the indices: `sum[k](x[k])`";
            return error(format!("`{word}[]` reduces over no index"), loc, help);
        }
        // A range does not see the index itself.
        for (n, index) in indices.iter().enumerate() {
            if let Some(range) = &index.range {
                let (lo, hi) = self.range(range)?;
                self.given.push(Given { index: self.indices.len() + n, lo, hi, loc: range.loc });
            }
        }
        let before = self.scopes.len();
        let numbers: Vec<usize> = indices.iter().map(|index| self.index(&index.name, Role::Scoped)).collect();
        let body = self.node(body)?;
        self.scopes.truncate(before);
        Ok(Term::Reduce(reducer, numbers, Box::new(body)))
    }

    fn block(&mut self, lets: &[Let], value: &Expr) -> Parsed<Term> {
        let before = self.scopes.len();
        let mut nodes = Vec::new();
        for item in lets {
            let [name] = &item.names[..] else {
                let loc = item.names.first().map_or(item.value.loc, |name| name.loc);
                let help = "write a line for each name";
                return error("elements are numbers, so there is no tuple to take apart", loc, help);
            };
            let node = self.node(&item.value)?;
            nodes.push((self.locals, node));
            self.scopes.push(Scope { name: name.text.clone(), means: Meaning::Local(self.locals) });
            self.locals += 1;
        }
        let value = self.node(value)?;
        self.scopes.truncate(before);
        Ok(Term::Block(nodes, Box::new(value)))
    }
}

/// A call of a built-in op.
fn apply(name: &str, args: Vec<Node>) -> Term {
    match registry().op(name) {
        Some(op) => Term::Apply(Function::Op(op), args),
        // The built-in ops are always there.
        None => Term::Literal(Literal::Float(f64::NAN)),
    }
}
