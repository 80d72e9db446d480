//! The state that all functions of a run share, as far as rewrites may read it.

use crate::def::{Form, RewriteEntry};
use crate::options::Options;
use crate::registry::rewrites;
use rustc_hash::FxHashMap;
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::rc::Rc;

/// The options and rules of the run, and the state that rewrites keep from one function to the next.
pub(crate) struct RunState {
    pub options: Options,
    /// The rules that a rewrite may apply itself.
    pub rules: Vec<RewriteEntry>,
    kept: RefCell<FxHashMap<TypeId, Rc<dyn Any>>>,
}

impl RunState {
    pub fn new(rules: &[RewriteEntry], options: &Options) -> Self {
        RunState { options: options.clone(), rules: rules.to_vec(), kept: RefCell::default() }
    }

    /// A rewrite's own state, by its type.
    pub fn kept<T: Default + 'static>(&self) -> Rc<T> {
        let key = TypeId::of::<T>();
        let known = self.kept.borrow().get(&key).cloned().and_then(|kept| kept.downcast::<T>().ok());
        known.unwrap_or_else(|| {
            let made = Rc::new(T::default());
            self.kept.borrow_mut().insert(key, made.clone());
            made
        })
    }
}

/// Default options, and all rules of this process.
impl Default for RunState {
    fn default() -> Self {
        let rules = rewrites().iter().filter(|entry| matches!(entry.def.form, Form::Rule(_)));
        RunState { options: Options::default(), rules: rules.collect(), kept: RefCell::default() }
    }
}
