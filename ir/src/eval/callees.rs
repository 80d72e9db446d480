//! The functions of a module, as ops may call them.

use super::evaluate_counted;
use crate::analysis::ModuleEffects;
use crate::error::EvalError;
use crate::module::Module;
use crate::name::Name;
use crate::op::{Callees, Limits, Outcome};
use crate::types::Signature;
use crate::value::Datum;

impl Callees for Module {
    fn signature(&self, name: Name) -> Option<Signature> {
        Module::signature(self, name)
    }
    fn stores_to_params(&self, name: Name) -> bool {
        ModuleEffects::of(self).function(name).is_some_and(|effects| effects.stores.contains(&true))
    }
    fn evaluate(&self, name: Name, args: Vec<Datum>, limits: Limits) -> (Result<Outcome, EvalError>, u64) {
        match self.get(name) {
            Some(func) => evaluate_counted(func, Some(self), args, limits),
            None => (Err(EvalError::unsupported(format!("there is no function `@{name}` in the module"))), 0),
        }
    }
}
