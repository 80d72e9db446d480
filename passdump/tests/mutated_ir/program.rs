//! Parses, rewrites and runs an input that may be a program.

use crate::Reached;
use crate::mutate::{Form, Input, Rng};
use rewright::exec::{self, Arg, Backend};
use rewright::ir::ron::{from_ron, to_ron};
use rewright::rewrites::check::compare;
use rewright::rewrites::{Options, Verify};
use rewright::{
    Array, Datum, Dim, EvalError, EvalErrorKind, Executable, Function, Limits, Module, Name, NoObserver, Pipeline,
    RewriteError, Scalar, Type, evaluate, infer_function, parse_module,
};
use std::collections::BTreeMap;

type Outcome = Result<Vec<Datum>, EvalError>;

/// Larger programs are read and printed only.
const MAX_INSTS: usize = 80;

const LIMITS: Limits = Limits { steps: 200_000, elements: 20_000, bytes: 1 << 24, depth: 16 };

/// The module with types; nothing if they can't be inferred.
fn typed(mut module: Module) -> Option<Module> {
    let untyped: Vec<Function> = module.functions().filter(|f| f.untyped).cloned().collect();
    for mut func in untyped {
        infer_function(&mut func, &module).ok()?;
        module.insert(func);
    }
    Some(module)
}

/// Reads, prints, rewrites, evaluates and compiles. The error is what must not be.
pub fn try_input(input: &Input, number: u64) -> Result<Reached, String> {
    let module = match input.form {
        Form::Ir => parse_module(&input.text, "mutated.ir"),
        Form::Ron => from_ron(&input.text, "mutated.ron"),
    };
    let module = match module {
        Ok(module) => module,
        Err(errors) => {
            errors.render(false);
            return Ok(Reached::Refused);
        }
    };
    print_and_read(&module)?;
    let size: usize = module.functions().map(Function::inst_count).sum();
    let Some(func) = module.names().last() else { return Ok(Reached::Parsed) };
    if size > MAX_INSTS {
        return Ok(Reached::Parsed);
    }
    let mut rewritten = module.clone();
    let options = Options { verify: Verify::Each, ..Options::default() };
    let pipeline = Pipeline::by_default().map_err(|e| e.to_string())?;
    match pipeline.run(&mut rewritten, &options, &mut NoObserver) {
        Ok(_) => {}
        Err(RewriteError::Inference { .. }) => return Ok(Reached::Refused),
        Err(e) => return Err(format!("the pipeline fails: {e}")),
    }
    print_and_read(&rewritten)?;
    // A module that gets types only by rewriting runs only after it.
    let module = typed(module).unwrap_or_else(|| rewritten.clone());
    let Some(args) = arguments(&module, func, number) else { return Ok(Reached::Rewritten) };
    let before = evaluate(&module, func, args.clone(), LIMITS).map(|o| o.results);
    let after = evaluate(&rewritten, func, args.clone(), LIMITS).map(|o| o.results);
    agree("rewritten", &before, &after)?;
    let Ok(results) = before else { return Ok(Reached::Evaluated) };
    if !number.is_multiple_of(8) {
        return Ok(Reached::Evaluated);
    }
    for (backend, module) in [(Backend::Interp, &module), (Backend::Cranelift, &rewritten), (Backend::Auto, &rewritten)]
    {
        let Ok(compiled) =
            Executable::compile(module, func, exec::Options { backend, limits: LIMITS, ..Default::default() })
        else {
            return Err(format!("a verified program can't be compiled for {backend:?}"));
        };
        let found = compiled.call(&args.iter().map(Arg::from).collect::<Vec<_>>());
        agree(&format!("compiled for {backend:?}"), &Ok(results.clone()), &found.map(Vec::from))?;
    }
    Ok(Reached::Compiled)
}

/// Printing and reading give the same, in both forms.
fn print_and_read(module: &Module) -> Result<(), String> {
    let text = module.to_string();
    let again = parse_module(&text, "printed.ir")
        .map_err(|e| format!("the printed text can't be parsed: {}", e.render(false)))?;
    if again.to_string() != text {
        return Err(format!("printed and read, it is another program\n--- printed\n{text}\n--- again\n{again}"));
    }
    let ron = to_ron(module).map_err(|e| format!("there is no RON form: {e}"))?;
    let again =
        from_ron(&ron, "printed.ron").map_err(|e| format!("the RON form can't be read: {}", e.render(false)))?;
    if again.to_string() != text {
        return Err(format!("through RON it is another program\n--- printed\n{text}\n--- again\n{again}"));
    }
    Ok(())
}

/// What gave results must give the same ones; an error may go away with what computed it.
fn agree(what: &str, before: &Outcome, after: &Outcome) -> Result<(), String> {
    match (before, after) {
        (Ok(before), Ok(after)) => {
            let pairs = before.iter().zip(after);
            let mut different = pairs.map(|(a, b)| compare(a, b, 0)).filter_map(Result::err);
            match different.next() {
                None if before.len() == after.len() => Ok(()),
                found => Err(format!("{what}, it gives other results: {found:?}")),
            }
        }
        (Ok(_), Err(e)) if e.kind != EvalErrorKind::Limit => Err(format!("{what}, it fails: {e}")),
        _ => Ok(()),
    }
}

/// Small arguments that fit the parameters; none if that takes too much.
fn arguments(module: &Module, func: Name, number: u64) -> Option<Vec<Datum>> {
    let mut rng = Rng::new(number ^ 0x5eed);
    let mut symbols: BTreeMap<String, usize> = BTreeMap::new();
    let signature = module.signature(func)?;
    signature.params.iter().map(|ty| argument(ty, &mut symbols, &mut rng)).collect()
}

fn argument(ty: &Type, symbols: &mut BTreeMap<String, usize>, rng: &mut Rng) -> Option<Datum> {
    let mut scalar = || match rng.below(6) {
        0 => Scalar::from_bits(ty.dtype(), (rng.next(), rng.next())),
        _ => Scalar::F64(rng.below(17) as f64 / 2.0 - 3.0).cast(ty.dtype()),
    };
    if ty.is_scalar() {
        return Some(Datum::Scalar(scalar()));
    }
    let values: Vec<Scalar> = (0..64).map(|_| scalar()).collect();
    let mut extent = |dim: &Dim| match dim {
        Dim::Const(n) => usize::try_from(*n).ok(),
        Dim::Sym(name) => Some(*symbols.entry(name.to_string()).or_insert_with(|| [3, 1, 4, 0, 2][rng.below(5)])),
        Dim::Any => Some(rng.below(4)),
    };
    let shape = ty.dims().iter().map(&mut extent).collect::<Option<Vec<usize>>>()?;
    rewright::ir::value::checked_len(&shape).filter(|&n| n <= 4096)?;
    Array::from_fn(ty.dtype(), &shape, |i| values[i % values.len()]).map(Datum::Array)
}
