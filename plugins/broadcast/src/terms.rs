//! At which places a nest of sparse arrays may be something else than what it is of zeros.
//!
//! A product is zero where one factor is, if the other one is finite; so `s + t * u` is zero but where `s`
//! is stored, or both `t` and `u` are. That is kept as *terms*, each a set of arrays: a place is of
//! interest if all arrays of a term have it. A sum has the terms of all operands, a product of each pair of
//! them the union. A function that isn't zero of zeros has the term of no arrays too, which all places
//! have.
//!
//! An array's values are then needed only where a term with that array is satisfied: elsewhere the nest is
//! the same whatever they are. For a sum that is so if it is so for its operands. In a product, if no term
//! of it with the array is satisfied there, then either none of that operand with the array is, and the
//! operand is the same; or one is, and none of the other operand at all, which therefore is zero.
//!
//! Zeros that are so absorbed may be negative where they are computed, and are positive where they are not.
//! Functions that can tell are thought of as needing all arrays wherever they are stored.

use crate::absorption::{self, ABSORBING, is_exact};
use crate::lazy::Lazy;
use crate::nest::{Applied, Nest, Part};
use crate::ops::broadcasted::attrs_of_op;
use rewright::{Attrs, Complex64, DType, Function, Op, Scalar, Value, eval_scalar};

/// Sets of arrays, by their numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms(Vec<Vec<usize>>);

/// The most terms; with more, arrays are needed wherever they are stored.
const MOST: usize = 64;

impl Terms {
    /// One term per array: `count` terms.
    pub fn any(count: usize) -> Terms {
        Terms((0..count).map(|number| vec![number]).collect())
    }

    /// What the attribute `places` of an instruction says, of so many arrays.
    pub fn read(attrs: &Attrs, count: usize) -> Result<Terms, String> {
        let Some(text) = attrs.str("places") else { return Ok(Terms::any(count)) };
        let number = |text: &str| match text.trim().parse() {
            Ok(number) if number < count => Ok(number),
            _ => Err(format!("`places` names arrays by their numbers, from 0 to {}, not `{}`", count - 1, text.trim())),
        };
        let term = |text: &str| text.split('&').map(number).collect::<Result<Vec<usize>, String>>();
        text.split('|').map(term).collect::<Result<_, _>>().map(Terms)
    }

    /// As the attribute says it.
    pub fn written(&self) -> String {
        let term = |term: &Vec<usize>| term.iter().map(usize::to_string).collect::<Vec<_>>().join(" & ");
        self.0.iter().map(term).collect::<Vec<_>>().join(" | ")
    }

    /// The arrays of each.
    pub fn list(&self) -> &[Vec<usize>] {
        &self.0
    }

    /// The arrays of terms of several.
    pub fn several(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().filter(|term| term.len() > 1).flatten().copied()
    }

    /// Those of a nest, if one of them is of several arrays; `number` is the one of an array that says
    /// where it is zero.
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
                    Applying { op, attrs: &data.attrs, dtype: ty.dtype(), zero }.known(&args)
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
    /// Its terms, each with a bit for each array, increasing.
    terms: Vec<u64>,
    /// The arrays that it is made of.
    arrays: u64,
    /// True if it is finite where its arrays are.
    finite: bool,
    /// True if a zero was absorbed, which may be negative.
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

    /// True if it may be something else than zero everywhere.
    fn is_everywhere(&self) -> bool {
        self.terms.contains(&0)
    }
}

/// Functions of several operands that make the same of zeros of either sign, but for the sign of zeros.
const BLIND: [&str; 15] =
    ["add", "sub", "mul", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "xor", "where"];
/// Unary functions whose result is finite for a finite operand.
const FINITE: [&str; 5] = ["neg", "abs", "conj", "real", "imag"];

/// A function.
struct Applying<'f> {
    /// Nothing for a function of scalars.
    op: Option<Op>,
    attrs: &'f Attrs,
    dtype: DType,
    /// What it makes where all arrays are zero, if that is known.
    zero: Option<Scalar>,
}

impl Applying<'_> {
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
        // The absolute value of a complex number is larger than its parts, and overflows.
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

    /// The terms of a product, if zeros absorb.
    fn product(&self, args: &[&Known]) -> Option<Vec<u64>> {
        let ([a, b], op) = (args, self.op?) else { return None };
        let exact = self.is_asked() || op.name == "and" || is_exact(self.dtype);
        // Whether an array is finite is looked at where it is in a term with others.
        let looked_at = |other: &Known, zero: &Known| other.finite && !zero.terms.is_empty();
        let absorbs = |zero: &Known, other: &Known| exact || zero.is_everywhere() || looked_at(other, zero);
        let few = a.terms.len() * b.terms.len() <= MOST;
        (few && ABSORBING.contains(&op.name) && absorbs(a, b) && absorbs(b, a)).then_some(())?;
        Some(a.terms.iter().flat_map(|a| b.terms.iter().map(move |b| a | b)).collect())
    }

    /// True if zeros are absorbed because somebody says so, and are positive then.
    fn is_asked(&self) -> bool {
        self.op.is_some_and(|op| absorption::is_asked(op, self.attrs, self.dtype))
    }

    /// True if it makes the same of zeros of either sign, of both parts of complex ones.
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
