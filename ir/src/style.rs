//! Storage styles: how the elements of an array are kept where they are not one dense buffer.
//!
//! An array of a style is some *components*, dense arrays themselves, and a rule that says what the element at an index is: a diagonal matrix
//! is one component and the rule "that of the component where both indices are equal, else zero". A type says the style after its dims
//! (`f64[n, n; diagonal]`).
//!
//! A style is a `static` [`StyleDef`], registered with [`register_style!`](crate::register_style). What else is known of it (who wins beside which
//! other one, what it makes of an expression) are the business of whoever uses styles.

use crate::array::{Array, checked_len};
use crate::dtype::DType;
use crate::name::Name;
use crate::register_style;
use crate::registry::{Registry, registry};
use crate::scalar::Scalar;
use crate::types::{Dim, Type};
use std::fmt;

/// A storage style.
pub struct StyleDef {
    /// The name after the semicolon of a type.
    pub name: &'static str,
    /// One line of documentation.
    pub doc: &'static str,
    /// The components of an array of a dtype and dims, in order; the error says why there is no such array.
    pub components: fn(DType, &[Dim]) -> Result<Vec<Component>, String>,
    /// What must hold of components besides their types: extents that dims can't say, positions that are sorted.
    pub check: fn(&Styled) -> Result<(), String>,
    /// The element at an index, which is inside.
    pub element: fn(&Styled, &[usize]) -> Scalar,
    /// The components that have those elements of a dense array which the style keeps, whatever the others are.
    pub take: fn(&Array) -> Result<Vec<Array>, String>,
}

impl StyleDef {
    /// The registered style of a name; the error suggests what is near.
    pub fn named(name: Name) -> Result<&'static StyleDef, String> {
        registry().style(name).ok_or_else(|| {
            match Registry::suggest(name.as_str(), registry().styles().map(|(s, _)| s.name)) {
                Some(near) => format!("unknown storage style `{name}`: did you mean `{near}`?"),
                None => format!("unknown storage style `{name}`: is the crate that registers it linked?"),
            }
        })
    }
}

impl fmt::Debug for StyleDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Every element in one strided buffer. Types don't say so, and values of it are arrays.
static DENSE: StyleDef = StyleDef {
    name: "dense",
    doc: "every element in one strided buffer",
    components: |dtype, dims| Ok(vec![Component::new("elements", dtype, dims)]),
    check: |_| Ok(()),
    element: |array, index| array.components[0].get(index).unwrap_or(Scalar::Bool(false)),
    take: |array| Ok(vec![array.clone()]),
};
register_style!(DENSE);

/// A component: its name in the style, and its type, whose dims may be `?` where the array's don't say them.
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

/// A run-time array of a style.
#[derive(Clone, Debug)]
pub struct Styled {
    style: &'static StyleDef,
    dtype: DType,
    shape: Box<[usize]>,
    components: Box<[Array]>,
}

impl Styled {
    /// An array of a style with these components, in the order of the style's; the error says what of them is wrong.
    pub fn new(
        style: &'static StyleDef,
        dtype: DType,
        shape: &[usize],
        components: Vec<Array>,
    ) -> Result<Styled, String> {
        let wanted = components_of(style, dtype, shape)?;
        if wanted.len() != components.len() {
            let names: Vec<_> = wanted.iter().map(|component| component.name).collect();
            let (given, wants) = (components.len(), names.len());
            return Err(format!("`{}` has {wants} components ({}), got {given}", style.name, names.join(", ")));
        }
        for (component, array) in wanted.iter().zip(&components) {
            if !array.ty().fits(&component.ty) {
                let Component { name, ty } = component;
                return Err(format!("component `{name}` of `{}` is {ty}, got {}", style.name, array.ty()));
            }
        }
        let styled = Styled { style, dtype, shape: shape.into(), components: components.into() };
        (style.check)(&styled)?;
        Ok(styled)
    }

    /// Those elements of a dense array which a style keeps; the others become what the style says.
    pub fn of(style: &'static StyleDef, array: &Array) -> Result<Styled, String> {
        components_of(style, array.dtype(), array.shape())?;
        Styled::new(style, array.dtype(), array.shape(), (style.take)(array)?)
    }

    /// A dense array kept in a style; the error names an element that an array of the style can't have. Zeros may change their sign.
    pub fn keep(style: &'static StyleDef, array: &Array) -> Result<Styled, String> {
        let styled = Styled::of(style, array)?;
        let dense = styled.dense();
        match array.iter().zip(dense.iter()).enumerate().find(|(_, pair)| !same(*pair)) {
            None => Ok(styled),
            Some((flat, (given, kept))) => {
                let index = unravel(flat, array.shape());
                Err(format!("`{}` can't have {given} at {index:?}: the element there is {kept}", style.name))
            }
        }
    }

    /// The style.
    pub fn style(&self) -> &'static StyleDef {
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
    /// The components, in the order of the style's.
    pub fn components(&self) -> &[Array] {
        &self.components
    }
    /// The component of a name.
    pub fn component(&self, name: &str) -> Option<&Array> {
        let number = self.names().iter().position(|&n| n == name)?;
        self.components.get(number)
    }
    /// The names of the components.
    pub fn names(&self) -> Vec<&'static str> {
        let components = components_of(self.style, self.dtype, &self.shape).unwrap_or_default();
        components.into_iter().map(|component| component.name).collect()
    }
    /// The type, with constant dims.
    pub fn ty(&self) -> Type {
        Type::array(self.dtype, dims_of(&self.shape)).with_style(Some(Name::new(self.style.name)))
    }
    /// The bytes of all components.
    pub fn bytes(&self) -> u64 {
        self.components.iter().map(|a| a.len() as u64 * a.dtype().size() as u64).sum()
    }
    /// The element at `index`; `None` out of bounds.
    pub fn get(&self, index: &[usize]) -> Option<Scalar> {
        let inside = index.len() == self.shape.len() && index.iter().zip(&self.shape).all(|(at, n)| at < n);
        inside.then(|| (self.style.element)(self, index))
    }
    /// All elements as a dense array.
    pub fn dense(&self) -> Array {
        Array::from_fn(self.dtype, &self.shape, |flat| (self.style.element)(self, &unravel(flat, &self.shape)))
            .unwrap_or_else(|| unreachable!("the extents are those of an array, and elements of its dtype"))
    }
}

fn dims_of(shape: &[usize]) -> Vec<Dim> {
    shape.iter().map(|&n| Dim::Const(n as u64)).collect()
}

/// The components of an array of these extents.
pub(crate) fn components_of(style: &StyleDef, dtype: DType, shape: &[usize]) -> Result<Vec<Component>, String> {
    if checked_len(shape).is_none() {
        return Err(format!("no array has so large extents as {shape:?}"));
    }
    let dims = dims_of(shape);
    (style.components)(dtype, &dims)
        .map_err(|why| format!("{} can't be `{}`: {why}", Type::array(dtype, dims.clone()), style.name))
}

/// True if numbers are equal but for the signs of zeros, or both no numbers, each of their parts.
fn same((a, b): (Scalar, Scalar)) -> bool {
    let parts = |s: Scalar| [s.to_c128().re, s.to_c128().im];
    let part = |(a, b): (f64, f64)| a == b || (a.is_nan() && b.is_nan());
    let is_float = a.dtype().is_float() || a.dtype().is_complex();
    a == b || (is_float && parts(a).into_iter().zip(parts(b)).all(part))
}

/// The index of an element by its number in row-major order.
fn unravel(flat: usize, shape: &[usize]) -> Vec<usize> {
    let mut rest = flat;
    let mut index: Vec<usize> = shape.iter().rev().map(|&extent| (rest % extent, rest /= extent).0).collect();
    index.reverse();
    index
}

impl PartialEq for Styled {
    fn eq(&self, other: &Styled) -> bool {
        std::ptr::eq(self.style, other.style)
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
