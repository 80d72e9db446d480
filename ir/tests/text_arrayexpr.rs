//! The text form of `arrayexpr`: every part of it survives a round trip.

use pretty_assertions::assert_eq;
use rewright_ir::expr::*;
use rewright_ir::*;

/// Parses; panics with the rendered errors.
fn parse(text: &str) -> Module {
    parse_module(text, "test.ir").unwrap_or_else(|e| panic!("{}", e.render(false)))
}

/// Asserts that the text is in printed form.
#[track_caller]
fn same(text: &str) {
    assert_eq!(parse(text).to_string(), text);
}

/// The expression of a function's first instruction.
fn expr_of(text: &str) -> ArrayExpr {
    let module = parse(text);
    let func = module.functions().next().unwrap();
    let first = func.first_inst(func.entry().unwrap()).unwrap();
    func.inst(first).attrs.expr().unwrap().as_ref().clone()
}

fn errors(text: &str) -> Vec<String> {
    match parse_module(text, "test.ir") {
        Ok(m) => panic!("no error in {m}"),
        Err(e) => e.errors().iter().map(|d| format!("{}:{}", d.loc, d.message)).collect(),
    }
}

#[test]
fn broadcasting_and_scalars() {
    let text = "\
func @f(%a: f64[n, m], %b: f32[m], %s: i64) -> f64[n, m], bool[n, m] {
entry:
  %0, %1 = arrayexpr [i: n, j: m] (x = %a[i, j], y = %b[bcast(j)], s = %s, c = 2.0, d = 3:i8) {
    t0 = mul x, y
    t1 = add t0, c
    t2 = add t1, 0.5
    t3 = sub t2, i
    t4 = power s, d
    t5 = gt t3, t4
    yield t3, t5
  } : f64[n, m], bool[n, m]
  ret %0, %1
}
";
    same(text);
    let expr = expr_of(text);
    assert_eq!(expr.operands[1].index[0].mode, Mode::Broadcast);
    assert_eq!(expr.operands[3].source, Source::Scalar(3));
    assert_eq!(expr.operands[4].dtype, DType::I8);
    assert_eq!(expr.body.insts[3].args[1], BodyRef::Axis(0));
    assert_eq!(expr.outs[1].dtype, DType::Bool);
}

#[test]
fn every_access_mode_and_position() {
    let text = "\
func @f(%a: f64[n, m], %p: i32[n], %q: i64[m]) -> f64[n] {
entry:
  %0 = arrayexpr [i: n] (\
x0 = %a[clamp(i - 1), wrap(2*i + n - 3)], x1 = %a[pad(2 - i, 0.5), check(i // 2)], \
x2 = %a[proved((i + 1) // 2), clamp(i % 3)], x3 = %a[gather(%p[i]), clamp(gather(%q[gather(%p[i])]) + i - 1)], \
x4 = %a[0, n - m - 2]) {
    t0 = add x0, x1
    t1 = add x2, x3
    t2 = add t0, t1
    t3 = add t2, x4
    yield t3
  } : f64[n]
  ret %0
}
";
    // `proved` is the default mode.
    let printed = text.replace("proved((i + 1) // 2)", "(i + 1) // 2");
    assert_eq!(parse(text).to_string(), printed);
    same(&printed);
    let expr = expr_of(text);
    let modes: Vec<Mode> = expr.operands.iter().flat_map(|o| o.index.iter().map(|i| i.mode)).collect();
    use Mode::*;
    let pad = Pad(Scalar::F64(0.5));
    assert_eq!(modes, [Clamp, Wrap, pad, Check, Proved, Clamp, Check, Clamp, Proved, Proved]);
    let IndexExpr::Gather { arg, index, offset, negative: Negative::FromEnd } = &expr.operands[3].index[1].expr else {
        panic!("no gather")
    };
    assert_eq!((*arg, offset), (2, &Affine::axis(0).add_axis(0, 0).unwrap_or_default().add_constant(-1)));
    assert!(matches!(index[0], IndexExpr::Gather { arg: 1, .. }));
}

/// Keeps the test above short.
trait AddConstant {
    fn add_constant(self, c: i64) -> Self;
}
impl AddConstant for Affine {
    fn add_constant(mut self, c: i64) -> Self {
        self.offset.constant += c;
        self
    }
}

#[test]
fn guards_bounds_and_inferred_extents() {
    let text = "\
func @f(%a: f64[n, n]) -> f64[n, n] {
entry:
  %0 = arrayexpr [i: 1..n, j: n - 1, k: reduce 2*n + 1] where k <= i and i == 2*j and (i + j) % 3 == 0 \
(x = %a[i, j]) {
    yield x
  } reduce (sum f64) into ([i, j] fill 0.0) : f64[n, n]
  ret %0
}
";
    same(text);
    let expr = expr_of(text);
    assert_eq!(expr.axes[0].lo, SymExpr::constant(1));
    assert_eq!(expr.axes[2].kind, AxisKind::Reduce);
    assert_eq!(expr.guard[0].test, Test::NotPositive);
    assert_eq!(expr.guard[0].form.axes(), [(0, -1), (2, 1)]);
    assert_eq!(expr.guard[1].test, Test::Zero);
    assert_eq!(expr.guard[2].test, Test::DivisibleBy(3));
    assert_eq!(expr.outs[0].fill, Some(Scalar::F64(0.0)));

    let inferred = "\
func @g(%a: f64[?], %b: f64[?]) -> f64[?] {
entry:
  %0 = arrayexpr [i: ?] (x = %a[bcast(i)], y = %b[bcast(i)]) {
    t0 = add x, y
    yield t0
  } : f64[?]
  ret %0
}
";
    same(inferred);
    assert_eq!(expr_of(inferred).axes[0].hi, None);
    let other_relations = text.replace("k <= i", "i >= k").replace("i == 2*j", "2*j == i");
    assert_eq!(parse(&other_relations).to_string().replace("2*j == i", "i == 2*j"), text);
    assert_eq!(parse(&text.replace("k <= i", "k < i + 1")).to_string(), text);
}

#[test]
fn reductions_with_init_region_and_finish() {
    let text = "\
func @f(%a: f32[n, m], %old: f64[n]) -> f64[n], f64[n], f32[n], i64[n], f64[n] {
entry:
  %0, %1, %2, %3, %4 = arrayexpr [i: n, k: reduce m] (x = %a[i, k]) {
    t0 = mul x, 2.0
    yield x, t0, x, k, 1.0
  } reduce (sum f64) init 0.5 reduce (f64) region (a0, a1) {
    t1 = maximum a0, a1
    yield t1
  } assoc comm idem identity -inf reduce (argmax f32, i64) noassoc nocomm init [0.0, -1] \
reduce (sum f64) nocomm init [%old] finish (s0, s1, s2, s3, s4) {
    u0 = tanh s0
    yield u0, s1, s2, s3, s4
  } : f64[n], f64[n], f32[n], i64[n], f64[n]
  ret %0, %1, %2, %3, %4
}
";
    let text = text.replace("t1 = maximum", "t0 = maximum").replace("yield t1", "yield t0");
    same(&text);
    let expr = expr_of(&text);
    assert_eq!(expr.reductions[0].init, Init::Values(vec![Scalar::F64(0.5)]));
    assert_eq!(expr.reductions[1].identity, Some(vec![Scalar::F64(f64::NEG_INFINITY)]));
    assert!(expr.reductions[1].idempotent && !expr.reductions[0].idempotent);
    assert!(!expr.reductions[2].associative && expr.reductions[3].associative && !expr.reductions[3].commutative);
    assert_eq!(expr.reductions[3].init, Init::Existing(vec![1]));
    assert_eq!(expr.finish.unwrap().yields[4], BodyRef::Acc(4));
}

#[test]
fn results_are_scattered_and_combined() {
    same(
        "\
func @f(%a: f64[n], %p: i64[n]) -> f64[10], f64[20], f64[n, n], f64[] {
entry:
  %0, %1, %2, %3 = arrayexpr [i: n] (x = %a[i]) {
    yield x, x, x, x
  } into ([gather(%p[i])] fill 0.0 combine sum, [2*i + 1] fill NaN, [i, i] fill -0.0, [] fill 0.0 last) \
: f64[10], f64[20], f64[n, n], f64[]
  ret %0, %1, %2, %3
}
",
    );
}

#[test]
fn nested_expressions_capture() {
    let text = "\
func @f(%a: f64[n], %w: f64[5]) -> f64[n] {
entry:
  %0 = arrayexpr [i: n] (x = %a[i]) {
    t0 = exp x
    t1 = arrayexpr [k: reduce 5] (y = %w[k], z = t0, near = %a[clamp(i + k - 2)]) {
      t0 = mul y, z
      t1 = mul t0, near
      yield t1
    } reduce (sum f64) : f64
    t2 = add t0, t1
    yield t2
  } : f64[n]
  ret %0
}
";
    same(text);
    let expr = expr_of(text);
    let BodyOp::Nested(nested) = &expr.body.insts[1].op else { panic!("not nested") };
    assert_eq!(expr.body.insts[1].args[..], [BodyRef::Inst(0, 0)]);
    assert_eq!(nested.operands[1].source, Source::Capture(0));
    assert_eq!(nested.operands[2].index[0].expr, IndexExpr::Affine(form(&[(0, 1), (1, 1)], -2)));
}

fn form(axes: &[(u32, i64)], constant: i64) -> Affine {
    axes.iter().fold(Affine::constant(constant), |form, &(axis, c)| form.add_axis(axis, c).unwrap())
}

#[test]
fn operands_in_another_order_are_listed() {
    let text = "\
func @f(%a: f64[n], %b: f64[n]) -> f64[n] {
entry:
  %0 = arrayexpr (%b, %a, %b) [i: n] (x = #1[i], y = #0[i], z = #2[i]) {
    t0 = add x, y
    t1 = arrayexpr (2.0, t0) [k: reduce 3] (p = $1, q = $0) {
      t0 = mul p, q
      yield t0
    } reduce (sum f64) : f64
    t2 = add t1, z
    yield t2
  } : f64[n]
  ret %0
}
";
    same(text);
}

#[test]
fn names_that_clash_are_told_apart() {
    same(
        "\
func @f(%a: f64[i, \"a b\"], %\"q r\": f64[i]) -> f64[i, \"a b\"] {
entry:
  %0 = arrayexpr [i: i, t0: \"a b\", reduce: \"reduce\"] where i <= \"i\" and \"reduce\" <= reduce \
(u0 = %a[i, t0], t1 = %\"q r\"[i]) {
    t2 = add u0, t1
    yield t2
  } into ([i, t0] last) : f64[i, \"a b\"]
  ret %0
}
",
    );
}

#[test]
fn bodies_may_be_empty() {
    same(
        "\
func @f() -> f64[3], i64[] {
entry:
  %0 = arrayexpr [i: 3] () {
    yield 1.5
  } : f64[3]
  %1 = arrayexpr [] () {
    yield 7
  } : i64[]
  ret %0, %1
}
",
    );
}

#[test]
fn every_error_of_an_expression_is_told() {
    let text = "\
func @f(%a: f64[n], %b: f64[n]) -> f64[n] {
entry:
  %0 = arrayexpr [i: n] (x = %a[i], x = %b[i]) {
    yield x
  } : f64[n]
  %1 = arrayexpr [i: n] (x = %a[j], y = %b[clmp(i)]) {
    yield x
  } : f64[n]
  %2 = arrayexpr [i: n] (x = %a[i]) {
    t0 = ad x, 1.0
    t1 = add x, z
    t1 = add x, 2.0
    yield t1
  } : f64[n]
  %3 = arrayexpr [i: n] (x = %a[i]) {
    t0 = add %a, x
    yield t0
  } : f64[n]
  %4 = arrayexpr [i: n, k: reduce n] (x = %a[k]) {
    yield x
  } reduce (smu f64) : f64[n]
  %5 = arrayexpr [i: n] (x = %a[i]) {
    yield x
  }
  %6 = arrayexpr [i: n] (x = %a[i + 1 // 2]) {
    yield x
  } : f64[n]
  %7 = arrayexpr [i: n, k: reduce n] (x = %a[k]) {
    yield x
  } : f64[n]
  %8 = arrayexpr [i: n] (x = %a[i]) {
    t0 = and x
    t1 = add t0, x
    t2 = bitand x, 1.5
    yield t1
  } : f64[n]
  %9 = arrayexpr [i: n] (x = %a[i, i], y = %b) {
    yield x
  } : f64[n]
  %10 = arrayexpr [i: n] (x = %a[i, i], y = %b) {
    yield x, y
  } : f64[n]
  ret %a
}
";
    assert_eq!(
        errors(text),
        [
            "3:37:the name `x` is taken",
            "6:44:unknown access mode `clmp`",
            "10:10:unknown op `ad`",
            "11:17:`z` is not defined in this body",
            "12:5:the name `t1` is taken",
            "16:14:a body sees its operands, not values of the function",
            "21:13:unknown monoid `smu`",
            "22:8:the result types of an `arrayexpr` are missing",
            "25:39:the dividend of `//` and `%` is one term, or in parentheses",
            "28:3:there are reduce axes, and nothing says how points along them combine",
            "32:5:`and` takes 2 operands, got 1",
            "34:5:`bitand` is not defined for f64, f64",
            "37:3:operand `x` has 2 positions for 1 dims",
            "37:3:operand `y` is read as a scalar and is f64[n]",
            "40:3:operand `x` has 2 positions for 1 dims",
            "40:3:operand `y` is read as a scalar and is f64[n]",
            "40:3:2 values are computed for 1 results",
        ]
    );
}
