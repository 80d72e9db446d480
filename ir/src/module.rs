//! A module: functions by name.

use crate::function::Function;
use crate::name::Name;
use crate::types::Type;
use indexmap::IndexMap;

/// The types of a function's parameters and results, and which parameters it writes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Parameter types; the symbols in them are the function's own.
    pub params: Vec<Type>,
    /// Result types.
    pub results: Vec<Type>,
}

/// Functions in the order they were written.
#[derive(Clone, Debug, Default)]
pub struct Module {
    functions: IndexMap<Name, Function>,
}

impl Module {
    /// An empty module.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds a function; the one of that name that was there, if any, comes back.
    pub fn insert(&mut self, function: Function) -> Option<Function> {
        self.functions.insert(function.name, function)
    }
    /// The function of a name.
    pub fn get(&self, name: Name) -> Option<&Function> {
        self.functions.get(&name)
    }
    /// The function of a name, to change it.
    pub fn get_mut(&mut self, name: Name) -> Option<&mut Function> {
        self.functions.get_mut(&name)
    }
    /// All functions, in order.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = &Function> + DoubleEndedIterator {
        self.functions.values()
    }
    /// The functions themselves, in order.
    pub fn into_functions(self) -> impl ExactSizeIterator<Item = Function> {
        self.functions.into_values()
    }
    /// All names, in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = Name> + '_ {
        self.functions.keys().copied()
    }
    /// The number of functions.
    pub fn len(&self) -> usize {
        self.functions.len()
    }
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }
    /// The signature of a function.
    pub fn signature(&self, name: Name) -> Option<Signature> {
        self.get(name).map(Function::signature)
    }
}
