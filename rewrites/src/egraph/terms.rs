//! Hash-consed terms with types and facts: the objects of proofs.

use super::analysis::ClassFacts;
use super::node::{AttrLeaf, Const, Head};
use crate::value_facts::ValueFacts;
use rewright_ir::builder::infer_types;
use rewright_ir::{Attrs, DType, Op, Scalar, Type};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The number of a term; a term has a greater number than its parts.
pub(crate) type TermId = usize;

/// Terms and their text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TermTable {
    terms: Vec<(Head, Vec<TermId>)>,
    known: FxHashMap<(Head, Vec<TermId>), TermId>,
    /// Terms that have a name in the program.
    names: FxHashMap<TermId, String>,
    /// The text of each leaf, and its analysis data.
    leaves: Vec<(String, ClassFacts)>,
}

/// The type and the facts of each term, from the first on.
pub(crate) type Knowns = Vec<Option<(Type, ValueFacts)>>;

/// The depth to which parts of terms are printed.
const DEPTH: usize = 3;

impl TermTable {
    /// Adds a leaf with its text and its analysis data.
    pub fn leaf(&mut self, text: String, known: ClassFacts) {
        self.leaves.push((text, known));
    }

    /// The number of leaves.
    pub fn leaves(&self) -> usize {
        self.leaves.len()
    }

    /// The term of a head and its children: operands, then attributes.
    pub fn term(&mut self, head: Head, children: Vec<TermId>) -> TermId {
        let key = (head, children);
        if let Some(&term) = self.known.get(&key) {
            return term;
        }
        self.terms.push(key.clone());
        self.known.insert(key, self.terms.len() - 1);
        self.terms.len() - 1
    }

    /// A constant.
    pub fn constant(&mut self, scalar: Scalar) -> TermId {
        self.term(Head::Const(Const(scalar)), Vec::new())
    }

    /// Names a term after a value of the program. The first name stays.
    pub fn name(&mut self, term: TermId, name: String) {
        self.names.entry(term).or_insert(name);
    }

    /// The number of terms.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// The head of a term.
    pub fn head(&self, term: TermId) -> &Head {
        &self.terms[term].0
    }

    /// The operands and attributes of a term.
    pub fn children(&self, term: TermId) -> &[TermId] {
        &self.terms[term].1
    }

    /// The op of a term, its operands and its attributes.
    pub fn op(&self, term: TermId) -> Option<(Op, &[TermId], &[TermId])> {
        let Head::Op(op) = self.head(term) else { return None };
        let children = self.children(term);
        let (operands, attrs) = children.split_at(children.len().checked_sub(op.0.attrs.len())?);
        Some((*op, operands, attrs))
    }

    /// The constant, if the term is one.
    pub fn as_const(&self, term: TermId) -> Option<Scalar> {
        if let Head::Const(Const(scalar)) = self.head(term) { Some(*scalar) } else { None }
    }

    /// The attribute, if the term is one.
    pub fn attr(&self, term: TermId) -> Option<&AttrLeaf> {
        if let Head::Attr(leaf) = self.head(term) { leaf.as_ref() } else { None }
    }

    /// The attributes of a term.
    pub fn attrs(&self, term: TermId) -> Attrs {
        let Some((op, _, attrs)) = self.op(term) else { return Attrs::new() };
        let given = op.0.attrs.iter().zip(attrs).filter_map(|(def, &leaf)| Some((def.name, self.attr(leaf)?)));
        given.fold(Attrs::new(), |attrs, (name, leaf)| attrs.with(name, leaf.attr().clone()))
    }

    /// The depth of nested ops.
    pub fn depth(&self, term: TermId) -> usize {
        let mut depths: Vec<usize> = Vec::with_capacity(term + 1);
        for part in 0..=term {
            let inner = self.children(part).iter().map(|&child| depths[child]).max();
            depths.push(inner.map_or(0, |depth| depth + 1));
        }
        depths[term]
    }

    /// The type and the facts of a term, derived from its parts alone. `memo` holds the results for each
    /// term from the first on.
    pub fn known(&self, term: TermId, memo: &mut Knowns) -> Option<(Type, ValueFacts)> {
        for next in memo.len()..=term {
            let found = self.computed(next, memo);
            memo.push(found);
        }
        memo[term].clone()
    }

    fn computed(&self, term: TermId, memo: &Knowns) -> Option<(Type, ValueFacts)> {
        match self.head(term) {
            Head::Leaf(number) => {
                let known = &self.leaves.get(*number as usize)?.1;
                Some((known.ty.clone()?, known.facts))
            }
            Head::Const(Const(scalar)) => Some((Type::scalar(scalar.dtype()), ValueFacts::of_scalar(*scalar))),
            Head::Attr(_) => None,
            Head::Op(_) => {
                let (op, operands, _) = self.op(term)?;
                let mut types: SmallVec<[Type; 3]> = SmallVec::new();
                let mut facts: SmallVec<[ValueFacts; 3]> = SmallVec::new();
                for &operand in operands {
                    let (ty, certain) = memo.get(operand)?.as_ref()?;
                    types.push(ty.clone());
                    facts.push(*certain);
                }
                let scalars: SmallVec<[Option<Scalar>; 3]> = operands.iter().map(|&t| self.as_const(t)).collect();
                let (_, results) = infer_types(op, &types, &scalars, self.attrs(term), None).ok()?;
                let ty = results.into_iter().next()?;
                let dtypes: SmallVec<[DType; 3]> = types.iter().map(Type::dtype).collect();
                let same = operands.iter().all(|&operand| operand == operands[0]);
                let certain = ValueFacts::of_op(op, &dtypes, ty.dtype(), &facts, same);
                Some((ty, certain))
            }
        }
    }

    /// A term as text, with named parts by their names.
    pub fn text(&self, term: TermId) -> String {
        self.text_at(term, 0)
    }

    fn text_at(&self, term: TermId, depth: usize) -> String {
        if let Some(name) = self.names.get(&term).filter(|_| depth > 0) {
            return name.clone();
        }
        match self.head(term) {
            Head::Leaf(number) => self.leaves.get(*number as usize).map(|l| l.0.clone()).unwrap_or_default(),
            Head::Const(Const(scalar)) => scalar.to_string(),
            Head::Attr(leaf) => leaf.as_ref().map_or(String::new(), |leaf| leaf.attr().to_string()),
            Head::Op(_) if depth > DEPTH => "...".to_string(),
            Head::Op(op) => {
                let children = self.children(term);
                let count = children.len() - op.0.attrs.len();
                let args = children[..count].iter().map(|&child| self.text_at(child, depth + 1));
                let given = op.0.attrs.iter().zip(&children[count..]).filter_map(|(def, &child)| {
                    let value = self.text_at(child, depth + 1);
                    (!value.is_empty()).then(|| format!("{}={value}", def.name))
                });
                let all: Vec<String> = args.chain(given).collect();
                let whole = format!("{op} {}", all.join(", "));
                if depth > 0 { format!("({whole})") } else { whole }
            }
        }
    }
}
