//! The nodes from which the cheapest solution may choose.

use super::Stopped;
use crate::egraph::extract::{Class, NodeChoice, Problem, Solution};
use rustc_hash::FxHashMap;

/// A node that may be chosen.
pub(super) struct NodeCandidate {
    /// Its number in its class.
    pub node: usize,
    /// The classes that it needs, in order, without the free ones.
    pub needs: Vec<Class>,
    /// Its cost, divided by the greatest common divisor of all costs.
    pub weight: u64,
    /// Whether it would be a new instruction.
    pub fresh: bool,
}

/// The nodes from which the cheapest solution may choose.
pub(super) struct Candidates {
    pub of: Vec<Vec<NodeCandidate>>,
    /// For each class a leaf that costs nothing, which makes its other nodes irrelevant.
    pub free: Vec<Option<usize>>,
    /// For each dropped node, given by its class and number, the node that dominates it.
    pub instead: FxHashMap<(Class, usize), usize>,
    unit: u64,
}

/// The limit below which sums of weights in floats distinguish whole numbers.
const EXACT: u64 = 1 << 28;

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

impl Candidates {
    pub fn new(problem: &Problem, known: &Solution) -> Result<Candidates, Stopped> {
        let count = problem.classes.len();
        let leaf = |c: &NodeChoice| c.children.is_empty() && c.cost == 0;
        let free: Vec<Option<usize>> = problem.classes.iter().map(|all| all.iter().position(leaf)).collect();
        let mut of: Vec<Vec<NodeCandidate>> = Vec::with_capacity(count);
        for (class, choices) in problem.classes.iter().enumerate() {
            let mut candidates = Vec::new();
            let wanted = |c: &NodeChoice| c.cost <= known.cost && !c.children.contains(&class);
            let all = if free[class].is_some() { &[][..] } else { choices };
            for (node, choice) in all.iter().enumerate().filter(|(_, c)| wanted(c)) {
                let mut needs: Vec<Class> = choice.children.iter().copied().filter(|&c| free[c].is_none()).collect();
                needs.sort_unstable();
                needs.dedup();
                candidates.push(NodeCandidate { node, needs, weight: choice.cost, fresh: choice.is_fresh() });
            }
            of.push(candidates);
        }
        let unit = of.iter().flatten().fold(0, |unit, c| common_divisor(unit, c.weight)).max(1);
        of.iter_mut().flatten().for_each(|c| c.weight /= unit);
        if known.cost / unit >= EXACT {
            return Err(Stopped::Costs);
        }
        let mut found = Candidates { of, free, instead: FxHashMap::default(), unit };
        found.drop_costly(known.cost / unit);
        found.drop_dominated();
        Ok(found)
    }

    /// A cost as a weight.
    pub fn weight(&self, cost: u64) -> f64 {
        (cost / self.unit) as f64
    }

    /// The classes that cost nothing.
    pub fn is_free(&self) -> Vec<bool> {
        self.free.iter().map(Option::is_some).collect()
    }

    /// Drops nodes that can't be computed, and nodes that cost more than the known solution: a lower bound
    /// of a node's cost is its own weight and that of the most expensive chain of operands.
    fn drop_costly(&mut self, known: u64) {
        let mut least: Vec<Option<u64>> = self.free.iter().map(|free| free.map(|_| 0)).collect();
        let whole = |candidate: &NodeCandidate, least: &[Option<u64>]| {
            let needs = candidate.needs.iter().try_fold(0, |most, &class| least[class].map(|w| w.max(most)));
            needs.map(|needs| needs.saturating_add(candidate.weight))
        };
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (class, candidates) in self.of.iter().enumerate() {
                let best = candidates.iter().filter_map(|c| whole(c, &least)).min();
                if best.is_some_and(|best| least[class].is_none_or(|before| best < before)) {
                    least[class] = best;
                    changed = true;
                }
            }
        }
        self.of.iter_mut().for_each(|all| all.retain(|c| whole(c, &least).is_some_and(|weight| weight <= known)));
    }

    /// Drops a node if another one of its class needs no further classes and weighs no more: it is dominated
    /// in every solution.
    fn drop_dominated(&mut self) {
        for (class, all) in self.of.iter_mut().enumerate() {
            all.sort_by_key(|c| (c.weight, c.fresh, c.needs.len(), c.node));
            let mut kept: Vec<NodeCandidate> = Vec::with_capacity(all.len());
            for candidate in all.drain(..) {
                let within =
                    |k: &&NodeCandidate| k.needs.iter().all(|class| candidate.needs.binary_search(class).is_ok());
                match kept.iter().find(within) {
                    Some(better) => {
                        self.instead.insert((class, candidate.node), better.node);
                    }
                    None => kept.push(candidate),
                }
            }
            *all = kept;
        }
    }

    /// The classes that the roots may need.
    pub fn reached(&self, roots: &[Class]) -> Vec<Class> {
        let mut seen = vec![false; self.of.len()];
        let mut order: Vec<Class> = Vec::new();
        let mut work: Vec<Class> = roots.to_vec();
        while let Some(class) = work.pop() {
            if self.free[class].is_none() && !std::mem::replace(&mut seen[class], true) {
                order.push(class);
                work.extend(self.of[class].iter().flat_map(|c| c.needs.iter().copied()));
            }
        }
        order.sort_unstable();
        order
    }
}
