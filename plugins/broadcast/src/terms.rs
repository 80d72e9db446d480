//! Sparsity analysis: the places where a nest of sparse arrays may differ from its value for zeros.
//!
//! A product is zero where one factor is, if the other is finite. So `s + t * u` can be nonzero only where
//! `s` is stored, or where both `t` and `u` are. The pattern is a disjunction of *terms*, each a set of
//! arrays: a place belongs to the pattern if all arrays of some term are stored there. A sum has the terms
//! of all its operands. A product has the unions of one term of each operand. A function that does not map
//! zeros to zero also has the empty term, which holds at all places.
//!
//! An array's values are needed only where a term with that array holds; elsewhere the nest does not depend
//! on them. For a sum, this follows from its operands. For a product, suppose that no term with the array
//! holds at a place. If no such term of the operand with the array holds either, the operand does not
//! depend on the array. Otherwise no term of the other operand holds, so that operand is zero.
//!
//! Absorbed zeros may be negative where they are computed, and are positive where they are not. A function
//! that can tell the difference is treated as needing all arrays wherever they are stored.

use crate::absorption::{self, ABSORBING, is_exact};
use crate::lazy::Lazy;
use crate::nest::{Applied, Nest, Part};
use crate::ops::broadcasted::attrs_of_op;
use rewright::{Attrs, Complex64, DType, Function, Op, Scalar, Value, eval_scalar};

/// A disjunction of terms, each a set of array numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms(Vec<Vec<usize>>);

/// The limit on terms; beyond it, arrays are needed wherever they are stored.
const MOST: usize = 64;

impl Terms {
    /// One term per array: `count` terms.
    pub fn any(count: usize) -> Terms {
        Terms((0..count).map(|number| vec![number]).collect())
    }

    /// Parses the attribute `places` of an instruction with `count` arrays.
    pub fn read(attrs: &Attrs, count: usize) -> Result<Terms, String> {
        let Some(text) = attrs.str("places") else { return Ok(Terms::any(count)) };
        let number = |text: &str| match text.trim().parse() {
            Ok(number) if number < count => Ok(number),
            _ => Err(format!("`places` names arrays by their numbers, from 0 to {}, not `{}`", count - 1, text.trim())),
        };
        let term = |text: &str| text.split('&').map(number).collect::<Result<Vec<usize>, String>>();
        text.split('|').map(term).collect::<Result<_, _>>().map(Terms)
    }

    /// Formats the terms as the attribute.
    pub fn written(&self) -> String {
        let term = |term: &Vec<usize>| term.iter().map(usize::to_string).collect::<Vec<_>>().join(" & ");
        self.0.iter().map(term).collect::<Vec<_>>().join(" | ")
    }

    /// The arrays of each term.
    pub fn list(&self) -> &[Vec<usize>] {
        &self.0
    }

    /// The arrays of terms with several arrays.
    pub fn several(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().filter(|term| term.len() > 1).flatten().copied()
    }

    /// The terms of a nest, if one of them has several arrays. `number` gives the number of an array whose
    /// places are known.
    pub fn of(nest: &Nest, func: &Function, number: impl Fn(Value) -> Option<usize>) -> Option<Terms> {
        let mut parts: Vec<Known> = Vec::with_capacity(nest.parts.len());
        for part in &nest.parts {
            parts.push(match part {
                Part::Constant(scalar) => Known::constant(*scalar),
                Part::Leaf(value) => match number(*value) {
                    Some(number) if number < u64::BITS as usize => Known::array(number, func.ty(*value).dtype()),
                    Some(_) => return None,
                    None => Known::anything(func.ty(*value).dtype()),
                },
                Part::Applied { inst, function, args } => {
                    let data = func.inst(*inst);
                    let ty = func.ty(data.results[0]);
                    let zero = Lazy::of(ty).ok().and_then(|lazy| lazy.zero);
                    let op = if let Applied::Op(op) = function { Some(*op) } else { None };
                    let args: Vec<&Known> = args.iter().map(|&arg| &parts[arg]).collect();
                    AppliedFunction { op, attrs: &data.attrs, dtype: ty.dtype(), zero }.known(&args)
                }
            });
        }
        let terms = parts.pop()?.terms;
        let list = |term: u64| (0..u64::BITS as usize).filter(|number| term >> number & 1 == 1).collect::<Vec<_>>();
        let terms = Terms(terms.into_iter().filter(|&term| term != 0).map(list).collect());
        let has_several = terms.several().next().is_some();
        has_several.then_some(terms)
    }
}

/// Facts about one part of a nest.
struct Known {
    /// Its terms as bit sets of arrays, in increasing order.
    terms: Vec<u64>,
    /// The arrays on which it depends.
    arrays: u64,
    /// True if it is finite where its arrays are.
    finite: bool,
    /// True if it has an absorbed zero, which may be negative.
    absorbed: bool,
    dtype: DType,
}

impl Known {
    fn constant(number: Scalar) -> Known {
        let terms = if number.truthy() { vec![0] } else { Vec::new() };
        let z = number.to_c128();
        Known { terms, arrays: 0, finite: z.re.is_finite() && z.im.is_finite(), absorbed: false, dtype: number.dtype() }
    }

    fn array(number: usize, dtype: DType) -> Known {
        Known { terms: vec![1 << number], arrays: 1 << number, finite: true, absorbed: false, dtype }
    }

    fn anything(dtype: DType) -> Known {
        Known { terms: vec![0], arrays: 0, finite: is_exact(dtype), absorbed: false, dtype }
    }

    /// True if it may be nonzero at all places.
    fn is_everywhere(&self) -> bool {
        self.terms.contains(&0)
    }
}

/// Functions of several operands whose result does not depend on the sign of zero operands, except in the
/// sign of a zero.
const BLIND: [&str; 15] =
    ["add", "sub", "mul", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "xor", "where"];
/// Unary functions whose result is finite for a finite operand.
const FINITE: [&str; 5] = ["neg", "abs", "conj", "real", "imag"];

/// An application of a function.
struct AppliedFunction<'f> {
    /// None for a function of scalars.
    op: Option<Op>,
    attrs: &'f Attrs,
    dtype: DType,
    /// Its result where all arrays are zero, if it is known.
    zero: Option<Scalar>,
}

impl AppliedFunction<'_> {
    fn known(&self, args: &[&Known]) -> Known {
        let arrays = args.iter().fold(0, |all, arg| all | arg.arrays);
        let absorbed = args.iter().any(|arg| arg.absorbed);
        let each = || (0..u64::BITS).map(|number| 1 << number).filter(|one| arrays & one != 0).collect::<Vec<u64>>();
        let (mut terms, mut absorbs) = match (self.product(args), args) {
            (Some(terms), _) => (terms, !is_exact(self.dtype) && !self.is_asked()),
            (None, _) if !absorbed || self.is_blind(args) => {
                (args.iter().flat_map(|arg| arg.terms.iter().copied()).collect(), absorbed)
            }
            (None, _) => (each(), false),
        };
        if terms.len() > MOST {
            (terms, absorbs) = (each(), false);
        }
        match self.zero {
            Some(zero) if !zero.truthy() => terms.retain(|&term| term != 0),
            _ => terms.push(0),
        }
        terms.sort_unstable();
        terms.dedup();
        // The absolute value of a complex number may exceed its parts, and overflow.
        let grows = |op: Op| op.name == "abs" && args[0].dtype.is_complex();
        let keeps =
            || args.len() == 1 && args[0].finite && self.op.is_some_and(|op| FINITE.contains(&op.name) && !grows(op));
        let is_one = terms.len() == 1 && terms[0].is_power_of_two();
        Known {
            arrays,
            finite: is_exact(self.dtype) || (is_one && keeps()),
            absorbed: absorbs,
            dtype: self.dtype,
            terms,
        }
    }

    /// The terms of a product, if zeros are absorbing.
    fn product(&self, args: &[&Known]) -> Option<Vec<u64>> {
        let ([a, b], op) = (args, self.op?) else { return None };
        let exact = self.is_asked() || op.name == "and" || is_exact(self.dtype);
        // `align` checks that arrays are finite if they share a term with others.
        let looked_at = |other: &Known, zero: &Known| other.finite && !zero.terms.is_empty();
        let absorbs = |zero: &Known, other: &Known| exact || zero.is_everywhere() || looked_at(other, zero);
        let few = a.terms.len() * b.terms.len() <= MOST;
        (few && ABSORBING.contains(&op.name) && absorbs(a, b) && absorbs(b, a)).then_some(())?;
        Some(a.terms.iter().flat_map(|a| b.terms.iter().map(move |b| a | b)).collect())
    }

    /// True if `finite=true` makes zeros absorbing; the product is then a positive zero.
    fn is_asked(&self) -> bool {
        self.op.is_some_and(|op| absorption::is_asked(op, self.attrs, self.dtype))
    }

    /// True if its result does not depend on the signs of zero operands, of both parts for complex ones.
    fn is_blind(&self, args: &[&Known]) -> bool {
        let Some(op) = self.op else { return false };
        let of = |zero: Scalar| Some(eval_scalar(op, &[zero], &attrs_of_op(self.attrs)).ok()?.first()?.to_c128());
        let is_blind = |arg: &Known| {
            let mut made = zeros(arg.dtype).map(of);
            let first = made.next().flatten();
            first.is_some() && made.all(|other| other == first)
        };
        BLIND.contains(&op.name) || matches!(args, [arg] if is_blind(arg))
    }
}

/// The zeros of a dtype, with signs.
fn zeros(dtype: DType) -> impl Iterator<Item = Scalar> {
    let signs = [[0.0, 0.0], [-0.0, 0.0], [0.0, -0.0], [-0.0, -0.0]];
    signs.into_iter().map(move |[re, im]| match dtype.is_complex() {
        true => Scalar::C128(Complex64::new(re, im)).cast(dtype),
        false => Scalar::F64(re).cast(dtype),
    })
}
