//! Helpers for tests of replayed calls: functions of two matrices.

use super::Replay;
use crate::exec::{Arg, Executable, Options, Results};
use ndarray::{Array2, ArrayView2};
use rewright_ir::text::parse_module;

/// Compiles the function `f` of a text.
pub fn compile(text: &str, options: Options) -> Executable {
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    Executable::compile(&module, "f", options).unwrap()
}

pub fn call(f: &Executable, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>) -> Results {
    f.call(&[Arg::from(x), Arg::from(y)]).unwrap_or_else(|e| panic!("{e}"))
}

/// Inspects the recording of calls after the second one, which had equal signatures; `None` if they are not
/// replayed, since temporaries are too large.
pub fn replay<T>(f: &Executable, look: impl FnOnce(&Replay) -> T) -> Option<T> {
    f.inner.pools[0].with_used(|frame| frame.replays.latest().map(look)).flatten()
}

/// Numbers from -5 to about 9.
pub fn array(rows: usize, columns: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 31 + j * 17) % 101) as f64 / 7.0 - 5.0)
}
