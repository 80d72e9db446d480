//! Translation validation: checks that a function computes the same before and after a rewrite.
//!
//! The reference evaluator runs both forms. Results, contents of arguments after the call, printed output
//! and errors that the program raises are compared, bit for bit (all NaNs are equal). The inputs are the
//! given ones and generated ones: all small shapes, with extents of 0 to 3; combinations of special values
//! (NaN, infinities, both zeros, subnormals, the ends of integer ranges); random values. They are the same
//! in every run.
//!
//! [`Options::check`](crate::Options::check) checks every application of a rewrite, and undoes it if the
//! check fails. A test of a rewrite uses it like this:
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
//! The check finds differences on its inputs, and proves nothing; notes list the inputs that were not tried
//! or could not be compared. If the earlier form ends with an error of an op (a shape that does not fit, an
//! index out of bounds), nothing is compared, because a rewrite may drop an unneeded computation. Errors
//! that the program itself raises must stay.

mod checker;
mod compare;
mod difference;
mod inputs;
mod shrink;

pub use checker::Checker;
pub use compare::{Mismatch, Tolerance, compare};
pub use difference::Difference;
pub use inputs::{ROUNDS, arguments};

use crate::rule::Liberties;
use rewright_ir::{Datum, Module, Name};

/// The inputs and tolerances of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The evaluator steps that all inputs of a function may take together: instructions executed and
    /// elements computed. Further inputs are left out.
    pub steps: u64,
    /// The allowed difference of floats in units in the last place; 0 for rewrites that keep every bit.
    pub ulp: u64,
    /// The liberties that rewrites may take. If a liberty excludes NaN or infinities, inputs for which the
    /// earlier form meets them are left out. If a liberty changes rounding, floats may differ by 4,096 units
    /// of the largest number that occurs, and integers and bools beside floats are not compared. Nor are
    /// inputs with numbers beyond 1.8e19 for which only the later form overflows.
    pub liberties: Liberties,
    /// Given inputs of functions. They are tried before the generated ones.
    pub given: Vec<(Name, Vec<Datum>)>,
}

impl Default for Check {
    fn default() -> Self {
        Check { steps: 1 << 20, ulp: 0, liberties: Liberties::empty(), given: Vec::new() }
    }
}

/// Compares the results of a function in two modules. Returns notes on inputs that were not tried or
/// compared.
pub fn functions(before: &Module, after: &Module, name: Name, options: &Check) -> Result<Vec<String>, Box<Difference>> {
    let (Some(old), Some(new)) = (before.get(name), after.get(name)) else {
        return Ok(vec![format!("nothing was checked: only one module has a function `@{name}`")]);
    };
    let mut checker = Checker::new(old, before, options);
    checker.check(new, after).map_err(|found| checker.explained(found, (old, before), (new, after)))?;
    Ok(checker.notes())
}
