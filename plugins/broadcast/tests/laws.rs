//! Laws of every registered style, over all dtypes and small extents: once an array is in a style,
//! conversion to dense and back changes nothing.

use rewright::ir::Styled;
use rewright::{Array, DType, Scalar, registry};
use rewright_broadcast as _;

const SHAPES: &[&[usize]] =
    &[&[0], &[1], &[2], &[5], &[64], &[130], &[0, 0], &[1, 1], &[2, 2], &[5, 5], &[3, 2], &[2, 70], &[2, 3, 4]];

#[test]
fn what_a_style_takes_it_keeps() {
    let mut tried = 0;
    for (style, _) in registry().styles() {
        let before = tried;
        for (dtype, shape) in DType::ALL.into_iter().flat_map(|dtype| SHAPES.iter().map(move |shape| (dtype, *shape))) {
            // Small integers, so that differences are exact, and some zeros.
            let element = |i: usize| Scalar::I64((i * i * 7 % 11) as i64 - 4).cast(dtype);
            let dense = Array::from_fn(dtype, shape, element).unwrap();
            let Ok(taken) = Styled::of(style, &dense) else { continue };
            let name = format!("{} of {dtype}{shape:?}", style.name);
            assert_eq!((taken.dtype(), taken.shape()), (dtype, shape), "{name}");
            assert_eq!(taken.names().len(), taken.components().len(), "{name}");
            let all = taken.dense();
            assert_eq!((all.dtype(), all.shape()), (dtype, shape), "{name}");
            let kept = Styled::keep(style, &all).unwrap_or_else(|why| panic!("{name}: {why}"));
            assert!(kept.dense().same_bits(&all), "{name}");
            // An array that is assembled from these components is equal, and has the same elements.
            let again = Styled::new(style, dtype, shape, kept.components().to_vec()).unwrap();
            assert_eq!(again, kept, "{name}");
            assert_eq!(
                all.iter().last(),
                shape.iter().map(|n| n.checked_sub(1)).collect::<Option<Vec<_>>>().and_then(|at| again.get(&at))
            );
            tried += 1;
        }
        assert!(tried > before, "`{}` was tried on nothing", style.name);
    }
}
