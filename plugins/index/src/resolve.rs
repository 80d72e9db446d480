//! Name resolution: finds the indices, arrays and scalars of a statement, and makes a [`Nest`] of it.
//!
//! A name is an index if it stands in a position or has a range. Other names are scalars, and names before
//! brackets are arrays. `$x` is never an index. Names that a block defines are local to it, and indices of a
//! scoped reduction to the reduction.

mod positions;
mod scalars;

use crate::functions::{reducer, similar};
use crate::nest::{
    Access, Along, Boundary, Form, Given, IndexVar, Nest, Node, Reducer, Role, Size, Source, Target, Term, Write,
};
use crate::parse::{Parsed, error};
use crate::settings::Options;
use crate::syntax::{Assign, Expr, ExprKind, LeftPosition, Place, RangeSign, Statement, Word};
pub(crate) use positions::flattened;
use rewright::expr::Monoid;
use rewright::{Loc, MAX_RANK};
use rewright_index_grammar::free::Indices;

/// The statement with resolved names.
pub(crate) fn resolve(statement: &Statement, options: &Options) -> Parsed<Nest> {
    let mut options = options.clone();
    (options.init, options.pad) = (None, None);
    for setting in &statement.settings {
        options.apply(setting, false)?;
    }
    let names = Indices::of(statement);
    let mut resolver = Resolver {
        options: &options,
        indices: Vec::new(),
        accesses: Vec::new(),
        given: Vec::new(),
        scopes: Vec::new(),
        locals: 0,
        is_finish: false,
        parts: Vec::new(),
    };
    let left: Vec<Word> = names.left.clone();
    for word in left.iter().chain(&names.right) {
        if resolver.scopes.iter().all(|scope| scope.name != word.text) {
            let role = if left.contains(word) { Role::Parallel } else { Role::Reduced };
            resolver.index(word, role);
        }
    }
    resolver.nest(statement)
}

/// A name in scope.
struct Scope {
    name: String,
    means: Meaning,
}

#[derive(Clone, Copy, PartialEq)]
enum Meaning {
    Index(usize),
    Local(usize),
}

struct Resolver<'a> {
    options: &'a Options,
    indices: Vec<IndexVar>,
    accesses: Vec<Access>,
    given: Vec<Given>,
    scopes: Vec<Scope>,
    locals: usize,
    is_finish: bool,
    /// The names of the parts of the right side, if it is a tuple.
    parts: Vec<String>,
}

impl Resolver<'_> {
    /// Adds an index variable and puts its name in scope.
    fn index(&mut self, word: &Word, role: Role) -> usize {
        let number = self.indices.len();
        self.indices.push(IndexVar { name: word.text.clone(), loc: word.loc, role, steps: None });
        self.scopes.push(Scope { name: word.text.clone(), means: Meaning::Index(number) });
        number
    }

    fn meaning(&self, name: &str) -> Option<Meaning> {
        self.scopes.iter().rev().find(|scope| scope.name == name).map(|scope| scope.means)
    }

    fn nest(mut self, statement: &Statement) -> Parsed<Nest> {
        for range in &statement.ranges {
            for name in &range.names {
                if let Some(Meaning::Index(index)) = self.meaning(&name.text) {
                    self.steps(index, &range.range)?;
                }
            }
        }
        let target = self.target(statement)?;
        for range in &statement.ranges {
            for name in &range.names {
                let Some(Meaning::Index(index)) = self.meaning(&name.text) else {
                    return error(format!("`{name}` is no index of this statement"), name.loc, "");
                };
                self.given(index, &range.range)?;
            }
        }
        let body = self.tuple(&statement.right)?;
        self.parts = names_of(&body);
        let reduces = self.indices.iter().any(|index| index.role == Role::Reduced);
        let reduction = self.reduction(statement, reduces)?;
        let finish = match &statement.finish {
            Some(finish) if !reduces => {
                let help = "write the function around the right side";
                return error("there is no reduction that this finisher could finish", finish.loc, help);
            }
            Some(finish) => {
                self.is_finish = true;
                let node = self.tuple(finish)?;
                self.is_finish = false;
                Some(node)
            }
            None => None,
        };
        if statement.assign == Assign::New {
            self.is_fresh(&target.name, &body)?;
        }
        let options = self.options;
        let init = options.init.as_ref().map(|expr| self.tuple(expr)).transpose()?;
        if let Some(init) = &init {
            match statement.assign {
                _ if !reduces => {
                    return error("`init` is the start of a reduction, and nothing is reduced", init.loc, "");
                }
                Assign::New | Assign::Store => {}
                _ => {
                    let message =
                        format!("`{}` starts from the old elements, so `init` has no use", statement.assign.sign());
                    return error(message, init.loc, "leave it out, or assign by `=`");
                }
            }
        }
        let pad = options.pad.as_ref().map(|expr| self.node(expr)).transpose()?;
        for value in init.iter().chain(&pad) {
            let mut varies = None;
            value.walk(&mut |node| {
                if matches!(node.term, Term::Index(_) | Term::Read(_) | Term::Reduce(..)) {
                    varies = Some(node.loc);
                }
            });
            if let Some(loc) = varies {
                return error("this value is the same at all points, so it has no index", loc, "");
            }
        }
        let target = Target { parts: names_of(finish.as_ref().unwrap_or(&body)), ..target };
        self.has_parts(&target, reduction, &body, init.as_ref())?;
        Ok(Nest {
            indices: self.indices,
            accesses: self.accesses,
            given: self.given,
            target,
            body,
            reduction,
            reduction_loc: statement.reduction.as_ref().map_or(statement.loc, |word| word.loc),
            finish,
            init,
            pad,
            threads: options.threads,
            tensor: options.tensor,
            strict: options.strict,
            origin: options.origin,
            loc: statement.loc,
        })
    }

    /// Refuses tuples where numbers are expected.
    fn has_parts(&self, target: &Target, reduction: Reducer, body: &Node, init: Option<&Node>) -> Parsed<()> {
        let (count, is_new) = (body.parts().len(), matches!(target.assign, Assign::New));
        if !target.parts.is_empty() && !is_new {
            let help = "write `:=`, or a statement for each part";
            return error("the parts of a tuple are new arrays", target.loc, help);
        }
        let extremum = matches!(reduction, Reducer::Builtin(Monoid::ArgMin | Monoid::ArgMax));
        if extremum && count != 2 {
            let help = "write a value and one position: `(argmax) m := (x[i], i)`; `(max)` compares longer tuples";
            return error("`argmin` and `argmax` reduce a value and its position", body.loc, help);
        }
        if let (Reducer::Function(op), true) = (reduction, count > 1) {
            let help = "reduce tuples by `+`, `*`, `min`, `max`, `&`, `|`, `argmin` or `argmax`";
            return error(format!("`{op}` is a function of numbers"), body.loc, help);
        }
        match init {
            Some(init) if init.parts().len() != count => error(
                format!("the initial value has {} parts, and the right side {count}", init.parts().len()),
                init.loc,
                "",
            ),
            _ => Ok(()),
        }
    }

    /// Refuses a new array or scalar that the right side reads.
    fn is_fresh(&self, name: &str, body: &Node) -> Parsed<()> {
        let mut read = None;
        for access in &self.accesses {
            let is_part = |own: &str| own.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
            if matches!(&access.source, Source::Array(own) if own == name || is_part(own)) {
                read = read.or(Some(access.loc));
            }
        }
        body.walk(&mut |node| {
            if matches!(&node.term, Term::Scalar(own) if own == name) {
                read = read.or(Some(node.loc));
            }
        });
        match read {
            Some(loc) => {
                let help = "write `=` to change it, or another name";
                error(format!("`{name}` is new on the left side, and read on the right side"), loc, help)
            }
            None => Ok(()),
        }
    }

    /// The reduction that the statement states, or that its assignment implies.
    fn reduction(&self, statement: &Statement, reduces: bool) -> Parsed<Reducer> {
        let (sum, product) = (Reducer::Builtin(Monoid::Sum), Reducer::Builtin(Monoid::Prod));
        let implied = match statement.assign {
            Assign::New | Assign::Store => None,
            Assign::Add | Assign::Subtract => Some(sum),
            Assign::Multiply | Assign::Divide => Some(product),
            Assign::Combine => None,
        };
        let sign = statement.assign.sign();
        let Some(word) = &statement.reduction else {
            return match statement.assign {
                Assign::Combine => {
                    let help =
                        "write one before the statement: `(max) C[i] ^= x[i]`; for powers write `C[i] = C[i]^x[i]`";
                    error("`^=` combines by a reduction, and none is stated", statement.loc, help)
                }
                _ => Ok(implied.unwrap_or(sum)),
            };
        };
        let Some(stated) = reducer(&word.text) else {
            let help = similar(&word.text).map_or_else(
                || "the reductions are `+`, `*`, `max`, `min`, `&`, `|` and functions of two numbers".to_string(),
                |near| format!("did you mean `{near}`?"),
            );
            return error(format!("there is no reduction `{word}`"), word.loc, &help);
        };
        match (statement.assign, implied) {
            (_, Some(implied)) if implied != stated => {
                let own = if stated == sum || stated == product { format!("{word}=") } else { "^=".to_string() };
                let help = format!("write `{own}` with it, or leave it out");
                error(format!("`{sign}` does not go with the reduction `{word}`"), word.loc, &help)
            }
            (Assign::Combine, _) if stated == sum || stated == product => {
                error(format!("`^=` is for other reductions than `{word}`"), word.loc, &format!("write `{word}=`"))
            }
            (Assign::New | Assign::Store, _) if !reduces && stated != sum => {
                error(format!("there is nothing to reduce by `{word}`"), word.loc, "all indices are on the left side")
            }
            _ => Ok(stated),
        }
    }

    // --- The left side ----------------------------------------------------------------------------

    fn target(&mut self, statement: &Statement) -> Parsed<Target> {
        let (left, assign) = (&statement.left, statement.assign);
        let (name, loc) = (left.name.text.clone(), left.name.loc);
        if name == "_" && assign != Assign::New {
            let help = format!("write `:=`, or a name: `{}` changes an array that is there", assign.sign());
            return error("a result without a name is new", loc, &help);
        }
        let Some(positions) = &left.positions else {
            if matches!(self.meaning(&name), Some(Meaning::Index(_))) {
                return error(format!("`{name}` is an index here, and the result"), loc, "");
            }
            return Ok(Target { name, assign, loc, dims: None, parts: Vec::new() });
        };
        let is_new = assign == Assign::New;
        let mut dims = Vec::new();
        // The names of a new array are given here, those of another one are known.
        let ordered =
            self.in_order(&name, positions, |p: &LeftPosition| (p.dim.as_ref().filter(|_| !is_new), loc), loc)?;
        for (dim, position) in ordered.into_iter().enumerate() {
            dims.push(self.write(&name, dim, position, is_new)?);
        }
        if !is_new {
            let along = |(dim, write): (usize, &Write)| match write {
                Write::At(along) => (**along).clone(),
                _ => Along {
                    form: Form::constant(Size::First(name.clone(), dim)),
                    boundary: Boundary::Inside,
                    loc,
                    is_plain: false,
                },
            };
            let dims = dims.iter().enumerate().map(along).collect();
            self.accesses.push(Access {
                source: Source::Array(name.clone()),
                dims,
                loc,
                is_write: true,
                is_after: true,
            });
        }
        Ok(Target { name, assign, loc, dims: Some(dims), parts: Vec::new() })
    }

    fn write(&mut self, name: &str, dim: usize, position: &LeftPosition, is_new: bool) -> Parsed<Write> {
        match &position.position {
            Place::One => Ok(Write::One),
            Place::Moved(expr) => match (&expr.kind, is_new) {
                (_, false) => error(
                    "`+ _` moves the first index of a new array",
                    expr.loc,
                    "write `:=`, or the distance as a number",
                ),
                (ExprKind::Name(text), _) => match self.meaning(text) {
                    Some(Meaning::Index(index)) => Ok(Write::Moved(index)),
                    _ => error("`+ _` moves an index", expr.loc, "write `i + _`"),
                },
                _ => error("`+ _` moves an index alone", expr.loc, "write `i + _`"),
            },
            Place::At(expr) => {
                if let ExprKind::Call(function, ..) = &expr.kind
                    && matches!(&function.kind, ExprKind::Name(f) if matches!(f.as_str(), "mod" | "clamp" | "pad"))
                {
                    let help = "elements are written in bounds; read by it on the right side instead";
                    return error("the left side has no boundary mode", expr.loc, help);
                }
                let along = self.along(name, dim, expr)?;
                if along.form.computed.is_some() && !along.form.indices().is_empty() {
                    let help = "points may meet there: compute the positions into an array, `p[i] := ...`, and write at \
                                `p[i]`";
                    return error("this position depends on an index and on a computed scalar", expr.loc, help);
                }
                if !is_new {
                    return Ok(Write::At(Box::new(along)));
                }
                let base = self.options.base();
                let is_gather = along.form.terms.is_empty()
                    && along.form.offset == Size::Int(0)
                    && matches!(&along.form.gathers[..], [(_, Size::Int(1))]);
                match () {
                    _ if along.is_plain || is_gather => Ok(Write::At(Box::new(along))),
                    _ if along.form.is_constant() && along.form.offset == Size::Int(base) => Ok(Write::One),
                    _ if along.form.is_constant() => {
                        let help = format!(
                            "write `{base}` or `_` for a dim of extent 1, or assign by `=` to an array that is there"
                        );
                        error("a new array has no element at just this position", expr.loc, &help)
                    }
                    _ if self.has_steps(expr) => {
                        let help = "write `+ _` behind it: `y[i + _] := ...`";
                        error("this index has a step, and the elements of a new array are adjacent", expr.loc, help)
                    }
                    _ => {
                        let help = "write an index alone, `i + _`, or assign by `=` to an array that is there";
                        error("the extent of a new array does not follow from this position", expr.loc, help)
                    }
                }
            }
        }
    }

    /// Whether an expression is an index with a step.
    fn has_steps(&self, expr: &Expr) -> bool {
        let ExprKind::Name(name) = &expr.kind else { return false };
        matches!(self.meaning(name), Some(Meaning::Index(index)) if self.indices[index].steps.is_some())
    }

    // --- Ranges -----------------------------------------------------------------------------------

    /// Adds the explicit range of an index.
    fn given(&mut self, index: usize, range: &Expr) -> Parsed<()> {
        let (lo, hi) = match &range.kind {
            ExprKind::Stepped(_) => {
                let (lo, hi, step) = self.stepped(range)?;
                // The number of steps.
                let length = if step > 0 { minus(hi, lo) } else { minus(lo, hi) };
                let steps = Size::FloorDivide(Box::new((length, Size::Int(step.saturating_abs()))));
                (Size::Int(0), steps)
            }
            _ if self.indices[index].steps.is_some() => {
                let help = "leave the other range out";
                return error(format!("`{}` has a range with a step", self.indices[index].name), range.loc, help);
            }
            _ => self.range(range)?,
        };
        self.given.push(Given { index, lo, hi, loc: range.loc });
        Ok(())
    }

    /// Notes the first value and the step of an index.
    fn steps(&mut self, index: usize, range: &Expr) -> Parsed<()> {
        if let ExprKind::Stepped(_) = &range.kind {
            let (lo, _, step) = self.stepped(range)?;
            self.indices[index].steps = Some((lo, step));
        }
        Ok(())
    }

    /// The first number, a bound of the last one, which is included, and the step of a range with a step.
    fn stepped(&mut self, range: &Expr) -> Parsed<(Size, Size, i64)> {
        let ExprKind::Stepped(parts) = &range.kind else { return no_range(range.loc) };
        let [lo, hi, step] = if self.options.one_based { [0, 2, 1] } else { [0, 1, 2] }.map(|n: usize| &parts[n]);
        let by = match self.size(step)? {
            Size::Int(0) => return error("the step of a range is 0", step.loc, "write another number"),
            Size::Int(by) => by,
            _ => return error("the step of a range is a number", step.loc, "write a number, such as `0:n:2`"),
        };
        let (lo, hi) = (self.size(lo)?, self.size(hi)?);
        let hi = if self.options.one_based { hi } else { hi.add(Size::Int(-by.signum())) };
        Ok((lo, hi, by))
    }

    /// The first and the last number of a range.
    fn range(&mut self, range: &Expr) -> Parsed<(Size, Size)> {
        match &range.kind {
            ExprKind::Range(sign, lo, hi) => {
                let (lo, hi) = (self.size(lo)?, self.size(hi)?);
                let includes = *sign == RangeSign::Through || (*sign == RangeSign::Colon && self.options.one_based);
                Ok((lo, if includes { hi } else { hi.add(Size::Int(-1)) }))
            }
            ExprKind::Call(function, args, false) => match (&function.kind, &args[..]) {
                (ExprKind::Name(f), [array, dim]) if f == "axes" => {
                    let (array, dim) = self.dim_of(array, dim)?;
                    Ok((Size::First(array.clone(), dim), Size::last(&array, dim)))
                }
                _ => no_range(range.loc),
            },
            _ => no_range(range.loc),
        }
    }

    /// The array and the dim of `axes(A, 0)` and `size(A, 0)`.
    fn dim_of(&self, array: &Expr, dim: &Expr) -> Parsed<(String, usize)> {
        let ExprKind::Name(name) = &array.kind else {
            return error("the name of an array is expected here", array.loc, "");
        };
        let base = self.options.base();
        let number = match dim.kind {
            ExprKind::Number(rewright::Literal::Int(n)) => {
                let n = i64::try_from(n).ok().and_then(|n| n.checked_sub(base));
                n.and_then(|n| usize::try_from(n).ok()).filter(|dim| *dim < MAX_RANK)
            }
            _ => None,
        };
        match number {
            Some(dim) => Ok((name.clone(), dim)),
            None => {
                let help = format!("the first dim is {base}, and arrays have up to {MAX_RANK} dims");
                error("the number of a dim is expected here", dim.loc, &help)
            }
        }
    }
}

/// The names of the parts of a tuple; none of a number.
fn names_of(node: &Node) -> Vec<String> {
    let parts = node.parts();
    parts.iter().filter(|(name, _)| !name.is_empty()).map(|(name, _)| (*name).to_string()).collect()
}

/// The difference of two sizes.
fn minus(a: Size, b: Size) -> Size {
    a.add(b.multiply(Size::Int(-1)))
}

fn no_range<T>(loc: Loc) -> Parsed<T> {
    error("a range is expected here", loc, "write `0..n`, `0..=n` or `axes(A, 0)`")
}
