//! The numbers of a rule: literals, and constants that depend on the dtype.

use rewright_ir::builder::literal_at;
use rewright_ir::op::LiteralCx;
use rewright_ir::{Attrs, DType, Literal, Op, Scalar};
use std::fmt;

/// A number of a rule. Like a literal of a program it gets its dtype from other operands, or from the result
/// that it replaces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// The same number at every dtype.
    Literal(Literal),
    /// `least`: the least value of the dtype; for floats negative infinity.
    Least,
    /// `greatest`: the greatest value of the dtype; for floats infinity.
    Greatest,
    /// `width`: the number of bits of an integer dtype.
    Width,
    /// `all_bits`: the value with all bits set; `true` for bools.
    AllBits,
}

/// The keywords for numbers that depend on the dtype.
const WORDS: [(&str, Number); 4] =
    [("least", Number::Least), ("greatest", Number::Greatest), ("width", Number::Width), ("all_bits", Number::AllBits)];

impl Number {
    /// The number of a keyword.
    pub fn named(word: &str) -> Option<Number> {
        WORDS.iter().find(|(known, _)| *known == word).map(|(_, number)| *number)
    }

    /// The literal, if it is one.
    pub fn literal(self) -> Option<Literal> {
        if let Number::Literal(literal) = self { Some(literal) } else { None }
    }

    /// The number at a dtype, or `None` if the dtype has no such number.
    pub fn at(self, dtype: DType) -> Option<Scalar> {
        match self {
            Number::Literal(literal) => literal.at(dtype),
            Number::Width => dtype.is_int().then(|| Literal::Int(bits(dtype).into()).at(dtype)).flatten(),
            Number::AllBits => match dtype {
                DType::Bool => Some(Scalar::Bool(true)),
                _ => dtype.is_int().then(|| Scalar::I64(-1).cast(dtype)),
            },
            Number::Least | Number::Greatest => extreme(dtype, self == Number::Greatest),
        }
    }

    /// The number at a dtype, or a message if there is none.
    pub(crate) fn checked_at(self, dtype: DType) -> Result<Scalar, String> {
        match self {
            Number::Literal(literal) => literal_at(literal, dtype).map_err(|e| e.message),
            _ => self.at(dtype).ok_or_else(|| format!("{dtype} has no `{self}`")),
        }
    }

    /// The number as an operand of an op, given the dtypes of the other operands.
    pub fn operand(self, op: Op, attrs: &Attrs, operand: usize, dtypes: &[Option<DType>]) -> Result<Scalar, String> {
        let beside = |literal| (op.literal)(&LiteralCx { literal, operand, dtypes, attrs });
        let dtype = match self {
            Number::Literal(Literal::Typed(scalar)) => scalar.dtype(),
            Number::Literal(literal) => beside(literal),
            _ => {
                let mut known = dtypes.iter().flatten().peekable();
                if known.peek().is_none() {
                    return Err(format!(
                        "`{self}` has no dtype, as no other operand of `{op}` has one; a variable with a class, such as `?x:i16`, gives it one"
                    ));
                }
                // An integer literal beside bools does not become a bool, but these numbers take the dtype
                // of the other operands, bool included.
                let is_bool = known.all(|&dtype| dtype == DType::Bool);
                beside(if is_bool { Literal::Bool(true) } else { Literal::Int(0) })
            }
        };
        self.checked_at(dtype)
    }
}

fn bits(dtype: DType) -> u8 {
    8 * dtype.size() as u8
}

pub(super) fn extreme(dtype: DType, greatest: bool) -> Option<Scalar> {
    let exponent = bits(dtype) - u8::from(!dtype.is_unsigned());
    match dtype {
        DType::Bool => Some(Scalar::Bool(greatest)),
        _ if dtype.is_float() => {
            Some(Scalar::F64(if greatest { f64::INFINITY } else { f64::NEG_INFINITY }).cast(dtype))
        }
        _ if dtype.is_int() => {
            let least = if dtype.is_unsigned() { 0 } else { -(1i128 << exponent) };
            Literal::Int(if greatest { (1i128 << exponent) - 1 } else { least }).at(dtype)
        }
        _ => None,
    }
}

/// The number as in the text of a rule.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Literal(literal) => write!(f, "{literal}"),
            _ => {
                let word = WORDS.iter().find(|(_, number)| number == self).map_or("", |(word, _)| word);
                f.write_str(word)
            }
        }
    }
}
