//! Storage styles: representations of arrays other than one dense buffer.
//!
//! An array of a style consists of *components*, which are dense arrays, and a rule that gives the element
//! at an index. A diagonal matrix has one component; its rule reads the component where both indices are
//! equal, and gives zero elsewhere. A type names the style after its dims (`f64[n, n; diagonal]`).
//!
//! A style is a `static` [`StyleDef`](crate::StyleDef), registered with
//! [`register_style!`](crate::register_style). It may take arguments if it declares [`Arguments`]; only the
//! style interprets them: `f64[n; unit(metre)]`. Other properties, such as the style of a result, are defined
//! by the crates that use styles.

use crate::dtype::DType;
use crate::name::Name;
use crate::register_style;
use crate::registry::{Registry, registry};
use crate::types::Type;
use crate::value::{Array, Components, DENSE, Style, Styled, StyledLayout, split};

register_style!(DENSE);

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

impl Style {
    /// The style of a name, which may include arguments. The error suggests a similar name.
    pub fn named(name: Name) -> Result<Style, String> {
        if let Some(def) = registry().style(name) {
            if !split(name.as_str()).1.is_empty() && def.interface::<Arguments>().is_none() {
                return Err(format!("storage style `{}` takes no arguments", def.name));
            }
            let name = canonical(name.as_str()).map_or(name, |text| Name::new(&text));
            return Ok(Style::with_name(def, name));
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
}

impl Styled {
    /// The array with one component replaced, by number, at this dtype. Replacing an [`Unread`] component by
    /// one with as many elements skips the check of the style.
    pub fn with_component(&self, dtype: DType, number: usize, component: Array) -> Result<Styled, String> {
        let layout = StyledLayout::new(self.style(), dtype, self.shape())?;
        let mut components: Components = self.components().iter().cloned().collect();
        let Some(old) = components.get_mut(number) else {
            return Err(format!("`{}` has no component {number}", self.style()));
        };
        let is_unread = self.style().def().interface::<Unread>().is_some_and(|unread| unread.0.contains(&number));
        let checks = !is_unread || old.shape() != component.shape();
        *old = component;
        if checks { layout.assemble(components) } else { layout.assemble_unchecked(components) }
    }

    /// The array after these elements, which have its extents and its dtype, were stored to it; the error
    /// says why its style can't have them.
    pub fn stored(&self, array: &Array) -> Result<Styled, String> {
        let Some(destination) = self.style().def().interface::<Destination>() else {
            return Styled::keep(self.style(), array);
        };
        let stored = (destination.0)(self, array)?;
        match (stored.style(), stored.dtype(), stored.shape()) == (self.style(), self.dtype(), self.shape()) {
            true => Ok(stored),
            false => Err(format!("a store to {} leaves {}: its style is to keep its type", self.ty(), stored.ty())),
        }
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

#[cfg(test)]
mod tests {
    use super::canonical;
    use crate::value::split;

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
