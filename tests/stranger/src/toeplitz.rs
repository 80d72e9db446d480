//! The storage style `toeplitz`: a square matrix of one number along each diagonal, kept as its first
//! column and its first row.

use rewright::plugin::*;
use rewright_broadcast::interfaces::*;

// --- Definition of the style

static TOEPLITZ: StyleDef = StyleDef {
    name: "toeplitz",
    doc: "a square matrix of one number along each diagonal",
    components: |ty| match ty.dims() {
        [rows, columns] if rows == columns => {
            Ok(["column", "row"].map(|name| Component::new(name, ty.dtype(), [*rows])).to_vec())
        }
        _ => Err("a square matrix is wanted".into()),
    },
    check: |array| match array.components() {
        [column, row] if row.is_empty() || is_same(column.get(&[0]), row.get(&[0])) => Ok(()),
        _ => Err("`column` and `row` begin with different elements".into()),
    },
    element: |array, at| match at[0] >= at[1] {
        true => along(array, 0, at[0] - at[1]),
        false => along(array, 1, at[1] - at[0]),
    },
    take: |_, array| {
        let (n, zero) = (array.shape()[0], Scalar::zero(array.dtype()));
        let column = Array::from_fn(array.dtype(), &[n], |k| array.get(&[k, 0]).unwrap_or(zero));
        let row = Array::from_fn(array.dtype(), &[n], |k| array.get(&[0, k]).unwrap_or(zero));
        Ok(vec![column.ok_or("it is too large")?, row.ok_or("it is too large")?])
    },
};
register_style!(TOEPLITZ);

fn along(array: &Styled, component: usize, k: usize) -> Scalar {
    array.components()[component].get(&[k]).unwrap_or(Scalar::zero(array.dtype()))
}

fn is_same(a: Option<Scalar>, b: Option<Scalar>) -> bool {
    let is_nan = |x: Option<Scalar>| x.is_some_and(|x| x.to_c128().is_nan());
    a == b || (is_nan(a) && is_nan(b))
}

// --- Evaluation of functions of the style

// Whatever the function is, what it makes of equal elements is equal.
register_interface!(style "toeplitz", Broadcasting, &Broadcasting {
    into: "toeplitz", keeps: Keeps::Anything, zeros: "dense", rule: |_| Ok(Answer::Join),
});
// Each has something the other one has not.
register_join!("toeplitz", "diagonal" => "dense");

// An element in a kernel, at a row and a column that are affine forms of the kernel's axes.
register_interface!(style "toeplitz", Element, &Element(element));

fn element(cell: &mut Cell<'_>, leaf: &Leaf, at: &[Affine]) -> Result<BodyRef, String> {
    let (down, right) = (minus(&at[0], &at[1])?, minus(&at[1], &at[0])?);
    let read = |cell: &mut Cell<'_>, n: usize, k| Ok(cell.read(leaf.components[n], &[IndexExpr::Affine(k)]));
    let is_right = |cell: &mut Cell<'_>| read(cell, 1, right.clone());
    cell.when(&down.clone(), Test::NotPositive, leaf.ty.dtype(), is_right, |cell| read(cell, 0, down))
}

// Where the elements of each component are in the matrix: at [k, 0] and at [0, k].
register_interface!(style "toeplitz", Stored, &Stored(|ty| {
    let n = SymExpr::of_dim(ty.dims()[0]).ok_or("its extent is not known")?;
    let (zero, k) = (Affine::constant(0), Affine::axis(0));
    let places = |at| Places { extents: vec![n.clone()], at, guard: Vec::new() };
    Ok(vec![places(vec![k.clone(), zero.clone()]), places(vec![zero, k])])
}));

// --- Methods that avoid a loop over all elements

/// The sum of all n * n elements is one of 2 n: the k-th diagonal from the main one has n - k of them. Of
/// integers, whose sums have no order.
struct SumToeplitz;

static SUM_TOEPLITZ: RewriteDef =
    RewriteDef::root("sum-toeplitz", "sums of Toeplitz matrices count each diagonal once", &SumToeplitz)
        .roots(&["sum"])
        .before(&["reduce-styled"])
        .benefit(40);
register_rewrite!(SUM_TOEPLITZ);

impl RootRewrite for SumToeplitz {
    type Match = (Inst, Value);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let func = cx.func();
        let (x, result) = (func.inst(root).args[0], func.ty(func.inst(root).results[0]));
        let is_toeplitz = func.ty(x).style().is_some_and(|style| style == TOEPLITZ.name);
        let is_known = func.ty(x).dtype() == DType::I64 && !func.ty(x).dims().contains(&Dim::Any);
        match is_toeplitz && is_known && result.is_scalar() && !cx.is_written(x) {
            true => Ok((root, x)),
            false => Err(NoMatch::quiet()),
        }
    }

    fn apply(&self, (root, x): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let n = rw.func().ty(x).dims()[0];
        let named = |name: &str| Attrs::new().with("name", Attr::Str(name.into()));
        let (column, row) =
            (rw.op_with("component", [x], named("column"))?, rw.op_with("component", [x], named("row"))?);
        let positions = Attrs::new().with("dims", Attr::Dims(vec![n].into())).with("dtype", Attr::DType(DType::I64));
        let k = rw.op_with("iota", [] as [Value; 0], positions)?;
        let extent = rw.op_with("dim", [x], Attrs::new().with("axis", Attr::Int(0)))?;
        let count = rw.op("sub", [extent, k])?;
        // The main diagonal is the column's.
        let zero = rw.constant(Scalar::I64(0));
        let is_above = rw.op("ne", [k, zero])?;
        let row = rw.op("mul", [row, is_above])?;
        let both = rw.op("add", [column, row])?;
        let counted = rw.op("mul", [both, count])?;
        let sum = rw.op("sum", [counted])?;
        rw.replace(root, &[sum])
    }
}
