//! The combinations of dtypes that a rule's variables can have.

use crate::rule::{AttrTerm, Node, OpTerm, Rule};
use rewright_ir::DType;
use rewright_ir::op::Eval;
use smallvec::SmallVec;

/// The limit on steps of the search for combinations. Beyond it combinations are sampled.
const MAX_STEPS: usize = 1 << 16;

/// The size of that sample.
const SAMPLE: usize = 1 << 12;

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
    let choices: Vec<Vec<DType>> = rule.vars.iter().map(|var| var.dtypes.iter().collect()).collect();
    let mut search = DTypeSearch { rule, choices: &choices, steps: 0, found: Vec::new() };
    let mut assigned = vec![None; choices.len()];
    let whole = search.from(0, &mut assigned);
    let mut list = search.found;
    let mut sampled_from = None;
    if !whole {
        let all = choices.iter().map(Vec::len).fold(1usize, usize::saturating_mul);
        sampled_from = Some(all);
        // An odd stride visits combinations evenly.
        let stride = (all / SAMPLE).max(1) | 1;
        let nth = |number: usize| -> Vec<DType> {
            let mut rest = number.wrapping_mul(stride) % all;
            let mut pick = |list: &Vec<DType>| {
                let dtype = list[rest % list.len()];
                rest /= list.len();
                dtype
            };
            choices.iter().map(&mut pick).collect()
        };
        let sample = alike(rule).into_iter().chain((0..SAMPLE).map(nth));
        list = sample.filter(|d| casts_nothing(rule, &d.iter().map(|&d| Some(d)).collect::<Vec<_>>())).collect();
    }
    let is_mixed = |dtypes: &Vec<DType>| dtypes.windows(2).any(|pair| pair[0] != pair[1]);
    list.sort_by_key(is_mixed);
    list.dedup();
    Combinations { list, sampled_from }
}

struct DTypeSearch<'a> {
    rule: &'a Rule,
    choices: &'a [Vec<DType>],
    steps: usize,
    found: Vec<Vec<DType>>,
}

impl DTypeSearch<'_> {
    /// Assigns dtypes to the variables from `var` on; false beyond the limit on steps.
    fn from(&mut self, var: usize, assigned: &mut Vec<Option<DType>>) -> bool {
        if var == assigned.len() {
            self.found.push(assigned.iter().copied().flatten().collect());
            return true;
        }
        for &dtype in &self.choices[var] {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return false;
            }
            assigned[var] = Some(dtype);
            let goes_on = !casts_nothing(self.rule, assigned) || self.from(var + 1, assigned);
            assigned[var] = None;
            if !goes_on {
                return false;
            }
        }
        true
    }
}

/// Whether every elementwise op is defined at these dtypes and casts no operand. Ops on variables without a
/// dtype are not considered.
fn casts_nothing(rule: &Rule, assigned: &[Option<DType>]) -> bool {
    let mut known: Vec<Option<DType>> = vec![None; rule.nodes.len()];
    for (id, node) in rule.nodes.iter().enumerate() {
        known[id] = match node {
            Node::Var(var) => assigned[*var],
            Node::Op(term) | Node::Computed(term) => match result(rule, term, &known) {
                Ok(dtype) => dtype,
                Err(()) => return false,
            },
            Node::Literal(_) => None,
        };
    }
    true
}

/// The dtype of an op's result, if the dtypes of its operands are known.
fn result(rule: &Rule, term: &OpTerm, known: &[Option<DType>]) -> Result<Option<DType>, ()> {
    let Eval::Elementwise { resolve, .. } = term.op.eval else { return Ok(None) };
    if term.attrs.iter().any(|(_, attr)| matches!(attr, AttrTerm::Var(_))) {
        return Ok(None);
    }
    let attrs = term.attrs(&[]);
    let dtypes: SmallVec<[Option<DType>; 3]> = term.args.iter().map(|&arg| known[arg]).collect();
    let mut whole: SmallVec<[DType; 3]> = SmallVec::new();
    for (at, &arg) in term.args.iter().enumerate() {
        whole.push(match (dtypes[at], &rule.nodes[arg]) {
            (Some(dtype), _) => dtype,
            (None, Node::Literal(literal)) => {
                // A literal takes its dtype from the other operands.
                let open = term.args.iter().any(|&a| known[a].is_none() && !matches!(rule.nodes[a], Node::Literal(_)));
                if open {
                    return Ok(None);
                }
                literal.operand(term.op, &attrs, at, &dtypes).map_err(|_| ())?.dtype()
            }
            (None, _) => return Ok(None),
        });
    }
    let found = resolve(&whole, &attrs).map_err(|_| ())?;
    match found.ins.iter().eq(&whole) {
        true => Ok(found.outs.get(term.result).copied()),
        false => Err(()),
    }
}
