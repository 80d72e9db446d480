//! A function by every backend.

use rewright_ir::text::parse_module;
use rewright_ir::{Datum, EvalError, Outcome};
use rewright_lowering::exec::{Arg, Backend, Executable, Instead, Options};

/// The first function of a text, by a backend.
pub fn compile(text: &str, backend: Backend) -> Executable {
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let name = module.functions().next().unwrap().name;
    Executable::compile(&module, name, Options { backend, ..Options::default() }).unwrap()
}

/// One function on every backend, compiled once.
pub struct Every(pub Vec<Executable>);

impl Every {
    pub fn new(text: &str) -> Every {
        Every(Backend::available().map(|backend| compile(text, backend)).collect())
    }
    /// What all backends give.
    #[track_caller]
    pub fn outcome(&self, args: &[Arg<'_>]) -> Result<Outcome, EvalError> {
        let all: Vec<_> = self.0.iter().map(|f| f.outcome(args)).collect();
        for (backend, found) in Backend::available().zip(&all) {
            match (found, &all[0]) {
                (Err(found), Err(wanted)) => assert_eq!(found.to_string(), wanted.to_string(), "{backend:?}"),
                _ => assert_eq!(found, &all[0], "{backend:?}"),
            }
        }
        all.into_iter().next().unwrap()
    }
    #[track_caller]
    pub fn call(&self, args: &[Arg<'_>]) -> Vec<Datum> {
        self.outcome(args).unwrap().results
    }
    /// Every step had a kernel.
    #[track_caller]
    pub fn all_kernels(self) -> Every {
        for f in &self.0[1..] {
            let without = f.remarks().iter().find(|remark| remark.instead == Instead::Reference);
            assert_eq!(without, None, "{}", f.plan());
        }
        self
    }
}
