//! Proofs: the equalities of egg's `math` test, as functions, and explanations of saturation's results.

use super::func;
use rewright_ir::{Function, Module, parse_module};
use rewright_rewrites::egraph::{Named, NoProof, Proof, explain, prove, prove_values};
use rewright_rewrites::rule::Liberties;
use rewright_rewrites::{Pipeline, rewrites};

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

/// The proof, which must not be empty.
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

/// A softmax of small numbers equals the form that does not overflow for large ones.
#[test]
fn softmax_is_stable_softmax() {
    let a = "%e = exp %x\n%s = sum %e, axes=[1], keepdims=true\n%r = div %e, %s\nret %r";
    let b = "%m = max %x, axes=[1], keepdims=true\n%d = sub %x, %m\n%e = exp %d\n%s = sum %e, axes=[1], keepdims=true\n%r = div %e, %s\nret %r";
    shown(proof("approximate, no_nan, no_inf", "(%x: f64[4, 10]) -> f64[4, 10]", a, b));
}

/// The check rejects a forged proof.
#[test]
fn forged_proofs_are_refused() {
    let granted: Liberties = "approximate, no_nan, no_inf".parse().unwrap();
    let body = "%e = exp %x\n%g = exp %y\n%p = mul %e, %g\n%r = log %p\nret %r";
    let real = shown(proof(&granted.to_string(), "(%x: f64, %y: f64) -> f64", body, "%r = add %x, %y\nret %r"));
    assert_eq!((real.steps.len(), real.check(rewrites(), granted)), (2, Ok(())));
    let why = |forge: &dyn Fn(&mut Proof)| {
        let mut forged = real.clone();
        forge(&mut forged);
        forged.check(rewrites(), granted).unwrap_err().to_string()
    };
    // Another rule, which does not match, or gives another term.
    let said = why(&|p| p.steps[0].rule = "exp.quotient".into());
    assert_eq!(
        said,
        "step 1 does not follow from rule `exp.quotient`: `mul %e, %g` does not match `(div (exp ?x) (exp ?y))`"
    );
    let said = why(&|p| p.steps[0].rule = "mul.neg-neg".into());
    assert!(said.contains("does not match"), "{said}");
    assert!(why(&|p| p.steps[1].rule = "fold".into()).contains("does not fold to a constant"));
    assert!(why(&|p| p.steps[0].rule = "commute".into()).contains("operands differ after the swap"));
    assert!(why(&|p| p.steps[0].rule = "sum-of-terms".into()).contains("may not be regrouped"));
    assert!(why(&|p| p.steps[0].rule = "invented".into()).ends_with("the registry has no such rule"));
    // The wrong direction.
    assert!(why(&|p| p.steps[1].backward = true).contains("does not match"));
    // A missing step.
    for gone in 0..2 {
        assert!(why(&|p| drop(p.steps.remove(gone))).ends_with("a step is missing"));
    }
    // Rules that are not granted.
    let said = real.check(rewrites(), Liberties::empty()).unwrap_err().to_string();
    assert_eq!(
        said,
        "step 1 does not follow from rule `exp.product`: it takes liberties that are not granted: no_nan, no_inf, approximate"
    );
    // Sums of other terms.
    let other = |b: &str| proof(SUMS, "(%x: f64, %y: f64) -> f64", "%s = add %x, %y\n%r = add %s, %x\nret %r", b);
    let sum = shown(other("%d = mul %x, 2.0\n%r = add %d, %y\nret %r"));
    assert_eq!(sum.check(rewrites(), SUMS.parse().unwrap()), Ok(()));
    assert!(sum.check(rewrites(), Liberties::empty()).is_err());
}

/// The check tests conditions again, on the terms of the proof.
#[test]
fn conditions_are_asked_again() {
    let a = "%s = mul %x, %x\n%r = abs %s\n%q = add %r, 0.0\nret %q";
    let b = "%s = mul %x, %x\n%q = add %s, 0.0\nret %q";
    let found = shown(proof("", "(%x: f64) -> f64", a, b));
    let mut forged = found.clone();
    // The argument of `abs (x * x)` is not negative; the sign of the argument of `abs x` is unknown.
    let unsure =
        shown(proof("approximate", "(%x: f64) -> f64", "%s = mul %x, %x\n%r = sqrt %s\nret %r", "%r = abs %x\nret %r"));
    forged.steps = unsure.steps;
    assert!(forged.check(rewrites(), Liberties::empty()).is_err());
}

/// Two values of one function.
#[test]
fn values_are_proved_equal() {
    let (module, func) = parse(&func(
        "(%x: i64, %y: i64) -> i64",
        "%a = add %x, %y\n%b = neg %x\n%c = sub %y, %b\n%d = mul %a, %c\nret %d",
    ));
    let named = |name: &str| {
        let insts = func.blocks().flat_map(|block| func.insts(block));
        let mut values = insts.flat_map(|inst| func.inst(inst).results.iter().copied());
        values.find(|&v| func.value_name(v).is_some_and(|n| n == name)).unwrap()
    };
    let prove = |a: &str, b: &str| prove_values(&func, (named(a), named(b)), &module, rewrites(), Liberties::empty());
    assert!(prove("a", "c").is_ok_and(|proof| !proof.steps.is_empty()));
    assert!(matches!(prove("a", "b"), Err(NoProof::NotFound { .. })));
}

/// Chains of any length are proved, or rejected with a reason.
#[test]
fn long_chains_are_proved_or_refused() {
    let chain = |len: usize, last: &str| {
        let mut body = String::from("%v0 = sin %x\n");
        for n in 1..len {
            body += &format!("%v{n} = sin %v{}\n", n - 1);
        }
        body + &format!("%r = {last}\nret %r").replace('$', &format!("%v{}", len - 1))
    };
    let unary = |a: &str, b: &str| proof("", "(%x: f64) -> f64", a, b);
    let outer = |len| unary(&chain(len, "mul $, $"), &chain(len, "square $"));
    let inner = |len: usize, first: &str| chain(len, "neg $").replacen("sin %x", first, 1);
    let deep = |len| unary(&inner(len, "square %x"), &inner(len, "mul %x, %x"));
    assert_eq!(shown(outer(499)).steps.len(), 1);
    assert_eq!(shown(deep(499)).steps.len(), 1);
    for len in [2_000, 50_000] {
        let depth = len + 1;
        assert_eq!(outer(len), Err(NoProof::Deep { depth }));
        assert_eq!(deep(len), Err(NoProof::Deep { depth }));
    }
}

/// Sums with more terms than the check expands are never proved, on every attempt.
#[test]
fn large_polynomials_are_refused() {
    let params: Vec<String> = (0..600).map(|n| format!("%x{n}: i64")).collect();
    let signature = format!("({}) -> i64", params.join(", "));
    let sum = |order: &[usize]| {
        let mut body = format!("%s0 = add %x{}, %x{}\n", order[0], order[1]);
        for (n, at) in order[2..].iter().enumerate() {
            body += &format!("%s{} = add %s{n}, %x{at}\n", n + 1);
        }
        body + &format!("ret %s{}", order.len() - 2)
    };
    let forward: Vec<usize> = (0..600).collect();
    let backward: Vec<usize> = (0..600).rev().collect();
    assert!(proof("", &signature, &sum(&forward), &sum(&backward)).is_err());
}

/// A fact about one form of a value holds for the value: the proof first shows that the forms are equal.
#[test]
fn conditions_hold_of_other_forms() {
    let power = "%p = power %x, 2.0\n";
    let found = proof("", "(%x: f64) -> f64", &format!("{power}%r = abs %p\nret %r"), &format!("{power}ret %p"));
    assert_eq!(
        shown(found).to_string(),
        "power %x, 2.0  =>  mul %x, %x    power.two\nabs %p  =>  power %x, 2.0    abs.nonneg"
    );
    // The sign of a cube is unknown.
    let cube = "%p = power %x, 3.0\n";
    let found = proof("", "(%x: f64) -> f64", &format!("{cube}%r = abs %p\nret %r"), &format!("{cube}ret %p"));
    assert!(matches!(found, Err(NoProof::NotFound { .. })), "{found:?}");
}

#[test]
fn unequal_functions_have_no_proof() {
    let missing = proof("all", "(%x: f64, %y: f64) -> f64", "%r = sub %x, %y\nret %r", "%r = sub %y, %x\nret %r");
    assert!(matches!(missing, Err(NoProof::NotFound { .. })), "{missing:?}");
    let (module, a) = parse(&func("(%x: f64) -> f64", "ret %x"));
    let (_, b) = parse(&func("(%x: f32) -> f32", "ret %x"));
    let wrong = prove(&a, &b, &module, rewrites(), Default::default());
    assert_eq!(wrong.unwrap_err().to_string(), "`@f` can't be compared: its parameters are not those of `@f`");
}

/// U1: the chain of rules that led from a value to its new form.
#[test]
fn what_a_value_became_is_explained() {
    let body = "%e = exp %x\n%g = exp %y\n%p = mul %e, %g\n%r = log %p\nret %r";
    let (module, func) = parse(&func("(%x: f64, %y: f64) -> f64", body));
    let value = func.terminator(func.entry().unwrap()).map(|end| func.inst(end).args[0]).unwrap();
    let pipeline = Pipeline::parse("saturate").unwrap();
    let found = explain(&func, value, &module, rewrites(), &pipeline, "approximate, no_nan, no_inf".parse().unwrap());
    assert_eq!(
        shown(found).to_string(),
        "mul %e, %g  =>  exp (add %x, %y)    exp.product\nlog (exp (add %x, %y))  =>  add %x, %y    log.exp"
    );
    let same = explain(&func, value, &module, rewrites(), &pipeline, Default::default());
    assert_eq!(same, Err(NoProof::Unchanged("%r".to_string())));
}

/// Anonymous values are written by their numbers: those of the text if given, else those of the printer.
#[test]
fn proofs_name_anonymous_values_by_their_numbers() {
    let text =
        "func @f(%7: f64, %3: f64) -> f64 {\nentry:\n  %5 = add %7, %3\n  %2 = neg %5\n  %9 = neg %2\n  ret %9\n}\n";
    let (module, mut numberings) = rewright_ir::text::parse_numbered(text, "f.ir").unwrap();
    let func = module.functions().next().unwrap();
    let numbering = numberings.get_mut(&func.name).unwrap();
    let [first, .., last] = &func.insts(func.entry().unwrap()).collect::<Vec<_>>()[..] else { panic!() };
    let values = (func.inst(*last).args[0], func.inst(*first).results[0]);
    let proof =
        |named: Named<'_>| shown(prove_values(named, values, &module, rewrites(), Liberties::empty())).to_string();
    assert_eq!(proof(Named::numbered(func, numbering)), "neg %2  =>  add %7, %3    neg.neg");
    assert_eq!(proof(func.into()), "neg %3  =>  add %0, %1    neg.neg");
}
