//! The RON form: writing, reading, and refused texts.

use pretty_assertions::assert_eq;
use rewright_ir::ron::{from_ron, to_ron};
use rewright_ir::*;

fn parse(text: &str) -> Module {
    parse_module(text, "test.ir").unwrap_or_else(|e| panic!("{}", e.render(false)))
}

/// Asserts that a round trip through RON gives the same text and the same RON.
#[track_caller]
fn same(text: &str) -> String {
    let module = parse(text);
    let ron = to_ron(&module).unwrap();
    let back = from_ron(&ron, "test.ron").unwrap_or_else(|e| panic!("{}\n{ron}", e.render(false)));
    assert_eq!(back.to_string(), module.to_string());
    assert_eq!(to_ron(&back).unwrap(), ron);
    ron
}

const LOOP: &str = "\
func @count(%x: f64[n], %limit: i64) -> f64[n], i64 {
entry:
  jump loop(0, %x)
loop(%i: i64, %y: f64[n]):
  %0 = mul %y, 2.0
  %more = lt %i, %limit
  br_if %more, body, \"done now\"(%0)
body:
  %next = add %i, 1
  jump loop(%next, %0)
\"done now\"(%\"a b\": f64[n]):
  %1 = sum %\"a b\", axes=[0], keepdims=true
  ret %\"a b\", %i
}
";

#[test]
fn the_tree_is_readable() {
    let ron = same(LOOP);
    let expected = r#"Module([
    Function(
        name: "count",
        results: [
            "f64[n]",
            "i64",
        ],
        blocks: [
            Block(
                name: "entry",
                params: [
                    ("%x", "f64[n]"),
                    ("%limit", "i64"),
                ],
                insts: [
                    Inst(op: "jump", targets: [Target(block: "loop", args: ["0:i64", "%x"])]),
                ],
            ),
"#;
    assert_eq!(&ron[..expected.len()], expected);
    let sum =
        r#"Inst(results: ["%1"], op: "sum", args: ["%\"a b\""], attrs: {"axes": Ints([0]), "keepdims": Bool(true)}"#;
    assert!(ron.contains(sum), "{ron}");
}

#[test]
fn every_bit_of_a_number_is_kept() {
    same(
        "\
func @f(%x: f32[n]) -> f32[n] {
entry:
  %0 = add %x, NaN(0xffc00001):f32
  %1 = add 0.1:f32, 1e-320
  %2 = constant value=[[1.0, -0.0], [NaN(0xfff8000000000001), inf]]:f64
  %3 = constant value=[]:u8[2, 0]
  %4 = add (1.0, NaN), (-0.0, inf):c64
  %5 = constant value=18446744073709551615:u64
  ret %0
}
",
    );
}

#[test]
fn expressions_and_calls() {
    let ron = same(
        "\
func @g(%a: f64[n, m], %p: i64[n]) -> f64[n], f64[n] {
entry:
  %0, %1 = arrayexpr [i: 1..n, k: reduce m] where k <= i (x = %a[clamp(i - 1), k], y = %a[gather(%p[i]), wrap(k // 2)], \
c = 2.0) {
    t0 = mul x, y
    t1 = arrayexpr [l: reduce 3] (z = t0, w = %a[pad(i, NaN), 0]) {
      t0 = mul z, w
      yield t0
    } reduce (sum f64) : f64
    yield t1, c
  } reduce (sum f64) init 0.5 reduce (f64) region (a0, a1) {
    t0 = maximum a0, a1
    yield t0
  } assoc idem identity -inf finish (s0, s1) {
    u0 = tanh s0
    yield u0, s1
  } into ([i] fill 0.0, [i] fill NaN last) : f64[n], f64[n]
  ret %0, %1
}

func @f(%a: f64[n, m], %p: i64[n]) -> f64[n] {
entry:
  %0, %1 = call @g(%a, %p)
  ret %0
}
",
    );
    assert!(ron.contains(r#"mode: Pad("NaN:f64")"#), "{ron}");
}

#[test]
fn a_function_alone_is_data_too() {
    let function = parse(LOOP).into_functions().next().unwrap();
    let text = ::ron::to_string(&function).unwrap();
    let back: Function = ::ron::from_str(&text).unwrap();
    assert_eq!(back.to_string(), function.to_string());
}

/// Replaces a part of the RON of [`LOOP`], and returns the error messages.
#[track_caller]
fn refused(from: &str, to: &str) -> String {
    let ron = to_ron(&parse(LOOP)).unwrap();
    assert!(ron.contains(from), "{from} is not in {ron}");
    let errors = from_ron(&ron.replacen(from, to, 1), "bad.ron").unwrap_err();
    let line = |e: &Diagnostic| if e.loc.is_none() { e.message.clone() } else { format!("{}: {}", e.loc, e.message) };
    errors.errors().iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn errors_say_where() {
    assert_eq!(refused("\"i64\"", "\"i46\""), "6:14: in `i46`: unknown dtype `i46`");
    assert_eq!(
        refused("blocks:", "block:"),
        "8:9: Unexpected field named `block` in `Function`, expected one of `name`, `untyped`, `results`, or `blocks` instead"
    );
    assert_eq!(
        refused("op: \"mul\"", "op: \"multiply\""),
        "`@count`, block `loop`, instruction 0 (`multiply`): unknown op `multiply` (is the crate that registers it linked (`use my_plugin as _;`)?)"
    );
    assert_eq!(refused("[\"%y\", \"2.0:f64\"]", "[\"%yy\", \"2.0:f64\"]"), "`@count`: value `%yy` is not defined");
    assert_eq!(
        refused("[\"%y\", \"2.0:f64\"]", "[\"%y\"]"),
        "`@count`, block `loop`, instruction 0 (`mul`): `mul` takes 2 operands, got 1"
    );
    assert_eq!(
        refused("[\"%y\", \"2.0:f64\"]", "[\"%y\", \"2.0:f64 3\"]"),
        "`@count`, block `loop`, instruction 0 (`mul`): in `2.0:f64 3`: there is more than is read"
    );
    assert_eq!(
        refused("types: [\"bool\"]", "types: [\"i8\"]"),
        "`@count`, block `loop`, instruction 1 (`lt`): the result is bool, not i8"
    );
    assert_eq!(
        refused("Target(block: \"body\")", "Target(block: \"boddy\")"),
        "`@count`: there is no block `boddy` in `@count`"
    );
    assert_eq!(
        refused("\"axes\": Ints([0])", "\"axs\": Ints([0])"),
        "`@count`, block `done now`, instruction 0 (`sum`): `sum`: unknown attribute `axs`; this op has `axes`, `keepdims`"
    );
    // An error that only the verifier detects.
    assert_eq!(
        refused("args: [\"%next\", \"%0\"]", "args: [\"%next\", \"%1\"]"),
        "`@count`, `jump loop(%next, %1)`: `jump` uses %1, which is not defined on every path to it (values go from block to block as block arguments \
where their definition does not dominate)"
    );
}

#[test]
fn nesting_is_bounded() {
    let deep = "(".repeat(100_000);
    assert!(from_ron(&deep, "deep.ron").is_err());
    let deep = format!("Module([Function(name: \"f\", blocks: {}", "[".repeat(100_000));
    assert!(from_ron(&deep, "deep.ron").is_err());
}

/// The examples of the IR page are valid and produce the shown output.
#[test]
fn examples_of_the_page_are_read() {
    let page = include_str!("../../docs/ir.md");
    let blocks = |kind: &str| -> Vec<String> {
        let fence = format!("```{kind}\n");
        let parts = page.split(&fence).skip(1);
        parts.filter_map(|p| p.split("```").next()).map(str::to_string).collect()
    };
    let (texts, trees) = (blocks("ir"), blocks("ron"));
    assert_eq!((texts.len(), trees.len()), (4, 1));
    texts.iter().for_each(|text| drop(same(text)));
    let module = from_ron(&trees[0], "ir.md").unwrap_or_else(|e| panic!("{}", e.render(false)));
    same(&module.to_string());
}

#[test]
fn a_value_without_a_type_is_one_error_for_all_its_uses() {
    let text = r#"Module([Function(name: "f", results: ["f64"], blocks: [
        Block(name: "entry", insts: [Inst(op: "jump", targets: [Target(block: "next", args: ["1"])])]),
        Block(name: "next", params: [("%i", "?")], insts: [
            Inst(results: ["%0"], op: "add", args: ["%i", "1"]),
            Inst(op: "jump", targets: [Target(block: "next", args: ["%0"])]),
        ]),
    ])])"#;
    let error = from_ron(text, "f.ron").unwrap_err().to_string();
    assert!(error.contains("parameter `%i` has no type"), "{error}");
}
