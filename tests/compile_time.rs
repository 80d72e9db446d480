//! Compiling is linear in the body of a fused loop, from optimizing to machine code.

use cpu_time::ThreadTime;
use rewright::Executable;
use rewright::lowering::Options as Compiling;
use rewright_ir::{Arg, DType, Dim, FuncBuilder, Module, Name, Type};
use rewright_rewrites::{NoObserver, Options, Pipeline};
use std::time::Duration;

const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];

/// The largest ratio of time per op at the largest size to that at a hundredth of it; allows for caches and
/// noise.
const SLACK: f64 = 4.0;
/// The most microseconds per op for bodies of 100 ops and more: several times the measurement on a quiet
/// machine.
const MOST: f64 = 400.0;

/// One loop with a dependence chain of `n` ops, taken in turn from a list.
fn body(ops: &[&str], n: usize) -> Module {
    let vector = Type::array(DType::F64, vec![Dim::from("n")]);
    let mut b = FuncBuilder::new("f", &[("x", vector.clone())], Vec::new());
    let first = b.param(0);
    let mut last = first;
    for op in ops.iter().cycle().take(n) {
        last = match *op {
            "add" | "sub" | "mul" => b.op(op, [Arg::from(last), Arg::from(1.5)]),
            "maximum" => b.op(op, [last, first]),
            _ => b.op(op, [last]),
        }
        .expect("floats");
    }
    b.ret([last]).expect("results");
    let mut func = b.finish();
    func.results = vec![vector];
    let mut module = Module::new();
    module.insert(func);
    module
}

fn compile(ops: &[&str], n: usize) -> Duration {
    let mut module = body(ops, n);
    let pipeline = Pipeline::parse("default").expect("the default pipeline");
    let began = ThreadTime::now();
    pipeline.run(&mut module, &Options::default(), &mut NoObserver).expect("it ends");
    let f = Executable::compile(&module, "f", Compiling::default()).expect("it compiles");
    let time = began.elapsed();
    drop(f);
    assert_eq!(
        module.get(Name::new("f")).map(|func| func.inst_count()),
        Some(2),
        "{n} ops are one loop and the `ret` of its result"
    );
    time
}

#[test]
fn time_an_op_stays_the_same_from_ten_ops_to_ten_thousand() {
    let mixes: [(&str, &[&str]); 3] = [
        ("arithmetic", &["add", "mul", "sub", "maximum"]),
        ("mixed", &["mul", "add", "exp", "neg", "sqrt", "sub", "abs"]),
        ("functions", &["sin", "exp", "log", "tanh"]),
    ];
    for (name, ops) in mixes {
        let per_op = SIZES.map(|n| {
            // The best of some, for other work on the machine only adds: of more where one is short, and
            // the first ones also fill the caches.
            let best = (0..(1_000 / n).clamp(3, 30)).map(|_| compile(ops, n)).min().unwrap_or_default();
            best.as_secs_f64() * 1e6 / n as f64
        });
        println!("{name}: {per_op:.1?} us an op at {SIZES:?} ops");
        assert!(per_op[3] < SLACK * per_op[1], "{name} grows faster than linearly: {per_op:?} us an op");
        assert!(per_op[1..].iter().all(|&time| time < MOST), "{name}: {per_op:?} us an op");
    }
}
