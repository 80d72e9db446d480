//! The rewrite `reduce-styled`: reduces lazy arrays and arrays of storage styles, by kernels over stored
//! elements where that is possible.
//!
//! Packed bools are counted a word at a time. Sums of arrays that are zero elsewhere add the stored
//! elements only. For floats this changes the order of addition, so another rewrite does it:
//! `reassociate-styled`, which takes the liberty `reassociate`. Other reductions read every element, and
//! the nest is computed in the kernel that reduces it.

use crate::element::{Element, Stored};
use crate::lattice::Broadcasting;
use crate::lazy::Lazy;
use crate::materialize_nest::{components_of, nest};
use crate::nest::{Nest, Part};
use crate::pattern::Pattern;
use crate::styles::bits::BITS_PER_WORD;
use rewright::ir::expr::Monoid;
use rewright::ops::reduced::Reduced;
use rewright::plugin::*;

/// See the [module's page](self).
pub struct ReduceStyled {
    reassociates: bool,
}

const ROOTS: &[&str] = &["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"];

static REDUCE_STYLED: RewriteDef = RewriteDef::root(
    "reduce-styled",
    "reductions of lazy arrays and of storage styles read the stored elements only",
    &ReduceStyled { reassociates: false },
)
.roots(ROOTS)
.before(&["bits-on-words", "stored-elements"])
.benefit(20);
static REASSOCIATE_STYLED: RewriteDef = RewriteDef::root(
    "reassociate-styled",
    "sums of floats add the stored elements, in their order of storage",
    &ReduceStyled { reassociates: true },
)
.roots(&["sum"])
.before(&["reduce-styled"])
.benefit(30)
.liberties(Liberties::REASSOCIATE);
register_rewrite!(REDUCE_STYLED, REASSOCIATE_STYLED);

/// How a reduction is computed.
pub enum Way {
    /// From words of 64 bools.
    Words,
    /// From the values of a sparse array.
    Values(Style),
    /// From the components of a style that is zero elsewhere.
    Stored(Nest, Style),
    /// From all elements; with a reason, if there is one to report.
    All(Option<String>),
}

impl RootRewrite for ReduceStyled {
    type Match = (Inst, Way);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let func = cx.func();
        let data = func.inst(root);
        let arg = data.args[0];
        let ty = func.ty(arg);
        let reduced = Reduced::of_any_style(func, data).filter(|_| ty.style().is_some()).ok_or(NoMatch::quiet())?;
        if cx.is_written(arg) || cx.is_ended(arg) {
            return Err(NoMatch::because("the reduced array is written to").at(data.loc));
        }
        let way = match self.way(cx, root, &reduced) {
            Ok(way) => way,
            Err(_) if self.reassociates => return Err(NoMatch::quiet()),
            Err(why) => Way::All(why),
        };
        Ok((root, way))
    }

    fn apply(&self, (root, way): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let data = rw.func().inst(root).clone();
        let (arg, ty) = (data.args[0], rw.func().ty(data.args[0]).clone());
        let kept = |rw: &mut Rewriter<'_>, style: Style| match Lazy::is_lazy(&ty) {
            true => rw.op_with("materialize", [arg], named("style", style.name().as_str())),
            false => Ok(arg),
        };
        let value = match way {
            Way::All(why) => {
                if let Some(why) = why {
                    rw.missed(data.loc, format!("all elements are read: {why}"));
                }
                let op = if Lazy::is_lazy(&ty) { "materialize" } else { "restyle" };
                let dense = rw.op_with(op, [arg], named("style", "dense"))?;
                rw.op_with(data.op.name, [dense], data.attrs.clone())?
            }
            Way::Values(style) => {
                let sparse = kept(rw, style)?;
                let values = rw.op_with("component", [sparse], named("name", "values"))?;
                rw.op_with(data.op.name, [values], Attrs::new())?
            }
            Way::Stored(nest, style) => {
                let parts = components_of(rw, &nest, style, &ty.with_style(None), data.loc)?;
                let both = if data.op.name == "any" { "or" } else { "add" };
                let mut total = None;
                for part in parts {
                    let of_part = rw.op_with(data.op.name, [part], Attrs::new())?;
                    total = Some(match total {
                        None => of_part,
                        Some(before) => rw.op(both, [before, of_part])?,
                    });
                }
                total.ok_or_else(|| RewriteError::new("a style without components"))?
            }
            Way::Words => {
                let packed = kept(rw, Style::named(rewright::Name::new("bits")).map_err(RewriteError::new)?)?;
                of_words(rw, &data, packed)?
            }
        };
        rw.replace(root, &[value])
    }
}

fn named(name: &str, text: &str) -> Attrs {
    Attrs::new().with(name, Attr::Str(text.into()))
}

impl ReduceStyled {
    /// How a reduction can be computed without reading all elements; the error gives a reason, if there is
    /// one to report.
    fn way(&self, cx: &MatchCx<'_>, root: Inst, reduced: &Reduced) -> Result<Way, Option<String>> {
        let func = cx.func();
        let data = func.inst(root);
        let (arg, result) = (data.args[0], func.ty(data.results[0]));
        let ty = func.ty(arg);
        let lazy = if Lazy::is_lazy(ty) {
            Lazy::of(ty).map_err(Some)?
        } else {
            Lazy::kept(Style::of(ty).map_err(Some)?, Some(crate::element::zero(ty.dtype())))
        };
        if lazy.style.is_dense() {
            return Err(None);
        }
        let style = lazy.style;
        if style.def().name == "bits" && ty.dtype() == DType::Bool {
            return words(reduced).map(|()| Way::Words).map_err(Some);
        }
        let Some(broadcasting) = style.def().interface::<Broadcasting>() else { return Err(None) };
        if lazy.zero.is_none_or(|zero| zero.truthy()) {
            return Err(Some(format!("`{style}` is not known to be zero beside the stored elements")));
        }
        let zeros = Style::named(rewright::Name::new(broadcasting.zeros)).map_err(Some)?;
        let has_pattern = style.def().interface::<Pattern>().is_some();
        if !has_pattern && (zeros.is_dense() || zeros.def().interface::<Stored>().is_none()) {
            return Err(None);
        }
        let is_exact = !(ty.dtype().is_float() || ty.dtype().is_complex());
        match reduced.monoid {
            Monoid::Any => {}
            Monoid::Sum if is_exact || self.reassociates => {}
            Monoid::Sum => {
                return Err(Some(
                    "in any other order the sum is rounded otherwise, which takes the liberty `reassociate`".into(),
                ));
            }
            other => return Err(Some(format!("zeros count for `{}`", other.name()))),
        }
        if !result.is_scalar() {
            let all = reduced.axes.len() == reduced.rank;
            return Err(Some(
                if all { "`keepdims` makes an array of the number" } else { "some axes are left" }.into(),
            ));
        }
        if has_pattern {
            return Ok(Way::Values(style));
        }
        let nest = match Lazy::is_lazy(ty) {
            true => nest(cx, root, arg, ty).map_err(Some)?,
            false => Nest { parts: vec![Part::Leaf(arg)] },
        };
        if ty.dims().contains(&Dim::Any) {
            return Err(Some("its extents are not known".into()));
        }
        let has_element = |leaf: Value| {
            Style::of(func.ty(leaf)).is_ok_and(|own| own.is_dense() || own.def().interface::<Element>().is_some())
        };
        let all_have = nest.leaves().all(has_element);
        if all_have { Ok(Way::Stored(nest, zeros)) } else { Err(Some("an operand is computed by reference".into())) }
    }
}

/// Checks that a reduction can be computed from words; the error says why not.
fn words(reduced: &Reduced) -> Result<(), String> {
    let along_rows = reduced.axes.contains(&(reduced.rank - 1));
    match reduced.monoid {
        Monoid::Sum | Monoid::Any | Monoid::All if along_rows => Ok(()),
        Monoid::ArgMax if reduced.rank == 1 && !reduced.keepdims => Ok(()),
        Monoid::Sum | Monoid::Any | Monoid::All => Err("words lie along the last axis, which is left".into()),
        other => Err(format!("words tell no `{}`", other.name())),
    }
}

/// The reduction of packed bools by words, whose padding bits are false.
fn of_words(rw: &mut Rewriter<'_>, data: &InstData, packed: Value) -> Result<Value, RewriteError> {
    let words = rw.op_with("component", [packed], named("name", "words"))?;
    let to = |dtype| Attrs::new().with("to", Attr::DType(dtype));
    let number = |n: i64| Scalar::I64(n);
    let none = rw.constant(Scalar::U64(0));
    match data.op.name {
        "any" => {
            let some = rw.op("ne", [words, none])?;
            rw.op_with("any", [some], data.attrs.clone())
        }
        "argmax" => {
            // The lowest set bit of the first nonzero word.
            let some = rw.op("ne", [words, none])?;
            let at = rw.op("argmax", [some])?;
            let word = rw.op("getitem", [words, at])?;
            let minus = rw.op("neg", [word])?;
            let lowest = rw.op("bitand", [word, minus])?;
            let one = rw.constant(Scalar::U64(1));
            let below = rw.op("sub", [lowest, one])?;
            let below = rw.op("bit_count", [below])?;
            let below = rw.op_with("cast", [below], to(DType::I64))?;
            let in_word = rw.constant(number(BITS_PER_WORD as i64));
            let first = rw.op("mul", [at, in_word])?;
            let first = rw.op("add", [first, below])?;
            let nowhere = rw.op("eq", [word, none])?;
            let zero = rw.constant(number(0));
            rw.op("where", [nowhere, zero, first])
        }
        _ => {
            let counts = rw.op("bit_count", [words])?;
            let counts = rw.op_with("cast", [counts], to(DType::I64))?;
            let total = rw.op_with("sum", [counts], data.attrs.clone())?;
            if data.op.name == "sum" {
                return Ok(total);
            }
            let reduced = Reduced::of_any_style(rw.func(), data).ok_or_else(|| RewriteError::new("no reduction"))?;
            let mut all = rw.constant(number(1));
            for axis in reduced.axes {
                let extent = rw.op_with("dim", [packed], Attrs::new().with("axis", Attr::Int(axis as i64)))?;
                all = rw.op("mul", [all, extent])?;
            }
            rw.op("eq", [total, all])
        }
    }
}
