//! The time of the optimizer and the verifier grows linearly with the function, whatever its shape, and
//! nothing recurses.

use cpu_time::ThreadTime;
use rewright_ir::{
    Arg, Attr, Attrs, DType, Dim, FuncBuilder, Function, Loc, Module, Name, Target, Type, Value, registry,
    verify_function,
};
use rewright_rewrites::{NoObserver, Options, Pipeline};
use std::time::Duration;

/// The smallest size, and the largest ones of a normal run and of the sweep.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// The largest ratio of time per op at the largest size to that at the smallest. It allows for caches and
/// noise, but rejects growth beyond the power of 1.6 in a normal run, and of 1.3 in the sweep.
const SLACK: f64 = 4.0;

fn vector() -> Type {
    Type::array(DType::F64, vec![Dim::from("n")])
}

/// `n` ops in a row.
fn chain(b: &mut FuncBuilder<'_>, n: usize) -> Vec<Value> {
    let mut last = b.param(0);
    for i in 0..n {
        let op = ["add", "mul", "sub"][i % 3];
        last = b.op(op, [Arg::from(last), Arg::from(1.5 + (i % 7) as f64)]).expect("floats");
    }
    vec![last]
}

/// `n` ops, each of the two before: every intermediate is shared.
fn ladder(b: &mut FuncBuilder<'_>, n: usize) -> Vec<Value> {
    let (mut x, mut y) = (b.param(0), b.param(1));
    for i in 0..n {
        let op = ["add", "mul", "maximum"][i % 3];
        (x, y) = (y, b.op(op, [x, y]).expect("floats"));
    }
    vec![x, y]
}

/// `n` ops that all read one value, summed by a reduction every so often, which cuts the chains.
fn fan(b: &mut FuncBuilder<'_>, n: usize) -> Vec<Value> {
    let root = b.param(0);
    let mut total = b.op("sum", [root]).expect("floats");
    let mut last = root;
    for i in 0..n {
        last = b.op("add", [root, last]).expect("floats");
        if i % 50 == 49 {
            let s = b.op("sum", [last]).expect("floats");
            total = b.op("add", [total, s]).expect("floats");
        }
    }
    vec![last, total]
}

/// `n` times the same op: all but one are redundant.
fn redundant(b: &mut FuncBuilder<'_>, n: usize) -> Vec<Value> {
    let (x, y) = (b.param(0), b.param(1));
    let mut last = x;
    for _ in 0..n / 2 {
        let same = b.op("mul", [x, y]).expect("floats");
        last = b.op("add", [last, same]).expect("floats");
    }
    vec![last]
}

/// `n` ops, every third one a reduction whose total is returned: the `ret` has as many operands.
fn totals(b: &mut FuncBuilder<'_>, n: usize) -> Vec<Value> {
    let of = |b: &mut FuncBuilder<'_>, i: usize| {
        let moved = b.op("add", [Arg::from(b.param(0)), Arg::from(i as f64 + 0.5)]).expect("floats");
        let scaled = b.op("mul", [Arg::from(moved), Arg::from(1.5)]).expect("floats");
        b.op("sum", [scaled]).expect("floats")
    };
    (0..n / 3).map(|i| of(b, i)).collect()
}

/// `n` ops of one value, every other one returned: its readers are fused, a few at a time.
fn answers(b: &mut FuncBuilder<'_>, n: usize) -> Vec<Value> {
    let of = |b: &mut FuncBuilder<'_>, i: usize| {
        let moved = b.op("add", [Arg::from(b.param(0)), Arg::from(i as f64 + 0.5)]).expect("floats");
        b.op("mul", [Arg::from(moved), Arg::from(1.5)]).expect("floats")
    };
    (0..n / 2).map(|i| of(b, i)).collect()
}

/// `n` ops: a chain of products, each of which is summed, and the totals are added up. One node has very
/// many results that are reduced.
fn moments(b: &mut FuncBuilder<'_>, n: usize) -> Vec<Value> {
    groups_of(b, n / 3, usize::MAX)
}

/// The same in chains of a few: nodes that read one array, each of them with several results that are
/// reduced.
fn groups(b: &mut FuncBuilder<'_>, n: usize) -> Vec<Value> {
    groups_of(b, n / 3, 12)
}

fn groups_of(b: &mut FuncBuilder<'_>, n: usize, length: usize) -> Vec<Value> {
    let (mut last, mut total) = (b.param(0), None);
    for i in 0..n {
        let from = if i % length == 0 { b.param(0) } else { last };
        last = b.op("mul", [Arg::from(from), Arg::from((i % 7) as f64 + 1.5)]).expect("floats");
        let sum = b.op("sum", [last]).expect("floats");
        total = Some(total.map_or(sum, |before| b.op("add", [before, sum]).expect("floats")));
    }
    total.into_iter().collect()
}

/// `n` ops: products of one matrix, summed along rows, and the sums added up. The additions read very many
/// values.
fn rows(b: &mut FuncBuilder<'_>, n: usize) -> Vec<Value> {
    let mut total = None;
    for i in 0..n / 3 {
        let scaled = b.op("mul", [Arg::from(b.param(2)), Arg::from(i as f64 + 0.5)]).expect("floats");
        let sum = b.op_with("sum", [scaled], Attrs::new().with("axes", Attr::Ints(vec![1].into()))).expect("floats");
        total = Some(total.map_or(sum, |before| b.op("add", [before, sum]).expect("floats")));
    }
    total.into_iter().collect()
}

/// `n` ops: half of them one node, of which two reductions stay apart, that all others read.
fn readers(b: &mut FuncBuilder<'_>, n: usize) -> Vec<Value> {
    let mut last = b.param(2);
    for i in 0..n / 2 {
        last = b.op("mul", [Arg::from(last), Arg::from((i % 7) as f64 + 1.5)]).expect("floats");
    }
    let along = || Attrs::new().with("axes", Attr::Ints(vec![1].into()));
    let (sum, product) = (b.op_with("sum", [last], along()), b.op_with("prod", [last], along()));
    let (sum, product) = (sum.expect("floats"), product.expect("floats"));
    let of = |b: &mut FuncBuilder<'_>, i: usize| {
        let scaled = b.op("mul", [Arg::from(sum), Arg::from(i as f64 + 0.5)]).expect("floats");
        b.op("add", [scaled, product]).expect("floats")
    };
    (0..n / 4).map(|i| of(b, i)).collect()
}

/// Builds a function of the given number of ops, and returns its results.
type Shape = fn(&mut FuncBuilder<'_>, usize) -> Vec<Value>;

fn optimize(shape: Shape, n: usize) -> Duration {
    let matrix = Type::array(DType::F64, vec![Dim::from("n"), Dim::from("m")]);
    let mut b = FuncBuilder::new("f", &[("x", vector()), ("y", vector()), ("z", matrix)], Vec::new());
    let results = shape(&mut b, n);
    let types = results.iter().map(|&v| b.func().ty(v).clone()).collect();
    b.ret(results).expect("results");
    let mut func = b.finish();
    func.results = types;
    let mut module = Module::new();
    module.insert(func);
    let pipeline = Pipeline::parse("default").expect("the default pipeline");
    let began = ThreadTime::now();
    pipeline.run(&mut module, &Options::default(), &mut NoObserver).expect("it ends");
    let time = began.elapsed();
    let left = module.get(Name::new("f")).map_or(0, |f| f.inst_count());
    assert!(left < n.max(100), "nothing was fused: {left} instructions of {n} are left");
    time
}

#[test]
fn time_an_op_stays_the_same_from_a_thousand_ops_to_ten_thousand() {
    time_an_op_stays_the_same(SIZES[1]);
}

#[test]
#[ignore = "a sweep: functions of a hundred thousand ops"]
fn time_an_op_stays_the_same_from_a_thousand_ops_to_a_hundred_thousand() {
    time_an_op_stays_the_same(SIZES[2]);
}

/// Compares the times of functions of a thousand ops with those of functions of `largest` ops.
fn time_an_op_stays_the_same(largest: usize) {
    let shapes: [(&str, Shape); 10] = [
        ("totals", totals),
        ("answers", answers),
        ("chain", chain),
        ("ladder", ladder),
        ("fan", fan),
        ("redundant", redundant),
        ("moments", moments),
        ("groups", groups),
        ("rows", rows),
        ("readers", readers),
    ];
    for (name, shape) in shapes {
        let measure = |n: usize| optimize(shape, n).as_secs_f64() * 1e9 / n as f64;
        // The best of three: other work on the machine only adds.
        let small = (0..3).map(|_| measure(SIZES[0])).fold(f64::INFINITY, f64::min);
        // The largest takes long: it is measured again only where it is over the bound.
        let mut large = measure(largest);
        for _ in 0..2 {
            if large >= SLACK * small {
                large = large.min(measure(largest));
            }
        }
        println!("{name}: {small:.0} and {large:.0} ns an op at {} and {largest} ops", SIZES[0]);
        assert!(large < SLACK * small, "{name} grows faster than linearly: {small:.0} and {large:.0} ns an op");
    }
}

/// `n` blocks without names, each of which jumps to the next one. If `broken`, the jumps have an argument
/// too many, so each is an error that names a block.
fn blocks(n: usize, broken: bool) -> Function {
    let mut func = FuncBuilder::new("f", &[("x", Type::scalar(DType::F64))], Vec::new()).finish();
    let x = func.params()[0];
    let [jump, ret] = ["jump", "ret"].map(|op| registry().op(op).expect("a known op"));
    let mut last = func.entry().expect("a block");
    for _ in 0..n {
        let block = func.create_block(None);
        let target = Target { block, args: broken.then_some(x).into_iter().collect() };
        let inst = func.create_inst(jump, [], Attrs::new(), [target], Default::default(), Loc::default());
        func.append(last, inst);
        last = block;
    }
    let end = func.create_inst(ret, [], Attrs::new(), [], Default::default(), Loc::default());
    func.append(last, end);
    func
}

#[test]
fn verification_of_many_unnamed_blocks_takes_linear_time() {
    for broken in [false, true] {
        let measure = |n: usize| {
            let func = blocks(n, broken);
            let began = ThreadTime::now();
            let errors = verify_function(&func, None).err().map_or(0, |errors| errors.0.len());
            assert_eq!(errors, if broken { n } else { 0 });
            began.elapsed().as_secs_f64() * 1e9 / n as f64
        };
        let best = |n: usize| (0..3).map(|_| measure(n)).fold(f64::INFINITY, f64::min);
        let (small, large) = (best(SIZES[0]), best(SIZES[2]));
        println!("broken: {broken}: {small:.0}, {large:.0} ns a block");
        assert!(large < SLACK * small, "verification grows faster than linearly: {small:.0}, {large:.0} ns a block");
    }
}
