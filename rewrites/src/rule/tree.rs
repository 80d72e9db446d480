//! Compiles all rules of a pipeline to one decision tree.
//!
//! Each pattern is a sequence of tests in a fixed order: first ops, from the root outwards, then constants,
//! equal operands, attributes, constancy and dtypes. Sequences with a common prefix share its tests, and
//! the ops at one slot are one table lookup. So an instruction is scanned once for all rules, and an
//! instruction at which no pattern starts costs one lookup. A pattern with commutative ops is expanded to
//! one variant for each operand order. (Gräf, "Left-to-right tree pattern matching", RTA 1991, with tables
//! for ops, and with backtracking where patterns overlap.)

use super::apply::{self, RuleMatch};
use super::search;
use super::{AttrTerm, DTypes, Node, NodeId, Number, OpTerm, Rule};
use crate::match_cx::MatchCx;
use crate::op_set::OpSet;
use rewright_ir::op::Eval;
use rewright_ir::{Attr, Attrs, DType, Function, Inst, Name, Op, Value, ValueDef};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A slot in the matched term: an operand of the op at another slot.
type Slot = usize;

/// The most variants of a pattern with commutative ops.
const MAX_VARIANTS: usize = 64;

/// A test of the op at a slot, or of a value.
#[derive(Clone, Debug, PartialEq)]
enum Test {
    Literal(Slot, Number),
    Constant(Slot),
    Varies(Slot),
    DTypes(Slot, DTypes),
    Same(Slot, Slot),
    /// For each attribute of the op: absent, a fixed value, or anything.
    Attrs(Slot, Vec<(Name, Wanted)>),
}

#[derive(Clone, Debug, PartialEq)]
enum Wanted {
    Absent,
    Is(Attr),
    Any,
}

/// The next state by op, number of operands and result.
#[derive(Default)]
struct OpTable {
    /// A filter: most ops have no transition, and skip the table lookup.
    ops: OpSet,
    next: FxHashMap<(usize, usize, usize), usize>,
}

impl OpTable {
    #[inline]
    fn get(&self, op: Op, args: usize, result: usize) -> Option<usize> {
        self.ops.may_contain(op).then(|| self.next.get(&(op.number(), args, result)).copied()).flatten()
    }
    fn get_or_insert(&mut self, op: Op, args: usize, result: usize, new: usize) -> usize {
        self.ops.insert(op);
        *self.next.entry((op.number(), args, result)).or_insert(new)
    }
}

#[derive(Default)]
struct State {
    /// The transitions by the op at a slot.
    ops: Vec<(Slot, OpTable)>,
    /// The tests of the constant at a slot, if there is one.
    constants: Vec<(Slot, Vec<(Test, usize)>)>,
    tests: Vec<(Test, usize)>,
    /// The variants that match in this state.
    accepts: SmallVec<[usize; 1]>,
}

/// A pattern with the operands of commutative ops in one order.
struct Variant {
    rule: usize,
    /// The slot of each op of the pattern.
    ops: Vec<(Slot, NodeId)>,
    /// The slot of each variable's first occurrence.
    vars: Vec<Slot>,
}

/// The bindings of a match.
pub(super) struct Bindings {
    /// The instructions at the roots of the pattern.
    pub roots: SmallVec<[Inst; 2]>,
    /// Each op of the pattern with its instruction.
    pub ops: SmallVec<[(NodeId, Inst); 4]>,
    /// The variables.
    pub vars: SmallVec<[Value; 4]>,
}

/// A decision tree over rules.
pub(crate) struct RuleTree {
    rules: Vec<(usize, &'static Rule)>,
    variants: Vec<Variant>,
    states: Vec<State>,
    /// For each slot the slots of its operands, by number.
    slots: Vec<FxHashMap<usize, Slot>>,
    /// For each slot the slot of the user and the operand number; the root is its own user.
    parents: Vec<(Slot, usize)>,
    /// The rules that are searched one by one, by the number of an op at a root.
    searched: FxHashMap<usize, Vec<usize>>,
}

impl RuleTree {
    /// A tree of rules with their numbers, preferred rules first.
    pub fn new(rules: Vec<(usize, &'static Rule)>) -> Self {
        let each = |(id, rule): (usize, &'static Rule)| {
            // The length of rest variables depends on the instruction: `search` makes the others.
            let known = |one: &&Rule| one.choice.lengths == rule.choice.lengths;
            rule.all().filter(known).map(move |rule| (id, rule))
        };
        let rules = rules.into_iter().flat_map(each).collect();
        let mut tree = RuleTree {
            variants: Vec::new(),
            states: vec![State::default()],
            slots: vec![FxHashMap::default()],
            parents: vec![(0, 0)],
            searched: FxHashMap::default(),
            rules,
        };
        for at in 0..tree.rules.len() {
            let rule = tree.rules[at].1;
            if rule.has_rests() || !rule.also.is_empty() {
                for op in search::roots(rule) {
                    let list = tree.searched.entry(op.number()).or_default();
                    if !list.contains(&at) {
                        list.push(at);
                    }
                }
                continue;
            }
            for term in variants(rule) {
                tree.add(at, rule, &term);
            }
        }
        tree
    }

    fn add(&mut self, at: usize, rule: &Rule, term: &PatternTerm) {
        let mut path = Path { tests: Vec::new(), ops: Vec::new(), vars: vec![None; rule.vars.len()] };
        let mut state = 0;
        let mut level: Vec<(Slot, &PatternTerm)> = vec![(0, term)];
        while !level.is_empty() {
            let mut next = Vec::new();
            for (slot, term) in level {
                self.place(rule, slot, term, &mut path, &mut state, &mut next);
            }
            level = next;
        }
        path.tests.sort_by_key(|test| match test {
            Test::Literal(..) => 0,
            Test::Constant(_) => 1,
            Test::Same(..) => 2,
            Test::Attrs(..) => 3,
            Test::Varies(_) => 4,
            Test::DTypes(..) => 5,
        });
        for test in path.tests {
            state = self.test_edge(state, test);
        }
        self.states[state].accepts.push(self.variants.len());
        // The pattern contains every variable.
        let vars = path.vars.into_iter().map(Option::unwrap_or_default).collect();
        self.variants.push(Variant { rule: at, ops: path.ops, vars });
    }

    fn place<'t>(
        &mut self,
        rule: &Rule,
        slot: Slot,
        term: &'t PatternTerm,
        path: &mut Path,
        state: &mut usize,
        next: &mut Vec<(Slot, &'t PatternTerm)>,
    ) {
        match &rule.nodes[term.node] {
            Node::Literal(literal) => path.tests.push(Test::Literal(slot, *literal)),
            Node::Var(var) => match path.vars[*var] {
                Some(first) => path.tests.push(Test::Same(first, slot)),
                None => {
                    path.vars[*var] = Some(slot);
                    let var = &rule.vars[*var];
                    if var.constant {
                        path.tests.push(Test::Constant(slot));
                    }
                    if var.varies {
                        path.tests.push(Test::Varies(slot));
                    }
                    if var.dtypes != DTypes::ALL {
                        path.tests.push(Test::DTypes(slot, var.dtypes));
                    }
                }
            },
            // The parser replaces computed operands of a pattern by variables, so there are none here.
            Node::Computed(op) | Node::Op(op) => {
                *state = self.op_edge(*state, slot, op);
                path.ops.push((slot, term.node));
                let attrs = wanted(op);
                if !attrs.is_empty() {
                    path.tests.push(Test::Attrs(slot, attrs));
                }
                for (operand, arg) in term.args.iter().enumerate() {
                    let at = self.operand_slot(slot, operand);
                    next.push((at, arg));
                }
            }
        }
    }

    fn operand_slot(&mut self, slot: Slot, operand: usize) -> Slot {
        let new = self.slots.len();
        let at = *self.slots[slot].entry(operand).or_insert(new);
        if at == new {
            self.slots.push(FxHashMap::default());
            self.parents.push((slot, operand));
        }
        at
    }

    fn op_edge(&mut self, state: usize, slot: Slot, term: &OpTerm) -> usize {
        let new = self.states.len();
        let ops = &mut self.states[state].ops;
        let at = ops.iter().position(|(s, _)| *s == slot).unwrap_or_else(|| {
            ops.push((slot, OpTable::default()));
            ops.len() - 1
        });
        // The root stands for the whole instruction, with all its results.
        let result = if slot == 0 { 0 } else { term.result };
        let next = ops[at].1.get_or_insert(term.op, term.args.len(), result, new);
        if next == new {
            self.states.push(State::default());
        }
        next
    }

    fn test_edge(&mut self, state: usize, test: Test) -> usize {
        let new = self.states.len();
        let from = &mut self.states[state];
        let tests = match test {
            Test::Literal(slot, _) | Test::Constant(slot) => {
                let at = from.constants.iter().position(|(s, _)| *s == slot).unwrap_or_else(|| {
                    from.constants.push((slot, Vec::new()));
                    from.constants.len() - 1
                });
                &mut from.constants[at].1
            }
            _ => &mut from.tests,
        };
        if let Some((_, next)) = tests.iter().find(|(known, _)| *known == test) {
            return *next;
        }
        tests.push((test, new));
        self.states.push(State::default());
        new
    }

    /// The first rule that matches at an instruction and may be applied there. Skips the rules for which
    /// `out` is true. `refused` receives the reasons of rules that match but may not be applied.
    pub fn find(
        &self,
        cx: &MatchCx<'_>,
        root: Inst,
        out: impl Fn(usize) -> bool,
        mut refused: impl FnMut(usize, String),
    ) -> Option<(usize, RuleMatch)> {
        let func = cx.func();
        let data = func.inst(root);
        let mut found = self.scan(func, root);
        if let Some(searched) = self.searched.get(&data.op.number()).filter(|_| !self.searched.is_empty()) {
            for &at in searched {
                let matches = search::search(func, self.rules[at].1, root);
                found.extend(matches.into_iter().map(|(rule, bindings)| (at, rule, bindings)));
            }
        }
        // The sort is stable: matches of one rule keep their order.
        found.sort_by_key(|(at, ..)| *at);
        found.into_iter().find_map(|(at, rule, bindings)| {
            let id = self.rules[at].0;
            if out(id) {
                return None;
            }
            let plan = apply::plan(cx, rule, &bindings);
            plan.map_err(|why| why.reason(rule).into_iter().for_each(|why| refused(id, why)))
                .ok()
                .map(|plan| (id, plan))
        })
    }

    /// The rules of the tree that match at an instruction.
    fn scan(&self, func: &Function, root: Inst) -> SmallVec<[(usize, &'static Rule, Bindings); 2]> {
        let data = func.inst(root);
        // Every pattern starts with an op at the root.
        let Some((slot, edges)) = self.states[0].ops.first() else { return SmallVec::new() };
        let Some(next) = edges.get(data.op, data.args.len(), 0) else { return SmallVec::new() };
        let mut walk = TreeWalk { tree: self, func, path: SmallVec::new(), found: SmallVec::new() };
        walk.enter(*slot, root, next);
        let mut found = walk.found;
        found.sort_by_key(|(variant, _)| *variant);
        let rule = |(variant, bindings): (usize, Bindings)| {
            let at = self.variants[variant].rule;
            (at, self.rules[at].1, bindings)
        };
        found.into_iter().map(rule).collect()
    }

    /// True if a rule of the tree has this number.
    pub fn has(&self, id: usize) -> bool {
        self.rules.iter().any(|&(known, _)| known == id)
    }
}

struct Path {
    tests: Vec<Test>,
    ops: Vec<(Slot, NodeId)>,
    vars: Vec<Option<Slot>>,
}

/// One scan of the tree.
struct TreeWalk<'a> {
    tree: &'a RuleTree,
    func: &'a Function,
    /// The slots of the current path, with their instructions.
    path: SmallVec<[(Slot, Inst); 8]>,
    found: SmallVec<[(usize, Bindings); 2]>,
}

impl TreeWalk<'_> {
    /// Continues with an instruction at a slot.
    fn enter(&mut self, slot: Slot, inst: Inst, next: usize) {
        self.path.push((slot, inst));
        self.state(next);
        self.path.pop();
    }

    fn inst(&self, slot: Slot) -> Option<Inst> {
        self.path.iter().find(|(at, _)| *at == slot).map(|(_, inst)| *inst)
    }

    /// The value at a slot.
    fn value(&self, slot: Slot) -> Option<Value> {
        let (op, operand) = self.tree.parents[slot];
        self.inst(op).and_then(|inst| self.func.inst(inst).args.get(operand).copied())
    }

    fn state(&mut self, at: usize) {
        let state = &self.tree.states[at];
        for &variant in &state.accepts {
            let bindings = self.bindings(variant);
            self.found.extend(bindings.map(|b| (variant, b)));
        }
        for (slot, tests) in &state.constants {
            if self.value(*slot).is_some_and(|value| self.func.is_const(value)) {
                self.tests(tests);
            }
        }
        self.tests(&state.tests);
        for (slot, edges) in &state.ops {
            let Some(value) = self.value(*slot) else { continue };
            let ValueDef::Result(inst, result) = self.func.def(value) else { continue };
            let data = self.func.inst(inst);
            if let Some(next) = edges.get(data.op, data.args.len(), result as usize) {
                self.enter(*slot, inst, next);
            }
        }
    }

    fn tests(&mut self, tests: &[(Test, usize)]) {
        for (test, next) in tests {
            if self.passes(test) {
                self.state(*next);
            }
        }
    }

    fn passes(&self, test: &Test) -> bool {
        let func = self.func;
        let value = |slot: Slot| self.value(slot);
        match test {
            Test::Literal(slot, number) => {
                let (op, operand) = self.tree.parents[*slot];
                self.inst(op).is_some_and(|inst| is_number(func, inst, operand, *number))
            }
            Test::Constant(slot) => value(*slot).is_some_and(|v| func.is_const(v)),
            Test::Varies(slot) => value(*slot).is_some_and(|v| !func.is_const(v)),
            Test::DTypes(slot, dtypes) => value(*slot).is_some_and(|v| dtypes.contains(func.ty(v).dtype())),
            Test::Same(a, b) => value(*a).is_some() && value(*a) == value(*b),
            Test::Attrs(slot, wanted) => self.inst(*slot).is_some_and(|inst| {
                let attrs = &func.inst(inst).attrs;
                wanted.iter().all(|(name, wanted)| is_wanted(attrs, *name, wanted))
            }),
        }
    }

    fn bindings(&self, variant: usize) -> Option<Bindings> {
        let variant = &self.tree.variants[variant];
        let ops = variant.ops.iter().map(|&(slot, node)| self.inst(slot).map(|inst| (node, inst)));
        let vars = variant.vars.iter().map(|&slot| self.value(slot));
        let root = self.inst(0)?;
        Some(Bindings {
            roots: SmallVec::from_slice(&[root]),
            ops: ops.collect::<Option<_>>()?,
            vars: vars.collect::<Option<_>>()?,
        })
    }
}

/// A pattern as a tree, with operands in one order.
#[derive(Clone)]
struct PatternTerm {
    node: NodeId,
    args: Vec<PatternTerm>,
}

/// The pattern with the operands of commutative ops in all orders.
fn variants(rule: &Rule) -> Vec<PatternTerm> {
    let mut all = terms(rule, rule.lhs);
    all.truncate(MAX_VARIANTS);
    all
}

fn terms(rule: &Rule, node: NodeId) -> Vec<PatternTerm> {
    let (Node::Op(op) | Node::Computed(op)) = &rule.nodes[node] else {
        return vec![PatternTerm { node, args: Vec::new() }];
    };
    let mut lists: Vec<Vec<PatternTerm>> = vec![Vec::new()];
    for &arg in &op.args {
        let choices = terms(rule, arg);
        let longer = lists.iter().flat_map(|list| {
            choices.iter().map(move |choice| list.iter().cloned().chain(std::iter::once(choice.clone())).collect())
        });
        lists = longer.take(MAX_VARIANTS).collect();
    }
    if op.is_commutative() {
        let turned: Vec<Vec<PatternTerm>> = lists.iter().map(|list| list.iter().rev().cloned().collect()).collect();
        lists.extend(turned);
    }
    lists.into_iter().map(|args| PatternTerm { node, args }).collect()
}

/// True if an operand is a constant of this number. A number that depends on the dtype is taken at the dtype
/// at which the op computes.
pub(super) fn is_number(func: &Function, inst: Inst, operand: usize, number: Number) -> bool {
    let data = func.inst(inst);
    let Some(constant) = data.args.get(operand).and_then(|&arg| func.as_const(arg)) else { return false };
    if let Number::Literal(literal) = number {
        return literal.at(constant.dtype()) == Some(constant);
    }
    let mut at = constant.dtype();
    if let Eval::Elementwise { resolve, .. } = data.op.eval {
        let dtypes: SmallVec<[DType; 3]> = data.args.iter().map(|&arg| func.ty(arg).dtype()).collect();
        let Ok(found) = resolve(&dtypes, &data.attrs) else { return false };
        at = found.ins.get(operand).copied().unwrap_or(at);
    }
    number.at(at) == Some(constant.cast(at))
}

/// True if the attributes are those that a pattern term requires.
pub(super) fn attrs_match(term: &OpTerm, attrs: &Attrs) -> bool {
    wanted(term).iter().all(|(name, wanted)| is_wanted(attrs, *name, wanted))
}

fn is_wanted(attrs: &Attrs, name: Name, wanted: &Wanted) -> bool {
    match wanted {
        Wanted::Any => true,
        Wanted::Absent => attrs.get(name.as_str()).is_none(),
        Wanted::Is(value) => attrs.get(name.as_str()) == Some(value),
    }
}

fn wanted(term: &OpTerm) -> Vec<(Name, Wanted)> {
    let of = |name: &'static str| match term.attrs.iter().find(|(given, _)| *given == name) {
        None => Wanted::Absent,
        Some((_, AttrTerm::Is(value))) => Wanted::Is(value.clone()),
        Some((_, AttrTerm::Var(_))) => Wanted::Any,
    };
    term.op.0.attrs.iter().map(|def| (Name::new(def.name), of(def.name))).filter(|(_, w)| *w != Wanted::Any).collect()
}
