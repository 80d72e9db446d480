//! The rewrite `pack-bits`: replaces `restyle` of bools to `bits` by the op `pack_bits`. Any bools can be
//! packed, so no second pass checks the elements.

use crate::element::assembled;
use crate::ops::pack_bits::PACK_BITS;
use rewright::plugin::*;

/// See the [module's page](self).
pub struct PackBits;

static PACK: RewriteDef =
    RewriteDef::root("pack-bits", "bools are packed by one op", &PackBits).roots(&["restyle"]).benefit(20);
register_rewrite!(PACK);

impl RootRewrite for PackBits {
    type Match = Inst;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let data = cx.func().inst(root);
        let (ty, result) = (cx.func().ty(data.args[0]), cx.func().ty(data.results[0]));
        let becomes_bits = ty.style().is_none() && result.style().is_some_and(|style| style == "bits");
        match becomes_bits && !result.dims().contains(&Dim::Any) {
            true => Ok(root),
            false => Err(NoMatch::quiet()),
        }
    }

    fn apply(&self, root: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let data = rw.func().inst(root).clone();
        let result = rw.func().ty(data.results[0]).clone();
        let words = rw.op(PACK_BITS.name, [data.args[0]])?;
        let packed = assembled(rw, "bits", &result, vec![words])?;
        rw.replace(root, &[packed])
    }
}
