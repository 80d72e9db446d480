//! The names that are indices of a whole statement: those in positions and those with ranges, unless a
//! block or a scoped reduction defines them.

use crate::syntax::{Expr, ExprKind, Place, Statement, Word};

/// The indices of a statement, in the order of the text.
#[derive(Default)]
pub(super) struct Names {
    /// Those on the left side.
    pub left: Vec<Word>,
    /// Those elsewhere, which may repeat those on the left side.
    pub right: Vec<Word>,
}

impl Names {
    pub(super) fn of(statement: &Statement) -> Names {
        let mut names = Names::default();
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
        ExprKind::Outer(_) | ExprKind::Range(..) => {}
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
