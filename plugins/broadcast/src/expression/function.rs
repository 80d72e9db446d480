//! The functions that expressions apply.

use super::Error;
use rewright::{DType, Deferred, TypeError};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A function of scalars as a value. Functions with the same text are equal.
#[derive(Clone)]
pub struct ScalarFunction(Arc<(rewright::Function, String)>);

impl ScalarFunction {
    /// A function with scalar parameters and one scalar result. It calls nothing but itself.
    ///
    /// # Errors
    ///
    /// It has arrays, or another number of results.
    pub fn new(function: rewright::Function) -> Result<ScalarFunction, Error> {
        let signature = function.signature();
        let is_scalar = signature.params.iter().chain(&signature.results).all(|ty| ty.is_scalar());
        if !is_scalar || signature.results.len() != 1 {
            let error = TypeError::new("a function of scalars with one result is wanted");
            return Err(Error::of_type(format!("@{}", function.name), error));
        }
        let text = function.to_string();
        Ok(ScalarFunction(Arc::new((function, text))))
    }

    /// The function.
    pub fn function(&self) -> &rewright::Function {
        &self.0.0
    }
}

impl PartialEq for ScalarFunction {
    fn eq(&self, other: &ScalarFunction) -> bool {
        self.0.1 == other.0.1
    }
}
impl Eq for ScalarFunction {}
impl Hash for ScalarFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.1.hash(state);
    }
}

/// The instructions that compute a deferred operand. Recipes with the same structure and dtype are equal.
#[derive(Clone)]
pub struct Recipe {
    structure: String,
    /// The dtype of the elements.
    pub dtype: DType,
    /// The operand, until its instructions are compiled.
    pub deferred: Option<Arc<dyn Deferred>>,
}

impl Recipe {
    /// The recipe of an operand.
    pub fn of(deferred: &Arc<dyn Deferred>, dtype: DType) -> Recipe {
        Recipe { structure: deferred.structure(), dtype, deferred: Some(deferred.clone()) }
    }
}

impl PartialEq for Recipe {
    fn eq(&self, other: &Recipe) -> bool {
        self.structure == other.structure && self.dtype == other.dtype
    }
}
impl Eq for Recipe {}
impl Hash for Recipe {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.structure, self.dtype).hash(state);
    }
}

/// A function of an expression.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Function {
    /// An elementwise op.
    Op(&'static str),
    /// A function of scalars.
    Scalars(ScalarFunction),
    /// A cast to another dtype, which is an attribute of the op.
    Cast(DType),
    /// A deferred operand, computed from its parameters.
    Made(Recipe),
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Function::Op(name) => f.write_str(name),
            Function::Scalars(function) => write!(f, "@{}", function.function().name),
            Function::Cast(to) => write!(f, "cast to {to}"),
            Function::Made(recipe) => f.write_str(&recipe.structure),
        }
    }
}
