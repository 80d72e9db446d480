//! Constant folding.

use crate::{becomes, optimized, parse, run, stays};

#[test]
fn ops_of_constants_are_computed_at_their_own_dtypes() {
    becomes(
        "fold",
        "\
func @f() -> i8, f32, f64, bool, c128, i64, f64 {
entry:
  %0 = add 100:i8, 100:i8
  %1 = mul 0.1:f32, 3
  %2 = div 7, 2
  %3 = lt 1, 2.5
  %4 = mul (0.0, 1.0), (0.0, 1.0)
  %5 = cast 2.9, to=i64
  %6 = sqrt 2.0
  ret %0, %1, %2, %3, %4, %5, %6
}
",
        "\
func @f() -> i8, f32, f64, bool, c128, i64, f64 {
entry:
  ret -56, 0.3, 3.5, true, (-1.0, 0.0), 2, 1.4142135623730951
}
",
    );
}

#[test]
fn signed_zeros_and_nans_are_computed_as_ieee_says() {
    becomes(
        "fold",
        "\
func @f() -> f64, f64, f64 {
entry:
  %0 = neg 0.0
  %1 = add %0, 0.0
  %2 = sub inf, inf
  %3 = ne %2, %2
  %4 = where %3, 1.0, 0.0
  ret %0, %1, %4
}
",
        "func @f() -> f64, f64, f64 {\nentry:\n  ret -0.0, 0.0, 1.0\n}\n",
    );
}

#[test]
fn several_results_fold_together() {
    becomes(
        "fold",
        "func @f() -> i64, i64 {\nentry:\n  %0, %1 = divmod -7, 2\n  ret %0, %1\n}\n",
        "func @f() -> i64, i64 {\nentry:\n  ret -4, 1\n}\n",
    );
}

#[test]
fn constants_beside_unknown_values_stay() {
    stays("fold", "func @f(%x: f64[n]) -> f64[n] {\nentry:\n  %0 = mul %x, 2.0\n  ret %0\n}\n");
    becomes(
        "fold",
        "func @f(%x: f64[n]) -> f64[n] {\nentry:\n  %0 = mul 2.0, 3.0\n  %1 = mul %x, %0\n  ret %1\n}\n",
        "func @f(%x: f64[n]) -> f64[n] {\nentry:\n  %0 = mul %x, 6.0\n  ret %0\n}\n",
    );
}

#[test]
fn failing_ops_are_not_folded() {
    stays("fold", "func @f() -> i64 {\nentry:\n  %0 = power 2, -1\n  ret %0\n}\n");
    becomes(
        "fold",
        "func @f() -> i64 {\nentry:\n  %0 = sub 1, 2\n  %1 = power 2, %0\n  %2 = add %1, 1\n  ret %2\n}\n",
        "func @f() -> i64 {\nentry:\n  %0 = power 2, -1\n  %1 = add %0, 1\n  ret %1\n}\n",
    );
}

#[test]
fn literals_keep_the_dtype_that_was_computed() {
    let after = optimized(
        "fold",
        "func @f(%x: f32[n]) -> f64[n] {\nentry:\n  %0 = add 1.0, 2.0\n  %1 = mul %x, %0\n  ret %1\n}\n",
    );
    assert_eq!(after, "func @f(%x: f32[n]) -> f64[n] {\nentry:\n  %0 = mul %x, 3.0:f64\n  ret %0\n}\n");
}

#[test]
fn branches_on_constants_become_jumps_and_what_they_skip_goes() {
    becomes(
        "fold",
        "\
func @f(%x: f64[n]) -> f64[n] {
entry:
  %0 = lt 1, 2
  br_if %0, yes(%x), no
yes(%y: f64[n]):
  %1 = neg %y
  ret %1
no:
  print \"no\"
  jump no_more
no_more:
  %2 = abs %x
  ret %2
}
"
        .replace("print \"no\"", "print label=\"no\"")
        .as_str(),
        "\
func @f(%x: f64[n]) -> f64[n] {
entry:
  jump yes(%x)
yes(%y: f64[n]):
  %0 = neg %y
  ret %0
}
",
    );
}

#[test]
fn a_switch_on_a_constant_takes_its_case_or_the_last_target() {
    let text = |at: &str| {
        format!(
            "func @f() -> i64 {{\nentry:\n  switch {at}, 3: a, -1: b, default: c\na:\n  ret 10\nb:\n  ret 20\nc:\n  ret 30\n}}\n"
        )
    };
    for (at, block, result) in [("3", "a", 10), ("-1:i8", "b", 20), ("0", "c", 30), ("255:u8", "c", 30)] {
        let after = format!("func @f() -> i64 {{\nentry:\n  jump {block}\n{block}:\n  ret {result}\n}}\n");
        becomes("fold", &text(at), &after);
    }
}

#[test]
fn parameters_that_every_branch_gives_the_same_constant_go() {
    becomes(
        "fold",
        "\
func @f(%c: bool, %x: i64) -> i64 {
entry:
  br_if %c, a, b
a:
  jump join(2, %x)
b:
  %0 = add 1, 1
  jump join(%0, 5)
join(%k: i64, %y: i64):
  %1 = mul %k, 3
  %2 = add %y, %1
  ret %2
}
",
        "\
func @f(%c: bool, %x: i64) -> i64 {
entry:
  br_if %c, a, b
a:
  jump join(%x)
b:
  jump join(5)
join(%y: i64):
  %0 = add %y, 6
  ret %0
}
",
    );
    stays(
        "fold",
        "func @f(%c: bool) -> f64 {\nentry:\n  br_if %c, join(0.0), other\nother:\n  jump join(-0.0)\njoin(%k: f64):\n  ret %k\n}\n",
    );
}

#[test]
fn constants_go_round_loops_and_decide_branches_in_them() {
    becomes(
        "fold",
        "\
func @f(%n: i64) -> i64 {
entry:
  jump head(0, 1)
head(%i: i64, %flag: i64):
  %more = lt %i, %n
  br_if %more, body, done
body:
  %is_set = eq %flag, 1
  br_if %is_set, keep, change
keep:
  jump next(%flag)
change:
  %other = add %flag, 1
  jump next(%other)
next(%new: i64):
  %j = add %i, %new
  jump head(%j, %new)
done:
  ret %flag
}
",
        "\
func @f(%n: i64) -> i64 {
entry:
  jump head(0)
head(%i: i64):
  %more = lt %i, %n
  br_if %more, body, done
body:
  jump keep
keep:
  jump next
next:
  %j = add %i, 1
  jump head(%j)
done:
  ret 1
}
",
    );
}

#[test]
fn counters_are_not_constant() {
    stays(
        "fold",
        "func @f(%n: i64) -> i64 {\nentry:\n  jump head(0)\nhead(%i: i64):\n  %j = add %i, 1\n  %more = lt %j, %n\n  br_if %more, head(%j), done\ndone:\n  ret %i\n}\n",
    );
}

#[test]
fn dels_of_folded_values_are_removed() {
    becomes(
        "fold",
        "func @f() -> f64 {\nentry:\n  %0 = add 1.0, 2.0\n  %1 = neg %0\n  del %0\n  ret %1\n}\n",
        "func @f() -> f64 {\nentry:\n  ret -3.0\n}\n",
    );
}

#[test]
fn everything_is_one_application() {
    let mut module = parse(
        "func @f() -> i64 {\nentry:\n  %0 = add 1, 2\n  %1 = lt %0, 5\n  br_if %1, a(%0), b\na(%x: i64):\n  %2 = mul %x, %0\n  ret %2\nb:\n  ret 0\n}\n",
    );
    let report = run("fold", &mut module);
    assert_eq!(report.applied("fold"), 1);
    assert_eq!(module.functions().next().unwrap().inst_count(), 2);
    assert_eq!(report.remarks.len(), 1);
    assert_eq!(report.remarks[0].message, "`br_if` always goes the same way");
    assert_eq!(report.remarks[0].loc.line, 5);
}
