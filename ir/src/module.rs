//! A module: functions by name.

use crate::function::Function;
use crate::name::Name;
use crate::types::Signature;
use indexmap::IndexMap;

/// Functions in the order of their insertion.
#[derive(Clone, Debug, Default)]
pub struct Module {
    functions: IndexMap<Name, Function>,
}

impl Module {
    /// An empty module.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds a function; returns the one of the same name that it replaces.
    pub fn insert(&mut self, function: Function) -> Option<Function> {
        self.functions.insert(function.name, function)
    }
    /// The function of this name.
    pub fn get(&self, name: Name) -> Option<&Function> {
        self.functions.get(&name)
    }
    /// The function of this name, mutable.
    pub fn get_mut(&mut self, name: Name) -> Option<&mut Function> {
        self.functions.get_mut(&name)
    }
    /// All functions, in order.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = &Function> + DoubleEndedIterator {
        self.functions.values()
    }
    /// All functions by value, in order.
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
