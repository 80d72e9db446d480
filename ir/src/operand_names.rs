//! Names for the operands of an expression: the names of the values that they read, so that text, remarks
//! and errors of an expression say what the program says.

use crate::expr::{Axis, Operand};
use crate::function::{Function, Value};
use crate::name::Name;
use crate::op::Traits;
use crate::ops::arrayexpr::ARRAYEXPR;
use crate::ops::styled::{COMPONENT, RESTYLE};
use crate::types::Dim;
use rustc_hash::FxHashMap;

/// The names in use in one expression. Gives names that are free.
#[derive(Clone, Debug, Default)]
pub struct OperandNames {
    /// The next suffix to try for each name in use.
    used: FxHashMap<Name, u32>,
}

impl OperandNames {
    /// The names that axes, the symbols in their bounds, and operands use.
    pub fn of(axes: &[Axis], operands: &[Operand]) -> OperandNames {
        let mut names = OperandNames::default();
        for axis in axes {
            names.reserve(axis.name);
            let bounds = std::iter::once(&axis.lo).chain(&axis.hi);
            bounds.flat_map(|bound| bound.terms()).for_each(|term| names.reserve(term.0));
        }
        operands.iter().for_each(|operand| names.reserve(operand.name));
        names
    }

    /// Marks the symbols of dims as in use.
    pub fn reserve_symbols(&mut self, dims: &[Dim]) {
        for dim in dims {
            if let Dim::Sym(name) = *dim {
                self.reserve(name);
            }
        }
    }

    /// Marks a name as in use.
    pub(crate) fn reserve(&mut self, name: Name) {
        self.used.entry(name).or_insert(1);
    }

    /// A free name for an element of `value`: the value's own name, or else that of the only array that it
    /// is a view, a component or an expression of, or else `base`, with a suffix if it is in use.
    pub fn for_value(&mut self, func: &Function, value: Value, base: &str) -> Name {
        let own = name_in_program(func, value);
        self.free(own.map_or(base, |name| name.as_str()))
    }

    /// A free name: `base`, with a suffix if it is in use.
    pub fn free(&mut self, base: &str) -> Name {
        let mut name = Name::new(base);
        while self.used.contains_key(&name) {
            let next = self.used.entry(Name::new(base)).or_insert(1);
            name = Name::from(format!("{base}_{next}"));
            *next += 1;
        }
        self.used.insert(name, 1);
        name
    }
}

/// The name of a value, or of the only array that it is a view, a component or an expression of, if an
/// expression can use it.
fn name_in_program(func: &Function, mut value: Value) -> Option<Name> {
    loop {
        if let Some(name) = func.value_name(value) {
            return Some(name).filter(|name| can_name(name));
        }
        let data = func.inst(func.def_inst(value)?);
        let is_part = data.op.traits.contains(Traits::VIEW) || data.op == COMPONENT;
        let is_converted = data.op == RESTYLE || (data.op == ARRAYEXPR && data.args.len() == 1);
        value = *data.args.first().filter(|_| is_part || is_converted)?;
    }
}

/// True if a name is an identifier, and neither a keyword of bodies nor the name of a temporary in one.
fn can_name(name: &str) -> bool {
    const WORDS: [&str; 8] = ["yield", "reduce", "where", "inf", "NaN", "true", "false", "arrayexpr"];
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let is_temporary =
        ["t", "u"].iter().any(|p| name.strip_prefix(p).is_some_and(|d| d.bytes().all(|b| b.is_ascii_digit())));
    first && !is_temporary && !WORDS.contains(&name) && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
