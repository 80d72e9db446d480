//! Chains of operations on the scalar result of a reduction: all are fused, and the function gives the same
//! bits.

use crate::{parse, run};
use proptest::prelude::*;
use proptest::sample::select;
use rewright_ir::{Array, DType, Datum, Limits, Scalar, evaluate_function, print_module};

const NUMBERS: [f64; 12] =
    [0.0, -0.0, 1.0, -1.5, 2.0, 0.1, 1e300, -1e-300, 5e-324, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];

/// The bits of a float; all NaNs are equal.
fn bits(datum: &Datum) -> u64 {
    let x = datum.to_array().iter().next().map_or(0.0, |s| s.to_f64());
    if x.is_nan() { u64::MAX } else { x.to_bits() }
}

proptest! {
    #[test]
    fn chains_are_taken_in_and_exact(
        dtype in select(vec![DType::F64, DType::F32]),
        reduction in select(vec!["sum", "prod", "max", "min"]),
        chain in prop::collection::vec((select(vec!["add", "sub", "mul", "div", "maximum", "sqrt", "neg"]), 0..5usize), 1..8),
        x in prop::collection::vec(select(NUMBERS.to_vec()), 1..5),
        scalars in [select(NUMBERS.to_vec()), select(NUMBERS.to_vec())],
    ) {
        let of = dtype.name();
        let mut body = format!("  %0 = {reduction} %x\n");
        for (n, (op, shape)) in chain.iter().enumerate() {
            let operands = match (*op, shape) {
                ("sqrt" | "neg", _) => format!("%{n}"),
                (_, 0) => format!("%{n}, %c"),
                (_, 1) => format!("%d, %{n}"),
                (_, 2) => format!("%{n}, %{n}"),
                (_, 3) => format!("%{n}, 2.5"),
                _ => format!("0.75, %{n}"),
            };
            body += &format!("  %{} = {op} {operands}\n", n + 1);
        }
        let text = format!("func @f(%x: {of}[n], %c: {of}, %d: {of}) -> {of} {{\nentry:\n{body}  ret %{}\n}}", chain.len());
        let plain = parse(&text);
        let mut module = plain.clone();
        run("scalar-finish, dce", &mut module);
        let printed = print_module(&module);
        // The node, the `item` of its result, and the terminator.
        let optimized = module.functions().next().unwrap();
        prop_assert_eq!(optimized.inst_count(), 3, "{}", printed);
        let scalar = |x: f64| Scalar::F64(x).cast(dtype);
        let numbers = Array::from_fn(dtype, &[x.len()], |n| scalar(x[n])).unwrap();
        let args = || vec![Datum::Array(numbers.clone()), scalar(scalars[0]).into(), scalar(scalars[1]).into()];
        let [before, after] = [plain.functions().next().unwrap(), optimized]
            .map(|func| evaluate_function(func, args(), Limits::default()).map(|outcome| bits(&outcome.results[0])));
        prop_assert_eq!(before.unwrap(), after.unwrap(), "{}{}", text, printed);
    }
}
