//! The formula of a rule's condition: registered conditions and computed bools, joined by `and`, `or` and
//! `not`.
//!
//! A formula has three truth values (Kleene's strong three-valued logic). A registered condition that is not
//! certain is unknown rather than false, so its negation is unknown too. A rule is applied only if its
//! formula is certainly true.

use super::template::scalar_of;
use super::{ConditionDef, Known, NodeId, Rule, decided};
use rewright_ir::Scalar;
use smallvec::SmallVec;

/// A condition of a rule.
#[derive(Clone)]
pub enum Condition {
    /// A registered condition on some variables.
    Registered(&'static ConditionDef, SmallVec<[usize; 2]>),
    /// A computed bool: a [`Node::Computed`](super::Node::Computed). It is known for constants; for other
    /// variables only a comparison may be known.
    Computed(NodeId),
    /// True if all hold.
    All(Vec<Condition>),
    /// True if at least one holds.
    Any(Vec<Condition>),
    /// The negation of a condition.
    Not(Box<Condition>),
}

impl Condition {
    /// The formula's truth, given that of its leaves; `None` is unknown.
    fn truth(&self, leaf: &dyn Fn(&Condition) -> Option<bool>) -> Option<bool> {
        let decided_by = |list: &[Condition], value: bool| {
            let mut result = Some(!value);
            for condition in list {
                match condition.truth(leaf) {
                    Some(found) if found == value => return Some(value),
                    Some(_) => {}
                    None => result = None,
                }
            }
            result
        };
        match self {
            Condition::All(list) => decided_by(list, false),
            Condition::Any(list) => decided_by(list, true),
            Condition::Not(inner) => inner.truth(leaf).map(|truth| !truth),
            Condition::Registered(..) | Condition::Computed(_) => leaf(self),
        }
    }

    /// True if it certainly holds, given the facts about the variables. `same` says which of them are one
    /// value.
    pub fn holds<'a>(
        &self,
        rule: &Rule,
        known: &dyn Fn(usize) -> Known<'a>,
        same: &dyn Fn(usize, usize) -> bool,
    ) -> bool {
        let leaf = |leaf: &Condition| match leaf {
            Condition::Registered(def, vars) => {
                let about: SmallVec<[Known<'_>; 2]> = vars.iter().map(|&var| known(var)).collect();
                if (def.holds)(&about) {
                    return Some(true);
                }
                // For constants a condition is either true or false.
                let constants: Option<SmallVec<[Scalar; 2]>> = about.iter().map(|known| known.constant).collect();
                constants.filter(|constants| !(def.sample)(constants)).map(|_| false)
            }
            Condition::Computed(node) => computed(rule, *node, &|var| known(var).constant)
                .or_else(|| decided::comparison(rule, *node, known, same)),
            _ => None,
        };
        self.truth(&leaf) == Some(true)
    }

    /// True if it holds for these elements of the variables; `None` stands for an element that is not drawn.
    /// `known` gives the types, with all facts assumed: a condition on types alone holds for all elements,
    /// but only for some types.
    pub fn sample<'a>(
        &self,
        rule: &Rule,
        elements: &dyn Fn(usize) -> Option<Scalar>,
        known: &dyn Fn(usize) -> Known<'a>,
    ) -> bool {
        let leaf = |leaf: &Condition| match leaf {
            Condition::Registered(def, vars) => {
                let about: Option<SmallVec<[Scalar; 2]>> = vars.iter().map(|&var| elements(var)).collect();
                let types = |&var: &usize| {
                    let known = known(var);
                    Known { constant: known.constant.and(elements(var)), ..known }
                };
                let types: SmallVec<[Known<'_>; 2]> = vars.iter().map(types).collect();
                about.map(|about| (def.sample)(&about) && (def.holds)(&types))
            }
            Condition::Computed(node) => computed(rule, *node, elements),
            _ => None,
        };
        self.truth(&leaf) == Some(true)
    }

    /// False if it holds for no elements of the variables. `known` gives the types, with all facts assumed.
    pub(crate) fn may_hold<'a>(&self, known: &dyn Fn(usize) -> Known<'a>) -> bool {
        match self {
            Condition::Registered(def, vars) => {
                let about: SmallVec<[Known<'_>; 2]> = vars.iter().map(|&var| known(var)).collect();
                (def.holds)(&about)
            }
            Condition::All(list) => list.iter().all(|condition| condition.may_hold(known)),
            Condition::Any(list) => list.iter().any(|condition| condition.may_hold(known)),
            // A fact that is not certain may be true or false.
            Condition::Computed(_) | Condition::Not(_) => true,
        }
    }

    /// The variables that it depends on, without duplicates.
    pub(crate) fn vars(&self, rule: &Rule) -> SmallVec<[usize; 2]> {
        let mut vars = SmallVec::new();
        self.add_vars(rule, &mut vars);
        vars
    }
    fn add_vars(&self, rule: &Rule, vars: &mut SmallVec<[usize; 2]>) {
        match self {
            Condition::Registered(_, about) => {
                for &var in about {
                    if !vars.contains(&var) {
                        vars.push(var);
                    }
                }
            }
            Condition::Computed(node) => rule.add_vars(*node, vars),
            Condition::All(list) | Condition::Any(list) => list.iter().for_each(|c| c.add_vars(rule, vars)),
            Condition::Not(inner) => inner.add_vars(rule, vars),
        }
    }

    /// The computed bools in it.
    pub fn computed(&self) -> Vec<NodeId> {
        match self {
            Condition::Registered(..) => Vec::new(),
            Condition::Computed(node) => vec![*node],
            Condition::All(list) | Condition::Any(list) => list.iter().flat_map(Condition::computed).collect(),
            Condition::Not(inner) => inner.computed(),
        }
    }

    /// The formula as in the text of a rule.
    pub fn text(&self, rule: &Rule) -> String {
        let list = |word: &str, list: &[Condition]| {
            let parts: Vec<String> = list.iter().map(|condition| condition.text(rule)).collect();
            format!("({word} {})", parts.join(" "))
        };
        match self {
            Condition::Registered(def, vars) => {
                let vars: Vec<String> = vars.iter().map(|&var| format!("?{}", rule.vars[var].name)).collect();
                format!("{}({})", def.name, vars.join(", "))
            }
            Condition::Computed(node) => rule.term(*node),
            Condition::All(conditions) => list("and", conditions),
            Condition::Any(conditions) => list("or", conditions),
            Condition::Not(inner) => format!("(not {})", inner.text(rule)),
        }
    }
}

/// The value of a computed bool; unknown if it can't be computed.
fn computed(rule: &Rule, node: NodeId, vars: &dyn Fn(usize) -> Option<Scalar>) -> Option<bool> {
    match scalar_of(rule, node, vars, &[]) {
        Some(Scalar::Bool(truth)) => Some(truth),
        _ => None,
    }
}
