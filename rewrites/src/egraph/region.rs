//! The part of a block that goes into an e-graph: its pure instructions with one result.
//!
//! All other instructions keep their order, and their results are leaves: instructions with effects, with
//! possible errors, or with several results or none; instructions with a body or a callee; and instructions
//! that read or define a value that something stores to or ends.

use super::analysis::{ClassFacts, Graph, Knowledge, add, attrs_of};
use super::node::{Children, ENode, Head, attr_heads};
use crate::cost::{CostCx, cost};
use crate::match_cx::MatchCx;
use crate::rule::Liberties;
use crate::value_facts::ValueFacts;
use egg::{Id, Language};
use rewright_ir::AttrKind;
use rewright_ir::op::{Arity, Eval, Traits};
use rewright_ir::{Attrs, Block, DType, Dim, Function, Inst, Op, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// The number of definitions that are followed to find facts about a leaf.
const FACTS_DEPTH: u8 = 4;

/// Instructions of a block in an e-graph.
pub(crate) struct Region {
    pub graph: Graph,
    /// The instructions in the graph, in order.
    pub insts: Vec<Inst>,
    /// The ids of their results and operands.
    pub ids: FxHashMap<Value, Id>,
    /// The values of the leaves.
    pub leaves: Vec<Value>,
    /// The values that are used outside of the graph, in order.
    pub roots: Vec<Value>,
}

impl Region {
    /// The region of the candidates that can be in a graph.
    pub fn of(cx: &MatchCx<'_>, candidates: &[Inst], granted: Liberties, explains: bool) -> Region {
        let mut region = Region::empty(granted, explains);
        region.add_all(cx, candidates);
        region.find_roots(cx.func());
        region
    }

    /// An empty region.
    pub fn empty(granted: Liberties, explains: bool) -> Region {
        let graph = Graph::new(Knowledge { granted, ..Knowledge::default() });
        let graph = if explains { graph.with_explanations_enabled() } else { graph };
        Region { graph, insts: Vec::new(), ids: FxHashMap::default(), leaves: Vec::new(), roots: Vec::new() }
    }

    /// Adds instructions.
    pub fn add_all(&mut self, cx: &MatchCx<'_>, insts: &[Inst]) {
        insts.iter().for_each(|&inst| self.add(cx, inst));
    }

    /// Adds the function's parameters, which are the first leaves.
    pub fn add_params(&mut self, cx: &MatchCx<'_>) {
        for &param in cx.func().params() {
            self.leaf(cx, param);
        }
    }

    fn add(&mut self, cx: &MatchCx<'_>, inst: Inst) {
        let func = cx.func();
        let data = func.inst(inst);
        let dtypes: SmallVec<[DType; 3]> = data.args.iter().map(|&arg| func.ty(arg).dtype()).collect();
        let ins = computes_at(data.op, &dtypes, &data.attrs);
        let mut children = Children::new();
        for (at, &arg) in data.args.iter().enumerate() {
            let cast = ins.as_ref().zip(func.as_const(arg)).map(|(ins, scalar)| scalar.cast(ins[at]));
            let id = match cast {
                Some(scalar) => self.graph.add_uncanonical(ENode::constant(scalar)),
                None => self.value(cx, arg),
            };
            children.push(id);
        }
        for head in attr_heads(data.op, &data.attrs) {
            let leaf = self.graph.add_uncanonical(ENode::leaf(head));
            children.push(leaf);
        }
        let result = data.results[0];
        let id = add(&mut self.graph, ENode { head: Head::Op(data.op), sorts: false, children });
        if self.graph[id].data.ty.as_ref() == Some(func.ty(result)) {
            self.insts.push(inst);
            self.ids.insert(result, id);
        } else {
            self.leaf(cx, result);
        }
    }

    /// The id of a value; adds a constant or a leaf if it is new.
    pub fn value(&mut self, cx: &MatchCx<'_>, value: Value) -> Id {
        if let Some(&id) = self.ids.get(&value) {
            return id;
        }
        match cx.func().as_const(value) {
            Some(scalar) => {
                let id = self.graph.add_uncanonical(ENode::constant(scalar));
                self.ids.insert(value, id);
                id
            }
            None => self.leaf(cx, value),
        }
    }

    fn leaf(&mut self, cx: &MatchCx<'_>, value: Value) -> Id {
        let facts = ValueFacts::of_value(cx, value, FACTS_DEPTH);
        self.graph.analysis.leaves.push(ClassFacts::value(cx.func().ty(value).clone(), facts));
        let id = self.graph.add_uncanonical(ENode::leaf(Head::Leaf(self.leaves.len() as u32)));
        self.leaves.push(value);
        self.ids.insert(value, id);
        id
    }

    fn find_roots(&mut self, func: &Function) {
        let inside: FxHashSet<Inst> = self.insts.iter().copied().collect();
        let is_root = |value: &Value| func.users(*value).iter().any(|user| !inside.contains(user));
        self.roots = self.insts.iter().map(|&inst| func.inst(inst).results[0]).filter(is_root).collect();
    }

    /// The node of an instruction, with canonical children.
    pub fn node(&self, func: &Function, inst: Inst) -> ENode {
        let id = self.ids[&func.inst(inst).results[0]];
        let mut node = self.graph.nodes()[usize::from(id)].clone();
        node.update_children(|child| self.graph.find(child));
        node
    }

    /// The cost of the instructions that the roots need.
    pub fn cost(&self, func: &Function) -> u64 {
        let inside: FxHashSet<Inst> = self.insts.iter().copied().collect();
        let mut needed: FxHashSet<Inst> = FxHashSet::default();
        let mut total = 0u64;
        let mut work: Vec<Value> = self.roots.clone();
        while let Some(value) = work.pop() {
            let Some(inst) = func.def_inst(value).filter(|inst| inside.contains(inst) && needed.insert(*inst)) else {
                continue;
            };
            let data = func.inst(inst);
            let types: SmallVec<[Type; 3]> = data.args.iter().map(|&arg| func.ty(arg).clone()).collect();
            let one = cost(&CostCx { op: data.op, args: &types, result: func.ty(value), attrs: &data.attrs });
            total = total.saturating_add(one);
            work.extend(data.args.iter().copied());
        }
        total
    }

    /// The attributes of a node.
    pub fn attrs(&self, node: &ENode) -> Attrs {
        attrs_of(&self.graph, node)
    }
}

/// The dtypes that an elementwise op computes at, if it computes at the same ones when its constants are
/// cast to them first.
fn computes_at(op: Op, dtypes: &[DType], attrs: &Attrs) -> Option<SmallVec<[DType; 3]>> {
    let Eval::Elementwise { resolve, .. } = op.eval else { return None };
    let found = resolve(dtypes, attrs).ok()?;
    let again = resolve(&found.ins, attrs).ok()?;
    (again == found).then_some(found.ins)
}

/// The instructions of a block that may go into a graph.
pub(crate) fn candidates(cx: &MatchCx<'_>, block: Block) -> Vec<Inst> {
    cx.func().insts(block).filter(|&inst| is_candidate(cx, inst)).collect()
}

fn is_candidate(cx: &MatchCx<'_>, inst: Inst) -> bool {
    let func = cx.func();
    let data = func.inst(inst);
    let [result] = data.results[..] else { return false };
    let op = data.op;
    let plain = |kind: AttrKind| !matches!(kind, AttrKind::Func | AttrKind::Expr | AttrKind::Array);
    let fixed = matches!(op.arity, Arity::Exactly(_));
    if !op.is_pure() || !fixed || !op.0.attrs.iter().all(|def| plain(def.kind)) || raises(func, inst) {
        return false;
    }
    let free = |value: Value| !cx.is_written(value) && !cx.is_ended(value);
    let constant = |value: Value| func.as_const(value).is_some();
    free(result) && data.args.iter().all(|&arg| constant(arg) || free(arg))
}

/// True if the instruction may raise an error for some operands. `power` of floats does not, nor do extrema
/// of arrays that are not empty.
fn raises(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let never = |&value: &Value| match data.op.name {
        "power" => func.ty(value).dtype().is_float(),
        "min" | "max" => func.ty(value).dims().iter().all(|dim| matches!(dim, Dim::Const(n) if *n > 0)),
        _ => false,
    };
    data.op.traits.contains(Traits::PARTIAL) && !data.args.iter().all(never)
}
