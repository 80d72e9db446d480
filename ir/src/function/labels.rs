//! Labels of values in messages.

use super::{Function, Value};
use slotmap::SecondaryMap;
use std::cell::OnceCell;

/// The labels of the values of a function. Numbers the anonymous ones on first use.
pub(crate) struct ValueLabels<'f> {
    func: &'f Function,
    numbers: OnceCell<SecondaryMap<Value, usize>>,
}

impl<'f> ValueLabels<'f> {
    /// The labels of this function's values.
    pub fn new(func: &'f Function) -> ValueLabels<'f> {
        ValueLabels { func, numbers: OnceCell::new() }
    }

    /// See [`Function::value_label`].
    pub fn of(&self, value: Value) -> String {
        let func = self.func;
        if !func.has_value(value) {
            return "%?".to_string();
        }
        if let Some(scalar) = func.as_const(value) {
            return scalar.to_string();
        }
        if let Some(name) = func.value_name(value) {
            return format!("%{name}");
        }
        let number = self.numbers.get_or_init(|| numbers(func)).get(value);
        number.map_or_else(|| "%?".to_string(), |n| format!("%{n}"))
    }
}

/// Numbers the anonymous values in layout order, as the printer does.
fn numbers(func: &Function) -> SecondaryMap<Value, usize> {
    let values = func.blocks().flat_map(|b| {
        let results = func.insts(b).flat_map(|i| func.inst(i).results.iter().copied());
        func.block_params(b).iter().copied().chain(results)
    });
    values.filter(|&v| func.value_name(v).is_none()).enumerate().map(|(n, v)| (v, n)).collect()
}

impl Function {
    /// The label of a value in messages: `%name`, or `%` and its number among the anonymous values in layout
    /// order; for a constant, the literal; `%?` for a value that is not in the function.
    pub fn value_label(&self, value: Value) -> String {
        ValueLabels::new(self).of(value)
    }
}
