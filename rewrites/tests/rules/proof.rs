//! Compares meanings in bits with the evaluator, and tests what the solver proves and refutes.

use rewright_ir::op::Eval;
use rewright_ir::{Attr, Attrs, DType, EvalError, Loop, Op, OpDef, Scalar, Scalars, eval_scalar, ops, registry};
use rewright_ir::{register_interface, register_op};
use rewright_rewrites::register_condition;
use rewright_rewrites::rule::proof::width;
use rewright_rewrites::rule::proof::{BitCx, BitMeaning, Terms};
use rewright_rewrites::rule::soundness::{Verdict, check};
use rewright_rewrites::rule::{ConditionDef, Rule, parse_rule};

const NARROW: [DType; 3] = [DType::Bool, DType::I8, DType::U8];

fn rule(text: &str) -> Rule {
    parse_rule("rule", text).unwrap_or_else(|e| panic!("{e}"))
}

/// Scalars of a dtype: all values of a narrow one, otherwise values at which arithmetic changes.
fn scalars(dtype: DType) -> Vec<Scalar> {
    let bits = width(dtype).expect("an integer or a bool");
    if bits <= 8 {
        return (0..1u64 << bits).map(|bits| Scalar::from_bits(dtype, (bits, 0))).collect();
    }
    let top = 1u64 << (bits - 1);
    let all = [0, 1, 2, 3, 5, 7, 31, 63, 64, 100, top - 1, top, top + 1, u64::MAX, u64::MAX - 1, u64::MAX - 6];
    all.map(|bits| Scalar::from_bits(dtype, (bits, 0))).to_vec()
}

/// The attributes with which an op is tested.
fn attrs(op: Op) -> Vec<Attrs> {
    let dtypes = [DType::Bool, DType::I8, DType::U16, DType::I32, DType::U64];
    match op.name {
        "cast" => dtypes.iter().map(|&to| Attrs::new().with("to", Attr::DType(to))).collect(),
        "integer_power" => (0..6).map(|n| Attrs::new().with("n", Attr::Int(n))).collect(),
        _ => vec![Attrs::new()],
    }
}

/// The results of an op on constants, computed by terms.
fn by_terms(meaning: &BitMeaning, args: &[Scalar], attrs: &Attrs) -> Option<Vec<u64>> {
    let mut terms = Terms::new(100_000);
    let args: Vec<_> = args
        .iter()
        .map(|s| (s.dtype(), terms.constant(s.bits().0, width(s.dtype()).expect("an integer or a bool"))))
        .collect();
    let results = (meaning.0)(&mut terms, &BitCx { args: &args, attrs })?;
    Some(results.into_iter().map(|term| terms.as_constant(term).expect("a constant")).collect())
}

#[test]
fn meanings_in_bits_agree_with_the_evaluator() {
    let mut tried = Vec::new();
    for (op, _) in registry().ops() {
        let Some(meaning) = op.interface::<BitMeaning>().filter(|_| op != Op(&TWICE)) else { continue };
        let Eval::Elementwise { resolve, .. } = op.eval else { panic!("`{op}` is not elementwise") };
        let rewright_ir::op::Arity::Exactly(arity) = op.arity else { panic!("`{op}` has no fixed arity") };
        let wide = [DType::I32, DType::U64, DType::I64];
        let (mut count, all) = (0, NARROW.iter().chain(&wide).copied().collect::<Vec<DType>>());
        for attrs in attrs(op) {
            for number in 0..all.len().pow(arity as u32) {
                let dtypes: Vec<DType> =
                    (0..arity).map(|at| all[number / all.len().pow(at as u32) % all.len()]).collect();
                let Ok(found) = resolve(&dtypes, &attrs) else { continue };
                if found.ins[..] != dtypes[..] {
                    continue;
                }
                let lists: Vec<Vec<Scalar>> = dtypes.iter().map(|&dtype| scalars(dtype)).collect();
                let combinations = lists.iter().map(Vec::len).product::<usize>();
                // An odd stride visits combinations of all operands.
                let step = (combinations / 1500).max(1) | 1;
                for mut number in (0..combinations).step_by(step) {
                    let mut pick = |list: &Vec<Scalar>| {
                        let scalar = list[number % list.len()];
                        number /= list.len();
                        scalar
                    };
                    let args: Vec<Scalar> = lists.iter().map(&mut pick).collect();
                    let Some(terms) = by_terms(meaning, &args, &attrs) else { continue };
                    let wanted = eval_scalar(op, &args, &attrs).expect("it is total");
                    let wanted: Vec<u64> = wanted.iter().map(|s| s.bits().0).collect();
                    assert_eq!(terms, wanted, "{op} of {args:?} with {attrs:?}");
                    count += 1;
                }
            }
        }
        assert!(count > 1, "`{op}` was tried on {count} values");
        tried.push(op.name);
    }
    assert!(tried.len() > 45, "{tried:?}");
}

#[test]
fn circuits_of_variables_agree_with_the_evaluator() {
    // Each op beside a wrong copy of itself: the solver finds exactly the differences.
    for (text, sound) in [
        ("(floordiv ?x:int ?y) => (divmod ?x ?y).0", true),
        ("(mod ?x:int ?y) => (sub ?x (mul ?y (floordiv ?x ?y))) if [nonzero(?y)]", true),
        ("(mod ?x:int ?y) => (sub ?x (mul ?y (floordiv ?x ?y)))", false),
        ("(fmod ?x:unsigned ?y) => (mod ?x ?y)", true),
        ("(fmod ?x:signed ?y) => (mod ?x ?y)", false),
        ("(abs ?x:signed) => (maximum ?x (neg ?x))", true),
        ("(maximum ?x:int ?y) => (where (lt ?x ?y) ?y ?x)", true),
        ("(clip ?x:int ?l ?h) => (maximum (minimum ?x ?h) ?l)", false),
        ("(right_shift ?x:signed 63) => (where (lt ?x 0) -1 0)", true),
        ("(bit_count (bitand ?x:int (neg ?x))) => (cast (ne ?x 0) to=u8)", true),
    ] {
        let found = check(&rule(text));
        assert_eq!(found.counterexample.is_none(), sound, "{text}: {found}");
    }
}

#[test]
fn rules_of_integers_and_bools_are_proved() {
    for text in [
        "(neg (neg ?x:int)) => ?x",
        "(mul ?x:int (add ?y ?z)) => (add (mul ?x ?y) (mul ?x ?z))",
        "(left_shift ?x:int ?n:const) => (mul ?x [left_shift 1 ?n]) if [below_width(?n)]",
        "(bitxor (bitxor ?x:int ?y) ?y) => ?x",
        "(invert (bitand ?x:int ?y)) => (bitor (invert ?x) (invert ?y))",
        "(not (lt ?x:int ?y)) => (ge ?x ?y)",
        "(or (and ?x:bool ?y) (and ?x ?z)) => (and ?x (or ?y ?z))",
        "(cast (cast ?x:u8 to=i32) to=u8) => ?x",
        "(add (bitand ?x:int ?y) (bitor ?x ?y)) => (add ?x ?y)",
        "(mod ?x:u8 ?c:const) => (bitand ?x [sub ?c 1]) if [power_of_two(?c)]",
        "(mod ?x:unsigned 8) => (bitand ?x 7)",
        "(eq (mul ?x:int 3) 9) => (eq ?x 3)",
        "(where ?c:bool ?x:i64 ?x) => ?x if [scalar(?c)]",
    ] {
        let found = check(&rule(text));
        println!("{text}\n  {found}");
        assert_eq!(found.verdict(), Verdict::Proved, "{text}: {found}");
    }
}

static EVEN: ConditionDef = ConditionDef {
    name: "even_in_tests",
    doc: "a constant that is even",
    arity: 1,
    holds: |known| known[0].constant.and_then(Scalar::to_i128).is_some_and(|i| i % 2 == 0),
    sample: |x| x[0].to_i128().is_some_and(|i| i % 2 == 0),
    bits: None,
};
register_condition!(EVEN);

#[test]
fn conditions_without_a_meaning_in_bits_are_kept() {
    // The condition holds for even numbers only, which the solver does not know.
    let text = "(left_shift (right_shift ?x:const.unsigned 1) 1) => [add ?x 0] if [even_in_tests(?x)]";
    let found = check(&rule(text));
    assert_eq!(found.verdict(), Verdict::Held, "{found}");
    assert!(found.to_string().contains("a condition has no meaning in bits"), "{found}");
    let wrong = check(&rule(&text.replace("[add ?x 0]", "[add ?x 2]")));
    assert_eq!(wrong.verdict(), Verdict::Unsound, "{wrong}");
}

#[test]
fn needles_are_found() {
    for text in [
        "(eq (mul ?x:i32 ?x) 144) => (or (eq ?x 12) (eq ?x -12))",
        "(eq (bitxor (mul ?x:u32 2654435761) 305419896) 0) => false",
        "(where (eq (add ?x:i32 1000000000) 1999999993) ?x 0) => 0",
        "(eq (add (mul ?x:i64 ?y) 1234567) ?z) => false",
        "(eq (mul ?x:u64 ?x) 998001) => (eq ?x 999)",
        "(eq (bitxor (mul ?x:i16 181) 99) 0) => false",
        "(lt (bitand ?x:u64 1311768467463790320) 1311768467463790320) => true",
        // For floats, points that the constants determine.
        "(where (eq (add ?x:f64 1000000000) 1999999993) ?x 0) => (mul ?x 0) liberties [no_nan, no_inf, no_signed_zeros]",
        "(eq (mul ?x:f64 3) 41.25) => false",
    ] {
        let found = check(&rule(text));
        println!("{text}\n  {found}");
        assert_eq!(found.verdict(), Verdict::Unsound, "{text}: {found}");
    }
}

#[test]
fn eight_bits_are_exhausted() {
    for text in [
        "(eq (mul ?x:int 2) 8) => (eq ?x 4)",
        "(eq (mul ?x:u8 ?x) 17) => false",
        "(eq (bitxor (mul ?x:u8 177) 99) 0) => false",
        // Floats in intermediate terms are beyond the solver.
        "(eq (cast (mul (cast ?x:u8 to=f32) (cast ?y:u8 to=f32)) to=i32) 45369) => false",
    ] {
        let found = check(&rule(text));
        assert_eq!(found.verdict(), Verdict::Unsound, "{text}: {found}");
    }
    let found = check(&rule(
        "(cast (add (cast ?x:u8 to=f32) (cast ?y:u8 to=f32)) to=u16) => (add (cast ?x to=u16) (cast ?y to=u16))",
    ));
    assert_eq!(found.verdict(), Verdict::Proved, "{found}");
}

/// An op whose meaning in bits is wrong: thrice the operand.
static TWICE: OpDef = OpDef::elementwise("test_twice", "the operand, added to itself", 1, same, doubled);
register_op!(TWICE);
register_interface!(
    "test_twice",
    BitMeaning,
    &BitMeaning(|t, cx| Some([t.scaled(cx.args[0].1, 3)].into_iter().collect()))
);

fn same(dtypes: &[DType], _: &Attrs) -> Result<Loop, String> {
    Ok(Loop::uniform(1, dtypes[0], dtypes[0]))
}

fn doubled(args: &[Scalar], attrs: &Attrs) -> Result<Scalars, EvalError> {
    eval_scalar(Op(&ops::arithmetic::ADD), &[args[0], args[0]], attrs)
}

#[test]
fn a_wrong_meaning_in_bits_is_named() {
    // The first rule is refuted by the wrong meaning alone, and the second is proved by it alone.
    let right = check(&rule("(test_twice ?x:i32) => (add ?x ?x)"));
    let wrong = check(&rule("(test_twice ?x:i32) => (mul ?x 3)"));
    assert_eq!((right.verdict(), wrong.verdict()), (Verdict::Held, Verdict::Unsound));
    let text = right.to_string();
    assert!(text.contains("the `BitMeaning` of `test_twice` disagrees with its meaning"), "{text}");
}

#[test]
fn operations_on_bits_have_terms() {
    let mut t = Terms::new(1000);
    let [a, b] = [0b1100, 0b1010].map(|value| t.constant(value, 8));
    let results = [t.bitand(a, b), t.bitor(a, b), t.bitxor(a, b)].map(|term| t.as_constant(term));
    assert_eq!(results, [Some(0b1000), Some(0b1110), Some(0b0110)]);
    let [p, q] = [0, 1].map(|value| t.constant(value, 1));
    assert_eq!(
        [t.bitand(p, q), t.bitor(p, q), t.bitxor(p, q)].map(|term| t.as_constant(term)),
        [Some(0), Some(1), Some(1)]
    );
}
