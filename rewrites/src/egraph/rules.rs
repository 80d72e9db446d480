//! The rules of a run, compiled: those of the registry that may be explored and whose liberties are granted.

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

/// The sets that were used last, the very last at the end. Rules live as long as the process does.
static KEPT: Mutex<Vec<Arc<RuleSet>>> = Mutex::new(Vec::new());

/// So many of them are kept.
const MOST_KEPT: usize = 16;

/// A rule and its pattern.
pub(crate) struct Compiled {
    pub rule: &'static Rule,
    pub pattern: Pattern,
    /// What the nodes at the pattern's root are like, by its number in the set.
    pub root: usize,
    /// Whether its two sides are equal on all values that were tried, once that was asked.
    holds: OnceLock<bool>,
}

/// Rules in the order of their names, whatever the order in which crates are linked.
pub(crate) struct RuleSet {
    /// The rules that it was made of.
    given: Vec<&'static Rule>,
    pub rules: Vec<Compiled>,
    /// What the nodes at the roots of patterns are like.
    pub shapes: Vec<Shape>,
    pub granted: Liberties,
    /// Sums and products of many terms.
    pub ring: Option<Ring>,
    roots: FxHashSet<&'static str>,
}

impl RuleSet {
    /// The rules among these that may be applied: compiled, or those that were compiled before.
    pub fn of(entries: impl IntoIterator<Item = RewriteEntry>, granted: Liberties) -> Arc<RuleSet> {
        let rule = |entry: RewriteEntry| if let Form::Rule(rule) = entry.def.form { Some(rule) } else { None };
        let given: Vec<&'static Rule> = entries.into_iter().filter_map(rule).collect();
        let same = |set: &Arc<RuleSet>| {
            set.granted == granted
                && set.given.len() == given.len()
                && set.given.iter().zip(&given).all(|(a, b)| std::ptr::eq(*a, *b))
        };
        // What a panic left there is whole: sets are only moved.
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
            Pattern::of(rule).map(|pattern| Compiled { rule, pattern, root: 0, holds: OnceLock::new() })
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

    /// True if a rule of the set holds where it is tried by itself.
    pub fn holds(&self, name: Name) -> bool {
        let found = self.rules.iter().find(|compiled| compiled.rule.name == name);
        found.is_none_or(|c| *c.holds.get_or_init(|| soundness::check(c.rule).counterexample.is_none()))
    }

    /// True if some rule's pattern begins with the op.
    pub fn starts_at(&self, op: Op) -> bool {
        self.roots.contains(op.0.name)
    }
}

/// What equality saturation keeps from one function of a run to the next.
#[derive(Default)]
pub(crate) struct RuleBook {
    set: OnceCell<Arc<RuleSet>>,
    /// What the rules were used for.
    pub stats: RefCell<SaturationStats>,
}

impl RuleBook {
    /// The rules that a run may use, compiled when they are first asked for.
    pub fn set(&self, cx: &MatchCx<'_>) -> &RuleSet {
        self.set.get_or_init(|| RuleSet::of(cx.rules().iter().copied(), cx.liberties()))
    }
}
