//! Functions of complex numbers that kernels compute in instructions give the bits of their reference meaning.

use rewright_ir::text::parse_module;
use rewright_ir::{Array, Complex64, DType, Datum, Scalar};
use rewright_lowering::exec::{Arg, Backend, Executable, Options};

/// Numbers of all magnitudes, and special ones.
fn part(random: &mut fastrand::Rng) -> f64 {
    let special =
        [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 709.0, -709.5, 710.3, 1419.0, 1e-310, 1e-41, 0.5];
    match random.u32(0..8) {
        0 => special[random.usize(0..special.len())],
        1 | 2 => (random.f64() - 0.5) * 10f64.powi(random.i32(-12..4)),
        3 => (random.f64() - 0.5) * 3000.0,
        4 => f64::from_bits(random.u64(..)),
        5 => f64::MIN_POSITIVE * (random.f64() - 0.5),
        _ => random.f64() * 20.0 - 10.0,
    }
}

/// Those of both parts; NaNs are one.
fn bits(number: Option<Scalar>) -> Option<[u64; 2]> {
    let part = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
    number.map(|z| [part(z.to_c128().re), part(z.to_c128().im)])
}

/// Elementary functions, and powers: some that are products, and others.
const FUNCTIONS: &str =
    "sign exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh";
const EXPONENTS: [&str; 6] = ["2", "3", "-1", "-7", "15", "2.5"];

#[test]
fn kernels_compute_the_reference_meaning() {
    let mut random = fastrand::Rng::with_seed(11);
    let functions = FUNCTIONS.split(' ').map(|name| format!("{name} %z"));
    let powers = EXPONENTS.iter().flat_map(|n| ["power", "float_power"].map(|name| format!("{name} %z, {n}")));
    let of_itself = ["power %z, %z".to_string(), "float_power %z, %z".to_string()];
    let names: Vec<String> = functions.chain(powers).chain(of_itself).collect();
    for (dtype, name) in [DType::C128, DType::C64].into_iter().flat_map(|d| names.iter().map(move |n| (d, n))) {
        let of = dtype.name();
        // Its results are c128.
        if dtype == DType::C64 && name.starts_with("float_power") {
            continue;
        }
        let text = format!("func @f(%z: {of}[n]) -> {of}[n] {{\nentry:\n  %r = {name}\n  ret %r\n}}");
        let module = parse_module(&text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
        let compile = |backend| Executable::compile(&module, "f", Options { backend, ..Options::default() }).unwrap();
        let number = |random: &mut fastrand::Rng| Scalar::C128(Complex64::new(part(random), part(random))).cast(dtype);
        let numbers = Array::from_fn(dtype, &[5_003], |_| number(&mut random)).unwrap();
        let call = |f: &Executable| -> Array {
            f.call(&[Arg::from(&numbers)]).unwrap().iter().next().map(Datum::to_array).unwrap()
        };
        let want = call(&compile(Backend::Reference));
        for backend in [Backend::Interp, Backend::Cranelift, Backend::Auto] {
            let f = compile(backend);
            assert_eq!(f.remarks(), [], "{name} {of}");
            let found = call(&f);
            let differs = (0..5_003).find(|&n| bits(found.get(&[n])) != bits(want.get(&[n])));
            if let Some(n) = differs {
                let [z, found, want] = [&numbers, &found, &want].map(|array| array.get(&[n]));
                panic!("{name} {of} {backend:?} of {z:?}: {found:?}, not {want:?}");
            }
        }
    }
}
