//! `sums-of-copies`: replaces the sum of equal terms by a product.

use rewright::expr::Monoid;
use rewright::ops::reduced::Reduced;
use rewright::ops::view::broadcast_axes;
use rewright::plugin::*;

/// Replaces a sum along axes that a `broadcast_in_dim` created by a product with their extents, constant
/// or not: the sum of n copies of x is n times x.
///
/// For integers, which wrap, that is exact. For floats it rounds once instead of n times, so it is a
/// separate rewrite, `float-sums-of-copies`, which needs the liberty to reassociate.
pub struct SumsOfCopies {
    floats: bool,
}

static INTEGERS: RewriteDef =
    RewriteDef::root("sums-of-copies", "sums of copies of integers are products", &SumsOfCopies { floats: false })
        .roots(&["sum"])
        .after(&["reduce-views"])
        .reach(1);
static FLOATS: RewriteDef = RewriteDef::root(
    "float-sums-of-copies",
    "sums of copies of floats are products, rounded once",
    &SumsOfCopies { floats: true },
)
.roots(&["sum"])
.reach(1)
.liberties(Liberties::REASSOCIATE);
register_rewrite!(INTEGERS, FLOATS);

/// A sum of copies.
pub struct Copies {
    root: Inst,
    view: Value,
    of: Value,
    /// The axes of the view that are summed.
    summed: Vec<usize>,
    /// The attributes of the remaining broadcast; none if the product has the type of the result.
    left: Attrs,
}

impl RootRewrite for SumsOfCopies {
    type Match = Copies;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Copies, NoMatch> {
        self.copies(cx, root).ok_or(NoMatch::quiet())
    }

    fn apply(&self, found: Copies, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let result = rw.func().inst(found.root).results[0];
        let ty = rw.func().ty(result).clone();
        let to = || Attrs::new().with("to", Attr::DType(ty.dtype()));
        let mut product = found.of;
        if rw.func().ty(product).dtype() != ty.dtype() {
            product = rw.op_with("cast", [product], to())?;
        }
        for axis in found.summed {
            let extent = rw.op_with("dim", [found.view], Attrs::new().with("axis", Attr::Int(axis as i64)))?;
            let extent = if ty.dtype() == DType::I64 { extent } else { rw.op_with("cast", [extent], to())? };
            product = rw.op("mul", [product, extent])?;
        }
        if *rw.func().ty(product) != ty {
            product = rw.op_with("broadcast_in_dim", [product], found.left)?;
        }
        rw.replace(found.root, &[product])
    }
}

impl SumsOfCopies {
    fn copies(&self, cx: &MatchCx<'_>, root: Inst) -> Option<Copies> {
        let func = cx.func();
        let data = func.inst(root);
        let reduced = Reduced::of(func, data).filter(|reduced| reduced.monoid == Monoid::Sum)?;
        let view = *data.args.first()?;
        let made = func.inst(func.def_inst(view)?);
        let &[of] = &made.args[..] else { return None };
        let ty = func.ty(of);
        let is_float = ty.dtype().is_float() || ty.dtype().is_complex();
        let still =
            [view, of, data.results[0]].iter().all(|&v| !cx.is_written(v)) && !cx.is_ended(of) && !cx.is_ended(view);
        if made.op.name != "broadcast_in_dim" || is_float != self.floats || !still || ty.rank() == 0 {
            return None;
        }
        let args = [ty.clone()];
        let infer = InferCx { op: made.op, args: &args, consts: &[], attrs: &made.attrs, callee: None };
        let axes = broadcast_axes(&infer).ok()?;
        let summed = reduced.axes.to_vec();
        if summed.is_empty() || summed.iter().any(|axis| axes.contains(axis)) {
            return None;
        }
        let place = |axis: usize| {
            let gone = summed.iter().filter(|&&other| other < axis).count();
            (if reduced.keepdims { axis } else { axis - gone }) as i64
        };
        let dims = func.ty(data.results[0]).dims();
        let left = Attrs::new()
            .with("dims", Attr::Dims(dims.into()))
            .with("axes", Attr::Ints(axes.iter().map(|&axis| place(axis)).collect()));
        let known = !dims.contains(&Dim::Any) && func.ty(data.results[0]).is_array();
        known.then_some(Copies { root, view, of, summed, left })
    }
}
