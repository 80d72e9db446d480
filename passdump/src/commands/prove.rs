//! `passdump prove`: proves that two functions or two values are equal, and prints the rules.

use super::chain;
use super::explain::find;
use crate::args::ProveArgs;
use crate::error::Error;
use crate::output::{Out, Tone};
use crate::program::Program;
use rewright::rewrites::egraph::{Named, NoProof, prove as functions, prove_values};
use rewright::rewrites::rewrites;
use rewright::{Function, Name};

/// Prints the chain of applications; false if there is none.
pub fn prove(out: &mut Out, args: &ProveArgs) -> Result<bool, Error> {
    let program = Program::load(&args.input)?;
    let registry = program.registry.as_ref().unwrap_or_else(|| rewrites());
    let named = |name: &str| -> Option<&Function> {
        let name = name.strip_prefix('@').unwrap_or(name);
        program.module.get(Name::new(name))
    };
    let found = match (named(&args.first), named(&args.second)) {
        (Some(a), Some(b)) => {
            let (mut first, mut second) = (program.numbering(a), program.numbering(b));
            let named = [Named::numbered(a, &mut first), Named::numbered(b, &mut second)];
            let [a, b] = named;
            functions(a, b, &program.module, registry, program.liberties)
        }
        (Some(known), None) => return Err(unmatched(&program, known, &args.second)),
        (None, Some(known)) => return Err(unmatched(&program, known, &args.first)),
        (None, None) => {
            let func = program.function()?;
            let mut names = program.numbering(func);
            let values = (find(func, &args.first, &mut names)?, find(func, &args.second, &mut names)?);
            let named = Named::numbered(func, &mut names);
            prove_values(named, values, &program.module, registry, program.liberties)
        }
    };
    match found {
        Ok(proof) => {
            let steps = match proof.steps.len() {
                0 => "both are the same term".to_string(),
                1 => "equal, by 1 step, checked".to_string(),
                n => format!("equal, by {n} steps, each checked"),
            };
            out.line(Tone::Good, steps)?;
            for line in chain::lines(registry, &proof) {
                out.wrapped(&format!("  {line}"), 6)?;
            }
            Ok(true)
        }
        Err(why @ NoProof::Form { .. }) => Err(Error::message(why.to_string())),
        Err(why) => {
            out.title(Tone::Bad, format!("not proved: {why}"))?;
            Ok(false)
        }
    }
}

/// The error of one function and a name that is of none.
fn unmatched(program: &Program, known: &Function, other: &str) -> Error {
    let functions: Vec<String> = program.module.names().map(|name| format!("`@{name}`")).collect();
    Error::message(format!(
        "`@{}` is a function, `{other}` is none, and `@{}` has no value `{other}`; the functions are {}",
        known.name,
        program.func,
        functions.join(", ")
    ))
}
