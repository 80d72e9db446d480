//! `f64[n, n; lazy(diagonal, 0.0)]`: the type of a nest of `broadcasted` that is not materialized yet.
//!
//! The first argument is the style that the result may have. The second is the result for structural zeros,
//! if it is known. They are part of the type, so that the type rule of `materialize` need not inspect the
//! nest. If a registered style decides by whole nests, a third argument describes the nest ([`Summary`]).
//! As a value, a lazy array holds all elements, and the components of operands by which its style
//! allocates.

use crate::summary::Summary;
use crate::whole_nest;
use rewright::ir::style::Arguments;
use rewright::ir::{Component, Style, StyleDef};
use rewright::{DType, Dim, Name, Scalar, Type, register_interface, register_style};

/// Lazy arrays.
pub static LAZY: StyleDef = StyleDef {
    name: "lazy",
    doc: "a nest of functions that are not applied yet",
    components: |ty| {
        let found = whole_nest::found_components(Lazy::of(ty)?.style, ty)?;
        let stack = |part: Component| {
            let dims: Vec<Dim> = [Dim::Any].into_iter().chain(part.ty.dims().iter().copied()).collect();
            Component::new(part.name, part.ty.dtype(), dims)
        };
        let elements = Component::new("elements", ty.dtype(), ty.dims());
        Ok([elements].into_iter().chain(found.into_iter().map(stack)).collect())
    },
    check: |_| Ok(()),
    element: |array, index| array.components()[0].get(index).unwrap_or(Scalar::Bool(false).cast(array.dtype())),
    take: |ty, array| {
        let found = whole_nest::found_components(Lazy::of(ty)?.style, ty)?;
        let stacks = whole_nest::stacked(&found, &[])?;
        Ok([array.clone()].into_iter().chain(stacks).collect())
    },
};

register_style!(LAZY);
register_interface!(style "lazy", Arguments, &Arguments("the style that the result may have, the number that zeros become, and the parts of the nest"));

/// The arguments of a lazy type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lazy {
    /// The style that the result may have.
    pub style: Style,
    /// The value that the nest computes where its operands are structural zeros.
    pub zero: Option<Scalar>,
    /// The text of the nest's [`Summary`], if it is known.
    pub nest: Option<Name>,
}

impl Lazy {
    /// A nest whose result is dense.
    pub fn dense() -> Lazy {
        Lazy::kept(Style::dense(), None)
    }

    /// A nest that keeps a style, with its value at the style's structural zeros.
    pub fn kept(style: Style, zero: Option<Scalar>) -> Lazy {
        Lazy { style, zero, nest: None }
    }

    /// The name of the lazy style, with its arguments.
    pub fn name(&self) -> Name {
        let zero = self.zero.map(|zero| format!(", {}", written(zero))).unwrap_or_default();
        let nest = self.nest.map(|nest| format!(", nest({nest})")).unwrap_or_default();
        Name::from(format!("lazy({}{zero}{nest})", self.style))
    }

    /// The summary of the nest, if it is known.
    pub fn summary(&self) -> Option<Summary> {
        Summary::read(self.nest?.as_str()).ok()
    }

    /// True for types of lazy arrays.
    pub fn is_lazy(ty: &Type) -> bool {
        Style::of(ty).is_ok_and(|style| style.def().name == LAZY.name)
    }

    /// Reads the arguments of a lazy type.
    pub fn of(ty: &Type) -> Result<Lazy, String> {
        let arguments = Style::of(ty)?.arguments();
        if arguments.is_empty() {
            return Ok(Lazy::dense());
        }
        let mut all = crate::lazy::arguments(arguments).into_iter();
        let style = all.next().unwrap_or("dense");
        let (mut zero, mut nest) = (None, None);
        for argument in all {
            match argument.strip_prefix("nest(").and_then(|inner| inner.strip_suffix(')')) {
                Some(inner) if nest.is_none() => {
                    Summary::read(inner)?;
                    nest = Some(Name::new(inner));
                }
                None if zero.is_none() && nest.is_none() => zero = Some(argument),
                _ => return Err(format!("`{argument}` is one argument too many of a lazy array")),
            }
        }
        let style = Style::named(Name::new(style))?;
        if style.def().name == LAZY.name {
            return Err("lazy arrays become something else than lazy".into());
        }
        let read = |text: &str| read(text, ty.dtype()).ok_or_else(|| format!("`{text}` is no value of {}", ty.dtype()));
        Ok(Lazy { style, zero: zero.map(read).transpose()?, nest })
    }
}

/// Splits a text at its commas outside of parentheses.
pub(crate) fn arguments(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut all) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if c == ',' && depth == 0 {
            all.push(text[from..at].trim());
            from = at + 1;
        }
    }
    all.push(text[from..].trim());
    all.retain(|argument| !argument.is_empty());
    all
}

/// Formats a number as an argument of a style; a complex number as its two parts.
pub(crate) fn written(number: Scalar) -> String {
    match number {
        Scalar::F32(x) => format!("{x:?}"),
        Scalar::F64(x) => format!("{x:?}"),
        Scalar::C64(z) => format!("{:?} {:?}", z.re, z.im),
        Scalar::C128(z) => format!("{:?} {:?}", z.re, z.im),
        other => other.to_string(),
    }
}

/// Parses such an argument.
pub(crate) fn read(text: &str, dtype: DType) -> Option<Scalar> {
    let float = |text: &str| text.parse::<f64>().ok();
    let number = match dtype {
        DType::Bool => Scalar::Bool(text.parse().ok()?),
        DType::F32 => Scalar::F32(text.parse().ok()?),
        DType::F64 => Scalar::F64(float(text)?),
        DType::C64 | DType::C128 => {
            let (re, im) = text.split_once(' ')?;
            Scalar::C128(rewright::Complex64::new(float(re)?, float(im)?)).cast(dtype)
        }
        DType::U64 => Scalar::U64(text.parse().ok()?),
        _ => Scalar::I64(text.parse().ok()?).cast(dtype),
    };
    (written(number) == text).then_some(number)
}
