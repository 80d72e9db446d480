//! Black-Scholes from its fixture: one node, one kernel, and no memory but that of the four results.

use rewright::exec::Stats;
use rewright::prelude::*;
use rewright_passdump::fixture::Case;
use std::path::Path;

#[test]
fn thirty_three_operations_are_one_kernel_that_allocates_its_results() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/real/black_scholes.ron");
    let case = Case::load(&path).expect("the fixture");
    let mut module = case.module().expect("its program");
    let name = Name::new("black_scholes");
    let over_arrays = |module: &Module, only: Option<&str>| {
        let func = module.get(name).expect("the function");
        let insts = func.blocks().flat_map(|b| func.insts(b));
        insts
            .filter(|&i| only.is_none_or(|op| func.inst(i).op.name == op))
            .filter(|&i| func.inst(i).results.first().is_some_and(|&r| func.ty(r).rank() > 0))
            .count()
    };
    assert_eq!(over_arrays(&module, None), 33);
    Pipeline::parse("array-expr, dce")
        .expect("a pipeline")
        .run(&mut module, &Default::default(), &mut NoObserver)
        .expect("it is rewritten");
    assert_eq!((over_arrays(&module, None), over_arrays(&module, Some("arrayexpr"))), (1, 1));

    let executable = Executable::compile(&module, name, Default::default()).expect("it is compiled");
    assert_eq!(executable.remarks(), []);
    let run = &case.fixture.runs[0];
    let args = case.args(run, module.get(name).expect("the function")).expect("the arguments");
    let args: Vec<_> = args.iter().map(Into::into).collect();
    let results = executable.call(&args).expect("it runs");
    let bytes = results.iter().map(|r| r.shape().iter().product::<usize>() as u64 * 8).sum();
    assert_eq!((results.len(), bytes), (4, 4 * 10_000 * 8));
    assert_eq!(executable.stats(), Stats { kernels: 1, allocations: 4, bytes, ..Stats::default() });
}
