//! Argument values on the command line: `2.5`, `[[1, 2], [3, 4]]:f32`, `(1, -1)`, `@file.npy`,
//! `random:f64[1000]:-1..1`.

mod random;

pub use random::Random;

use rewright::ir::{Style, Styled};
use rewright::{Array, DType, Datum, Dim, Literal, Scalar, Type};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use thiserror::Error;

/// The deepest nesting of lists.
const MAX_RANK: usize = 32;

/// An argument value as written, before the type of the parameter is known.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueSpec {
    /// `@file.npy`.
    File(PathBuf),
    /// `random:f64[1000]:-1..1:7`.
    Random(Random),
    /// A number or a nested list of numbers.
    Literals {
        /// The extents; `None` for a single number.
        shape: Option<Vec<usize>>,
        /// The numbers in row-major order.
        elements: Vec<Literal>,
        /// The dtype suffix.
        dtype: Option<DType>,
    },
}

/// A parse error of a value, with its location in the text.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct ValueError {
    /// The message.
    pub message: String,
    /// Byte offset in the text.
    pub at: usize,
    /// Length in bytes.
    pub len: usize,
}

/// A value that doesn't fit its parameter.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct FitError(pub String);

impl FromStr for ValueSpec {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if let Some(path) = text.strip_prefix('@') {
            return match path {
                "" => Err(ValueError { message: "`@` wants the path of an .npy file".into(), at: 0, len: 1 }),
                path => Ok(ValueSpec::File(path.into())),
            };
        }
        if let Some(description) = text.strip_prefix(random::PREFIX) {
            return Ok(ValueSpec::Random(Random::parse(description, random::PREFIX.len())?));
        }
        let mut parser = Parser { text, at: 0, elements: Vec::new() };
        parser.skip_space();
        let shape = match parser.peek() {
            Some('[') => Some(parser.list(0)?),
            _ => {
                let number = parser.number()?;
                parser.elements.push(number);
                None
            }
        };
        let dtype = parser.suffix()?;
        parser.skip_space();
        match parser.peek() {
            None => Ok(ValueSpec::Literals { shape, elements: parser.elements, dtype }),
            Some(_) => Err(parser.error_to_end("nothing may follow the value")),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    elements: Vec<Literal>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }
    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }
    fn eat(&mut self, c: char) -> bool {
        self.skip_space();
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }
    fn error(&self, message: impl Into<String>, at: usize, len: usize) -> ValueError {
        ValueError { message: message.into(), at, len }
    }
    fn error_here(&self, message: impl Into<String>) -> ValueError {
        self.error(message, self.at, self.peek().map_or(0, char::len_utf8))
    }
    fn error_to_end(&self, message: impl Into<String>) -> ValueError {
        self.error(message, self.at, self.text.len() - self.at)
    }

    /// Parses a list; returns its shape and appends its elements.
    fn list(&mut self, depth: usize) -> Result<Vec<usize>, ValueError> {
        let start = self.at;
        if depth == MAX_RANK {
            return Err(self.error_here(format!("lists may be nested {MAX_RANK} deep")));
        }
        self.eat('[');
        let mut extent = 0;
        let mut inner: Option<Vec<usize>> = None;
        while !self.eat(']') {
            if extent > 0 && !self.eat(',') {
                return Err(self.error_here("expected `,` or `]`"));
            }
            if extent > 0 && self.eat(']') {
                break;
            }
            self.skip_space();
            let item = self.at;
            let shape = match self.peek() {
                Some('[') => self.list(depth + 1)?,
                _ => {
                    let number = self.number()?;
                    self.elements.push(number);
                    Vec::new()
                }
            };
            if let Some(first) = inner.as_ref().filter(|first| **first != shape) {
                let message = format!(
                    "this item has shape {shape:?}, the first of the list that begins at {start} has {first:?}"
                );
                return Err(self.error(message, item, self.at - item));
            }
            inner.get_or_insert(shape);
            extent += 1;
        }
        let mut shape = vec![extent];
        shape.extend(inner.unwrap_or_default());
        Ok(shape)
    }

    fn number(&mut self) -> Result<Literal, ValueError> {
        self.skip_space();
        if !self.eat('(') {
            return self.real();
        }
        let start = self.at - 1;
        let re = self.real()?;
        if !self.eat(',') {
            return Err(self.error_here("expected `,` between real and imaginary part"));
        }
        let im = self.real()?;
        if !self.eat(')') {
            return Err(self.error_here("expected `)` after the imaginary part"));
        }
        match (as_f64(re), as_f64(im)) {
            (Some(re), Some(im)) => Ok(Literal::Complex(re, im)),
            _ => Err(self.error("the parts of a complex number are real numbers", start, self.at - start)),
        }
    }

    fn real(&mut self) -> Result<Literal, ValueError> {
        self.skip_space();
        let rest = &self.text[self.at..];
        let len = rest.find(|c: char| c.is_whitespace() || "[](),:".contains(c)).unwrap_or(rest.len());
        let word = &rest[..len];
        let Some(literal) = parse_real(word) else {
            let message =
                if word.is_empty() { "expected a number".into() } else { format!("`{word}` is not a number") };
            let len = if word.is_empty() { self.peek().map_or(0, char::len_utf8) } else { len };
            return Err(self.error(message, self.at, len));
        };
        if let Literal::Float(x) = literal
            && x.is_infinite()
            && word.bytes().any(|b| b.is_ascii_digit())
        {
            return Err(self.error(format!("`{word}` is more than an f64 holds; infinity is `inf`"), self.at, len));
        }
        self.at += len;
        Ok(literal)
    }

    fn suffix(&mut self) -> Result<Option<DType>, ValueError> {
        if !self.eat(':') {
            return Ok(None);
        }
        let word = self.text[self.at..].trim();
        let Ok(dtype) = word.parse::<DType>() else {
            let names: Vec<_> = DType::ALL.iter().map(|d| d.name()).collect();
            return Err(self.error_to_end(format!("`{word}` is no dtype: it is one of {}", names.join(", "))));
        };
        self.at = self.text.len();
        Ok(Some(dtype))
    }
}

fn as_f64(literal: Literal) -> Option<f64> {
    match literal {
        Literal::Int(i) => Some(i as f64),
        Literal::Float(x) => Some(x),
        _ => None,
    }
}

fn parse_real(word: &str) -> Option<Literal> {
    match word {
        "true" | "True" => return Some(Literal::Bool(true)),
        "false" | "False" => return Some(Literal::Bool(false)),
        _ => {}
    }
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return word.parse().ok().map(Literal::Int);
    }
    word.parse().ok().map(Literal::Float)
}

impl ValueSpec {
    /// The value for a parameter of type `ty`, at the parameter's dtype. An array that `load` reads from
    /// a file must have this dtype, and so must a random array. Literals convert if they are exactly
    /// representable; a float without a suffix is rounded to the nearest value. For a styled parameter
    /// the value gives all elements, and must fit the style. A random array is projected to the style.
    pub fn for_param<E: Display>(
        &self,
        ty: &Type,
        load: impl FnOnce(&Path) -> Result<Array, E>,
    ) -> Result<Datum, FitError> {
        let datum = match self {
            ValueSpec::File(path) => {
                given_array(load(path).map_err(|e| FitError(e.to_string()))?, ty, "the file holds")?
            }
            ValueSpec::Random(random) => given_array(random.array()?, ty, "the numbers are")?,
            ValueSpec::Literals { shape, elements, dtype } => literal_value(shape.as_deref(), elements, *dtype, ty)?,
        };
        check_shape(&datum, ty)?;
        match (ty.style(), &datum) {
            (Some(style), Datum::Array(array)) => {
                let style = Style::named(style).map_err(FitError)?;
                let random = matches!(self, ValueSpec::Random(_));
                let kept = if random { Styled::of(style, array) } else { Styled::keep(style, array) };
                Ok(kept.map_err(FitError)?.into())
            }
            _ => Ok(datum),
        }
    }
}

fn given_array(array: Array, ty: &Type, what: &str) -> Result<Datum, FitError> {
    if array.dtype() != ty.dtype() {
        return Err(FitError(format!("{what} {}, the parameter is {ty}", array.dtype())));
    }
    match array.get(&[]).filter(|_| ty.is_scalar()) {
        Some(scalar) => Ok(Datum::Scalar(scalar)),
        None => Ok(Datum::Array(array)),
    }
}

fn literal_value(
    shape: Option<&[usize]>,
    elements: &[Literal],
    suffix: Option<DType>,
    ty: &Type,
) -> Result<Datum, FitError> {
    let to = ty.dtype();
    let scalars: Vec<Scalar> = elements.iter().map(|&l| convert(l, suffix, to)).collect::<Result<_, _>>()?;
    match (shape, ty.is_array()) {
        (None, false) => Ok(Datum::Scalar(scalars[0])),
        (shape, _) => {
            let shape = shape.unwrap_or(&[]);
            let made = Array::from_fn(to, shape, |i| scalars[i]);
            made.map(Datum::Array).ok_or_else(|| FitError(format!("no array can have shape {shape:?}")))
        }
    }
}

fn finite(literal: Literal) -> bool {
    match literal {
        Literal::Float(x) => x.is_finite(),
        Literal::Complex(re, im) => re.is_finite() && im.is_finite(),
        Literal::Typed(scalar) => {
            let z = scalar.to_c128();
            z.re.is_finite() && z.im.is_finite()
        }
        _ => true,
    }
}

/// Converts a number to the parameter's dtype.
fn convert(literal: Literal, suffix: Option<DType>, to: DType) -> Result<Scalar, FitError> {
    let nearest = match literal {
        // Decimal fractions are rarely exact in binary, so floats without a suffix are rounded.
        Literal::Float(_) | Literal::Complex(..) if suffix.is_none() => literal.at(to),
        _ => None,
    };
    if let Some(nearest) = nearest {
        if finite(literal) && !finite(nearest.into()) {
            return Err(FitError(format!("{literal} is more than {to}, the parameter's dtype, holds")));
        }
        return Ok(nearest);
    }
    let own = suffix.unwrap_or(literal.dtype_beside(None));
    let from = literal.at(own).ok_or_else(|| FitError(format!("{literal} is no value of {own}")))?;
    converts_exactly(from, to).ok_or_else(|| {
        FitError(format!("{literal} ({}) is not exactly a value of {to}, the parameter's dtype", from.dtype()))
    })
}

fn check_shape(datum: &Datum, ty: &Type) -> Result<(), FitError> {
    let (found, wanted) = (datum.ty(), ty.clone().with_style(None));
    let fits = match (datum, ty.is_array()) {
        (Datum::Scalar(_), false) => true,
        (Datum::Array(_), true) => {
            found.rank() == ty.rank()
                && found.dims().iter().zip(ty.dims()).all(|(&f, &w)| !matches!(w, Dim::Const(_)) || f == w)
        }
        _ => false,
    };
    if fits { Ok(()) } else { Err(FitError(format!("the value is {found}, the parameter is {wanted}"))) }
}

/// Converts a scalar to `dtype` if the value stays the same: it accepts `2` for `f64`.
fn converts_exactly(from: Scalar, to: DType) -> Option<Scalar> {
    let there = from.cast(to);
    let exact = match (from.to_i128(), there.to_i128()) {
        (Some(a), Some(b)) => a == b,
        // An integer is exact as a float if the rounded float equals it.
        (Some(a), None) => {
            let z = there.to_c128();
            z.im == 0.0 && z.re as i128 == a
        }
        (None, Some(b)) => {
            let z = from.to_c128();
            z.im == 0.0 && z.re.fract() == 0.0 && z.re as i128 == b
        }
        (None, None) => {
            let (a, b) = (from.to_c128(), there.to_c128());
            let same = |x: f64, y: f64| x == y || (x.is_nan() && y.is_nan());
            same(a.re, b.re) && same(a.im, b.im)
        }
    };
    exact.then_some(there)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> ValueSpec {
        text.parse().unwrap_or_else(|e: ValueError| panic!("{text}: {e}"))
    }
    fn refuse(text: &str) -> (String, usize, usize) {
        match text.parse::<ValueSpec>() {
            Ok(v) => panic!("{text} gave {v:?}"),
            Err(e) => (e.message, e.at, e.len),
        }
    }
    fn at(text: &str, ty: &Type) -> Result<Datum, String> {
        let no_file = |path: &Path| Err(FitError(format!("no file {}", path.display())));
        parse(text).for_param(ty, no_file).map_err(|e| e.0)
    }
    fn array(dtype: DType, dims: &[&str]) -> Type {
        Type::array(dtype, dims.iter().map(|d| d.parse().map_or(Dim::from(*d), Dim::Const)).collect::<Vec<_>>())
    }

    #[test]
    fn numbers_lists_and_suffixes() {
        let one = |literal, dtype| ValueSpec::Literals { shape: None, elements: vec![literal], dtype };
        assert_eq!(parse("2.5"), one(Literal::Float(2.5), None));
        assert_eq!(parse(" -3 : i8 "), one(Literal::Int(-3), Some(DType::I8)));
        assert_eq!(parse("(1, -0.5)"), one(Literal::Complex(1.0, -0.5), None));
        assert_eq!(parse("inf"), one(Literal::Float(f64::INFINITY), None));
        assert_eq!(parse("@a b.npy"), ValueSpec::File("a b.npy".into()));
        let ValueSpec::Literals { shape, elements, dtype } = parse("[[1,2],[3,4],]:f32") else { panic!("a list") };
        assert_eq!((shape, elements.len(), dtype), (Some(vec![2, 2]), 4, Some(DType::F32)));
        let ValueSpec::Literals { shape, .. } = parse("[[],[]]") else { panic!("a list") };
        assert_eq!(shape, Some(vec![2, 0]));
    }

    #[test]
    fn errors_point_at_the_place() {
        assert_eq!(refuse("[1, x]"), ("`x` is not a number".into(), 4, 1));
        assert_eq!((refuse("[[1,2],[3]]").1, refuse("[[1,2],[3]]").2), (7, 3));
        assert_eq!(refuse("1 2").1, 2);
        assert_eq!(refuse("[1e400]"), ("`1e400` is more than an f64 holds; infinity is `inf`".into(), 1, 5));
        assert!(refuse("(0, -1e999)").0.contains("-1e999"));
        assert_eq!(refuse("").0, "expected a number");
        assert_eq!(refuse("[1").0, "expected `,` or `]`");
        assert!(refuse("1:f16").0.contains("no dtype"));
        assert!(refuse(&"[".repeat(100_000)).0.contains("nested"));
        assert!(refuse("(1,true)").0.contains("real numbers"));
        assert!(refuse("@").0.contains("path"));
        assert_eq!(refuse("é").0, "`é` is not a number");
    }

    #[test]
    fn values_take_the_parameters_dtype_exactly_or_not_at_all() {
        let f64s = array(DType::F64, &["n"]);
        let wanted = Array::from_fn(DType::F64, &[2], |i| Scalar::F64(i as f64 + 1.0)).map(Datum::Array);
        assert_eq!(at("[1,2]", &f64s).ok(), wanted);
        assert_eq!(at("0.1", &Type::scalar(DType::F32)), Ok(Datum::Scalar(Scalar::F32(0.1))));
        assert_eq!(at("2.0", &Type::scalar(DType::I32)), Ok(Datum::Scalar(Scalar::I32(2))));
        for (text, dtype) in [("0.1:f64", DType::F32), ("2.5", DType::I32), ("300", DType::U8), ("(0,1)", DType::F64)] {
            let why = at(text, &Type::scalar(dtype));
            assert!(why.as_ref().is_err_and(|m| m.contains(dtype.name())), "{text}: {why:?}");
        }
        let large = at("1e39", &Type::scalar(DType::F32));
        assert!(large.as_ref().is_err_and(|m| m.contains("more than f32")), "{large:?}");
        assert_eq!(at("inf", &Type::scalar(DType::F32)), Ok(Datum::Scalar(Scalar::F32(f32::INFINITY))));
        assert!(at("9007199254740993", &Type::scalar(DType::F64)).is_err());
    }

    #[test]
    fn shapes_are_checked() {
        assert_eq!(at("[1,2]", &array(DType::I8, &["3"])), Err("the value is i8[2], the parameter is i8[3]".into()));
        assert!(at("[1,2]", &Type::scalar(DType::I8)).is_err());
        assert!(at("1", &array(DType::I8, &["n"])).is_err());
        assert!(at("1", &array(DType::I8, &[])).is_ok_and(|d| d.as_array().is_some()));
        assert!(at("[[1]]", &array(DType::I8, &["n", "?"])).is_ok());
    }

    #[test]
    fn conversion_is_exact_or_refused() {
        assert_eq!(converts_exactly(Scalar::I64(2), DType::F32), Some(Scalar::F32(2.0)));
        assert_eq!(converts_exactly(Scalar::I64((1 << 53) + 1), DType::F64), None);
        assert_eq!(converts_exactly(Scalar::F64(2.0), DType::U8), Some(Scalar::U8(2)));
        assert_eq!(converts_exactly(Scalar::F64(2.5), DType::U8), None);
        assert_eq!(converts_exactly(Scalar::F64(f64::NAN), DType::I32), None);
        assert_eq!(converts_exactly(Scalar::F64(0.1), DType::F32), None);
        assert_eq!(converts_exactly(Scalar::I64(-1), DType::U64), None);
        assert_eq!(converts_exactly(Scalar::I64(2), DType::Bool), None);
        assert_eq!(converts_exactly(Scalar::U64(u64::MAX), DType::F64), None);
        assert_eq!(converts_exactly(Scalar::F64(3.0), DType::C64), Some(Scalar::F32(3.0).cast(DType::C64)));
    }
}
