//! The examples of `docs/schedules.md`.

use super::{compile, module, same_bits};
use ndarray::{Array, IxDyn};
use rewright_lowering::exec::{Arg, Backend, Executable, Options};
use rewright_lowering::internals::schedule::Schedule;
use std::num::NonZeroU32;

/// The examples of the page: below each is its schedule.
#[test]
fn the_page_shows_the_schedules() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schedules.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let (mut blessed, mut rest, mut count) = (String::new(), &page[..], 0);
    while let Some((before, after)) = rest.split_once("```ir\n") {
        let (text, after) = after.split_once("```\n").unwrap();
        let (between, after) = after.split_once("```text\n").unwrap();
        let (shown, after) = after.split_once("```").unwrap();
        let options = Options { times: true, threads: NonZeroU32::new(1), ..Options::default() };
        let f = Executable::compile(&module(text), "f", options).unwrap();
        let shape = |ty: &rewright_ir::Type| -> Vec<usize> {
            let extent = |dim: &rewright_ir::Dim| if let rewright_ir::Dim::Const(n) = dim { *n as usize } else { 1 };
            ty.dims().iter().map(extent).collect()
        };
        let module = module(text);
        let func = module.functions().next().unwrap();
        let arrays = func.params().iter().map(|&param| {
            let mut at = 0.0;
            Array::from_shape_simple_fn(IxDyn(&shape(func.ty(param))), || {
                at += 0.5;
                at
            })
        });
        let arrays: Vec<Array<f64, IxDyn>> = arrays.collect();
        let args: Vec<Arg<'_>> = arrays.iter().map(Arg::from).collect();
        let want = compile(text, "", Backend::Reference).call(&args).unwrap();
        assert!(same_bits(&want, &f.call(&args).unwrap()), "{text}");
        // Threads, vectors and stores depend on the machine.
        let schedule = f.schedules()[0].schedule.clone();
        let schedule = Schedule { threads: None, chunk: None, unroll: None, stages: None, stream: None, ..schedule };
        blessed += &format!("{before}```ir\n{text}```\n{between}```text\n{schedule}\n```");
        assert!(std::env::var_os("REWRIGHT_BLESS").is_some() || shown == format!("{schedule}\n"), "{schedule}");
        (rest, count) = (after, count + 1);
    }
    blessed += rest;
    assert!(count >= 5);
    if std::env::var_os("REWRIGHT_BLESS").is_some() {
        std::fs::write(file, blessed).unwrap();
    }
}
