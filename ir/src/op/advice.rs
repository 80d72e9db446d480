//! Advice in errors of type rules: how an op is written, and which operands would fit.

use super::{Arity, OpDef};
use crate::attr::Presence;
use crate::types::{Dim, Type, broadcast_dims};

impl OpDef {
    /// The form of an instruction with this op, as text: `sum %a[, axes=...][, keepdims=...]`.
    pub fn usage(&self) -> String {
        let (count, more) = match self.arity {
            Arity::Exactly(n) => (n, None),
            Arity::AtLeast(n) => (n, Some("...".to_string())),
        };
        let letters = ('a'..='z').take(count).map(|letter| format!("%{letter}"));
        let operands: Vec<String> = letters.chain(more).collect();
        let mut text = format!("{} {}", self.name, operands.join(", "));
        for (i, attr) in self.attrs.iter().enumerate() {
            let comma = if operands.is_empty() && i == 0 { "" } else { ", " };
            let form = format!("{comma}{}=...", attr.name);
            text.push_str(&if attr.presence == Presence::Required { form } else { format!("[{form}]") });
        }
        text.trim_end().to_string()
    }
}

/// The advice for an operand of a storage style that the op does not read.
pub(crate) const MAKE_DENSE: &str = "`restyle %a, style=\"dense\"` makes a dense array of it";

/// The advice for an operand that does not broadcast with the dims of the earlier operands: its shapes that
/// do.
pub(super) fn shapes_that_broadcast(so_far: &[Dim], arg: &Type) -> String {
    let dims = arg.dims();
    let with = |instead: &dyn Fn(Dim) -> Dim| {
        let fitting = |(i, &dim): (usize, &Dim)| {
            let beside = (so_far.len() + i).checked_sub(dims.len()).map(|axis| so_far[axis]);
            beside.filter(|beside| beside.broadcast(dim).is_none()).map_or(dim, instead)
        };
        Type::array(arg.dtype(), dims.iter().enumerate().map(fitting).collect::<Vec<_>>())
    };
    let (equal, ones) = (with(&|beside| beside), with(&|_| Dim::Const(1)));
    let mut advice = format!(
        "dims must be equal, or one of them 1, aligned at the last axis: instead of {arg}, {equal} or {ones} does"
    );
    let leading = so_far.len() - dims.len().min(so_far.len());
    let is_leading = leading > 0 && broadcast_dims(&so_far[..dims.len()], dims).is_ok();
    if is_leading {
        let mut dims = dims.to_vec();
        dims.resize(so_far.len(), Dim::Const(1));
        let axes: Vec<String> = (so_far.len() - leading..so_far.len()).map(|axis| axis.to_string()).collect();
        let expanded = Type::array(arg.dtype(), dims);
        advice.push_str(&format!("; `expand_dims %a, axes=[{}]` makes {expanded} of it", axes.join(", ")));
    }
    advice
}
