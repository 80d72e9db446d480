//! `moveaxis` and `swapaxes`: transposes given by the axes that move.

use crate::views::moved_axes;
use rewright::ops::view::TRANSPOSE;
use rewright::plugin::*;

/// `moveaxis %x, from=[0], to=[-1]`: moves axes to other places; the others keep their order.
pub static MOVEAXIS: OpDef = OpDef::new(
    "moveaxis",
    "axes at other places, the others in their order",
    Arity::Exactly(1),
    infer,
    Eval::Array(eval),
)
.traits(Traits::VIEW)
.attrs(&[
    AttrDef::required("from", AttrKind::Ints, "the axes of the operand"),
    AttrDef::required("to", AttrKind::Ints, "where each is in the result"),
]);

/// `swapaxes %x, axis1=0, axis2=-1`: exchanges two axes.
pub static SWAPAXES: OpDef =
    OpDef::new("swapaxes", "two axes in each other's places", Arity::Exactly(1), infer, Eval::Array(eval))
        .traits(Traits::VIEW)
        .attrs(&[
            AttrDef::required("axis1", AttrKind::Int, "the one"),
            AttrDef::required("axis2", AttrKind::Int, "the other"),
        ]);

register_op!(MOVEAXIS, SWAPAXES);

static AXES: RewriteDef =
    RewriteDef::root("axes-as-transpose", "`moveaxis` and `swapaxes` are transposes", &AsTranspose)
        .roots(&["moveaxis", "swapaxes"])
        .before(&["canonicalize"])
        .reach(0);
register_rewrite!(AXES);

/// The operand axis of each result axis.
fn permutation(attrs: &Attrs, rank: usize) -> Result<Vec<usize>, String> {
    let place = |axis: i64| {
        let from_start = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
        let found = from_start.and_then(|axis| usize::try_from(axis).ok()).filter(|&axis| axis < rank);
        found.ok_or_else(|| format!("there is no axis {axis} at rank {rank}"))
    };
    let all =
        |name: &str| attrs.ints(name).unwrap_or(&[]).iter().map(|&axis| place(axis)).collect::<Result<Vec<_>, _>>();
    match (attrs.int("axis1"), attrs.int("axis2")) {
        (Some(a), Some(b)) => {
            let mut perm: Vec<usize> = (0..rank).collect();
            perm.swap(place(a)?, place(b)?);
            Ok(perm)
        }
        _ => moved_axes(rank, &all("from")?, &all("to")?),
    }
}

fn as_transpose(perm: &[usize]) -> Attrs {
    Attrs::new().with("perm", Attr::Ints(perm.iter().map(|&axis| axis as i64).collect()))
}

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = cx.args.first().filter(|ty| ty.is_array() && ty.style().is_none());
    let ty = ty.ok_or_else(|| TypeError::new(format!("`{}` reads a dense array", cx.op)).operand(0))?;
    let perm = permutation(cx.attrs, ty.rank()).map_err(|why| TypeError::new(format!("`{}`: {why}", cx.op)))?;
    let dims: Vec<Dim> = perm.iter().map(|&axis| ty.dims()[axis]).collect();
    Ok([Type::array(ty.dtype(), dims)].into_iter().collect())
}

/// Evaluates by the same permutation as the core's `transpose`, so the two agree.
fn eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let array = args.first().map(Datum::to_array).ok_or_else(|| EvalError::shape("wants an operand"))?;
    let perm = permutation(cx.attrs, array.rank()).map_err(EvalError::shape)?;
    Ok(vec![Datum::Array(array.permuted(&perm))])
}

/// Rewrites `moveaxis` and `swapaxes` to `transpose`.
pub struct AsTranspose;

impl RootRewrite for AsTranspose {
    type Match = (Inst, Vec<usize>);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let data: &InstData = cx.func().inst(root);
        let rank = data.args.first().map_or(0, |&x| cx.func().ty(x).rank());
        permutation(&data.attrs, rank).map(|perm| (root, perm)).map_err(|_| NoMatch::quiet())
    }

    fn apply(&self, (root, perm): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let x = rw.func().inst(root).args[0];
        rw.replace_with(root, TRANSPOSE.name, [x], as_transpose(&perm)).map(drop)
    }
}
