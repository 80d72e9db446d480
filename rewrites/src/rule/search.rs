//! Matches the rules that the decision tree does not contain, one by one: rules with several roots, and
//! rules with rest variables.
//!
//! Further roots are found by a join: the users of a value that is already bound are candidates. A rule with
//! rest variables is parsed again for the numbers of operands that an instruction has.

use super::choices::RestTerm;
use super::tree::{Bindings, attrs_match, is_number};
use super::{DTypes, Node, NodeId, OpTerm, Rule};
use rewright_ir::{Function, Inst, Op, Value, ValueDef};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The most matches of a rule at an instruction.
const MAX_MATCHES: usize = 64;

/// The most users of a value that leads to a further root: visiting more would take quadratic time.
const MAX_USERS: usize = 64;

/// All matches of a rule at an instruction.
pub(super) fn search(func: &Function, rule: &'static Rule, root: Inst) -> Vec<(&'static Rule, Bindings)> {
    let rules: Vec<&'static Rule> = if rule.has_rests() { instances(func, rule, root) } else { vec![rule] };
    let mut found = Vec::new();
    for rule in rules {
        for anchor in 0..=rule.also.len() {
            let mut search = PatternMatcher::new(func, rule);
            search.roots[anchor] = Some(root);
            search.place_root(anchor, root);
            found.extend(search.found.into_iter().map(|bindings| (rule, bindings)));
        }
    }
    found
}

/// The ops at the roots of a pattern.
pub(super) fn roots(rule: &Rule) -> impl Iterator<Item = Op> + '_ {
    let terms = std::iter::once(rule.lhs).chain(rule.also.iter().copied()).filter_map(|node| rule.op_term(node));
    terms.map(|term| term.op)
}

/// A backtracking search for matches of a rule.
struct PatternMatcher<'a> {
    func: &'a Function,
    rule: &'a Rule,
    /// The roots of the pattern, and their instructions.
    nodes: SmallVec<[NodeId; 2]>,
    roots: SmallVec<[Option<Inst>; 2]>,
    vars: SmallVec<[Option<Value>; 4]>,
    ops: SmallVec<[(NodeId, Inst); 4]>,
    found: Vec<Bindings>,
}

/// An operand of the pattern, with the instruction and the operand number that it must match.
type OperandGoal = (NodeId, Inst, usize);

impl<'a> PatternMatcher<'a> {
    fn new(func: &'a Function, rule: &'a Rule) -> Self {
        let nodes: SmallVec<[NodeId; 2]> = std::iter::once(rule.lhs).chain(rule.also.iter().copied()).collect();
        let roots = SmallVec::from_elem(None, nodes.len());
        let vars = SmallVec::from_elem(None, rule.vars.len());
        PatternMatcher { func, rule, nodes, roots, vars, ops: SmallVec::new(), found: Vec::new() }
    }

    fn place_root(&mut self, number: usize, inst: Inst) {
        let rule = self.rule;
        if let Some(term) = rule.op_term(self.nodes[number]) {
            self.inst(self.nodes[number], term, inst, &[]);
        }
    }

    /// Matches the goals, the last one first, and then further roots.
    fn goals(&mut self, goals: &[OperandGoal]) {
        if self.found.len() >= MAX_MATCHES {
            return;
        }
        let Some((&(node, inst, operand), rest)) = goals.split_last() else { return self.further_roots() };
        let (rule, func) = (self.rule, self.func);
        let value = func.inst(inst).args[operand];
        match &rule.nodes[node] {
            Node::Var(var) => match self.vars[*var] {
                Some(before) if before == value => self.goals(rest),
                Some(_) => {}
                None => {
                    let wanted = &rule.vars[*var];
                    let fits = (!wanted.constant || func.is_const(value))
                        && !(wanted.varies && func.is_const(value))
                        && (wanted.dtypes == DTypes::ALL || wanted.dtypes.contains(func.ty(value).dtype()));
                    if fits {
                        self.vars[*var] = Some(value);
                        self.goals(rest);
                        self.vars[*var] = None;
                    }
                }
            },
            Node::Literal(number) => {
                if is_number(func, inst, operand, *number) {
                    self.goals(rest);
                }
            }
            Node::Op(term) => {
                if let ValueDef::Result(def, result) = func.def(value)
                    && result as usize == term.result
                {
                    self.inst(node, term, def, rest);
                }
            }
            // The parser replaces computed operands of a pattern by variables.
            Node::Computed(_) => {}
        }
    }

    fn inst(&mut self, node: NodeId, term: &OpTerm, inst: Inst, goals: &[OperandGoal]) {
        let data = self.func.inst(inst);
        if data.op != term.op || data.args.len() != term.args.len() || !attrs_match(term, &data.attrs) {
            return;
        }
        self.ops.push((node, inst));
        let count = term.args.len();
        let mut with = goals.to_vec();
        with.extend((0..count).rev().map(|at| (term.args[at], inst, at)));
        self.goals(&with);
        if term.is_commutative() {
            with.truncate(goals.len());
            with.extend((0..count).map(|at| (term.args[count - 1 - at], inst, at)));
            self.goals(&with);
        }
        self.ops.pop();
    }

    fn further_roots(&mut self) {
        let Some(next) = (0..self.roots.len()).find(|&n| self.roots[n].is_none() && self.way(n).is_some()) else {
            let roots: Option<SmallVec<[Inst; 2]>> = self.roots.iter().copied().collect();
            let vars: Option<SmallVec<[Value; 4]>> = self.vars.iter().copied().collect();
            if let (Some(roots), Some(vars)) = (roots, vars) {
                self.found.push(Bindings { roots, ops: self.ops.clone(), vars });
            }
            return;
        };
        let Some((value, steps)) = self.way(next) else { return };
        for inst in self.users(value, steps) {
            if !self.roots.contains(&Some(inst)) {
                self.roots[next] = Some(inst);
                self.place_root(next, inst);
                self.roots[next] = None;
            }
        }
    }

    /// The bound value with the fewest users that a root depends on, and the number of steps from the root
    /// to it.
    fn way(&self, root: usize) -> Option<(Value, usize)> {
        let bound = (0..self.vars.len()).filter_map(|var| Some((var, self.vars[var]?)));
        let ways = bound
            .filter(|&(_, value)| !self.func.is_const(value))
            .filter_map(|(var, value)| Some((value, steps(self.rule, self.nodes[root], var)?)));
        ways.min_by_key(|&(value, steps)| (self.func.use_count(value), steps))
    }

    /// The instructions of the anchor's block that read a value, directly or through `steps - 1` others.
    fn users(&self, value: Value, steps: usize) -> Vec<Inst> {
        let func = self.func;
        let block = self.roots.iter().flatten().next().and_then(|&root| func.block_of(root));
        let mut values = vec![value];
        let mut insts: Vec<Inst> = Vec::new();
        for _ in 0..steps {
            insts.clear();
            for &value in &values {
                if func.use_count(value) > MAX_USERS || insts.len() > MAX_USERS {
                    return Vec::new();
                }
                let users = func.users(value).into_iter().filter(|&user| !insts.contains(&user));
                let users: SmallVec<[Inst; 4]> = users.collect();
                insts.extend(users);
            }
            values = insts.iter().flat_map(|&inst| func.inst(inst).results.iter().copied()).collect();
        }
        insts.retain(|&inst| func.block_of(inst) == block);
        insts
    }
}

/// The fewest steps from a term to a variable in it.
fn steps(rule: &Rule, node: NodeId, var: usize) -> Option<usize> {
    match &rule.nodes[node] {
        Node::Var(at) => (*at == var).then_some(0),
        Node::Op(term) => term.args.iter().filter_map(|&arg| steps(rule, arg, var)).min().map(|steps| steps + 1),
        Node::Literal(_) | Node::Computed(_) => None,
    }
}

/// The number of operands of each group of rest variables; `None` if it is not known.
type Lengths = SmallVec<[Option<usize>; 2]>;

/// Memoized rules for numbers of operands, by their first rule. They live as long as the process, as that
/// one does.
type Instances = FxHashMap<(usize, SmallVec<[usize; 2]>), Option<&'static Rule>>;
static INSTANCES: LazyLock<Mutex<Instances>> = LazyLock::new(Mutex::default);

/// The rules for the numbers of operands that occur at the instruction and at the definitions of its
/// operands.
fn instances(func: &Function, rule: &'static Rule, root: Inst) -> Vec<&'static Rule> {
    let mut all: Vec<SmallVec<[usize; 2]>> = Vec::new();
    for &node in std::iter::once(&rule.lhs).chain(&rule.also) {
        for lengths in lengths(func, rule, node, root, SmallVec::from_elem(None, rule.choice.lengths.len())) {
            // The length of a group that only another root contains is not known here.
            let whole: SmallVec<[usize; 2]> = lengths.into_iter().map(|length| length.unwrap_or(1)).collect();
            if !all.contains(&whole) {
                all.push(whole);
            }
        }
    }
    all.truncate(MAX_MATCHES);
    let instance = |lengths: SmallVec<[usize; 2]>| {
        // The table is valid after a panic, because entries are only added.
        let mut known = INSTANCES.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (std::ptr::from_ref(rule) as usize, lengths.clone());
        *known.entry(key).or_insert_with(|| rule.with_lengths(lengths).map(|rule| &*Box::leak(Box::new(rule))))
    };
    all.into_iter().filter_map(instance).collect()
}

/// The lengths with which a term may match an instruction.
fn lengths(func: &Function, rule: &Rule, node: NodeId, inst: Inst, known: Lengths) -> Vec<Lengths> {
    let data = func.inst(inst);
    let Some(term) = rule.op_term(node).filter(|term| term.op == data.op) else { return Vec::new() };
    let plain = || SmallVec::from_elem(None, term.args.len());
    let rests = rule.rest_terms.iter().find(|rests| rests.node == node);
    let groups = rests.map_or_else(plain, |rests: &RestTerm| rests.groups.clone());
    let mut all: Vec<Lengths> = Vec::new();
    for lengths in fitting(&groups, data.args.len(), known) {
        // Each operand of the instruction, with the pattern operand that it must match.
        let operands = groups
            .iter()
            .zip(&term.args)
            .flat_map(|(group, &arg)| std::iter::repeat_n(arg, group.map_or(1, |group| lengths[group].unwrap_or(1))));
        let mut ways = vec![lengths.clone()];
        for (arg, &value) in operands.zip(&data.args) {
            if rule.op_term(arg).is_none() {
                continue;
            }
            let Some(def) = func.def_inst(value) else {
                ways.clear();
                break;
            };
            ways = ways.into_iter().flat_map(|known| self::lengths(func, rule, arg, def, known)).collect();
            ways.truncate(MAX_MATCHES);
        }
        all.extend(ways);
    }
    all.truncate(MAX_MATCHES);
    all
}

/// The lengths with which the operand groups match this number of operands.
fn fitting(groups: &[Option<usize>], operands: usize, known: Lengths) -> Vec<Lengths> {
    let sum = |lengths: &Lengths| -> usize { groups.iter().map(|g| g.map_or(1, |g| lengths[g].unwrap_or(0))).sum() };
    let open = groups.iter().flatten().find(|&&group| known[group].is_none());
    let Some(&open) = open else { return if sum(&known) == operands { vec![known] } else { Vec::new() } };
    let times = groups.iter().filter(|&&group| group == Some(open)).count();
    let left = operands.saturating_sub(sum(&known));
    let last = groups.iter().flatten().all(|&group| group == open || known[group].is_some());
    let lengths = if last { left / times..=left / times } else { 0..=left / times };
    let with = lengths.take(MAX_MATCHES).flat_map(|length| {
        let mut with = known.clone();
        with[open] = Some(length);
        fitting(groups, operands, with)
    });
    with.take(MAX_MATCHES).collect()
}
