//! The rewrite `store-lazy`: materializes a lazy array before it is stored, in the style of the
//! destination.
//!
//! `store %dest, %l` writes the elements of a nest into an array. The destination's extents and dtype win,
//! and the nest reads its old elements.

use crate::lazy::Lazy;
use crate::whole_nest;
use rewright::plugin::*;

/// See the [module's page](self).
pub struct StoreLazy;

static STORE_LAZY: RewriteDef =
    RewriteDef::root("store-lazy", "lazy arrays are materialized before they are stored", &StoreLazy)
        .roots(&["store"])
        .before(&["materialize-nest"])
        .benefit(10);
register_rewrite!(STORE_LAZY);

impl RootRewrite for StoreLazy {
    type Match = (Inst, String);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let func = cx.func();
        let [dest, src] = func.inst(root).args[..] else { return Err(NoMatch::quiet()) };
        let (dest, src) = (func.ty(dest), func.ty(src));
        if !Lazy::is_lazy(src) {
            return Err(NoMatch::quiet());
        }
        let fits = dest.dims() == src.dims() && dest.dtype() == src.dtype();
        // Destinations of these styles receive dense elements.
        let decides = |style: Style| whole_nest::finds(style) || style.def().interface::<Destination>().is_some();
        let decides = Style::of(dest).is_ok_and(decides);
        let style = dest.style().filter(|_| fits && !decides).map_or("dense".to_string(), |style| style.to_string());
        Ok((root, style))
    }

    fn apply(&self, (root, style): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let src = rw.func().inst(root).args[1];
        let attrs = Attrs::new().with("style", Attr::Str(style.as_str().into()));
        let value = rw.op_with("materialize", [src], attrs)?;
        rw.set_use(root, 1, value)
    }
}
