//! A call of a statement's function allocates nothing, if its results go to arrays that are there.

use rewright::exec::{Executable, Options};
use rewright::ndarray::{Array2, array};
use rewright::{DType, Datum, NoObserver, Pipeline, Scalar, rewrites};
use rewright_index::Statements;

#[test]
fn t105_products_into_an_array_allocate_nothing() {
    let a = Array2::from_shape_fn((4, 4), |(i, j)| (i * 4 + j) as f64);
    let (b, mut c) = (Array2::<f64>::eye(4), Array2::<f64>::zeros((4, 4)));
    for text in ["C[i,k] := A[i,j] * B[j,k]", "C[i,k] = A[i,j] * B[j,k]"] {
        let statements = Statements::parse(text).expect("valid");
        let value = rewright::Array::from_fn(DType::F64, &[4, 4], |_| Scalar::F64(0.0)).expect("memory");
        let values = statements.inputs().keys().map(|name| (name.clone(), Datum::from(value.clone()))).collect();
        let mut lowered = statements.lower_for(&values).expect("valid");
        let options = rewrites::Options { liberties: lowered.liberties, ..rewrites::Options::default() };
        let pipeline = Pipeline::by_default().expect("a pipeline");
        pipeline.run(&mut lowered.module, &options, &mut NoObserver).expect("rewritten");
        let executable = Executable::compile(&lowered.module, lowered.func, Options::default()).expect("compiled");
        let old = Array2::<f64>::zeros((4, 4));
        for round in 0..5 {
            c.fill(0.0);
            let args: Vec<_> = lowered
                .params
                .iter()
                .map(|name| match name.as_str() {
                    "A" => (&a).into(),
                    "B" => (&b).into(),
                    _ => (&old).into(),
                })
                .collect();
            let mut outs = [(&mut c).into()];
            let counts = allocation_counter::measure(|| executable.call_into(&args, &mut outs).expect("a result"));
            assert!(round < 2 || counts.count_total == 0, "{text}: {} allocations", counts.count_total);
            assert_eq!(c, a);
        }
    }
    assert_eq!(c.row(0), array![0.0, 1.0, 2.0, 3.0]);
}
