//! Functions that work on the bits of floats, compared with those of libm for whole ranges of exponents, by every code generator.

use crate::support::every::Every;
use ndarray::Array1;
use rewright_ir::text::parse_module;
use rewright_ir::{DType, Datum};
use rewright_lowering::exec::{Arg, Backend, Executable, Options};

/// By each code generator.
fn compiled(op: &str, params: &[DType], result: DType) -> Vec<Executable> {
    let names = ["%x", "%y"];
    let list: Vec<String> = names.iter().zip(params).map(|(name, dtype)| format!("{name}: {dtype}[n]")).collect();
    let args = names[..params.len()].join(", ");
    let text = format!("func @f({}) -> {result}[n] {{\nentry:\n  %0 = {op} {args}\n  ret %0\n}}", list.join(", "));
    let module = parse_module(&text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let backends = Backend::available().filter(|backend| *backend != Backend::Reference);
    let compile = |backend| Executable::compile(&module, "f", Options { backend, ..Options::default() }).unwrap();
    let all: Vec<Executable> = backends.map(compile).collect();
    assert!(all.iter().all(|f| f.remarks().is_empty()), "no function is called for an element");
    all
}

macro_rules! widths {
    ($($name:ident: $float:ident, $dtype:ident, $ldexp:path, $next:path;)*) => {$(
        mod $name {
            use super::*;

            fn agree(op: &str, by: &[Executable], args: &[Arg<'_>], wanted: impl Fn(usize) -> $float) {
                for f in by {
                    let results = f.call(args).unwrap();
                    let Datum::Array(found) = &results[0] else { panic!("an array") };
                    let found: &ndarray::ArcArray<$float, _> = rewright_ir::Element::unwrap(found).unwrap();
                    for (n, &found) in found.iter().enumerate() {
                        let wanted = wanted(n);
                        let same = found.to_bits() == wanted.to_bits() || (found.is_nan() && wanted.is_nan());
                        assert!(same, "{op}, {n}: {found:e}, wanted {wanted:e}");
                    }
                }
            }

            /// Zeros, the ends of all ranges and the numbers beside them, and numbers of all magnitudes.
            fn numbers(some: usize) -> Vec<$float> {
                let mut random = fastrand::Rng::with_seed(7);
                let ends = [0.0, $float::from_bits(1), $float::from_bits(2), $float::MIN_POSITIVE, 0.75, 1.0, 1.5, $float::MAX, $float::INFINITY, $float::NAN];
                let beside = ends.iter().flat_map(|&x| [x, $next(x, 9.0), $next(x, 0.0)]);
                let some = (0..some).map(|_| $float::from_bits(random.u64(..) as _));
                beside.chain(some).flat_map(|x| [x, -x]).collect()
            }

            #[test]
            fn ldexp_rounds_once() {
                for dtype in [DType::I32, DType::I64] {
                    let by = compiled("ldexp", &[DType::$dtype, dtype], DType::$dtype);
                    for x in numbers(12) {
                        let exponents: Vec<i64> = (-2300..2300).chain([i64::from(i32::MIN), i64::from(i32::MAX)]).collect();
                        let x_array = Array1::from_elem(exponents.len(), x);
                        let narrow: Array1<i32> = exponents.iter().map(|&n| n as i32).collect();
                        let wide: Array1<i64> = exponents.iter().copied().collect();
                        let exponent: Arg<'_> = if dtype == DType::I32 { narrow.view().into() } else { wide.view().into() };
                        agree("ldexp", &by, &[x_array.view().into(), exponent], |n| {
                            $ldexp(x, exponents[n].clamp(-5000, 5000) as i32)
                        });
                    }
                }
            }

            #[test]
            fn neighbours_are_next_to_each_other() {
                let numbers = numbers(400);
                let all: Vec<($float, $float)> = numbers.iter().flat_map(|&x| numbers.iter().map(move |&y| (x, y))).collect();
                let (x, y): (Array1<$float>, Array1<$float>) = (all.iter().map(|p| p.0).collect(), all.iter().map(|p| p.1).collect());
                let by = compiled("nextafter", &[DType::$dtype; 2], DType::$dtype);
                agree("nextafter", &by, &[x.view().into(), y.view().into()], |n| $next(all[n].0, all[n].1));
                let by = compiled("spacing", &[DType::$dtype], DType::$dtype);
                agree("spacing", &by, &[x.view().into()], |n| match x[n] {
                    x if x == 0.0 => $float::from_bits(1),
                    x if x.is_finite() => $next(x, $float::INFINITY.copysign(x)) - x,
                    _ => $float::NAN,
                });
            }
        }
    )*};
}

widths! {
    double: f64, F64, libm::ldexp, libm::nextafter;
    single: f32, F32, libm::ldexpf, libm::nextafterf;
}

#[test]
fn quotients_by_powers_of_two_have_the_bits_of_a_division() {
    let powers = [2f64.powi(1022), 2f64.powi(-1022), 2f64.powi(1023), f64::from_bits(1), 4.0, -0.5, 3.0];
    let numbers = [1.0, -0.0, f64::MIN_POSITIVE, 5e-324, f64::MAX, f64::INFINITY, f64::NAN, -1.7e-300, 1e308];
    let x = Array1::from_vec(numbers.to_vec());
    for power in powers {
        let text = format!(
            "func @f(%x: f64[n]) -> f64[n] {{\nentry:\n  %0 = arrayexpr [i: n] (x = %x[i]) {{\n    t0 = div x, {power:?}\n    yield t0\n  }} : f64[n]\n  ret %0\n}}"
        );
        for result in Every::new(&text).call(&[Arg::from(&x)]) {
            let bits = |x: f64| if x.is_nan() { 0 } else { x.to_bits() };
            let Datum::Array(rewright_ir::Array::F64(result)) = result else { panic!("an array") };
            let found: Vec<u64> = result.iter().copied().map(bits).collect();
            let expected: Vec<u64> = numbers.iter().map(|x| bits(x / power)).collect();
            assert_eq!(found, expected, "{power:e}");
        }
    }
}
