//! Parsing of numbers: literals, with and without a dtype, and constant arrays.

use super::lexer::TokenKind;
use super::parser::{Parsed, Parser, clip};
use crate::diag::Diagnostic;
use crate::dtype::{DType, Kind};
use crate::scalar::{Literal, Scalar};
use crate::types::Dim;
use crate::value::{Array, checked_len};
use num_complex::{Complex32, Complex64};

/// A real number before it has a dtype.
#[derive(Clone, Copy, Debug)]
struct UntypedReal<'a> {
    negative: bool,
    digits: Digits<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Digits<'a> {
    Int(i128),
    Float(&'a str),
    Infinity,
    Nan,
    /// `NaN(0x7ff8000000000001)`: all bits of a NaN.
    Bits(u64),
}

/// A number before it has a dtype.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number<'a> {
    Bool(bool),
    Real(RealPart<'a>),
    Complex(RealPart<'a>, RealPart<'a>),
}

/// One part of a complex number, or a real number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RealPart<'a>(UntypedReal<'a>);

impl RealPart<'_> {
    fn int(self) -> Option<i128> {
        match self.0.digits {
            Digits::Int(i) => Some(if self.0.negative { -i } else { i }),
            _ => None,
        }
    }
    fn f64(self) -> f64 {
        let x = match self.0.digits {
            Digits::Int(i) => i as f64,
            // The lexer accepts the same floats as Rust.
            Digits::Float(text) => text.parse().unwrap_or(f64::NAN),
            Digits::Infinity => f64::INFINITY,
            Digits::Nan => f64::NAN,
            Digits::Bits(bits) => f64::from_bits(bits),
        };
        if self.0.negative { -x } else { x }
    }
    fn f32(self) -> f32 {
        let x = match self.0.digits {
            Digits::Int(i) => i as f32,
            Digits::Float(text) => text.parse().unwrap_or(f32::NAN),
            Digits::Infinity => f32::INFINITY,
            Digits::Nan => f32::NAN,
            Digits::Bits(bits) => f32::from_bits(bits as u32),
        };
        if self.0.negative { -x } else { x }
    }
}

impl Number<'_> {
    /// The number as a weak literal.
    pub fn weak(self) -> Literal {
        match self {
            Number::Bool(b) => Literal::Bool(b),
            Number::Real(part) => part.int().map_or_else(|| Literal::Float(part.f64()), Literal::Int),
            Number::Complex(re, im) => Literal::Complex(re.f64(), im.f64()),
        }
    }

    /// The number at a dtype, rounded once; `None` if the dtype can't represent it.
    pub fn at(self, dtype: DType) -> Option<Scalar> {
        let (re, im) = match self {
            Number::Bool(_) => return self.weak().at(dtype),
            Number::Real(part) => (part, None),
            Number::Complex(re, im) => (re, Some(im)),
        };
        match (dtype, dtype.kind()) {
            (DType::F32, _) if im.is_none() => Some(Scalar::F32(re.f32())),
            (DType::F64, _) if im.is_none() => Some(Scalar::F64(re.f64())),
            (DType::C64, _) => Some(Scalar::C64(Complex32::new(re.f32(), im.map_or(0.0, RealPart::f32)))),
            (DType::C128, _) => Some(Scalar::C128(Complex64::new(re.f64(), im.map_or(0.0, RealPart::f64)))),
            (_, Kind::Int) => self.weak().at(dtype),
            _ => None,
        }
    }
}

impl<'a> Parser<'a> {
    /// True at the start of a literal.
    pub fn at_literal(&self) -> bool {
        match self.kind() {
            TokenKind::Int | TokenKind::Float | TokenKind::Imaginary | TokenKind::Minus | TokenKind::LParen => true,
            TokenKind::Ident => matches!(self.slice(self.token()), "true" | "false" | "inf" | "NaN"),
            _ => false,
        }
    }

    /// A literal, with a dtype if a suffix follows: `2.0:f32`.
    pub fn literal(&mut self) -> Parsed<Literal> {
        let start = self.loc();
        let number = self.number()?;
        if !self.at_suffix() {
            return Ok(number.weak());
        }
        self.bump();
        let dtype = self.dtype()?;
        match number.at(dtype) {
            Some(scalar) => Ok(Literal::Typed(scalar)),
            None => self.fail(
                Diagnostic::new(format!("{} is no value of {dtype}", clip(&number.weak().to_string()))).at(start),
            ),
        }
    }

    /// A literal with a dtype, or one that takes the default.
    pub fn scalar(&mut self, default: Option<DType>) -> Parsed<Scalar> {
        let start = self.loc();
        let literal = self.literal()?;
        let dtype = literal.dtype_beside(default);
        match literal.at(dtype) {
            Some(scalar) => Ok(scalar),
            None => {
                self.fail(Diagnostic::new(format!("{} is no value of {dtype}", clip(&literal.to_string()))).at(start))
            }
        }
    }

    /// True at a colon without blanks around it.
    fn at_suffix(&self) -> bool {
        let (colon, next) = (self.token(), self.ahead(1));
        colon.kind == TokenKind::Colon
            && colon.loc.start == self.last().end()
            && next.kind == TokenKind::Ident
            && next.loc.start == colon.end()
    }

    /// A number without a dtype: `1`, `-2.5`, `inf`, `NaN`, `2.0j`, `(1.0, -2.0)`, `true`.
    pub fn number(&mut self) -> Parsed<Number<'a>> {
        if self.eat_word("true") {
            return Ok(Number::Bool(true));
        }
        if self.eat_word("false") {
            return Ok(Number::Bool(false));
        }
        if self.eat(TokenKind::LParen) {
            let re = self.part()?;
            self.expect(TokenKind::Comma, "`,` between real and imaginary part")?;
            let im = self.part()?;
            self.expect(TokenKind::RParen, "`)` after the imaginary part")?;
            return Ok(Number::Complex(re, im));
        }
        let imaginary =
            self.is(TokenKind::Imaginary) || (self.is(TokenKind::Minus) && self.ahead(1).kind == TokenKind::Imaginary);
        if imaginary {
            let negative = self.eat(TokenKind::Minus);
            let token = self.bump();
            let digits = Digits::Float(self.slice(token).trim_end_matches('j'));
            let zero = RealPart(UntypedReal { negative: false, digits: Digits::Int(0) });
            return Ok(Number::Complex(zero, RealPart(UntypedReal { negative, digits })));
        }
        self.part().map(Number::Real)
    }

    fn part(&mut self) -> Parsed<RealPart<'a>> {
        let negative = self.eat(TokenKind::Minus);
        let token = self.token();
        let text = self.slice(token);
        let digits = match (token.kind, text) {
            (TokenKind::Int, _) => {
                self.bump();
                Digits::Int(self.int_digits(text, token.loc)?)
            }
            (TokenKind::Float, _) => {
                self.bump();
                Digits::Float(text)
            }
            (TokenKind::Ident, "inf") => {
                self.bump();
                Digits::Infinity
            }
            (TokenKind::Ident, "NaN") => {
                self.bump();
                if self.is(TokenKind::LParen) { Digits::Bits(self.nan_bits()?) } else { Digits::Nan }
            }
            _ => return self.expected("a number"),
        };
        Ok(RealPart(UntypedReal { negative, digits }))
    }

    fn nan_bits(&mut self) -> Parsed<u64> {
        self.bump();
        let token = self.expect(TokenKind::Int, "the bits of the NaN, as `0x7ff8000000000000`")?;
        let bits = self.int_digits(self.slice(token), token.loc)?;
        self.expect(TokenKind::RParen, "`)`")?;
        match u64::try_from(bits) {
            Ok(bits) => Ok(bits),
            Err(_) => self.fail(Diagnostic::new("a NaN has at most 64 bits").at(token.loc)),
        }
    }

    /// The value of an integer's digits, at most 100 bits.
    fn int_digits(&mut self, text: &str, loc: crate::Loc) -> Parsed<i128> {
        let value = match text.strip_prefix("0x") {
            Some(hex) => i128::from_str_radix(hex, 16),
            None => text.parse(),
        };
        match value {
            Ok(i) if i < 1 << 100 => Ok(i),
            _ => self.fail(
                Diagnostic::new(format!("the integer {} is too large", clip(text)))
                    .at(loc)
                    .help("written with a point it is a float"),
            ),
        }
    }

    /// Digits of an integer, without a sign.
    pub fn wide_int(&mut self) -> Parsed<i128> {
        let token = self.expect(TokenKind::Int, "an integer")?;
        self.int_digits(self.slice(token), token.loc)
    }

    /// An `i64`.
    pub fn int(&mut self, what: &str) -> Parsed<i64> {
        let start = self.loc();
        let negative = self.eat(TokenKind::Minus);
        let token = self.expect(TokenKind::Int, what)?;
        let value = self.int_digits(self.slice(token), token.loc)?;
        match i64::try_from(if negative { -value } else { value }) {
            Ok(value) => Ok(value),
            Err(_) => self.fail(Diagnostic::new("this integer does not fit 64 bits").at(start)),
        }
    }

    /// Constant data: `[[1, 2], [3, 4]]:f32`; `2.0:f32` has rank 0, and `[]:f32[2, 0]` is a shape without
    /// elements.
    pub fn array(&mut self) -> Parsed<Array> {
        let start = self.loc();
        let mut elements = Vec::new();
        let mut shape = Vec::new();
        self.array_level(0, &mut shape, &mut elements)?;
        let mut dtype = None;
        if self.at_suffix() {
            self.bump();
            dtype = Some(self.dtype()?);
            if self.is(TokenKind::LBracket) {
                shape = self.empty_shape(&elements)?;
            }
        }
        let dtype = dtype.unwrap_or_else(|| natural_dtype(&elements));
        let mut scalars = Vec::with_capacity(elements.len());
        for number in elements {
            match number.at(dtype) {
                Some(s) => scalars.push(s),
                None => {
                    let message = format!("{} is no value of {dtype}", clip(&number.weak().to_string()));
                    return self.fail(Diagnostic::new(message).at(start));
                }
            }
        }
        match checked_len(&shape).and_then(|_| Array::from_fn(dtype, &shape, |i| scalars[i])) {
            Some(array) => Ok(array),
            None => self.fail(Diagnostic::new("this shape is too large").at(start)),
        }
    }

    fn empty_shape(&mut self, elements: &[Number<'a>]) -> Parsed<Vec<usize>> {
        let loc = self.loc();
        let mut shape = Vec::new();
        for dim in self.bracketed_dims()? {
            match dim {
                Dim::Const(n) if n <= u32::MAX as u64 => shape.push(n as usize),
                _ => return self.fail(Diagnostic::new("the shape of constant data is made of small numbers").at(loc)),
            }
        }
        if !elements.is_empty() || !shape.contains(&0) {
            return self.fail(Diagnostic::new("only data without elements states its shape").at(loc));
        }
        Ok(shape)
    }

    /// One level of brackets; all sublists of a level must have the same length.
    fn array_level(&mut self, depth: usize, shape: &mut Vec<usize>, out: &mut Vec<Number<'a>>) -> Parsed<()> {
        let start = self.loc();
        if !self.is(TokenKind::LBracket) {
            if depth < shape.len() {
                return self.expected("`[`, as in the lists before");
            }
            out.push(self.number()?);
            return Ok(());
        }
        self.bump();
        let begun = out.is_empty() && depth == shape.len();
        if !begun && depth >= shape.len() {
            return self.fail(Diagnostic::new("this list is nested deeper than those before").at(start));
        }
        if begun {
            shape.push(0);
        }
        let mut count = 0;
        while !self.is(TokenKind::RBracket) {
            self.nested(|p| p.array_level(depth + 1, shape, out))?;
            count += 1;
            if begun && count == 1 {
                shape[depth] = 1;
            }
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RBracket, "`,` or `]`")?;
        if begun {
            shape[depth] = count;
        } else if shape[depth] != count {
            let message = format!("this list has {count} elements, those before have {}", shape[depth]);
            return self.fail(Diagnostic::new(message).at(start));
        }
        Ok(())
    }
}

/// The dtype of data without a suffix, like that of NumPy's `array`.
fn natural_dtype(elements: &[Number<'_>]) -> DType {
    let dtypes = elements.iter().map(|n| n.weak().dtype_beside(None));
    dtypes.reduce(DType::promote).unwrap_or(DType::F64)
}
