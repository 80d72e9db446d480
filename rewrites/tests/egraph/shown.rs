//! Uses of equality saturation.

use super::saturate;

#[test]
fn log_of_exp() {
    let lines = saturate("approximate, no_inf", "(%x: f64[n]) -> f64[n]", "%a = exp %x\n%b = log %a\nret %b");
    assert_eq!(lines, ["ret %x"]);
    // Without the liberty nothing changes.
    let lines = saturate("", "(%x: f64[n]) -> f64[n]", "%a = exp %x\n%b = log %a\nret %b");
    assert_eq!(lines, ["%a = exp %x", "%b = log %a", "ret %b"]);
}

#[test]
fn horner() {
    let body = "%x2 = mul %x, %x\n%x3 = mul %x2, %x\n%p3 = mul %a, %x3\n%p2 = mul %b, %x2\n%p1 = mul %c, %x\n\
        %s1 = add %p3, %p2\n%s2 = add %s1, %p1\n%s3 = add %s2, %d\nret %s3";
    let signature = "(%x: f64[n], %a: f64, %b: f64, %c: f64, %d: f64) -> f64[n]";
    let lines = saturate("reassociate, no_nan, no_inf, no_signed_zeros", signature, body);
    let count = |op: &str| lines.iter().filter(|l| l.contains(&format!("= {op} "))).count();
    assert_eq!((count("mul"), count("add")), (3, 3), "{lines:#?}");
}

#[test]
fn common_factors() {
    let body = "%p = mul %a, %x\n%q = mul %b, %x\n%r = mul %c, %x\n%s = add %p, %q\n%t = add %r, %s\nret %t";
    let signature = "(%x: i64[n], %a: i64[n], %b: i64[n], %c: i64[n]) -> i64[n]";
    let lines = saturate("", signature, body);
    assert_eq!(lines.len(), 4, "{lines:#?}");
}

#[test]
fn distances() {
    let body = "%aa = mul %a, %a\n%bb = mul %b, %b\n%ab = mul %a, %b\n%m = mul %ab, 2.0\n\
        %d = sub %aa, %m\n%r = add %d, %bb\nret %r";
    let lines = saturate("reassociate, no_nan, no_inf", "(%a: f64[n], %b: f64[n]) -> f64[n]", body);
    assert_eq!(lines, ["%0 = sub %a, %b", "%r = mul %0, %0", "ret %r"]);
}

#[test]
fn reciprocals_are_hoisted() {
    let body = "%p = div %a, %x\n%q = div %b, %x\nret %p, %q";
    let lines = saturate("reciprocal", "(%a: f64[n], %b: f64[n], %x: f64[n]) -> (f64[n], f64[n])", body);
    let divs = lines.iter().filter(|l| l.contains("= div ") || l.contains("= reciprocal ")).count();
    assert_eq!((divs, lines.len()), (1, 4), "{lines:#?}");
}

#[test]
fn matrix_chains() {
    let dot = |a: &str, b: &str| format!("dot_general {a}, {b}, lhs_contract=[1], rhs_contract=[0]");
    let body = format!("%ab = {}\n%abc = {}\nret %abc", dot("%a", "%b"), dot("%ab", "%c"));
    let signature = "(%a: f64[100, 100], %b: f64[100, 100], %c: f64[100, 2]) -> f64[100, 2]";
    let lines = saturate("reassociate, no_nan, no_inf, no_signed_zeros", signature, &body);
    assert_eq!(lines[0].split(" = ").nth(1).unwrap(), dot("%b", "%c"));
}
