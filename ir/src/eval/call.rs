//! Calls: `call` of functions on whole values, and `ufunc` on each element.

use super::elementwise::map_elements;
use super::machine::{Frame, Machine};
use crate::error::EvalError;
use crate::function::{Function, InstData};
use crate::op::Loop;
use crate::types::Type;
use crate::value::Datum;

impl<'m> Machine<'m> {
    fn callee(&self, data: &InstData) -> Result<&'m Function, EvalError> {
        let name = data.attrs.func("callee").ok_or_else(|| EvalError::unsupported("names no function"))?;
        self.module
            .and_then(|m| m.get(name))
            .ok_or_else(|| EvalError::unsupported(format!("there is no function `@{name}` in the module")))
    }

    /// Calls a function, and applies its stores to parameters.
    pub(super) fn call_op(&self, frame: &mut Frame<'_>, data: &InstData) -> Result<Vec<Datum>, EvalError> {
        let callee = self.callee(data)?;
        let returned = self.call(callee, frame.read_all(&data.args)?)?;
        for (i, (datum, stored)) in returned.args.into_iter().enumerate() {
            let Some(&value) = data.args.get(i).filter(|_| stored) else { continue };
            if data.args.iter().filter(|&&v| v == value).count() > 1 {
                let message =
                    format!("`@{}` stores to parameter {i}, which is given the same value as another", callee.name);
                return Err(EvalError::value(message));
            }
            frame.mark_stored(value);
            self.hold(frame, value, datum)?;
        }
        Ok(returned.results)
    }

    /// Calls a scalar function for each element.
    pub(super) fn ufunc_op(&self, frame: &Frame<'_>, data: &InstData) -> Result<Vec<Datum>, EvalError> {
        let callee = self.callee(data)?;
        let signature = callee.signature();
        if signature.params.iter().chain(&signature.results).any(Type::is_array) {
            return Err(EvalError::unsupported(format!("`@{}` is no function of scalars", callee.name)));
        }
        let dtypes = Loop {
            ins: signature.params.iter().map(Type::dtype).collect(),
            outs: signature.results.iter().map(Type::dtype).collect(),
        };
        let args = frame.read_all(&data.args)?;
        let silent = self.silent.replace(true);
        let results = map_elements(&self.cx(frame, data, &[]), &dtypes, &args, |element| {
            let returned = self.call(callee, element.iter().map(|&s| Datum::Scalar(s)).collect())?;
            returned.results.iter().map(|d| d.as_scalar().ok_or_else(|| EvalError::shape("gave an array"))).collect()
        });
        self.silent.set(silent);
        results
    }
}
