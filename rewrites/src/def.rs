//! What a rewrite states about itself, and how it is registered.

use crate::rewrite::{AnyRewrite, AnyRootRewrite};
use crate::rule::{Liberties, Rule};
use rewright_ir::Origin;

/// When a rewrite runs in the default pipeline: all of an earlier stage come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Cleans up what a front end wrote. In an untyped function it runs before type inference: values other than the function's parameters
    /// have no known type then.
    BeforeInference,
    /// Anything else.
    AfterInference,
    /// Shapes the function for code generation.
    BeforeLowering,
}

bitflags::bitflags! {
    /// What a block holds. The driver finds it out in one look for all block rewrites.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct Holds: u8 {
        /// An instruction that gives an array.
        const ARRAYS = 1;
        /// An elementwise op of constants only, or a branch that is given a constant.
        const CONSTANTS = 2;
        /// An instruction, other than a terminator, none of whose results is used.
        const UNUSED = 4;
        /// An instruction that names a function.
        const CALLEES = 8;
        /// It is not the entry.
        const INNER = 16;
    }
}

/// The three forms.
#[derive(Clone, Copy)]
pub enum Form {
    /// A [`Rewrite`](crate::Rewrite).
    Block(&'static dyn AnyRewrite),
    /// A [`RootRewrite`](crate::RootRewrite).
    Root(&'static dyn AnyRootRewrite),
    /// A declarative [`Rule`].
    Rule(&'static Rule),
}

/// The definition of a rewrite. Build it in a `static`, starting at [`RewriteDef::root`] or [`RewriteDef::block`], and register it
/// with [`register_rewrite!`](crate::register_rewrite).
#[derive(Clone, Copy)]
pub struct RewriteDef {
    /// The name in pipelines: lower-case words with hyphens, `array-expr`.
    pub name: &'static str,
    /// One line of documentation.
    pub doc: &'static str,
    /// The rewrite.
    pub form: Form,
    /// The ops it can start at. A block rewrite is asked about blocks that hold one of them. Empty: any.
    pub roots: &'static [&'static str],
    /// A block rewrite is asked about blocks that hold one of these. Empty: any.
    pub holding: Holds,
    /// When it runs in the default pipeline.
    pub stage: Stage,
    /// Of several rewrites that are free to come first, the one of greatest benefit does; then the one whose name comes first.
    pub benefit: u16,
    /// Rewrites that it runs before in the default pipeline.
    pub before: &'static [&'static str],
    /// Rewrites that it runs after in the default pipeline.
    pub after: &'static [&'static str],
    /// How far it looks: so many steps from users to operands, or back, may lie between its root and something that it asks about.
    pub reach: u8,
    /// It is in the default pipeline.
    pub by_default: bool,
    /// What results may differ in. It has no part in a run that does not grant this.
    pub liberties: Liberties,
    /// It applies the rules of the run itself ([`MatchCx::rules`](crate::MatchCx::rules)), also those that the driver
    /// does not apply.
    pub applies_rules: bool,
}

impl RewriteDef {
    pub(crate) const fn new(name: &'static str, doc: &'static str, form: Form) -> Self {
        RewriteDef {
            name,
            doc,
            form,
            roots: &[],
            holding: Holds::empty(),
            stage: Stage::AfterInference,
            benefit: 1,
            before: &[],
            after: &[],
            reach: 2,
            by_default: true,
            liberties: Liberties::empty(),
            applies_rules: false,
        }
    }
    /// A rewrite that starts at one instruction.
    pub const fn root(name: &'static str, doc: &'static str, rewrite: &'static dyn AnyRootRewrite) -> Self {
        Self::new(name, doc, Form::Root(rewrite))
    }
    /// A rewrite of basic blocks.
    pub const fn block(name: &'static str, doc: &'static str, rewrite: &'static dyn AnyRewrite) -> Self {
        Self::new(name, doc, Form::Block(rewrite))
    }
    /// The same, starting at these ops only.
    pub const fn roots(mut self, roots: &'static [&'static str]) -> Self {
        self.roots = roots;
        self
    }
    /// The same, for blocks that hold one of these only: a block rewrite has nothing to look for in others.
    pub const fn holding(mut self, what: Holds) -> Self {
        self.holding = what;
        self
    }
    /// The same at another stage.
    pub const fn stage(mut self, stage: Stage) -> Self {
        self.stage = stage;
        self
    }
    /// The same with another benefit; 1 if not given.
    pub const fn benefit(mut self, benefit: u16) -> Self {
        self.benefit = benefit;
        self
    }
    /// The same, before these rewrites.
    pub const fn before(mut self, names: &'static [&'static str]) -> Self {
        self.before = names;
        self
    }
    /// The same, after these rewrites.
    pub const fn after(mut self, names: &'static [&'static str]) -> Self {
        self.after = names;
        self
    }
    /// The same with another reach; 2 if not given.
    pub const fn reach(mut self, steps: u8) -> Self {
        self.reach = steps;
        self
    }
    /// The same, only where these are granted.
    pub const fn liberties(mut self, liberties: Liberties) -> Self {
        self.liberties = liberties;
        self
    }
    /// The same, applying rules itself: with it in a pipeline, rules that the driver does not apply take part in the run.
    pub const fn applies_rules(mut self) -> Self {
        self.applies_rules = true;
        self
    }
    /// The same, only where a pipeline names it.
    pub const fn opt_in(mut self) -> Self {
        self.by_default = false;
        self
    }
}

/// A submitted rewrite.
#[derive(Clone, Copy)]
pub struct RewriteEntry {
    /// The definition.
    pub def: &'static RewriteDef,
    /// Who submitted it.
    pub origin: Origin,
}
rewright_ir::inventory::collect!(RewriteEntry);

/// Registers rewrites: `register_rewrite!(NEG_NEG, OTHER);`, each a `static RewriteDef`.
#[macro_export]
macro_rules! register_rewrite {
    ($($def:path),+ $(,)?) => {$(
        $crate::rewright_ir::inventory::submit! {
            $crate::RewriteEntry { def: &$def, origin: $crate::rewright_ir::origin!() }
        }
    )+};
}
