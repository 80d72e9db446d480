//! `f64[n, n; lazy(diagonal, 0.0)]`: what a nest of `broadcasted` is before it is materialized.
//!
//! The arguments are the style that the result has if it may, and what is computed of the zeros of the
//! structure, where that is known. Both are part of the type, so that the type rule of `materialize` need
//! not look at the nest. Where a style of the process decides by whole nests, a third one says what the
//! nest is made of ([`Summary`]). As values, such arrays hold all elements, and the components of operands
//! that their style allocates by.

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

/// What a lazy type says.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lazy {
    /// The style that the result has if it may.
    pub style: Style,
    /// The value that the nest computes where its operands are structural zeros.
    pub zero: Option<Scalar>,
    /// The text of what the nest is made of, where that is known.
    pub nest: Option<Name>,
}

impl Lazy {
    /// What becomes dense.
    pub fn dense() -> Lazy {
        Lazy::kept(Style::dense(), None)
    }

    /// What is kept in a style, and is a number where that has zeros.
    pub fn kept(style: Style, zero: Option<Scalar>) -> Lazy {
        Lazy { style, zero, nest: None }
    }

    /// The style's name.
    pub fn name(&self) -> Name {
        let zero = self.zero.map(|zero| format!(", {}", written(zero))).unwrap_or_default();
        let nest = self.nest.map(|nest| format!(", nest({nest})")).unwrap_or_default();
        Name::from(format!("lazy({}{zero}{nest})", self.style))
    }

    /// What the nest is made of, where that is known.
    pub fn summary(&self) -> Option<Summary> {
        Summary::read(self.nest?.as_str()).ok()
    }

    /// True for types of lazy arrays.
    pub fn is_lazy(ty: &Type) -> bool {
        Style::of(ty).is_ok_and(|style| style.def().name == LAZY.name)
    }

    /// What a lazy type says.
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

/// The arguments of a text, which commas separate that are in no parentheses.
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

/// A number as an argument of a style: complex ones as their parts.
pub(crate) fn written(number: Scalar) -> String {
    match number {
        Scalar::F32(x) => format!("{x:?}"),
        Scalar::F64(x) => format!("{x:?}"),
        Scalar::C64(z) => format!("{:?} {:?}", z.re, z.im),
        Scalar::C128(z) => format!("{:?} {:?}", z.re, z.im),
        other => other.to_string(),
    }
}

/// The number that such an argument says.
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
