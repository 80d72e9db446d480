//! The compiled rules of a run: the registry's rules whose liberties are granted.

use super::nary::Ring;
use super::node::Shape;
use super::pattern::Pattern;
use super::stats::SaturationStats;
use crate::def::{Form, RewriteEntry};
use crate::match_cx::MatchCx;
use crate::rule::{Liberties, Rule, soundness};
use rewright_ir::{Name, Op};
use rustc_hash::FxHashSet;
use std::cell::{OnceCell, RefCell};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The recently used sets, the latest one last. Rules live as long as the process does.
static KEPT: Mutex<Vec<Arc<RuleSet>>> = Mutex::new(Vec::new());

/// The most sets that are kept.
const MOST_KEPT: usize = 16;

/// A rule and its pattern.
pub(crate) struct Compiled {
    pub rule: &'static Rule,
    pub pattern: Pattern,
    /// The number in the set of the shape of the pattern's root.
    pub root: usize,
    /// Memoized: whether both sides are equal on all values that were tried.
    holds: OnceLock<bool>,
}

/// Rules in the order of their names, which does not depend on the order in which crates are linked.
pub(crate) struct RuleSet {
    /// The rules that the set was made of.
    given: Vec<&'static Rule>,
    pub rules: Vec<Compiled>,
    /// The shapes of the roots of patterns.
    pub shapes: Vec<Shape>,
    pub granted: Liberties,
    /// Sums and products of many terms.
    pub ring: Option<Ring>,
    roots: FxHashSet<&'static str>,
}

impl RuleSet {
    /// The set of the given rules whose liberties are granted: compiled, or from the kept sets.
    pub fn of(entries: impl IntoIterator<Item = RewriteEntry>, granted: Liberties) -> Arc<RuleSet> {
        let rule = |entry: RewriteEntry| if let Form::Rule(rule) = entry.def.form { Some(rule) } else { None };
        let given: Vec<&'static Rule> = entries.into_iter().filter_map(rule).collect();
        let same = |set: &Arc<RuleSet>| {
            set.granted == granted
                && set.given.len() == given.len()
                && set.given.iter().zip(&given).all(|(a, b)| std::ptr::eq(*a, *b))
        };
        // The list is valid after a panic, because sets are only moved.
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(same).map(|at| kept.remove(at));
        let set = known.unwrap_or_else(|| Arc::new(RuleSet::new(given, granted)));
        if kept.len() == MOST_KEPT {
            kept.remove(0);
        }
        kept.push(set.clone());
        set
    }

    fn new(given: Vec<&'static Rule>, granted: Liberties) -> Self {
        let usable = |rule: &&'static Rule| granted.contains(rule.liberties) && rule.rhs.len() == 1;
        let compiled = |rule: &'static Rule| {
            Pattern::compile(rule).map(|pattern| Compiled { rule, pattern, root: 0, holds: OnceLock::new() })
        };
        let mut named: Vec<&'static Rule> = given.iter().copied().filter(usable).collect();
        named.sort_by_key(|rule| rule.name);
        named.dedup_by_key(|rule| rule.name);
        let mut rules: Vec<Compiled> = named.into_iter().flat_map(Rule::all).filter_map(compiled).collect();
        let mut shapes: Vec<Shape> = Vec::new();
        for compiled in &mut rules {
            let root = &compiled.pattern.root;
            compiled.root = shapes.iter().position(|shape| shape == root).unwrap_or_else(|| {
                shapes.push(root.clone());
                shapes.len() - 1
            });
        }
        let roots = rules.iter().map(|c| c.rule.root().op.0.name).collect();
        RuleSet { given, rules, shapes, granted, ring: Ring::new(granted), roots }
    }

    /// True if a rule of the set holds when it is tested by itself.
    pub fn holds(&self, name: Name) -> bool {
        let found = self.rules.iter().find(|compiled| compiled.rule.name == name);
        found.is_none_or(|c| *c.holds.get_or_init(|| soundness::check(c.rule).counterexample.is_none()))
    }

    /// True if the root of some rule's pattern is this op.
    pub fn starts_at(&self, op: Op) -> bool {
        self.roots.contains(op.0.name)
    }
}

/// The state that equality saturation keeps from one function of a run to the next.
#[derive(Default)]
pub(crate) struct RuleBook {
    set: OnceCell<Arc<RuleSet>>,
    /// The statistics of the run.
    pub stats: RefCell<SaturationStats>,
}

impl RuleBook {
    /// The rules that a run may use, compiled at the first call.
    pub fn set(&self, cx: &MatchCx<'_>) -> &RuleSet {
        self.set.get_or_init(|| RuleSet::of(cx.rules().iter().copied(), cx.liberties()))
    }
}
