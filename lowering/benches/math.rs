//! What functions of floats cost: nanoseconds an element, of arrays that fit into the nearest caches.

use ndarray::Array1;
use rewright_ir::text::parse_module;
use rewright_lowering::exec::{Executable, Options};
use std::hint::black_box;
use std::time::Instant;

const N: usize = 4096;
const ROUNDS: usize = 60;

/// Functions of one argument, and where arguments are taken from.
const FUNCTIONS: &[(&str, f64, f64)] = &[
    ("sqrt", 0.0, 10.0),
    ("exp", -10.0, 10.0),
    ("exp2", -10.0, 10.0),
    ("expm1", -2.0, 2.0),
    ("log", 0.0, 10.0),
    ("log2", 0.0, 10.0),
    ("log10", 0.0, 10.0),
    ("log1p", -0.5, 2.0),
    ("sin", -10.0, 10.0),
    ("cos", -10.0, 10.0),
    ("tan", -10.0, 10.0),
    ("asin", -1.0, 1.0),
    ("acos", -1.0, 1.0),
    ("atan", -10.0, 10.0),
    ("sinh", -5.0, 5.0),
    ("cosh", -5.0, 5.0),
    ("tanh", -5.0, 5.0),
    ("asinh", -10.0, 10.0),
    ("acosh", 1.0, 10.0),
    ("atanh", -1.0, 1.0),
    ("cbrt", -10.0, 10.0),
    ("erf", -3.0, 3.0),
    ("erfc", -3.0, 3.0),
    ("lgamma", 0.1, 10.0),
    ("logistic", -10.0, 10.0),
];

fn compile(op: &str, dtype: &str) -> Executable {
    let text = format!("func @f(%x: {dtype}[n]) -> {dtype}[n] {{\nentry:\n  %0 = {op} %x\n  ret %0\n}}\n");
    let module = parse_module(&text, op).unwrap_or_else(|e| panic!("{}", e.render(false)));
    Executable::compile(&module, "f", Options::default()).unwrap()
}

macro_rules! time {
    ($float:ident, $op:expr, $least:expr, $most:expr) => {{
        let f = compile($op, stringify!($float));
        let step = ($most - $least) / N as f64;
        // A stride prime to N, so that neighbours are far apart.
        let x = Array1::from_iter((0..N).map(|i| ($least + (i * 1031 % N) as f64 * step) as $float));
        let mut out = Array1::<$float>::zeros(N);
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            for _ in 0..8 {
                f.call_into(black_box(&[(&x).into()]), &mut [(&mut out).into()]).unwrap();
            }
            best = best.min(start.elapsed().as_secs_f64() / (8 * N) as f64);
        }
        best * 1e9
    }};
}

fn main() {
    println!("{:10} {:>8} {:>8}", "ns/element", "f64", "f32");
    for &(op, least, most) in FUNCTIONS {
        println!("{op:10} {:8.2} {:8.2}", time!(f64, op, least, most), time!(f32, op, least, most));
    }
}
