//! Runs programs on every backend and compares the results.

#![allow(dead_code, reason = "each test uses a part")]

use indexmap::IndexMap;
use rewright::exec::{Arg, Backend};
use rewright::{Array, DType, Datum, Scalar};
use rewright_index::{Error, Statements};

/// A named argument.
pub type Named = (&'static str, Datum);

/// The results of a program on all backends, which must agree to the bit.
#[track_caller]
pub fn outcome(text: &str, args: &[Named]) -> Result<IndexMap<String, Datum>, String> {
    let statements = Statements::parse(text).map_err(|errors| errors.to_string())?;
    let lent: Vec<(&str, Arg<'_>)> = args.iter().map(|(name, datum)| (*name, Arg::from(datum))).collect();
    let call = |backend| statements.call_on(backend, &lent);
    let wanted = call(Backend::Reference);
    for backend in Backend::available().filter(|backend| *backend != Backend::Reference) {
        match (&call(backend), &wanted) {
            (Ok(found), Ok(wanted)) => {
                for (name, wanted) in wanted {
                    let found = &found[name];
                    let is_same = found.ty() == wanted.ty() && found.to_array().same_bits(&wanted.to_array());
                    assert!(is_same, "{backend:?}: {text}\n{name} is {found}\nand should be {wanted}");
                }
            }
            (Err(found), Err(wanted)) => assert_eq!(found.to_string(), wanted.to_string(), "{backend:?}: {text}"),
            (found, wanted) => panic!("{backend:?}: {text}\n{found:?}\n{wanted:?}"),
        }
    }
    wanted.map_err(|error| match error {
        Error::Statement(errors) => errors.to_string(),
        other => other.to_string(),
    })
}

/// The results of a program.
#[track_caller]
pub fn run(text: &str, args: &[Named]) -> IndexMap<String, Datum> {
    outcome(text, args).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// Checks a result: its type and its elements.
#[track_caller]
pub fn check(text: &str, args: &[Named], name: &str, wanted: impl Into<Datum>) {
    let (results, wanted) = (run(text, args), wanted.into());
    let Some(found) = results.get(name) else { panic!("{text}: no `{name}` among {:?}", results.keys()) };
    let close = |a: Scalar, b: Scalar| {
        let (a, b) = (a.to_c128(), b.to_c128());
        let error = (a - b).norm();
        a == b || error <= 1e-8 * b.norm() || (a.re.is_nan() && b.re.is_nan())
    };
    let (a, b) = (found.to_array(), wanted.to_array());
    let is_same = found.ty() == wanted.ty() && a.iter().zip(b.iter()).all(|(a, b)| close(a, b));
    assert!(is_same, "{text}\n{name}: {}\n{found}\nwanted: {}\n{wanted}", found.ty(), wanted.ty());
}

/// Checks an error: its message has all of these parts.
#[track_caller]
pub fn refused(text: &str, args: &[Named], parts: &[&str]) {
    match outcome(text, args) {
        Ok(results) => panic!("{text} is no error: {results:?}"),
        Err(message) => {
            for part in parts {
                assert!(message.contains(part), "{text}\n{message}\nhas no {part:?}");
            }
        }
    }
}

/// The explanation of a program.
#[track_caller]
pub fn explained(text: &str, args: &[Named]) -> String {
    let statements = Statements::parse(text).unwrap_or_else(|errors| panic!("{text}\n{errors}"));
    let values = args.iter().map(|(name, datum)| (name.to_string(), datum.clone())).collect();
    statements.lower_for(&values).unwrap_or_else(|errors| panic!("{text}\n{errors}")).explanation
}

/// The range of an index, as the explanation of a program shows it.
#[track_caller]
pub fn range(text: &str, args: &[Named], index: &str) -> String {
    let explained = explained(text, args);
    let line = explained.lines().find_map(|line| line.trim().strip_prefix(&format!("{index}: ")));
    line.unwrap_or_else(|| panic!("no range of {index}: {explained}")).split(' ').next().unwrap_or_default().to_string()
}

/// A vector of floats.
pub fn floats(values: &[f64]) -> Datum {
    array(&[values.len()], values)
}

/// A vector of integers.
pub fn ints(values: &[i64]) -> Datum {
    ints_of(&[values.len()], values)
}

/// An array of floats.
pub fn array(shape: &[usize], values: &[f64]) -> Datum {
    assert_eq!(shape.iter().product::<usize>(), values.len());
    Array::from_fn(DType::F64, shape, |n| Scalar::F64(values[n])).expect("memory").into()
}

/// An array of integers.
pub fn ints_of(shape: &[usize], values: &[i64]) -> Datum {
    assert_eq!(shape.iter().product::<usize>(), values.len());
    Array::from_fn(DType::I64, shape, |n| Scalar::I64(values[n])).expect("memory").into()
}

/// An array of floats by its positions, from 1.
pub fn by2(rows: usize, columns: usize, f: impl Fn(f64, f64) -> f64) -> Datum {
    let values: Vec<f64> = (0..rows * columns).map(|n| f((n / columns + 1) as f64, (n % columns + 1) as f64)).collect();
    array(&[rows, columns], &values)
}
