//! Bodies that read indices, in expressions of which an operand lies across and is read in tiles: each tile begins somewhere else.

use rewright_ir::eval::evaluate;
use rewright_ir::text::parse_module;
use rewright_ir::{Array, DType, Limits, Scalar};
use rewright_lowering::exec::{Arg, Backend, Executable, Options};

/// Expressions over `x`, an n by m array of `i64`, and `y`, an m by n one.
const EXPRESSIONS: [&str; 7] = [
    // The axis that is combined along is not the last one.
    "[i: reduce n, j: m] (x = %x[i, j], y = %y[j, i]) { t0 = mul x, i\n t1 = add t0, y\n yield t1 } reduce (sum i64) into ([j]) : i64[m]",
    "[i: reduce n, j: m] (x = %x[i, j], y = %y[j, i]) { t0 = le i, j\n t1 = where t0, x, y\n yield t1 } reduce (sum i64) into ([j]) : i64[m]",
    "[i: reduce n, j: m] (x = %x[i, j], y = %y[j, i]) { t0 = sub x, i\n t1 = add t0, y\n yield t1 } reduce (max i64) init first into ([j]) : i64[m]",
    // Both are.
    "[i: reduce n, j: reduce m] (x = %x[i, j], y = %y[j, i]) { t0 = mul x, i\n t1 = mul y, j\n t2 = add t0, t1\n yield t2 } reduce (sum i64) : i64[]",
    "[i: reduce n, j: reduce m] (x = %x[i, j]) { t0 = mul x, i\n t1 = mul t0, j\n yield t1 } reduce (sum i64) : i64[]",
    // Rows, and none.
    "[i: n, j: reduce m] (x = %x[i, j], y = %y[j, i]) { t0 = mul x, j\n t1 = mul y, i\n t2 = add t0, t1\n yield t2 } reduce (sum i64) into ([i]) : i64[n]",
    "[i: n, j: m] (x = %x[i, j], y = %y[j, i]) { t0 = mul x, j\n t1 = mul y, i\n t2 = add t0, t1\n yield t2 } : i64[n, m]",
];

#[test]
fn indices_count_from_the_beginning_of_the_axis() {
    for expression in EXPRESSIONS {
        let text = expression.replace('{', "{\n   ").replace('}', "\n}");
        let result = expression.rsplit(" : ").next().unwrap();
        let text = format!(
            "func @f(%x: i64[n, m], %y: i64[m, n]) -> {result} {{\nentry:\n  %r = arrayexpr {text}\n  ret %r\n}}"
        );
        let module = parse_module(&text, "test").unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)));
        for shape in [[3, 5], [64, 65], [65, 64], [70, 70], [130, 300], [300, 130]] {
            let count = |shape: [usize; 2]| {
                Array::from_fn(DType::I64, &shape, |i| Scalar::I64((i * 37 % 101) as i64 - 50)).unwrap()
            };
            let (x, y) = (count(shape), count([shape[1], shape[0]]));
            let wanted = evaluate(&module, "f", vec![x.clone().into(), y.clone().into()], Limits::default()).unwrap();
            for (backend, threads) in Backend::available().flat_map(|backend| [(backend, 1), (backend, 2)]) {
                let f = Executable::compile(
                    &module,
                    "f",
                    Options { backend, threads: std::num::NonZero::new(threads), ..Options::default() },
                )
                .unwrap();
                let found = f.call(&[Arg::Array(&x), Arg::Array(&y)]).unwrap();
                assert_eq!(found.iter().next(), wanted.results.first(), "{backend:?} {threads} {shape:?}\n{text}");
            }
        }
    }
}
