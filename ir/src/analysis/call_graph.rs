//! Which functions call which.
//!
//! Cycles of calls are the strongly connected components, found by Tarjan's algorithm ("Depth-first search and linear graph algorithms",
//! 1972), which finishes each component after all that it leads to.

use crate::function::Function;
use crate::module::Module;
use crate::name::Name;
use rustc_hash::{FxHashMap, FxHashSet};

/// The calls of a module: by instructions that name a function.
#[derive(Clone, Debug, Default)]
pub struct CallGraph {
    callees_first: Vec<Name>,
    recursive: FxHashSet<Name>,
}

/// Not found yet.
const UNSEEN: usize = usize::MAX;

/// A walk through functions, by their places in the module.
struct Walk {
    callees: Vec<Vec<usize>>,
    /// When each was found.
    found: Vec<usize>,
    /// The first one found that each is known to lead to and that is on the path.
    low: Vec<usize>,
    on_path: Vec<bool>,
    path: Vec<usize>,
    /// How many were found.
    count: usize,
}

impl CallGraph {
    /// Computes it.
    pub fn of(module: &Module) -> Self {
        let names: Vec<Name> = module.names().collect();
        let places: FxHashMap<Name, usize> = names.iter().enumerate().map(|(place, &name)| (name, place)).collect();
        let callees = module.functions().map(|func| {
            let insts = func.blocks().flat_map(|block| func.insts(block));
            let callees = insts.filter_map(|inst| func.inst(inst).attrs.func("callee"));
            callees.filter_map(|callee| places.get(&callee).copied()).collect()
        });
        let callees: Vec<Vec<usize>> = callees.collect();
        let len = callees.len();
        let mut walk = Walk {
            callees,
            found: vec![UNSEEN; len],
            low: vec![UNSEEN; len],
            on_path: vec![false; len],
            path: Vec::new(),
            count: 0,
        };
        let mut graph = CallGraph::default();
        for start in 0..len {
            walk.from(start, |component, is_cycle| {
                graph.callees_first.extend(component.iter().map(|&place| names[place]));
                if is_cycle {
                    graph.recursive.extend(component.iter().map(|&place| names[place]));
                }
            });
        }
        graph
    }

    /// All functions, each after those that it calls, as far as there is such an order, and otherwise as they stand in the module.
    pub fn callees_first(&self) -> &[Name] {
        &self.callees_first
    }

    /// A function has become another one: one that calls nothing any more is not recursive.
    pub fn refresh(&mut self, func: &Function) {
        let mut insts = func.blocks().flat_map(|block| func.insts(block));
        if self.is_recursive(func.name) && !insts.any(|inst| func.inst(inst).attrs.func("callee").is_some()) {
            self.recursive.remove(&func.name);
        }
    }

    /// True if calls lead from a function to itself.
    pub fn is_recursive(&self, name: Name) -> bool {
        self.recursive.contains(&name)
    }
}

impl Walk {
    /// Finds what a function leads to and is not found yet, component by component; tells whether each is a cycle.
    fn from(&mut self, start: usize, mut done: impl FnMut(&[usize], bool)) {
        if self.found[start] != UNSEEN {
            return;
        }
        self.enter(start);
        let mut work = vec![(start, 0)];
        while let Some((at, next)) = work.pop() {
            if let Some(&callee) = self.callees[at].get(next) {
                work.push((at, next + 1));
                if self.found[callee] == UNSEEN {
                    self.enter(callee);
                    work.push((callee, 0));
                } else if self.on_path[callee] {
                    self.low[at] = self.low[at].min(self.found[callee]);
                }
                continue;
            }
            if let Some(&(caller, _)) = work.last() {
                self.low[caller] = self.low[caller].min(self.low[at]);
            }
            if self.low[at] == self.found[at] {
                let first = self.path.iter().rposition(|&other| other == at).unwrap_or_default();
                let mut component = self.path.split_off(first);
                component.iter().for_each(|&place| self.on_path[place] = false);
                component.sort_unstable();
                let is_cycle = component.len() > 1 || self.callees[at].contains(&at);
                done(&component, is_cycle);
            }
        }
    }

    fn enter(&mut self, place: usize) {
        self.found[place] = self.count;
        self.low[place] = self.count;
        self.count += 1;
        self.on_path[place] = true;
        self.path.push(place);
    }
}
