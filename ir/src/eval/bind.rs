//! Binding of symbols to extents when a function is entered.

use super::message::mismatch;
use crate::error::EvalError;
use crate::function::{Function, Value};
use crate::name::Name;
use crate::types::{Dim, Type};
use crate::value::Datum;
use rustc_hash::FxHashMap;

/// The extents of a function's symbols, and the value that bound each.
#[derive(Default)]
pub(super) struct Symbols {
    pub(super) extents: FxHashMap<Name, u64>,
    origins: FxHashMap<Name, Value>,
}

impl Symbols {
    /// Checks that a value has a type, and binds its unbound symbols. `what` names the value in errors.
    pub(super) fn admit(
        &mut self,
        func: &Function,
        what: impl Fn() -> String,
        datum: &Datum,
        ty: &Type,
        origin: Option<Value>,
    ) -> Result<(), EvalError> {
        let (array, shape) = (!matches!(datum, Datum::Scalar(_)), datum.shape());
        let style = datum.as_styled().map(|styled| styled.style().name());
        let mut fits =
            datum.dtype() == ty.dtype() && array == ty.is_array() && style == ty.style() && shape.len() == ty.rank();
        if fits {
            for (&extent, &dim) in shape.iter().zip(ty.dims()) {
                fits &= match dim {
                    Dim::Any => true,
                    Dim::Const(n) => n == extent as u64,
                    Dim::Sym(name) => {
                        *self.extents.entry(name).or_insert_with(|| {
                            if let Some(value) = origin {
                                self.origins.insert(name, value);
                            }
                            extent as u64
                        }) == extent as u64
                    }
                };
            }
        }
        if fits {
            return Ok(());
        }
        let bound = |name: Name| Some((*self.extents.get(&name)?, self.origins.get(&name).copied()));
        Err(mismatch(func, &what(), &datum.ty(), ty, bound))
    }
}
