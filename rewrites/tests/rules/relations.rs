//! Rules whose conditions relate constants, or combine and negate conditions. Integers wrap, so the rules
//! use widened 16-bit integers and small constants: no sum and no product overflows.

use rewright_rewrites::rule::{parse_rule, soundness};

/// `?k`, `?m`, `?n`, `?p` and `?q` become constants, and the other variables except the bool `?c` become
/// widened integers.
const RULES: &[&str] = &[
    // Conjunctions.
    "(and (ne ?a ?k) (eq ?a ?m)) => (eq ?a ?m) if [(ne ?k ?m)]",
    "(and (eq ?a ?k) (eq ?a ?m)) => false if [(ne ?k ?m)]",
    "(and (lt ?k ?a) (lt ?a ?m)) => false if [(le ?m (add ?k 1))]",
    "(and (le ?a ?m) (lt ?k ?a)) => false if [(le ?m ?k)]",
    "(and (le ?k ?a) (lt ?a ?m)) => false if [(le ?m ?k)]",
    "(and (le ?k ?a) (le ?a ?m)) => false if [(lt ?m ?k)]",
    // Quotients.
    "(floordiv (floordiv ?a ?k) ?n) => (floordiv ?a [mul ?k ?n]) if [(gt ?k 0), (gt ?n 0), (eq (floordiv (mul ?k ?n) ?n) ?k)]",
    "(floordiv (mul ?a ?k) ?m) => (floordiv ?a [floordiv ?m ?k]) if [(eq (mod ?m ?k) 0), (gt ?k 0), (ne (floordiv ?m ?k) 0)]",
    "(floordiv (mul ?a ?k) ?m) => (mul ?a [floordiv ?k ?m]) if [(eq (mod ?k ?m) 0), (gt ?m 0)]",
    "(floordiv (minimum (mul ?a ?k) ?m) ?n) => (minimum (mul ?a [floordiv ?k ?n]) [floordiv ?m ?n]) if [(eq (mod ?k ?n) 0), (gt ?n 0)]",
    "(floordiv (maximum (mul ?a ?k) ?m) ?n) => (maximum (mul ?a [floordiv ?k ?n]) [floordiv ?m ?n]) if [(eq (mod ?k ?n) 0), (gt ?n 0)]",
    "(floordiv (add ?a ?k) ?m) => (add (floordiv ?a ?m) [floordiv ?k ?m]) if [(eq (mod ?k ?m) 0)]",
    "(floordiv (add (mul ?a ?k) ?m) ?n) => (floordiv (add ?a [floordiv ?m ?k]) [floordiv ?n ?k]) if [(gt ?n 0), (gt ?k 0), (eq (mod ?n ?k) 0)]",
    "(floordiv (add (mul ?a ?k) ?m) ?n) => (add (mul ?a [floordiv ?k ?n]) [floordiv ?m ?n]) if [(gt ?n 0), (eq (mod ?k ?n) 0)]",
    "(floordiv (add (mod ?a 2) ?k) 2) => (add (mod ?a 2) [floordiv ?k 2]) if [(eq (mod ?k 2) 1)]",
    // Equalities.
    "(eq (add (maximum ?a ?k) ?m) 0) => (eq ?a [neg ?m]) if [(lt (add ?k ?m) 0)]",
    "(eq (add (minimum ?a ?k) ?m) 0) => (eq ?a [neg ?m]) if [(gt (add ?k ?m) 0)]",
    "(eq (add (maximum ?a ?k) ?m) 0) => false if [(gt (add ?k ?m) 0)]",
    "(eq (add (minimum ?a ?k) ?m) 0) => false if [(lt (add ?k ?m) 0)]",
    "(eq (add (maximum ?a ?k) ?m) 0) => (le ?a ?k) if [(eq (add ?k ?m) 0)]",
    "(eq (add (minimum ?a ?k) ?m) 0) => (le ?k ?a) if [(eq (add ?k ?m) 0)]",
    "(eq (maximum ?a ?k) 0) => (eq ?a 0) if [(lt ?k 0)]",
    "(eq (minimum ?a ?k) 0) => false if [(lt ?k 0)]",
    // Orders.
    "(lt (mod ?a ?k) ?m) => (ne (mod ?a ?k) [sub ?k 1]) if [(eq (add ?m 1) ?k), (gt ?k 0)]",
    "(lt (mul ?a ?k) (mul ?b ?k)) => (lt ?b ?a) if [(lt ?k 0)]",
    "(lt (minimum ?d (add ?b ?k)) (minimum ?a ?b)) => (lt (minimum ?d (add ?b ?k)) ?a) if [(lt ?k 0)]",
    "(lt ?a (where ?c (add ?a ?k) ?d)) => (and (not ?c) (lt ?a ?d)) if [(le ?k 0)]",
    "(lt (where ?c (add ?a ?k) ?d) ?a) => (or ?c (lt ?d ?a)) if [(lt ?k 0)]",
    "(lt (floordiv (add ?a ?m) ?k) (floordiv (add ?a ?n) ?k)) => false if [(gt ?k 0), (ge ?m ?n)]",
    "(lt (floordiv ?a ?k) (floordiv (add ?a ?n) ?k)) => false if [(gt ?k 0), (ge 0 ?n)]",
    "(lt (floordiv (add ?a ?m) ?k) (floordiv ?a ?k)) => true if [(gt ?k 0), (le ?m (sub 0 ?k))]",
    "(lt (floordiv (add ?a ?m) ?k) (add (floordiv ?a ?k) ?n)) => true if [(gt ?k 0), (le ?m (sub (mul ?n ?k) ?k))]",
    "(lt (floordiv (add ?a ?m) ?k) (add (maximum (floordiv ?a ?k) ?b) ?n)) => true if [(gt ?k 0), (le ?m (sub (mul ?n ?k) ?k))]",
    "(lt (floordiv (add ?a ?m) ?k) (maximum (floordiv (add ?a ?n) ?k) ?b)) => true if [(gt ?k 0), (le ?m (sub ?n ?k))]",
    "(lt (minimum (floordiv (add ?a ?n) ?k) ?b) (floordiv (add ?a ?m) ?k)) => true if [(gt ?k 0), (le ?n (sub ?m ?k))]",
    "(lt (minimum (floordiv ?a ?k) ?b) (floordiv (add ?a ?m) ?k)) => true if [(gt ?k 0), (le 0 (sub ?m ?k))]",
    "(lt (minimum (floordiv (add ?a ?n) ?k) ?b) (add (floordiv ?a ?k) ?m)) => true if [(gt ?k 0), (le ?n (sub (mul ?m ?k) ?k))]",
    "(lt (floordiv ?a ?k) (maximum (floordiv (add ?a ?n) ?k) ?b)) => true if [(gt ?k 0), (le ?k ?n)]",
    "(lt (floordiv (add (maximum ?a (add (mul ?b ?k) ?m)) ?n) ?k) ?b) => false if [(gt ?k 0), (ge (add ?m ?n) 0)]",
    "(lt (floordiv (add (maximum (add (mul ?a ?k) ?m) ?b) ?n) ?k) ?a) => false if [(gt ?k 0), (ge (add ?m ?n) 0)]",
    "(lt (floordiv (maximum ?a (add (mul ?b ?k) ?m)) ?k) ?b) => (lt (floordiv ?a ?k) ?b) if [(gt ?k 0), (lt ?m 0)]",
    "(lt (floordiv (add (minimum ?a (add (mul ?b ?k) ?m)) ?n) ?k) ?b) => true if [(gt ?k 0), (lt (add ?m ?n) 0)]",
    "(lt (floordiv (add (minimum (mul ?a ?k) ?b) ?m) ?k) ?a) => true if [(gt ?k 0), (lt ?m 0)]",
    "(lt (floordiv (minimum (add (mul ?a ?k) ?m) ?b) ?k) ?a) => true if [(gt ?k 0), (lt ?m 0)]",
    "(lt (minimum ?a ?k) (add (minimum ?a ?m) ?n)) => false if [(ge ?k (add ?m ?n)), (le ?n 0)]",
    // Maxima.
    "(maximum (minimum ?a ?k) ?m) => ?m if [(ge ?m ?k)]",
    "(maximum (add (mul (floordiv (add ?a ?k) ?m) ?m) ?n) ?a) => ?a if [(gt ?m 0), (le (add ?k ?n) 0)]",
    "(maximum (mul (floordiv (add ?a ?k) ?m) ?m) ?a) => (mul (floordiv (add ?a ?k) ?m) ?m) if [(gt ?m 0), (ge ?k (sub ?m 1))]",
    "(maximum (mul (floordiv (add ?a ?k) ?m) ?m) ?a) => ?a if [(gt ?m 0), (le ?k 0)]",
    "(maximum (add (minimum ?a ?b) ?k) ?b) => ?b if [(le ?k 0)]",
    "(maximum ?a (where (eq ?a ?k) ?m ?a)) => (where (eq ?a ?k) ?m ?a) if [(lt ?k ?m)]",
    "(maximum (where (eq ?a ?k) ?m ?a) ?n) => (maximum ?a ?n) if [(le ?k ?n), (le ?m ?n)]",
    "(maximum (add ?a ?k) (add ?b ?m)) => (add (maximum ?a (add ?b [sub ?m ?k])) ?k) if [(gt ?m ?k)]",
    "(maximum (maximum ?a ?b) (add ?a ?k)) => (maximum ?a ?b) if [(lt ?k 0)]",
    "(maximum (mul ?a ?k) ?m) => (mul (minimum ?a [floordiv ?m ?k]) ?k) if [(lt ?k 0), (eq (mod ?m ?k) 0)]",
    "(maximum (mul ?a ?k) (mul ?b ?m)) => (mul (minimum (mul ?a [floordiv ?k ?m]) ?b) ?m) if [(lt ?m 0), (eq (mod ?k ?m) 0)]",
    "(maximum (floordiv ?a ?k) (floordiv ?b ?k)) => (floordiv (minimum ?a ?b) ?k) if [(lt ?k 0)]",
    "(maximum (floordiv (add ?a ?k) ?m) (mul (floordiv (add ?a ?n) ?p) ?q)) => (floordiv (add ?a ?k) ?m) if [(le ?n ?k), (gt ?m 0), (gt ?p 0), (eq (mul ?m ?q) ?p)]",
    "(maximum (floordiv ?a ?m) (mul (floordiv (add ?a ?n) ?p) ?q)) => (mul (floordiv (add ?a ?n) ?p) ?q) if [(le (sub ?p ?m) ?n), (gt ?m 0), (gt ?p 0), (eq (mul ?m ?q) ?p)]",
    "(maximum (floordiv (add ?a ?k) ?m) (mul (floordiv ?a ?p) ?q)) => (mul (floordiv ?a ?p) ?q) if [(le (sub (add ?k ?p) ?m) 0), (gt ?m 0), (gt ?p 0), (eq (mul ?m ?q) ?p)]",
    // Minima.
    "(minimum (maximum ?a ?k) ?m) => ?m if [(le ?m ?k)]",
    "(minimum (add (mul (floordiv (add ?a ?k) ?m) ?m) ?n) ?a) => ?a if [(gt ?m 0), (ge (add ?k ?n) (sub ?m 1))]",
    "(minimum (add (mul (floordiv ?a ?m) ?m) ?n) ?a) => ?a if [(gt ?m 0), (ge ?n (sub ?m 1))]",
    "(minimum (add (mul (floordiv ?a ?m) ?m) ?n) ?a) => (add (mul (floordiv ?a ?m) ?m) ?n) if [(gt ?m 0), (le ?n 0)]",
    "(minimum (maximum (sub ?k ?a) ?a) ?m) => ?m if [(le (mul 2 ?m) (add ?k 1))]",
    "(minimum ?a (where (eq ?a ?k) ?m ?a)) => (where (eq ?a ?k) ?m ?a) if [(lt ?m ?k)]",
    "(minimum ?a (where (eq ?a ?k) ?m ?a)) => ?a if [(le ?k ?m)]",
    "(minimum (add (minimum ?a ?b) ?k) ?a) => (add (minimum ?a ?b) ?k) if [(lt ?k 0)]",
    "(minimum (mul ?a ?k) ?m) => (mul (minimum ?a [floordiv ?m ?k]) ?k) if [(gt ?k 0), (eq (mod ?m ?k) 0)]",
    "(minimum (mul ?a ?k) (mul ?b ?m)) => (mul (maximum ?a (mul ?b [floordiv ?m ?k])) ?k) if [(lt ?k 0), (eq (mod ?m ?k) 0)]",
    "(minimum (mul ?a ?k) (add (mul ?b ?k) ?m)) => (mul (maximum ?a (add ?b [floordiv ?m ?k])) ?k) if [(lt ?k 0), (eq (mod ?m ?k) 0)]",
    "(minimum (floordiv ?a ?k) (floordiv ?b ?k)) => (floordiv (maximum ?a ?b) ?k) if [(lt ?k 0)]",
    "(minimum (floordiv (add ?a ?k) ?m) (mul (floordiv (add ?a ?n) ?p) ?q)) => (mul (floordiv (add ?a ?n) ?p) ?q) if [(le ?n ?k), (gt ?m 0), (gt ?p 0), (eq (mul ?m ?q) ?p)]",
    "(minimum (floordiv ?a ?m) (mul (floordiv (add ?a ?n) ?p) ?q)) => (mul (floordiv (add ?a ?n) ?p) ?q) if [(le ?n 0), (gt ?m 0), (gt ?p 0), (eq (mul ?m ?q) ?p)]",
    "(minimum (floordiv (add ?a ?k) ?m) (mul (floordiv ?a ?p) ?q)) => (mul (floordiv ?a ?p) ?q) if [(le 0 ?k), (gt ?m 0), (gt ?p 0), (eq (mul ?m ?q) ?p)]",
    // Remainders.
    "(mod (mul ?a ?k) ?m) => (mod (mul ?a [mod ?k ?m]) ?m) if [(gt ?m 0), (or (ge ?k ?m) (lt ?k 0))]",
    "(mod (add ?a ?k) ?m) => (mod (add ?a [mod ?k ?m]) ?m) if [(gt ?m 0), (or (ge ?k ?m) (lt ?k 0))]",
    "(mod (mul ?a ?k) ?m) => (mul (mod ?a [floordiv ?m ?k]) ?k) if [(gt ?k 0), (eq (mod ?m ?k) 0)]",
    "(mod (add (mul ?a ?k) ?b) ?m) => (mod ?b ?m) if [(eq (mod ?k ?m) 0)]",
    "(mod (sub (mul ?a ?k) ?b) ?m) => (mod (neg ?b) ?m) if [(eq (mod ?k ?m) 0)]",
    "(mod (sub ?b (mul ?a ?k)) ?m) => (mod ?b ?m) if [(eq (mod ?k ?m) 0)]",
    // Products.
    "(mul (add ?a ?k) ?m) => (add (mul ?a ?m) [mul ?k ?m]) if [(or (eq ?m 0) (eq (floordiv (mul ?k ?m) ?m) ?k))]",
    "(mul (sub ?k ?a) ?m) => (add (mul ?a [neg ?m]) [mul ?k ?m]) if [(or (eq ?m 0) (eq (floordiv (mul ?k ?m) ?m) ?k))]",
    "(mul (sub ?a ?b) ?k) => (mul (sub ?b ?a) [neg ?k]) if [(lt ?k 0), (gt (neg ?k) 0)]",
    "(mul (mul ?a ?k) ?m) => (mul ?a [mul ?k ?m]) if [(or (eq ?m 0) (eq (floordiv (mul ?k ?m) ?m) ?k))]",
    // Disjunctions.
    "(or (ne ?a ?k) (eq ?a ?m)) => (ne ?a ?k) if [(ne ?k ?m)]",
    "(or (le ?a ?k) (le ?m ?a)) => true if [(le ?m (add ?k 1))]",
    "(or (le ?a ?k) (lt ?m ?a)) => true if [(le ?m ?k)]",
    "(or (le ?m ?a) (lt ?a ?k)) => true if [(le ?m ?k)]",
    // Choices.
    "(where (lt ?a ?k) 0 (add (minimum ?a ?k) ?m)) => 0 if [(eq ?k (neg ?m))]",
    "(where (lt ?k ?a) (add ?a ?m) ?n) => (maximum (add ?a ?m) ?n) if [(or (eq ?n (add ?k ?m)) (eq ?n (add (add ?k ?m) 1)))]",
    "(where (lt ?a ?k) ?m (add ?a ?n)) => (maximum (add ?a ?n) ?m) if [(or (eq ?m (add ?k ?n)) (eq (add ?m 1) (add ?k ?n)))]",
    "(where (lt ?k ?a) ?m (add ?a ?n)) => (minimum (add ?a ?n) ?m) if [(or (eq ?m (add ?k ?n)) (eq ?m (add (add ?k ?n) 1)))]",
    "(where (lt ?a ?k) (add ?a ?m) ?n) => (minimum (add ?a ?m) ?n) if [(or (eq ?n (add ?k ?m)) (eq (add ?n 1) (add ?k ?m)))]",
    "(where (lt ?k ?a) ?a ?m) => (maximum ?a ?m) if [(eq ?m (add ?k 1))]",
    "(where (lt ?a ?k) ?m ?a) => (maximum ?a ?m) if [(eq (add ?m 1) ?k)]",
    "(where (lt ?k ?a) ?m ?a) => (minimum ?a ?m) if [(eq ?m (add ?k 1))]",
    "(where (lt ?a ?k) ?a ?m) => (minimum ?a ?m) if [(eq (add ?m 1) ?k)]",
    // Differences.
    "(sub ?a ?k) => (add ?a [neg ?k]) if [(not (eq ?k least))]",
    "(sub ?a (mul ?b ?k)) => (add ?a (mul ?b [neg ?k])) if [(lt ?k 0), (gt (neg ?k) 0)]",
    "(sub (minimum (mul ?a ?k) ?m) (mul (minimum ?a ?n) ?k)) => (minimum (sub ?m (mul (minimum ?a ?n) ?k)) 0) if [(gt ?k 0), (le ?m (mul ?n ?k))]",
    "(sub (mul (floordiv (add ?a ?k) ?m) ?m) ?a) => (mod (neg ?a) ?m) if [(gt ?m 0), (eq (add ?k 1) ?m)]",
    "(sub ?a (mul (floordiv (add ?a ?k) ?m) ?m)) => (add (mod (add ?a ?k) ?m) [neg ?k]) if [(gt ?m 0), (eq (add ?k 1) ?m)]",
];

/// The names of constants.
const CONSTANTS: &str = "kmnpq";

/// The rule with dtypes, and with bounds for its constants.
fn widened(rule: &str) -> String {
    let (sides, conditions) = rule.split_once(" if [").expect("a condition");
    let conditions = conditions.strip_suffix(']').expect("the end of the conditions");
    let mut text = String::new();
    let mut seen = String::new();
    let mut chars = sides.chars();
    while let Some(c) = chars.next() {
        let name = if c == '?' { chars.next() } else { None };
        let Some(name) = name else {
            text.push(c);
            continue;
        };
        let is_first = !seen.contains(name);
        if is_first {
            seen.push(name);
        }
        match (name, is_first) {
            ('c', true) => text += "?c:bool",
            (name, true) if CONSTANTS.contains(name) => text += &format!("?{name}:const.i64"),
            (name, true) => text += &format!("(cast ?{name}:i16 to=i64)"),
            (name, false) if name == 'c' || CONSTANTS.contains(name) => text += &format!("?{name}"),
            (name, false) => text += &format!("(cast ?{name} to=i64)"),
        }
    }
    let constants = seen.chars().filter(|&name| CONSTANTS.contains(name));
    let bounds: String = constants.map(|name| format!(", (lt -300 ?{name}), (lt ?{name} 300)")).collect();
    format!("{text} if [{conditions}{bounds}]")
}

fn check(text: &str) -> soundness::Soundness {
    soundness::check(&parse_rule("rule", text).unwrap_or_else(|e| panic!("{e}")))
}

#[test]
fn a_hundred_rules_hold() {
    assert!(RULES.len() >= 100, "there are {}", RULES.len());
    let mut wrong = Vec::new();
    for rule in RULES {
        let found = check(&widened(rule));
        match found.counterexample {
            Some(example) => wrong.push(format!("{rule}: {example}")),
            None if found.points < 100 => wrong.push(format!("{rule}: only {} points", found.points)),
            None => {}
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// One relation of each kind is left out, reversed, or off by one.
#[test]
fn rules_with_a_wrong_relation_have_a_counterexample() {
    let wrong = [
        // No number is divisible by zero here, and a quotient by it is zero.
        "(add (mul ?a ?k) (mul ?b ?m)) => (mul (add ?a (mul ?b [floordiv ?m ?k])) ?k) if [(eq (mod ?m ?k) 0)]",
        "(eq (add (mul ?a ?k) ?m) 0) => (eq ?a [neg [floordiv ?m ?k]]) if [(eq (mod ?m ?k) 0)]",
        "(where ?c (mul ?a ?k) ?m) => (mul (where ?c ?a [floordiv ?m ?k]) ?k) if [(eq (mod ?m ?k) 0)]",
        // The divisor may be negative.
        "(lt ?k (floordiv ?a ?m)) => (lt ?a [mul ?k ?m]) if [(lt ?m 0)]",
        "(maximum (floordiv ?a ?k) (floordiv ?b ?k)) => (floordiv (maximum ?a ?b) ?k) if [(ne ?k 0)]",
        // The wrong divisibility.
        "(floordiv (mul ?a ?k) ?m) => (mul ?a [floordiv ?k ?m]) if [(eq (mod ?m ?k) 0), (gt ?m 0)]",
        "(mod (add (mul ?a ?k) ?b) ?m) => (mod ?b ?m) if [(eq (mod ?m ?k) 0)]",
        // Off by one.
        "(where (lt ?k ?a) ?a ?m) => (maximum ?a ?m) if [(eq ?m (add ?k 2))]",
        "(and (lt ?k ?a) (lt ?a ?m)) => false if [(le ?m (add ?k 2))]",
        "(lt (mod ?a ?k) ?m) => (ne (mod ?a ?k) [sub ?k 1]) if [(eq (add ?m 2) ?k), (gt ?k 0)]",
        "(maximum (mul (floordiv (add ?a ?k) ?m) ?m) ?a) => (mul (floordiv (add ?a ?k) ?m) ?m) if [(gt ?m 0), (ge ?k (sub ?m 2))]",
        // The other one of two exclusive conditions.
        "(and (ne ?a ?k) (eq ?a ?m)) => (eq ?a ?m) if [(eq ?k ?m)]",
        "(minimum ?a (where (eq ?a ?k) ?m ?a)) => ?a if [(not (le ?k ?m))]",
        "(lt (minimum ?a ?k) (minimum ?a ?m)) => false if [(or (ge ?k ?m) (eq (add ?k 1) ?m))]",
    ];
    let accepted: Vec<&str> = wrong.into_iter().filter(|rule| check(&widened(rule)).counterexample.is_none()).collect();
    assert_eq!(accepted, Vec::<&str>::new());
    // Without the widening they wrap.
    let wraps = [
        "(floordiv (mul ?a:int ?k:const) ?m:const) => (mul ?a [floordiv ?k ?m]) if [(eq (mod ?k ?m) 0), (gt ?m 0)]",
        "(mod (add ?a:signed ?k:const) ?m:const) => (mod (add ?a [mod ?k ?m]) ?m) if [(gt ?m 0), (ge ?k ?m)]",
        "(lt (add ?a:int ?k:const) (add ?a ?m:const)) => true if [(lt ?k ?m)]",
    ];
    for rule in wraps {
        assert!(check(rule).counterexample.is_some(), "{rule}");
    }
}

/// Relations that hold for wrapping integers, for bools, and for floats.
#[test]
fn rules_that_wrap_hold_too() {
    for rule in [
        "(mod (add ?a:int ?k:const) ?m:const) => (mod (add ?a [mod ?k ?m]) ?m) if [power_of_two(?m), (ge ?k ?m)]",
        "(bitand (bitor ?a:int ?k:const) ?m:const) => (bitand ?a ?m) if [(eq (bitand ?k ?m) 0)]",
        "(bitor (bitand ?a:int ?k:const) ?m:const) => (bitor ?a ?m) if [(eq (bitor ?k ?m) all_bits)]",
        "(bitand (bitand ?a:int ?k:const) ?m:const) => 0 if [(eq (bitand ?k ?m) 0)]",
        "(left_shift (left_shift ?a:int ?k:const) ?m:const) => (left_shift ?a [add ?k ?m]) if [below_width(?k), below_width(?m), (lt (add ?k ?m) width)]",
        "(left_shift (left_shift ?a:int ?k:const) ?m:const) => 0 if [below_width(?k), below_width(?m), (ge (add ?k ?m) width)]",
        "(sub (add ?a:int ?k:const) [neg ?k]) => (add ?a [add ?k ?k])",
        "(maximum (minimum ?a:float ?k:const) ?m:const) => ?m if [(ge ?m ?k), not_nan(?a), (ne ?m 0)]",
        "(and (lt ?a ?k:const) (gt ?a ?m:const)) => false if [(le ?k ?m)]",
        "(eq (mul ?a:int ?k:const) ?m:const) => false if [(eq (bitand ?k 1) 0), (eq (bitand ?m 1) 1)]",
    ] {
        let found = check(rule);
        assert!(found.points > 50, "{rule}: {} points", found.points);
        if let Some(example) = found.counterexample {
            panic!("{rule}: {example}");
        }
    }
}
