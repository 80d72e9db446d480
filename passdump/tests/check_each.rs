//! Every application of a rewrite to a fixture's program is checked: what the program computes stays the
//! same.

use rayon::prelude::*;
use rewright::rewrites::check::Check;
use rewright::rewrites::{NoObserver, Options, RewriteRegistry, Verify};
use rewright::{Datum, Name, Pipeline};
use rewright_passdump::fixture::{Case, choose, discover};
use std::path::{Path, PathBuf};

/// The arguments of the fixture's own runs, as far as they fit.
fn given(case: &Case) -> Vec<(Name, Vec<Datum>)> {
    let Ok(module) = case.module() else { return Vec::new() };
    let Ok(func) = choose(&module, case.fixture.func.as_deref()) else { return Vec::new() };
    case.fixture.runs.iter().filter_map(|run| Some((func.name, case.args(run, func).ok()?))).collect()
}

/// How many applications were checked, and on how many inputs the last form of the functions was compared.
fn checked(path: &Path) -> Result<(u64, u64), String> {
    let case = Case::load(path).map_err(|e| e.to_string())?;
    let liberties = case.liberties().map_err(|e| e.to_string())?;
    // What may differ by more than units in the last place can't be compared.
    if case.fixture.error.is_some() || !liberties.is_empty() {
        return Ok((0, 0));
    }
    let mut module = case.module().map_err(|e| e.to_string())?;
    let check = Check { ulp: case.fixture.ulp_between, given: given(&case), ..Check::default() };
    let options = Options { verify: Verify::Each, check: Some(check), ..Options::default() };
    let registry = RewriteRegistry::with_rules(&case.rules());
    let pipeline = Pipeline::parse_in(&registry, &case.fixture.pipeline).map_err(|e| e.to_string())?;
    let report = pipeline.run(&mut module, &options, &mut NoObserver).map_err(|e| e.to_string())?;
    let notes = report.remarks.iter().filter(|r| r.rewrite == "check-each");
    let count = |said: &str| said.strip_prefix("checked on ")?.split(' ').next()?.parse::<u64>().ok();
    Ok((report.applications(), notes.filter_map(|r| count(&r.message)).sum()))
}

#[test]
fn no_rewrite_changes_what_a_fixture_computes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let paths: Vec<PathBuf> = discover(&[root]).unwrap_or_else(|e| panic!("{e}"));
    let found: Vec<Result<(u64, u64), String>> = paths.par_iter().map(|path| checked(path)).collect();
    let failures =
        paths.iter().zip(&found).filter_map(|(path, r)| Some(format!("{}:\n{}", path.display(), r.as_ref().err()?)));
    let failures: Vec<String> = failures.collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    let sum = |pick: fn(&(u64, u64)) -> u64| found.iter().flatten().map(pick).sum::<u64>();
    let (applications, inputs) = (sum(|n| n.0), sum(|n| n.1));
    assert!(applications > 200 && inputs > 1000, "{applications} applications, {inputs} inputs");
}
