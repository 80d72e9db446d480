//! The rewrite `how-compiled`: it says what a rewrite sees of the run that it is part of.

use rewright::plugin::*;

pub struct HowCompiled;

static HOW_COMPILED: RewriteDef =
    RewriteDef::block("how-compiled", "says what a rewrite sees of how a function is compiled", &HowCompiled).opt_in();
register_rewrite!(HOW_COMPILED);

impl Rewrite for HowCompiled {
    type Match = ();

    fn matches(&self, cx: &MatchCx<'_>, _: Block) -> Result<(), NoMatch> {
        let target = cx.target();
        let (codegen, set) = (target.codegen.as_deref(), target.instruction_set.as_deref());
        // Rules are applied by whoever has their terms: these are public, as those that `saturate` compiles.
        let own = cx.rules().iter().filter(|rule| rule.origin.krate == "stranger");
        let own: Vec<&str> =
            own.filter(|rule| cx.liberties().contains(rule.def.liberties)).map(|rule| rule.def.name).collect();
        let (liberties, rules) = (cx.liberties(), own.join(", "));
        let target = format!("by {} for {}", codegen.unwrap_or("nothing"), set.unwrap_or("nothing"));
        Err(NoMatch::because(format!(
            "{target}; liberties: {liberties}; rules: {rules}; steps: {:?}",
            cx.options().stop_after
        )))
    }

    fn apply(&self, (): (), _: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        Err(RewriteError::new("there is nothing to do"))
    }
}
