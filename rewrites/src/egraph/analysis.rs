//! E-class analysis: the type, the constant and the facts of each class, and detection of contradictions.

use super::node::{Const, ENode, Head};
use crate::rule::Liberties;
use crate::value_facts::ValueFacts;
use egg::{Analysis, DidMerge, EGraph, Id};
use rewright_ir::builder::infer_types;
use rewright_ir::{Attrs, DType, Name, Op, Scalar, Type, eval_scalar};
use smallvec::SmallVec;

/// An e-graph of pure instructions.
pub(crate) type Graph = EGraph<ENode, Knowledge>;

/// The reason that proofs give for constant folding.
pub(crate) const FOLD: &str = "fold";
/// The reason that proofs give for exchanged operands.
pub(crate) const COMMUTE: &str = "commute";

/// The analysis data of a class.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClassFacts {
    /// The type; none for attributes.
    pub ty: Option<Type>,
    /// The constant value of the class, if it has one.
    pub constant: Option<Scalar>,
    /// Facts about its elements.
    pub facts: ValueFacts,
}

impl ClassFacts {
    pub fn value(ty: Type, facts: ValueFacts) -> Self {
        ClassFacts { ty: Some(ty), constant: None, facts }
    }
    fn attribute() -> Self {
        ClassFacts { ty: None, constant: None, facts: ValueFacts::empty() }
    }
    fn constant(scalar: Scalar) -> Self {
        ClassFacts {
            ty: Some(Type::scalar(scalar.dtype())),
            constant: Some(scalar),
            facts: ValueFacts::of_scalar(scalar),
        }
    }
}

/// A contradiction: two unequal constants or types in one class.
#[derive(Clone, Debug)]
pub(crate) struct Clash {
    /// Both as text.
    pub texts: (String, String),
    /// Both, if they are constants rather than types.
    pub constants: Option<(Scalar, Scalar)>,
    /// The rule that was being applied; none if the contradiction was found later.
    pub rule: Option<Name>,
}

/// The state of the analysis.
#[derive(Debug, Default)]
pub(crate) struct Knowledge {
    /// The analysis data of leaves, by number.
    pub leaves: Vec<ClassFacts>,
    /// The rule that is being applied.
    pub rule: Option<Name>,
    /// The liberties that rules may take.
    pub granted: Liberties,
    /// The first contradiction.
    pub clash: Option<Clash>,
    /// Classes that are new, were merged, or gained facts; see [`super::distances::ClassDistances`].
    pub changed: Vec<Id>,
}

impl Analysis<ENode> for Knowledge {
    type Data = ClassFacts;

    fn make(graph: &mut Graph, node: &ENode, _: Id) -> ClassFacts {
        match &node.head {
            Head::Leaf(number) => graph.analysis.leaves[*number as usize].clone(),
            Head::Const(Const(scalar)) => ClassFacts::constant(*scalar),
            Head::Attr(_) => ClassFacts::attribute(),
            Head::Op(op) => computed(graph, *op, node, None),
        }
    }

    /// The type stays that of the class; the constant and the facts may have improved.
    fn remake(graph: &mut Graph, node: &ENode, id: Id) -> ClassFacts {
        match &node.head {
            Head::Op(op) => {
                let ty = graph[id].data.ty.clone();
                computed(graph, *op, node, ty)
            }
            _ => Self::make(graph, node, id),
        }
    }

    /// Joins the data of both classes. Reports exactly which of them changed, because rebuilding would not
    /// end otherwise.
    fn merge(&mut self, a: &mut ClassFacts, b: ClassFacts) -> DidMerge {
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
        let to = graph.add_uncanonical(ENode::constant(scalar));
        graph.union_trusted(from, to, FOLD);
    }
}

impl Knowledge {
    fn clashes(&mut self, texts: (String, String), constants: Option<(Scalar, Scalar)>) {
        let rule = self.rule;
        self.clash.get_or_insert(Clash { texts, constants, rule });
    }
}

/// True if two constants are the same value; all NaNs count as the same.
pub(crate) fn same_value(a: Scalar, b: Scalar) -> bool {
    let is_nan = |s: Scalar| s.to_c128().re.is_nan() || s.to_c128().im.is_nan();
    a == b || a.dtype() == b.dtype() && is_nan(a) && is_nan(b)
}

/// The analysis data of an op's result.
pub(crate) fn computed(graph: &Graph, op: Op, node: &ENode, ty: Option<Type>) -> ClassFacts {
    let args: SmallVec<[&ClassFacts; 3]> = node.operands().iter().map(|&arg| &graph[arg].data).collect();
    let scalars: SmallVec<[Option<Scalar>; 3]> = args.iter().map(|arg| arg.constant).collect();
    let attrs = || attrs_of(graph, node);
    let ty = ty.or_else(|| {
        let types: SmallVec<[Type; 3]> = args.iter().filter_map(|arg| arg.ty.clone()).collect();
        let (_, results) = infer_types(op, &types, &scalars, attrs(), None).ok()?;
        results.into_iter().next()
    });
    let Some(ty) = ty else { return ClassFacts::attribute() };
    let constants: Option<SmallVec<[Scalar; 3]>> = scalars.iter().copied().collect();
    if let Some(constants) = constants.filter(|_| op.is_elementwise() && ty.is_scalar())
        && let Some(scalar) = eval_scalar(op, &constants, &attrs()).ok().and_then(|all| all.first().copied())
        && scalar.dtype() == ty.dtype()
    {
        return ClassFacts::constant(scalar);
    }
    let dtypes: SmallVec<[DType; 3]> = args.iter().filter_map(|arg| arg.ty.as_ref().map(Type::dtype)).collect();
    let facts: SmallVec<[ValueFacts; 3]> = args.iter().map(|arg| arg.facts).collect();
    let operands = node.operands();
    let same = operands.iter().all(|&arg| graph.find(arg) == graph.find(operands[0]));
    let facts = ValueFacts::of_op(op, &dtypes, ty.dtype(), &facts, same);
    ClassFacts::value(ty, facts)
}

/// The attributes of a node.
pub(crate) fn attrs_of(graph: &Graph, node: &ENode) -> Attrs {
    let Some(op) = node.op().filter(|op| !op.0.attrs.is_empty()) else { return Attrs::new() };
    let leaves = &node.children[node.operands().len()..];
    let given = op.0.attrs.iter().zip(leaves).filter_map(|(def, &leaf)| {
        let head = &graph[leaf].nodes.first()?.head;
        if let Head::Attr(Some(leaf)) = head { Some((def.name, leaf.attr().clone())) } else { None }
    });
    given.fold(Attrs::new(), |attrs, (name, attr)| attrs.with(name, attr))
}

/// The node of a class that computes from constants, in the form that proofs name.
fn folded(graph: &mut Graph, id: Id) -> Option<Id> {
    let of_constants = |node: &&ENode| {
        let operands = node.operands();
        !operands.is_empty() && operands.iter().all(|&operand| graph[operand].data.constant.is_some())
    };
    let node = graph[id].nodes.iter().find(of_constants)?.clone();
    Some(on_constants(graph, node))
}

/// The node with constant operands replaced by constant nodes.
pub(crate) fn on_constants(graph: &mut Graph, mut node: ENode) -> Id {
    for at in 0..node.operands().len() {
        if let Some(scalar) = graph[node.children[at]].data.constant {
            node.children[at] = graph.add_uncanonical(ENode::constant(scalar));
        }
    }
    graph.add_uncanonical(node)
}

/// Adds a node. A node of a commutative op is added in both orders if proofs are recorded, and with sorted
/// operands otherwise.
pub(crate) fn add(graph: &mut Graph, mut node: ENode) -> Id {
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
