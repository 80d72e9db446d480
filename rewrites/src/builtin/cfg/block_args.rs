//! `block-args`: replaces block parameters for which every branch gives the same value.

use super::incoming::incoming;
use crate::prelude::*;
use rewright_ir::ValueDef;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

/// Copy propagation through block arguments: replaces a block parameter by the value that all branches pass
/// for it.
///
/// Parameters may pass it to each other, also around loops. So the algorithm works on the graph of
/// parameters and the parameters among their arguments. If only one value enters a strongly connected
/// component from outside, all its parameters are copies of that value. Otherwise the parameters that no
/// outside value enters are examined again as a graph of their own (Braun and others, "Simple and Efficient
/// Construction of Static Single Assignment Form", 2013, section 3.2), to a depth of 32. All of it is one
/// application, in linear time. `fold` handles parameters that are constant because of branches never taken,
/// `dce` unused ones.
///
/// It is exact because a parameter holds the argument's value at the branch, and keeps it unless something
/// stores to either: such values stay. Parameters whose type is more precise than an argument's stay too,
/// because the branch checks the type.
pub struct BlockArgs;

static BLOCK_ARGS: RewriteDef =
    RewriteDef::block("block-args", "replaces block parameters that always get the same value", &BlockArgs)
        .stage(Stage::AfterInference)
        .after(&["canonicalize"])
        .before(&["cse"]);
register_rewrite!(BLOCK_ARGS);

/// The deepest nesting of components that are examined again.
const DEPTH: u32 = 32;

/// How far back the quick test follows parameters.
const DEEP: u32 = 2;

/// Parameters, each with the value that it always holds.
pub struct Copies(Vec<((Block, usize), Value, Value)>);

impl Rewrite for BlockArgs {
    type Match = Rc<Copies>;

    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Self::Match, NoMatch> {
        let params = cx.func().block_params(block);
        if cx.func().entry() == Some(block) || !(0..params.len()).any(|index| may_be_copy(cx, block, index, DEEP)) {
            return Err(NoMatch::quiet());
        }
        let copies = cx.cached(Copies::of);
        if copies.0.is_empty() { Err(NoMatch::quiet()) } else { Ok(copies) }
    }

    fn apply(&self, copies: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        for &(_, param, value) in &copies.0 {
            if rw.func().use_count(param) > 0 {
                rw.replace_uses(param, value)?;
            }
        }
        let params: Vec<(Block, usize)> = copies.0.iter().map(|&(place, ..)| place).collect();
        rw.erase_all(&[], &params)
    }
}

/// A quick test of one parameter, which follows arguments to `depth`: a parameter is no copy if it gets
/// different values that are no copies themselves.
fn may_be_copy(cx: &MatchCx<'_>, block: Block, index: usize, depth: u32) -> bool {
    let param = cx.func().block_params(block)[index];
    let is_no_copy = |arg: Value| match cx.func().def(arg) {
        ValueDef::Param(from, index) if cx.func().entry() != Some(from) => {
            depth > 0 && !may_be_copy(cx, from, index as usize, depth - 1)
        }
        _ => true,
    };
    let Some(args) = incoming(cx, block, index) else { return true };
    let mut plain = args.filter(|&arg| arg != param && is_no_copy(arg));
    let first = plain.next();
    plain.all(|arg| Some(arg) == first)
}

impl Copies {
    fn of(cx: &MatchCx<'_>) -> Copies {
        let mut graph = ParamGraph::of(cx);
        let mut tasks = vec![Task::Parts((0..graph.nodes.len() as u32).collect(), 0)];
        while let Some(task) = tasks.pop() {
            match task {
                // Components come after those that pass values to them.
                Task::Parts(nodes, depth) => {
                    tasks.extend(graph.parts(&nodes).into_iter().rev().map(|part| Task::Part(part, depth)));
                }
                Task::Part(part, depth) => {
                    let inner = graph.decide(&part);
                    if !inner.is_empty() && depth < DEPTH {
                        tasks.push(Task::Parts(inner, depth + 1));
                    }
                }
            }
        }
        let found = graph.nodes.iter().filter_map(|n| Some((n.place, n.param, n.copy?)));
        Copies(found.collect())
    }
}

enum Task {
    /// Find the strongly connected components of the graph of these nodes, and examine each.
    Parts(Vec<u32>, u32),
    /// Examine a strongly connected component.
    Part(Vec<u32>, u32),
}

/// A parameter that may be a copy.
struct ParamNode {
    place: (Block, usize),
    param: Value,
    args: SmallVec<[Value; 2]>,
    /// The value that it is a copy of.
    copy: Option<Value>,
}

struct ParamGraph {
    nodes: Vec<ParamNode>,
    number: FxHashMap<Value, u32>,
    /// The component that a node was last found in.
    part: Vec<u32>,
    parts: u32,
}

impl ParamGraph {
    fn of(cx: &MatchCx<'_>) -> ParamGraph {
        let func = cx.func();
        let mut nodes: Vec<ParamNode> = Vec::new();
        let mut number: FxHashMap<Value, u32> = FxHashMap::default();
        let reachable = || func.blocks().filter(|&b| cx.is_reachable(b));
        for block in reachable().filter(|&b| func.entry() != Some(b)) {
            for (index, &param) in func.block_params(block).iter().enumerate() {
                number.insert(param, nodes.len() as u32);
                nodes.push(ParamNode { place: (block, index), param, args: SmallVec::new(), copy: None });
            }
        }
        let mut differs = vec![false; nodes.len()];
        for end in reachable().filter_map(|b| func.terminator(b)) {
            for target in &func.inst(end).targets {
                for (param, &arg) in func.block_params(target.block).iter().zip(&target.args) {
                    let Some(&at) = number.get(param) else { continue };
                    let held = !cx.is_written(arg) && !cx.is_written(*param);
                    differs[at as usize] |= !held || !func.ty(arg).refines(func.ty(*param));
                    nodes[at as usize].args.push(arg);
                }
            }
        }
        number.retain(|_, at| !differs[*at as usize]);
        let part = vec![0; nodes.len()];
        ParamGraph { nodes, number, part, parts: 0 }
    }

    /// The value that a value is a copy of, or the value itself.
    fn origin(&self, value: Value) -> Value {
        self.number.get(&value).and_then(|&at| self.nodes[at as usize].copy).unwrap_or(value)
    }

    /// Decides whether all parameters of a strongly connected component are copies of one value. If not,
    /// returns the parameters that get values from the component only; the others are no copies.
    fn decide(&mut self, part: &[u32]) -> Vec<u32> {
        self.parts += 1;
        part.iter().for_each(|&at| self.part[at as usize] = self.parts);
        let mut from: Option<Value> = None;
        let mut several = false;
        let mut inner: Vec<u32> = Vec::new();
        for &at in part {
            let mut outside = false;
            for &arg in &self.nodes[at as usize].args {
                if self.number.get(&arg).is_some_and(|&n| self.part[n as usize] == self.parts) {
                    continue;
                }
                let value = self.origin(arg);
                outside = true;
                several |= *from.get_or_insert(value) != value;
            }
            if !outside {
                inner.push(at);
            }
        }
        match from {
            Some(value) if !several => {
                part.iter().for_each(|&at| self.nodes[at as usize].copy = Some(value));
                Vec::new()
            }
            _ if inner.len() < part.len() => inner,
            _ => Vec::new(),
        }
    }

    /// The strongly connected components of the graph of some nodes, each after those that pass values to it
    /// (Tarjan, "Depth-first search and linear graph algorithms", 1972).
    fn parts(&mut self, nodes: &[u32]) -> Vec<Vec<u32>> {
        let mut order: FxHashMap<u32, u32> = nodes
            .iter()
            .filter(|&&at| self.number.contains_key(&self.nodes[at as usize].param))
            .map(|&at| (at, UNSEEN))
            .collect();
        let mut search =
            DepthFirstSearch { low: FxHashMap::default(), open: Vec::new(), path: Vec::new(), found: Vec::new() };
        let mut count = 0;
        for &root in nodes {
            if order.get(&root) != Some(&UNSEEN) {
                continue;
            }
            search.enter(root, &mut order, &mut count);
            while let Some(&mut (at, ref mut next)) = search.path.last_mut() {
                let arg = self.nodes[at as usize].args.get(*next).copied();
                *next += 1;
                let Some(arg) = arg else {
                    search.leave(at, &mut order);
                    continue;
                };
                let Some(&to) = self.number.get(&arg) else { continue };
                match order.get(&to) {
                    Some(&UNSEEN) => search.enter(to, &mut order, &mut count),
                    Some(&seen) if seen != DONE => search.lower(at, seen),
                    _ => {}
                }
            }
        }
        search.found
    }
}

/// Not visited yet.
const UNSEEN: u32 = u32::MAX;
/// In a complete component.
const DONE: u32 = u32::MAX - 1;

/// A depth-first search.
struct DepthFirstSearch {
    /// For each node the earliest node of the search that it leads back to.
    low: FxHashMap<u32, u32>,
    /// Nodes whose component is not complete.
    open: Vec<u32>,
    /// The current path, with the next argument of each node.
    path: Vec<(u32, usize)>,
    found: Vec<Vec<u32>>,
}

impl DepthFirstSearch {
    fn enter(&mut self, at: u32, order: &mut FxHashMap<u32, u32>, count: &mut u32) {
        order.insert(at, *count);
        self.low.insert(at, *count);
        *count += 1;
        self.open.push(at);
        self.path.push((at, 0));
    }

    fn lower(&mut self, at: u32, to: u32) {
        self.low.entry(at).and_modify(|low| *low = (*low).min(to));
    }

    fn leave(&mut self, at: u32, order: &mut FxHashMap<u32, u32>) {
        self.path.pop();
        let low = self.low.get(&at).copied().unwrap_or(UNSEEN);
        if let Some(&(above, _)) = self.path.last() {
            self.lower(above, low);
        }
        if order.get(&at) == Some(&low) {
            let begin = self.open.iter().rposition(|&n| n == at).unwrap_or(0);
            let part = self.open.split_off(begin);
            order.extend(part.iter().map(|&n| (n, DONE)));
            self.found.push(part);
        }
    }
}
