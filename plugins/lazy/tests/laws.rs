//! Properties of every lazy expression: its elements are those of the same views of the array, and its text
//! parses to it.

use crate::support::{View, input, reference};
use proptest::prelude::*;
use rewright_lazy::{LazyArray, LazyExpr};

fn index_of(mut flat: usize, shape: &[usize]) -> Vec<u64> {
    let mut index: Vec<u64> = shape
        .iter()
        .rev()
        .map(|n| {
            let at = flat % n;
            flat /= n;
            at as u64
        })
        .collect();
    index.reverse();
    index
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("REWRIGHT_VIEWS").ok().and_then(|n| n.parse().ok()).unwrap_or(3000), ..Default::default() })]

    /// T86.
    #[test]
    fn views_of_views_of_views_are_those_of_the_array(input in input(), views in prop::collection::vec((any::<u8>(), any::<[u8; 4]>()), 3)) {
        let array = reference(&input);
        let (mut expr, mut all) = (LazyExpr::of(input.clone()), array.clone());
        for (op, seed) in views {
            let Some(view) = View::drawn(&expr, op, seed) else { continue };
            (all, expr) = (view.of(&all), view.expr);
        }
        prop_assert_eq!(expr.shape(), all.shape().iter().map(|&n| n as u64).collect::<Vec<_>>());
        let lazy = if input.is_constant() { LazyArray::constant(expr.clone()) } else { LazyArray::new(expr.clone(), array) };
        let lazy = lazy.unwrap();
        for (flat, element) in all.iter().enumerate() {
            let index = index_of(flat, all.shape());
            prop_assert_eq!(lazy.get(&index), Some(element), "{} at {:?}", &expr, index);
        }
        // As a function reads it, which never takes more memory than the array itself.
        let rewright::exec::Arg::View(given) = lazy.arg().unwrap() else {
            prop_assert!(expr.is_trivial() || lazy.is_forced());
            return Ok(());
        };
        prop_assert_eq!(given.to_array(), all.clone(), "{} as an argument", &expr);
        prop_assert!(lazy.bytes() <= all.len().max(1) * all.dtype().size(), "{} holds {} bytes", &expr, lazy.bytes());
        prop_assert_eq!(lazy.force().unwrap(), &all);
    }

    #[test]
    fn text_is_read_as_it_was_written(input in input(), views in prop::collection::vec((any::<u8>(), any::<[u8; 4]>()), 0..4)) {
        let mut expr = LazyExpr::of(input);
        for (op, seed) in views {
            expr = View::drawn(&expr, op, seed).map_or(expr, |view| view.expr);
        }
        let text = expr.to_string();
        let again: LazyExpr = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
        prop_assert_eq!(&again, &expr, "{}", text);
        prop_assert_eq!(again.to_string(), text);
        let ron = ron::to_string(&expr).unwrap();
        prop_assert_eq!(ron::from_str::<LazyExpr>(&ron).unwrap(), expr);
    }

    #[test]
    fn no_text_is_too_much(words in prop::collection::vec(prop::sample::select(WORDS.to_vec()), 0..24), any in ".{0,20}", at in 0usize..24) {
        let at = at.min(words.len());
        for text in [words.concat(), format!("{}{any}{}", words[..at].concat(), words[at..].concat()), any] {
            match text.parse::<LazyExpr>() {
                Ok(expr) => prop_assert_eq!(expr.to_string().parse(), Ok(expr)),
                Err(error) => prop_assert!(error.at <= text.len() && text.is_char_boundary(error.at), "{}: {}", text, error),
            }
        }
    }
}

const WORDS: &[&str] = &[
    "var",
    "full",
    "iota",
    "eye",
    "tri",
    "delta",
    "(",
    ")",
    "[",
    "]",
    "f64",
    "i64",
    "bool",
    "c128",
    ",",
    ", ",
    ":",
    "->",
    "i",
    "j",
    " ",
    "+",
    "-",
    "*",
    "0",
    "1",
    "2",
    "3",
    "18446744073709551615",
    "-9223372036854775808",
    "iota(i64, 3)",
    "var(f64[3, 2])",
    "[i: 3, j: 4 -> i, j]",
    "[i: 2 -> 2 - i]",
    "170141183460469231731687303715884105727",
    "0.5:f32",
    "full(NaN:f64)",
    "é",
];
