//! Compares the elementwise ops with NumPy's results: the tables in `tests/oracle`, which the script beside
//! them writes.

mod bounds;
mod differences;
mod docs;
mod dtypes;
mod names;
mod table;

use bounds::{bound, distance};
use differences::DIFFERENCES;
use rewright_ir::op::eval_scalar;
use rewright_ir::{Arity, Attr, Attrs, DType, Eval, Op, registry};
use std::collections::{BTreeMap, BTreeSet};
use table::{Block, blocks};

/// The totals of one op's cases.
#[derive(Default)]
struct Tally {
    cases: usize,
    worst: BTreeMap<DType, (u64, String)>,
    failures: Vec<String>,
}

/// Checks one case; records the intended difference that it shows, if any.
fn check(block: &Block<'_>, case: &str, tally: &mut Tally, differ: &mut BTreeSet<usize>) {
    let (args, expected) = block.scalars(case);
    tally.cases += 1;
    let got = match eval_scalar(block.op, &args, &block.attrs) {
        Ok(got) => got,
        Err(e) => return tally.failures.push(format!("{} {args:?}: {e}", block.header)),
    };
    let dtypes: Vec<_> = got.iter().map(|g| g.dtype()).collect();
    if dtypes != block.outs {
        return tally.failures.push(format!("{}: result dtypes are {dtypes:?}", block.header));
    }
    for (&g, &e) in got.iter().zip(&expected) {
        let (most, unit) = bound(block.op, block.ins.iter().any(|d| d.is_complex()));
        let units = distance(&args, g, e, unit);
        let on_purpose = DIFFERENCES.iter().position(|d| d.ops.contains(&block.op.name) && (d.holds)(&args));
        if let (true, Some(difference)) = (units > most, on_purpose) {
            differ.insert(difference);
            continue;
        }
        let worst = tally.worst.entry(g.dtype()).or_default();
        if units > worst.0 {
            *worst = (units, format!("{args:?} gives {g}, expected {e}"));
        }
        if units > most {
            tally.failures.push(format!("{} {args:?}: got {g}, expected {e} ({units} {unit:?})", block.header));
        }
    }
}

#[test]
fn elementwise_ops_equal_numpy() {
    let text = table::text("elementwise.txt") + &table::text("rounding.txt");
    let mut tallies: BTreeMap<&'static str, Tally> = BTreeMap::new();
    let mut differ = BTreeSet::new();
    for block in &blocks(&text) {
        let tally = tallies.entry(block.op.name).or_default();
        for case in &block.cases {
            check(block, case, tally, &mut differ);
        }
    }
    let mut failures = 0;
    for (name, tally) in &tallies {
        for (dtype, (units, case)) in &tally.worst {
            if *units > 0 {
                println!("{name} at {dtype}: {units} of {} cases; {case}", tally.cases);
            }
        }
        for failure in tally.failures.iter().take(8) {
            eprintln!("{failure}");
        }
        failures += tally.failures.len();
    }
    assert_eq!(failures, 0, "{failures} cases differ");
    for (i, difference) in DIFFERENCES.iter().enumerate() {
        assert!(differ.contains(&i), "no case shows that {:?} differ: {}", difference.ops, difference.why);
    }
}

/// Every tuple of `count` dtypes.
fn tuples(count: usize) -> Vec<Vec<DType>> {
    (0..count).fold(vec![Vec::new()], |tuples, _| {
        let longer = |t: &Vec<DType>| DType::ALL.map(|d| [t.as_slice(), &[d]].concat());
        tuples.iter().flat_map(longer).collect()
    })
}

/// The core's elementwise ops.
fn elementwise() -> impl Iterator<Item = Op> {
    let core = registry().ops().filter(|(_, origin)| origin.krate == "rewright-ir" && origin.file.contains("src/ops/"));
    core.map(|(op, _)| op).filter(|op| op.is_elementwise())
}

fn arity(op: Op) -> usize {
    let Arity::Exactly(arity) = op.arity else { panic!("`{op}` takes any number of operands") };
    arity
}

#[test]
fn every_loop_of_every_op_has_cases() {
    let text = table::text("elementwise.txt");
    let blocks = blocks(&text);
    for op in elementwise() {
        let Eval::Elementwise { resolve, .. } = op.eval else { unreachable!("filtered") };
        let mine: Vec<_> = blocks.iter().filter(|b| b.op == op).collect();
        let targets = if op.name == "cast" { DType::ALL.to_vec() } else { vec![DType::F64] };
        for to in targets {
            let attrs = Attrs::new().with("to", Attr::DType(to)).with("n", Attr::Int(3));
            let loops: BTreeSet<_> =
                tuples(arity(op)).iter().filter_map(|t| resolve(t, &attrs).ok()).map(|found| found.ins).collect();
            for ins in loops {
                let with = mine.iter().find(|b| {
                    b.ins.as_slice() == ins.as_slice() && (op.name != "cast" || b.attrs.dtype("to") == Some(to))
                });
                let cases = with.map_or(0, |b| b.cases.len());
                assert!(cases >= 2, "`{op}` at {ins:?} has {cases} cases");
            }
        }
    }
}
