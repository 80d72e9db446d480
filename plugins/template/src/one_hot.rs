//! The storage style `one_hot`: a vector of which one element is one, `f64[n; one_hot]`, kept as its
//! position.

use rewright::plugin::*;

/// One component, `at`, of rank 0. It may be nowhere in the vector: then all elements are zero.
pub static ONE_HOT: StyleDef = StyleDef {
    name: "one_hot",
    doc: "a vector of which one element is one",
    components: |ty| match ty.dims() {
        [_] => Ok(vec![Component::new("at", DType::I64, [])]),
        _ => Err(format!("a vector is wanted, not rank {}", ty.rank())),
    },
    check: |_| Ok(()),
    element: |array, index| {
        let at = array.components()[0].get(&[]);
        Scalar::Bool(at == Some(Scalar::I64(index[0] as i64))).cast(array.dtype())
    },
    take: |_, array| {
        let at = array.iter().position(|element| element.truthy()).map_or(-1, |at| at as i64);
        Array::full(Scalar::I64(at), &[]).map(|at| vec![at]).ok_or_else(|| "it is too large".to_string())
    },
};

register_style!(ONE_HOT);
