//! Translation validation: wrong rewrites are detected, right ones pass.

use crate::common::{Always, becomes, module, run_with, text};
use pretty_assertions::assert_eq;
use rewright_ir::{Datum, Name, Target};
use rewright_rewrites::check::{Check, Difference, functions};
use rewright_rewrites::prelude::*;
use rewright_rewrites::{Options, RemarkKind, RewriteError};

/// Replaces an instruction by its operand `i`.
fn operand(root: Inst, rw: &mut Rewriter<'_>, i: usize) -> Result<(), RewriteError> {
    let x = rw.func().inst(root).args[i];
    rw.replace(root, &[x])
}
/// Redirects the branch of the root's block.
fn jump(root: Inst, rw: &mut Rewriter<'_>, to: usize) -> Result<(), RewriteError> {
    let gone = || RewriteError::new("there is no such block");
    let block = rw.func().block_of(root).ok_or_else(gone)?;
    let to = rw.func().blocks().nth(to).ok_or_else(gone)?;
    let target = Target { block: to, args: [].into_iter().collect() };
    rw.set_terminator(block, "jump", [] as [Value; 0], Attrs::new(), [target]).map(drop)
}

macro_rules! wrong {
    ($($def:ident $name:literal $root:literal $apply:expr;)+) => {$(
        static $def: RewriteDef =
            RewriteDef::root($name, "computes something else", &Always($apply)).roots(&[$root]).opt_in();
    )+
    register_rewrite!($($def),+);};
}
wrong! {
    SUB_SELF "wrong-sub-self" "sub" |root, rw| { let zero = rw.constant(0.0f64); rw.replace(root, &[zero]) };
    NOT_LESS "wrong-not-less" "lt" |root, rw| {
        let users = rw.func().users(rw.func().inst(root).results[0]);
        let user = *users.first().ok_or_else(|| RewriteError::new("it has no users"))?;
        let args = rw.func().inst(root).args.clone();
        rw.replace_with(user, "ge", args, Attrs::new()).map(drop)
    };
    ADD_ZERO "wrong-add-zero" "add" |root, rw| operand(root, rw, 0);
    ABS "wrong-abs" "abs" |root, rw| operand(root, rw, 0);
    DIV_MUL "wrong-div-mul" "div" |root, rw| becomes(root, rw, "mul");
    NO_STORE "wrong-no-store" "store" |root, rw| rw.erase(root);
    NO_PRINT "wrong-no-print" "print" |root, rw| rw.erase(root);
    SUM "wrong-sum" "sum" |root, rw| {
        let (x, attrs) = (rw.func().inst(root).args[0], rw.func().inst(root).attrs.clone());
        rw.replace_with(root, "max", [x], attrs).map(drop)
    };
    NO_RAISE "wrong-no-raise" "gt" |root, rw| jump(root, rw, 2);
    FOR_EVER "wrong-for-ever" "lt" |root, rw| jump(root, rw, 1);
    DOUBLE "right-double" "mul" |root, rw| {
        let x = rw.func().inst(root).args[0];
        rw.replace_with(root, "add", [x, x], Attrs::new()).map(drop)
    };
    DROP "right-drop" "getitem" |root, rw| rw.erase(root);
    GROWS "right-grows" "sub" |root, rw| {
        let [x, y] = rw.func().inst(root).args[..] else { return Err(RewriteError::new("two operands")) };
        let less = rw.op("sub", [x, y])?;
        let zero = rw.constant(0i64);
        rw.replace_with(root, "add", [less, zero], Attrs::new()).map(drop)
    };
    RECIP "near-recip" "div" |root, rw| {
        let [x, y] = rw.func().inst(root).args[..] else { return Err(RewriteError::new("two operands")) };
        let one = rw.constant(1.0f64);
        let r = rw.op("div", [one, y])?;
        rw.replace_with(root, "mul", [x, r], Attrs::new()).map(drop)
    };
}

/// Before type inference.
static WRONG_BRANCH: RewriteDef =
    RewriteDef::root("wrong-branch", "goes elsewhere", &Always(|root, rw| jump(root, rw, 1)))
        .roots(&["br_if"])
        .stage(Stage::BeforeInference)
        .opt_in();
register_rewrite!(WRONG_BRANCH);

fn checked() -> Options {
    Options { check: Some(Check::default()), ..Options::default() }
}
fn differs(error: RewriteError) -> Difference {
    let RewriteError::Failed { cause, .. } = error else { panic!("{error}") };
    let RewriteError::Differs(found) = *cause else { panic!("{cause}") };
    *found
}
fn one(params: &str, results: &str, body: &str) -> String {
    format!("func @f({params}) -> {results} {{\nentry:\n{body}}}\n")
}

const RAISES: &str = "func @f(%x: f64) -> f64 {\nentry:\n  %0 = gt %x, 0.0\n  br_if %0, bad(), good()\nbad:\n  \
                      raise kind=\"ValueError\", message=\"too large\"\ngood:\n  ret %x\n}\n";
const LOOPS: &str = "func @f(%n: i64) -> i64 {\nentry:\n  jump next()\nnext:\n  %0 = lt %n, 0\n  br_if %0, next(), out()\n\
                     out:\n  ret %n\n}\n";

const UNTYPED: &str = "untyped func @f(%x: f32[n], %k: i64) -> f32[n] {\nentry:\n  %0 = eq %k, 1\n  br_if %0, twice, done(%x)\n\
                       twice:\n  %1 = mul %x, 2.0\n  jump done(%1)\ndone(%2):\n  ret %2\n}\n";

/// Rewrites, programs on which they are wrong, and a part of the message.
fn wrong() -> Vec<(&'static str, String, &'static str)> {
    let binary = |op: &str| one("%x: f64[n], %y: f64[n]", "f64[n]", &format!("  %0 = {op} %x, %y\n  ret %0\n"));
    vec![
        ("wrong-sub-self", one("%x: f64", "f64", "  %0 = sub %x, %x\n  ret %0\n"), "wanted NaN, found 0.0"),
        (
            "wrong-not-less",
            one("%x: f64, %y: f64", "bool", "  %0 = lt %x, %y\n  %1 = not %0\n  ret %1\n"),
            "wanted true, found false",
        ),
        ("wrong-add-zero", one("%x: f64", "f64", "  %0 = add %x, 0.0\n  ret %0\n"), "wanted 0.0, found -0.0"),
        ("wrong-abs", one("%x: i8", "i8", "  %0 = abs %x\n  ret %0\n"), "result 0: wanted "),
        ("wrong-div-mul", binary("div"), "result 0: element [0]: wanted "),
        ("wrong-no-store", one("%x: f64[n]", "i64", "  store %x, 1.0\n  ret 0\n"), "after the call, argument 0"),
        ("wrong-no-print", one("%x: i8", "i8", "  print %x\n  ret %x\n"), "prints something else"),
        // Right for one element.
        ("wrong-sum", one("%x: f64[n]", "f64", "  %0 = sum %x, axes=[0]\n  ret %0\n"), "f64[3]"),
        ("wrong-no-raise", RAISES.into(), "it ended with an error, and now it does not: "),
        ("wrong-branch", UNTYPED.into(), "computes something else: "),
        ("wrong-for-ever", LOOPS.into(), "now it ends with an error: `br_if`: more than "),
    ]
}

#[test]
fn wrong_rewrites_are_found_out_and_undone() {
    for (rewrite, program, said) in wrong() {
        let mut module = module(&program);
        let before = text(&module);
        // The error is found only if the check runs.
        run_with(&mut module.clone(), rewrite, &Options { fuel: Some(9), ..Options::default() }).ok();
        let error = run_with(&mut module, rewrite, &checked()).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with(&format!("rewrite `{rewrite}` of rewright-rewrites (")), "{message}");
        assert!(message.contains("in application 1: `@f` computes something else: "), "{message}");
        assert!(message.contains(said), "{said}: {message}");
        let found = differs(error);
        assert_eq!((&found.forms[0], text(&module)), (&before, before.clone()), "{rewrite}");
        assert_ne!(found.forms[1], before);
        assert!(found.after != found.before && !found.input.is_empty());
    }
}

#[test]
fn the_failing_input_and_both_results_are_shown() {
    let program = one("%x: f64, %y: i8[n]", "f64, i8[n]", "  %0 = add %x, 0.0\n  ret %0, %y\n");
    let error = run_with(&mut module(&program), "wrong-add-zero", &checked()).unwrap_err();
    let message = error.to_string();
    let shown = message.split_once("\nfor the input").unwrap().1;
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[1], "  %x: f64 = -0.0");
    assert!(lines[2].starts_with("  %y: i8["), "{shown}");
    let after = lines.iter().position(|l| *l == "after:").unwrap();
    assert_eq!((lines[3], lines[4], lines[after + 1]), ("before:", "  result 0: f64 = 0.0", "  result 0: f64 = -0.0"));
}

#[test]
fn right_rewrites_pass() {
    for (rewrite, program) in [
        ("right-double", one("%x: f64[n]", "f64[n]", "  %0 = mul %x, 2.0\n  ret %0\n")),
        // Unneeded computations may be dropped, together with their errors.
        ("right-drop", one("%x: f64[n]", "f64[n]", "  %0 = getitem %x, 2\n  ret %x\n")),
    ] {
        let mut module = module(&program);
        let report = run_with(&mut module, rewrite, &checked()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(report.applied(rewrite), 1);
    }
}

#[test]
fn remarks_name_unchecked_functions() {
    let said = |program: &str, rewrite: &str| -> Vec<String> {
        let report = run_with(&mut module(program), rewrite, &checked()).unwrap_or_else(|e| panic!("{e}"));
        let notes = report.remarks.into_iter().filter(|r| r.rewrite == "check-each");
        notes.map(|r| (assert_eq!(r.kind, RemarkKind::Note), r.message).1).collect()
    };
    let plain = one("%x: f64[n]", "f64[n]", "  %0 = mul %x, 2.0\n  ret %0\n");
    assert_eq!(said(&plain, "right-double"), ["checked on 12 inputs"]);
    assert_eq!(said(&plain, "right-drop"), [""; 0]);
    let fails =
        said(&one("%x: f64[n]", "f64[n]", "  %0 = getitem %x, 2\n  %1 = mul %x, 2.0\n  ret %1\n"), "right-double");
    assert!(fails[0].contains(" of 12 inputs; others end with: ") && fails[0].contains("getitem"), "{fails:?}");
    let large = said(&plain.replace("[n]", "[200000]"), "right-double");
    assert!(large[0] == "checked on 0 inputs" && large[1].contains("arrays would be too large"), "{large:?}");
    let many = said(&plain.replace("[n]", "[a, b, c, d]"), "right-double");
    assert!(many.iter().any(|m| m.contains(" of 256 small shapes were tried")), "{many:?}");
    let long = plain.replace("[n]", "[64, 64]");
    let steps = Options { check: Some(Check { steps: 1000, ..Check::default() }), ..Options::default() };
    let report = run_with(&mut module(&long), "right-double", &steps).unwrap_or_else(|e| panic!("{e}"));
    assert!(
        report.remarks.iter().any(|r| r.message.contains("for the others take 1000 steps")),
        "{:?}",
        report.remarks
    );
}

#[test]
fn the_rest_goes_on_if_asked_to() {
    let program = one("%x: f64[n]", "f64[n]", "  %0 = add %x, 0.0\n  %1 = mul %0, 2.0\n  ret %1\n");
    let mut module = module(&program);
    let options = Options { keep_going: true, ..checked() };
    let report = run_with(&mut module, "wrong-add-zero, right-double", &options).unwrap();
    assert_eq!((report.failures.len(), report.applied("wrong-add-zero"), report.applied("right-double")), (1, 0, 1));
    assert_eq!(text(&module), program.replace("mul %0, 2.0", "add %0, %0"));
}

#[test]
fn some_units_in_the_last_place_can_be_allowed() {
    let program = one("%x: f64[n], %y: f64[n]", "f64[n]", "  %0 = div %x, %y\n  ret %0\n");
    // The given input does not overflow; some of the others do.
    let error = run_with(&mut module(&program), "near-recip", &checked()).unwrap_err();
    assert!(error.to_string().contains(" apart") || error.to_string().contains("NaN"), "{error}");
    let body = |op: &str| one("%x: f64", "f64", &format!("  %0 = exp %x\n  %1 = {op} %0, 0.1\n  ret %1\n"));
    let (a, b) = (module(&body("mul")), module(&body("div").replace("0.1", "10.0")));
    assert!(functions(&a, &b, Name::new("f"), &Check::default()).is_err());
    assert!(functions(&a, &b, Name::new("f"), &Check { ulp: 1, ..Check::default() }).is_ok());
}

#[test]
fn given_inputs_are_tried_first() {
    let (a, b) = (one("%x: i64", "i64", "  ret %x\n"), "  %0 = eq %x, 12345\n  %1 = where %0, 0, %x\n  ret %1\n");
    let (a, b) = (module(&a), module(&one("%x: i64", "i64", b)));
    let f = Name::new("f");
    assert!(functions(&a, &b, f, &Check::default()).is_ok());
    let given = vec![(f, vec![Datum::Scalar(Scalar::I64(12345))])];
    let found = functions(&a, &b, f, &Check { given, ..Check::default() }).unwrap_err();
    assert_eq!(found.what, "result 0: wanted 12345, found 0");
    let other = functions(&a, &b, Name::new("g"), &Check::default()).unwrap();
    assert!(other[0].contains("nothing was checked"), "{other:?}");
}

#[test]
fn callees_are_called_as_they_are() {
    let program = "func @g(%x: f64) -> f64 {\nentry:\n  %0 = mul %x, 2.0\n  ret %0\n}\n\n\
                   func @f(%x: f64) -> f64 {\nentry:\n  %0 = call %x, callee=@g\n  %1 = sub %0, %0\n  ret %1\n}\n";
    let report = run_with(&mut module(program), "right-double", &checked()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(report.applied("right-double"), 1);
    let error = run_with(&mut module(program), "right-double, wrong-sub-self", &checked()).unwrap_err();
    assert!(error.to_string().contains("failed in `@f` at line 10, in application 2"), "{error}");
}

#[test]
fn granted_liberties_leave_inputs_out() {
    let body = |text: &str| module(&one("%x: f64", "f64", text));
    let differs = |a: &str, b: &str, liberties: &str| {
        let liberties = liberties.parse().unwrap_or_else(|e| panic!("{e}"));
        let check = Check { liberties, ..Check::default() };
        functions(&body(a), &body(b), Name::new("f"), &check).map_err(|found| found.what)
    };
    // `exp` overflows where no result of the later form is infinite.
    let (a, b) = ("  %0 = exp %x\n  %1 = log %0\n  ret %1\n", "  ret %x\n");
    assert!(differs(a, b, "").is_err() && differs(a, b, "approximate, no_nan").is_ok());
    let notes = differs(a, b, "approximate, no_inf").unwrap_or_else(|what| panic!("{what}"));
    assert!(notes.iter().any(|note| note.contains("meet NaN or infinities")), "{notes:?}");
    // The same inside of an expression, where no instruction's result is infinite.
    let node = "  %0 = to_array %x\n  %1 = arrayexpr [i: 1] (x = %0[]) {\n      t0 = exp x\n      t1 = log t0\n      yield t1\n    } : f64[1]\n  \
                %2 = getitem %1, 0\n  ret %2\n";
    assert!(differs(node, b, "").is_err());
    assert!(differs(node, b, "approximate, no_inf").is_ok(), "{:?}", differs(node, b, "approximate, no_inf"));
    // A NaN, and the sign of a zero.
    let (a, b) = ("  %0 = mul %x, 0.0\n  ret %0\n", "  ret 0.0\n");
    assert!(differs(a, b, "no_nan").is_err() && differs(a, b, "no_nan, no_signed_zeros").is_ok());
    // The tolerance of other rounding depends on the largest number, and no more is accepted.
    let (a, b) = ("  %0 = add %x, 1e8\n  %1 = sub %0, 1e8\n  ret %1\n", "  ret %x\n");
    assert!(differs(a, b, "").is_err() && differs(a, b, "reassociate").is_ok());
    let (a, b) = ("  %0 = mul %x, 1.001\n  ret %0\n", "  ret %x\n");
    assert!(differs(a, b, "reassociate, no_nan, no_inf, no_signed_zeros").is_err());
    // Another order overflows for large numbers. An infinity for others is a difference.
    let (a, b) =
        ("  %0 = mul %x, 0.25\n  %1 = mul %0, 2.0\n  ret %1\n", "  %0 = mul %x, 2.0\n  %1 = mul %0, 0.25\n  ret %1\n");
    assert!(differs(a, b, "no_nan, no_inf").is_err() && differs(a, b, "reassociate, no_nan, no_inf").is_ok());
    let (a, b) = ("  ret %x\n", "  %0 = div %x, 0.0\n  ret %0\n");
    assert!(differs(a, b, "reassociate, no_nan, no_inf").is_err());
}

#[test]
fn inputs_are_long_enough_for_counts_and_orders() {
    let sums = |a: &str, b: &str, ty: &str, result: &str| {
        let body = |text: &str| module(&one(&format!("%x: {ty}[n]"), result, text));
        functions(&body(a), &body(b), Name::new("f"), &Check::default()).is_err()
    };
    let (count, byte) =
        ("  %0 = sum %x\n  ret %0\n", "  %0 = sum %x\n  %1 = cast %0, to=u8\n  %2 = cast %1, to=i64\n  ret %2\n");
    assert!(sums(count, byte, "bool", "i64"), "a count beyond 8 bits");
    let short = "  %0 = sum %x\n  %1 = cast %0, to=u16\n  %2 = cast %1, to=i64\n  ret %2\n";
    assert!(sums(count, short, "bool", "i64"), "a count beyond 16 bits");
    let flipped = "  %0 = flip %x\n  %1 = sum %0\n  ret %1\n";
    assert!(sums(count, flipped, "f64", "f64"), "the order of a sum");
}

#[test]
fn a_rewrite_that_grows_without_end_is_stopped_soon() {
    let text = one("%x: i64[n], %y: i64[n]", "i64[n]", "  %0 = sub %x, %y\n  ret %0");
    let begin = std::time::Instant::now();
    let options = Options { fuel: Some(400), ..checked() };
    let error = run_with(&mut module(&text), "right-grows", &options).unwrap_err();
    assert!(matches!(&error, RewriteError::Fuel { .. }), "{error}");
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}
