//! The rewrite `materialize-nest`: replaces `materialize` of a nest by one `arrayexpr` for each component
//! of the result. It treats `restyle` to a dense array likewise, and runs before `array-expr`.
//!
//! If the result keeps its structure, only stored elements are computed. At the places of a component, the
//! index of every operand is an affine form of the component's axes. So for most operands it is known
//! statically whether an element is read or zero.

use crate::element::{Cell, Element, Leaf, Places, Stored, assembled, dense, insert, stretched, zero};
use crate::lattice::{Broadcasting, Keeps};
use crate::lazy::Lazy;
use crate::nest::{Nest, Part, lazy_of};
use crate::ops::materialize;
use crate::whole_nest;
use rewright::ir::expr::{Axis, AxisKind, axes_along};
use rewright::plugin::*;
use std::collections::HashMap;

/// See the [module's page](self).
pub struct MaterializeNest;

static MATERIALIZE_NEST: RewriteDef =
    RewriteDef::root("materialize-nest", "lazy arrays are computed, each component by one arrayexpr", &MaterializeNest)
        .roots(&["materialize", "restyle"])
        .before(&["array-expr"])
        .benefit(10);
register_rewrite!(MATERIALIZE_NEST);

/// The computation that replaces `materialize`.
pub enum Computation {
    /// None: the result is the operand.
    Itself,
    /// A nest that is computed in a style; with a reason, if structure is lost.
    Nest(Nest, Style, Option<String>),
    /// A dense array that is converted to a style afterwards; the nest, if the style finds components in
    /// it.
    Kept(Style, Option<Nest>),
}

impl RootRewrite for MaterializeNest {
    type Match = (Inst, Computation);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let func = cx.func();
        let data = func.inst(root);
        let (arg, result) = (func.inst(root).args[0], func.ty(data.results[0]));
        let ty = func.ty(arg);
        if ty == result {
            let itself = data.op.name == "materialize" && cx.can_replace(root, &[arg]);
            return if itself { Ok((root, Computation::Itself)) } else { Err(NoMatch::quiet()) };
        }
        let because =
            |why: String| NoMatch::because(format!("`{}` is computed by reference: {why}", data.op)).at(data.loc);
        let style = Style::of(result).map_err(because)?;
        if data.op.name == "restyle" {
            // A conversion to a style checks every element, so only conversions to dense are compiled here.
            let has_elements = |style: Style| style.def().interface::<Element>().is_some();
            let dense = style.is_dense() && ty.style().is_some() && Style::of(ty).is_ok_and(has_elements);
            if !dense {
                return Err(NoMatch::quiet());
            }
            // The index maps of an expression need extents that the types prove equal.
            if !is_aligned(ty, result) {
                return Err(because("its extents are not known".into()));
            }
            return Ok((root, Computation::Nest(nest(cx, root, arg, result).map_err(because)?, style, None)));
        }
        let lazy = lazy_of(ty).map_err(because)?;
        let (proved, refused) = materialize::style(ty, &Attrs::new()).map_err(because)?;
        if !style.is_dense() && (style != proved || style.def().interface::<Stored>().is_none()) {
            let finds = whole_nest::finds(style);
            let nest = finds.then(|| searched(cx, root, arg)).transpose().map_err(because)?;
            return Ok((root, Computation::Kept(style, nest)));
        }
        let nest = nest(cx, root, arg, result).map_err(because)?;
        let lost = if style.is_dense() { why_dense(cx, &nest, lazy, refused) } else { None };
        Ok((root, Computation::Nest(nest, style, lost)))
    }

    fn apply(&self, (root, found): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let data = rw.func().inst(root).clone();
        let (arg, loc) = (data.args[0], data.loc);
        match found {
            Computation::Itself => rw.replace(root, &[arg]),
            Computation::Kept(style, nest) => {
                let has_any = style.def().interface::<Broadcasting>().is_some_and(|b| b.keeps != Keeps::Zeros);
                if !has_any {
                    rw.missed(loc, format!("every element is computed, to see whether `{style}` can have it"));
                }
                let attrs = |style: &str| Attrs::new().with("style", Attr::Str(style.into()));
                let dense = rw.op_with("materialize", [arg], attrs("dense"))?;
                let mut kept = rw.op_with("restyle", [dense], attrs(style.name().as_str()))?;
                if let Some(nest) = nest {
                    let ty = rw.func().ty(data.results[0]).clone();
                    let summary = lazy_of(rw.func().ty(arg)).map_err(RewriteError::new)?.nest;
                    let own = components(rw, kept, style, &ty)?;
                    let names = (style.def().components)(&ty).map_err(RewriteError::new)?;
                    let is_found = |component: &Component| found_at(style, component).is_some();
                    let parts = own.into_iter().zip(&names).filter(|(_, part)| !is_found(part)).map(|(own, _)| own);
                    let all = with_found(rw, &nest, style, &ty, summary, parts.collect())?;
                    kept = assembled(rw, style.name().as_str(), &ty, all)?;
                }
                rw.replace(root, &[kept])
            }
            Computation::Nest(nest, style, lost) => {
                let result = rw.func().ty(data.results[0]).clone();
                if let Some(why) = lost {
                    rw.missed(loc, format!("no structure is proved: {why}"));
                }
                let leaves = leaves(rw, &nest, &result, loc)?;
                let summary = lazy_of(rw.func().ty(arg)).map_err(RewriteError::new)?.nest;
                let maker = Maker { nest: &nest, leaves: &leaves, result: &result };
                let value = match style.is_dense() {
                    true => maker.dense(rw)?,
                    false => maker.components(rw, style, summary)?,
                };
                rw.replace(root, &[value])
            }
        }
    }
}

/// The components of an array of a style, each computed by an expression, for a nest that is zero
/// elsewhere.
pub fn components_of(
    rw: &mut Rewriter<'_>,
    nest: &Nest,
    style: Style,
    ty: &Type,
    loc: Loc,
) -> Result<Vec<Value>, RewriteError> {
    let leaves = leaves(rw, nest, ty, loc)?;
    let stored = style.def().interface::<Stored>().ok_or_else(|| RewriteError::new("it is stored nowhere"))?;
    let places = (stored.0)(ty).map_err(RewriteError::new)?;
    Maker { nest, leaves: &leaves, result: ty }.parts(rw, style, ty, places)
}

/// The nest of a value, if all of its parts can be computed in one expression.
pub fn nest(cx: &MatchCx<'_>, root: Inst, value: Value, result: &Type) -> Result<Nest, String> {
    let nest = Nest::of(cx, root, value)?;
    if nest.leaves().any(|leaf| !cx.reaches(leaf, root)) {
        return Err("an operand does not reach it".into());
    }
    nest.inlines(cx.module())?;
    if result.rank() > 0 && result.dims().contains(&Dim::Any) && result.style().is_some() {
        return Err("its extents are not known".into());
    }
    Ok(nest)
}

/// The nest of a value, for a style that finds components in the nest's operands.
fn searched(cx: &MatchCx<'_>, root: Inst, value: Value) -> Result<Nest, String> {
    let nest = Nest::of(cx, root, value)?;
    if nest.leaves().any(|leaf| !cx.reaches(leaf, root)) {
        return Err("an operand does not reach it".into());
    }
    Ok(nest)
}

/// The position of a component among those that the style finds; none if it holds elements.
fn found_at(style: Style, component: &Component) -> Option<usize> {
    whole_nest::of(style)?.found.iter().position(|&name| name == component.name)
}

/// All components of a result, in order: `parts` are those that hold elements, and `allocate` makes the
/// others.
fn with_found(
    rw: &mut Rewriter<'_>,
    nest: &Nest,
    style: Style,
    ty: &Type,
    summary: Option<Name>,
    parts: Vec<Value>,
) -> Result<Vec<Value>, RewriteError> {
    if !whole_nest::finds(style) {
        return Ok(parts);
    }
    let operands = whole_nest::operands(nest, rw.func(), style);
    let mut attrs = Attrs::new()
        .with("style", Attr::Str(style.name().as_str().into()))
        .with("dims", Attr::Dims(ty.dims().into()))
        .with("dtype", Attr::DType(ty.dtype()));
    if let Some(summary) = summary {
        attrs = attrs.with("nest", Attr::Str(summary.as_str().into()));
    }
    let inst = rw.insert(rewright::ir::builder::find_op("allocate")?, operands, attrs)?;
    let found = rw.func().inst(inst).results.clone();
    let mut parts = parts.into_iter();
    let missing = || RewriteError::new(format!("`{style}` has places for fewer components than it has"));
    let all = (style.def().components)(&ty.clone().with_style(Some(style.name()))).map_err(RewriteError::new)?;
    let one = |component: &Component| match found_at(style, component) {
        Some(n) => found.get(n).copied().ok_or_else(missing),
        None => parts.next().ok_or_else(missing),
    };
    all.iter().map(one).collect()
}

/// Why a result is dense though operands have structure.
fn why_dense(cx: &MatchCx<'_>, nest: &Nest, lazy: Lazy, refused: Option<String>) -> Option<String> {
    let func = cx.func();
    let has_style = |leaf: Value| func.ty(leaf).style().is_some();
    if !nest.leaves().any(has_style) {
        return None;
    }
    if !lazy.style.is_dense() {
        return refused.map(|why| format!("`{}` is lost because {why}", lazy.style));
    }
    // The first function that loses the structure gives the reason.
    nest.parts.iter().find_map(|part| {
        let Part::Applied { inst, .. } = part else { return None };
        crate::ops::broadcasted::why_dense(func, cx.module(), *inst)
    })
}

/// How an expression reads a leaf.
#[derive(Clone)]
enum LeafRead {
    /// A scalar, or an array of rank 0.
    Scalar,
    /// A dense array.
    Dense,
    /// An array of a style.
    Styled(Leaf, &'static Element),
}

/// Decides how each leaf is read, and takes the components of leaves with a style.
fn leaves(
    rw: &mut Rewriter<'_>,
    nest: &Nest,
    result: &Type,
    loc: Loc,
) -> Result<HashMap<Value, (Value, LeafRead)>, RewriteError> {
    let mut leaves = HashMap::new();
    let all: Vec<Value> = nest.leaves().collect();
    for leaf in all {
        let ty = rw.func().ty(leaf).clone();
        let style = Style::of(&ty).map_err(RewriteError::new)?;
        let read = match style.def().interface::<Element>().filter(|_| !style.is_dense()) {
            None if ty.rank() == 0 => (leaf, LeafRead::Scalar),
            None if style.is_dense() => (leaf, LeafRead::Dense),
            Some(element) if is_aligned(&ty, result) => {
                let components = components(rw, leaf, style, &ty)?;
                let zero = zero(ty.dtype());
                (leaf, LeafRead::Styled(Leaf { ty, components, zero }, element))
            }
            None => (dense(rw, leaf, loc, "its style has no expression for elements")?, LeafRead::Dense),
            Some(_) => {
                let why = "whether it is stretched along an axis is not known before it runs";
                (dense(rw, leaf, loc, why)?, LeafRead::Dense)
            }
        };
        leaves.insert(leaf, read);
    }
    Ok(leaves)
}

fn components(rw: &mut Rewriter<'_>, value: Value, style: Style, ty: &Type) -> Result<Vec<Value>, RewriteError> {
    let all = (style.def().components)(ty).map_err(RewriteError::new)?;
    all.iter()
        .map(|component| {
            let name = Attrs::new().with("name", Attr::Str(component.name.into()));
            rw.op_with("component", [value], name)
        })
        .collect()
}

/// True if each axis of an array has the extent of the result, or extent 1.
fn is_aligned(ty: &Type, result: &Type) -> bool {
    let missing = result.rank().saturating_sub(ty.rank());
    let mut pairs = ty.dims().iter().zip(&result.dims()[missing..]);
    pairs.all(|(&own, &of)| own == Dim::Const(1) || (own == of && own != Dim::Any))
}

/// Builds the expressions.
struct Maker<'a> {
    nest: &'a Nest,
    leaves: &'a HashMap<Value, (Value, LeafRead)>,
    result: &'a Type,
}

impl Maker<'_> {
    /// Computes all elements by one expression, or the components first if that is less work
    /// (`by_components`).
    fn dense(&self, rw: &mut Rewriter<'_>) -> Result<Value, RewriteError> {
        if let Some(value) = self.by_components(rw)? {
            return Ok(value);
        }
        let axes = axes_along(self.result.dims(), |name| self.is_symbol(rw.func(), name));
        let at: Vec<Affine> = (0..axes.len()).map(|axis| Affine::axis(axis as u32)).collect();
        self.expression(rw, axes, Vec::new(), &at, self.result.dims())
    }

    /// If components have fewer axes than the array, computes the components first. Then one expression
    /// reads them, and gives the nest's value for zeros at all other places.
    fn by_components(&self, rw: &mut Rewriter<'_>) -> Result<Option<Value>, RewriteError> {
        let Some(Part::Applied { inst, .. }) = self.nest.parts.last() else { return Ok(None) };
        let lazy = rw.func().ty(rw.func().inst(*inst).results[0]).clone();
        let Ok(Lazy { style, zero: Some(zero), .. }) = Lazy::of(&lazy) else { return Ok(None) };
        if whole_nest::finds(style) {
            return Ok(None);
        }
        let (Some(stored), Some(element)) = (style.def().interface::<Stored>(), style.def().interface::<Element>())
        else {
            return Ok(None);
        };
        let ty = self.result.clone().with_style(Some(style.name()));
        let places = (stored.0)(&ty).map_err(RewriteError::new)?;
        if places.iter().any(|part| part.extents.len() >= ty.rank()) {
            return Ok(None);
        }
        let components = self.parts(rw, style, &ty, places)?;
        let nest = Nest { parts: vec![Part::Leaf(components[0])] };
        let leaf = Leaf { ty, components: components.clone(), zero };
        let leaves = HashMap::from([(components[0], (components[0], LeafRead::Styled(leaf, element)))]);
        Maker { nest: &nest, leaves: &leaves, result: self.result }.dense(rw).map(Some)
    }

    /// The array of a style, with each component computed by one expression.
    fn components(&self, rw: &mut Rewriter<'_>, style: Style, summary: Option<Name>) -> Result<Value, RewriteError> {
        let stored = style.def().interface::<Stored>().ok_or_else(|| RewriteError::new("it is stored nowhere"))?;
        let places = (stored.0)(self.result).map_err(RewriteError::new)?;
        let parts = self.parts(rw, style, self.result, places)?;
        let all = with_found(rw, self.nest, style, self.result, summary, parts)?;
        assembled(rw, style.name().as_str(), self.result, all)
    }

    fn parts(
        &self,
        rw: &mut Rewriter<'_>,
        style: Style,
        ty: &Type,
        places: Vec<Places>,
    ) -> Result<Vec<Value>, RewriteError> {
        let mut components = (style.def().components)(ty).map_err(RewriteError::new)?;
        components.retain(|component| found_at(style, component).is_none());
        let leaves = self.stretched(rw)?;
        let maker = Maker { leaves: &leaves, ..*self };
        components.iter().zip(places).map(|(component, places)| maker.component(rw, component, places)).collect()
    }

    /// The leaves, with dense arrays broadcast to the extents of the result. An expression can broadcast
    /// along its own axes only, and a component has axes of its own.
    fn stretched(&self, rw: &mut Rewriter<'_>) -> Result<HashMap<Value, (Value, LeafRead)>, RewriteError> {
        let mut leaves = self.leaves.clone();
        for leaf in self.nest.leaves() {
            if let Some((value, LeafRead::Dense)) = leaves.get_mut(&leaf) {
                *value = stretched(rw, *value, self.result)?;
            }
        }
        Ok(leaves)
    }

    fn component(&self, rw: &mut Rewriter<'_>, component: &Component, places: Places) -> Result<Value, RewriteError> {
        let named = axes_along(&vec![Dim::Any; places.extents.len()], |name| self.is_symbol(rw.func(), name));
        let axis = |(axis, extent)| Axis { hi: Some(extent), kind: AxisKind::Parallel, ..axis };
        let axes: Vec<Axis> = named.into_iter().zip(places.extents).map(axis).collect();
        self.expression(rw, axes, places.guard, &places.at, component.ty.dims())
    }

    fn is_symbol(&self, func: &Function, name: Name) -> bool {
        let types = self.leaves.keys().map(|&leaf| func.ty(leaf)).chain([self.result]);
        types.flat_map(|ty| ty.dims()).any(|&dim| dim == Dim::Sym(name))
    }

    /// The expression of the nest's elements `at` places, as an array of these dims.
    fn expression(
        &self,
        rw: &mut Rewriter<'_>,
        axes: Vec<Axis>,
        guard: Vec<rewright::ir::expr::Condition>,
        at: &[Affine],
        dims: &[Dim],
    ) -> Result<Value, RewriteError> {
        let module = rw.module();
        let mut cell = Cell::new(rw.func(), axes, guard);
        let element = self.nest.element(&mut cell, module, |cell, leaf| self.leaf(cell, leaf, at));
        let element = element.map_err(RewriteError::new)?;
        let expr = cell.finish(element, self.result.dtype(), dims);
        insert(rw, expr)
    }

    fn leaf(&self, cell: &mut Cell<'_>, leaf: Value, at: &[Affine]) -> Result<(BodyRef, DType), String> {
        let (value, read) = &self.leaves[&leaf];
        let (ty, dtype) = cell.type_of(*value);
        let element = match read {
            LeafRead::Scalar => cell.read_by(*value, Vec::new()),
            LeafRead::Dense => {
                let dims = self.result.dims();
                let missing = dims.len() - ty.rank();
                let index = ty.dims().iter().zip(&dims[missing..]).zip(&at[missing..]).map(|((&own, &of), form)| {
                    if own == Dim::Const(1) {
                        return Index { expr: IndexExpr::Affine(Affine::constant(0)), mode: Mode::Proved };
                    }
                    let mode = if own == of && own != Dim::Any { Mode::Proved } else { Mode::Broadcast };
                    Index { expr: IndexExpr::Affine(form.clone()), mode }
                });
                let index = index.collect();
                cell.read_by(*value, index)
            }
            LeafRead::Styled(styled, element) => {
                let missing = at.len() - styled.ty.rank();
                let own = styled.ty.dims().iter().zip(&at[missing..]);
                let at = own.map(|(&dim, form)| if dim == Dim::Const(1) { Affine::constant(0) } else { form.clone() });
                (element.0)(cell, styled, &at.collect::<Vec<_>>())?
            }
        };
        Ok((element, if let LeafRead::Styled(styled, _) = read { styled.ty.dtype() } else { dtype }))
    }
}
