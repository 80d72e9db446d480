//! Complete error messages of invalid texts with their excerpts, stored in `text_errors.txt`. With
//! `REWRIGHT_BLESS=1` the file is rewritten.

use pretty_assertions::assert_eq;
use rewright_ir::parse_module;
use std::fmt::Write;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/text_errors.txt");

const CASES: [(&str, &str); 14] = [
    (
        "several mistakes, all told at once",
        "func @f(%x: f64[n], %k: f46) -> f64[n] {\nentry:\n  %a = mull %x, 2.0\n  %b = add %y, %x\n  ret %b\n}\n\n\
func @g(%x: f64[2]) -> f64[3] {\nentry:\n  ret %x\n}\n",
    ),
    (
        "shapes that can't be broadcast",
        "func @f(%a: f64[3, 4], %b: f64[3]) -> f64[3, 4] {\nentry:\n  %0 = add %a, %b\n  ret %0\n}\n",
    ),
    ("an integer that does not fit", "func @f(%x: u8[n]) -> u8[n] {\nentry:\n  %0 = add %x, 300\n  ret %0\n}\n"),
    (
        "a stated type that is not the one",
        "func @f(%x: f32[n]) -> f32[n] {\nentry:\n  %0 = mul %x, 2.0 : f64[n]\n  ret %0\n}\n",
    ),
    (
        "an attribute that is not there",
        "func @f(%x: f64[n, m]) -> f64[m] {\nentry:\n  %0 = sum %x, axis=[0]\n  ret %0\n}\n",
    ),
    (
        "a value that is not defined on every path",
        "func @f(%c: bool, %x: f64) -> f64 {\nentry:\n  br_if %c, yes, no\nyes:\n  %y = neg %x\n  jump no\nno:\n  ret %y\n}\n",
    ),
    (
        "a block without an end, and a branch with the wrong arguments",
        "func @f(%x: f64) -> f64 {\nentry:\n  jump next(%x, %x)\nnext(%y: f64):\n  %z = neg %y\n}\n",
    ),
    (
        "a value used after its del",
        "func @f(%x: f64[n]) -> f64[n] {\nentry:\n  %y = neg %x\n  del %y\n  %z = neg %y\n  ret %z\n}\n",
    ),
    ("a cycle", "func @f(%x: f64) -> f64 {\nentry:\n  %a = add %b, %x\n  %b = neg %a\n  ret %a\n}\n"),
    (
        "mistakes inside of an expression",
        "func @f(%a: f64[n], %b: f64[m]) -> f64[n] {\nentry:\n  %0 = arrayexpr [i: n] (x = %a[clmp(i)], y = %b[i]) {\n    \
yield x\n  } : f64[n]\n  %1 = arrayexpr [i: n] (x = %a[i]) {\n    t0 = bitand x, 1\n    t1 = ad x, t0\n    t2 = mul x, s\n    \
yield t2\n  } : f64[n]\n  %2 = arrayexpr [i: n, k: reduce m] (x = %a[i]) {\n    yield x\n  } : f64[n]\n  ret %0\n}\n",
    ),
    (
        "a call of an unknown function",
        "func @smooth(%x: f64) -> f64 {\nentry:\n  ret %x\n}\n\nfunc @f(%x: f64) -> f64 {\nentry:\n  \
%0 = call @smoth(%x)\n  ret %0\n}\n",
    ),
    ("a string without an end", "func @f() {\nentry:\n  raise kind=\"ValueError, message=\"no\"\n}\n"),
    ("a brace that is missing", "func @f(%x: f64) -> f64 {\nentry:\n  ret %x\n\nfunc @g() {\nentry:\n  ret\n}\n"),
    ("no function at all", "module { }\n"),
];

#[test]
fn messages_are_those_of_the_file() {
    let mut found = String::new();
    for (name, text) in CASES {
        let errors = parse_module(text, "example.ir").expect_err(name);
        let picture: Vec<_> = errors.render(false).lines().map(|l| l.trim_end().to_string()).collect();
        let _ = write!(found, "=== {name}\n\n{}\n\n{}\n\n", text.trim_end(), picture.join("\n"));
    }
    if std::env::var_os("REWRIGHT_BLESS").is_some() {
        std::fs::write(FILE, &found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(FILE).unwrap().replace("\r\n", "\n"));
}
