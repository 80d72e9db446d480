//! Conversion of blocks to an e-graph and back.

use super::{remarks, run_in, saturate};
use rewright_rewrites::rewrites;
use rewright_rewrites::rule::Liberties;

/// Effects keep their order, and values that are stored to are unchanged.
#[test]
fn effects_stay() {
    let text = "func @f(%x: i64[n], %y: i64[n]) -> i64[n] {\nentry:\n  %a = neg %x\n  %b = neg %a\n  print %b\n  \
        store %y, %x\n  %c = neg %y\n  %d = neg %c\n  print %d\n  %e = neg %b\n  %g = neg %e\n  ret %g\n}\n";
    let (out, _) = run_in(rewrites(), "saturate", Liberties::empty(), text);
    let lines = super::lines(&out);
    assert_eq!(lines, ["print %x", "store %y, %x", "%c = neg %y", "%d = neg %c", "print %d", "ret %x"]);
}

/// An instruction that stays keeps its names.
#[test]
fn names_stay() {
    let lines = saturate(
        "",
        "(%x: i64, %y: i64) -> i64",
        "%keep = mul %x, %y\n%n = neg %keep\n%m = neg %n\n%out = add %m, %x\nret %out",
    );
    assert_eq!(lines[0], "%keep = mul %x, %y");
    let lines = saturate(
        "",
        "(%x: i64, %y: i64) -> i64",
        "%keep = bitand %x, %y\n%n = neg %keep\n%m = neg %n\n%out = bitor %m, 3\nret %out",
    );
    assert_eq!(lines, ["%keep = bitand %x, %y", "%out = bitor %keep, 3", "ret %out"]);
}

/// A block without a better form is unchanged, without a remark.
#[test]
fn ties_keep_the_original() {
    let text =
        super::func("(%x: f64[n], %y: f64[n]) -> f64[n]", "%a = neg %y\n%b = sub %x, %y\n%c = mul %b, %a\nret %c");
    let (out, report) = run_in(rewrites(), "saturate", Liberties::empty(), &text);
    assert!(out.contains("%c = mul %b, %a"), "{out}");
    assert_eq!((report.applied("saturate"), remarks(&report)), (0, vec![]));
}
