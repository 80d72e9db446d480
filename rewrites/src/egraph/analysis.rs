//! What is known of each class: type, constant and facts; and what must not become equal.

use super::node::{Const, Head, Node};
use crate::facts::Facts;
use crate::rule::Liberties;
use egg::{Analysis, DidMerge, EGraph, Id};
use rewright_ir::builder::infer_types;
use rewright_ir::{Attrs, DType, Name, Op, Scalar, Type, eval_scalar};
use smallvec::SmallVec;

/// An e-graph of pure instructions.
pub(crate) type Graph = EGraph<Node, Knowledge>;

/// The reason that proofs give for a constant that was computed.
pub(crate) const FOLD: &str = "fold";
/// The reason that proofs give for operands that were exchanged.
pub(crate) const COMMUTE: &str = "commute";

/// What is known of a class.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    /// The type; attributes have none.
    pub ty: Option<Type>,
    /// The constant that it is.
    pub constant: Option<Scalar>,
    /// What is certain of its elements.
    pub facts: Facts,
}

impl Known {
    pub fn value(ty: Type, facts: Facts) -> Self {
        Known { ty: Some(ty), constant: None, facts }
    }
    fn attribute() -> Self {
        Known { ty: None, constant: None, facts: Facts::empty() }
    }
    fn constant(scalar: Scalar) -> Self {
        Known { ty: Some(Type::scalar(scalar.dtype())), constant: Some(scalar), facts: Facts::of_scalar(scalar) }
    }
}

/// Two things that became equal and can't be.
#[derive(Clone, Debug)]
pub(crate) struct Clash {
    /// Both as text.
    pub texts: (String, String),
    /// Both, if they are constants and not types.
    pub constants: Option<(Scalar, Scalar)>,
    /// The rule that was being applied; none where it showed later.
    pub rule: Option<Name>,
}

/// Computes what is known of classes.
#[derive(Debug, Default)]
pub(crate) struct Knowledge {
    /// What is known of leaves, by number.
    pub leaves: Vec<Known>,
    /// The rule that is being applied.
    pub rule: Option<Name>,
    /// What rules may change.
    pub granted: Liberties,
    /// The first two things that became equal and can't be.
    pub clash: Option<Clash>,
    /// Classes that are new, became one, or of which more is known; see [`super::near::Near`].
    pub changed: Vec<Id>,
}

impl Analysis<Node> for Knowledge {
    type Data = Known;

    fn make(graph: &mut Graph, node: &Node, _: Id) -> Known {
        match &node.head {
            Head::Leaf(number) => graph.analysis.leaves[*number as usize].clone(),
            Head::Const(Const(scalar)) => Known::constant(*scalar),
            Head::Attr(_) => Known::attribute(),
            Head::Op(op) => computed(graph, *op, node, None),
        }
    }

    /// The type is that of the class; constants and facts may be better known by now.
    fn remake(graph: &mut Graph, node: &Node, id: Id) -> Known {
        match &node.head {
            Head::Op(op) => {
                let ty = graph[id].data.ty.clone();
                computed(graph, *op, node, ty)
            }
            _ => Self::make(graph, node, id),
        }
    }

    /// Both are known of both. Says truly what changed, or rebuilding would never end.
    fn merge(&mut self, a: &mut Known, b: Known) -> DidMerge {
        let before = a.clone();
        if a.ty != b.ty {
            let show = |ty: &Option<Type>| ty.as_ref().map_or("an attribute".to_string(), Type::to_string);
            self.clashes((show(&a.ty), show(&b.ty)), None);
        }
        a.constant = match (a.constant, b.constant) {
            (Some(x), Some(y)) => {
                if self.granted.is_empty() && !same_value(x, y) {
                    self.clashes((x.to_string(), y.to_string()), Some((x, y)));
                }
                Some(Const(x).min(Const(y)).0)
            }
            (x, y) => x.or(y),
        };
        a.facts |= b.facts;
        DidMerge(*a != before, *a != b)
    }

    fn modify(graph: &mut Graph, id: Id) {
        graph.analysis.changed.push(id);
        let Some(scalar) = graph[id].data.constant else { return };
        if graph[id].nodes.iter().any(|n| matches!(n.head, Head::Const(_))) {
            return;
        }
        let from = if graph.are_explanations_enabled() { folded(graph, id).unwrap_or(id) } else { id };
        let to = graph.add_uncanonical(Node::constant(scalar));
        graph.union_trusted(from, to, FOLD);
    }
}

impl Knowledge {
    fn clashes(&mut self, texts: (String, String), constants: Option<(Scalar, Scalar)>) {
        let rule = self.rule;
        self.clash.get_or_insert(Clash { texts, constants, rule });
    }
}

/// True if two constants are the same value, where a NaN is as good as any other.
pub(crate) fn same_value(a: Scalar, b: Scalar) -> bool {
    let is_nan = |s: Scalar| s.to_c128().re.is_nan() || s.to_c128().im.is_nan();
    a == b || a.dtype() == b.dtype() && is_nan(a) && is_nan(b)
}

/// What is known of an op's result.
pub(crate) fn computed(graph: &Graph, op: Op, node: &Node, ty: Option<Type>) -> Known {
    let args: SmallVec<[&Known; 3]> = node.operands().iter().map(|&arg| &graph[arg].data).collect();
    let scalars: SmallVec<[Option<Scalar>; 3]> = args.iter().map(|arg| arg.constant).collect();
    let attrs = || attrs_of(graph, node);
    let ty = ty.or_else(|| {
        let types: SmallVec<[Type; 3]> = args.iter().filter_map(|arg| arg.ty.clone()).collect();
        let (_, results) = infer_types(op, &types, &scalars, attrs(), None).ok()?;
        results.into_iter().next()
    });
    let Some(ty) = ty else { return Known::attribute() };
    let constants: Option<SmallVec<[Scalar; 3]>> = scalars.iter().copied().collect();
    if let Some(constants) = constants.filter(|_| op.is_elementwise() && ty.is_scalar())
        && let Some(scalar) = eval_scalar(op, &constants, &attrs()).ok().and_then(|all| all.first().copied())
        && scalar.dtype() == ty.dtype()
    {
        return Known::constant(scalar);
    }
    let dtypes: SmallVec<[DType; 3]> = args.iter().filter_map(|arg| arg.ty.as_ref().map(Type::dtype)).collect();
    let facts: SmallVec<[Facts; 3]> = args.iter().map(|arg| arg.facts).collect();
    let operands = node.operands();
    let same = operands.iter().all(|&arg| graph.find(arg) == graph.find(operands[0]));
    let facts = Facts::of_op(op, &dtypes, ty.dtype(), &facts, same);
    Known::value(ty, facts)
}

/// The attributes of a node.
pub(crate) fn attrs_of(graph: &Graph, node: &Node) -> Attrs {
    let Some(op) = node.op().filter(|op| !op.0.attrs.is_empty()) else { return Attrs::new() };
    let leaves = &node.children[node.operands().len()..];
    let given = op.0.attrs.iter().zip(leaves).filter_map(|(def, &leaf)| {
        let head = &graph[leaf].nodes.first()?.head;
        if let Head::Attr(Some(leaf)) = head { Some((def.name, leaf.attr().clone())) } else { None }
    });
    given.fold(Attrs::new(), |attrs, (name, attr)| attrs.with(name, attr))
}

/// The node of a class that computes from constants, as the one that proofs are to speak of.
fn folded(graph: &mut Graph, id: Id) -> Option<Id> {
    let of_constants = |node: &&Node| {
        let operands = node.operands();
        !operands.is_empty() && operands.iter().all(|&operand| graph[operand].data.constant.is_some())
    };
    let node = graph[id].nodes.iter().find(of_constants)?.clone();
    Some(on_constants(graph, node))
}

/// A node with the constants themselves in the places of operands that are known to be constants.
pub(crate) fn on_constants(graph: &mut Graph, mut node: Node) -> Id {
    for at in 0..node.operands().len() {
        if let Some(scalar) = graph[node.children[at]].data.constant {
            node.children[at] = graph.add_uncanonical(Node::constant(scalar));
        }
    }
    graph.add_uncanonical(node)
}

/// Adds a node; nodes whose operands may be exchanged are added with both orders where proofs are wanted, and sorted where not.
pub(crate) fn add(graph: &mut Graph, mut node: Node) -> Id {
    let commutes = node.op().is_some_and(|op| op.traits.contains(rewright_ir::op::Traits::COMMUTATIVE));
    if !commutes || node.children.len() != 2 {
        return graph.add_uncanonical(node);
    }
    if !graph.are_explanations_enabled() {
        node.sorts = true;
        return graph.add_uncanonical(node);
    }
    let mut turned = node.clone();
    turned.children.swap(0, 1);
    let id = graph.add_uncanonical(node);
    let other = graph.add_uncanonical(turned);
    graph.union_trusted(id, other, COMMUTE);
    id
}
