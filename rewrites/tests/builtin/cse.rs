//! Common subexpression elimination.

use crate::{becomes, parse, run, stays};

#[test]
fn redundant_computations_are_merged() {
    becomes(
        "cse",
        "\
func @f(%x: f64[n], %y: f64[n]) -> f64[n] {
entry:
  %a = add %x, %y
  %b = exp %a
  %c = add %x, %y
  %d = exp %c
  %e = mul %b, %d
  ret %e
}
",
        "\
func @f(%x: f64[n], %y: f64[n]) -> f64[n] {
entry:
  %a = add %x, %y
  %b = exp %a
  %e = mul %b, %b
  ret %e
}
",
    );
}

#[test]
fn operands_of_commutative_ops_may_stand_in_any_order() {
    becomes(
        "cse",
        "func @f(%x: i64, %y: i64) -> i64, i64 {\nentry:\n  %0 = mul %x, %y\n  %1 = mul %y, %x\n  ret %0, %1\n}\n",
        "func @f(%x: i64, %y: i64) -> i64, i64 {\nentry:\n  %0 = mul %x, %y\n  ret %0, %0\n}\n",
    );
    stays(
        "cse",
        "func @f(%x: i64, %y: i64) -> i64, i64 {\nentry:\n  %0 = sub %x, %y\n  %1 = sub %y, %x\n  ret %0, %1\n}\n",
    );
}

#[test]
fn constants_and_attributes_count_bit_for_bit() {
    stays(
        "cse",
        "\
func @f(%x: f64[n]) -> f64[n], f64[n], f64[n], f64[n], f32[n], f64[2], f64[2], f64, f64[1] {
entry:
  %0 = add %x, 0.0
  %1 = add %x, -0.0
  %2 = add %x, NaN
  %3 = add %x, NaN(0x7ff8000000000001):f64
  %4 = cast %x, to=f32
  %5 = constant value=[0.0, 1.0]:f64
  %6 = constant value=[-0.0, 1.0]:f64
  %7 = sum %x
  %8 = sum %x, axes=[0], keepdims=true
  ret %0, %1, %2, %3, %4, %5, %6, %7, %8
}
",
    );
    becomes(
        "cse",
        "func @f(%x: f64[n]) -> f64[n], f64[n], f64[2], f64[2] {\nentry:\n  %0 = add %x, NaN\n  %1 = add %x, NaN\n  %2 = constant value=[NaN, 1.0]:f64\n  %3 = constant value=[NaN, 1.0]:f64\n  ret %0, %1, %2, %3\n}\n",
        "func @f(%x: f64[n]) -> f64[n], f64[n], f64[2], f64[2] {\nentry:\n  %0 = add %x, NaN\n  %1 = constant value=[NaN, 1.0]:f64\n  ret %0, %0, %1, %1\n}\n",
    );
}

#[test]
fn only_dominating_values_are_used() {
    becomes(
        "cse",
        "\
func @f(%c: bool, %x: f64) -> f64 {
entry:
  %0 = neg %x
  br_if %c, a, b
a:
  %1 = neg %x
  %2 = exp %x
  %3 = add %1, %2
  jump join(%3)
b:
  %4 = exp %x
  %5 = neg %x
  %6 = mul %4, %5
  jump join(%6)
join(%r: f64):
  %7 = exp %x
  %8 = neg %x
  %9 = sub %r, %7
  %10 = sub %9, %8
  ret %10
}
",
        "\
func @f(%c: bool, %x: f64) -> f64 {
entry:
  %0 = neg %x
  br_if %c, a, b
a:
  %1 = exp %x
  %2 = add %0, %1
  jump join(%2)
b:
  %3 = exp %x
  %4 = mul %3, %0
  jump join(%4)
join(%r: f64):
  %5 = exp %x
  %6 = sub %r, %5
  %7 = sub %6, %0
  ret %7
}
",
    );
}

#[test]
fn reads_stay_on_their_side_of_stores() {
    becomes(
        "cse",
        "\
func @f(%x: f64[n]) -> f64[n], f64[n], f64[n], f64[n] {
entry:
  %0 = neg %x
  %1 = neg %x
  store %x, 1.0
  %2 = neg %x
  %3 = neg %x
  ret %0, %1, %2, %3
}
",
        "\
func @f(%x: f64[n]) -> f64[n], f64[n], f64[n], f64[n] {
entry:
  %0 = neg %x
  store %x, 1.0
  %1 = neg %x
  ret %0, %0, %1, %1
}
",
    );
}

#[test]
fn reads_stay_on_their_side_of_calls_that_store_and_of_loops_that_do() {
    stays(
        "cse",
        "\
func @fill(%v: f64, %x: f64[n]) {
entry:
  store %x, %v
  ret
}
func @f(%x: f64[n]) -> f64[n], f64[n] {
entry:
  %0 = neg %x
  call @fill(1.0, %x)
  %1 = neg %x
  ret %0, %1
}
func @g(%x: f64[n], %c: bool) -> f64[n], f64[n] {
entry:
  %0 = neg %x
  jump loop
loop:
  %1 = neg %x
  store %x, %1
  br_if %c, loop, done
done:
  ret %0, %1
}
",
    );
}

#[test]
fn values_that_are_stored_to_are_not_shared() {
    stays(
        "cse",
        "\
func @f(%x: f64[n]) -> f64[n], f64[n] {
entry:
  %0 = neg %x
  %1 = neg %x
  store %0, 1.0
  ret %0, %1
}
func @g(%x: f64[n]) -> f64[n], f64[n] {
entry:
  %0 = neg %x
  %1 = neg %x
  store %1, 1.0
  ret %0, %1
}
",
    );
}

#[test]
fn nothing_is_shared_across_a_del() {
    stays(
        "cse",
        "\
func @f(%x: f64[n]) -> f64[n] {
entry:
  %0 = neg %x
  print %0
  del %0
  %1 = neg %x
  ret %1
}
func @g(%x: f64[n], %c: bool) -> f64[n] {
entry:
  %0 = neg %x
  br_if %c, a, b
a:
  del %0
  jump b
b:
  %1 = neg %x
  ret %1
}
",
    );
    becomes(
        "cse",
        "func @f(%x: f64[n]) {\nentry:\n  %0 = neg %x\n  %1 = neg %x\n  print %0\n  del %0\n  print %1\n  del %1\n  ret\n}\n",
        "func @f(%x: f64[n]) {\nentry:\n  %0 = neg %x\n  print %0\n  print %0\n  del %0\n  ret\n}\n",
    );
}

#[test]
fn pure_calls_and_constructors_are_shared_and_others_not() {
    becomes(
        "cse",
        "\
func @pure(%x: f64[n]) -> f64[n] {
entry:
  %0 = neg %x
  ret %0
}
func @says(%x: f64[n]) -> f64[n] {
entry:
  print %x
  ret %x
}
func @f(%x: f64[n]) -> f64[n], f64[n], f64[n], f64[n], i64[n], i64[n] {
entry:
  %0 = call @pure(%x)
  %1 = call @pure(%x)
  %2 = call @says(%x)
  %3 = call @says(%x)
  %4 = iota dims=[n]
  %5 = iota dims=[n]
  ret %0, %1, %2, %3, %4, %5
}
",
        "\
func @pure(%x: f64[n]) -> f64[n] {
entry:
  %0 = neg %x
  ret %0
}
func @says(%x: f64[n]) -> f64[n] {
entry:
  print %x
  ret %x
}
func @f(%x: f64[n]) -> f64[n], f64[n], f64[n], f64[n], i64[n], i64[n] {
entry:
  %0 = call @pure(%x)
  %1 = call @says(%x)
  %2 = call @says(%x)
  %3 = iota dims=[n]
  ret %0, %0, %1, %2, %3, %3
}
",
    );
}

#[test]
fn copies_of_a_whole_expression_go_in_one_application() {
    let copy = |n: usize| format!("  %a{n} = exp %x\n  %b{n} = add %a{n}, 1.0\n  %c{n} = mul %b{n}, %a{n}\n");
    let body: String = (0..4).map(copy).collect();
    let mut module = parse(&format!("func @f(%x: f64) -> f64, f64 {{\nentry:\n{body}  ret %c0, %c3\n}}\n"));
    let report = run("cse", &mut module);
    assert_eq!(report.applied("cse"), 1);
    assert_eq!(module.functions().next().unwrap().inst_count(), 4);
}
