//! The rewrite `stored-elements`: computes functions of sparse arrays at stored elements only, by one
//! kernel over the values of all operands. It applies if the result for zeros is one known number, and runs
//! before `materialize-nest`.
//!
//! A single sparse operand keeps its pattern (`revalued`). Several patterns are merged by `align`: their
//! union, or for products the intersection of the factors' patterns ([`terms`](crate::terms)). Dense
//! operands that zeros absorb are gathered at these places. A sparse operand that is broadcast is stretched
//! first ([`stretch`](crate::ops::stretch)). A sparse result drops computed zeros. A dense result has the
//! computed elements among copies of the number for zeros.

use crate::absorption::{self, ABSORBING, is_exact};
use crate::element::{Cell, assembled, dense, insert, stretched as view, zero};
use crate::lazy::Lazy;
use crate::nest::{Applied, Nest, Part};
use crate::ops::materialize;
use crate::pattern::{Nonzeros, Pattern, Stretches};
use crate::terms::Terms;
use crate::whole_nest;
use rewright::ir::expr::axes_along;
use rewright::plugin::*;

/// See the [module's page](self).
pub struct StoredElements;

static STORED_ELEMENTS: RewriteDef = RewriteDef::root(
    "stored-elements",
    "functions of sparse arrays are computed where elements are stored",
    &StoredElements,
)
.roots(&["materialize", "restyle"])
.before(&["materialize-nest"])
.benefit(20);
register_rewrite!(STORED_ELEMENTS);

/// The match of the rewrite.
pub enum StoredChange {
    /// A sparse array that becomes dense, by `spread`.
    Spread,
    /// A nest, its style with a pattern, and its result for zeros.
    Nest(Nest, Style, Scalar),
}

impl RootRewrite for StoredElements {
    type Match = (Inst, StoredChange);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let func = cx.func();
        let data = func.inst(root);
        let (arg, result) = (data.args[0], func.ty(data.results[0]));
        let ty = func.ty(arg);
        let of = |ty: &Type| Style::of(ty).map_err(|_| NoMatch::quiet());
        let has_pattern = |style: Style| style.def().interface::<Pattern>().is_some();
        if !Lazy::is_lazy(ty) {
            let becomes_dense = has_pattern(of(ty)?) && result.style().is_none() && result.rank() > 0;
            return if becomes_dense { Ok((root, StoredChange::Spread)) } else { Err(NoMatch::quiet()) };
        }
        let (Lazy { style, zero: Some(number), .. }, "materialize") =
            (Lazy::of(ty).map_err(NoMatch::because)?, data.op.name)
        else {
            return Err(NoMatch::quiet());
        };
        let kept = of(result)?;
        let (proved, _) = materialize::style(ty, &Attrs::new()).map_err(NoMatch::because)?;
        // Components that a style finds in the nest do not hold places.
        if whole_nest::finds(style) || !has_pattern(style) || !(kept.is_dense() || kept == proved) {
            return Err(NoMatch::quiet());
        }
        let apart = |why: String| NoMatch::because(format!("all elements are computed: {why}")).at(data.loc);
        let nest = Nest::of(cx, root, arg).map_err(apart)?;
        nest.inlines(cx.module()).map_err(apart)?;
        if nest.leaves().any(|leaf| !cx.reaches(leaf, root)) {
            return Err(apart("an operand does not reach it".into()));
        }
        if result.dims().contains(&Dim::Any) {
            return Err(apart("the extents are not known".into()));
        }
        let has_pattern = nest.leaves().any(|leaf| is_aligned(func.ty(leaf), style, result));
        match has_pattern {
            false => Err(apart("no operand has a pattern with the extents of the result".into())),
            true => Ok((root, StoredChange::Nest(nest, style, number))),
        }
    }

    fn apply(&self, (root, found): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let data = rw.func().inst(root).clone();
        let result = rw.func().ty(data.results[0]).clone();
        let value = match found {
            StoredChange::Spread => {
                let beside = rw.constant(zero(result.dtype()));
                rw.op("spread", [data.args[0], beside])?
            }
            StoredChange::Nest(nest, style, number) => {
                let sparse = computed(rw, &nest, style, &result, data.loc)?;
                match result.style() {
                    Some(_) => rw.op("drop_zeros", [sparse])?,
                    None => {
                        let beside = rw.constant(number);
                        rw.op("spread", [sparse, beside])?
                    }
                }
            }
        };
        rw.replace(root, &[value])
    }
}

/// Whether an operand's places are known over the result's extents, possibly after broadcasting.
fn is_aligned(ty: &Type, style: Style, result: &Type) -> bool {
    let Ok(own) = Style::of(ty) else { return false };
    let is_there = own == style || own.def().interface::<Nonzeros>().is_some();
    (ty.dims() == result.dims() && is_there) || is_stretched(ty, style, result)
}

/// Whether broadcasting an operand to the result's extents gives an array of `style`.
fn is_stretched(ty: &Type, style: Style, result: &Type) -> bool {
    let Ok(own) = Style::of(ty) else { return false };
    let stretches = own.def().interface::<Stretches>().filter(|_| ty.dims() != result.dims());
    stretches.is_some_and(|stretches| (stretches.0)(ty, result.dims()) == Some(style.def().name))
}

/// Whether a broadcast operand occurs only as a factor of products that are zero off the places of their
/// other factors. It is then read at these places instead of being stretched.
fn is_only_a_factor(nest: &Nest, func: &Function, leaf: Value, style: Style, result: &Type) -> bool {
    // For each part: whether all arrays it depends on have known places.
    let mut is_bound = Vec::with_capacity(nest.parts.len());
    for part in &nest.parts {
        is_bound.push(match part {
            Part::Constant(_) => true,
            Part::Leaf(value) => {
                let ty = func.ty(*value);
                ty.is_scalar() || (ty.dims() == result.dims() && is_aligned(ty, style, result))
            }
            Part::Applied { args, .. } => args.iter().all(|&arg| is_bound[arg]),
        });
    }
    let is_zero = |n: usize| match &nest.parts[n] {
        Part::Leaf(value) => func.ty(*value).is_array(),
        Part::Applied { inst, .. } => {
            let lazy = Lazy::of(func.ty(func.inst(*inst).results[0]));
            lazy.is_ok_and(|lazy| lazy.zero.is_some_and(|zero| !zero.truthy()))
        }
        Part::Constant(_) => false,
    };
    nest.parts.iter().all(|part| {
        let Part::Applied { inst, function, args } = part else { return true };
        let is_leaf = |&n: &usize| matches!(nest.parts[n], Part::Leaf(value) if value == leaf);
        if !args.iter().any(is_leaf) {
            return true;
        }
        let (Applied::Op(op), [a, b]) = (function, &args[..]) else { return false };
        let data = func.inst(*inst);
        let exact = args.iter().all(|&n| is_exact(nest.parts[n].dtype(func)));
        let absorbs = absorption::is_asked(*op, &data.attrs, func.ty(data.results[0]).dtype()) || exact;
        let other = if is_leaf(a) { *b } else { *a };
        ABSORBING.contains(&op.name) && absorbs && is_bound[other] && is_zero(other)
    })
}

/// How the kernel reads a leaf.
enum KernelRead {
    Scalar,
    /// The values of the leaf along the merged places.
    Values(Value),
    /// A dense array, gathered at the places.
    Dense(Value),
}

/// Computes the nest at stored elements; the result is a sparse array.
fn computed(rw: &mut Rewriter<'_>, nest: &Nest, style: Style, result: &Type, loc: Loc) -> Result<Value, RewriteError> {
    let mut leaves: Vec<Value> = Vec::new();
    for leaf in nest.leaves() {
        if !leaves.contains(&leaf) {
            leaves.push(leaf);
        }
    }
    let stretched = |func: &Function, leaf: Value| is_stretched(func.ty(leaf), style, result);
    let counts = |func: &Function, leaf: Value| {
        is_aligned(func.ty(leaf), style, result)
            && !(stretched(func, leaf) && is_only_a_factor(nest, func, leaf, style, result))
    };
    let aligned: Vec<Value> = leaves.iter().copied().filter(|&leaf| counts(rw.func(), leaf)).collect();
    // A single array keeps its places, which are valid already.
    let is_of_style = |leaf| Style::of(rw.func().ty(leaf)).is_ok_and(|own| own == style);
    let single = match aligned[..] {
        [leaf] if is_of_style(leaf) && !stretched(rw.func(), leaf) => Some(leaf),
        _ => None,
    };
    let (whereabouts, values) = match single {
        Some(leaf) => (Vec::new(), vec![stored_values(rw, leaf, style)?]),
        None => {
            let mut whole = Vec::with_capacity(aligned.len());
            for &leaf in &aligned {
                whole.push(match stretched(rw.func(), leaf) {
                    true => {
                        let others = leaves.iter().filter(|&&other| other != leaf && rw.func().ty(other).rank() > 0);
                        let operands: Vec<Value> = [leaf].into_iter().chain(others.copied()).collect();
                        let attrs = Attrs::new().with("style", Attr::Str(style.name().as_str().into()));
                        rw.op_with("stretch", operands, attrs)?
                    }
                    false => leaf,
                });
            }
            aligned_values(rw, nest, style, &aligned, whole)?
        }
    };
    let mut reads = Vec::new();
    for &leaf in &leaves {
        let ty = rw.func().ty(leaf).clone();
        reads.push(match aligned.iter().position(|&other| other == leaf) {
            Some(number) => KernelRead::Values(values[number]),
            None if ty.rank() == 0 => KernelRead::Scalar,
            None => {
                let dense = dense(rw, leaf, loc, "elements at the places of others are read from there")?;
                KernelRead::Dense(view(rw, dense, result)?)
            }
        });
    }
    let with_values = |rw: &mut Rewriter<'_>, values: Value| {
        if let Some(leaf) = single {
            return rw.op("revalued", [leaf, values]);
        }
        let ty = Type::array(rw.func().ty(values).dtype(), result.dims());
        let components = whereabouts.iter().copied().chain([values]).collect();
        assembled(rw, style.name().as_str(), &ty, components)
    };
    let mut places = Vec::new();
    if reads.iter().any(|read| matches!(read, KernelRead::Dense(_))) {
        let pattern = match single {
            Some(leaf) => leaf,
            None => with_values(rw, values[0])?,
        };
        let inst = rw.insert(rewright::ir::builder::find_op("places")?, vec![pattern], Attrs::new())?;
        places = rw.func().inst(inst).results.to_vec();
    }
    let module = rw.module();
    let axes = axes_along(&[Dim::Any], |name| result.dims().contains(&Dim::Sym(name)));
    let mut cell = Cell::new(rw.func(), axes, Vec::new());
    let along = || [Index { expr: IndexExpr::Affine(Affine::axis(0)), mode: Mode::Proved }].to_vec();
    let element = nest.element(&mut cell, module, |cell, leaf| {
        let read = leaves.iter().position(|&other| other == leaf).map(|n| &reads[n]);
        let element = match *read.ok_or("an operand that is not read")? {
            KernelRead::Scalar => cell.read_by(leaf, Vec::new()),
            KernelRead::Values(values) => cell.read_by(values, along()),
            KernelRead::Dense(value) => at_places(cell, value, result, &places),
        };
        Ok((element, cell.type_of(leaf).1))
    });
    let element = element.map_err(RewriteError::new)?;
    let expr = cell.finish(element, result.dtype(), &[Dim::Any]);
    let values = insert(rw, expr)?;
    with_values(rw, values)
}

/// The component that holds the stored values of an array.
fn stored_values(rw: &mut Rewriter<'_>, array: Value, style: Style) -> Result<Value, RewriteError> {
    let components = (style.def().components)(rw.func().ty(array)).map_err(RewriteError::new)?;
    let name = components.last().map_or("", |component| component.name);
    rw.op_with("component", [array], Attrs::new().with("name", Attr::Str(name.into())))
}

/// Inserts `align` for several arrays. Returns the components of the merged pattern, and each array's
/// values along it. `whole` holds the arrays with the result's extents.
fn aligned_values(
    rw: &mut Rewriter<'_>,
    nest: &Nest,
    style: Style,
    aligned: &[Value],
    whole: Vec<Value>,
) -> Result<(Vec<Value>, Vec<Value>), RewriteError> {
    let mut named = Attrs::new().with("style", Attr::Str(style.name().as_str().into()));
    let number = |leaf| aligned.iter().position(|&other| other == leaf);
    if let Some(terms) = Terms::of(nest, rw.func(), number) {
        named = named.with("places", Attr::Str(terms.written().into()));
    }
    let inst = rw.insert(rewright::ir::builder::find_op("align")?, whole, named)?;
    let mut whereabouts: Vec<Value> = rw.func().inst(inst).results.to_vec();
    let values = whereabouts.split_off(whereabouts.len() - aligned.len());
    Ok((whereabouts, values))
}

/// The element of a dense array at the k-th place; axes of extent 1 are broadcast.
fn at_places(cell: &mut Cell<'_>, value: Value, result: &Type, places: &[Value]) -> BodyRef {
    let ty = cell.type_of(value).0;
    let missing = result.rank() - ty.rank();
    let index = ty.dims().iter().enumerate().map(|(axis, &dim)| {
        if dim == Dim::Const(1) && result.dims()[axis + missing] != Dim::Const(1) {
            return Index { expr: IndexExpr::Affine(Affine::constant(0)), mode: Mode::Proved };
        }
        // `view` gave the array the extents of the result, so every place is in bounds.
        let arg = cell.arg(places[axis + missing]);
        let along = vec![IndexExpr::Affine(Affine::axis(0))];
        Index {
            expr: IndexExpr::Gather { arg, index: along, offset: Affine::constant(0), negative: Negative::FromEnd },
            mode: Mode::Check,
        }
    });
    let index = index.collect();
    cell.read_by(value, index)
}
