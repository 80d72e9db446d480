//! Storage styles and their arrays.
//!
//! An array of a style consists of *components*, which are dense arrays, and a rule that gives the element
//! at an index. [`style`](mod@crate::style) finds registered styles by name.

use super::array::{Array, checked_len};
use crate::dtype::DType;
use crate::name::Name;
use crate::scalar::Scalar;
use crate::types::{Dim, Type};
use smallvec::SmallVec;
use std::fmt;

/// A storage style.
pub struct StyleDef {
    /// The name after the semicolon of a type, without arguments.
    pub name: &'static str,
    /// One line of documentation.
    pub doc: &'static str,
    /// The components of an array of a type, in order. The error says why no such array exists. The type's
    /// style is this one, with its arguments.
    pub components: fn(&Type) -> Result<Vec<Component>, String>,
    /// Checks constraints on components besides their types: relations of extents that dims can't express,
    /// sorted positions.
    pub check: fn(&Styled) -> Result<(), String>,
    /// The element at an index, which is in bounds.
    pub element: fn(&Styled, &[usize]) -> Scalar,
    /// The components with those elements of a dense array that the style stores; other elements are
    /// ignored. The type is as for `components`.
    pub take: fn(&Type, &Array) -> Result<Vec<Array>, String>,
}

impl fmt::Debug for StyleDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A storage style as types name it: a registered style and its arguments. Compared by the name, which has
/// both.
#[derive(Clone, Copy)]
pub struct Style {
    def: &'static StyleDef,
    name: Name,
}

impl Style {
    /// The style of a definition, with a name that has its arguments.
    pub(crate) fn with_name(def: &'static StyleDef, name: Name) -> Style {
        Style { def, name }
    }
    /// The style of arrays whose types name none.
    pub fn dense() -> Style {
        Style::from(&DENSE)
    }
    /// True for the dense style.
    pub fn is_dense(self) -> bool {
        std::ptr::eq(self.def, &DENSE)
    }
    /// The definition.
    pub fn def(self) -> &'static StyleDef {
        self.def
    }
    /// The name with arguments.
    pub fn name(self) -> Name {
        self.name
    }
    /// The text between the parentheses; empty without arguments.
    pub fn arguments(self) -> &'static str {
        split(self.name.as_str()).1
    }
    /// A type of this style.
    fn ty(self, dtype: DType, shape: &[usize]) -> Type {
        Type::array(dtype, dims_of(shape)).with_style(Some(self.name))
    }
    /// The components of an array of this dtype and shape.
    pub(crate) fn components(self, dtype: DType, shape: &[usize]) -> Result<Vec<Component>, String> {
        if checked_len(shape).is_none() {
            return Err(format!("no array has so large extents as {shape:?}"));
        }
        (self.def.components)(&self.ty(dtype, shape)).map_err(|why| {
            let dense = Type::array(dtype, dims_of(shape));
            format!("{dense} can't be `{self}`: {why}")
        })
    }
}

impl From<&'static StyleDef> for Style {
    fn from(def: &'static StyleDef) -> Style {
        Style { def, name: Name::new(def.name) }
    }
}
impl PartialEq for Style {
    fn eq(&self, other: &Style) -> bool {
        self.name == other.name
    }
}
impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.as_str())
    }
}
impl fmt::Debug for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Splits a style's name into that of the definition and the arguments.
pub(crate) fn split(name: &str) -> (&str, &str) {
    match name.split_once('(') {
        Some((stem, rest)) => (stem, rest.strip_suffix(')').unwrap_or(rest)),
        None => (name, ""),
    }
}

/// All elements in one strided buffer. Types don't name this style, and its values are arrays.
pub(crate) static DENSE: StyleDef = StyleDef {
    name: "dense",
    doc: "every element in one strided buffer",
    components: |ty| Ok(vec![Component::new("elements", ty.dtype(), ty.dims())]),
    check: |_| Ok(()),
    element: |array, index| array.components[0].get(index).unwrap_or(Scalar::Bool(false)),
    take: |_, array| Ok(vec![array.clone()]),
};

/// A component: its name in the style, and its type, whose dims may be `?` if the array's dims don't
/// determine them.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// The name.
    pub name: &'static str,
    /// A dense array type.
    pub ty: Type,
}

impl Component {
    /// A component of a dtype and dims.
    pub fn new(name: &'static str, dtype: DType, dims: impl Into<Box<[Dim]>>) -> Component {
        Component { name, ty: Type::array(dtype, dims) }
    }
}

/// The components of an array of a style. Most styles have one; several are stored on the heap, so that the
/// array is cheap to move.
pub type Components = SmallVec<[Array; 1]>;

/// A run-time array of a style.
#[derive(Clone, Debug)]
pub struct Styled {
    style: Style,
    dtype: DType,
    shape: SmallVec<[usize; 4]>,
    components: Components,
}

impl Styled {
    /// An array of a style from its components, in the style's order. The error says which component is
    /// wrong, and why.
    pub fn new(
        style: impl Into<Style>,
        dtype: DType,
        shape: &[usize],
        components: impl IntoIterator<Item = Array>,
    ) -> Result<Styled, String> {
        StyledLayout::new(style, dtype, shape)?.assemble(components.into_iter().collect())
    }

    /// An array from components that a [`StyledLayout`] has checked.
    pub(crate) fn unchecked(style: Style, dtype: DType, shape: &[usize], components: Components) -> Styled {
        Styled { style, dtype, shape: shape.into(), components }
    }

    /// Converts a dense array, keeping only the elements that the style stores. The others become the
    /// elements that the style defines.
    pub fn of(style: impl Into<Style>, array: &Array) -> Result<Styled, String> {
        let (style, dtype, shape) = (style.into(), array.dtype(), array.shape());
        style.components(dtype, shape)?;
        Styled::new(style, dtype, shape, (style.def.take)(&style.ty(dtype, shape), array)?)
    }

    /// Converts a dense array without loss. The error names an element that an array of the style can't
    /// have. Zeros may change their sign.
    pub fn keep(style: impl Into<Style>, array: &Array) -> Result<Styled, String> {
        Styled::of(style, array)?.holding(array)
    }

    /// The array itself, if its elements are those of a dense array of the same shape. The error names an
    /// element that differs.
    pub fn holding(self, array: &Array) -> Result<Styled, String> {
        let dense = self.try_dense()?;
        match array.iter().zip(dense.iter()).enumerate().find(|(_, pair)| !same(*pair)) {
            None => Ok(self),
            Some((flat, (given, kept))) => {
                let (style, index) = (self.style, unravel(flat, array.shape()));
                Err(format!("`{style}` can't have {given} at {index:?}: the element there is {kept}"))
            }
        }
    }

    /// Checks again that components are as the style wants them: their buffers were written to.
    pub fn check(&self) -> Result<(), String> {
        (self.style.def.check)(self)
    }

    /// The style.
    pub fn style(&self) -> Style {
        self.style
    }
    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }
    /// The extents.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }
    /// The components, in the style's order.
    pub fn components(&self) -> &[Array] {
        &self.components
    }
    /// The components, in the style's order, by value.
    pub fn into_components(self) -> impl Iterator<Item = Array> {
        self.components.into_iter()
    }
    /// The component of a name.
    pub fn component(&self, name: &str) -> Option<&Array> {
        let number = self.names().iter().position(|&n| n == name)?;
        self.components.get(number)
    }
    /// The names of the components.
    pub fn names(&self) -> Vec<&'static str> {
        let components = self.style.components(self.dtype, &self.shape).unwrap_or_default();
        components.into_iter().map(|component| component.name).collect()
    }
    /// The type, with constant dims.
    pub fn ty(&self) -> Type {
        self.style.ty(self.dtype, &self.shape)
    }
    /// The bytes of all components.
    pub fn bytes(&self) -> u64 {
        self.components.iter().map(|a| a.len() as u64 * a.dtype().size() as u64).sum()
    }
    /// The element at `index`; `None` out of bounds.
    pub fn get(&self, index: &[usize]) -> Option<Scalar> {
        let inside = index.len() == self.shape.len() && index.iter().zip(&self.shape).all(|(at, n)| at < n);
        inside.then(|| (self.style.def.element)(self, index))
    }
    /// All elements as a dense array.
    ///
    /// # Panics
    ///
    /// If there is no memory for all elements: small components may stand for many. Use
    /// [`try_dense`](Styled::try_dense) for such arrays.
    pub fn dense(&self) -> Array {
        self.try_dense().unwrap_or_else(|why| panic!("{why}"))
    }
    /// All elements as a dense array. The error says that there is no memory for them.
    pub fn try_dense(&self) -> Result<Array, String> {
        Array::from_fn(self.dtype, &self.shape, |flat| (self.style.def.element)(self, &unravel(flat, &self.shape)))
            .ok_or_else(|| format!("there is no memory for all elements of {}", self.ty()))
    }
}

/// The layout of arrays of one style, dtype and shape: their components. Cached for the construction of many
/// arrays.
#[derive(Clone, Debug)]
pub struct StyledLayout {
    style: Style,
    dtype: DType,
    shape: SmallVec<[usize; 4]>,
    components: Vec<Component>,
}

impl StyledLayout {
    /// The layout of these; the error says why no such arrays exist.
    pub fn new(style: impl Into<Style>, dtype: DType, shape: &[usize]) -> Result<StyledLayout, String> {
        let style = style.into();
        Ok(StyledLayout { style, dtype, shape: shape.into(), components: style.components(dtype, shape)? })
    }

    /// The shape of its arrays.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// True if an array has this style, dtype and shape.
    pub fn fits(&self, array: &Styled) -> bool {
        (array.style(), array.dtype(), array.shape()) == (self.style, self.dtype, self.shape())
    }

    /// True if an array of this dtype and shape may be component `number`.
    pub fn admits(&self, number: usize, dtype: DType, shape: &[usize]) -> bool {
        let fits = |(dim, &extent): (&Dim, &usize)| !matches!(*dim, Dim::Const(n) if n != extent as u64);
        self.components.get(number).is_some_and(|Component { ty, .. }| {
            let alike = ty.dtype() == dtype && ty.is_array() && ty.style().is_none() && ty.rank() == shape.len();
            alike && ty.dims().iter().zip(shape).all(fits)
        })
    }

    /// The number of components.
    pub fn count(&self) -> usize {
        self.components.len()
    }

    /// The array of these components, in the style's order. The error says which component is wrong, and
    /// why.
    pub fn assemble(&self, components: Components) -> Result<Styled, String> {
        let styled = self.assemble_unchecked(components)?;
        styled.check()?;
        Ok(styled)
    }

    /// The same, where the style need not check the elements of components.
    pub(crate) fn assemble_unchecked(&self, components: Components) -> Result<Styled, String> {
        let style = self.style;
        if self.count() != components.len() {
            let names: Vec<_> = self.components.iter().map(|component| component.name).collect();
            let (given, wants) = (components.len(), names.len());
            return Err(format!("`{style}` has {wants} components ({}), got {given}", names.join(", ")));
        }
        for (number, array) in components.iter().enumerate() {
            if !self.admits(number, array.dtype(), array.shape()) {
                let Component { name, ty } = &self.components[number];
                return Err(format!("component `{name}` of `{style}` is {ty}, got {}", array.ty()));
            }
        }
        Ok(Styled::unchecked(style, self.dtype, &self.shape, components))
    }
}

fn dims_of(shape: &[usize]) -> Vec<Dim> {
    shape.iter().map(|&n| Dim::Const(n as u64)).collect()
}

/// True if all parts of two numbers are equal or both NaN; zeros of either sign are equal.
fn same((a, b): (Scalar, Scalar)) -> bool {
    let parts = |s: Scalar| [s.to_c128().re, s.to_c128().im];
    let part = |(a, b): (f64, f64)| a == b || (a.is_nan() && b.is_nan());
    let is_float = a.dtype().is_float() || a.dtype().is_complex();
    a == b || (is_float && parts(a).into_iter().zip(parts(b)).all(part))
}

/// The index of an element from its position in row-major order.
fn unravel(flat: usize, shape: &[usize]) -> Vec<usize> {
    let mut rest = flat;
    let mut index: Vec<usize> = shape.iter().rev().map(|&extent| (rest % extent, rest /= extent).0).collect();
    index.reverse();
    index
}

impl PartialEq for Styled {
    fn eq(&self, other: &Styled) -> bool {
        self.style == other.style
            && (self.dtype, &self.shape) == (other.dtype, &other.shape)
            && self.components == other.components
    }
}

impl fmt::Display for Styled {
    /// `f64[3, 3; diagonal] { diag: [1. 2. 3.] }`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {{", self.ty())?;
        for (number, (name, array)) in self.names().iter().zip(&self.components).enumerate() {
            write!(f, "{} {name}: {array}", if number > 0 { "," } else { "" })?;
        }
        f.write_str(" }")
    }
}
