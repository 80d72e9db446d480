//! Large and deeply nested texts, and texts written by other editors.

use pretty_assertions::assert_eq;
use rewright_ir::ron::{from_ron, to_ron};
use rewright_ir::*;
use std::fmt::Write;
use std::time::{Duration, Instant};

fn parse(text: &str) -> Module {
    parse_module(text, "test.ir").unwrap_or_else(|e| panic!("{}", e.render(false)))
}
fn errors(text: &str) -> Vec<String> {
    match parse_module(text, "test.ir") {
        Ok(_) => panic!("no error"),
        Err(e) => e.errors().iter().map(|d| format!("{}:{}", d.loc, d.message)).collect(),
    }
}

const SMALL: &str = "\
func @f(%x: f64[n], %\"größe\": f64) -> f64[n] {
entry:
  %0 = mul %x, 2.0 // ä comment
  // 日本語
  %1 = arrayexpr [i: n] (a = %0[i], b = %\"größe\") {
    t0 = add a, b // inside
    yield t0
  } : f64[n]
  jump done
done:
  ret %1
}
";

#[test]
fn line_ends_and_blanks_of_every_kind() {
    let plain = parse(SMALL).to_string();
    assert_eq!(parse(&SMALL.replace('\n', "\r\n")).to_string(), plain);
    assert_eq!(parse(&SMALL.replace("  ", "\t")).to_string(), plain);
    assert_eq!(parse(SMALL.trim_end()).to_string(), plain);
    assert_eq!(parse(&format!("\n\n// first\n{SMALL}// last")).to_string(), plain);
    let broken = SMALL.replace("%x, 2.0", "%x ,\n      2.0").replace("0[i], b", "0[i] ,\n\n b");
    assert_eq!(parse(&broken).to_string(), plain);
}

#[test]
fn columns_are_characters() {
    let text = "func @f(%x: f64) {\nentry:\n  %\"größe\" = neg %nix\r\n  ret\n}\n";
    assert_eq!(errors(text), ["3:18:value `%nix` is not defined"]);
    let crlf = text.replace('\n', "\r\n");
    assert_eq!(errors(&crlf), ["3:18:value `%nix` is not defined"]);
}

#[test]
fn strange_bytes_are_errors_with_a_place() {
    assert_eq!(
        errors("func @f() {\nentry:\n  ret ™\n}\n"),
        ["3:7:expected an operand, an attribute or a block, found `™`"]
    );
    assert_eq!(errors("func @f() {\n\u{feff}entry:\n  ret\n}\n").len(), 1);
    assert_eq!(errors("func @f() {\nentry:\0\n  ret\n}\n").len(), 1);
    assert_eq!(errors("func @f() {\nentry:\n  print \"no end\n}\n").len(), 1);
}

#[test]
fn deep_nesting_is_refused() {
    const DEPTH: usize = 100_000;
    let inside = |code: &str| format!("func @f(%x: f64[n], %p: i64[n]) {{\nentry:\n  {code}\n  ret\n}}\n");
    let gathers = format!("%0 = arrayexpr [i: n] (x = %x[{}i", "gather(%p[".repeat(DEPTH));
    let expressions = format!("%0 = arrayexpr [i: n] () {{\n{}", "t0 = arrayexpr [k: reduce n] () {\n".repeat(DEPTH));
    for code in [
        format!("%0 = constant value={}", "[".repeat(DEPTH)),
        format!("%0 = add %x, {}", "(".repeat(DEPTH)),
        format!("%0 = arrayexpr [i: n] (x = %x[{}", "(".repeat(DEPTH)),
        gathers,
        expressions,
        "{".repeat(DEPTH),
        format!("%0 = add %x, {}1.0", "-".repeat(DEPTH)),
    ] {
        let found = errors(&inside(&code));
        assert!(!found.is_empty());
        assert!(found.iter().all(|e| e.len() < 300), "{found:?}");
    }
}

#[test]
fn long_lines_are_cut_in_pictures() {
    let mut data = String::from("func @f() -> f64[500000] {\nentry:\n  %0 = constant value=[");
    data.push_str(&"1.5, ".repeat(500_000));
    data.push_str("]:f64\n  ret %0\n}\n");
    let module = parse(&data);
    assert_eq!(print_module(&module).len(), data.len() - 2);
    let broken = data.replace("]:f64", "x]:f64");
    let error = parse_module(&broken, "long.ir").unwrap_err();
    assert_eq!(error.errors()[0].message, "expected a number, found `x`");
    let picture = error.render(false);
    assert!(picture.len() < 2000, "{} bytes: {}", picture.len(), &picture[..600]);
    let name = "n".repeat(1_000_000);
    let error = parse_module(&format!("func @f() {{\nentry:\n  %0 = neg %{name}\n  ret\n}}\n"), "long.ir").unwrap_err();
    assert!(error.render(false).len() < 2000);
}

#[test]
fn many_errors_are_counted() {
    let text = format!("func @f() {{\nentry:\n{}  ret\n}}\n", "  %x = nothing 1\n".repeat(100_000));
    let error = parse_module(&text, "many.ir").unwrap_err();
    assert_eq!(error.errors().len(), 100);
    assert!(error.render(false).ends_with("  and 199899 more\n"), "{}", &error.to_string()[..80]);
}

// --- A hundred thousand instructions ------------------------------------------------------------

const MANY: usize = 100_000;

/// Fails if work takes quadratic time, which would be minutes.
#[track_caller]
fn quick<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    let took = start.elapsed();
    assert!(took < Duration::from_secs(30), "{what} took {took:?}");
    result
}

#[track_caller]
fn there_and_back(text: &str) {
    let module = quick("parsing", || parse(text));
    let printed = quick("printing", || print_module(&module));
    assert_eq!(quick("parsing again", || parse(&printed)).to_string(), printed);
    let ron = quick("writing RON", || to_ron(&module).unwrap());
    let read = quick("reading RON", || from_ron(&ron, "large.ron").unwrap());
    assert_eq!(print_module(&read), printed);
}

#[test]
fn a_long_chain() {
    let mut text = String::from("func @f(%x: f64[n]) -> f64[n] {\nentry:\n  %0 = neg %x\n");
    for i in 1..MANY {
        let _ = writeln!(text, "  %{i} = add %{}, %x", i - 1);
    }
    let _ = write!(text, "  ret %{}\n}}\n", MANY - 1);
    there_and_back(&text);
}

#[test]
fn many_blocks_with_names_that_clash() {
    let mut text = String::from("func @f(%c: bool) -> i64 {\nentry:\n  jump b0(0)\n");
    for i in 0..MANY / 4 {
        let _ =
            write!(text, "b{i}(%v{i}: i64):\n  %a_{i} = add %v{i}, 1\n  br_if %c, b{}(%a_{i}), end(%v{i})\n", i + 1);
    }
    let _ = write!(text, "b{}(%last: i64):\n  ret %last\nend(%e: i64):\n  ret %e\n}}\n", MANY / 4);
    there_and_back(&text);
}

#[test]
fn a_large_body() {
    let mut text = String::from(
        "func @f(%x: f64[n]) -> f64[n] {\nentry:\n  %0 = arrayexpr [i: n] (x = %x[i]) {\n    t0 = neg x\n",
    );
    for i in 1..MANY {
        let _ = writeln!(text, "    t{i} = add t{}, x", i - 1);
    }
    let _ = write!(text, "    yield t{}\n  }} : f64[n]\n  ret %0\n}}\n", MANY - 1);
    there_and_back(&text);
}

#[test]
fn many_functions() {
    let mut text = String::new();
    for i in 0..MANY / 10 {
        let _ = write!(text, "func @f{i}(%x: f64) -> f64 {{\nentry:\n  %0 = neg %x\n");
        if i > 0 {
            let _ = writeln!(text, "  %1 = call @f{}(%0)", i - 1);
        }
        let _ = write!(text, "  ret %0\n}}\n\n");
    }
    there_and_back(text.trim_end());
}
