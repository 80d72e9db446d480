//! Proofs: the equalities that egg's own `math` test shows, as functions, and what saturation made of a value.

use super::func;
use rewright_ir::{Function, Module, parse_module};
use rewright_rewrites::egraph::{NoProof, Proof, explain, prove};
use rewright_rewrites::rewrites;

fn parse(text: &str) -> (Module, Function) {
    let module = parse_module(text, "f.ir").unwrap();
    let func = module.functions().next().unwrap().clone();
    (module, func)
}

fn proof(liberties: &str, signature: &str, a: &str, b: &str) -> Result<Proof, NoProof> {
    let (module, a) = parse(&func(signature, a));
    let (_, b) = parse(&func(signature, b));
    prove(&a, &b, &module, rewrites(), liberties.parse().unwrap())
}

const SUMS: &str = "reassociate, no_nan, no_inf, no_signed_zeros";

/// Steps of a proof, which is not empty.
fn shown(found: Result<Proof, NoProof>) -> Proof {
    let proof = found.unwrap_or_else(|e| panic!("{e}"));
    assert!(!proof.steps.is_empty());
    println!("{proof}\n");
    proof
}

#[test]
fn sums_are_associative() {
    let signature = "(%a: i64, %b: i64, %c: i64, %d: i64, %e: i64, %g: i64, %h: i64) -> i64";
    let chain = |names: [&str; 7]| {
        let mut body = format!("%s0 = add %{}, %{}\n", names[5], names[6]);
        for (n, name) in names[..5].iter().rev().enumerate() {
            body += &format!("%s{} = add %{name}, %s{n}\n", n + 1);
        }
        body + "ret %s5"
    };
    let (a, b) = (chain(["a", "b", "c", "d", "e", "g", "h"]), chain(["h", "g", "e", "d", "c", "b", "a"]));
    shown(proof("", signature, &a, &b));
    let floats = signature.replace("i64", "f64");
    shown(proof(SUMS, &floats, &a, &b));
    // Sums of floats are not associative.
    assert!(matches!(proof("", &floats, &a, &b), Err(NoProof::NotFound { .. })));
}

#[test]
fn four_times() {
    let a = "%p = add %x, %x\n%q = add %x, %p\n%r = add %x, %q\nret %r";
    shown(proof("", "(%x: i32) -> i32", a, "%r = mul %x, 4\nret %r"));
    shown(proof(SUMS, "(%x: f64) -> f64", a, "%r = mul 4.0, %x\nret %r"));
}

#[test]
fn constants_are_left() {
    let a = "%c = sub 2.0, 1.0\n%p = mul %c, %a\n%q = sub %a, %p\n%r = add 1.0, %q\nret %r";
    shown(proof(SUMS, "(%a: f64) -> f64", a, "ret 1.0"));
}

#[test]
fn factors_and_terms() {
    let a = "%p = add %x, 3.0\n%q = add %x, 1.0\n%r = mul %p, %q\nret %r";
    let b = "%xx = mul %x, %x\n%x4 = mul 4.0, %x\n%s = add %xx, %x4\n%r = add %s, 3.0\nret %r";
    shown(proof(SUMS, "(%x: f64) -> f64", a, b));
}

#[test]
fn roots() {
    let a = "%five = sqrt %x\n%p = add 1.0, %five\n%q = div %p, 2.0\n%m = sub 1.0, %five\n%n = div %m, 2.0\n%d = sub %q, %n\n%r = div 1.0, %d\nret %r";
    let b = "%five = sqrt %x\n%r = div 1.0, %five\nret %r";
    shown(proof(SUMS, "(%x: f64) -> f64", a, b));
}

#[test]
fn powers() {
    let a = "%p = power 2.0, %x\n%q = power 2.0, %y\n%r = mul %p, %q\nret %r";
    let b = "%s = add %x, %y\n%r = power 2.0, %s\nret %r";
    let found = shown(proof("approximate, no_nan, no_inf", "(%x: f64, %y: f64) -> f64", a, b));
    assert_eq!(found.to_string(), "mul %p, %q  =>  power 2.0, %s'    power.sum");
    assert!(found.steps[0].is_rule());
}

/// A softmax of small numbers is one that does not overflow for great ones.
#[test]
fn softmax_is_stable_softmax() {
    let a = "%e = exp %x\n%s = sum %e, axes=[1], keepdims=true\n%r = div %e, %s\nret %r";
    let b = "%m = max %x, axes=[1], keepdims=true\n%d = sub %x, %m\n%e = exp %d\n%s = sum %e, axes=[1], keepdims=true\n%r = div %e, %s\nret %r";
    shown(proof("approximate, no_nan, no_inf", "(%x: f64[4, 10]) -> f64[4, 10]", a, b));
}

#[test]
fn what_is_not_equal_has_no_proof() {
    let missing = proof("all", "(%x: f64, %y: f64) -> f64", "%r = sub %x, %y\nret %r", "%r = sub %y, %x\nret %r");
    assert!(matches!(missing, Err(NoProof::NotFound { .. })), "{missing:?}");
    let (module, a) = parse(&func("(%x: f64) -> f64", "ret %x"));
    let (_, b) = parse(&func("(%x: f32) -> f32", "ret %x"));
    let wrong = prove(&a, &b, &module, rewrites(), Default::default());
    assert_eq!(wrong.unwrap_err().to_string(), "`@f` can't be compared: its parameters are not those of `@f`");
}

/// U1: the chain of rules that led from a value to what it became.
#[test]
fn what_a_value_became_is_explained() {
    let body = "%e = exp %x\n%g = exp %y\n%p = mul %e, %g\n%r = log %p\nret %r";
    let (module, func) = parse(&func("(%x: f64, %y: f64) -> f64", body));
    let value = func.terminator(func.entry().unwrap()).map(|end| func.inst(end).args[0]).unwrap();
    let found = explain(&func, value, &module, rewrites(), "approximate, no_nan, no_inf".parse().unwrap());
    assert_eq!(
        shown(found).to_string(),
        "mul %e, %g  =>  exp (add %x, %y)    exp.product\nlog (exp (add %x, %y))  =>  add %x, %y    log.exp"
    );
    let same = explain(&func, value, &module, rewrites(), Default::default());
    assert_eq!(same, Err(NoProof::Unchanged("%r".to_string())));
}
