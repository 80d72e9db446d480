//! Random changes of random functions: the verifier of whole functions accepts every change that the check
//! of an application accepts, and a rejected change is undone completely.

use crate::common::{Always, module, run_with, text};
use rewright_ir::{Module, Target, parse_module};
use rewright_rewrites::prelude::*;
use rewright_rewrites::{Options, RewriteError, Verify};
use std::fmt::Write;

/// A number below `n`.
fn below(n: usize) -> usize {
    fastrand::usize(..n.max(1))
}
fn pick<T: Copy>(list: &[T]) -> Option<T> {
    list.get(below(list.len())).copied()
}

/// The text of a function of some blocks. It may be invalid.
fn random_text() -> String {
    let blocks = 1 + below(5);
    let params: Vec<usize> = (0..blocks).map(|_| below(3)).collect();
    let mut text = String::from("func @f(%x: f64[n], %y: f64[n], %p: bool) -> f64[n] {\nentry:\n  %e = sin %x\n");
    let shared = ["%x", "%y", "%e"].map(String::from);
    let mut count = 0;
    for block in 0..=blocks {
        let mut values = shared.to_vec();
        if block > 0 {
            let own: Vec<String> = (0..params[block - 1]).map(|i| format!("%p{block}_{i}")).collect();
            let list: Vec<String> = own.iter().map(|p| format!("{p}: f64[n]")).collect();
            let list = if list.is_empty() { String::new() } else { format!("({})", list.join(", ")) };
            writeln!(text, "b{block}{list}:").unwrap();
            values.extend(own);
        }
        let value = |values: &[String]| values[below(values.len())].clone();
        for _ in 0..below(6) {
            count += 1;
            match below(8) {
                0 => writeln!(text, "  del {}", value(&values)).unwrap(),
                1 => writeln!(text, "  store {}, {}", value(&values), value(&values)).unwrap(),
                n => {
                    let (a, b) = (value(&values), value(&values));
                    let op = ["neg", "sin", "cos", "add", "sub", "mul"][n - 2];
                    let args = if n < 5 { a } else { format!("{a}, {b}") };
                    writeln!(text, "  %v{count} = {op} {args}").unwrap();
                    values.push(format!("%v{count}"));
                }
            }
        }
        let target = || {
            let to = 1 + below(blocks);
            let args: Vec<String> = (0..params[to - 1]).map(|_| value(&values)).collect();
            if args.is_empty() { format!("b{to}") } else { format!("b{to}({})", args.join(", ")) }
        };
        match below(3) {
            0 if block > 0 => writeln!(text, "  ret {}", value(&values)).unwrap(),
            1 => writeln!(text, "  br_if %p, {}, {}", target(), target()).unwrap(),
            _ => writeln!(text, "  jump {}", target()).unwrap(),
        }
    }
    text + "}\n"
}

/// All entities to choose from.
struct Stock {
    insts: Vec<Inst>,
    blocks: Vec<Block>,
    values: Vec<Value>,
}

fn stock(func: &Function) -> Stock {
    let blocks: Vec<Block> = func.blocks().collect();
    let insts: Vec<Inst> = blocks.iter().flat_map(|&b| func.insts(b)).collect();
    let params = blocks.iter().flat_map(|&b| func.block_params(b).to_vec());
    let results = insts.iter().flat_map(|&i| func.inst(i).results.to_vec());
    Stock { values: params.chain(results).collect(), insts, blocks }
}

fn target(rw: &Rewriter<'_>, stock: &Stock) -> Option<Target> {
    let block = pick(&stock.blocks)?;
    let args = (0..rw.func().block_params(block).len()).filter_map(|_| pick(&stock.values)).collect();
    Some(Target { block, args })
}

/// One random change. `None` if there is nothing to choose from.
fn change(rw: &mut Rewriter<'_>) -> Option<Result<(), RewriteError>> {
    let stock = stock(rw.func());
    let (inst, other) = (pick(&stock.insts)?, pick(&stock.insts)?);
    let (value, block) = (pick(&stock.values)?, pick(&stock.blocks)?);
    let results = rw.func().inst(inst).results.clone();
    Some(match below(16) {
        0 | 1 => rw.move_before(inst, other),
        2 | 3 => rw.set_use(inst, below(3), value),
        4 | 5 => rw.replace(inst, &results.iter().filter_map(|_| pick(&stock.values)).collect::<Vec<_>>()),
        6 => rw.replace_uses(value, pick(&stock.values)?),
        7 => rw.erase(inst),
        8 | 9 => {
            rw.set_point([Point::Before(inst), Point::After(inst), Point::End(block)][below(3)]);
            rw.op(["neg", "exp"][below(2)], [value]).map(drop)
        }
        10 => {
            rw.set_point(Point::After(inst));
            let del = rewright_ir::builder::find_op(["del", "print"][below(2)]).ok()?;
            rw.insert(del, [value], Attrs::new()).map(drop)
        }
        11 => {
            let targets: Vec<Target> = rw.func().inst(inst).targets.iter().filter_map(|_| target(rw, &stock)).collect();
            rw.set_targets(inst, targets)
        }
        12 => match below(3) {
            0 => rw.set_terminator(block, "ret", [value], Attrs::new(), []).map(drop),
            _ => {
                let to = target(rw, &stock)?;
                rw.set_terminator(block, "jump", [] as [Value; 0], Attrs::new(), [to]).map(drop)
            }
        },
        13 => {
            let params: Vec<(Block, usize)> = (0..below(2)).map(|i| (block, i)).collect();
            rw.erase_all(&[inst, other][..below(3)], &params)
        }
        14 => match below(2) {
            0 => rw.remove_blocks(&[block]),
            _ => {
                let from = pick(&stock.blocks)?;
                rw.append_block(block, from).and_then(|()| rw.remove_blocks(&[from]))
            }
        },
        _ => {
            let new = rw.create_block(None);
            rw.set_terminator(new, "ret", [value], Attrs::new(), []).map(drop)
        }
    })
}

/// Some random changes; sometimes continues after a rejection.
fn chaos(_: Inst, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
    for _ in 0..1 + below(4) {
        match change(rw) {
            Some(Err(error)) if below(2) == 0 => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
static CHAOS: RewriteDef = RewriteDef::root("chaos", "anything", &Always(chaos)).opt_in();
register_rewrite!(CHAOS);

#[test]
fn accepted_changes_are_valid_and_rejected_ones_leave_no_trace() {
    let (mut valid, mut done, mut failed) = (0, 0, 0);
    for seed in 0..6_000 {
        fastrand::seed(seed);
        let Ok(mut module) = parse_module(&random_text(), "random") else { continue };
        valid += 1;
        for _ in 0..8 {
            let before = text(&module);
            match one(&mut module) {
                Ok(()) => done += 1,
                Err(RewriteError::Failed { cause, .. }) => {
                    assert!(!matches!(*cause, RewriteError::Panicked(_)), "seed {seed}: {cause}\n{before}");
                    assert_eq!(text(&module), before, "seed {seed}");
                    failed += 1;
                }
                Err(error) => panic!("seed {seed}: {error}\n{before}"),
            }
        }
    }
    assert!(valid > 1_000 && done > 3_000 && failed > 3_000, "{valid} {done} {failed}");
}

fn one(module: &mut Module) -> Result<(), RewriteError> {
    let options = Options { stop_after: Some(1), ..Options::default() };
    run_with(module, "chaos", &options).map(drop)
}

/// The same in one run, which keeps analyses from one application to the next.
#[test]
fn analyses_stay_right_over_many_applications() {
    let mut applications = 0;
    for seed in 0..2_000 {
        fastrand::seed(seed);
        let random = random_text();
        let Ok(mut module) = parse_module(&random, "random") else { continue };
        // Every failure disables the rewrite, so the run is repeated.
        for _ in 0..20 {
            let options = Options { stop_after: Some(20), keep_going: true, ..Options::default() };
            let report =
                run_with(&mut module, "chaos", &options).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{random}"));
            applications += report.applications();
            let bad = report.failures.iter().find(|e| matches!(e, RewriteError::InvalidAtEnd { .. }));
            assert!(bad.is_none(), "seed {seed}: {}\n{random}", bad.map(ToString::to_string).unwrap_or_default());
        }
    }
    assert!(applications > 5_000, "{applications}");
}

/// The check of touched places rejects no valid function.
#[test]
fn valid_functions_are_accepted() {
    let (mut agreed, mut refused) = (0, 0);
    for seed in 0..4_000 {
        fastrand::seed(seed);
        let random = random_text();
        if parse_module(&random, "random").is_err() {
            continue;
        }
        let seed_before = fastrand::get_seed();
        let outcome = |verify: Verify| {
            fastrand::seed(seed_before);
            let mut module = module(&random);
            let options = Options { stop_after: Some(1), verify, ..Options::default() };
            let done = run_with(&mut module, "chaos", &options);
            (done.map(drop).map_err(|e| e.to_string()), text(&module))
        };
        let (touched, whole) = (outcome(Verify::Last), outcome(Verify::Each));
        assert_eq!(touched.0.is_ok(), whole.0.is_ok(), "seed {seed}: {:?} {:?}\n{random}", touched.0, whole.0);
        assert_eq!(touched.1, whole.1, "seed {seed}");
        if whole.0.is_ok() { agreed += 1 } else { refused += 1 }
    }
    assert!(agreed > 500 && refused > 500, "{agreed} {refused}");
}
