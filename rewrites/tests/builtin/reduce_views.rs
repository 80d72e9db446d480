//! Reductions of random views of random arrays give the same bits as before.

use crate::run;
use proptest::prelude::*;
use rewright_ir::*;

const OPS: [&str; 8] = ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"];
const DTYPES: [DType; 5] = [DType::F64, DType::F32, DType::I32, DType::Bool, DType::U8];

/// An array's dtype and extents, whether these are known, views by kind and axis, and a reduction.
#[derive(Clone, Debug)]
struct Plan {
    dtype: DType,
    extents: Vec<u64>,
    known: Vec<bool>,
    views: Vec<(u8, usize)>,
    op: &'static str,
    axes: Option<Vec<usize>>,
    keeps: bool,
}

prop_compose! {
    fn plans()(
        dtype in prop::sample::select(&DTYPES),
        extents in prop::collection::vec(prop_oneof![6 => 1u64..4, 4 => 4u64..14, 1 => Just(0)], 1..4),
        known in prop::collection::vec(any::<bool>(), 4),
        views in prop::collection::vec((0u8..9, 0usize..4), 1..3),
        op in prop::sample::select(&OPS),
        axes in prop::option::weighted(0.8, prop::collection::vec(0usize..4, 1..3)),
        keeps in any::<bool>(),
    ) -> Plan {
        Plan { dtype, extents, known, views, op, axes, keeps }
    }
}

fn ints(name: &str, list: &[usize]) -> Attrs {
    Attrs::new().with(name, Attr::Ints(list.iter().map(|&axis| axis as i64).collect()))
}

/// The view of a kind along an axis.
fn view(ty: &Type, kind: u8, axis: usize) -> (&'static str, Attrs) {
    let rank = ty.rank();
    let dims = |dims: Vec<Dim>| Attrs::new().with("dims", Attr::Dims(dims.into()));
    let mut rotated: Vec<usize> = (0..rank).collect();
    rotated.rotate_left(axis % rank.max(1));
    match kind {
        0 => ("transpose", Attrs::new()),
        1 => ("transpose", ints("perm", &rotated)),
        2 => ("flip", Attrs::new()),
        3 => ("flip", ints("axes", &[axis % rank.max(1)])),
        4 => ("expand_dims", ints("axes", &[axis % (rank + 1)])),
        5 => ("reshape", dims(vec![Dim::Any])),
        6 => ("squeeze", ints("axes", &[axis % rank.max(1)])),
        7 => ("broadcast_in_dim", dims([&[Dim::Const(axis as u64)], ty.dims()].concat())),
        _ => {
            let stretched = |dim: &Dim| if *dim == Dim::Const(1) { Dim::Const(1 + axis as u64) } else { *dim };
            ("broadcast_in_dim", dims(ty.dims().iter().map(stretched).collect()))
        }
    }
}

/// The function; `None` if a view or the reduction does not fit the array.
fn build(plan: &Plan) -> Option<Function> {
    let symbols = ["n", "m", "k"];
    let dims = plan.extents.iter().enumerate().map(|(at, &extent)| match plan.known[at] {
        true => Dim::Const(extent),
        false => Dim::from(symbols[at]),
    });
    let ty = Type::array(plan.dtype, dims.collect::<Vec<_>>());
    let mut b = FuncBuilder::new("f", &[("x", ty)], vec![]);
    let mut value = b.param(0);
    for &(kind, axis) in &plan.views {
        let (name, attrs) = view(b.func().ty(value), kind, axis);
        let inst = b.inst(name, [value], attrs, []).ok()?;
        value = b.func().inst(inst).results[0];
    }
    let mut attrs = plan.axes.as_ref().map_or(Attrs::new(), |axes| ints("axes", axes));
    if plan.keeps {
        attrs = attrs.with("keepdims", Attr::Bool(true));
    }
    let inst = b.inst(plan.op, [value], attrs, []).ok()?;
    let result = b.func().inst(inst).results[0];
    b.ret([result]).ok()?;
    let mut func = b.finish();
    func.results = vec![func.ty(result).clone()];
    Some(func)
}

fn bits(results: &[Datum]) -> Vec<(Type, Vec<(u64, u64)>)> {
    results.iter().map(|datum| (datum.ty(), datum.to_array().iter().map(|s| s.bits()).collect())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn reductions_of_views_are_exact(plan in plans(), numbers in prop::collection::vec(-9i64..9, 7)) {
        let Some(func) = build(&plan) else { return Ok(()) };
        let shape: Vec<usize> = plan.extents.iter().map(|&extent| extent as usize).collect();
        // Sums of tenths and of very different numbers depend on their order; zeros of both signs show which
        // minimum was taken.
        let element = |at: usize| {
            let number = numbers[at % numbers.len()];
            match number {
                ..-6 => Scalar::F64(-0.0),
                8 => Scalar::F64(1e17),
                _ => Scalar::F64(number as f64 * if plan.dtype.is_float() { 0.1 } else { 1.0 }),
            }
        };
        let array = Array::from_fn(plan.dtype, &shape, |at| element(at).cast(plan.dtype)).unwrap();
        let mut module = Module::new();
        module.insert(func.clone());
        run("reduce-views, canonicalize, dce", &mut module);
        let rewritten = module.functions().next().unwrap();
        let evaluate = |func: &Function| evaluate_function(func, vec![Datum::Array(array.clone())], Limits::default());
        match (evaluate(&func), evaluate(rewritten)) {
            (Ok(before), Ok(after)) => {
                prop_assert_eq!(bits(&before.results), bits(&after.results), "{}{}", func, rewritten);
            }
            (Err(before), Err(after)) => prop_assert_eq!(before.kind, after.kind),
            (before, after) => prop_assert!(false, "{before:?}\n{after:?}\n{func}{rewritten}"),
        }
    }
}
