//! Translation validation: does a function compute after a rewrite what it computed before?
//!
//! Both forms are run by the reference evaluator, and results, what arguments hold after the call, what is printed and which errors the
//! program raises are compared, bit for bit (all NaNs are equal). The inputs are those that are given, and made-up ones: all small shapes,
//! with extents of 0 to 3; combinations of special values (NaN, infinities, both zeros, subnormals, the ends of integer ranges);
//! random values. They are the same on every run.
//!
//! With [`Options::check`](crate::Options::check) every application of a rewrite is checked, and undone if it fails. This is what a
//! test of a rewrite wants:
//!
//! ```
//! # use rewright_rewrites::{NoObserver, Options, Pipeline};
//! # use rewright_rewrites::check::Check;
//! # use rewright_ir::parse_module;
//! let mut module = parse_module("func @f(%x: f64[n]) -> f64[n] {\nentry:\n  %0 = mul %x, 1.0\n  ret %0\n}", "f.ir")?;
//! let options = Options { check: Some(Check::default()), ..Options::default() };
//! Pipeline::parse("default")?.run(&mut module, &options, &mut NoObserver)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It finds differences that its inputs show, and proves nothing: what was not tried, or could not be compared, is said in notes. Where the
//! form before ends with an error of an op (a shape that does not fit, an index out of bounds) nothing is compared, for a rewrite may drop a
//! computation that nobody needs. What the program itself raises must stay.

mod checker;
mod compare;
mod difference;
mod inputs;
mod near;
mod smaller;
mod values;

pub use checker::Checker;
pub use compare::{Mismatch, Tolerance, compare};
pub use difference::Difference;
pub use inputs::{ROUNDS, arguments};
pub(crate) use near::{edges, near};
pub(crate) use values::{Random, Spread, special};

use crate::rule::Liberties;
use rewright_ir::{Datum, Module, Name};

/// What is tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// How many steps of the evaluator the inputs of a function may take together: instructions executed and elements computed. Those that
    /// come after are left out.
    pub steps: u64,
    /// How many units in the last place floats may differ by; 0 for rewrites that keep every bit.
    pub ulp: u64,
    /// The liberties that rewrites may take. Inputs for which the form before meets NaN, or an infinity, are left out where one of them
    /// says that there is none; where one lets sums be rounded otherwise, floats may differ by 4,096 units of the largest number that
    /// is met, and integers and bools beside floats are not compared.
    pub liberties: Liberties,
    /// Inputs of functions besides those that are made up. They are tried first.
    pub given: Vec<(Name, Vec<Datum>)>,
}

impl Default for Check {
    fn default() -> Self {
        Check { steps: 1 << 20, ulp: 0, liberties: Liberties::empty(), given: Vec::new() }
    }
}

/// Compares what a function computes in two modules. Gives what was not tried or compared.
pub fn functions(before: &Module, after: &Module, name: Name, options: &Check) -> Result<Vec<String>, Box<Difference>> {
    let (Some(old), Some(new)) = (before.get(name), after.get(name)) else {
        return Ok(vec![format!("nothing was checked: only one module has a function `@{name}`")]);
    };
    let mut checker = Checker::new(old, before, options);
    checker.check(new, after).map_err(|found| checker.explained(found, (old, before), (new, after)))?;
    Ok(checker.notes())
}
