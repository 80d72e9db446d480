//! Satisfiability of circuits, by the SAT solver `batsat`.
//!
//! Of the solvers in Rust, only `batsat` has a deterministic limit, a number of conflicts. It takes up to
//! seven times as long as `varisat` and `splr` on products of two variables, and as long on other questions.
//!
//! A gate becomes a variable and three clauses (G. S. Tseitin, "On the Complexity of Derivation in
//! Propositional Calculus", 1970). Only gates in the cone of the goal are encoded. The limit is a number of
//! conflicts, never a time, so the answer is the same on every machine.

use super::circuit::{Bit, Circuit, Gate};
use batsat::{Callbacks, Lit, Solver as Batsat, SolverInterface, SolverOpts, Var, clause, lbool};

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Satisfiable {
    /// Satisfiable: the value of each gate in the cone.
    Yes(Vec<Option<bool>>),
    /// Unsatisfiable.
    No,
    /// The limit was reached.
    Unknown,
}

/// Counts conflicts up to a limit.
struct Limit {
    left: u64,
}

impl Callbacks for Limit {
    fn on_new_clause(&mut self, _: &[Lit], source: clause::Kind) {
        if source == clause::Kind::Learnt {
            self.left = self.left.saturating_sub(1);
        }
    }
    fn stop(&self) -> bool {
        self.left == 0
    }
}

/// Decides whether some input makes a bit true, within a limit on conflicts.
pub(super) fn satisfiable(circuit: &Circuit, goal: Bit, conflicts: u64) -> Satisfiable {
    match goal.as_constant() {
        Some(false) => return Satisfiable::No,
        Some(true) => return Satisfiable::Yes(vec![None; circuit.len()]),
        None => {}
    }
    let mut needed = vec![false; circuit.len()];
    needed[goal.gate()] = true;
    for number in (0..circuit.len()).rev().filter(|&number| number <= goal.gate()) {
        if let (true, Gate::And(a, b)) = (needed[number], circuit.gate(number)) {
            needed[a.gate()] = true;
            needed[b.gate()] = true;
        }
    }
    let mut solver = Batsat::new(SolverOpts::default(), Limit { left: conflicts });
    let mut vars: Vec<Option<Var>> = vec![None; circuit.len()];
    let mut clause: Vec<Lit> = Vec::new();
    for number in (0..circuit.len()).filter(|&number| needed[number]) {
        let var = solver.new_var_default();
        vars[number] = Some(var);
        let Gate::And(a, b) = circuit.gate(number) else { continue };
        let lit = |bit: Bit| vars[bit.gate()].map(|var| Lit::new(var, !bit.is_complement()));
        let (Some(a), Some(b)) = (lit(a), lit(b)) else { continue };
        let gate = Lit::new(var, true);
        for literals in [&[!gate, a][..], &[!gate, b], &[gate, !a, !b]] {
            clause.clear();
            clause.extend_from_slice(literals);
            solver.add_clause_reuse(&mut clause);
        }
    }
    let Some(root) = vars[goal.gate()] else { return Satisfiable::Unknown };
    clause.clear();
    clause.push(Lit::new(root, !goal.is_complement()));
    solver.add_clause_reuse(&mut clause);
    let answer = solver.solve_limited(&[]);
    if answer == lbool::FALSE {
        return Satisfiable::No;
    }
    if answer != lbool::TRUE {
        return Satisfiable::Unknown;
    }
    let value = |var: &Option<Var>| var.map(|var| solver.value_var(var) == lbool::TRUE);
    Satisfiable::Yes(vars.iter().map(value).collect())
}

#[cfg(test)]
mod tests {
    use super::super::word;
    use super::*;

    #[test]
    fn factors_are_found_and_primes_have_none() {
        let mut c = Circuit::new(100_000);
        let (a, b): (word::Word, word::Word) =
            ((0..8).map(|_| c.input()).collect(), (0..8).map(|_| c.input()).collect());
        let [wide_a, wide_b] = [&a, &b].map(|w| word::resized(w, 16, Bit::FALSE));
        let product = word::mul(&mut c, &wide_a, &wide_b);
        let one = word::constant(1, 8);
        let ordered = [word::less(&mut c, &one, &a), word::less(&mut c, &one, &b)];
        let mut goal = |number: u64| {
            let equal = word::equal(&mut c, &product, &word::constant(number, 16));
            c.all([equal, ordered[0], ordered[1]])
        };
        let (composite, prime) = (goal(251 * 241), goal(65_521));
        let Satisfiable::Yes(values) = satisfiable(&c, composite, 10_000) else { panic!("251 * 241 has factors") };
        let number =
            |w: &[Bit]| (0..8).filter(|&at| values[w[at].gate()] == Some(true)).fold(0u64, |all, at| all | 1 << at);
        assert_eq!(number(&a) * number(&b), 251 * 241);
        assert_eq!(satisfiable(&c, prime, 10_000), Satisfiable::No);
    }

    #[test]
    fn a_hard_question_ends_at_the_limit() {
        let mut c = Circuit::new(100_000);
        let [a, b]: [word::Word; 2] = [(); 2].map(|()| (0..16).map(|_| c.input()).collect());
        let [one, other] = [word::mul(&mut c, &a, &b), word::mul(&mut c, &b, &a)];
        let same = word::equal(&mut c, &one, &other);
        // Commutativity of products at 16 bits is out of reach of SAT solvers.
        assert_eq!(satisfiable(&c, !same, 100), Satisfiable::Unknown);
    }
}
