//! Random statements: a naive evaluator of the notation and every backend agree, on results and on whether
//! there is an error. Integers and strict floats agree to the bit; other floats are whole numbers, whose sums
//! have one value in every order.
//!
//! `REWRIGHT_STATEMENTS=100000 cargo test -p rewright-index --test all naive::` runs more of them;
//! `REWRIGHT_SEED` selects others.

mod generate;
mod numbers;
mod oracle;

use generate::{Generated, statement};
use numbers::Num;
use oracle::{Arr, Oracle, Result_, Stop};
use rewright::exec::{Arg, Backend};
use rewright::{Array, DType, Datum, EvalError, Limits, Scalar, evaluate};
use rewright_index::{Statements, parse};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn datum(array: &Arr) -> Datum {
    let dtype = array.positions.unwrap_or(if array.is_float { DType::F64 } else { DType::I64 });
    let at = |n: usize| match array.data[n] {
        Num::F(x) => Scalar::F64(x),
        Num::I(n) => Scalar::I64(n).cast(dtype),
        Num::B(b) => Scalar::Bool(b),
    };
    Array::from_fn(dtype, &array.shape, at).expect("memory").into()
}

/// The greatest number up to which all whole numbers are floats. Products beyond it depend on their order.
const EXACT: f64 = (1u64 << 53) as f64;

/// Whether a result is the wanted one. The order of extrema decides between zeros of two signs, unless the
/// statement is strict.
fn agrees(found: &Datum, wanted: &Result_, is_strict: bool) -> bool {
    let shape = wanted.shape.clone().unwrap_or_default();
    let is_shape = found.shape() == shape && found.ty().is_scalar() == wanted.shape.is_none();
    let found = found.to_array();
    let same = |(found, wanted): (Scalar, &Num)| match (found, *wanted) {
        (Scalar::F64(x), Num::F(y)) => {
            let is_near = (x - y).abs() <= 1e-9 * y.abs() && y.abs() > EXACT;
            x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()) || (!is_strict && (x == y || is_near))
        }
        (Scalar::I64(n), Num::I(m)) => n == m,
        (Scalar::Bool(a), Num::B(b)) => a == b,
        // A result is of one dtype, the naive one by element: padding and new elements of diagonals.
        (Scalar::F64(x), Num::I(m)) => x == m as f64,
        (Scalar::Bool(a), Num::I(m)) => i64::from(a) == m,
        (Scalar::I64(n), Num::B(b)) => n == i64::from(b),
        _ => false,
    };
    is_shape && found.iter().zip(&wanted.data).all(same)
}

/// The result of the function of symbolic extents, if there is one.
fn by_symbols(statements: &Statements, values: &[(String, Datum)]) -> Option<Result<Datum, EvalError>> {
    let value = |name: &String| values.iter().find(|(own, _)| own == name).map(|(_, datum)| datum.clone());
    let types = statements.symbolic_types().into_iter();
    let types = types.map(|(name, ty)| Some((name.clone(), ty.with_dtype(value(&name)?.dtype()))));
    let lowered = statements.lower(&types.collect::<Option<_>>()?).ok()?;
    let args = lowered.params.iter().map(value).collect::<Option<Vec<_>>>()?;
    let outcome = evaluate(&lowered.module, lowered.func, args, Limits::default());
    Some(outcome.map(|outcome| outcome.results[0].clone()))
}

#[test]
fn random_statements_agree() {
    let (count, seed) = (number("REWRIGHT_STATEMENTS", 600), number("REWRIGHT_SEED", 1));
    let (mut compared, mut errors, mut skipped, mut symbolic, mut n) = (0u64, 0u64, 0u64, 0u64, 0u64);
    while compared < count {
        n += 1;
        assert!(n < 30 * count + 1000, "{compared} results and {errors} errors of {n}, {skipped} skipped");
        let Generated { text, arrays } = statement(seed.wrapping_mul(1 << 32).wrapping_add(n));
        let program = parse(&text, "random").unwrap_or_else(|errors| panic!("{text}\n{errors}"));
        let wanted = Oracle::run(&program, &arrays);
        if let Err(Stop::Skip) = wanted {
            skipped += 1;
            continue;
        }
        let values: Vec<(String, Datum)> = arrays.iter().map(|(name, array)| (name.clone(), datum(array))).collect();
        let shown = || {
            let list: Vec<String> =
                values.iter().map(|(name, datum)| format!("{name}: {} = {datum}", datum.ty())).collect();
            format!("statement {n}\n{text}\n{}", list.join("\n"))
        };
        let statements = match Statements::parse(&text) {
            Ok(statements) => statements,
            Err(found) => {
                assert!(wanted.is_err(), "{}\n{found}\nand should be {wanted:?}", shown());
                errors += 1;
                continue;
            }
        };
        let lent: Vec<(&str, Arg<'_>)> = values
            .iter()
            .filter(|(name, _)| statements.inputs().contains_key(name))
            .map(|(name, datum)| (name.as_str(), Arg::from(datum)))
            .collect();
        if let Ok(wanted) = &wanted
            && let Some(found) = by_symbols(&statements, &values)
        {
            symbolic += 1;
            let found = found.unwrap_or_else(|error| panic!("symbolic: {}\n{error}", shown()));
            let is_same = agrees(&found, wanted, text.contains(" strict"));
            assert!(is_same, "symbolic: {}\n{found}\nand should be {wanted:?}", shown());
        }
        for backend in Backend::available() {
            match (statements.call_on(backend, &lent), &wanted) {
                (Ok(results), Ok(wanted)) => {
                    let found = &results[0];
                    assert!(
                        agrees(found, wanted, text.contains(" strict")),
                        "{backend:?}: {}\n{found}\nand should be {wanted:?}",
                        shown()
                    );
                }
                (Err(_), Err(_)) => {}
                (found, wanted) => panic!("{backend:?}: {}\n{found:?}\nand should be {wanted:?}", shown()),
            }
        }
        match wanted {
            Ok(_) => compared += 1,
            Err(_) => errors += 1,
        }
    }
    println!("{n} statements: {compared} results, {errors} errors, {skipped} skipped, {symbolic} by symbolic extents");
    assert!(symbolic * 10 > compared, "only {symbolic} functions of symbolic extents");
    assert!(errors * 20 > compared, "only {errors} errors");
}
