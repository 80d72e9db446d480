//! Extraction: chooses one node of each class, so that the program for all roots is cheap with shared work
//! counted once.
//!
//! The objective is the sum of the costs of the chosen nodes of all classes that the roots reach, each
//! class counted once; the choice must have no cycle. The cheapest DAG is NP-hard to find; the module
//! `exact` finds it with the feature `exact-extraction`. This module is greedy: each class keeps the node
//! that costs least together with the nodes chosen for all classes below it. A class is visited again when
//! an operand's set becomes cheaper. Then single choices are exchanged as long as that reduces the total
//! cost. The greedy choice for each root does not see work that several roots could share. So a second
//! round divides the cost of a node by the number of classes that use it, and the cheaper solution wins.
//!
//! Work is bounded by counts, not by time. The greedy search evaluates each node 64 times on average at
//! most, each time in time proportional to the operands' sets. The exchange of choices visits about 200,000
//! classes for each of the three candidates.
//!
//! Among forms of equal cost the one with fewer new nodes wins, then the original node, then the first by
//! leaf or op name.

use super::analysis::{Graph, attrs_of};
use super::node::{ENode, Head};
use crate::cost::{CostCx, cost};
use egg::Id;
use rewright_ir::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// A class, by its number in the problem.
pub(crate) type Class = usize;

/// A node of a class.
pub(crate) struct NodeChoice {
    pub node: ENode,
    pub children: SmallVec<[Class; 4]>,
    pub cost: u64,
    /// An instruction of the block computes it.
    pub original: bool,
}

impl NodeChoice {
    /// True if it would be a new instruction.
    pub fn is_fresh(&self) -> bool {
        !self.original && !self.children.is_empty()
    }
}

/// The part of an e-graph that its roots reach, with costs.
pub(crate) struct Problem {
    pub ids: Vec<Id>,
    pub classes: Vec<Vec<NodeChoice>>,
    number: FxHashMap<Id, Class>,
    pub roots: Vec<Class>,
    /// The number of classes that could use each class.
    users: Vec<u64>,
}

/// A node for each class that has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Solution {
    pub node: Vec<Option<usize>>,
    pub cost: u64,
    pub fresh: usize,
}

impl Problem {
    /// Collects the classes that the roots reach. `originals` are the nodes of the block's instructions,
    /// with canonical children.
    pub fn new(graph: &Graph, roots: &[Id], originals: &FxHashSet<ENode>) -> Self {
        let mut problem = Problem {
            ids: Vec::new(),
            classes: Vec::new(),
            number: FxHashMap::default(),
            roots: Vec::new(),
            users: Vec::new(),
        };
        problem.roots = roots.iter().map(|&id| problem.class(graph, id)).collect();
        let mut at = 0;
        while at < problem.ids.len() {
            let id = problem.ids[at];
            let nodes = &graph[id].nodes;
            let mut choices = Vec::with_capacity(nodes.len());
            for node in nodes {
                let children = node.children.iter().map(|&child| problem.class(graph, child)).collect();
                let original = originals.contains(node);
                choices.push(NodeChoice { node: node.clone(), children, cost: node_cost(graph, id, node), original });
            }
            problem.classes.push(choices);
            at += 1;
        }
        problem.count_users();
        problem
    }

    fn count_users(&mut self) {
        self.users = vec![0; self.classes.len()];
        for choices in &self.classes {
            let mut used: Vec<Class> = choices.iter().flat_map(|c| c.children.iter().copied()).collect();
            used.sort_unstable();
            used.dedup();
            used.into_iter().for_each(|class| self.users[class] += 1);
        }
    }

    /// A problem without an e-graph.
    #[cfg(all(test, feature = "exact-extraction"))]
    pub fn of_numbers(classes: Vec<Vec<NodeChoice>>, roots: Vec<Class>) -> Self {
        let mut problem = Problem { ids: Vec::new(), classes, number: FxHashMap::default(), roots, users: Vec::new() };
        problem.count_users();
        problem
    }

    fn class(&mut self, graph: &Graph, id: Id) -> Class {
        let id = graph.find(id);
        let next = self.ids.len();
        let class = *self.number.entry(id).or_insert(next);
        if class == next {
            self.ids.push(id);
        }
        class
    }

    /// The class of an id, if the roots reach it.
    pub fn of(&self, graph: &Graph, id: Id) -> Option<Class> {
        self.number.get(&graph.find(id)).copied()
    }

    /// The cheapest solution that is found; `None` if the roots have none.
    pub fn solve(&self) -> Option<Solution> {
        let unshared = self.greedy(|_, cost| cost);
        let original = unshared.as_ref().and_then(|unshared| self.original(unshared));
        let shared = self.greedy(|class, cost| (cost / self.users[class].max(1)).max(1));
        let mut found: Vec<Solution> = original.into_iter().chain(unshared).chain(shared).collect();
        found.sort_by_key(|s| (s.cost, s.fresh));
        found.dedup_by(|a, b| a.node == b.node);
        found.into_iter().map(|solution| self.exchange(solution)).min_by_key(|s| (s.cost, s.fresh))
    }

    /// The solution that takes an original node wherever there is one.
    fn original(&self, otherwise: &Solution) -> Option<Solution> {
        let first = |(choices, other): (&Vec<NodeChoice>, &Option<usize>)| {
            let leaf = choices.iter().position(|c| c.children.is_empty());
            leaf.or_else(|| choices.iter().position(|c| c.original)).or(*other)
        };
        self.rated(self.classes.iter().zip(&otherwise.node).map(first).collect())
    }

    /// Rates a selection. `None` if it has a cycle or a gap.
    pub fn rated(&self, node: Vec<Option<usize>>) -> Option<Solution> {
        let (cost, fresh) = self.rate(&node)?;
        Some(Solution { node, cost, fresh })
    }

    /// The cost of the classes that the roots need, each counted once, and the number of new nodes. `None`
    /// if there is a cycle or a gap.
    fn rate(&self, node: &[Option<usize>]) -> Option<(u64, usize)> {
        let (mut cost, mut fresh) = (0u64, 0);
        for class in self.needed(node)? {
            let choice = &self.classes[class][node[class]?];
            cost = cost.saturating_add(choice.cost);
            fresh += usize::from(choice.is_fresh());
        }
        Some((cost, fresh))
    }

    /// The classes that the roots need, operands first.
    pub fn needed(&self, node: &[Option<usize>]) -> Option<Vec<Class>> {
        let mut order = Vec::with_capacity(self.classes.len());
        let mut state = vec![Visit::Unseen; self.classes.len()];
        let mut stack: Vec<(Class, usize)> = Vec::with_capacity(self.classes.len());
        for &root in &self.roots {
            if state[root] == Visit::Unseen {
                state[root] = Visit::Open;
                stack.push((root, 0));
            }
            while let Some((class, next)) = stack.pop() {
                let choice = &self.classes[class][node[class]?];
                match choice.children.get(next) {
                    None => {
                        state[class] = Visit::Done;
                        order.push(class);
                    }
                    Some(&child) => {
                        stack.push((class, next + 1));
                        match state[child] {
                            Visit::Unseen => {
                                state[child] = Visit::Open;
                                stack.push((child, 0));
                            }
                            Visit::Open => return None,
                            Visit::Done => {}
                        }
                    }
                }
            }
        }
        Some(order)
    }

    /// The solution in which each class takes the node of least [rank](Best::rank), where a node's cost is
    /// weighted by `weight`. Starts at the leaves, and visits the users of a class whenever its rank falls.
    /// `None` if the roots have no solution.
    fn greedy(&self, weight: impl Fn(Class, u64) -> u64) -> Option<Solution> {
        let mut best: Vec<Option<Best>> = (0..self.classes.len()).map(|_| None).collect();
        let mut parents: Vec<Vec<(Class, usize)>> = vec![Vec::new(); self.classes.len()];
        let mut queue: VecDeque<(Class, usize)> = VecDeque::new();
        for (class, choices) in self.classes.iter().enumerate() {
            for (n, choice) in choices.iter().enumerate() {
                choice.children.iter().for_each(|&child| parents[child].push((class, n)));
                if choice.children.is_empty() {
                    queue.push_back((class, n));
                }
            }
        }
        // Ranks only fall, but through very many values in the worst case: the budget stops the search.
        let mut budget = 64 * self.classes.iter().map(Vec::len).sum::<usize>() + 1024;
        while let Some((class, n)) = queue.pop_front() {
            budget = budget.saturating_sub(1);
            if budget == 0 {
                break;
            }
            let Some(new) = self.best_of(class, n, &best, &weight) else { continue };
            if best[class].as_ref().is_none_or(|old| new.rank() < old.rank()) {
                best[class] = Some(new);
                queue.extend(parents[class].iter().copied());
            }
        }
        self.rated(best.into_iter().map(|b| b.map(|b| b.node)).collect())
    }

    /// A node of a class together with the sets that its operands' classes chose.
    fn best_of(
        &self,
        class: Class,
        n: usize,
        best: &[Option<Best>],
        weight: &impl Fn(Class, u64) -> u64,
    ) -> Option<Best> {
        let choice = &self.classes[class][n];
        let mut members: Vec<(Class, u64)> = Vec::new();
        let mut fresh = 0;
        for (at, &child) in choice.children.iter().enumerate() {
            let below = best[child].as_ref()?;
            if choice.children[..at].contains(&child) {
                continue;
            }
            fresh += below.fresh;
            members = if at == 0 { below.members.clone() } else { merged(&members, &below.members) };
        }
        if members.binary_search_by_key(&class, |m| m.0).is_ok() {
            return None;
        }
        let own = if choice.cost == 0 { 0 } else { weight(class, choice.cost) };
        let at = members.partition_point(|m| m.0 < class);
        members.insert(at, (class, own));
        let total = members.iter().fold(0u64, |sum, m| sum.saturating_add(m.1));
        fresh += usize::from(choice.is_fresh());
        Some(Best { total, fresh, changed: !choice.original, node: n, members })
    }

    /// Exchanges single choices as long as the total cost falls.
    pub fn exchange(&self, mut solution: Solution) -> Solution {
        /// The most classes that are visited to rate selections.
        const WORK: usize = 200_000;
        let mut work = 0;
        loop {
            let Some(order) = self.needed(&solution.node) else { return solution };
            let before = (solution.cost, solution.fresh);
            for &class in &order {
                for n in 0..self.classes[class].len() {
                    if solution.node[class] == Some(n) || work > WORK {
                        continue;
                    }
                    work += order.len();
                    let kept = solution.node[class].replace(n);
                    match self.rate(&solution.node) {
                        Some(rate) if rate < (solution.cost, solution.fresh) => (solution.cost, solution.fresh) = rate,
                        _ => solution.node[class] = kept,
                    }
                }
            }
            if (solution.cost, solution.fresh) == before || work > WORK {
                return solution;
            }
        }
    }
}

/// The state of a class in a depth-first search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    Unseen,
    /// The class is on the path from the root.
    Open,
    Done,
}

/// The best known choice of a class: a node, and the set of all classes that it needs.
struct Best {
    /// The weighted cost of the set.
    total: u64,
    /// The number of new instructions, where shared ones count for each operand.
    fresh: usize,
    /// The node is not the original one.
    changed: bool,
    node: usize,
    /// Classes and their costs, in order.
    members: Vec<(Class, u64)>,
}

impl Best {
    /// The order of choices; the least is best.
    fn rank(&self) -> (u64, usize, bool, usize) {
        (self.total, self.fresh, self.changed, self.node)
    }
}

fn merged(a: &[(Class, u64)], b: &[(Class, u64)]) -> Vec<(Class, u64)> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        all.push(if x.0 <= y.0 { x } else { y });
        i += usize::from(x.0 <= y.0);
        j += usize::from(y.0 <= x.0);
    }
    all.extend_from_slice(&a[i..]);
    all.extend_from_slice(&b[j..]);
    all
}

/// The cost of a node; zero without children.
pub(crate) fn node_cost(graph: &Graph, class: Id, node: &ENode) -> u64 {
    let Head::Op(op) = node.head else { return 0 };
    let types: SmallVec<[Type; 3]> = node.operands().iter().filter_map(|&arg| graph[arg].data.ty.clone()).collect();
    let Some(result) = &graph[class].data.ty else { return 1 };
    cost(&CostCx { op, args: &types, result, attrs: &attrs_of(graph, node) })
}
