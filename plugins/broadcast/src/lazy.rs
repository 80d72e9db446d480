//! `f64[n, n; lazy(diagonal, 0.0)]`: what a nest of `broadcasted` is before it is materialized.
//!
//! The arguments are the style that the result has if it may, and what is computed of the zeros of the structure, where that is known. Both are part
//! of the type, so that the type rule of `materialize` need not look at the nest. As values, such arrays hold all elements.

use rewright::ir::style::Arguments;
use rewright::ir::{Component, Style, StyleDef};
use rewright::{DType, Name, Scalar, Type, register_interface, register_style};

/// Lazy arrays.
pub static LAZY: StyleDef = StyleDef {
    name: "lazy",
    doc: "a nest of functions that are not applied yet",
    components: |ty| {
        Lazy::of(ty)?;
        Ok(vec![Component::new("elements", ty.dtype(), ty.dims())])
    },
    check: |_| Ok(()),
    element: |array, index| array.components()[0].get(index).unwrap_or(Scalar::Bool(false).cast(array.dtype())),
    take: |_, array| Ok(vec![array.clone()]),
};

register_style!(LAZY);
register_interface!(style "lazy", Arguments, &Arguments("the style that the result may have, and what is made of zeros"));

/// What a lazy type says.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lazy {
    /// The style that the result has if it may.
    pub style: Style,
    /// What is computed of the zeros of its structure.
    pub zero: Option<Scalar>,
}

impl Lazy {
    /// What becomes dense.
    pub fn dense() -> Lazy {
        Lazy { style: Style::dense(), zero: None }
    }

    /// The style's name.
    pub fn name(&self) -> Name {
        let style = self.style;
        Name::from(match self.zero {
            Some(zero) => format!("lazy({style}, {})", written(zero)),
            None => format!("lazy({style})"),
        })
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
        let (style, zero) = match last_comma(arguments) {
            Some(at) => (&arguments[..at], Some(arguments[at + 1..].trim())),
            None => (arguments, None),
        };
        let style = Style::named(Name::new(style))?;
        if style.def().name == LAZY.name {
            return Err("lazy arrays become something else than lazy".into());
        }
        let read = |text: &str| read(text, ty.dtype()).ok_or_else(|| format!("`{text}` is no value of {}", ty.dtype()));
        Ok(Lazy { style, zero: zero.map(read).transpose()? })
    }
}

/// Where the last argument begins that is in no parentheses.
fn last_comma(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().rev().find_map(|(at, c)| {
        depth += i32::from(c == ')') - i32::from(c == '(');
        (c == ',' && depth == 0).then_some(at)
    })
}

/// A number as an argument of a style: complex ones as their parts.
fn written(number: Scalar) -> String {
    match number {
        Scalar::F32(x) => format!("{x:?}"),
        Scalar::F64(x) => format!("{x:?}"),
        Scalar::C64(z) => format!("{:?} {:?}", z.re, z.im),
        Scalar::C128(z) => format!("{:?} {:?}", z.re, z.im),
        other => other.to_string(),
    }
}

fn read(text: &str, dtype: DType) -> Option<Scalar> {
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
