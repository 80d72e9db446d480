//! Several reductions of one array: one pass where it is possible, and the same bits.

use crate::{parse, run};
use proptest::prelude::*;
use proptest::sample::select;
use rewright_ir::{Array, DType, Datum, Limits, Scalar, evaluate_function, print_module};

const NUMBERS: [f64; 10] = [0.0, -0.0, 1.0, -1.5, 200.0, 0.1, 1e30, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];

/// A result as text in which all NaNs are equal, and zeros have their signs.
fn shown(datum: &Datum) -> String {
    format!("{} {:?}", datum.ty(), datum.to_array().iter().map(|x| x.to_string()).collect::<Vec<_>>())
}

proptest! {
    #[test]
    fn passes_are_joined_and_exact(
        dtype in select(vec![DType::F64, DType::F32, DType::U8, DType::I32, DType::Bool]),
        steps in prop::collection::vec(
            (select(vec!["sum", "max", "min", "any", "all", "prod", "argmax", "argmin"]), 0..3usize, 0..3usize),
            2..7,
        ),
        (alike, is_simple) in any::<(bool, bool)>(),
        (n, m) in (0..4usize, 1..20usize),
        numbers in prop::collection::vec(select(NUMBERS.to_vec()), 60),
    ) {
        let (of, mut body, mut results, mut types) = (dtype.name(), String::new(), Vec::new(), Vec::new());
        let axes_of_first = steps[0].2;
        let simple = |number: usize| (["max", "any", "min", "all"][number % 4], 0, steps[number].2);
        let steps: Vec<_> = if is_simple { (0..steps.len()).map(simple).collect() } else { steps.clone() };
        for (number, (op, before, axes)) in steps.iter().enumerate() {
            // No kernel computes positions along several axes.
            let axes = if alike { axes_of_first } else { *axes };
            let axes = if op.starts_with("arg") { axes.max(1) } else { axes };
            let value = match before {
                1 => {
                    body += &format!("  %t{number} = maximum %x, 1\n");
                    format!("%t{number}")
                }
                2 => {
                    body += &format!("  %t{number} = minimum %x, %x\n");
                    format!("%t{number}")
                }
                _ => "%x".to_string(),
            };
            let along = ["", ", axes=[0]", ", axes=[1]"][axes];
            body += &format!("  %r{number} = {op} {value}{along}\n");
            results.push(format!("%r{number}"));
            let sums = *op == "sum" || *op == "prod";
            let to = match () {
                () if op.starts_with("arg") => DType::I64,
                () if *op == "any" || *op == "all" => DType::Bool,
                () if sums && dtype.is_unsigned() => DType::U64,
                // `maximum` of a bool and 1 is an integer.
                () if dtype.is_bool() && *before == 1 => DType::I64,
                () if sums && (dtype.is_int() || dtype.is_bool()) => DType::I64,
                () => dtype,
            };
            types.push(format!("{}{}", to.name(), ["", "[m]", "[n]"][axes]));
        }
        let text = format!(
            "func @f(%x: {of}[n, m]) -> {} {{\nentry:\n{body}  ret {}\n}}",
            types.join(", "),
            results.join(", ")
        );
        let plain = parse(&text);
        let mut module = plain.clone();
        run("array-expr, reduce-fusion, reduce-siblings, dce", &mut module);
        let printed = print_module(&module);
        let optimized = module.functions().next().unwrap();
        let passes = printed.lines().filter(|line| line.contains("%x") && line.contains(" = ")).count();
        if alike && is_simple && steps.len() <= 4 {
            prop_assert_eq!(passes, 1, "{}", printed);
        }
        let x = Array::from_fn(dtype, &[n, m], |i| Scalar::F64(numbers[i % numbers.len()]).cast(dtype)).unwrap();
        let [before, after] = [plain.functions().next().unwrap(), optimized].map(|func| {
            let outcome = evaluate_function(func, vec![Datum::Array(x.clone())], Limits::default());
            outcome.map(|outcome| outcome.results.iter().map(shown).collect::<Vec<_>>()).map_err(|e| e.kind)
        });
        prop_assert_eq!(before, after, "{}\n{}", text, printed);
    }
}
