//! The call graph of a module.
//!
//! Recursive functions form the strongly connected components with cycles. Tarjan's algorithm ("Depth-first
//! search and linear graph algorithms", 1972) finds them, each component after all components that it
//! reaches.

use crate::function::Function;
use crate::module::Module;
use crate::name::Name;
use rustc_hash::{FxHashMap, FxHashSet};

/// The call graph of a module: an edge for each instruction that names a function.
#[derive(Clone, Debug, Default)]
pub struct CallGraph {
    callees_first: Vec<Name>,
    recursive: FxHashSet<Name>,
}

/// The index of a function that is not visited yet.
const UNSEEN: usize = usize::MAX;

/// A depth-first search over functions, by their positions in the module.
struct Walk {
    callees: Vec<Vec<usize>>,
    /// The order of discovery of each function.
    found: Vec<usize>,
    /// The lowlink: the earliest discovered function on the path that each is known to reach.
    low: Vec<usize>,
    on_path: Vec<bool>,
    path: Vec<usize>,
    /// The number of discovered functions.
    count: usize,
}

impl CallGraph {
    /// Computes the call graph.
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

    /// All functions in bottom-up order: callees before callers, and members of a cycle in module order.
    pub fn callees_first(&self) -> &[Name] {
        &self.callees_first
    }

    /// Updates the graph after a change of a function: one without calls is no longer recursive.
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
    /// Visits the functions reachable from `start`, component by component; `done` also receives whether
    /// each is a cycle.
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
