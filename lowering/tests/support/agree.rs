//! Every backend against the reference evaluator, bit for bit.

use super::bits::bits;
use rewright_ir::Array;
use rewright_ir::text::parse_module;
use rewright_lowering::exec::{Arg, Backend, Executable, Options};
use std::num::NonZeroU32;

/// The first function of a text, by a backend and so many threads.
pub fn compile(text: &str, backend: Backend, threads: u32) -> Executable {
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let name = module.functions().next().unwrap().name;
    Executable::compile(&module, name, Options { backend, threads: NonZeroU32::new(threads), ..Options::default() })
        .unwrap()
}

/// Calls a function by every backend, by one thread and by several, again and again; all have kernels for it, and nothing to remark.
#[track_caller]
pub fn check(text: &str, args: &[Array]) {
    let lent = || -> Vec<Arg<'_>> { args.iter().map(|arg| Arg::View(arg.view())).collect() };
    let wanted = compile(text, Backend::Reference, 1).call(&lent());
    let shapes: Vec<_> = args.iter().map(|a| (a.shape(), a.strides())).collect();
    for (backend, threads) in Backend::available().filter(|b| *b != Backend::Reference).flat_map(|b| [(b, 1), (b, 3)]) {
        let f = compile(text, backend, threads);
        assert_eq!(f.remarks(), [], "{backend:?}\n{text}");
        for call in 0..3 {
            let what = || format!("{backend:?}, {threads} threads, call {call}, {shapes:?}\n{text}");
            match (&f.call(&lent()), &wanted) {
                (Ok(found), Ok(wanted)) => {
                    assert_eq!(found.len(), wanted.len(), "{}", what());
                    for (found, wanted) in found.iter().zip(wanted) {
                        let [found, wanted] = [found, wanted].map(|datum| (datum.ty(), bits(datum)));
                        assert!(found == wanted, "{}\n{found:.300?}\n{wanted:.300?}", what());
                    }
                }
                (Err(found), Err(wanted)) => assert_eq!(found.to_string(), wanted.to_string(), "{}", what()),
                (found, wanted) => panic!("{}\n{found:.100?}, {wanted:.100?}", what()),
            }
        }
    }
}
