//! Runs rewrites to a fixed point.
//!
//! Every application is a transaction on the function's journal. It is checked where it touched the
//! function, and rolled back if it fails. Only the touched places and those near them are put on the
//! worklist again, so an application costs what it changes, independent of the function's size, except where
//! it adds branches.

mod apply;
mod cycle;
mod matcher;
mod missed;
mod pending;
mod plan;
mod report;
mod summary;
mod turn;

pub use matcher::Matcher;
pub use report::{Report, RewriteStats};

use crate::analyses::{Analyses, ModuleAnalyses};
use crate::egraph::RuleBook;
use crate::error::RewriteError;
use crate::observer::{Event, Observer};
use crate::options::Options;
use crate::pipeline::Pipeline;
use crate::run_state::RunState;
use plan::Plan;
use rewright_ir::{Function, Module, Name, infer_function, verify_module};
use std::rc::Rc;
use std::time::Duration;
use turn::Turn;

impl Pipeline {
    /// Runs the rewrites over every function of a module. On an error the module is unchanged.
    pub fn run(
        &self,
        module: &mut Module,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Report, RewriteError> {
        run(self, module, options, observer)
    }
}

impl Analyses {
    /// Analyses of a function in a run of a pipeline. [`Default`] has default options, and the rules of this
    /// process.
    pub fn of_run(pipeline: &Pipeline, options: &Options) -> Self {
        Analyses::sharing(Rc::default(), Rc::new(RunState::new(pipeline.rules(), options)))
    }
}

/// The state that the turns of all functions share.
struct Run<'a> {
    plan: Plan,
    options: &'a Options,
    observer: &'a mut dyn Observer,
    report: Report,
    /// The number of the next application.
    seq: u64,
    known: Rc<ModuleAnalyses>,
    /// The state of the run that rewrites can read.
    state: Rc<RunState>,
}

/// A function's turn. An untyped function first has a turn with the rewrites that run before type inference,
/// and is then typed.
fn turns(run: &mut Run<'_>, module: &Module, mut func: Function) -> Result<Function, RewriteError> {
    if func.untyped {
        let plan = &mut run.plan;
        std::mem::swap(&mut plan.groups, &mut plan.early);
        let done = Turn::new(run, module, func).run();
        let plan = &mut run.plan;
        std::mem::swap(&mut plan.groups, &mut plan.early);
        func = done?;
        infer_function(&mut func, module).map_err(|errors| RewriteError::Inference { function: func.name, errors })?;
        run.observer.event(&Event::Inferred { func: &func });
    }
    Turn::new(run, module, func).run()
}

/// Runs a pipeline over a module. On an error the module is unchanged.
pub(crate) fn run(
    pipeline: &Pipeline,
    module: &mut Module,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Report, RewriteError> {
    verify_module(module).map_err(RewriteError::InvalidInput)?;
    let plan = Plan::of(pipeline, options.liberties);
    let stats =
        plan.rewrites.iter().map(|e| RewriteStats { rewrite: e.def.name, asked: 0, applied: 0, time: Duration::ZERO });
    let report = Report { stats: stats.collect(), ..Report::default() };
    let state = Rc::new(RunState::new(pipeline.rules(), options));
    let mut run = Run { plan, options, observer, report, seq: 0, known: Rc::default(), state };
    // Callees come before callers: they are as short as possible by then, and each call is examined once.
    let mut names: Vec<Name> = run.known.calls(module).callees_first().to_vec();
    names.retain(|name| options.only.is_none_or(|only| only == *name));
    let mut before: Vec<Function> = Vec::new();
    for name in names {
        // The module keeps the old form, for recursive calls.
        let Some(func) = module.get(name).cloned() else { continue };
        match turns(&mut run, module, func) {
            Ok(func) => {
                // Between turns there is no other reference.
                if let Some(known) = Rc::get_mut(&mut run.known) {
                    known.refresh(&func, module);
                }
                before.extend(module.insert(func));
            }
            // No single application can be undone: the function keeps its old form.
            Err(error @ RewriteError::InvalidAtEnd { .. }) if options.keep_going => run.report.failures.push(error),
            Err(error) => {
                for func in before {
                    module.insert(func);
                }
                return Err(error);
            }
        }
    }
    run.report.saturation = run.state.kept::<RuleBook>().stats.take();
    run.report.saturation.sort();
    Ok(run.report)
}
