//! What results hold.

use rewright_ir::{Array, Datum};

pub fn array(datum: &Datum) -> &ndarray::ArcArray<f64, ndarray::IxDyn> {
    match datum {
        Datum::Array(Array::F64(a)) => a,
        other => panic!("no f64 array: {other}"),
    }
}
