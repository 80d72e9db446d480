//! Layout of the components of arrays of one style, dtype and shape, cached for the construction of many
//! arrays.

use crate::dtype::DType;
use crate::style::{Component, Components, Style, Styled};
use crate::types::Dim;
use smallvec::SmallVec;

/// A style, a dtype and a shape, with the components of such arrays.
#[derive(Clone, Debug)]
pub struct Mould {
    style: Style,
    dtype: DType,
    shape: SmallVec<[usize; 4]>,
    components: Vec<Component>,
}

impl Mould {
    /// The mould of these; the error says why no such arrays exist.
    pub fn new(style: impl Into<Style>, dtype: DType, shape: &[usize]) -> Result<Mould, String> {
        let style = style.into();
        Ok(Mould { style, dtype, shape: shape.into(), components: style.components(dtype, shape)? })
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
    pub fn cast(&self, components: Components) -> Result<Styled, String> {
        let styled = self.cast_unchecked(components)?;
        styled.check()?;
        Ok(styled)
    }

    /// The same, where the style need not check what components hold.
    pub(crate) fn cast_unchecked(&self, components: Components) -> Result<Styled, String> {
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
