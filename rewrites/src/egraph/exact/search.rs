//! The integer program: builds it, tightens its relaxation, solves it, and adds constraints as long as the
//! solution has a cycle.

use super::candidates::Candidates;
use super::{SearchLimits, SearchResult, Stopped};
use crate::egraph::extract::{Class, Problem, Solution};
use microlp::{ComparisonOp, Error, OptimizationDirection, SolutionStatus, SolveOptions, SolveOutcome};
use microlp::{Problem as Program, Variable};
use rustc_hash::FxHashSet;

/// A linear constraint on variables, given by number.
struct Row {
    terms: Vec<(usize, f64)>,
    op: ComparisonOp,
    bound: f64,
}

/// The factor by which one unit of cost exceeds the cost of all new nodes together.
const APART: usize = 16;

/// Values below this count as zero.
const SMALL: f64 = 1e-6;

/// The program, and the mapping from variables to nodes.
pub(super) struct ExactSearch<'a> {
    problem: &'a Problem,
    candidates: Candidates,
    classes: Vec<Class>,
    /// The number of the variable of a class's first candidate; the others follow.
    first: Vec<usize>,
    weights: Vec<f64>,
    rows: Vec<Row>,
    /// The number of rows at the beginning that are never dropped.
    firm: usize,
    /// The known solution.
    start: Vec<f64>,
    /// The weight of the known solution.
    known: f64,
    /// The weight of one unit of cost; a new node weighs one. It exceeds the weight of all new nodes
    /// together, so that it breaks ties and the solver does not get lost among them.
    unit: f64,
    limits: SearchLimits,
}

impl<'a> ExactSearch<'a> {
    pub fn new(problem: &'a Problem, known: &Solution, limits: SearchLimits) -> Result<Self, Stopped> {
        let candidates = Candidates::new(problem, known)?;
        let classes = candidates.reached(&problem.roots);
        let mut first = vec![0; candidates.of.len()];
        let mut weights = Vec::new();
        let unit = (APART * (classes.len() + 1)) as f64;
        for &class in &classes {
            first[class] = weights.len();
            weights.extend(candidates.of[class].iter().map(|c| c.weight as f64 * unit + f64::from(u8::from(c.fresh))));
        }
        if weights.len() > limits.choices {
            return Err(Stopped::Choices(weights.len()));
        }
        let (rows, start) = (Vec::new(), Vec::new());
        let known_weight = candidates.weight(known.cost);
        let mut search = ExactSearch {
            problem,
            candidates,
            classes,
            first,
            weights,
            rows,
            firm: 0,
            start,
            known: known_weight,
            unit,
            limits,
        };
        search.constrain();
        search.firm = search.rows.len();
        search.start_at(known);
        Ok(search)
    }

    /// The variables of a class's nodes, with the classes that the nodes need.
    fn nodes(&self, class: Class) -> impl Iterator<Item = (usize, &[Class])> + '_ {
        self.candidates.of[class].iter().enumerate().map(move |(n, c)| (self.first[class] + n, &c.needs[..]))
    }

    fn constrain(&mut self) {
        for at in 0..self.classes.len() {
            let class = self.classes[at];
            let all: Vec<(usize, f64)> = self.nodes(class).map(|(v, _)| (v, 1.0)).collect();
            let is_root = self.problem.roots.contains(&class);
            let op = if is_root { ComparisonOp::Eq } else { ComparisonOp::Le };
            if is_root || all.len() > 1 {
                self.rows.push(Row { terms: all, op, bound: 1.0 });
            }
            let mut used: Vec<Class> = self.nodes(class).flat_map(|(_, needs)| needs.iter().copied()).collect();
            used.sort_unstable();
            used.dedup();
            for used in used {
                let chosen = self.nodes(class).filter(|(_, needs)| needs.contains(&used)).map(|(v, _)| (v, 1.0));
                let there = self.nodes(used).map(|(v, _)| (v, -1.0));
                let terms = chosen.chain(there).collect();
                self.rows.push(Row { terms, op: ComparisonOp::Le, bound: 0.0 });
            }
        }
    }

    /// Starts at the known solution, with dropped nodes replaced by those that dominate them.
    fn start_at(&mut self, known: &Solution) {
        let mut start = vec![0.0; self.weights.len()];
        let mut work = self.problem.roots.clone();
        let mut seen = self.candidates.is_free();
        while let Some(class) = work.pop() {
            if std::mem::replace(&mut seen[class], true) {
                continue;
            }
            let Some(node) = known.node[class] else { return };
            let node = self.candidates.instead.get(&(class, node)).copied().unwrap_or(node);
            let Some(at) = self.candidates.of[class].iter().position(|c| c.node == node) else { return };
            start[self.first[class] + at] = 1.0;
            work.extend(self.candidates.of[class][at].needs.iter().copied());
        }
        self.start = start;
    }

    fn program(&self, whole: bool) -> (Program, Vec<Variable>) {
        let mut program = Program::new(OptimizationDirection::Minimize);
        let variable = |&weight: &f64| match whole {
            true => program.add_binary_var(weight),
            false => program.add_var(weight, (0.0, 1.0)),
        };
        let variables: Vec<Variable> = self.weights.iter().map(variable).collect();
        for row in &self.rows {
            program.add_constraint(row.terms.iter().map(|&(v, by)| (variables[v], by)), row.op, row.bound);
        }
        (program, variables)
    }

    /// The cheapest solution, or the best known one if a limit is reached.
    pub fn run(mut self, known: Solution) -> SearchResult {
        let result = match self.may_be_cheaper() {
            Ok(true) => self.solve(),
            Ok(false) => Ok(None),
            Err(stopped) => Err(stopped),
        };
        match result {
            Ok(Some((found, stopped))) if found.cost < known.cost => (self.problem.exchange(found), stopped),
            Ok(Some((_, stopped))) => (known, stopped),
            Ok(None) => (known, None),
            Err(stopped) => (known, Some(stopped)),
        }
    }

    /// Computes a lower bound with the linear relaxation, and adds constraints as long as its solution has a
    /// cycle.
    fn may_be_cheaper(&mut self) -> Result<bool, Stopped> {
        for _ in 0..self.limits.rounds {
            let (program, variables) = self.program(false);
            let solved = match program.solve() {
                Ok(SolveOutcome::Solution(solved)) => solved,
                Ok(SolveOutcome::Interrupted(_)) => return Ok(true),
                Err(Error::Infeasible) => return Ok(false),
                Err(error) => return Err(Stopped::Solver(error.to_string())),
            };
            let least = solved.objective();
            if least > (self.known - 1.0) * self.unit + self.classes.len() as f64 + 1.0 {
                return Ok(false);
            }
            let value: Vec<f64> = variables.iter().map(|&v| solved.var_value(v)).collect();
            self.drop_slack(&value);
            if self.begin_circles(&value) == 0 {
                break;
            }
        }
        Ok(true)
    }

    /// Drops rows that are slack at these values.
    fn drop_slack(&mut self, value: &[f64]) {
        let rows = std::mem::take(&mut self.rows);
        let is_tight = |row: &Row| row.bound - row.terms.iter().map(|&(v, by)| by * value[v]).sum::<f64>() < 1e-3;
        self.rows = rows
            .into_iter()
            .enumerate()
            .filter(|(at, row)| *at < self.firm || is_tight(row))
            .map(|(_, row)| row)
            .collect();
    }

    /// A solution that costs less than the known one; `None` if there is none.
    fn solve(&mut self) -> Result<Option<(Solution, Option<Stopped>)>, Stopped> {
        let mut branches = self.limits.branches;
        for _ in 0..self.limits.rounds {
            let (program, variables) = self.program(true);
            let mut options = SolveOptions::default();
            options.node_limit = Some(branches);
            options.warm_start = Some(variables.iter().copied().zip(self.start.iter().copied()).collect());
            // Prunes branches that are not cheaper by at least one unit of cost.
            options.tolerances.prune_epsilon =
                (self.unit - 2.0 * self.classes.len() as f64) / ((self.known + 1.0) * self.unit);
            let solved = match program.solve_with(options) {
                Ok(SolveOutcome::Solution(solved)) => solved,
                Ok(SolveOutcome::Interrupted(_)) => return Err(Stopped::Branches(self.limits.branches)),
                Err(Error::Infeasible) => return Ok(None),
                Err(error) => return Err(Stopped::Solver(error.to_string())),
            };
            branches = branches.saturating_sub(solved.stats().nodes_solved);
            let value: Vec<f64> = variables.iter().map(|&v| solved.var_value(v).round()).collect();
            if self.begin_circles(&value) > 0 {
                continue;
            }
            let stopped = match solved.status() {
                SolutionStatus::Optimal => None,
                SolutionStatus::Feasible => Some(Stopped::Branches(self.limits.branches)),
            };
            return match self.problem.rated(self.chosen(&value)) {
                Some(found) => Ok(Some((found, stopped))),
                None => Err(Stopped::Solver("its solution has gaps".to_string())),
            };
        }
        Err(Stopped::Circles(self.limits.rounds))
    }

    fn chosen(&self, value: &[f64]) -> Vec<Option<usize>> {
        let mut node = self.candidates.free.clone();
        for &class in &self.classes {
            let of = &self.candidates.of[class];
            node[class] = of.iter().zip(&value[self.first[class]..]).find(|(_, v)| **v > 0.5).map(|(c, _)| c.node);
        }
        node
    }

    /// Adds constraints against cycles: a class of a cycle may be chosen only if a node that needs no class
    /// of the cycle is chosen in one of them. Adds those of these constraints that it finds the values to
    /// violate, and returns their number.
    ///
    /// (Lin and Zhao, "ASSAT: computing answer sets of a logic program by SAT solvers", 2004, call these
    /// loop formulas.)
    fn begin_circles(&mut self, value: &[f64]) -> usize {
        let begun = self.begun(value);
        let mut tried: FxHashSet<Vec<Class>> = FxHashSet::default();
        let mut rows = Vec::new();
        for &class in &self.classes {
            let here: f64 = self.nodes(class).map(|(v, _)| value[v]).sum();
            if begun[class] + SMALL >= here {
                continue;
            }
            let circle = self.circle(class, begun[class] + SMALL, &begun, value);
            if !tried.insert(circle.clone()) {
                continue;
            }
            let among = |needs: &[Class]| needs.iter().any(|class| circle.binary_search(class).is_ok());
            let begins: Vec<usize> =
                circle.iter().flat_map(|&c| self.nodes(c)).filter(|(_, needs)| !among(needs)).map(|(v, _)| v).collect();
            let enough: f64 = begins.iter().map(|&v| value[v]).sum();
            for &class in &circle {
                let here: f64 = self.nodes(class).map(|(v, _)| value[v]).sum();
                if here > enough + 10.0 * SMALL {
                    let users = self.nodes(class).map(|(v, _)| v).filter(|v| !begins.contains(v)).map(|v| (v, 1.0));
                    let others = begins.iter().filter(|v| !self.is_of(class, **v)).map(|&v| (v, -1.0));
                    rows.push(Row { terms: users.chain(others).collect(), op: ComparisonOp::Le, bound: 0.0 });
                }
            }
        }
        let count = rows.len();
        self.rows.extend(rows);
        count
    }

    fn is_of(&self, class: Class, variable: usize) -> bool {
        (self.first[class]..self.first[class] + self.candidates.of[class].len()).contains(&variable)
    }

    /// The fraction of each class that can be computed bottom-up from the leaves.
    fn begun(&self, value: &[f64]) -> Vec<f64> {
        let mut begun: Vec<f64> = self.candidates.is_free().iter().map(|&free| if free { 1.0 } else { 0.0 }).collect();
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for &class in &self.classes {
                let by = |(v, needs): (usize, &[Class])| needs.iter().fold(value[v], |least, &c| least.min(begun[c]));
                let most = self.nodes(class).map(by).fold(0.0, f64::max);
                if most > begun[class] {
                    begun[class] = most;
                    changed = true;
                }
            }
        }
        begun
    }

    /// The class, and the classes that it is computed from and that limit its fraction.
    fn circle(&self, class: Class, most: f64, begun: &[f64], value: &[f64]) -> Vec<Class> {
        let mut circle = vec![class];
        let mut at = 0;
        while let Some(&class) = circle.get(at) {
            at += 1;
            for (_, needs) in self.nodes(class).filter(|(v, _)| value[*v] > SMALL) {
                for &need in needs {
                    if begun[need] <= most && !circle.contains(&need) {
                        circle.push(need);
                    }
                }
            }
        }
        circle.sort_unstable();
        circle
    }
}
