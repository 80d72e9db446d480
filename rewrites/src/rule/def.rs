//! The text form and registration of rules.

use super::condition::FACTS_DEPTH;
use super::parse::{RuleErrors, parse_rule};
use super::{Direction, Rule};
use crate::def::{Form, RewriteDef, RewriteEntry};
use rewright_ir::{Name, Origin};

/// A rule in text form: its name and its text.
#[derive(Clone, Copy, Debug)]
pub struct RuleDef {
    /// The name in pipelines.
    pub name: &'static str,
    /// The text; see [`rule`](mod@crate::rule).
    pub text: &'static str,
}

/// A submitted rule.
#[derive(Clone, Copy, Debug)]
pub struct RuleEntry {
    /// The rule.
    pub def: RuleDef,
    /// Who submitted it.
    pub origin: Origin,
}
rewright_ir::inventory::collect!(RuleEntry);

/// Registers a rule under a name: `rule! { "neg-neg": (neg (neg ?x)) => ?x }`. The syntax is that of the
/// module [`rule`](mod@crate::rule).
///
/// Unbalanced parentheses and unbound variables are compile errors. Unknown ops, wrong numbers of operands
/// and conflicting dtypes are errors at program start, which name the line.
/// ```compile_fail
/// rewright_rewrites::rule! { "unbound": (neg ?x) => ?y }
/// ```
#[macro_export]
macro_rules! rule {
    ($name:literal : $($body:tt)+) => {
        const _: () = {
            const TEXT: &str = stringify!($($body)+);
            $crate::rule::syntax::check(TEXT);
            $crate::rewright_ir::inventory::submit! {
                $crate::rule::RuleEntry {
                    def: $crate::rule::RuleDef { name: $name, text: TEXT },
                    origin: $crate::rewright_ir::origin!(),
                }
            }
        };
    };
}

impl RuleEntry {
    /// The rewrites of a rule: two for `<=>`. They live as long as the process, as those of statics do.
    pub fn rewrites(&self) -> Result<Vec<RewriteEntry>, RuleErrors> {
        let rule = parse_rule(self.def.name, self.def.text)?;
        let reversed = rule.reversed();
        Ok(std::iter::once(rule).chain(reversed).map(|rule| entry(rule, self.origin)).collect())
    }
}

/// Rules that the driver does not apply get entries too: they are listed, checked and used in saturation.
fn entry(rule: Rule, origin: Origin) -> RewriteEntry {
    let rule: &'static Rule = Box::leak(Box::new(rule));
    let roots = rule.roots().leak();
    let doc = Name::new(&spaced(&rule.text)).as_str();
    let mut def = RewriteDef::new(rule.name.as_str(), doc, Form::Rule(rule))
        .roots(roots)
        .benefit(rule.benefit)
        .liberties(rule.liberties)
        .reach(rule.depth() + if rule.conditions.is_empty() { 0 } else { FACTS_DEPTH });
    if !rule.by_default || rule.direction != Direction::Rewrites {
        def = def.opt_in();
    }
    RewriteEntry { def: Box::leak(Box::new(def)), origin }
}

/// The text on one line, with a space before each parenthesis in a term that follows a word, which the
/// compiler's tokens lack.
fn spaced(text: &str) -> String {
    let (mut spaced, mut depth) = (String::with_capacity(text.len()), 0usize);
    for c in text.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
        match c {
            '(' => {
                if depth > 0 && spaced.ends_with(|before: char| before.is_ascii_alphanumeric() || before == '_') {
                    spaced.push(' ');
                }
                depth += 1;
            }
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        spaced.push(c);
    }
    spaced
}
