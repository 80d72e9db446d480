//! Unsound rules are detected, and sound ones pass.

use rewright_rewrites::rule::{parse_rule, soundness};

fn check(text: &str) -> soundness::Soundness {
    soundness::check(&parse_rule("rule", text).unwrap_or_else(|e| panic!("{e}")))
}

#[test]
fn unsound_rules_have_a_counterexample() {
    let unsound = [
        "(sub ?x ?x) => 0",
        "(div ?x ?x) => 1",
        "(sub (add ?a ?b) ?b) => ?a",
        "(mul ?x 0) => 0",
        "(not (lt ?a ?b)) => (ge ?a ?b)",
        "(sqrt (mul ?x ?x)) => ?x",
        // The sum of signed integers wraps.
        "(gt (add ?x:signed 1) ?x) => true",
        // Shifts by the width and more.
        "(right_shift (left_shift ?x:unsigned ?n) ?n) => ?x",
        "(add ?x:float 0.0) => ?x",
        "(sub ?x:float ?y) => (neg (sub ?y ?x))",
        "(add (mul ?x:float ?y) ?z) => (fma ?x ?y ?z)",
        "(add (add ?x:float ?y) ?z) => (add ?x (add ?y ?z))",
        "(div ?x:float ?c:const) => (mul ?x [div 1 ?c])",
        "(log (exp ?x:float)) => ?x",
        "(minimum ?x:float ?y) => (fmin ?x ?y)",
        "(floordiv ?x:signed ?y) => (neg (floordiv (neg ?x) ?y))",
        // Sums of small integers are computed at i64, where -(-128) is 128.
        "(sum (neg ?x:int) axes=@a keepdims=@k) => (neg (sum ?x axes=@a keepdims=@k))",
        // One missing liberty.
        "(div ?x:float ?x) => 1 liberties [no_inf]",
        "(mul ?x 1) => ?x",
        "(mul ?x:float 0) => 0 liberties [no_nan, no_inf]",
        // Wrong with all liberties.
        "(sub (add ?a:float ?b) ?b) => ?b liberties [reassociate, no_nan, no_inf, no_signed_zeros, approximate]",
        "(sum (mul ?x:float ?x) axes=@a keepdims=@k) => (sum ?x axes=@a keepdims=@k) liberties [reassociate, approximate]",
        "(transpose (transpose ?x perm=@p) perm=@q) => ?x",
        "(power ?x:int ?y) => (mul ?x ?y)",
        // The sum of a broadcast operand has more terms.
        "(sum (add ?x:i64 ?y) axes=@a keepdims=@k) => (add (sum ?x axes=@a keepdims=@k) (sum ?y axes=@a keepdims=@k))",
        // If extents are unknown, the dropped operand may have had more elements than the rest.
        "(add (sub ?x:i64 ?x) ?y) => (add (sub (sum ?x keepdims=true) (sum ?x keepdims=true)) ?y)",
        // True except for one value, which the rule names.
        "(eq ?x:i32 1000) => false",
        "(lt ?x:i32 1000) => (le ?x 1000)",
        "(eq ?x:f64 0.7) => false",
        // Floats of 32 bits do not represent all integers of 32 bits.
        "(cast (cast ?x:i32 to=f32) to=i32) => ?x",
        // Rounded once or twice.
        "(add (add ?x:float 1) 1) => (add ?x 2)",
        // The order of a sum matters.
        "(sum (transpose ?x:float)) => (sum ?x)",
        "(sum ?x:float axes=[1]) => (sum (transpose ?x) axes=[0])",
    ];
    let mut accepted = Vec::new();
    for text in unsound {
        let found = check(text);
        match found.counterexample {
            Some(example) => println!("{text}\n  {example}"),
            None => accepted.push(format!("{text} ({} cases, {} points)", found.cases, found.points)),
        }
    }
    assert_eq!(accepted, Vec::<String>::new());
}

#[test]
fn sound_rules_have_none() {
    let sound = [
        "(neg (neg ?x)) => ?x",
        "(sub ?x:int ?x) => 0",
        "(add ?x:float -0.0) => ?x",
        "(mul ?x:real 1) => ?x",
        "(div ?x:float ?c:const) => (mul ?x [div 1 ?c]) if [power_of_two(?c)]",
        "(add (add ?x:int ?a:const) ?b:const) => (add ?x [add ?a ?b])",
        "(not (lt ?a:int ?b)) => (ge ?a ?b)",
        "(sqrt (mul ?x:float ?x)) => (abs ?x) liberties [approximate]",
        "(abs ?x:float) => ?x if [nonneg(?x), no_neg_zero(?x)]",
        "(sub ?x:float ?x) => 0 liberties [no_nan]",
        "(abs ?x:signed) => (maximum ?x (neg ?x))",
        "(mul ?x:float 0) => 0 liberties [no_nan, no_inf, no_signed_zeros]",
        "(div ?x:float ?x) => 1 liberties [no_nan, no_inf] if [nonzero(?x)]",
        "(sub (add ?a:float ?b) ?b) => ?a liberties [reassociate, no_nan, no_inf, no_signed_zeros]",
        "(add (mul ?x:float ?y) ?z) => (fma ?x ?y ?z) liberties [contract]",
        "(log (exp ?x:float)) => ?x liberties [approximate, no_inf]",
        "(div ?x:float (sqrt ?x)) => (sqrt ?x) if [nonneg(?x)] liberties [approximate, no_nan]",
        "(mul (exp ?x:float) (exp ?y)) => (exp (add ?x ?y)) liberties [approximate, no_nan, no_inf]",
        "(sum (neg ?x:i64) axes=@a keepdims=@k) => (neg (sum ?x axes=@a keepdims=@k))",
        "(divmod ?x:int ?y) => (floordiv ?x ?y), (mod ?x ?y)",
        // It is not applied if the extents of ?b may be the result's.
        "(sub (add ?a:int ?b) ?b) => ?a",
        "(sum (add ?x:i64 ?y) axes=@a keepdims=@k) => (add (sum ?x axes=@a keepdims=@k) (sum ?y axes=@a keepdims=@k)) if [same_shape(?x, ?y)]",
        "(right_shift (left_shift ?x:unsigned ?n:const) ?n) => (bitand ?x [right_shift [left_shift [bitor [bitxor ?n ?n] [invert [bitxor ?n ?n]]] ?n] ?n]) if [below_width(?n)]",
    ];
    for text in sound {
        let found = check(text);
        assert!(found.cases > 0 && found.points > 10, "{text}: {} cases, {} points", found.cases, found.points);
        if let Some(example) = found.counterexample {
            panic!("{text}\n  {example}");
        }
    }
}
