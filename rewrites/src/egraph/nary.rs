//! Normal forms of sums and products of many terms.
//!
//! Rules for associativity and commutativity make an e-graph grow exponentially, so there are none. Instead,
//! a tree of sums, differences and products with constants is read as a linear combination. Its terms are
//! sorted, like terms are combined, and the sum is written again. Products of many factors are treated
//! likewise, with powers by repeated squaring. Two sums of the same terms get the same form. A factor that
//! several terms share is also factored out; repeated, this is Horner's scheme.
//!
//! For integers, which wrap, all this is exact. For floats it takes the liberties [`FLOATS`].

use super::analysis::Graph;
use super::computes::Computes;
use super::distances::ClassDistances;
use super::node::{Children, Const, ENode};
use super::template::{Template, Typed, class};
use crate::cost::elements;
use crate::rule::Liberties;
use crate::rule::template::{TemplateBuilder, constant};
use egg::Id;
use rewright_ir::{Attrs, DType, Dim, Op, Scalar, Type, eval_scalar, registry};
use smallvec::{SmallVec, smallvec};

/// The liberties that the forms of floats take.
pub(crate) const FLOATS: Liberties =
    Liberties::REASSOCIATE.union(Liberties::NO_NAN).union(Liberties::NO_INF).union(Liberties::NO_SIGNED_ZEROS);

/// The most terms of a sum or product, and its greatest depth.
const MOST: usize = 16;
/// The most classes that are visited for one sum or product; shared parts count as often as they occur.
const VISITS: usize = 64;

/// The reasons that proofs give.
pub(crate) const REASONS: [&str; 3] = ["sum-of-terms", "product-of-factors", "common-factor"];

/// A normal form; its name is the reason that proofs give.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NormalForm {
    /// Classes with their coefficients, in order, and a constant.
    Sum(Vec<(Id, Const)>, Const),
    /// Classes with their exponents, in order, and a constant.
    Product(Vec<(Id, u32)>, Const),
    /// The factor, the remaining factors of the terms that share it, and the other terms.
    Factored(Id, Vec<(Vec<(Id, u32)>, Const)>, Vec<(Id, Const)>, Const),
}

impl NormalForm {
    /// The number of the proof's reason in [`REASONS`].
    pub fn reason(&self) -> usize {
        match self {
            NormalForm::Sum(..) => 0,
            NormalForm::Product(..) => 1,
            NormalForm::Factored(..) => 2,
        }
    }
}

/// A form of a class, and the term that it was read from.
#[derive(Clone, Debug)]
pub(crate) struct FoundForm {
    pub class: Id,
    pub form: NormalForm,
    tree: Tree,
}

/// The part of a term that was read.
#[derive(Clone, Debug)]
enum Tree {
    Class(Id),
    Constant(Const),
    Op(ENode, Vec<Tree>),
}

impl Tree {
    /// The term in the graph, in the form that proofs name.
    pub fn add(&self, graph: &mut Graph) -> Id {
        match self {
            Tree::Class(id) => *id,
            Tree::Constant(Const(scalar)) => graph.add_uncanonical(ENode::constant(*scalar)),
            Tree::Op(node, operands) => {
                let mut children: Children = operands.iter().map(|t| t.add(graph)).collect();
                children.extend(node.children[operands.len()..].iter().copied());
                super::analysis::add(graph, ENode { children, ..node.clone() })
            }
        }
    }
}

impl FoundForm {
    /// The term that the form is equal to.
    pub fn from(&self, graph: &mut Graph) -> Id {
        if graph.are_explanations_enabled() { self.tree.add(graph) } else { self.class }
    }
}

/// The ops of sums and products.
#[derive(Clone, Copy)]
pub(crate) struct Ring {
    add: Op,
    sub: Op,
    neg: Op,
    mul: Op,
    /// The conditions under which these ops cast nothing: `add`, `sub`, `neg`, `mul`.
    computes: [Computes; 4],
    granted: Liberties,
}

impl Ring {
    /// The ops, if they are registered.
    pub fn new(granted: Liberties) -> Option<Ring> {
        let op = |name| registry().op(name);
        let [add, sub, neg, mul] = [op("add")?, op("sub")?, op("neg")?, op("mul")?];
        Some(Ring { add, sub, neg, mul, computes: [add, sub, neg, mul].map(Computes::of), granted })
    }

    fn applies(&self, ty: &Type) -> bool {
        let dtype = ty.dtype();
        let certain = !ty.dims().contains(&Dim::Any);
        certain && (dtype.is_int() || dtype.is_float() && self.granted.contains(FLOATS))
    }

    /// The forms of sums and products near a change, and the number of classes visited.
    pub fn search(&self, graph: &Graph, near: &ClassDistances) -> (Vec<FoundForm>, usize) {
        let mut classes: Vec<Id> = Vec::new();
        for op in [self.add, self.sub, self.mul] {
            classes.extend(graph.classes_for_op(&super::node::Shape::Op(op, 2)).into_iter().flatten());
        }
        classes.sort_unstable();
        classes.dedup();
        let (mut found, mut searched) = (Vec::new(), 0);
        for id in classes.into_iter().filter(|&id| near.is_above(id)) {
            searched += 1;
            if graph[id].data.ty.as_ref().is_some_and(|ty| self.applies(ty)) && graph[id].data.constant.is_none() {
                self.forms(graph, id, &mut found);
            }
        }
        (found, searched)
    }

    fn forms(&self, graph: &Graph, id: Id, found: &mut Vec<FoundForm>) {
        let Some(dtype) = graph[id].data.ty.as_ref().map(Type::dtype) else { return };
        for node in graph[id].nodes.iter().filter(|n| self.is_ring(graph, n)) {
            let op = node.op();
            let mut reader = RingReader { ring: *self, graph, path: vec![id], visits: 0 };
            if op == Some(self.mul) {
                let mut product = Product { factors: Vec::new(), constant: Scalar::one(dtype) };
                let Some(tree) = reader.product(node, &mut product) else { continue };
                product.factors.sort_by_key(|&(f, _)| order(graph, f));
                found.push(FoundForm {
                    class: id,
                    form: NormalForm::Product(product.factors, Const(product.constant)),
                    tree,
                });
            } else {
                let mut sum = Sum { terms: Vec::new(), constant: Scalar::zero(dtype) };
                let Some(tree) = reader.sum(node, Scalar::one(dtype), &mut sum) else { continue };
                let is_zero = |s: Scalar| s.to_c128() == Scalar::zero(DType::C128).to_c128();
                sum.terms.retain(|&(_, factor)| !is_zero(factor));
                sum.terms.sort_by_key(|&(t, _)| order(graph, t));
                let terms: Vec<(Id, Const)> = sum.terms.iter().map(|&(t, c)| (t, Const(c))).collect();
                self.factored(graph, id, &terms, sum.constant, &tree, found);
                found.push(FoundForm { class: id, form: NormalForm::Sum(terms, Const(sum.constant)), tree });
            }
        }
    }

    /// True for a sum, a difference or a product that casts nothing.
    fn is_ring(&self, graph: &Graph, node: &ENode) -> bool {
        let at =
            node.op().and_then(|op| [self.add, self.sub, self.neg, self.mul].iter().position(|known| *known == op));
        at.is_some_and(|at| self.computes[at].casts_nothing(graph, &node.children))
    }

    /// The forms with one shared factor factored out.
    fn factored(
        &self,
        graph: &Graph,
        class: Id,
        terms: &[(Id, Const)],
        rest: Scalar,
        tree: &Tree,
        found: &mut Vec<FoundForm>,
    ) {
        if terms.len() < 2 {
            return;
        }
        let products: Vec<Product> = terms.iter().map(|&(t, c)| self.factors(graph, t, c.0)).collect();
        let mut factors: Vec<Id> = products.iter().flat_map(|p| p.factors.iter().map(|f| f.0)).collect();
        factors.sort_unstable();
        factors.dedup();
        for factor in factors {
            let has = |p: &Product| p.factors.iter().any(|f| f.0 == factor);
            if products.iter().filter(|p| has(p)).count() < 2 {
                continue;
            }
            let left = products.iter().filter(|p| has(p)).map(|p| {
                let less = |&(f, n): &(Id, u32)| (f, if f == factor { n - 1 } else { n });
                (p.factors.iter().map(less).filter(|f| f.1 > 0).collect::<Vec<_>>(), Const(p.constant))
            });
            let others = terms.iter().zip(&products).filter(|(_, p)| !has(p)).map(|(t, _)| *t);
            let form = NormalForm::Factored(factor, left.collect(), others.collect(), Const(rest));
            found.push(FoundForm { class, form, tree: tree.clone() });
        }
    }

    /// The factors of a term.
    fn factors(&self, graph: &Graph, term: Id, constant: Scalar) -> Product {
        let whole = Product { factors: vec![(term, 1)], constant };
        let product = |n: &&ENode| n.op() == Some(self.mul) && self.is_ring(graph, n);
        let Some(node) = graph[term].nodes.iter().find(product) else { return whole };
        let mut found = Product { factors: Vec::new(), constant };
        let mut reader = RingReader { ring: *self, graph, path: vec![term], visits: 0 };
        if reader.product(node, &mut found).is_none() {
            return whole;
        }
        found.factors.sort_by_key(|&(f, _)| order(graph, f));
        found
    }

    /// Plans the ops of a form, if they give the class's type.
    pub fn plan(&self, graph: &Graph, found: &FoundForm) -> Option<Template> {
        let want = graph[found.class].data.ty.clone()?;
        let mut writer = Writer { ring: *self, graph, ops: TemplateBuilder::default() };
        let written = match &found.form {
            NormalForm::Sum(terms, constant) => {
                let terms: Option<Vec<(Typed, Scalar)>> =
                    terms.iter().map(|&(t, c)| Some((class(graph, t)?, c.0))).collect();
                writer.sum(terms?, constant.0)?
            }
            NormalForm::Product(factors, constant) => writer.product(factors, constant.0)?,
            NormalForm::Factored(factor, left, others, rest) => {
                let products: Option<Vec<(Typed, Scalar)>> = left.iter().map(|(f, c)| writer.term(f, c.0)).collect();
                let inner = writer.sum(products?, Scalar::zero(want.dtype()))?;
                let product = writer.call(self.mul, inner, class(graph, *factor)?)?;
                let others: Option<Vec<(Typed, Scalar)>> =
                    others.iter().map(|&(t, c)| Some((class(graph, t)?, c.0))).collect();
                let all = std::iter::once((product, Scalar::one(want.dtype()))).chain(others?).collect();
                writer.sum(all, rest.0)?
            }
        };
        let (part, (ty, constant)) = written;
        let root = match constant {
            Some(scalar) => writer.ops.filled(scalar, &want)?,
            None => (ty == want).then_some(part)?,
        };
        Some(writer.ops.finish(smallvec![root]))
    }
}

/// The order of terms: those with fewer elements come first, so that small terms are combined before they
/// are broadcast.
fn order(graph: &Graph, id: Id) -> (u64, Id) {
    (graph[id].data.ty.as_ref().map_or(0, elements), id)
}

struct Sum {
    terms: Vec<(Id, Scalar)>,
    constant: Scalar,
}

struct Product {
    factors: Vec<(Id, u32)>,
    constant: Scalar,
}

/// Reads sums and products.
struct RingReader<'a> {
    ring: Ring,
    graph: &'a Graph,
    /// The classes that are being read: a class may contain itself.
    path: Vec<Id>,
    visits: usize,
}

fn compute(op: Op, args: &[Scalar]) -> Option<Scalar> {
    eval_scalar(op, args, &Attrs::new()).ok()?.first().copied()
}

impl RingReader<'_> {
    /// Adds a node's terms, each times a factor, to a sum.
    fn sum(&mut self, node: &ENode, factor: Scalar, sum: &mut Sum) -> Option<Tree> {
        let (ring, op, operands) = (self.ring, node.op()?, node.operands());
        let minus = || compute(ring.neg, &[factor]);
        let mut trees = Vec::new();
        if op == ring.mul {
            let constant = |id: Id| self.graph[id].data.constant;
            let (term, by) = match [constant(operands[0]), constant(operands[1])] {
                [Some(c), _] => (1, c),
                [_, Some(c)] => (0, c),
                _ => return None,
            };
            let factor = compute(ring.mul, &[factor, by])?;
            let inner = self.term(operands[term], factor, sum)?;
            if self.explains() {
                let other = Tree::Constant(Const(by));
                trees = if term == 0 { vec![inner, other] } else { vec![other, inner] };
            }
        } else {
            let signs: SmallVec<[Scalar; 2]> = match op {
                _ if op == ring.add => smallvec![factor, factor],
                _ if op == ring.sub => smallvec![factor, minus()?],
                _ => smallvec![minus()?],
            };
            for (&operand, sign) in operands.iter().zip(signs) {
                let tree = self.term(operand, sign, sum)?;
                if self.explains() {
                    trees.push(tree);
                }
            }
        }
        self.tree(node, trees)
    }

    /// Terms are needed for proofs only.
    fn explains(&self) -> bool {
        self.graph.are_explanations_enabled()
    }

    /// The term of a node that was read; its class if no proof is recorded.
    fn tree(&self, node: &ENode, operands: Vec<Tree>) -> Option<Tree> {
        if self.explains() {
            Some(Tree::Op(node.clone(), operands))
        } else {
            self.path.last().copied().map(Tree::Class)
        }
    }

    fn term(&mut self, id: Id, factor: Scalar, sum: &mut Sum) -> Option<Tree> {
        let (graph, ring) = (self.graph, self.ring);
        let id = graph.find(id);
        if let Some(scalar) = graph[id].data.constant {
            let more = compute(ring.mul, &[factor, scalar])?;
            sum.constant = compute(ring.add, &[sum.constant, more])?;
            return Some(Tree::Constant(Const(scalar)));
        }
        let scaled = |n: &ENode| n.operands().iter().any(|&c| graph[c].data.constant.is_some());
        let inner = |n: &ENode| ring.is_ring(graph, n) && (n.op() != Some(ring.mul) || scaled(n));
        if let Some(tree) = self.inside(id, inner, |reader, node| reader.sum(node, factor, sum)) {
            return tree;
        }
        match sum.terms.iter_mut().find(|t| t.0 == id) {
            Some(term) => term.1 = compute(ring.add, &[term.1, factor])?,
            None => sum.terms.push((id, factor)),
        }
        (sum.terms.len() <= MOST).then_some(Tree::Class(id))
    }

    /// Reads a node of a class for which `inner` holds, if there is one within the limits; otherwise the
    /// class itself is a term.
    fn inside(
        &mut self,
        id: Id,
        inner: impl Fn(&ENode) -> bool,
        read: impl FnOnce(&mut Self, &ENode) -> Option<Tree>,
    ) -> Option<Option<Tree>> {
        self.visits += 1;
        let may = self.path.len() < MOST && self.visits < VISITS && !self.path.contains(&id);
        let node = if may { self.graph[id].nodes.iter().find(|n| inner(n))? } else { return None };
        self.path.push(id);
        let tree = read(self, node);
        self.path.pop();
        Some(tree)
    }

    /// Adds a node's factors to a product.
    fn product(&mut self, node: &ENode, product: &mut Product) -> Option<Tree> {
        let mut trees = Vec::new();
        for &operand in node.operands() {
            let tree = self.factor(operand, product)?;
            if self.explains() {
                trees.push(tree);
            }
        }
        self.tree(node, trees)
    }

    fn factor(&mut self, id: Id, product: &mut Product) -> Option<Tree> {
        let (graph, ring) = (self.graph, self.ring);
        let id = graph.find(id);
        if let Some(scalar) = graph[id].data.constant {
            product.constant = compute(ring.mul, &[product.constant, scalar])?;
            return Some(Tree::Constant(Const(scalar)));
        }
        let inner = |n: &ENode| n.op() == Some(ring.mul) && ring.is_ring(graph, n);
        if let Some(tree) = self.inside(id, inner, |reader, node| reader.product(node, product)) {
            return tree;
        }
        match product.factors.iter_mut().find(|f| f.0 == id) {
            Some(factor) => factor.1 += 1,
            None => product.factors.push((id, 1)),
        }
        (product.factors.len() <= MOST).then_some(Tree::Class(id))
    }
}

/// Writes sums and products.
struct Writer<'a> {
    ring: Ring,
    graph: &'a Graph,
    ops: TemplateBuilder<Id>,
}

impl Writer<'_> {
    fn call(&mut self, op: Op, a: Typed, b: Typed) -> Option<Typed> {
        self.ops.call(op, &[a, b], Attrs::new(), 0)
    }

    /// Writes terms with coefficients and a constant: first the terms that are added, then those that are
    /// subtracted.
    fn sum(&mut self, terms: Vec<(Typed, Scalar)>, rest: Scalar) -> Option<Typed> {
        let (ring, zero) = (self.ring, rest);
        let mut so_far: Option<Typed> = None;
        let (less, more): (Vec<_>, Vec<_>) = terms.into_iter().partition(|(_, factor)| is_negative(*factor));
        for (term, factor) in more {
            let scaled = self.scaled(term, factor)?;
            so_far = Some(match so_far {
                Some(sum) => self.call(ring.add, sum, scaled)?,
                None => scaled,
            });
        }
        let mut rest = Some(rest).filter(|&rest| rest.to_c128() != Scalar::zero(DType::C128).to_c128());
        for (term, factor) in less {
            let scaled = self.scaled(term, compute(ring.neg, &[factor])?)?;
            so_far = Some(match (so_far, rest.take()) {
                (Some(sum), before) => {
                    rest = before;
                    self.call(ring.sub, sum, scaled)?
                }
                (None, Some(rest)) => self.call(ring.sub, constant(rest), scaled)?,
                (None, None) => self.ops.call(ring.neg, &[scaled], Attrs::new(), 0)?,
            });
        }
        match (so_far, rest) {
            (Some(sum), None) => Some(sum),
            (Some(sum), Some(rest)) if is_negative(rest) => {
                let less = compute(ring.neg, &[rest])?;
                self.call(ring.sub, sum, constant(less))
            }
            (Some(sum), Some(rest)) => self.call(ring.add, sum, constant(rest)),
            (None, rest) => Some(constant(rest.unwrap_or(zero))),
        }
    }

    fn scaled(&mut self, term: Typed, factor: Scalar) -> Option<Typed> {
        let is_one = factor == Scalar::one(factor.dtype());
        if is_one { Some(term) } else { self.call(self.ring.mul, term, constant(factor)) }
    }

    /// A product of factors as a term of a sum; without factors it is the constant.
    fn term(&mut self, factors: &[(Id, u32)], by: Scalar) -> Option<(Typed, Scalar)> {
        let one = Scalar::one(by.dtype());
        if factors.is_empty() {
            return Some((constant(by), one));
        }
        Some((self.product(factors, one)?, by))
    }

    fn product(&mut self, factors: &[(Id, u32)], by: Scalar) -> Option<Typed> {
        let mul = self.ring.mul;
        let mut so_far: Option<Typed> = None;
        for &(factor, exponent) in factors {
            let power = self.power(class(self.graph, factor)?, exponent)?;
            so_far = Some(match so_far {
                Some(product) => self.call(mul, product, power)?,
                None => power,
            });
        }
        match so_far {
            Some(product) => self.scaled(product, by),
            None => Some(constant(by)),
        }
    }

    /// A power by repeated squaring.
    fn power(&mut self, base: Typed, exponent: u32) -> Option<Typed> {
        let mul = self.ring.mul;
        let (mut square, mut rest, mut so_far) = (base, exponent, None::<Typed>);
        loop {
            if rest & 1 == 1 {
                so_far = Some(match so_far {
                    Some(power) => self.call(mul, power, square.clone())?,
                    None => square.clone(),
                });
            }
            rest >>= 1;
            if rest == 0 {
                return so_far;
            }
            square = self.call(mul, square.clone(), square)?;
        }
    }
}

fn is_negative(scalar: Scalar) -> bool {
    scalar.to_c128().re < 0.0 && !is_its_opposite(scalar)
}

/// The least integer is its own negation.
fn is_its_opposite(scalar: Scalar) -> bool {
    scalar.dtype().is_int() && registry().op("neg").and_then(|neg| compute(neg, &[scalar])) == Some(scalar)
}
