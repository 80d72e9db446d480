//! Storage styles: representations of arrays other than one dense buffer.
//!
//! An array of a style consists of *components*, which are dense arrays, and a rule that gives the element
//! at an index. A diagonal matrix has one component; its rule reads the component where both indices are
//! equal, and gives zero elsewhere. A type names the style after its dims (`f64[n, n; diagonal]`).
//!
//! A style is a `static` [`StyleDef`], registered with [`register_style!`](crate::register_style). It may
//! take arguments if it declares [`Arguments`]; only the style interprets them: `f64[n; unit(metre)]`. Other
//! properties, such as the style of a result, are defined by the crates that use styles.

use crate::array::{Array, checked_len};
use crate::dtype::DType;
use crate::mould::Mould;
use crate::name::Name;
use crate::register_style;
use crate::registry::{Registry, registry};
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

/// Interface of a storage style that takes arguments: their description for users.
#[derive(Debug)]
pub struct Arguments(pub &'static str);

/// Interface of a storage style whose arrays keep something when they are stored to: makes the array after a
/// store from the old array and the stored elements, which have its extents and dtype. The result has the
/// style, extents and dtype of the old array. Without the interface a store keeps the elements alone.
#[derive(Debug)]
pub struct Destination(pub fn(&Styled, &Array) -> Result<Styled, String>);

/// Interface of a storage style: the components, by number, of which `check` reads only the number of
/// elements. [`Styled::with_component`] replaces them without a check.
#[derive(Debug)]
pub struct Unread(pub &'static [usize]);

/// A storage style as types name it: a registered style and its arguments. Compared by the name, which has
/// both.
#[derive(Clone, Copy)]
pub struct Style {
    def: &'static StyleDef,
    name: Name,
}

impl Style {
    /// The style of a name, which may include arguments. The error suggests a similar name.
    pub fn named(name: Name) -> Result<Style, String> {
        if let Some(def) = registry().style(name) {
            if !split(name.as_str()).1.is_empty() && def.interface::<Arguments>().is_none() {
                return Err(format!("storage style `{}` takes no arguments", def.name));
            }
            let name = canonical(name.as_str()).map_or(name, |text| Name::new(&text));
            return Ok(Style { def, name });
        }
        let (stem, _) = split(name.as_str());
        Err(match Registry::suggest(stem, registry().styles().map(|(s, _)| s.name)) {
            Some(near) => format!("unknown storage style `{stem}`: did you mean `{near}`?"),
            None => format!("unknown storage style `{stem}`: is the crate that registers it linked?"),
        })
    }
    /// The style of a type; [`dense`](Style::dense) if the type names none.
    pub fn of(ty: &Type) -> Result<Style, String> {
        ty.style().map_or(Ok(Style::dense()), Style::named)
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

/// The canonical form of a name with arguments: one space after each comma and between words, none
/// elsewhere. `None` if it is no name, if parentheses don't match, or if they contain anything but names and
/// numbers.
pub(crate) fn canonical(name: &str) -> Option<String> {
    let (stem, rest) = name.split_once('(')?;
    let stem = stem.trim_end();
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
    let mut depth = 0_i32;
    for c in rest.strip_suffix(')')?.chars() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth < 0 || !(is_word(c) || "(), ".contains(c)) {
            return None;
        }
    }
    let is_name =
        stem.starts_with(|c: char| c.is_ascii_alphabetic()) && stem.chars().all(|c| is_word(c) && !".+-".contains(c));
    if depth != 0 || !is_name {
        return None;
    }
    let mut text = name.split_whitespace().collect::<Vec<_>>().join(" ");
    for (spaced, close) in [("( ", "("), (" (", "("), (" )", ")"), (" ,", ","), (", ", ","), (",", ", ")] {
        text = text.replace(spaced, close);
    }
    Some(text)
}

/// Splits a style's name into that of the definition and the arguments.
pub(crate) fn split(name: &str) -> (&str, &str) {
    match name.split_once('(') {
        Some((stem, rest)) => (stem, rest.strip_suffix(')').unwrap_or(rest)),
        None => (name, ""),
    }
}

/// All elements in one strided buffer. Types don't name this style, and its values are arrays.
static DENSE: StyleDef = StyleDef {
    name: "dense",
    doc: "every element in one strided buffer",
    components: |ty| Ok(vec![Component::new("elements", ty.dtype(), ty.dims())]),
    check: |_| Ok(()),
    element: |array, index| array.components[0].get(index).unwrap_or(Scalar::Bool(false)),
    take: |_, array| Ok(vec![array.clone()]),
};
register_style!(DENSE);

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
        Mould::new(style, dtype, shape)?.cast(components.into_iter().collect())
    }

    /// An array from components that a [`Mould`] has checked.
    pub(crate) fn unchecked(style: Style, dtype: DType, shape: &[usize], components: Components) -> Styled {
        Styled { style, dtype, shape: shape.into(), components }
    }

    /// The array with one component replaced, by number, at this dtype. Replacing an [`Unread`] component by
    /// one with as many elements skips the check of the style.
    pub fn with_component(&self, dtype: DType, number: usize, component: Array) -> Result<Styled, String> {
        let mould = Mould::new(self.style, dtype, &self.shape)?;
        let mut components = self.components.clone();
        let Some(old) = components.get_mut(number) else {
            return Err(format!("`{}` has no component {number}", self.style));
        };
        let is_unread = self.style.def.interface::<Unread>().is_some_and(|unread| unread.0.contains(&number));
        let checks = !is_unread || old.shape() != component.shape();
        *old = component;
        if checks { mould.cast(components) } else { mould.cast_unchecked(components) }
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

    /// The array after these elements, which have its extents and its dtype, were stored to it; the error
    /// says why its style can't have them.
    pub fn stored(&self, array: &Array) -> Result<Styled, String> {
        let Some(destination) = self.style.def.interface::<Destination>() else {
            return Styled::keep(self.style, array);
        };
        let stored = (destination.0)(self, array)?;
        match (stored.style, stored.dtype, &stored.shape) == (self.style, self.dtype, &self.shape) {
            true => Ok(stored),
            false => Err(format!("a store to {} leaves {}: its style is to keep its type", self.ty(), stored.ty())),
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

#[cfg(test)]
mod tests {
    use super::{canonical, split};

    #[test]
    fn names_with_arguments_have_one_form() {
        let same = |name: &str| canonical(name).is_some_and(|text| text == "lazy(unit(metre), -1.5e-7 inf, x)");
        assert!(same("lazy(unit(metre), -1.5e-7 inf, x)"));
        assert!(same("lazy ( unit(metre ) ,-1.5e-7   inf,x )"));
        for wrong in
            ["lazy", "lazy(", "lazy)(", "lazy((x)", "lazy(x))", "(x)", "1a(x)", "a b(x)", "a(%x)", "a(\"x\")", "a(x) b"]
        {
            assert_eq!(canonical(wrong), None, "{wrong}");
        }
        assert_eq!(split("lazy(unit(metre), 1)"), ("lazy", "unit(metre), 1"));
    }
}
