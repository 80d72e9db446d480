//! Verdicts on rules that are nearly right: NaN and infinities beside rounding, units of rounding, large
//! arrays, many combinations.

use rewright_rewrites::rule::soundness::{Judgement, Verdict, check, judge};
use rewright_rewrites::rule::{Rule, parse_rule};

fn rule(text: &str) -> Rule {
    parse_rule("rule", text).unwrap_or_else(|e| panic!("{e}"))
}

/// All rules with a verdict other than this.
fn others(verdict: Verdict, rules: &[&str]) -> Vec<String> {
    let found = rules.iter().map(|text| (text, check(&rule(text))));
    found.filter(|(_, found)| found.verdict() != verdict).map(|(text, found)| format!("{text}\n  {found}")).collect()
}

#[test]
fn a_nan_of_one_side_is_a_difference_however_a_rule_rounds() {
    let unsound = [
        "(abs ?x:f64) => (mul (sqrt ?x) (sqrt ?x)) liberties [approximate, no_inf]",
        "(abs ?x:f64) => (exp (log ?x)) liberties [contract, no_inf]",
        "(mul ?x:float ?y) => (div (mul (mul ?x ?y) ?x) ?x) liberties [reassociate, no_inf, no_nan]",
        "(abs ?x:float) => (add (abs ?x) (mul 0 (acos ?x))) liberties [approximate, no_inf]",
        "(log (mul ?a:float ?b)) => (add (log ?a) (log ?b)) liberties [approximate, no_nan, no_inf]",
        "(log (power ?a:float ?b)) => (mul ?b (log ?a)) liberties [approximate, no_nan, no_inf]",
        "(sqrt (div ?x:float ?y)) => (div (sqrt ?x) (sqrt ?y)) liberties [approximate, no_nan, no_inf]",
        "(mul ?x:float ?x) => (exp (mul 2 (log ?x))) liberties [approximate, no_nan, no_inf]",
        // The pattern is NaN, and no liberty excludes that.
        "(log ?x:float) => (log (abs ?x)) liberties [approximate, no_inf]",
        "(power ?a:float 0.3333333333333333) => (cbrt ?a) liberties [approximate, no_signed_zeros, no_inf]",
        "(sqrt (mul ?x:float ?y)) => (mul (sqrt (abs ?x)) (sqrt (abs ?y))) liberties [reassociate, no_inf]",
        // An infinity that is written, or comes from a division by zero, is no effect of rounding.
        "(mul ?x:float inf) => ?x liberties [reassociate]",
        "(div ?x:float 0) => ?x liberties [reassociate]",
        "(log (mul ?x:float 0)) => (mul ?x 0) liberties [approximate, no_nan]",
        "(reciprocal (sub ?x:float ?x)) => 1 liberties [contract, no_nan]",
        // Finite results beside an infinite operand are compared too.
        "(where (isinf ?x:float) 3.0 ?x) => (where (isinf ?x) 4.0 ?x) liberties [approximate]",
    ];
    assert_eq!(others(Verdict::Unsound, &unsound), Vec::<String>::new());
}

#[test]
fn overflow_and_underflow_are_rounding() {
    let held = [
        "(mul (mul ?x:float ?y) ?z) => (mul ?x (mul ?y ?z)) liberties [reassociate, no_nan]",
        "(mul (exp ?x:float) (exp ?y)) => (exp (add ?x ?y)) liberties [approximate, no_nan, no_inf]",
        "(div (div ?x:float ?y) ?z) => (div ?x (mul ?y ?z)) liberties [reassociate, reciprocal, no_nan, no_inf]",
        "(sqrt (mul ?x:float ?x)) => (abs ?x) liberties [approximate]",
        "(sum (mul ?x:float ?c) axes=@a keepdims=@k) => (mul (sum ?x axes=@a keepdims=@k) ?c) if [scalar(?c)] \
         liberties [reassociate, no_nan, no_inf, no_signed_zeros]",
    ];
    assert_eq!(others(Verdict::Held, &held), Vec::<String>::new());
}

#[test]
fn liberties_differ_in_how_much_they_allow() {
    let unsound = [
        "(mul ?x:f32 1.0001) => ?x liberties [contract]",
        "(mul ?x:f32 1.0001) => ?x liberties [reassociate]",
        "(mul ?x:f64 1.000000000000002) => ?x liberties [reciprocal]",
        "(exp (add ?a:float ?b)) => (mul (exp ?a) (exp ?b)) liberties [contract, no_nan, no_inf]",
        "(exp (add ?a:float ?b)) => (mul (exp ?a) (exp ?b)) liberties [reassociate, no_nan, no_inf]",
        "(mul ?x:float 1.01) => ?x liberties [approximate]",
        // Removing a conversion does not only remove a rounding.
        "(cast (cast ?x:f64 to=f32) to=f64) => ?x liberties [contract]",
        "(sum ?x:float axes=@a) => (mul (sum ?x axes=@a) 1.0001) liberties [reassociate]",
    ];
    assert_eq!(others(Verdict::Unsound, &unsound), Vec::<String>::new());
    let held = [
        "(add (mul ?x:float ?y) ?z) => (fma ?x ?y ?z) liberties [contract]",
        "(mul (add (mul ?a:float ?b) ?c) ?d) => (mul (fma ?a ?b ?c) ?d) liberties [contract]",
        "(div ?x:float ?y) => (mul ?x (div 1 ?y)) liberties [reciprocal]",
        "(add (add ?x:float ?y) ?z) => (add ?x (add ?y ?z)) liberties [reassociate]",
        "(sum (flip ?x:float)) => (sum ?x) liberties [reassociate]",
        "(exp (add ?a:float ?b)) => (mul (exp ?a) (exp ?b)) liberties [approximate, no_nan, no_inf]",
    ];
    assert_eq!(others(Verdict::Held, &held), Vec::<String>::new());
}

#[test]
fn approximate_zeros_have_any_sign() {
    // The first difference is at a NaN, not at -0.0.
    let text = "(power ?a:float 0.3333333333333333) => (cbrt ?a) liberties [approximate]";
    let found = check(&rule(text)).counterexample.expect("negative numbers have no such power");
    assert!(found.pattern.as_scalar().is_some_and(|s| s.to_f64().is_nan()), "{found}");
    let held = [
        "(mul ?x:float ?x) => (mul (mul (sqrt (abs ?x)) (sqrt (abs ?x))) ?x) if [nonneg(?x)] liberties [approximate, no_inf]",
    ];
    assert_eq!(others(Verdict::Held, &held), Vec::<String>::new());
}

#[test]
fn arrays_are_large_and_unequal_enough() {
    let unsound = [
        "(sum (flip ?x:float)) => (sum ?x)",
        "(sum (flip ?x:complex)) => (sum ?x)",
        "(prod (flip ?x:float)) => (prod ?x)",
        // Counts beyond 8 and 16 bits.
        "(cast (cast (sum ?x:bool) to=u8) to=i64) => (sum ?x)",
        "(cast (cast (sum ?x:bool) to=u16) to=i64) => (sum ?x)",
        "(cast (cast (sum ?x:u8) to=u16) to=u64) => (sum ?x)",
        // Operands that are broadcast before they are multiplied.
        "(dot_general (add ?a:i64 ?b) ?c lhs_contract=[1] rhs_contract=[0]) => (add (dot_general ?a ?c lhs_contract=[1] rhs_contract=[0]) \
         (dot_general ?b ?c lhs_contract=[1] rhs_contract=[0])) if [matrix(?a), matrix(?b), matrix(?c), same_dtype(?a, ?b), \
         same_dtype(?b, ?c)]",
        "(dot_general ?c (add ?a:i64 ?b) lhs_contract=[1] rhs_contract=[0]) => (add (dot_general ?c ?a lhs_contract=[1] rhs_contract=[0]) \
         (dot_general ?c ?b lhs_contract=[1] rhs_contract=[0])) if [matrix(?a), matrix(?b), matrix(?c), same_dtype(?a, ?b), \
         same_dtype(?b, ?c)]",
        "(sum (mul ?x:i64 ?y)) => (mul (sum ?x) (sum ?y))",
    ];
    assert_eq!(others(Verdict::Unsound, &unsound), Vec::<String>::new());
    let count = check(&rule("(cast (cast (sum ?x:bool) to=u32) to=i64) => (sum ?x)"));
    assert_eq!(count.verdict(), Verdict::Held);
    assert!(count.to_string().contains("arrays of more than"), "{count}");
}

#[test]
fn the_budget_is_spread_over_all_combinations() {
    let unsound = [
        "(concat (cast ?x to=@t) (cast ?y to=@t) axis=@a) => (cast (concat ?x ?y axis=@a) to=@t)",
        "(update (cast ?x:real to=@t) (cast ?y to=@t) at=@a) => (cast (update ?x ?y at=@a) to=@t)",
        "(stack (cast ?x to=@t) (cast ?y to=@t) (cast ?z to=@t) axis=@a) => (cast (stack ?x ?y ?z axis=@a) to=@t)",
    ];
    assert_eq!(others(Verdict::Unsound, &unsound), Vec::<String>::new());
    // The notes mention the cases that are left out.
    let wide =
        check(&rule("(concat (neg ?a) (neg ?b) (neg ?c) (neg ?d) axis=@a) => (neg (concat ?a ?b ?c ?d axis=@a))"));
    if wide.verdict() == Verdict::Held {
        assert!(wide.not_tried.len() > 1, "{wide}");
    }
}

#[test]
fn remedies_hold() {
    let remedy = |text: &str| -> (Verdict, Option<String>) {
        let Judgement { verdict, remedy, .. } = judge(&rule(text));
        (verdict, remedy)
    };
    let none = [
        // Without NaN there is nothing to compare.
        "(sqrt (sub -1 (mul ?x:float ?x))) => 42",
        "(mul ?x:float inf) => ?x",
        "(neg ?x:int) => ?x",
        "(add ?x:float 1) => (add ?x 2)",
    ];
    for text in none {
        assert_eq!(remedy(text), (Verdict::Unsound, None), "{text}");
    }
    for (text, wanted) in [
        // A function that approximates zero may give a zero of the other sign.
        ("(mul (sqrt ?x:float) (sqrt ?x)) => ?x", "no_nan, approximate"),
        ("(sub (add ?a:float ?b) ?b) => ?a", "no_nan, approximate"),
        ("(not (lt ?a:float ?b)) => (ge ?a ?b)", "no_nan"),
        ("(add ?x:float 0) => ?x", "no_signed_zeros"),
        ("(add (mul ?x:float ?y) ?z) => (fma ?x ?y ?z)", "contract"),
        ("(div ?x:float ?y) => (mul ?x (div 1 ?y))", "contract"),
        ("(mul ?x:float 0) => 0", "no_nan, no_signed_zeros"),
    ] {
        let (verdict, found) = remedy(text);
        assert_eq!((verdict, found.as_deref()), (Verdict::Unsound, Some(wanted)), "{text}");
        let freer = rule(&format!("{text} liberties [{wanted}]"));
        assert_eq!(check(&freer).verdict(), Verdict::Held, "{text}");
    }
}

#[test]
fn narrowed_rules_say_so() {
    let text = "(mul ?x:int ?c:const) => (left_shift ?x [bit_count [sub ?c 1]]) if [power_of_two(?c)]";
    let found = judge(&rule(text));
    assert!(found.is_good(), "{found:?}");
    assert!(found.notes.iter().any(|note| note.contains("?x of u8 only")), "{:?}", found.notes);
    assert_eq!(judge(&rule("(neg (neg ?x:int)) => ?x")).notes, Vec::<String>::new());
}

#[test]
fn conditions_that_exclude_all_values_leave_a_rule_untried() {
    let never = [
        "(add ?x:int 1) => ?x if [(eq 1 2)]",
        "(add ?x:int ?c:const) => ?x if [(lt ?c ?c)]",
        "(add ?x:int ?c:const) => (add ?c ?x) if [(and (gt ?c 0) (lt ?c 0))]",
        "(add ?x:i64 ?c:const) => ?x if [(gt ?c greatest)]",
        "(add ?x:float ?c:const) => ?x if [(and (gt ?c 0) (lt ?c 0))]",
    ];
    assert_eq!(others(Verdict::Untried, &never), Vec::<String>::new());
    // Values that random draws miss come from the solver.
    let rare = ["(add ?x:i32 ?c:const) => (add ?c ?x) if [(eq (mul ?c ?c) 17), (gt ?c 1000)]"];
    assert_eq!(others(Verdict::Proved, &rare), Vec::<String>::new());
}

#[test]
fn large_arrays_satisfy_conditions_on_several_variables() {
    let held = ["(sum (maximum ?x:i64 ?y) axes=[0]) => (sum ?y axes=[0]) if [(le ?x ?y), same_shape(?x, ?y)]"];
    assert_eq!(others(Verdict::Held, &held), Vec::<String>::new());
}

#[test]
fn verdicts_count_excluded_values() {
    let rounded = check(&rule("(mul (mul ?x:float ?y) ?z) => (mul ?x (mul ?y ?z)) liberties [reassociate, no_nan]"));
    assert!(rounded.special > 0 && rounded.lossy > 0, "{rounded}");
    for (count, what) in [(rounded.special, "NaN or infinite"), (rounded.lossy, "overflows or underflows")] {
        assert!(rounded.to_string().contains(&format!("{count} values for which a term")), "{what}: {rounded}");
    }
    // Positions beyond an empty axis do not exist.
    let indexed = check(&rule("(getitem (flip ?x:f64 axes=[0]) ?i:i64) => (getitem ?x (sub -1 ?i))"));
    assert_eq!((indexed.verdict(), indexed.valueless > 0), (Verdict::Held, true), "{indexed}");
    assert!(indexed.to_string().contains(&format!("{} cases without values", indexed.valueless)), "{indexed}");
    assert!(indexed.to_string().contains("arrays of more than 33000 elements"), "{indexed}");
}

#[test]
fn dtypes_are_inferred_however_many_variables_there_are() {
    let chosen = "(where ?c (where ?d ?x ?y) (where ?e ?z ?w)) ~> (where (not ?c) (where ?e ?z ?w) (where ?d ?x ?y))";
    let found = check(&rule(chosen));
    // The conditions are bools, and all others are of one dtype.
    assert_eq!(found.cases, 13, "{found}");
    assert!(!found.to_string().contains("combinations of dtypes"), "{found}");
    // Too many combinations: each pair of variables takes each pair of dtypes.
    let free = "(and (and (and (lt ?a ?a) (lt ?b ?b)) (lt ?c ?c)) (and (lt ?d ?d) (lt ?e ?e))) => false";
    let found = check(&rule(free));
    assert_eq!(found.verdict(), Verdict::Held, "{found}");
    assert!(found.to_string().contains("combinations of dtypes: each pair of variables takes each pair"), "{found}");
}

#[test]
fn verdicts_name_the_extents_that_were_tried() {
    // Each of these is wrong at the extents in the comment.
    let wrong = [
        // [7, 11, 13]
        (
            "(eq (mul (mul (dim ?x:i64 axis=0) (dim ?x axis=1)) (dim ?x axis=2)) 1001) => (and (eq (mul (mul \
             (dim ?x axis=0) (dim ?x axis=1)) (dim ?x axis=2)) 1001) (or (eq (dim ?x axis=0) 1) (or (eq (dim ?x axis=1) 1) \
             (eq (dim ?x axis=2) 1))))",
            "and most combinations of these",
        ),
        // [50, 60, 70]
        (
            "(and (and (eq (dim ?x:i64 axis=0) 50) (eq (dim ?x axis=1) 60)) (eq (dim ?x axis=2) 70)) => false",
            "and most combinations of these",
        ),
        // [227]
        ("(eq (mod (mul (dim ?x:i64 axis=0) (dim ?x axis=0)) 1009) 70) => false", "extents other than 0 to "),
        // 2^32 elements
        ("(sum ?x:bool axes=[1]) ~> (cast (cast (sum ?x axes=[1]) to=u32) to=i64)", "axes longer than 300 at rank 2, "),
    ];
    for (text, gap) in wrong {
        let found = check(&rule(text));
        assert_eq!(found.verdict(), Verdict::Held, "{text}\n  {found}");
        assert!(found.to_string().contains(gap), "{text}\n  {found}");
    }
}

#[test]
fn proofs_name_the_dtypes_that_the_rule_does_not() {
    let only = |text: &str| check(&rule(text)).to_string();
    assert_eq!(only("(or ?x (and ?x ?y)) => ?x"), "proved for all values of 1 case, at bool only");
    assert_eq!(only("(neg (neg ?x:int)) => ?x"), "proved for all values of 8 cases");
}
