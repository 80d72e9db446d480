//! The text form: parsing, printing, and round trips.

use pretty_assertions::assert_eq;
use rewright_ir::op::promote_all;
use rewright_ir::*;

fn promoted(dtypes: &[DType], _: &Attrs) -> Result<Loop, String> {
    let all = promote_all(dtypes.iter().copied()).ok_or("no operands")?;
    Ok(Loop::uniform(dtypes.len(), all, all))
}
fn compared(dtypes: &[DType], attrs: &Attrs) -> Result<Loop, String> {
    promoted(dtypes, attrs).map(|l| Loop::uniform(2, l.ins[0], DType::Bool))
}
fn nothing(_: &[Scalar], _: &Attrs) -> Result<Scalars, EvalError> {
    Err(EvalError::unsupported("only has a text form"))
}

static ADD: OpDef = OpDef::elementwise("t_add", "adds", 2, promoted, nothing);
static LESS: OpDef = OpDef::elementwise("t_less", "compares", 2, compared, nothing);
static ALL: OpDef = OpDef::elementwise("t_attrs", "has every attribute", 1, promoted, nothing).attrs(&[
    AttrDef::flag("flag", "a flag"),
    AttrDef::int("int", 7, "an int"),
    AttrDef::optional("text", AttrKind::Str, "a string"),
    AttrDef::optional("ints", AttrKind::Ints, "ints"),
    AttrDef::optional("dims", AttrKind::Dims, "dims"),
    AttrDef::optional("slices", AttrKind::Slices, "slices"),
    AttrDef::optional("dtype", AttrKind::DType, "a dtype"),
    AttrDef::optional("scalar", AttrKind::Scalar, "a scalar"),
    AttrDef::optional("func", AttrKind::Func, "a function"),
    AttrDef::optional("array", AttrKind::Array, "an array"),
]);
register_op!(ADD, LESS, ALL);

/// Parses; panics with the rendered errors.
fn parse(text: &str) -> Module {
    parse_module(text, "test.ir").unwrap_or_else(|e| panic!("{}", e.render(false)))
}

/// Asserts that the text is in printed form.
#[track_caller]
fn same(text: &str) {
    assert_eq!(parse(text).to_string(), text);
}

/// The messages of a text's errors.
fn errors(text: &str) -> Vec<String> {
    match parse_module(text, "test.ir") {
        Ok(m) => panic!("no error in {m}"),
        Err(e) => e.errors().iter().map(|d| format!("{}:{}", d.loc, d.message)).collect(),
    }
}

const LOOP: &str = "\
func @count(%x: f64[n], %limit: i64) -> f64[n], i64 {
entry:
  jump loop(0, %x)
done:
  ret %0, %i
loop(%i: i64, %y: f64[n]):
  %0 = t_add %y, 2.0
  %more = t_less %i, %limit
  br_if %more, body, done
body:
  %next = t_add %i, 1
  jump loop(%next, %0)
}
";

#[test]
fn blocks_stand_in_any_order() {
    same(LOOP);
    let m = parse(LOOP);
    let f = m.functions().next().unwrap();
    assert_eq!(f.blocks().count(), 4);
    assert_eq!(f.signature().results[0].to_string(), "f64[n]");
}

#[test]
fn literals_take_the_dtype_beside_them() {
    same(
        "\
func @f(%x: f32[n], %k: i8) -> f32[n], f64, i8 {
entry:
  %0 = t_add %x, 0.1
  %1 = t_add %0, 1.0
  %2 = t_add %x, 0.1:f64
  %3 = t_add %k, 1.5
  %4 = t_add %k, -3
  %5 = t_add 1:i8, 2
  %6 = t_add NaN, -inf
  %7 = t_add (1.0, -2.0), 1
  %8 = t_add NaN(0xfff8000000000000):f64, 1e300
  %9 = t_add true, false
  %10 = t_add 18446744073709551615, 1
  ret %0, 2.0, 3
}
",
    );
}

#[test]
fn every_error_is_reported_with_its_place() {
    let text = "\
func @f(%x: f64[n], %k: f46) -> f64[n] {
entry:
  %a = t_ad %x, 1.0
  %b = t_add %a, %k
  %c = t_add %y, %x : f64[n]
  %d = t_add %x, 1.0 : f32[n]
  %e, %g = t_add %x, %x
  %e = t_add %x
  jump nowhere(%d)
other(%p: i64):
  jump other
}
func @g(%x: f64[n]) {
  %0 = t_attrs %x, flga=true
  %1 = t_attrs %x, ints=[1, x]
  %1 = ? 
  call @h(%x)
  ret
}
";
    assert_eq!(
        errors(text),
        [
            "1:25:unknown dtype `f46`",
            "3:8:unknown op `t_ad`",
            "5:14:value `%y` is not defined",
            "6:8:the result is f64[n], not f32[n]",
            "7:12:`t_add` has 1 result here, 2 named",
            "8:3:value `%e` is defined twice",
            "8:8:`t_add` takes 2 operands, got 1",
            "9:8:there is no block `nowhere` in `@f`",
            "11:8:block `other` takes 1 argument, got 0",
            "14:20:`t_attrs` has no attribute `flga`",
            "15:29:expected an integer, found `x`",
            "16:3:value `%1` is defined twice",
            "16:8:expected an op's name, found `?`",
            "17:3:there is no function `@h` in the module",
        ]
    );
}

#[test]
fn line_ends_and_byte_order_marks_of_other_editors_are_read() {
    let text = "func @f(%x: f64) -> f64 {\nentry:\n  %0 = neg %x\n  ret %0\n}\n";
    let other = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let module = parse_module(&other, "f.ir").unwrap_or_else(|e| panic!("{}", e.render(false)));
    assert_eq!(print_module(&module), text);
    let wrong = parse_module(&other.replace("neg %x", "nge %x"), "f.ir").unwrap_err().render(false);
    let lines: Vec<&str> = wrong.lines().collect();
    assert!(lines.iter().any(|l| l.contains("f.ir:3:8")), "{wrong}");
    let numbers: Vec<&str> = lines.iter().filter_map(|l| l.split_once(" │ ")).map(|(n, _)| n.trim()).collect();
    assert_eq!(numbers, ["2", "3", "4"], "{wrong}");
}

/// Numbers may come in any order with gaps, and `%007` is not `%7`.
#[test]
fn values_called_by_numbers() {
    let text = "func @f(%900000: f64, %7: f64, %007: f64) -> f64 {\nentry:\n  jump b\nb:\n  %3 = t_add %900000, %7\n";
    let mut text = text.to_string();
    (1000..1200).for_each(|i| text += &format!("  %{i} = t_add %007, %3\n"));
    text += "  %0 = t_add %900000, %1199\n  %1 = t_add %0, %7\n  ret %1\n}\n";
    let printed = print_module(&parse(&text));
    assert!(printed.starts_with("func @f(%0: f64, %1: f64, %2: f64) -> f64 {\n"), "{printed}");
    assert!(printed.contains("  %3 = t_add %0, %1\n  %4 = t_add %2, %3\n"), "{printed}");
    assert!(printed.ends_with("  %204 = t_add %0, %203\n  %205 = t_add %204, %1\n  ret %205\n}\n"), "{printed}");
    assert_eq!(errors(&text.replace("%1 = t_add %0, %7", "%1 = t_add %0, %900001")).len(), 1);
}
