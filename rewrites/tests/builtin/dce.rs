//! Dead code elimination.

use crate::{becomes, stays};

#[test]
fn unused_instructions_go_with_what_only_they_use() {
    becomes(
        "dce",
        "func @f(%x: f64[n]) -> f64[n] {\nentry:\n  %0 = neg %x\n  %1 = exp %0\n  %2 = add %1, %0\n  %3 = abs %x\n  ret %3\n}\n",
        "func @f(%x: f64[n]) -> f64[n] {\nentry:\n  %0 = abs %x\n  ret %0\n}\n",
    );
    stays("dce", "func @f(%x: i64) -> i64 {\nentry:\n  %0, %1 = divmod %x, 2\n  ret %1\n}\n");
}

#[test]
fn effects_stay_with_what_they_need() {
    stays(
        "dce",
        "\
func @f(%x: f64[n]) {
entry:
  %0 = neg %x
  %1 = abs %x
  store %0, %1
  %2 = exp %x
  print %2, label=\"exp\"
  ret
}
",
    );
}

#[test]
fn calls_go_if_they_only_compute() {
    becomes(
        "dce",
        "\
func @pure(%x: f64[n]) -> f64[n] {
entry:
  %0 = neg %x
  store %0, 1.0
  ret %0
}
func @says(%x: f64[n]) -> f64[n] {
entry:
  print %x
  ret %x
}
func @fill(%x: f64[n]) -> f64[n] {
entry:
  store %x, 0.0
  ret %x
}
func @f(%x: f64[n]) {
entry:
  %0 = call @pure(%x)
  %1 = call @says(%x)
  %2 = neg %x
  %3 = call @fill(%2)
  %4 = ufunc @square(%x)
  ret
}
func @square(%a: f64) -> f64 {
entry:
  %0 = mul %a, %a
  ret %0
}
",
        "\
func @pure(%x: f64[n]) -> f64[n] {
entry:
  %0 = neg %x
  store %0, 1.0
  ret %0
}
func @says(%x: f64[n]) -> f64[n] {
entry:
  print %x
  ret %x
}
func @fill(%x: f64[n]) -> f64[n] {
entry:
  store %x, 0.0
  ret %x
}
func @f(%x: f64[n]) {
entry:
  %0 = call @says(%x)
  %1 = neg %x
  %2 = call @fill(%1)
  ret
}
func @square(%a: f64) -> f64 {
entry:
  %0 = mul %a, %a
  ret %0
}
",
    );
}

#[test]
fn dels_go_with_their_values_and_only_with_them() {
    becomes(
        "dce",
        "func @f(%x: f64[n]) {\nentry:\n  %0 = neg %x\n  %1 = abs %0\n  del %0\n  del %1\n  del %x\n  ret\n}\n",
        "func @f(%x: f64[n]) {\nentry:\n  del %x\n  ret\n}\n",
    );
    stays("dce", "func @f(%x: f64[n]) {\nentry:\n  %0 = neg %x\n  print %0\n  del %0\n  ret\n}\n");
    becomes(
        "dce",
        "func @f(%c: bool, %x: f64[n]) {\nentry:\n  %0 = neg %x\n  br_if %c, a, b\na:\n  del %0\n  jump b\nb:\n  ret\n}\n",
        "func @f(%c: bool, %x: f64[n]) {\nentry:\n  br_if %c, a, b\na:\n  jump b\nb:\n  ret\n}\n",
    );
}

#[test]
fn unused_block_parameters_go_with_their_arguments() {
    becomes(
        "dce",
        "\
func @f(%c: bool, %x: f64[n]) -> f64[n] {
entry:
  %0 = neg %x
  br_if %c, join(%0, %x), other
other:
  %1 = exp %x
  jump join(%1, %x)
join(%a: f64[n], %b: f64[n]):
  ret %b
}
",
        "\
func @f(%c: bool, %x: f64[n]) -> f64[n] {
entry:
  br_if %c, join(%x), other
other:
  jump join(%x)
join(%b: f64[n]):
  ret %b
}
",
    );
    stays("dce", "func @f(%unused: f64[n]) {\nentry:\n  ret\n}\n");
}

#[test]
fn what_only_keeps_itself_alive_around_a_loop_goes() {
    becomes(
        "dce",
        "\
func @f(%n: i64) -> i64 {
entry:
  jump head(0, 1.0, 2.0)
head(%i: i64, %a: f64, %b: f64):
  %more = lt %i, %n
  br_if %more, body, done
body:
  %j = add %i, 1
  %0 = mul %a, %b
  %1 = sub %b, %0
  del %0
  jump head(%j, %1, %0)
done:
  ret %i
}
"
        .replace("  del %0\n", "")
        .as_str(),
        "\
func @f(%n: i64) -> i64 {
entry:
  jump head(0)
head(%i: i64):
  %more = lt %i, %n
  br_if %more, body, done
body:
  %j = add %i, 1
  jump head(%j)
done:
  ret %i
}
",
    );
}

#[test]
fn unreachable_blocks_go() {
    becomes(
        "dce",
        "\
func @f(%x: i64) -> i64 {
entry:
  jump live(%x)
dead:
  %0 = add %x, 1
  jump also
live(%y: i64):
  ret %y
also:
  br_if true, dead, live(%0)
}
",
        "func @f(%x: i64) -> i64 {\nentry:\n  jump live(%x)\nlive(%y: i64):\n  ret %y\n}\n",
    );
}

#[test]
fn loops_that_never_end_stay() {
    stays("dce", "func @f() {\nentry:\n  jump head\nhead:\n  jump head\n}\n");
}
