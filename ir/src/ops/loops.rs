//! Loop selection for elementwise ops: the first entry of the op's table to which every operand can safely
//! be cast, in NumPy's order. There are no `f16` loops; where NumPy chooses one, the next is `f32`.

use crate::attr::Attrs;
use crate::dtype::DType::{self, *};
use crate::dtype::Kind;
use crate::op::Loop;
use smallvec::SmallVec;

const INTS: &[DType] = &[I8, U8, I16, U16, I32, U32, I64, U64];
const BITS: &[DType] = &[Bool, I8, U8, I16, U16, I32, U32, I64, U64];
const FLOATS: &[DType] = &[F32, F64];
const INEXACT: &[DType] = &[F32, F64, C64, C128];
const REALS: &[DType] = &[I8, U8, I16, U16, I32, U32, I64, U64, F32, F64];
const BOOL_OR_REALS: &[DType] = &[Bool, I8, U8, I16, U16, I32, U32, I64, U64, F32, F64];
const NUMBERS: &[DType] = &[I8, U8, I16, U16, I32, U32, I64, U64, F32, F64, C64, C128];
const ALL: &[DType] = &[Bool, I8, U8, I16, U16, I32, U32, I64, U64, F32, F64, C64, C128];

/// The dtypes of a loop's results, given the dtype at which the operands are computed.
#[derive(Clone, Copy)]
enum ResultDType {
    /// The operands' dtype.
    Same,
    /// The operands' dtype, for each of two results.
    Twice,
    /// The real dtype of a complex one.
    Real,
    /// The complex dtype of a real one.
    Complex,
    /// Always this one.
    Always(DType),
}

/// The first of `dtypes` to which all operands can safely be cast.
fn first_safe(dtypes: &[DType], given: &[DType], out: ResultDType) -> Result<Loop, String> {
    // No dtype can be cast to one before it in the table, so operands of one dtype of the table compute at
    // that dtype.
    let same = given.first().copied().filter(|first| given.iter().all(|d| d == first) && dtypes.contains(first));
    let found = same.or_else(|| dtypes.iter().copied().find(|&to| given.iter().all(|d| d.can_cast_safely(to))));
    let Some(at) = found else { return Err(accepted(dtypes)) };
    let mut found = Loop::uniform(given.len(), at, at);
    found.outs = match out {
        ResultDType::Same => SmallVec::from_slice(&[at]),
        ResultDType::Twice => SmallVec::from_slice(&[at, at]),
        ResultDType::Real => SmallVec::from_slice(&[at.real()]),
        ResultDType::Complex => SmallVec::from_slice(&[at.to_complex()]),
        ResultDType::Always(dtype) => SmallVec::from_slice(&[dtype]),
    };
    Ok(found)
}

fn accepted(dtypes: &[DType]) -> String {
    let names: Vec<_> = dtypes.iter().map(|d| d.name()).collect();
    format!("operands must cast safely to one of {}", names.join(", "))
}

fn reject_all_bool(given: &[DType], instead: &str) -> Result<(), String> {
    if given.iter().all(|d| d.is_bool()) {
        return Err(format!("operands must not all be bool{instead}; {}", accepted(NUMBERS)));
    }
    Ok(())
}

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $dtypes:ident, $out:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name(given: &[DType], _: &Attrs) -> Result<Loop, String> {
            first_safe($dtypes, given, $out)
        }
    )*};
}

rules! {
    /// Integers, floats, complex numbers; bools count as `i8`.
    numbers = NUMBERS, ResultDType::Same;
    /// Everything, bools as bools.
    all = ALL, ResultDType::Same;
    /// Everything; bool results.
    all_to_bool = ALL, ResultDType::Always(Bool);
    /// Everything; complex operands give real results.
    all_to_real = ALL, ResultDType::Real;
    /// Integers and floats; bools count as `i8`.
    reals = REALS, ResultDType::Same;
    /// Integers and floats, two results.
    reals_twice = REALS, ResultDType::Twice;
    /// Bools, integers and floats.
    bool_or_reals = BOOL_OR_REALS, ResultDType::Same;
    /// Integers; bools count as `i8`.
    ints = INTS, ResultDType::Same;
    /// Bools and integers.
    bits = BITS, ResultDType::Same;
    /// Integers; the result is a small count.
    ints_to_u8 = INTS, ResultDType::Always(U8);
    /// Floats; other operands are converted to floats.
    floats = FLOATS, ResultDType::Same;
    /// Floats, two results.
    floats_twice = FLOATS, ResultDType::Twice;
    /// Floats; bool results.
    floats_to_bool = FLOATS, ResultDType::Always(Bool);
    /// Floats, as the parts of a complex number.
    floats_to_complex = FLOATS, ResultDType::Complex;
    /// Floats and complex numbers; other operands are converted to floats.
    inexact = INEXACT, ResultDType::Same;
    /// Floats and complex numbers; float results.
    inexact_to_real = INEXACT, ResultDType::Real;
}

/// [`numbers`], but at least one operand is not bool: bools have `xor` and `not`.
pub fn numbers_not_bools(given: &[DType], attrs: &Attrs) -> Result<Loop, String> {
    reject_all_bool(given, " (bools have `xor` and `not`)")?;
    numbers(given, attrs)
}

/// [`ints`], but at least one operand is not bool.
pub fn ints_not_bools(given: &[DType], attrs: &Attrs) -> Result<Loop, String> {
    reject_all_bool(given, "")?;
    ints(given, attrs)
}

/// True division: bools and integers of any size compute at `f64`.
pub fn true_division(given: &[DType], attrs: &Attrs) -> Result<Loop, String> {
    if given.iter().all(|d| d.kind() <= Kind::Int) {
        return Ok(Loop::uniform(given.len(), F64, F64));
    }
    inexact(given, attrs)
}

/// At the widest float or complex dtype.
pub fn widest(given: &[DType], _: &Attrs) -> Result<Loop, String> {
    first_safe(&[F64, C128], given, ResultDType::Same)
}

/// Comparison: like [`all_to_bool`], but signed and unsigned 64-bit integers compare without a cast.
pub fn comparison(given: &[DType], attrs: &Attrs) -> Result<Loop, String> {
    let found = all_to_bool(given, attrs)?;
    let both_ints = given.iter().all(|d| d.kind() <= Kind::Int);
    if both_ints && found.ins[0] == F64 {
        let ins = given.iter().map(|d| if d.is_unsigned() { U64 } else { I64 }).collect();
        return Ok(Loop { ins, outs: SmallVec::from_slice(&[Bool]) });
    }
    Ok(found)
}

/// A condition, taken as "not zero", and two operands that promote.
pub fn selection(given: &[DType], attrs: &Attrs) -> Result<Loop, String> {
    let mut found = all(given.get(1..).unwrap_or_default(), attrs)?;
    found.ins.insert(0, Bool);
    Ok(found)
}

/// Any operand; the result has the dtype of attribute `to`.
pub fn conversion(given: &[DType], attrs: &Attrs) -> Result<Loop, String> {
    let to = attrs.dtype("to").ok_or("attribute `to` names the dtype of the result")?;
    Ok(Loop { ins: SmallVec::from_slice(given), outs: SmallVec::from_slice(&[to]) })
}

/// Results: a float and its binary exponent.
pub fn float_and_exponent(given: &[DType], attrs: &Attrs) -> Result<Loop, String> {
    let mut found = floats(given, attrs)?;
    found.outs.push(I32);
    Ok(found)
}

/// Operands: a float, and an integer that is added to its binary exponent.
pub fn float_by_exponent(given: &[DType], attrs: &Attrs) -> Result<Loop, String> {
    let why = "the first operand must cast safely to f32 or f64, the second to i32 or i64";
    let [x, n] = *given else { return Err(why.to_string()) };
    let mut found = floats(&[x], attrs).map_err(|_| why.to_string())?;
    let exponent = [I32, I64].into_iter().find(|&to| n.can_cast_safely(to)).ok_or(why)?;
    found.ins.push(exponent);
    Ok(found)
}

/// [`numbers`]; a negative exponent `n` only for dtypes with reciprocals.
pub fn integer_power(given: &[DType], attrs: &Attrs) -> Result<Loop, String> {
    let n = attrs.int("n").ok_or("attribute `n` is the exponent")?;
    let found = numbers(given, attrs)?;
    if n < 0 && found.ins[0].is_int() {
        return Err(format!("integers have no power {n}; {}", accepted(INEXACT)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(rule: fn(&[DType], &Attrs) -> Result<Loop, String>, given: &[DType]) -> Option<DType> {
        rule(given, &Attrs::new()).ok().map(|l| l.ins[0])
    }

    #[test]
    fn mixed_signs_go_to_the_next_wider_dtype() {
        assert_eq!(at(numbers, &[I8, U8]), Some(I16));
        assert_eq!(at(numbers, &[U32, I8]), Some(I64));
        assert_eq!(at(numbers, &[U64, I8]), Some(F64));
        assert_eq!(at(ints, &[U64, I8]), None);
    }

    #[test]
    fn small_integers_become_single_floats() {
        assert_eq!(at(inexact, &[I16]), Some(F32));
        assert_eq!(at(inexact, &[U32]), Some(F64));
        assert_eq!(at(true_division, &[I8, U8]), Some(F64), "but quotients are f64");
        assert_eq!(at(true_division, &[I8, F32]), Some(F32));
        assert_eq!(at(inexact, &[C64, I32]), Some(C128));
    }

    #[test]
    fn comparison_of_64_bit_integers_loses_nothing() {
        let found = comparison(&[U64, I16], &Attrs::new()).unwrap();
        assert_eq!(found.ins.as_slice(), &[U64, I64]);
        assert_eq!(at(comparison, &[U64, Bool]), Some(U64));
    }

    #[test]
    fn refusals_list_the_accepted_dtypes() {
        let why = numbers_not_bools(&[Bool, Bool], &Attrs::new()).unwrap_err();
        assert!(why.contains("`xor`") && why.contains("c128"), "{why}");
        assert!(bits(&[F32], &Attrs::new()).unwrap_err().contains("bool, i8"));
        assert!(float_by_exponent(&[F32, U64], &Attrs::new()).is_err());
    }
}
