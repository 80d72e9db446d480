//! Scalar expressions: the body, finishers and initial values.

use super::{Meaning, Resolver, Scope};
use crate::functions::{binary, function, reducer, similar};
use crate::nest::{Access, Function, Node, Role, Size, Source, Term};
use crate::parse::{Parsed, error};
use crate::syntax::{Expr, ExprKind, Let, Position, ScopedIndex, Unary, Word};
use rewright::{Arity, Literal, Loc, registry};

/// The advice on a call after brackets.
const SCOPED_HELP: &str = "parts are reduced by `sum`, `prod`, `max`, `min`, `any` and `all`: `sum[k](x[k])`; a table of \
                           functions is a tuple: `(sin, cos)[k](x[i])`";

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
            ExprKind::Result if self.is_finish => self.part_of_result(None, loc)?,
            ExprKind::Field(of, field) if self.is_finish && of.kind == ExprKind::Result => {
                self.part_of_result(Some(field), loc)?
            }
            ExprKind::Result => return error("`_` is the result of a reduction, in its finisher", loc, ""),
            ExprKind::Read(array, positions) => match &array.kind {
                ExprKind::Call(function, args, true) => return self.each(function, args, positions, loc),
                ExprKind::Name(name) if self.is_tuple(name) => return self.whole_tuple(name, loc),
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
                return error("a tuple is no number", loc, "a tuple is a whole right side: `m[i] := (x[i], i)`");
            }
            ExprKind::Range(..) | ExprKind::Stepped(_) => {
                return error("a range is no number", loc, "read an element of it: `(0..3)[i]`");
            }
            ExprKind::Field(..) => match expr.element() {
                Some((name, positions)) if positions.is_empty() => Term::Scalar(name),
                Some((name, positions)) => {
                    let positions: Vec<Position> = positions.into_iter().cloned().collect();
                    Term::Read(self.access(&Expr { kind: ExprKind::Name(name), loc }, &positions, loc)?)
                }
                None => return error("a number has no fields", loc, "elements of arrays have: `x[i].re`"),
            },
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
                let count = Term::Index(index);
                let Some((lo, step)) = self.indices[index].steps.clone() else { return Ok(count) };
                let node = |term| Node { term, loc };
                let distance = apply("mul", vec![node(count), node(Term::Literal(Literal::Int(step.into())))]);
                Ok(apply("add", vec![node(Term::Size(lo)), node(distance)]))
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
            return match &callee.kind {
                ExprKind::Read(table, positions) => match (&table.kind, &positions[..]) {
                    (ExprKind::Tuple(items), [position]) => self.one_of(items, &position.expr, args, loc),
                    _ => error("this is no reduction of a part, and no table of functions", table.loc, SCOPED_HELP),
                },
                _ => error("a function is called by its name", callee.loc, ""),
            };
        };
        match (name.as_str(), args) {
            ("size", [array, dim]) => {
                let (array, dim) = self.dim_of(array, dim)?;
                return Ok(Term::Size(Size::Extent(array, dim)));
            }
            ("mod" | "clamp", [value, range]) if matches!(range.kind, ExprKind::Range(..)) => {
                let value = self.node(value)?;
                return self.number_in_range(name == "mod", value, range, loc);
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
        let function = self.function(name, args.len(), callee.loc)?;
        let args = args.iter().map(|arg| self.node(arg)).collect::<Parsed<Vec<_>>>()?;
        Ok(Term::Apply(function, args))
    }

    /// `mod(x, lo..hi)` and `clamp(x, lo..hi)`: the number of a range that is congruent to `x`, or the
    /// nearest one.
    pub(super) fn number_in_range(&mut self, wraps: bool, value: Node, range: &Expr, loc: Loc) -> Parsed<Term> {
        let (lo, hi) = self.range(range)?;
        let extent = hi.clone().add(Size::Int(1)).add(lo.clone().multiply(Size::Int(-1)));
        if matches!(extent, Size::Int(..=0)) {
            return error("this range is empty", range.loc, "no number is in it; write a range of one number or more");
        }
        let [lo, hi, extent] = [lo, hi, extent].map(|size| Node { term: Term::Size(size), loc: range.loc });
        if !wraps {
            return Ok(apply("clip", vec![value, lo, hi]));
        }
        let node = |term| Node { term, loc };
        let from_start = node(apply("sub", vec![value, lo.clone()]));
        Ok(apply("add", vec![node(apply("mod", vec![from_start, extent])), lo]))
    }

    /// The function of a name, of this many arguments.
    fn function(&self, name: &str, count: usize, loc: Loc) -> Parsed<Function> {
        let Some(function) = function(name) else {
            if matches!(name, "sum" | "prod" | "any" | "all") {
                let help = format!("a reduction of a part names its indices: `{name}[j](...)`");
                return error(format!("there is no function `{name}`"), loc, &help);
            }
            let help = similar(name).map_or_else(
                || "is the crate that registers it linked? `passdump list ops` lists the functions".to_string(),
                |near| format!("did you mean `{near}`?"),
            );
            return error(format!("there is no function `{name}`"), loc, &help);
        };
        let wanted = match function {
            Function::Op(op) => op.arity,
            _ => Arity::Exactly(1),
        };
        if wanted != Arity::Exactly(count) && !matches!(wanted, Arity::AtLeast(n) if n <= count) {
            let (Arity::Exactly(n) | Arity::AtLeast(n)) = wanted;
            let help = match name {
                "max" | "min" if count == 1 => {
                    "a reduction stands before the statement, `(max) m := x[i]`, or names its indices: `max[i](x[i])`"
                }
                "mod" | "clamp" => {
                    "of a range it is `mod(x, 0..n)`; of one argument a boundary mode, around a position: `A[mod(i)]`"
                }
                _ => "",
            };
            return error(format!("`{name}` has {n} arguments, not {count}"), loc, help);
        }
        Ok(function)
    }

    /// `(sin, cos)[k](x)`: the function of this number.
    fn one_of(&mut self, items: &[(Option<Word>, Expr)], position: &Expr, args: &[Expr], loc: Loc) -> Parsed<Term> {
        let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let source = Source::Range(Size::Int(0), Size::Int(count - 1));
        let dims = vec![self.along("", 0, position)?];
        self.accesses.push(Access { source, dims, loc: position.loc, is_write: false, is_after: self.is_finish });
        let number = Node { term: Term::Read(self.accesses.len() - 1), loc: position.loc };
        // The number and the arguments are computed once.
        let mut lets = vec![(self.new_local(), number)];
        for arg in args {
            let node = self.node(arg)?;
            lets.push((self.new_local(), node));
        }
        let local = |n: usize| Node { term: Term::Local(lets[n].0), loc };
        let mut chosen: Option<Node> = None;
        for (n, (_, item)) in items.iter().enumerate().rev() {
            let ExprKind::Name(name) = &item.kind else {
                return error("a table of functions has names", item.loc, "write `(sin, cos)[k](x[i])`");
            };
            let function = self.function(name, args.len(), item.loc)?;
            let value = Node { term: Term::Apply(function, (1..lets.len()).map(local).collect()), loc };
            chosen = Some(match chosen {
                None => value,
                Some(others) => {
                    let number = Node { term: Term::Literal(Literal::Int(n as i128)), loc };
                    let is_this = Node { term: apply("eq", vec![local(0), number]), loc };
                    Node { term: apply("where", vec![is_this, value, others]), loc }
                }
            });
        }
        match chosen {
            Some(value) => Ok(Term::Block(lets, Box::new(value))),
            None => error("a table without functions", loc, ""),
        }
    }

    /// The number of a new name of a block.
    fn new_local(&mut self) -> usize {
        self.locals += 1;
        self.locals - 1
    }

    /// A tuple: the parts of a right side, of an initial value or of a finisher. A tuple in a tuple counts as
    /// its parts.
    pub(super) fn tuple(&mut self, expr: &Expr) -> Parsed<Node> {
        let loc = expr.loc;
        match &expr.kind {
            ExprKind::Tuple(items) => {
                let mut parts: Vec<(String, Node)> = Vec::new();
                for (name, item) in items {
                    let own = self.tuple(item)?;
                    match (own.term, name) {
                        (Term::Tuple(inner), None) => {
                            parts.extend(inner.into_iter().map(|(_, part)| (String::new(), part)));
                        }
                        (Term::Tuple(_), Some(name)) => {
                            return error(format!("part `{name}` is a tuple"), name.loc, "name each of its parts");
                        }
                        (term, name) => {
                            let name = name.as_ref().map(|name| name.text.clone()).unwrap_or_default();
                            parts.push((name, Node { term, loc: own.loc }));
                        }
                    }
                }
                let base = usize::from(self.options.one_based);
                for n in 0..parts.len() {
                    if parts[n].0.is_empty() {
                        parts[n].0 = (n + base).to_string();
                    }
                    if parts[..n].iter().any(|(name, _)| *name == parts[n].0) {
                        return error(format!("two parts have the name `{}`", parts[n].0), loc, "");
                    }
                }
                match parts.len() {
                    0 => error("a tuple without parts", loc, "write a number, or the parts"),
                    _ => Ok(Node { term: Term::Tuple(parts), loc }),
                }
            }
            ExprKind::Block(lets, value) if matches!(value.kind, ExprKind::Tuple(_)) => {
                let before = self.scopes.len();
                let nodes = self.lets(lets)?;
                let value = self.tuple(value)?;
                self.scopes.truncate(before);
                Ok(Node { term: Term::Block(nodes, Box::new(value)), loc })
            }
            _ => self.node(expr),
        }
    }

    /// `_` or `_.r` in a finisher.
    fn part_of_result(&self, field: Option<&Word>, loc: Loc) -> Parsed<Term> {
        let list = self.parts.join("`, `_.");
        match field {
            None if self.parts.is_empty() => Ok(Term::Result(0)),
            None => error("the result of the reduction is a tuple", loc, &format!("its parts are `_.{list}`")),
            Some(field) => match self.parts.iter().position(|part| *part == field.text) {
                Some(part) => Ok(Term::Result(part)),
                None if self.parts.is_empty() => error("the result of the reduction is a number", loc, "write `_`"),
                None => error(format!("there is no part `{field}`"), field.loc, &format!("the parts are `_.{list}`")),
            },
        }
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
        let before = self.scopes.len();
        let numbers: Vec<usize> = indices.iter().map(|index| self.index(&index.name, Role::Scoped)).collect();
        // A range does not see the index itself.
        let own = self.scopes.split_off(before);
        for (number, index) in numbers.iter().zip(indices) {
            if let Some(range) = &index.range {
                self.steps(*number, range)?;
                self.given(*number, range)?;
            }
        }
        self.scopes.extend(own);
        let body = self.node(body)?;
        self.scopes.truncate(before);
        Ok(Term::Reduce(reducer, numbers, Box::new(body)))
    }

    fn block(&mut self, lets: &[Let], value: &Expr) -> Parsed<Term> {
        let before = self.scopes.len();
        let nodes = self.lets(lets)?;
        let value = self.node(value)?;
        self.scopes.truncate(before);
        Ok(Term::Block(nodes, Box::new(value)))
    }

    /// The names of a block; several take a tuple apart.
    fn lets(&mut self, lets: &[Let]) -> Parsed<Vec<(usize, Node)>> {
        let mut nodes = Vec::new();
        for item in lets {
            let values = match &item.names[..] {
                [_] => vec![self.node(&item.value)?],
                names => self.apart(names.len(), &item.value)?,
            };
            for (name, node) in item.names.iter().zip(values) {
                let local = self.new_local();
                nodes.push((local, node));
                self.scopes.push(Scope { name: name.text.clone(), means: Meaning::Local(local) });
            }
        }
        Ok(nodes)
    }

    /// The parts of a tuple: those that are written, or an element of each array of parts.
    fn apart(&mut self, count: usize, value: &Expr) -> Parsed<Vec<Node>> {
        let loc = value.loc;
        let found = match &value.kind {
            ExprKind::Tuple(_) => match self.tuple(value)?.term {
                Term::Tuple(parts) => parts.into_iter().map(|(_, part)| part).collect(),
                _ => Vec::new(),
            },
            _ => match value.element().filter(|(_, positions)| !positions.is_empty()) {
                Some((name, positions)) => {
                    let base = usize::from(self.options.one_based);
                    let numbers = || (0..count).map(|n| (n + base).to_string()).collect();
                    let parts: Vec<String> = self.options.tuples.get(&name).cloned().unwrap_or_else(numbers);
                    let positions: Vec<Position> = positions.into_iter().cloned().collect();
                    let mut found = Vec::new();
                    for part in parts {
                        let array = Expr { kind: ExprKind::Name(format!("{name}.{part}")), loc };
                        found.push(Node { term: Term::Read(self.access(&array, &positions, loc)?), loc });
                    }
                    found
                }
                None => return error("this is no tuple, so there is nothing to take apart", loc, ""),
            },
        };
        match found.len() == count {
            true => Ok(found),
            false => error(format!("the tuple has {} parts, and there are {count} names", found.len()), loc, ""),
        }
    }

    /// Whether an array is one of tuples, that another statement makes.
    fn is_tuple(&self, name: &str) -> bool {
        self.options.tuples.contains_key(name)
    }

    fn whole_tuple<T>(&self, name: &str, loc: Loc) -> Parsed<T> {
        let list: Vec<String> =
            self.options.tuples.get(name).into_iter().flatten().map(|p| format!("`{name}[...].{p}`")).collect();
        error(format!("the elements of `{name}` are tuples"), loc, &format!("read a part: {}", list.join(", ")))
    }
}

/// A call of a built-in op.
pub(super) fn apply(name: &str, args: Vec<Node>) -> Term {
    match registry().op(name) {
        Some(op) => Term::Apply(Function::Op(op), args),
        // The built-in ops are always there.
        None => Term::Literal(Literal::Float(f64::NAN)),
    }
}
