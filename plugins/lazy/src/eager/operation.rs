//! Eager operations: an op and its attributes.

use super::axes::Axes;
use rewright::{Attr, Attrs, DType, Op};

/// An op and its attributes. Common attributes are plain fields, so most calls allocate no attribute
/// list.
pub struct Operation<'a> {
    pub op: Op,
    pub kind: Kind<'a>,
}

/// The attributes of an operation.
pub enum Kind<'a> {
    /// Any attributes.
    Given(&'a Attrs),
    /// `to` of a `cast`.
    Cast(DType),
    /// `axes` and `keepdims` of a reduction.
    Reduction(&'a Axes),
    /// `axes` and `keepdims` of a mean, and the dtype at which it is computed: a sum, divided by the
    /// number of its terms.
    Mean(&'a Axes, DType),
    /// Contracted axes of a product of two arrays, and the number of leading batch axes of both.
    Product { contract: [usize; 2], batch: usize },
}

impl Operation<'_> {
    /// The attributes of the op.
    pub fn attrs(&self) -> Attrs {
        match &self.kind {
            Kind::Given(attrs) => (*attrs).clone(),
            Kind::Cast(to) => Attrs::new().with("to", Attr::DType(*to)),
            Kind::Reduction(axes) | Kind::Mean(axes, _) => {
                let along = |list: &[i64]| Attrs::new().with("axes", Attr::Ints(list.into()));
                let attrs = axes.list.as_deref().map_or(Attrs::new(), along);
                if axes.keep { attrs.with("keepdims", Attr::Bool(true)) } else { attrs }
            }
            Kind::Product { contract, batch } => {
                let side: Vec<i64> = (0..*batch as i64).collect();
                let names = [("lhs_contract", "lhs_batch"), ("rhs_contract", "rhs_batch")];
                names.iter().zip(contract).fold(Attrs::new(), |attrs, ((contracted, batch), &axis)| {
                    let one = Attr::Ints([axis as i64][..].into());
                    attrs.with(*contracted, one).with(*batch, Attr::Ints(side[..].into()))
                })
            }
        }
    }

    /// True if the kernel computes the elements of constructors inline. A reduction over several
    /// innermost axes reads a table instead: kernels collapse these axes, but an inline element needs the
    /// index of each.
    pub fn computes(&self, shape: &[u64]) -> bool {
        match &self.kind {
            _ if self.op.is_elementwise() => true,
            Kind::Reduction(axes) | Kind::Mean(axes, _) => {
                let row = (0..shape.len()).rev().take_while(|&axis| axes.contains(axis, shape.len()));
                row.filter(|&axis| shape[axis] != 1).count() < 2
            }
            _ => false,
        }
    }
}
