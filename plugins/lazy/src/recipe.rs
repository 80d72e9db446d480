//! Recipes of lazy results: a chain of views of an argument or of a constructor.

use crate::apply::{CONSTRUCTORS, Extents, constructed, is_map, view};
use crate::array::LazyArray;
use crate::function::LazyValue;
use rewright::op::Traits;
use rewright::{Attrs, DType, Effects, EvalError, Function, Inst, Scalar, Value, ValueDef};

/// The derivation of a result as views of an argument or of a constructor.
pub struct Recipe {
    origin: Origin,
    /// The views, in order of application.
    views: Vec<(&'static str, Attrs)>,
}

/// The source of the views.
enum Origin {
    /// An argument.
    Param(usize),
    /// A constructor, with the fill value of `full`.
    Made { op: &'static str, attrs: Attrs, dtype: DType, value: Option<Fill> },
}

/// The operand of `full`.
enum Fill {
    Value(Scalar),
    Param(usize),
}

impl Recipe {
    /// The recipe of a value; `None` if the value has to be computed.
    pub fn of(func: &Function, mut value: Value) -> Option<Recipe> {
        let param = |value| func.params().iter().position(|&param| param == value);
        let mut views = Vec::new();
        let origin = loop {
            let ty = func.ty(value);
            if !ty.is_array() || ty.style().is_some() {
                return None;
            }
            if let Some(n) = param(value) {
                break Origin::Param(n);
            }
            let data = func.inst(func.def_inst(value)?);
            if data.op.traits.contains(Traits::CONSTRUCTOR) && CONSTRUCTORS.contains(&data.op.name) {
                let fill = data.args.first().map(|&fill| match func.def(fill) {
                    ValueDef::Const(scalar) => Some(Fill::Value(scalar)),
                    _ => param(fill).map(Fill::Param),
                });
                let value = match fill {
                    Some(None) => return None,
                    known => known.flatten(),
                };
                break Origin::Made { op: data.op.name, attrs: data.attrs.clone(), dtype: ty.dtype(), value };
            }
            if !is_map(func, data) {
                return None;
            }
            views.push((data.op.name, data.attrs.clone()));
            value = data.args[0];
        };
        views.reverse();
        Some(Recipe { origin, views })
    }

    /// The result for these arguments.
    pub fn follow(&self, args: &[LazyValue], extents: Extents<'_>) -> Result<LazyArray, EvalError> {
        let missing = || EvalError::shape("an argument is missing, or is of another kind");
        let array = match &self.origin {
            Origin::Param(n) => args.get(*n).and_then(LazyValue::as_array).ok_or_else(missing)?.clone(),
            Origin::Made { op, attrs, dtype, value } => {
                let value = match value {
                    None => None,
                    Some(Fill::Value(scalar)) => Some(*scalar),
                    Some(Fill::Param(n)) => Some(args.get(*n).and_then(LazyValue::as_scalar).ok_or_else(missing)?),
                };
                LazyArray::constant(constructed(op, attrs, *dtype, value, extents)?)?
            }
        };
        self.views.iter().try_fold(array, |array, (op, attrs)| array.view(|expr| view(expr, op, attrs, extents)))
    }
}

/// The only `ret` of a function whose returned values never change: the function has no stores, and no
/// calls that may store.
pub fn only_return(func: &Function) -> Option<Inst> {
    let changes = Effects::WRITES | Effects::CALLS;
    let mut insts = func.blocks().flat_map(|block| func.insts(block));
    if insts.any(|inst| func.inst(inst).op.effects.intersects(changes)) {
        return None;
    }
    let mut returns =
        func.blocks().filter_map(|block| func.terminator(block)).filter(|&i| func.inst(i).op.name == "ret");
    let first = returns.next()?;
    returns.next().is_none().then_some(first)
}
