//! The ops on whole arrays against NumPy's answers, by executables.

#[path = "../../ir/tests/oracle_arrays/table.rs"]
mod table;

use rewright_ir::Datum;
use rewright_lowering::exec::{Arg, Backend, Executable, Options};
use table::{Case, Known, cases, column_major};

fn check(case: &Case<'_>, backend: Backend, known: Known) -> Result<(), String> {
    let module = match case.function(known) {
        // What is wrong was said when compiling, or dims must be constants.
        Err(_) if case.expected.is_none() || case.inst == "squeeze %0" => return Ok(()),
        other => other?,
    };
    let executable =
        Executable::compile(&module, "f", Options { backend, ..Options::default() }).map_err(|e| e.to_string())?;
    let turned: Vec<Datum> = case.args.iter().map(column_major).collect();
    let given: Vec<Arg<'_>> = case.args.iter().map(Arg::from).collect();
    let lent = turned.iter().map(|arg| match arg {
        Datum::Array(array) => Arg::View(array.view()),
        scalar => Arg::from(scalar),
    });
    for args in [given, lent.collect()] {
        match (executable.call(&args), &case.expected) {
            (Ok(found), Some(expected)) if !case.is_result(&found[0]) => {
                return Err(format!("found\n{:?}\n for\n{expected:?}", found[0]));
            }
            (Err(e), Some(_)) => return Err(e.to_string()),
            (Err(e), None) if !e.to_string().contains(case.op) => return Err(e.to_string()),
            (Ok(_), None) => return Err("no error".to_string()),
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn arrays_are_as_numpy_has_them() {
    let cases = cases();
    let mut wrong = Vec::new();
    for (backend, known) in [(Backend::Interp, Known::Constants), (Backend::Cranelift, Known::Symbols)] {
        for case in &cases {
            if let Err(why) = check(case, backend, known) {
                let args: Vec<String> = case.args.iter().map(|a| a.ty().to_string()).collect();
                wrong.push(format!("{} of {} by {backend:?}: {why:.600}", case.inst, args.join(", ")));
            }
        }
    }
    let count = 2 * cases.len();
    assert!(wrong.is_empty(), "{} of {count} are wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}
