//! Finds rules whose pattern matches a part of their own template. The greedy driver would apply such a rule
//! to its own result without end.

use super::{AttrTerm, DTypes, Direction, Node, NodeId, OpTerm, Rule};

/// Whether a `=>` rule matches in its own result. Rules of several roots are not examined.
pub(super) fn matches_own_result(rule: &Rule) -> bool {
    if rule.direction != Direction::Rewrites || !rule.also.is_empty() {
        return false;
    }
    let mut todo: Vec<NodeId> = rule.rhs.to_vec();
    while let Some(at) = todo.pop() {
        let Node::Op(term) = &rule.nodes[at] else { continue };
        let mut bound = vec![None; rule.vars.len()];
        let is_same = |(var, at): (usize, &Option<NodeId>)| at.is_none_or(|at| rule.nodes[at] == Node::Var(var));
        if matches(rule, rule.lhs, at, &mut bound)
            && (rule.conditions.is_empty() || bound.iter().enumerate().all(is_same))
        {
            return true;
        }
        todo.extend(&term.args);
    }
    false
}

/// Whether each instance of the template's term `at` is an instance of the pattern's term `pattern`. `bound`
/// has the term that each variable of the pattern stands for.
fn matches(rule: &Rule, pattern: NodeId, at: NodeId, bound: &mut [Option<NodeId>]) -> bool {
    match (&rule.nodes[pattern], &rule.nodes[at]) {
        (Node::Var(var), other) => {
            let known = *bound[*var].get_or_insert(at);
            known == at && (*other == Node::Var(*var) || fits(rule, *var, other))
        }
        (Node::Literal(a), Node::Literal(b)) => a == b,
        (Node::Op(a), Node::Op(b)) => {
            a.op == b.op
                && a.result == b.result
                && a.args.len() == b.args.len()
                && same_attrs(a, b)
                && a.args.iter().zip(&b.args).all(|(&a, &b)| matches(rule, a, b, bound))
        }
        _ => false,
    }
}

/// Whether a variable of the pattern can stand for a term.
fn fits(rule: &Rule, var: usize, term: &Node) -> bool {
    let var = &rule.vars[var];
    match term {
        Node::Var(other) => {
            let other = &rule.vars[*other];
            (other.constant || !var.constant)
                && (other.varies || !var.varies)
                && other.dtypes.and(var.dtypes) == other.dtypes
        }
        Node::Literal(_) | Node::Computed(_) => var.dtypes == DTypes::ALL && !var.varies,
        Node::Op(op) => !var.constant && op.args.iter().all(|&arg| has_dtypes(rule, arg, var.dtypes)),
    }
}

/// Whether the variables of a term have these dtypes only, so that the term most likely has, too.
fn has_dtypes(rule: &Rule, at: NodeId, dtypes: DTypes) -> bool {
    match &rule.nodes[at] {
        Node::Var(var) => rule.vars[*var].dtypes.and(dtypes) == rule.vars[*var].dtypes,
        Node::Literal(_) | Node::Computed(_) => true,
        Node::Op(op) => op.args.iter().all(|&arg| has_dtypes(rule, arg, dtypes)),
    }
}

/// Whether each attribute of a term of the pattern is the same in a term of the template, or is any value.
fn same_attrs(pattern: &OpTerm, term: &OpTerm) -> bool {
    pattern.attrs.len() == term.attrs.len()
        && pattern.attrs.iter().all(|(name, want)| {
            let found = term.attrs.iter().find(|(other, _)| other == name);
            found.is_some_and(|(_, found)| found == want || matches!(want, AttrTerm::Var(_)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::parse_rule;

    fn is_endless(text: &str) -> bool {
        let rule = parse_rule("r", text).unwrap_or_else(|errors| panic!("{text}: {errors}"));
        matches_own_result(&rule)
    }

    #[test]
    fn rules_that_apply_to_their_own_result_are_found() {
        for text in [
            "(neg ?x) => (neg (neg (neg ?x)))",
            "(neg ?x:int) => (neg (mul ?x 1))",
            "(add ?x ?y) => (add ?y ?x)",
            "(mul ?x:int ?y) => (neg (mul (neg ?x) ?y)) if [(ne ?y 0)]",
            "(add ?x:int 1) => (sub (add ?x 1) 0)",
            "(sum ?x axes=@a) => (neg (sum (neg ?x) axes=@a))",
        ] {
            assert!(is_endless(text) != text.contains("if ["), "{text}");
        }
        // With conditions, only where each variable is bound to itself.
        assert!(is_endless("(mul ?x:int ?y) => (neg (neg (mul ?x ?y))) if [(ne ?y 0)]"));
    }

    #[test]
    fn rules_that_end_are_not() {
        for text in [
            "(neg (neg ?x)) => ?x",
            "(add ?x ?y) ~> (add ?y ?x)",
            "(mul ?x:int 2) => (add ?x ?x)",
            "(add ?a:const.int ?x:nonconst) => (add ?x ?a)",
            "(add (add ?x:int ?a:const) ?b:const) => (add ?x [add ?a ?b])",
        ] {
            assert!(!is_endless(text), "{text}");
        }
    }
}
