//! The nodes of an e-graph of a block.
//!
//! A node is dynamic, so any crate's op can be one. Attributes are leaves among a node's children, one for
//! each attribute of the op's schema, so that patterns bind them like operands. The order of nodes depends
//! on text and bits only, never on the order of interning.

use egg::Id;
use rewright_ir::{Attr, Attrs, Op, Scalar};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The op of a node, or a leaf without children.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Head {
    /// An opaque value, by its number.
    Leaf(u32),
    /// A constant.
    Const(Const),
    /// An attribute's value, or its absence.
    Attr(Option<AttrLeaf>),
    /// An op.
    Op(Op),
}

/// A constant, ordered by dtype and bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Const(pub Scalar);

impl Ord for Const {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0.dtype(), self.0.bits()).cmp(&(other.0.dtype(), other.0.bits()))
    }
}
impl PartialOrd for Const {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// An attribute's value, compared by its text.
#[derive(Clone, Debug)]
pub(crate) struct AttrLeaf(Arc<(String, Attr)>);

impl AttrLeaf {
    pub fn new(attr: Attr) -> Self {
        AttrLeaf(Arc::new((format!("{:?} {attr}", attr.kind()), attr)))
    }
    pub fn attr(&self) -> &Attr {
        &self.0.1
    }
}
impl PartialEq for AttrLeaf {
    fn eq(&self, other: &Self) -> bool {
        self.0.0 == other.0.0
    }
}
impl Eq for AttrLeaf {}
impl Ord for AttrLeaf {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.0.cmp(&other.0.0)
    }
}
impl PartialOrd for AttrLeaf {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Hash for AttrLeaf {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.0.0.hash(h);
    }
}

/// The children of a node: operands, then attributes.
pub(crate) type Children = SmallVec<[Id; 4]>;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ENode {
    pub head: Head,
    /// The two children are kept sorted, so that no rule needs to exchange them.
    pub sorts: bool,
    pub children: Children,
}

impl ENode {
    pub fn leaf(head: Head) -> Self {
        ENode { head, sorts: false, children: Children::new() }
    }
    pub fn constant(scalar: Scalar) -> Self {
        ENode::leaf(Head::Const(Const(scalar)))
    }
    /// The op of a node that has one.
    pub fn op(&self) -> Option<Op> {
        if let Head::Op(op) = self.head { Some(op) } else { None }
    }
    /// True if a pattern with this root may match.
    pub fn is_like(&self, shape: &Shape) -> bool {
        matches!((&self.head, shape), (Head::Op(op), Shape::Op(wanted, count)) if op == wanted && self.children.len() == *count)
    }
    /// The operands.
    pub fn operands(&self) -> &[Id] {
        let attrs = self.op().map_or(0, |op| op.0.attrs.len());
        &self.children[..self.children.len().saturating_sub(attrs)]
    }
}

/// The common form of nodes that a pattern may match.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    Leaf,
    Const,
    Attr,
    Op(Op, usize),
}

impl egg::Language for ENode {
    type Discriminant = Shape;

    fn discriminant(&self) -> Shape {
        match self.head {
            Head::Leaf(_) => Shape::Leaf,
            Head::Const(_) => Shape::Const,
            Head::Attr(_) => Shape::Attr,
            Head::Op(op) => Shape::Op(op, self.children.len()),
        }
    }
    fn matches(&self, other: &Self) -> bool {
        self.head == other.head && self.children.len() == other.children.len()
    }
    fn children(&self) -> &[Id] {
        &self.children
    }
    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.children
    }
    /// The e-graph calls this to make a node canonical: sorting here keeps children sorted when classes are
    /// merged.
    fn update_children<F: FnMut(Id) -> Id>(&mut self, mut f: F) {
        for child in &mut self.children {
            *child = f(*child);
        }
        if self.sorts && self.children[0] > self.children[1] {
            self.children.swap(0, 1);
        }
    }
}

/// Attributes as leaves, in the order of the schema.
pub(crate) fn attr_heads(op: Op, attrs: &Attrs) -> impl Iterator<Item = Head> + '_ {
    let leaf = |def: &rewright_ir::AttrDef| Head::Attr(attrs.get(def.name).cloned().map(AttrLeaf::new));
    op.0.attrs.iter().map(leaf)
}
