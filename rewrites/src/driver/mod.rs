//! Runs rewrites to a fixed point.
//!
//! Every application is a transaction on the function's journal, checked where it touched something and undone if it fails. What
//! it touched, and what is near enough to see that, is asked about again, and nothing else: the time is that of the
//! changes, not of the function's size for each.

mod apply;
mod cycle;
mod matcher;
mod missed;
mod options;
mod pending;
mod plan;
mod report;
mod summary;
mod turn;

pub(crate) use apply::guarded;
pub use matcher::Matcher;
pub use options::{Options, Verify};
pub use report::{Report, RewriteStats};

use crate::analyses::ModuleAnalyses;
use crate::egraph::RuleBook;
use crate::error::RewriteError;
use crate::observer::{Event, Observer};
use crate::pipeline::Pipeline;
use crate::run_state::RunState;
use plan::Plan;
use rewright_ir::{Function, Module, Name, infer_function, verify_module};
use std::rc::Rc;
use std::time::Duration;
use turn::Turn;

/// What the turns of all functions share.
struct Run<'a> {
    plan: Plan,
    options: &'a Options,
    observer: &'a mut dyn Observer,
    report: Report,
    /// The number of the next application.
    seq: u64,
    known: Rc<ModuleAnalyses>,
    /// What rewrites may know of the run.
    state: Rc<RunState>,
}

/// A function's turn. One that is untyped has a turn with the rewrites that run before type inference first, and then gets types.
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

/// Runs a pipeline over a module. On an error the module is as it was.
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
    let state = Rc::new(RunState::new(pipeline, options));
    let mut run = Run { plan, options, observer, report, seq: 0, known: Rc::default(), state };
    // Functions that call are rewritten last: what they call is as short by then as it gets, and each call is looked at once.
    let mut names: Vec<Name> = run.known.calls(module).callees_first().to_vec();
    names.retain(|name| options.only.is_none_or(|only| only == *name));
    let mut before: Vec<Function> = Vec::new();
    for name in names {
        // The module keeps the form before, for calls of the function by itself.
        let Some(func) = module.get(name).cloned() else { continue };
        match turns(&mut run, module, func) {
            Ok(func) => {
                // Nobody else holds it between turns.
                if let Some(known) = Rc::get_mut(&mut run.known) {
                    known.refresh(&func, module);
                }
                before.extend(module.insert(func));
            }
            // Nobody knows which application to undo: the function stays what it was.
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
