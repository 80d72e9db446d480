//! The free names of a program: the arrays and scalars that it reads before it assigns them.

use crate::syntax::{Assign, Expr, ExprKind, Line, Place, Program, Statement, Word};
use rewright_ir::Loc;

/// A free name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeName {
    /// The name.
    pub name: String,
    /// Whether it has positions, so that it is an array.
    pub is_array: bool,
    /// The place of its first use.
    pub loc: Loc,
}

/// The indices of a statement, in the order of the text: those in positions and those with ranges, unless a
/// block or a scoped reduction defines them.
#[derive(Default)]
pub struct Indices {
    /// Those on the left side.
    pub left: Vec<Word>,
    /// Those elsewhere, which may repeat those on the left side.
    pub right: Vec<Word>,
}

impl Indices {
    /// The indices of a statement.
    pub fn of(statement: &Statement) -> Indices {
        let mut names = Indices::default();
        let mut bound = Vec::new();
        for position in statement.left.positions.iter().flatten() {
            if let Place::At(expr) | Place::Moved(expr) = &position.position {
                collect(expr, true, &mut bound, &mut names.left);
            }
        }
        collect(&statement.right, false, &mut bound, &mut names.right);
        if let Some(expr) = &statement.finish {
            collect(expr, false, &mut bound, &mut names.right);
        }
        names.right.extend(statement.ranges.iter().flat_map(|range| range.names.iter().cloned()));
        names
    }
}

/// Adds the indices of an expression. `bound` are the names of blocks and scoped reductions around it.
fn collect(expr: &Expr, in_position: bool, bound: &mut Vec<String>, found: &mut Vec<Word>) {
    match &expr.kind {
        ExprKind::Name(name) => {
            let is_end = matches!(name.as_str(), "end" | "begin");
            if in_position && !is_end && !bound.contains(name) && found.iter().all(|word| word.text != *name) {
                found.push(Word { text: name.clone(), loc: expr.loc });
            }
        }
        ExprKind::Outer(_) | ExprKind::Range(..) | ExprKind::Stepped(_) => {}
        ExprKind::Read(array, positions) => {
            if !matches!(array.kind, ExprKind::Name(_)) {
                collect(array, false, bound, found);
            }
            positions.iter().for_each(|position| collect(&position.expr, true, bound, found));
        }
        ExprKind::Call(function, args, _) => {
            if !matches!(function.kind, ExprKind::Name(_)) {
                collect(function, false, bound, found);
            }
            args.iter().for_each(|arg| collect(arg, in_position, bound, found));
        }
        ExprKind::Reduce(_, indices, body) => {
            let before = bound.len();
            bound.extend(indices.iter().map(|index| index.name.text.clone()));
            collect(body, false, bound, found);
            bound.truncate(before);
        }
        ExprKind::Block(lets, value) => {
            let before = bound.len();
            for item in lets {
                collect(&item.value, false, bound, found);
                bound.extend(item.names.iter().map(|name| name.text.clone()));
            }
            collect(value, false, bound, found);
            bound.truncate(before);
        }
        _ => expr.parts().for_each(|part| collect(part, in_position, bound, found)),
    }
}

/// The free names of a program, in the order of their first use.
pub fn free_names(program: &Program) -> Vec<FreeName> {
    let (mut found, mut assigned) = (Vec::new(), Vec::new());
    for line in &program.lines {
        let Line::Statement(statement) = line else { continue };
        let mut own = Free { bound: Vec::new(), found: Vec::new() };
        let indices = Indices::of(statement);
        own.bound.extend(indices.left.into_iter().chain(indices.right).map(|word| word.text));
        let left = &statement.left;
        for position in left.positions.iter().flatten() {
            if let Place::At(expr) | Place::Moved(expr) = &position.position {
                own.names(expr);
            }
        }
        own.names(&statement.right);
        statement.finish.iter().for_each(|expr| own.names(expr));
        statement.ranges.iter().for_each(|range| own.names(&range.range));
        statement.settings.iter().filter_map(|setting| setting.value.as_ref()).for_each(|value| own.names(value));
        let is_read = !matches!((&left.positions, statement.assign), (_, Assign::New) | (None, Assign::Store));
        if is_read {
            own.add(&left.name.text, left.positions.is_some(), left.name.loc);
        }
        for name in own.found {
            let is_known = found.iter().any(|known: &FreeName| known.name == name.name);
            if !is_known && !assigned.contains(&name.name) {
                found.push(name);
            }
        }
        assigned.push(left.name.text.clone());
    }
    found
}

struct Free {
    bound: Vec<String>,
    found: Vec<FreeName>,
}

impl Free {
    fn add(&mut self, name: &str, is_array: bool, loc: Loc) {
        match self.found.iter_mut().find(|own| own.name == name) {
            Some(own) => own.is_array |= is_array,
            None => self.found.push(FreeName { name: name.to_string(), is_array, loc }),
        }
    }

    fn names(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Name(name) => {
                let is_constant = matches!(name.as_str(), "pi" | "π" | "end" | "begin");
                if !is_constant && !self.bound.contains(name) {
                    self.add(name, false, expr.loc);
                }
            }
            // Behind `$` a name is never an index.
            ExprKind::Outer(inner) => {
                let bound = std::mem::take(&mut self.bound);
                self.names(inner);
                self.bound = bound;
            }
            ExprKind::Read(..) | ExprKind::Field(..) if expr.element().is_some() => {
                let Some((name, positions)) = expr.element() else { return };
                self.add(&name, !positions.is_empty(), expr.loc);
                positions.iter().for_each(|position| self.names(&position.expr));
            }
            ExprKind::Call(function, args, each) => {
                let of_array =
                    matches!(&function.kind, ExprKind::Name(f) if matches!(f.as_str(), "axes" | "size" | "flat"));
                for (n, arg) in args.iter().enumerate() {
                    match &arg.kind {
                        ExprKind::Name(name) if *each || (of_array && n == 0) => self.add(name, true, arg.loc),
                        _ => self.names(arg),
                    }
                }
            }
            ExprKind::Reduce(_, indices, body) => {
                indices.iter().filter_map(|index| index.range.as_ref()).for_each(|range| self.names(range));
                let before = self.bound.len();
                self.bound.extend(indices.iter().map(|index| index.name.text.clone()));
                self.names(body);
                self.bound.truncate(before);
            }
            ExprKind::Block(lets, value) => {
                let before = self.bound.len();
                for item in lets {
                    self.names(&item.value);
                    self.bound.extend(item.names.iter().map(|name| name.text.clone()));
                }
                self.names(value);
                self.bound.truncate(before);
            }
            _ => expr.parts().for_each(|part| self.names(part)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    #[test]
    fn names_are_free_unless_they_are_indices_or_assigned() {
        for (text, wanted) in [
            ("C[i,k] := A[i,j] * B[j,k]", "A[] B[]"),
            ("y[i] := x[i] + i + k * $i", "x[] k i"),
            ("C[i] += x[J[i]]", "x[] J[] C[]"),
            ("m := x[i]\ny[i] := x[i] - m", "x[]"),
            ("y[i] := { t = x[i] * a; t / sum[k](w[k]) } (i in 0..size(x, 0)) init=b", "x[] a w[] b"),
            ("s := log.(B)[i] * (0..n)[i] * ones(m)[i] * pi", "B[] n m"),
            ("s += v", "v s"),
            ("y[i,j] := C[i][j] / E[i].c[J[j]] + p.x", "C[] E.c[] J[] p.x"),
        ] {
            let program = parse(text, "test").unwrap_or_else(|e| panic!("{e}"));
            let shown = |name: &FreeName| format!("{}{}", name.name, if name.is_array { "[]" } else { "" });
            assert_eq!(free_names(&program).iter().map(shown).collect::<Vec<_>>().join(" "), wanted, "{text}");
        }
    }
}
