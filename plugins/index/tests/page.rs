//! The examples of the page of index notation. Comments before a statement give its arrays; those behind it
//! give the results, or a part of the error.

use crate::support::outcome;
use rewright::{Array, DType, Datum, Literal, Scalar};

const PAGE: &str = include_str!("../../../docs/index-notation.md");

/// A number or a nested list of numbers.
fn value(text: &str) -> Datum {
    let (mut shape, mut numbers, mut depth, mut counts) = (Vec::new(), Vec::new(), 0usize, vec![0usize; 8]);
    for part in text.replace('[', " [ ").replace(']', " ] ").replace(',', " , ").split_whitespace() {
        match part {
            "[" => {
                depth += 1;
                counts[depth] = 1;
            }
            "]" => {
                if shape.len() < depth {
                    shape.resize(depth, 0);
                }
                shape[depth - 1] = counts[depth];
                depth -= 1;
            }
            "," => counts[depth] += 1,
            number => numbers.push(match number.parse::<i64>() {
                Ok(n) => Literal::Int(n.into()),
                Err(_) => Literal::Float(number.parse().unwrap_or_else(|e| panic!("{number}: {e}"))),
            }),
        }
    }
    let is_float = numbers.iter().any(|n| matches!(n, Literal::Float(_)));
    let dtype = if is_float { DType::F64 } else { DType::I64 };
    let at = |n: usize| numbers[n].at(dtype).unwrap_or(Scalar::zero(dtype));
    match shape.is_empty() {
        true => at(0).into(),
        false => Array::from_fn(dtype, &shape, at).expect("memory").into(),
    }
}

#[test]
fn examples_give_the_results_of_the_page() {
    let mut count = 0;
    for block in PAGE.split("\n```idx\n").skip(1) {
        let block = block.split("\n```").next().unwrap_or_default();
        let (mut args, mut text, mut wanted) = (Vec::new(), String::new(), Vec::new());
        for line in block.lines() {
            match line.strip_prefix("# ") {
                Some(comment) if text.is_empty() => {
                    let (name, given) = comment.split_once(" = ").expect("an array");
                    args.push((&*name.to_string().leak(), value(given)));
                }
                Some(comment) => wanted.push(comment),
                None => text.push_str(&format!("{line}\n")),
            }
        }
        let found = outcome(&text, &args);
        for comment in wanted {
            match (comment.strip_prefix("error: "), &found) {
                (Some(part), Err(message)) => assert!(message.contains(part), "{text}\n{message}"),
                (None, Ok(results)) => {
                    let (name, wanted) = comment.split_once(" = ").expect("a result");
                    let (found, wanted) = (&results[name], value(wanted));
                    assert_eq!(found.ty(), wanted.ty(), "{text}\n{found}");
                    assert!(found.to_array().same_bits(&wanted.to_array()), "{text}\n{found}\n{wanted}");
                }
                (_, found) => panic!("{text}\n{found:?}"),
            }
            count += 1;
        }
    }
    assert!(count >= 13, "{count} results");
}
