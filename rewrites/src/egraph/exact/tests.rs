use super::{SearchLimits, Stopped};
use crate::egraph::extract::{NodeChoice, Problem, Solution};
use crate::egraph::node::{ENode, Head};
use fastrand::Rng;

fn choice(cost: u64, children: &[usize], original: bool) -> NodeChoice {
    NodeChoice { node: ENode::leaf(Head::Leaf(0)), children: children.iter().copied().collect(), cost, original }
}

/// The cost of the cheapest choice, by exhaustive search.
fn cheapest(problem: &Problem) -> Option<u64> {
    let sizes: Vec<usize> = problem.classes.iter().map(Vec::len).collect();
    let mut at = vec![0; sizes.len()];
    let mut best: Option<u64> = None;
    loop {
        let cost = problem.rated(at.iter().map(|&n| Some(n)).collect()).map(|s| s.cost);
        best = best.into_iter().chain(cost).min();
        let Some(next) = (0..at.len()).find(|&class| at[class] + 1 < sizes[class]) else { return best };
        at[next] += 1;
        at[..next].fill(0);
    }
}

/// A few classes whose nodes use arbitrary classes, so that cycles are common; the first nodes are a
/// program.
fn random(rng: &mut Rng) -> Problem {
    let count = rng.usize(3..9);
    let most = if rng.bool() { 4 } else { 40 };
    let mut classes = Vec::new();
    for class in 0..count {
        let before: Vec<usize> = (0..rng.usize(0..3)).filter(|_| class > 0).map(|_| rng.usize(0..class)).collect();
        let free = before.is_empty() && rng.bool();
        let mut choices = vec![choice(if free { 0 } else { rng.u64(1..most) }, &before, true)];
        for _ in 0..rng.usize(0..4) {
            let children: Vec<usize> = (0..rng.usize(1..4)).map(|_| rng.usize(0..count)).collect();
            choices.push(choice(rng.u64(1..most), &children, false));
        }
        classes.push(choices);
    }
    let roots = (0..rng.usize(1..4)).map(|_| rng.usize(0..count)).collect();
    Problem::of_numbers(classes, roots)
}

#[test]
fn random_problems_have_the_cost_that_trying_everything_finds() {
    let mut rng = Rng::with_seed(7);
    let mut better = 0;
    for n in 0..2_000 {
        let problem = random(&mut rng);
        let greedy = problem.solve().expect("the first nodes are a solution");
        let (found, stopped) = problem.solve_exactly(greedy.clone(), SearchLimits::default());
        assert_eq!(stopped, None, "problem {n}");
        assert_eq!(Some(found.cost), cheapest(&problem), "problem {n}");
        assert_eq!(problem.rated(found.node.clone()), Some(found.clone()), "problem {n}");
        match found.cost < greedy.cost {
            true => better += 1,
            false => assert_eq!(found, greedy, "problem {n}"),
        }
    }
    assert!(better > 0, "greedy is never worse: these problems show nothing");
}

/// Six roots, each a sum of one of three shared nodes of nearly equal cost. The node that most roots can
/// share leaves two roots uncovered.
fn cover() -> Problem {
    let things = [choice(100, &[], true), choice(100, &[], false), choice(100, &[], false)];
    let mut classes: Vec<Vec<NodeChoice>> = things.into_iter().map(|thing| vec![thing]).collect();
    for use_of in [[0, 1], [0, 1], [1, 1], [0, 2], [0, 2], [2, 2]] {
        classes.push(vec![choice(1, &[use_of[0]], true), choice(1, &[use_of[1]], false)]);
    }
    Problem::of_numbers(classes, (3..9).collect())
}

#[test]
fn greedy_misses_solutions_several_exchanges_away() {
    let problem = cover();
    let greedy = problem.solve().expect("there is a solution");
    assert_eq!(greedy.cost, 306);
    let (found, stopped) = problem.solve_exactly(greedy, SearchLimits::default());
    assert_eq!((found.cost, stopped), (206, None));
}

fn stopped(limits: SearchLimits) -> (Solution, Stopped) {
    let problem = cover();
    let greedy = problem.solve().expect("there is a solution");
    let (found, stopped) = problem.solve_exactly(greedy.clone(), limits);
    assert!(found.cost <= greedy.cost);
    (found, stopped.expect("the limit is met"))
}

#[test]
fn limits_keep_the_known_solution_with_a_reason() {
    let (found, why) = stopped(SearchLimits { choices: 5, ..SearchLimits::default() });
    assert_eq!((found.cost, why), (306, Stopped::Choices(13)));
    let (_, why) = stopped(SearchLimits { rounds: 0, ..SearchLimits::default() });
    assert_eq!(why, Stopped::Circles(0));
    let huge = Problem::of_numbers(vec![vec![choice(u64::MAX / 2, &[1], false)], vec![choice(2, &[], false)]], vec![0]);
    let known = huge.solve().expect("there is a solution");
    assert_eq!(huge.solve_exactly(known.clone(), SearchLimits::default()), (known, Some(Stopped::Costs)));
}

/// Three classes that are cheap only in a cycle.
#[test]
fn a_circle_is_no_beginning() {
    let around = |next: usize| vec![choice(50, &[3], true), choice(1, &[next], false)];
    let classes = vec![around(1), around(2), around(0), vec![choice(0, &[], true)]];
    let problem = Problem::of_numbers(classes, vec![0, 1, 2]);
    let greedy = problem.solve().expect("there is a solution");
    let (found, stopped) = problem.solve_exactly(greedy, SearchLimits::default());
    assert_eq!((found.cost, stopped), (52, None));
}
