//! Options of statements, and `set` lines: their names, values and errors.

use crate::parse::{Parsed, error};
use crate::syntax::{Expr, ExprKind, Setting, Unary};
use indexmap::{IndexMap, IndexSet};
use rewright::Literal;
use std::num::NonZeroU32;

/// The options that are in force for a statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    /// The first index of arrays is 1, and `lo:hi` includes `hi`.
    pub one_based: bool,
    /// Products may be contracted pairwise.
    pub tensor: bool,
    /// No liberty is granted.
    pub strict: bool,
    /// Results may begin at another index than the first one.
    pub origin: bool,
    /// The most threads; `None` for all.
    pub threads: Option<NonZeroU32>,
    /// The first indices of arrays.
    pub origins: IndexMap<String, Vec<i64>>,
    /// The names of the dims of arrays.
    pub dims: IndexMap<String, Vec<String>>,
    /// The names of the parts of arrays of tuples that statements make.
    pub tuples: IndexMap<String, Vec<String>>,
    /// The scalars that statements compute.
    pub computed: IndexSet<String>,
    /// The initial value of a reduction.
    pub init: Option<Expr>,
    /// The value of padding.
    pub pad: Option<Expr>,
}

/// The names of all options, for advice.
const KEYS: &str = "`strict`, `origin`, `init=`, `pad=`, `threads=`, `tensor=`, and in `set` lines `one_based`, `zero_based`, \
                    `origin A[...]` and `dims A[...]`";

impl Default for Options {
    fn default() -> Self {
        Options {
            one_based: false,
            tensor: true,
            strict: false,
            origin: false,
            threads: None,
            origins: IndexMap::new(),
            dims: IndexMap::new(),
            tuples: IndexMap::new(),
            computed: IndexSet::new(),
            init: None,
            pad: None,
        }
    }
}

impl Options {
    /// The first index of an array without a stated origin.
    pub(crate) fn base(&self) -> i64 {
        i64::from(self.one_based)
    }

    /// Applies an option of a statement, or of a `set` line.
    pub(crate) fn apply(&mut self, setting: &Setting, is_line: bool) -> Parsed<()> {
        let (key, loc) = (setting.key.text.as_str(), setting.key.loc);
        match (key, &setting.value) {
            ("strict", None) => self.strict = true,
            ("one_based" | "zero_based", None) if is_line => self.one_based = key == "one_based",
            ("one_based" | "zero_based", None) => {
                return error(
                    format!("`{key}` is an option of a `set` line"),
                    loc,
                    &format!("write `set {key}` above"),
                );
            }
            ("origin", None) => self.origin = true,
            ("origin", Some(value)) if is_line => self.array_origin(value)?,
            ("dims", Some(value)) if is_line => self.array_dims(value)?,
            ("threads", Some(value)) => self.threads = threads(value)?,
            ("init", Some(value)) if !is_line => self.init = Some(value.clone()),
            ("pad", Some(value)) if !is_line => self.pad = Some(value.clone()),
            ("strict", Some(value)) => self.strict = flag(key, value)?,
            ("fastmath", Some(value)) => self.strict = !flag(key, value)?,
            ("tensor", Some(value)) => self.tensor = flag(key, value)?,
            // The unroll factor of a loop is chosen here.
            ("avx", Some(value)) if integer(value).is_some_and(|n| n >= 0) => {}
            ("verbose" | "avx", Some(value)) => drop(flag(key, value)?),
            ("device", Some(value)) if matches!(&value.kind, ExprKind::Name(name) if name == "cpu") => {}
            ("cuda" | "device", _) => {
                let help = "leave the option out; the number of threads is `threads=N`";
                return error(
                    format!("`{key}`: programs run on this processor only; there is no device back end"),
                    loc,
                    help,
                );
            }
            ("grad" | "nograd", _) => {
                return error(format!("`{key}`: there are no gradients of statements"), loc, "leave the option out");
            }
            ("threads" | "init" | "pad" | "tensor", None) => {
                return error(format!("`{key}` needs a value"), loc, &format!("write `{key}=...`"));
            }
            _ => return error(format!("there is no option `{key}` here"), loc, &format!("the options are {KEYS}")),
        }
        Ok(())
    }

    /// `dims M[row, col]`: the names of the dims of an array.
    fn array_dims(&mut self, value: &Expr) -> Parsed<()> {
        let wrong = |loc| error("these are no names of dims", loc, "write the array with them, as `dims M[row, col]`");
        let ExprKind::Read(array, positions) = &value.kind else { return wrong(value.loc) };
        let ExprKind::Name(name) = &array.kind else { return wrong(array.loc) };
        let mut names: Vec<String> = Vec::new();
        for position in positions {
            match &position.expr.kind {
                ExprKind::Name(own) if position.dim.is_none() && !names.contains(own) => names.push(own.clone()),
                _ => return wrong(position.expr.loc),
            }
        }
        self.dims.insert(name.clone(), names);
        Ok(())
    }

    /// `origin K[-2, 0]`: the first indices of an array.
    fn array_origin(&mut self, value: &Expr) -> Parsed<()> {
        let wrong = |loc| error("this is no origin", loc, "write the array with its first indices, as `origin K[-2]`");
        let ExprKind::Read(array, positions) = &value.kind else { return wrong(value.loc) };
        let ExprKind::Name(name) = &array.kind else { return wrong(array.loc) };
        let mut first = Vec::new();
        for position in positions {
            match integer(&position.expr) {
                Some(n) if position.dim.is_none() => first.push(n),
                _ => return wrong(position.expr.loc),
            }
        }
        self.origins.insert(name.clone(), first);
        Ok(())
    }
}

/// An integer, with a sign.
fn integer(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Number(Literal::Int(n)) => i64::try_from(*n).ok(),
        ExprKind::Unary(Unary::Negate, inner) => integer(inner).and_then(i64::checked_neg),
        _ => None,
    }
}

fn flag(key: &str, value: &Expr) -> Parsed<bool> {
    match value.kind {
        ExprKind::Number(Literal::Bool(flag)) => Ok(flag),
        _ => error(format!("`{key}` is true or false"), value.loc, ""),
    }
}

/// The number of threads: all if true, one if false.
fn threads(value: &Expr) -> Parsed<Option<NonZeroU32>> {
    match value.kind {
        ExprKind::Number(Literal::Bool(true)) => Ok(None),
        ExprKind::Number(Literal::Bool(false)) => Ok(Some(NonZeroU32::MIN)),
        _ => match integer(value).and_then(|n| u32::try_from(n).ok()).and_then(NonZeroU32::new) {
            Some(threads) => Ok(Some(threads)),
            None => error("`threads` is true, false or a number from 1", value.loc, "write `threads=2`"),
        },
    }
}
