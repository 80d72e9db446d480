//! Random chains of views in functions: elements computed by their user equal those of a materialized
//! array.

use crate::support::{View, input, reference};
use proptest::prelude::*;
use rewright::exec::{Arg, Options};
use rewright::op::Traits;
use rewright::{Attr, Attrs, Datum, Dim, Executable, FuncBuilder, Module, NoObserver, Pipeline, Type, Value, evaluate};
use rewright_lazy::{Input, LazyArray, LazyExpr, LazyFunction, LazyValue};

/// Appends the definition of an input: a parameter, or a constructor.
fn made(b: &mut FuncBuilder<'_>, input: &Input) -> Value {
    let dims = Attr::Dims(input.shape().iter().map(|&n| Dim::Const(n)).collect());
    let attrs = Attrs::new().with("dims", dims);
    let typed = || attrs.clone().with("dtype", Attr::DType(input.dtype()));
    match input {
        Input::Var { .. } => b.param(0),
        Input::Full(_) => {
            let value = b.param(2);
            b.op_with("full", [value], attrs).unwrap()
        }
        Input::Iota { .. } | Input::Delta { .. } => b.op_with(input.name(), [] as [Value; 0], typed()).unwrap(),
        Input::Eye(m) | Input::Tri(m) => {
            let attrs = typed().with("offset", Attr::Int(m.offset));
            b.op_with(input.name(), [] as [Value; 0], attrs).unwrap()
        }
    }
}

fn ty(expr: &LazyExpr) -> Type {
    Type::array(expr.dtype(), expr.shape().iter().map(|&n| Dim::Const(n)).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("REWRIGHT_VIEWS").ok().and_then(|n| n.parse().ok()).unwrap_or(300), ..Default::default() })]

    #[test]
    fn chains_in_functions_are_one_map(input in input(), views in prop::collection::vec((any::<u8>(), any::<[u8; 4]>()), 1..5)) {
        let mut expr = LazyExpr::of(input.clone());
        let views: Vec<View> = views.into_iter().filter_map(|(op, seed)| {
            let view = View::drawn(&expr, op, seed)?;
            expr = view.expr.clone();
            Some(view)
        }).collect();
        let (seen, x) = (ty(&expr), reference(&input));
        let filling = x.iter().next().unwrap_or(rewright::Scalar::zero(input.dtype()));
        let params = [("v", ty(&LazyExpr::of(input.clone()))), ("x", seen.clone()), ("k", Type::scalar(input.dtype()))];
        let mut b = FuncBuilder::new("f", &params, vec![seen.clone(), seen]);
        let mut value = made(&mut b, &input);
        for view in &views {
            value = b.op_with(view.op, [value], view.attrs.clone()).unwrap();
        }
        let other = b.param(1);
        let sum = b.op("add", [other, value]).unwrap();
        b.ret([sum, value]).unwrap();
        let mut module = Module::new();
        module.insert(b.finish());
        // Any elements will do for the other operand.
        let other = views.iter().fold(x.clone(), |array, view| view.of(&array));
        let args = || vec![Datum::Array(x.clone()), Datum::Array(other.clone()), Datum::Scalar(filling)];
        let wanted = evaluate(&module, "f", args(), Default::default()).unwrap().results;
        prop_assert_eq!(&wanted[1].to_array(), &other);

        let lazy = LazyFunction::compile(&module, "f", Options::default()).unwrap();
        let values: Vec<LazyValue> = args().into_iter().map(LazyValue::from).collect();
        let given = lazy.call(&values).unwrap();
        for (given, wanted) in given.iter().zip(&wanted) {
            let array: &LazyArray = given.as_array().unwrap();
            prop_assert_eq!(array.force().unwrap(), &wanted.to_array(), "{:?}", array);
        }
        // A constructor returned as a view is not materialized, except at rank 0, where there is nothing to
        // fuse.
        prop_assert_eq!(given[1].as_array().unwrap().expr(), &expr);
        let reads: Vec<_> = lazy.executable().plan().functions.iter().flat_map(|f| &f.steps).map(|step| step.op).collect();
        let is_made = reads.iter().any(|op| op.traits.contains(Traits::CONSTRUCTOR));
        prop_assert!(!is_made || expr.rank() == 0, "{:?} in {}", reads, rewright::print_module(&module));

        Pipeline::by_default().unwrap().run(&mut module, &Default::default(), &mut NoObserver).unwrap();
        let after = evaluate(&module, "f", args(), Default::default()).unwrap().results;
        prop_assert_eq!(&after, &wanted);
        let f = Executable::compile(&module, "f", Options::default()).unwrap();
        let held = args();
        let results = f.call(&held.iter().map(Arg::from).collect::<Vec<_>>()).unwrap();
        prop_assert_eq!(results.into_vec(), wanted);
    }
}
