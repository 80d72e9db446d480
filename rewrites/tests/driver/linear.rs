//! Compile time grows linearly with the size of the function. The tests count how often rewrites are tried,
//! which is the same on every machine. Functions of 50,000 instructions take seconds, where quadratic time
//! would take hours.

use crate::common::{module, run_module};
use pretty_assertions::assert_eq;
use rewright_ir::{Arg, DType, FuncBuilder, Function, Module, Type, Value};

const SIZES: [usize; 2] = [5_000, 50_000];

fn function(build: impl FnOnce(&mut FuncBuilder<'_>, Value) -> Value) -> Function {
    let scalar = Type::scalar(DType::F64);
    let mut b = FuncBuilder::new("f", &[("x", scalar.clone())], vec![scalar]);
    let x = b.param(0);
    let last = build(&mut b, x);
    b.ret([last]).unwrap();
    b.finish()
}

/// The number of tries for each instruction, with the expected number of applications, for both sizes.
fn asked(pipeline: &str, applied: impl Fn(usize) -> u64, build: impl Fn(usize) -> Function) {
    let questions = SIZES.map(|n| {
        let mut module = Module::new();
        module.insert(build(n));
        let begun = std::time::Instant::now();
        let report = run_module(&mut module, pipeline);
        if std::env::var_os("REWRIGHT_TIMES").is_some() {
            eprintln!("{pipeline} on {n}: {:?}", begun.elapsed());
        }
        assert_eq!(report.applications(), applied(n));
        report.stats.iter().map(|s| s.asked).sum::<u64>() as f64 / n as f64
    });
    assert!(questions[1] < questions[0] * 1.1 + 0.1, "{questions:?}");
}

fn op(b: &mut FuncBuilder<'_>, name: &str, args: impl IntoIterator<Item = impl Into<Arg>>) -> Value {
    b.op(name, args).unwrap()
}

#[test]
fn a_chain_that_vanishes() {
    asked("test-neg-neg, test-sweep", |n| n as u64, |n| function(|b, x| (0..n).fold(x, |v, _| op(b, "neg", [v]))));
}

#[test]
fn a_chain_where_each_op_is_replaced() {
    asked(
        "test-double, test-sweep",
        |n| n as u64,
        |n| function(|b, x| (0..n).fold(x, |v, _| op(b, "mul", [Arg::from(v), Arg::from(2.0)]))),
    );
}

#[test]
fn a_value_that_everything_uses() {
    asked(
        "test-double, test-sweep",
        |n| n as u64,
        |n| {
            function(|b, x| {
                let doubles: Vec<Value> = (0..n).map(|_| op(b, "mul", [Arg::from(x), Arg::from(2.0)])).collect();
                doubles.into_iter().fold(x, |sum, d| op(b, "sub", [sum, d]))
            })
        },
    );
}

#[test]
fn a_dag_of_shared_values() {
    asked(
        "test-double, test-neg-neg, test-sweep",
        |n| n as u64,
        |n| {
            function(|b, x| {
                let (mut v, mut w) = (x, x);
                for _ in 0..n {
                    let d = op(b, "mul", [Arg::from(v), Arg::from(2.0)]);
                    (v, w) = (op(b, "sub", [d, w]), v);
                }
                v
            })
        },
    );
}

#[test]
fn equal_ops_become_one() {
    asked(
        "test-share",
        |_| 1,
        |n| {
            function(|b, x| {
                let all: Vec<Value> = (0..n).map(|_| op(b, "sin", [x])).collect();
                all.into_iter().fold(x, |sum, d| op(b, "sub", [sum, d]))
            })
        },
    );
}

#[test]
fn many_ops_come_to_stand_at_one_place() {
    asked(
        "test-crowd",
        |_| 1,
        |n| {
            function(|b, x| {
                for _ in 0..n {
                    op(b, "cos", [x]);
                }
                x
            })
        },
    );
}

#[test]
fn many_blocks_each_with_a_change() {
    let blocks = |n: usize| {
        let mut text = String::from("func @f(%x: f64) -> f64 {\nentry:\n  jump b0(%x)\n");
        for i in 0..n {
            let next = i + 1;
            text += &format!("b{i}(%v{i}: f64):\n  %d{i} = mul %v{i}, 2.0\n  jump b{next}(%d{i})\n");
        }
        text += &format!("b{n}(%r: f64):\n  ret %r\n}}\n");
        module(&text).into_functions().next().unwrap()
    };
    asked("test-double, test-sweep, test-share", |n| n as u64, blocks);
}

#[test]
fn many_values_with_an_end() {
    let dels = |n: usize| {
        let mut text = String::from("func @f(%x: f64[n]) -> f64[n] {\nentry:\n  %v0 = neg %x\n");
        for i in 0..n {
            let next = i + 1;
            text += &format!("  %v{next} = mul %v{i}, 2.0\n  %w{i} = mul %x, 2.0\n  del %v{i}\n  del %w{i}\n");
        }
        text += &format!("  ret %v{n}\n}}\n");
        module(&text).into_functions().next().unwrap()
    };
    asked("test-double, test-sweep", |n| 2 * n as u64, dels);
}

/// The tries and applications of the default pipeline for each instruction do not grow.
fn by_default(build: impl Fn(usize) -> Function) {
    let work = SIZES.map(|n| {
        let mut module = Module::new();
        module.insert(build(n));
        let begun = std::time::Instant::now();
        let options = rewright_rewrites::Options { times: true, ..Default::default() };
        let report = crate::common::run_with(&mut module, "default", &options).unwrap();
        if std::env::var_os("REWRIGHT_TIMES").is_some() {
            let stats: Vec<_> = report.stats.iter().map(|s| (s.rewrite, s.asked, s.applied, s.time)).collect();
            eprintln!("default on {n}: {:?} {stats:?}", begun.elapsed());
        }
        let asked = report.stats.iter().map(|s| s.asked).sum::<u64>();
        (asked + report.applications()) as f64 / n as f64
    });
    assert!(work[1] < work[0] * 1.1 + 0.1, "{work:?}");
}

#[test]
fn chains_by_default() {
    by_default(|n| {
        function(|b, x| {
            (0..n).fold(x, |v, i| match i % 5 {
                0 => op(b, "mul", [Arg::from(v), Arg::from(1.0)]),
                1 => op(b, "neg", [v]),
                2 => op(b, "add", [Arg::from(v), Arg::from(x)]),
                3 => op(b, "sin", [v]),
                _ => op(b, "neg", [v]),
            })
        })
    });
}

#[test]
fn dags_by_default() {
    by_default(|n| {
        function(|b, x| {
            let (mut v, mut w) = (x, x);
            for i in 0..n / 4 {
                let twin = [op(b, "mul", [v, w]), op(b, "mul", [v, w])];
                let unused = op(b, "exp", [twin[i % 2]]);
                let next = op(b, "sub", twin);
                (v, w) = (op(b, "add", [next, v]), if i % 7 == 0 { unused } else { v });
            }
            v
        })
    });
}

#[test]
fn array_dags_by_default() {
    by_default(|n| {
        let mut text = String::from(
            "func @f(%x: f64[n], %y: f64[n, n]) -> (f64[n], f64[n, n]) {\nentry:\n  %v0 = neg %x\n  %w0 = neg %y\n",
        );
        for i in 0..n / 3 {
            let j = i + 1;
            text += &format!("  %v{j} = add %v{i}, %x\n  %w{j} = mul %w{i}, %v{i}\n  %u{j} = mul %w{i}, %v{i}\n");
        }
        text += &format!("  ret %v{0}, %w{0}\n}}\n", n / 3);
        module(&text).into_functions().next().unwrap()
    });
}
