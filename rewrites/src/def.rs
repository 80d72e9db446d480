//! The definition and registration of rewrites.

use crate::rewrite::{AnyRewrite, AnyRootRewrite};
use crate::rule::{Liberties, Rule};
use rewright_ir::Origin;

/// The stage of a rewrite in the default pipeline: all rewrites of an earlier stage come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Cleans up the output of a front end. Runs on untyped functions before type inference, where only the
    /// function's parameters have known types.
    BeforeInference,
    /// All other rewrites.
    AfterInference,
    /// Shapes the function for code generation.
    BeforeLowering,
}

bitflags::bitflags! {
    /// Properties of a block, computed once for all block rewrites.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct Holds: u8 {
        /// It has an instruction that gives an array.
        const ARRAYS = 1;
        /// It has an elementwise op of constants only, or a branch with a constant operand or argument.
        const CONSTANTS = 2;
        /// It has an instruction, other than a terminator, none of whose results is used.
        const UNUSED = 4;
        /// It has an instruction that names a function.
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

/// The definition of a rewrite. Build it in a `static`, starting at [`RewriteDef::root`] or
/// [`RewriteDef::block`], and register it with [`register_rewrite!`](crate::register_rewrite).
#[derive(Clone, Copy)]
pub struct RewriteDef {
    /// The name in pipelines: lower-case words with hyphens, `array-expr`.
    pub name: &'static str,
    /// One line of documentation.
    pub doc: &'static str,
    /// The rewrite.
    pub form: Form,
    /// The ops that it can start at. A block rewrite is tried at blocks that hold one of them. Empty: any.
    pub roots: &'static [&'static str],
    /// A block rewrite is tried at blocks that have one of these properties. Empty: any.
    pub holding: Holds,
    /// Its stage in the default pipeline.
    pub stage: Stage,
    /// Among rewrites that may come next, the one of greatest benefit does; then the first by name.
    pub benefit: u16,
    /// Rewrites that it runs before in the default pipeline. Constraints are transitive through all
    /// registered rewrites, opt-in ones included: a constraint that follows from others is not written. Names
    /// that no linked crate registers have no effect.
    pub before: &'static [&'static str],
    /// Rewrites that it runs after in the default pipeline; transitive like `before`.
    pub after: &'static [&'static str],
    /// The greatest distance, in steps between users and operands, from the root to an instruction that the
    /// match depends on.
    pub reach: u8,
    /// It is in the default pipeline.
    pub by_default: bool,
    /// The ways in which results may differ. Only runs that grant them include the rewrite.
    pub liberties: Liberties,
    /// It applies the rules of the run itself ([`MatchCx::rules`](crate::MatchCx::rules)), including those
    /// that the driver does not apply.
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
    /// Sets the ops that it starts at.
    pub const fn roots(mut self, roots: &'static [&'static str]) -> Self {
        self.roots = roots;
        self
    }
    /// Sets the properties of which a block must have one: other blocks have nothing to rewrite.
    pub const fn holding(mut self, what: Holds) -> Self {
        self.holding = what;
        self
    }
    /// Sets the stage.
    pub const fn stage(mut self, stage: Stage) -> Self {
        self.stage = stage;
        self
    }
    /// Sets the benefit; the default is 1.
    pub const fn benefit(mut self, benefit: u16) -> Self {
        self.benefit = benefit;
        self
    }
    /// Sets the rewrites that it runs before.
    pub const fn before(mut self, names: &'static [&'static str]) -> Self {
        self.before = names;
        self
    }
    /// Sets the rewrites that it runs after.
    pub const fn after(mut self, names: &'static [&'static str]) -> Self {
        self.after = names;
        self
    }
    /// Sets the reach; the default is 2.
    pub const fn reach(mut self, steps: u8) -> Self {
        self.reach = steps;
        self
    }
    /// Sets the liberties that must be granted.
    pub const fn liberties(mut self, liberties: Liberties) -> Self {
        self.liberties = liberties;
        self
    }
    /// The rewrite applies rules itself: a pipeline that contains it includes rules that the driver does not
    /// apply.
    pub const fn applies_rules(mut self) -> Self {
        self.applies_rules = true;
        self
    }
    /// Only pipelines that name the rewrite contain it.
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
    /// The crate and place of the submission.
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
