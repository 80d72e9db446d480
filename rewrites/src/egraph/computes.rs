//! Decides where elementwise ops compute at the dtypes of their operands, without casts.

use super::analysis::{Graph, attrs_of};
use super::node::{ENode, Head};
use egg::Id;
use rewright_ir::op::{Arity, Eval};
use rewright_ir::{Attrs, DType, Op, Type};
use smallvec::SmallVec;

/// The dtypes at which an elementwise op casts nothing. For operands of one dtype, the common case, a table
/// answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Computes {
    op: Op,
    /// The set of dtypes that all operands may have; empty if attributes matter.
    alike: u16,
}

impl Computes {
    pub fn of(op: Op) -> Computes {
        let mut alike = 0;
        if let (Eval::Elementwise { resolve, .. }, Arity::Exactly(count)) = (op.eval, op.arity)
            && op.0.attrs.is_empty()
        {
            for dtype in DType::ALL {
                let dtypes: SmallVec<[DType; 3]> = SmallVec::from_elem(dtype, count);
                if resolve(&dtypes, &Attrs::new()).is_ok_and(|found| found.ins == dtypes) {
                    alike |= 1 << dtype as u16;
                }
            }
        }
        Computes { op, alike }
    }

    /// True if the op casts none of its operands. Children are operands, then attributes.
    pub fn casts_nothing(&self, graph: &Graph, children: &[Id]) -> bool {
        let dtype = |&id: &Id| graph[id].data.ty.as_ref().map(Type::dtype);
        let count = children.len().saturating_sub(self.op.0.attrs.len());
        let mut operands = children[..count].iter().map(dtype);
        if let Some(Some(first)) = operands.next()
            && self.alike & 1 << first as u16 != 0
            && operands.all(|other| other == Some(first))
        {
            return true;
        }
        let Eval::Elementwise { resolve, .. } = self.op.eval else { return true };
        let dtypes: Option<SmallVec<[DType; 3]>> = children[..count].iter().map(dtype).collect();
        let node = ENode { head: Head::Op(self.op), sorts: false, children: children.into() };
        dtypes.is_some_and(|d| resolve(&d, &attrs_of(graph, &node)).is_ok_and(|found| found.ins[..] == d[..]))
    }
}
