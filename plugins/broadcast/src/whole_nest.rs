//! The interface of storage styles that decide by the whole nest, and allocate components by its contents.
//!
//! A style's rule ([`Broadcasting::rule`](crate::lattice::Broadcasting::rule)) sees one function at a time.
//! [`WholeNest`] sees all of a nest where it is materialized. Its `decide` keeps the style or opts out,
//! given the functions, operands and constants ([`Summary`]). It is part of the type rule, so it depends
//! only on types and literals. Its `allocate` makes the components that hold no elements, such as a name or
//! a unit. It runs with the program, and receives these components of the nest's operands.
//!
//! Lazy arrays of the style carry these components of their operands, so that the reference evaluator has
//! them at `materialize`. Compiled programs take them from the operands by the op
//! [`allocate`](mod@crate::ops::allocate).

use crate::lazy::Lazy;
use crate::nest::{Nest, Part};
use crate::summary::Summary;
use rewright::ir::{Component, Style, Styled};
use rewright::{Array, DType, Datum, Dim, Function, Scalar, Type, Value};

/// Interface of a storage style: how it decides by whole nests, and allocates.
pub struct WholeNest {
    /// Decides the style of the result of a nest that would be of this style. An error rejects the nest.
    pub decide: fn(&Deciding<'_>) -> Result<Decision, String>,
    /// The names of the components that `allocate` makes. Their extents don't depend on those of the array.
    pub found: &'static [&'static str],
    /// Makes these components of the result, in the order of `found`.
    pub allocate: fn(&Allocating<'_>) -> Result<Vec<Array>, String>,
}

/// The input of `decide`: a nest that is materialized.
pub struct Deciding<'a> {
    /// The style that the result would have, with its arguments.
    pub style: Style,
    /// The type of the result, if it is dense.
    pub ty: &'a Type,
    /// The value of the nest at structural zeros, if it is known.
    pub zero: Option<Scalar>,
    /// The functions, operands and constants.
    pub nest: &'a Summary,
}

/// The decision on the style of a result.
pub enum Decision {
    /// The result keeps the style.
    Keep,
    /// The result is dense, for this reason, which a remark gives.
    Dense(String),
    /// Another style, which can have the elements of all such nests.
    Style(Style),
}

/// The input of `allocate`: a result to be made.
pub struct Allocating<'a> {
    /// The style, with its arguments.
    pub style: Style,
    /// The dtype of the elements.
    pub dtype: DType,
    /// The functions, operands and constants.
    pub nest: &'a Summary,
    /// The found components of each operand of the style, in the order in which the nest reads them. Equal
    /// lists are there once.
    pub operands: &'a [Vec<Array>],
}

impl WholeNest {
    /// A style that decides, and whose components all hold elements.
    pub const fn deciding(decide: fn(&Deciding<'_>) -> Result<Decision, String>) -> WholeNest {
        WholeNest { decide, found: &[], allocate: |_| Ok(Vec::new()) }
    }
    /// A style that keeps all results, and allocates these components.
    pub const fn allocating(
        found: &'static [&'static str],
        allocate: fn(&Allocating<'_>) -> Result<Vec<Array>, String>,
    ) -> WholeNest {
        WholeNest { decide: |_| Ok(Decision::Keep), found, allocate }
    }
}

/// The interface of a style, if it has it.
pub fn of(style: Style) -> Option<&'static WholeNest> {
    style.def().interface::<WholeNest>()
}

/// True if the style finds components in nests.
pub fn finds(style: Style) -> bool {
    of(style).is_some_and(|whole| !whole.found.is_empty())
}

/// The style of the result of a nest whose structure is known, and why it is dense if the style opts out.
pub fn decide(lazy: &Lazy, ty: &Type) -> Result<(Style, Option<String>), String> {
    let Some(whole) = of(lazy.style) else { return Ok((lazy.style, None)) };
    let (nest, ty) = (lazy.summary().unwrap_or_default(), ty.clone().with_style(None));
    let deciding = Deciding { style: lazy.style, ty: &ty, zero: lazy.zero, nest: &nest };
    Ok(match (whole.decide)(&deciding)? {
        Decision::Keep => (lazy.style, None),
        Decision::Dense(why) => (Style::dense(), Some(why)),
        Decision::Style(style) => (style, None),
    })
}

/// The components that a style finds in nests.
pub fn found_components(style: Style, ty: &Type) -> Result<Vec<Component>, String> {
    let Some(whole) = of(style).filter(|whole| !whole.found.is_empty()) else { return Ok(Vec::new()) };
    let all = (style.def().components)(&ty.clone().with_style(Some(style.name())))?;
    let one = |name: &&str| {
        let component = all.iter().find(|component| component.name == *name);
        let component = component.ok_or_else(|| format!("`{style}` has no component `{name}` to be found"))?;
        match component.ty.dims().iter().all(|dim| matches!(dim, Dim::Const(_))) {
            true => Ok(component.clone()),
            false => Err(format!("`{style}` finds its component `{name}`, whose extents are not constants")),
        }
    };
    whole.found.iter().map(one).collect()
}

/// The different lists of found components among operands: those of arrays of the style, and those that
/// lazy arrays carry.
pub fn carried(style: Style, args: &[Datum]) -> Vec<Vec<Array>> {
    let Some(whole) = of(style) else { return Vec::new() };
    let mut all: Vec<Vec<Array>> = Vec::new();
    let mut add = |list: Vec<Array>| {
        let is_same = |other: &Vec<Array>| other.iter().zip(&list).all(|(a, b)| a.same_bits(b));
        if list.len() == whole.found.len() && !all.iter().any(is_same) {
            all.push(list);
        }
    };
    for styled in args.iter().filter_map(Datum::as_styled) {
        if is_same_style(styled.style(), style) {
            add(whole.found.iter().filter_map(|name| styled.component(name)).cloned().collect());
        } else if let Ok(lazy) = Lazy::of(&styled.ty())
            && Lazy::is_lazy(&styled.ty())
            && is_same_style(lazy.style, style)
        {
            unstacked(&styled.components()[1..]).into_iter().for_each(&mut add);
        }
    }
    all
}

/// Whether two styles have one definition, whatever their arguments.
pub fn is_same_style(a: Style, b: Style) -> bool {
    std::ptr::eq(a.def(), b.def())
}

/// Stacks lists of components: one array for each component, with the lists along a new first axis.
pub fn stacked(components: &[Component], lists: &[Vec<Array>]) -> Result<Vec<Array>, String> {
    let one = |(n, component): (usize, &Component)| {
        let elements: Vec<Scalar> = lists.iter().flat_map(|list| list[n].iter()).collect();
        let own = component.ty.dims().iter().filter_map(|dim| match dim {
            Dim::Const(extent) => usize::try_from(*extent).ok(),
            _ => None,
        });
        let shape: Vec<usize> = [lists.len()].into_iter().chain(own).collect();
        Array::from_fn(component.ty.dtype(), &shape, |at| elements[at]).ok_or_else(|| "it is too large".to_string())
    };
    components.iter().enumerate().map(one).collect()
}

/// The inverse of `stacked`.
fn unstacked(stacks: &[Array]) -> Vec<Vec<Array>> {
    let count = stacks.first().map_or(0, |stack| stack.shape()[0]);
    let part = |stack: &Array, n: usize| {
        let shape = &stack.shape()[1..];
        let len: usize = shape.iter().product();
        let elements: Vec<Scalar> = stack.iter().skip(n * len).take(len).collect();
        Array::from_fn(stack.dtype(), shape, |at| elements[at])
    };
    (0..count).filter_map(|n| stacks.iter().map(|stack| part(stack, n)).collect()).collect()
}

/// Allocates the found components of a result. The error says that they are not of the declared types.
pub fn allocate(style: Style, ty: &Type, nest: &Summary, operands: &[Vec<Array>]) -> Result<Vec<Array>, String> {
    let Some(whole) = of(style) else { return Ok(Vec::new()) };
    let made = (whole.allocate)(&Allocating { style, dtype: ty.dtype(), nest, operands })?;
    let wanted = found_components(style, ty)?;
    let fits = |(array, component): (&Array, &Component)| array.ty() == component.ty;
    match made.len() == wanted.len() && made.iter().zip(&wanted).all(fits) {
        true => Ok(made),
        false => {
            let types = |list: Vec<String>| list.join(", ");
            let (wanted, made) = (
                types(wanted.iter().map(|component| component.ty.to_string()).collect()),
                types(made.iter().map(|array| array.ty().to_string()).collect()),
            );
            Err(format!("`{style}` allocates {made}, and says that it finds {wanted}"))
        }
    }
}

/// Converts a dense array to a style, with these found components. The error names an element that the
/// style can't have.
pub fn keep(style: Style, array: &Array, found: Vec<Array>) -> Result<Styled, String> {
    let Some(whole) = of(style).filter(|whole| !whole.found.is_empty()) else { return Styled::keep(style, array) };
    let taken = Styled::of(style, array)?;
    let names = taken.names();
    let mut components: Vec<Array> = taken.components().to_vec();
    for (name, component) in whole.found.iter().zip(found) {
        if let Some(at) = names.iter().position(|other| other == name) {
            components[at] = component;
        }
    }
    Styled::new(style, array.dtype(), array.shape(), components)?.holding(array)
}

/// The arrays of a style on whose found components the result of a nest depends, in order.
pub fn operands(nest: &Nest, func: &Function, style: Style) -> Vec<Value> {
    let of_style = |ty: &Type| Style::of(ty).is_ok_and(|own| is_same_style(own, style));
    let carries = |ty: &Type| Lazy::is_lazy(ty) && Lazy::of(ty).is_ok_and(|lazy| is_same_style(lazy.style, style));
    let mut is_read = vec![false; nest.parts.len()];
    if let Some(last) = is_read.last_mut() {
        *last = true;
    }
    for n in (0..nest.parts.len()).rev() {
        if let Part::Applied { inst, args, .. } = &nest.parts[n]
            && is_read[n]
            && carries(func.ty(func.inst(*inst).results[0]))
        {
            args.iter().for_each(|&arg| is_read[arg] = true);
        }
    }
    let read = nest.parts.iter().zip(is_read).filter(|(_, is_read)| *is_read);
    let array = read.filter_map(|(part, _)| if let Part::Leaf(value) = part { Some(*value) } else { None });
    array.filter(|&value| of_style(func.ty(value))).collect()
}
