//! Types of a case with dynamic extents: symbols, and unknown ones.
//!
//! The driver applies a rule by types. Where the shapes of a template do not fit together, or differ from
//! those of the pattern, constant extents show it, and the driver refuses the rule. Symbols and `?` do not
//! show it. So a rule whose template fails at the shapes of a case is unsound if there are any types of these
//! shapes at which the driver applies it.
//!
//! The results depend on the shapes alone. So a case is tested once, at the first types that apply.

use super::cases::may_hold;
use crate::rule::Rule;
use crate::rule::typing::{Case, Misfit, has_pattern_types, type_case};
use rewright_ir::{Dim, Name, Type};

/// The form of an extent in a type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The number.
    Constant,
    /// A symbol; equal extents have one symbol.
    Symbol,
    /// The same, with symbols of its own for each variable.
    OwnSymbol,
    /// `?`
    Unknown,
}
use Form::{Constant, OwnSymbol, Symbol, Unknown};

/// The case with types at which the driver applies the rule, if there are any. The given types have constant
/// extents.
pub(crate) fn applied(rule: &Rule, case: Case) -> Option<Case> {
    let is_refused = match type_case(rule, &case) {
        Ok(_) if may_hold(rule, &case) => return Some(case),
        found => found.is_err(),
    };
    with_dynamic_extents(rule, &case, is_refused)
}

/// The case with dynamic extents at which the driver applies the rule. `is_refused` says that constant
/// extents have no types.
fn with_dynamic_extents(rule: &Rule, case: &Case, is_refused: bool) -> Option<Case> {
    // A pattern without types at constant extents fails at these shapes.
    if case.shapes.iter().all(Vec::is_empty) || is_refused && !has_pattern_types(rule, case) {
        return None;
    }
    let mut has_terms = !is_refused;
    for form in [Symbol, Unknown] {
        let made = typed_by(case, |_, _, _| form);
        match type_case(rule, &made) {
            Ok(_) if may_hold(rule, &made) => return Some(made),
            Err(Misfit::DTypes(_)) => {}
            _ => has_terms = true,
        }
    }
    // An op that refuses unknown extents refuses others, too.
    if !has_terms {
        return None;
    }
    mixed(case).find(|made| may_hold(rule, made) && type_case(rule, made).is_ok())
}

/// The case at types in which the forms of extents differ.
fn mixed(case: &Case) -> impl Iterator<Item = Case> + '_ {
    let arrays: Vec<usize> = (0..case.shapes.len()).filter(|&var| !case.shapes[var].is_empty()).collect();
    let rank = case.shapes.iter().map(Vec::len).max().unwrap_or(0);
    let dynamic = [Symbol, Unknown];
    let ones = dynamic.map(|form| typed_by(case, move |_, _, extent| if extent == 1 { Constant } else { form }));
    let own = typed_by(case, |_, _, _| OwnSymbol);
    let pairs = [(Constant, Symbol), (Constant, Unknown), (Symbol, Unknown), (Unknown, Symbol)];
    let many = if arrays.len() > 1 { arrays } else { Vec::new() };
    let by_var = many.into_iter().flat_map(move |one| pairs.map(|(form, others)| (one, form, others)));
    let by_var =
        by_var.map(move |(one, form, others)| typed_by(case, |var, _, _| if var == one { form } else { others }));
    let axes = 0..if rank > 1 { rank } else { 0 };
    let by_axis = axes.flat_map(move |axis| {
        [(Constant, Symbol), (Constant, Unknown), (Unknown, Constant)].map(|(form, others)| (axis, form, others))
    });
    let by_axis =
        by_axis.map(move |(one, form, others)| typed_by(case, |_, axis, _| if axis == one { form } else { others }));
    ones.into_iter().chain([own]).chain(by_var).chain(by_axis)
}

/// The case with extents of these forms, for each variable, axis and extent.
fn typed_by(case: &Case, form: impl Fn(usize, usize, usize) -> Form) -> Case {
    let mut made = case.clone();
    for (var, shape) in case.shapes.iter().enumerate().filter(|(_, shape)| !shape.is_empty()) {
        let dim = |(axis, &extent): (usize, &usize)| match form(var, axis, extent) {
            Constant => Dim::Const(extent as u64),
            Symbol => Dim::Sym(Name::new(&format!("n{extent}"))),
            OwnSymbol => Dim::Sym(Name::new(&format!("n{extent}_{var}"))),
            Unknown => Dim::Any,
        };
        let dims: Vec<Dim> = shape.iter().enumerate().map(dim).collect();
        made.vars[var].0 = Type::array(case.vars[var].0.dtype(), dims);
    }
    made
}
