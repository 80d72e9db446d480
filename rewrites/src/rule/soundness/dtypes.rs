//! The combinations of dtypes that a rule's variables can have.
//!
//! Each elementwise term relates the dtypes of its operands and of its result: it casts no operand. The
//! combinations are the solutions of these constraints. Before each choice the search removes the dtypes that
//! a constraint excludes, so that few choices are dead ends.
//!
//! If there are too many solutions, the search finds those with one dtype wherever possible, and then one for
//! each pair of variables at each pair of dtypes.
//!
//! Source: A. K. Mackworth, "Consistency in Networks of Relations", 1977; pairwise testing: D. M. Cohen et
//! al., "The AETG System", 1997.

use crate::rule::{AttrTerm, DTypes, Node, NodeId, OpTerm, Rule};
use rewright_ir::DType;
use smallvec::SmallVec;

/// The limit on combinations. Beyond it they are sampled.
const MAX_COMBINATIONS: usize = 1 << 15;

/// The limit on the size of that sample.
const MAX_SAMPLE: usize = 1 << 12;

/// The limit on combinations of the operands of one term; terms with more are no constraints.
const MAX_TUPLES: usize = 1 << 13;

/// The limit on choices in the search for one combination.
const MAX_CHOICES: usize = 1 << 8;

/// The combinations of dtypes for which no elementwise op of the rule casts an operand. Combinations with one
/// dtype for all variables come first.
pub(super) struct Combinations {
    pub list: Vec<Vec<DType>>,
    /// The number of all combinations, if the list is a sample of them.
    pub sampled_from: Option<usize>,
}

/// One dtype for all variables, for each dtype that all of them may have.
pub(super) fn alike(rule: &Rule) -> Vec<Vec<DType>> {
    let fits = |dtypes: &Vec<DType>| rule.vars.iter().zip(dtypes).all(|(var, &d)| var.dtypes.contains(d));
    DType::ALL.into_iter().map(|dtype| vec![dtype; rule.vars.len()]).filter(fits).collect()
}

/// The combinations of a rule.
pub(super) fn combinations(rule: &Rule) -> Combinations {
    let mut search = DTypeSearch { rule, relations: Vec::new(), var_nodes: Vec::new(), found: Vec::new() };
    let domains = search.domains();
    let whole = domains.as_ref().is_none_or(|domains| search.from(0, domains));
    let mut list = std::mem::take(&mut search.found);
    let mut sampled_from = None;
    if let Some(domains) = domains.filter(|_| !whole) {
        let counts = search.var_nodes.iter().map(|&node| domains[node].iter().count());
        sampled_from = Some(counts.fold(1usize, usize::saturating_mul));
        list = search.pairs(&domains);
    }
    let is_mixed = |dtypes: &Vec<DType>| dtypes.windows(2).any(|pair| pair[0] != pair[1]);
    list.sort_by_key(is_mixed);
    Combinations { list, sampled_from }
}

/// A small part of a list of combinations in which each variable has each of its dtypes.
pub(super) fn covering(list: &[Vec<DType>]) -> Vec<Vec<DType>> {
    let mut seen = vec![DTypes::none(); list.first().map_or(0, Vec::len)];
    let mut chosen = Vec::new();
    for dtypes in list {
        let is_new = seen.iter().zip(dtypes).any(|(seen, &dtype)| !seen.contains(dtype));
        if is_new || chosen.is_empty() {
            seen.iter_mut().zip(dtypes).for_each(|(seen, &dtype)| *seen = seen.with(dtype));
            chosen.push(dtypes.clone());
        }
    }
    chosen
}

/// The dtypes that an elementwise term allows for its operands and its result.
struct Relation {
    /// The operands that are no literals, each once, and the term.
    nodes: SmallVec<[NodeId; 4]>,
    tuples: Vec<SmallVec<[DType; 4]>>,
}

/// The possible dtypes of each term.
type Domains = Vec<DTypes>;

struct DTypeSearch<'a> {
    rule: &'a Rule,
    relations: Vec<Relation>,
    /// The term of each variable.
    var_nodes: Vec<NodeId>,
    found: Vec<Vec<DType>>,
}

impl DTypeSearch<'_> {
    /// The possible dtypes of all terms; `None` if there are none.
    fn domains(&mut self) -> Option<Domains> {
        let rule = self.rule;
        let mut domains = vec![DTypes::ALL; rule.nodes.len()];
        // A variable without a term has a place behind them.
        self.var_nodes = (0..rule.vars.len()).map(|var| rule.nodes.len() + var).collect();
        domains.extend(rule.vars.iter().map(|var| var.dtypes));
        for (id, node) in rule.nodes.iter().enumerate() {
            match node {
                Node::Var(var) => {
                    domains[id] = rule.vars[*var].dtypes;
                    self.var_nodes[*var] = id;
                }
                Node::Op(term) | Node::Computed(term) => {
                    if let Some(relation) = Relation::of(rule, id, term, &domains) {
                        self.relations.push(relation);
                        propagate(&self.relations[self.relations.len() - 1..], &mut domains)?;
                    }
                }
                Node::Literal(_) => {}
            }
        }
        propagate(&self.relations, &mut domains)?;
        Some(domains)
    }

    /// Finds all combinations of the variables from `var` on; false if there are too many.
    fn from(&mut self, var: usize, domains: &Domains) -> bool {
        let Some(&node) = self.var_nodes.get(var) else {
            let dtypes = self.var_nodes.iter().filter_map(|&node| domains[node].iter().next());
            self.found.push(dtypes.collect());
            return self.found.len() <= MAX_COMBINATIONS;
        };
        domains[node].iter().all(|dtype| self.with(domains, node, dtype).is_none_or(|next| self.from(var + 1, &next)))
    }

    /// The domains with the dtype of one term chosen; `None` if that is impossible.
    fn with(&self, domains: &Domains, node: NodeId, dtype: DType) -> Option<Domains> {
        let mut next = domains.clone();
        next[node] = DTypes::none().with(dtype);
        propagate(&self.relations, &mut next)?;
        Some(next)
    }

    /// Combinations with one dtype wherever possible, and then one for each pair of variables and dtypes.
    fn pairs(&self, domains: &Domains) -> Vec<Vec<DType>> {
        let mut all: Vec<Vec<DType>> = Vec::new();
        for dtype in DType::ALL {
            let found = self.first(0, domains, &[dtype], &mut 0);
            all.extend(found.filter(|found| !all.contains(found)));
        }
        let count = self.var_nodes.len();
        for (first, second) in (0..count).flat_map(|first| (first + 1..count).map(move |second| (first, second))) {
            let [a, b] = [first, second].map(|var| self.var_nodes[var]);
            for dtype in domains[a].iter() {
                let Some(fixed) = self.with(domains, a, dtype) else { continue };
                for other in fixed[b].iter() {
                    if all.len() >= MAX_SAMPLE || all.iter().any(|d| d[first] == dtype && d[second] == other) {
                        continue;
                    }
                    let both = self.with(&fixed, b, other);
                    all.extend(both.and_then(|both| self.first(0, &both, &[dtype, other], &mut 0)));
                }
            }
        }
        all
    }

    /// The first combination, where each variable has one of the preferred dtypes if it can.
    fn first(&self, var: usize, domains: &Domains, preferred: &[DType], choices: &mut usize) -> Option<Vec<DType>> {
        let Some(&node) = self.var_nodes.get(var) else {
            return self.var_nodes.iter().map(|&node| domains[node].iter().next()).collect();
        };
        let possible = domains[node];
        let early = preferred.iter().copied().filter(|&dtype| possible.contains(dtype));
        let late = possible.iter().filter(|dtype| !preferred.contains(dtype));
        for dtype in early.chain(late) {
            *choices += 1;
            if *choices > MAX_CHOICES {
                return None;
            }
            let next = self.with(domains, node, dtype);
            if let Some(found) = next.and_then(|next| self.first(var + 1, &next, preferred, choices)) {
                return Some(found);
            }
        }
        None
    }
}

/// Removes the dtypes that a relation excludes, until all relations agree; `None` if no dtype remains.
fn propagate(relations: &[Relation], domains: &mut Domains) -> Option<()> {
    loop {
        let mut changed = false;
        for relation in relations {
            let mut possible: SmallVec<[DTypes; 4]> = SmallVec::from_elem(DTypes::none(), relation.nodes.len());
            let fits = |tuple: &&SmallVec<[DType; 4]>| {
                relation.nodes.iter().zip(tuple.iter()).all(|(&node, &dtype)| domains[node].contains(dtype))
            };
            for tuple in relation.tuples.iter().filter(fits) {
                possible.iter_mut().zip(tuple).for_each(|(set, &dtype)| *set = set.with(dtype));
            }
            for (&node, set) in relation.nodes.iter().zip(possible) {
                if set == DTypes::none() {
                    return None;
                }
                changed |= domains[node] != set;
                domains[node] = set;
            }
        }
        if !changed {
            return Some(());
        }
    }
}

impl Relation {
    /// The relation of a term. `None` if it is not elementwise, has an attribute that is a variable, or too
    /// many operands.
    fn of(rule: &Rule, id: NodeId, term: &OpTerm, domains: &Domains) -> Option<Relation> {
        if !term.op.is_elementwise() || term.attrs.iter().any(|(_, attr)| matches!(attr, AttrTerm::Var(_))) {
            return None;
        }
        let mut nodes: SmallVec<[NodeId; 4]> = SmallVec::new();
        for &arg in term.args.iter().filter(|&&arg| !matches!(rule.nodes[arg], Node::Literal(_))) {
            if !nodes.contains(&arg) {
                nodes.push(arg);
            }
        }
        let lists: Vec<Vec<DType>> = nodes.iter().map(|&node| domains[node].iter().collect()).collect();
        let count = lists.iter().map(Vec::len).fold(1usize, usize::saturating_mul);
        if count > MAX_TUPLES {
            return None;
        }
        let mut tuples = Vec::new();
        for number in 0..count {
            let mut rest = number;
            let mut tuple: SmallVec<[DType; 4]> = SmallVec::new();
            for list in &lists {
                tuple.push(list[rest % list.len()]);
                rest /= list.len();
            }
            if let Some(dtype) = result(rule, term, &nodes, &tuple) {
                tuple.push(dtype);
                tuples.push(tuple);
            }
        }
        nodes.push(id);
        Some(Relation { nodes, tuples })
    }
}

/// The dtype of an elementwise op's result at these dtypes of its operands; `None` if it casts one of them.
fn result(rule: &Rule, term: &OpTerm, nodes: &[NodeId], known: &[DType]) -> Option<DType> {
    let attrs = term.attrs(&[]);
    let of = |arg: &NodeId| nodes.iter().position(|node| node == arg).map(|at| known[at]);
    let dtypes: SmallVec<[Option<DType>; 3]> = term.args.iter().map(of).collect();
    let mut whole: SmallVec<[DType; 3]> = SmallVec::new();
    for (at, &arg) in term.args.iter().enumerate() {
        whole.push(match (dtypes[at], &rule.nodes[arg]) {
            (Some(dtype), _) => dtype,
            (None, Node::Literal(literal)) => literal.operand(term.op, &attrs, at, &dtypes).ok()?.dtype(),
            (None, _) => return None,
        });
    }
    let found = term.op.loop_at(&whole, &attrs).ok()?;
    found.ins.iter().eq(&whole).then(|| found.outs.get(term.result).copied()).flatten()
}
