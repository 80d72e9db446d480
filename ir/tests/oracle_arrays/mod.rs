//! Compares the ops on whole arrays, as the reference evaluator computes them, with NumPy's results.

mod table;

use rewright_ir::*;
use std::collections::BTreeMap;
use table::{Case, Known, cases, column_major};

/// The type of the instruction's result.
fn inferred(module: &Module) -> Type {
    let func = module.functions().next().unwrap();
    let inst = func.first_inst(func.entry().unwrap()).unwrap();
    func.ty(func.inst(inst).results[0]).clone()
}

/// Checks a case; the error describes the failure.
fn check(case: &Case<'_>, known: Known) -> Result<(), String> {
    let Some(expected) = &case.expected else {
        let run = |m: Module| evaluate(&m, "f", case.args.clone(), Limits::default()).map_err(|e| e.to_string());
        return match case.function(known).and_then(run) {
            Err(e) if e.contains(case.op) => Ok(()),
            Err(e) => Err(e),
            Ok(_) => Err("no error".to_string()),
        };
    };
    let module = match case.function(known) {
        // `squeeze` must know which axes have extent 1.
        Err(_) if case.inst == "squeeze %0" && known != Known::Constants => return Ok(()),
        other => other?,
    };
    let ty = inferred(&module);
    if !expected.ty().fits(&ty) || (known == Known::Constants && case.op != "compress" && ty != expected.ty()) {
        return Err(format!("inferred {ty} for {}", expected.ty()));
    }
    for args in [case.args.clone(), case.args.iter().map(column_major).collect()] {
        let found = evaluate(&module, "f", args, Limits::default()).map_err(|e| e.to_string())?.results;
        if !case.is_result(&found[0]) {
            return Err(format!("found\n{:?}\n for\n{expected:?}", found[0]));
        }
    }
    Ok(())
}

#[test]
fn arrays_are_as_numpy_has_them() {
    let cases = cases();
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for case in &cases {
        *count.entry(case.op).or_default() += 1;
        for known in [Known::Constants, Known::Symbols, Known::Nothing] {
            if let Err(why) = check(case, known) {
                let args: Vec<String> = case.args.iter().map(|a| a.ty().to_string()).collect();
                wrong.push(format!("{} of {}, {known:?} known: {why:.600}", case.inst, args.join(", ")));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} are wrong:\n{}",
        wrong.len(),
        cases.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
    let ops = "transpose flip slice reshape expand_dims squeeze diagonal broadcast_in_dim item to_array full iota eye tri \
        constant sum prod min max any all argmin argmax getitem dim take gather compress update concat stack dot_general \
        cumsum cumprod cummin cummax scan";
    for op in ops.split_ascii_whitespace() {
        assert!(count.get(op).is_some_and(|&n| n >= 2), "{op}: {count:?}");
    }
    assert!(cases.len() > 2500, "{}", cases.len());
}
