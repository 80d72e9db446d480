//! Tests of the command line: both output streams, and the exit status.

#[path = "cli/rules.rs"]
mod rules;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const HALVES: &str = "func @f(%x: f64[n]) -> f64[n] {\nentry:\n  %half = mul %x, 0.5\n  ret %half\n}\n";

fn passdump(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_passdump"));
    command.args(args).env_remove("NO_COLOR").env("REWRIGHT_CACHE", env!("CARGO_TARGET_TMPDIR"));
    command
}

/// Runs with a text on the standard input.
fn feed(args: &[&str], input: &str) -> Output {
    let piped = passdump(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = piped.unwrap_or_else(|e| panic!("{e}"));
    if let Some(mut stdin) = child.stdin.take() {
        // A child that doesn't read its input closes it.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait_with_output().unwrap_or_else(|e| panic!("{e}"))
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
#[track_caller]
fn done(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(output), stderr(output));
    assert_eq!(stderr(output), "");
    stdout(output)
}
#[track_caller]
fn wrong(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{}{}", stdout(output), stderr(output));
    assert_eq!(stdout(output), "");
    stderr(output)
}
#[track_caller]
fn misused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{}{}", stdout(output), stderr(output));
    stderr(output)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"))
}
fn write(dir: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap_or_else(|e| panic!("{e}"));
    path
}

#[test]
fn usage_is_explained() {
    for command in ["run", "exec", "asm", "bench", "bisect", "reduce", "test", "check-rules", "completions", "list"] {
        let help = done(&feed(&[command, "--help"], ""));
        assert!(help.contains("Example") && help.contains(&format!("passdump {command}")), "{help}");
    }
    assert!(done(&feed(&["--help"], "")).contains("exec"));
    assert!(done(&feed(&["--version"], "")).starts_with("passdump "));
    assert!(misused(&feed(&[], "")).contains("Usage"));
    assert!(misused(&feed(&["rum"], "")).contains("'run'"));
    assert!(misused(&feed(&["run", "-", "--diff", "--print-after-all"], "")).contains("cannot be used with"));
    assert!(misused(&feed(&["exec", "-", "--backend", "gpu"], "")).contains("cranelift"));
    let bad_value = misused(&feed(&["exec", "-", "--arg", "x=[1, a]"], ""));
    assert!(bad_value.contains("`a` is not a number") && bad_value.contains("[1, a]\n"), "{bad_value}");
}

#[test]
fn lists_name_crate_and_line() {
    let ops = done(&feed(&["list", "ops"], ""));
    let add = ops.lines().find(|l| l.starts_with("add ")).unwrap_or_else(|| panic!("{ops}"));
    assert!(add.contains("elementwise/2") && add.contains("Sum"), "{add}");
    assert!(done(&feed(&["list", "styles"], "")).lines().any(|style| style.starts_with("dense ")));
    let rewrites = done(&feed(&["list", "rewrites"], ""));
    assert!(rewrites.contains("(abs ?x:float) ~> ?x if [nonneg(?x), no_neg_zero(?x)]"), "{rewrites}");
    // The long form begins each entry with its crate and line, and has further properties below.
    for listing in ["rewrites", "conditions", "ops", "interfaces", "styles"] {
        let (short, long) = (done(&feed(&["list", listing], "")), done(&feed(&["list", listing, "--long"], "")));
        // The lines of an entry after its first are indented.
        let entries = |text: &str| -> Vec<String> { text.replace("\n ", " ").lines().map(String::from).collect() };
        let (short, long) = (entries(&short), entries(&long));
        assert!(long.iter().all(|entry| entry.contains(".rs:")), "{long:?}");
        let name = |entry: &String| entry.split_whitespace().next().unwrap_or_default().to_string();
        assert_eq!(short.iter().map(name).collect::<Vec<_>>(), long.iter().map(name).collect::<Vec<_>>());
    }
    let long = done(&feed(&["list", "ops", "--long"], ""));
    assert!(long.contains("\nadd  rewright-ir ir/src/ops/arithmetic.rs:"), "{long}");
    assert!(long.contains("\n    elementwise/2\n    add %a, %b\n    Sum"), "{long}");
    let all = done(&feed(&["list"], ""));
    assert!(all.contains("ops (") && all.contains("storage styles ("));
    assert!(!all.contains('\x1b'), "colours in a pipe");
    assert!(misused(&feed(&["list", "oops"], "")).contains("'ops'"));
}

#[test]
fn a_reader_that_stops_reading_is_no_error() {
    let spawned = passdump(&["list"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.unwrap_or_else(|e| panic!("{e}"));
    drop(child.stdout.take());
    let mut message = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_string(&mut message).unwrap_or_else(|e| panic!("{e}"));
    }
    let status = child.wait().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((status.code(), message.as_str()), (Some(0), ""));
}

#[test]
fn run_prints_a_program_that_it_can_read() {
    let text = done(&feed(&["run", "-", "--pipeline", ""], HALVES));
    assert_eq!(text, HALVES);
}

#[test]
fn both_forms_can_be_read_again() {
    let printed = done(&feed(&["run", "-", "--pipeline", "array-expr"], &chain("mul %0, 2.0")));
    let rewritten = code(&printed);
    assert!(rewritten.contains("arrayexpr"), "{printed}");
    let ron = done(&feed(&["run", "-", "--pipeline", "array-expr", "--emit", "ron"], &chain("mul %0, 2.0")));
    assert!(ron.starts_with("Module(["), "{ron}");
    assert_eq!(done(&feed(&["run", "-", "--pipeline", ""], &ron)), rewritten);
    assert_eq!(done(&feed(&["run", "-", "--pipeline", ""], &printed)), rewritten);
    let dir = folder();
    let path = write(&dir, "module.ron", &ron).display().to_string();
    assert_eq!(done(&feed(&["exec", &path, "--arg", "x=[1, 2]"], "")), "0: f64[2]\n[4. 6.]\n");
    let broken = wrong(&feed(&["run", "-"], &ron.replace("f64[n]", "f65[n]")));
    assert!(broken.contains("f65"), "{broken}");
}

/// A program without the comments around it.
fn code(text: &str) -> String {
    text.lines().filter(|l| !l.starts_with("//")).map(|l| format!("{l}\n")).collect()
}

/// Two ops in a row.
fn chain(second: &str) -> String {
    format!("func @f(%x: f64[n]) -> f64[n] {{\nentry:\n  %0 = add %x, 1.0\n  %1 = {second}\n  ret %1\n}}\n")
}

#[test]
fn every_application_is_shown() {
    let steps = ["run", "-", "--pipeline", "array-expr, dce"];
    let diff = done(&feed(&[&steps[..], &["--diff"]].concat(), &chain("mul %0, 2.0")));
    assert!(diff.starts_with("// 1: array-expr in @f\n"), "{diff}");
    for line in ["-   %1 = mul %0, 2.0", "  entry:", "// in the end", "func @f"] {
        assert!(diff.lines().any(|l| l.starts_with(line)), "{line}: {diff}");
    }
    assert!(diff.lines().any(|l| l.starts_with('+') && l.contains("arrayexpr")), "{diff}");
    let whole = done(&feed(&[&steps[..], &["--print-after-all"]].concat(), &chain("mul %0, 2.0")));
    assert!(whole.matches("func @f").count() > 1 && !whole.contains("\n-"), "{whole}");
    let last = whole.split("// in the end\n").nth(1).unwrap_or_default();
    assert_eq!(done(&feed(&["run", "-", "--pipeline", ""], last)), code(last));
}

/// Values without a name keep their numbers, so that a step shows what it changed and nothing else.
#[test]
fn steps_keep_the_numbers_of_values() {
    let program = "func @f(%x: f64) -> f64 {\nentry:\n  %0 = mul %x, 1.0\n  %1 = sin %0\n  %2 = cos %1\n  %3 = exp %2\n  %4 = add %1, 0.0\n  \
                   %5 = add %3, %4\n  %6 = mul %5, 1.0\n  ret %6\n}\n";
    let diff = done(&feed(&["run", "-", "--pipeline", "canonicalize", "--diff"], program));
    let changed: Vec<&str> = diff.lines().filter(|l| l.starts_with('-') || l.starts_with('+')).collect();
    assert_eq!(
        changed,
        [
            "-   %0 = mul %x, 1.0",
            "-   %1 = sin %0",
            "+   %1 = sin %x",
            "-   %6 = mul %5, 1.0",
            "-   ret %6",
            "+   ret %5",
        ],
        "{diff}"
    );
}

#[test]
fn one_function_is_shown_if_asked_for() {
    let two = format!("{}\n{}", chain("mul %0, 2.0").replace("@f", "@g"), chain("mul %0, 2.0"));
    let all = done(&feed(&["run", "-", "--pipeline", "array-expr", "--diff"], &two));
    assert!(all.contains("in @g") && all.contains("in @f"), "{all}");
    let one = done(&feed(&["run", "-", "--pipeline", "array-expr", "--diff", "--func", "g"], &two));
    assert!(one.contains("func @g") && !one.contains("@f"), "{one}");
    // The default pipeline does what the named ones do here.
    assert!(done(&feed(&["run", "-"], &chain("mul %0, 2.0"))).contains("arrayexpr"));
}

#[test]
fn remarks_are_comments() {
    let costly =
        "func @f(%x: f64[m], %a: f64[n, m]) -> f64[n, m] {\nentry:\n  %0 = sin %x\n  %1 = add %0, %a\n  ret %1\n}\n";
    let text = done(&feed(&["run", "-", "--pipeline", "array-expr"], costly));
    let remark = text.lines().last().unwrap_or_default();
    assert!(remark.starts_with("// array-expr: @f line 3") && remark.contains("`sin`"), "{text}");
    assert_eq!(done(&feed(&["run", "-", "--pipeline", ""], &text)), code(&text));
}

#[test]
fn wrong_programs_are_shown_with_carets() {
    let error = wrong(&feed(&["run", "-"], &HALVES.replace("mul %x", "mull %x")));
    assert!(error.contains("mull") && error.contains("stdin:3") && error.contains("mul"), "{error}");
    assert!(wrong(&feed(&["run", "no/such/file.ir"], "")).contains("no/such/file.ir"));
    assert!(wrong(&feed(&["run", "-", "--func", "g"], HALVES)).contains("@f"));
    assert!(wrong(&feed(&["run", "-", "--pipeline", "no-such-rewrite"], HALVES)).contains("no-such-rewrite"));
    // In a fixture, the place is that of the file.
    let dir = folder();
    let text = format!(
        "Fixture(\n  about: \"\",\n  input: r#\"\n{}\"#,\n  output: \"\",\n)\n",
        HALVES.replace("mul ", "mull ")
    );
    let path = write(&dir, "wrong.ron", &text);
    let error = wrong(&feed(&["run", &path.display().to_string()], ""));
    assert!(error.contains("wrong.ron:6"), "{error}");
    let path = write(&dir, "unknown.ron", "Fixture(\n  about: \"\",\n  inptu: \"\",\n)");
    let error = wrong(&feed(&["run", &path.display().to_string()], ""));
    assert!(error.contains("inptu") && error.contains("unknown.ron:3"), "{error}");
}

#[test]
fn exec_computes() {
    for backend in ["reference", "interp", "cranelift", "auto"] {
        let text = done(&feed(&["exec", "-", "--arg", "x=[1, 2, 3]", "--backend", backend], HALVES));
        assert_eq!(text, "half: f64[3]\n[0.5 1.  1.5]\n");
    }
    let timed = done(&feed(&["exec", "-", "--arg", "x=[1, 2, 3]", "--time"], HALVES));
    for part in [
        "func @f",
        "[0.5 1.  1.5]",
        "rewriting  ",
        "compiling  ",
        "call  ",
        "median of",
        "allocates 1 buffer (24 bytes)",
    ] {
        assert!(timed.contains(part), "{part}: {timed}");
    }
    let timed = done(&feed(&["exec", "-", "--arg", "x=[1, 2, 3]", "--time", "--backend", "reference"], HALVES));
    assert!(timed.contains("by reference") && !timed.contains("allocates"), "{timed}");
}

#[test]
fn exec_reads_and_writes_npy() {
    let dir = folder();
    let file = dir.path().join("half.npy").display().to_string();
    let saved = done(&feed(&["exec", "-", "--arg", "x=[1, 2, 3]", "--out", &format!("half={file}")], HALVES));
    assert_eq!(saved, format!("half: f64[3] -> {file}\n"));
    let again = done(&feed(&["exec", "-", "--arg", &format!("x=@{file}")], HALVES));
    assert_eq!(again, "half: f64[3]\n[0.25 0.5  0.75]\n");
    let error = wrong(&feed(&["exec", "-", "--arg", &format!("x=@{file}")], &HALVES.replace("f64", "f32")));
    assert!(error.contains("f64") && error.contains("f32"), "{error}");
}

#[test]
fn exec_prints_what_the_function_prints_and_stores() {
    let text =
        "func @f(%x: f64[n]) -> i64, i64 {\nentry:\n  print %x, label=\"before\"\n  store %x, 0.5\n  ret 1, 2\n}\n";
    for backend in ["reference", "cranelift"] {
        let text = done(&feed(&["exec", "-", "--arg", "x=[1, 2]", "--backend", backend], text));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("[1. 2.]"), "{text}");
        assert_eq!(lines[1..], ["0: i64", "1", "1: i64", "2", "x after the call: f64[2]", "[0.5 0.5]"]);
    }
}

#[test]
fn exec_names_errors_in_arguments() {
    // If some arguments are given, the others are too.
    let text = HALVES.replace("%x: f64[n]", "%x: f64[n], %y: f64[n]");
    let error = wrong(&feed(&["exec", "-", "--arg", "x=[1, 2]"], &text));
    assert!(error.contains("parameter `y: f64[n]` of `@f` has no value; give it with --arg 'y=[1, 2]'"), "{error}");
    assert!(wrong(&feed(&["exec", "-", "--arg", "y=1"], HALVES)).contains("no parameter `y`"));
    assert!(wrong(&feed(&["exec", "-", "--arg", "x=1"], HALVES)).contains("f64[n]"));
    assert!(wrong(&feed(&["exec", "-", "--arg", "x=[1]", "--arg", "x=[2]"], HALVES)).contains("twice"));
    assert!(wrong(&feed(&["exec", "-", "--arg", "x=[1]", "--out", "z=z.npy"], HALVES)).contains("no result `z`"));
    let two = "func @f(%x: f64[n], %y: f64[n]) -> f64[n] {\nentry:\n  %z = add %x, %y\n  ret %z\n}\n";
    let error = wrong(&feed(&["exec", "-", "--arg", "x=[1, 2]", "--arg", "y=[1, 2, 3]"], two));
    assert!(error.contains('2') && error.contains('3') && error.contains("stdin:1"), "{error}");
}

fn fixture(output: &str, expect: &str) -> String {
    format!(
        "Fixture(\n  about: \"halves\", // kept\n  input: r#\"\n{HALVES}\"#,\n  output: {output},\n  \
         runs: [Run(args: {{\"x\": f64([2], [1, 2])}}, expect: {expect})],\n)\n"
    )
}

#[test]
fn fixtures_are_checked_and_blessed() {
    let dir = folder();
    let path = write(&dir, "half.ron", &fixture("\"\"", "[]"));
    let file = path.display().to_string();
    let failed = feed(&["test", &file], "");
    let text = stdout(&failed);
    assert_eq!(failed.status.code(), Some(1));
    for part in ["FAILED", "+ func @f", "expected 0 results", "0 passed, 1 failed", &format!("test {file} --bless")] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(done(&feed(&["test", &file, "--bless"], "")).contains("blessed"));
    let blessed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(blessed, fixture(&format!("r#\"\n{HALVES}\"#"), "[f64([2], [0.5, 1.0])]"));
    let folder = dir.path().display().to_string();
    assert_eq!(done(&feed(&["test", &folder], "")), "1 passed, 0 failed\n");
}

#[test]
fn remarks_are_blessed_too() {
    let costly =
        "func @f(%x: f64[m], %a: f64[n, m]) -> f64[n, m] {\nentry:\n  %0 = sin %x\n  %1 = add %0, %a\n  ret %1\n}\n";
    let dir = folder();
    let fixture =
        format!("Fixture(\n  about: \"\", pipeline: \"array-expr\",\n  input: r#\"{costly}\"#,\n  remarks: [],\n)\n");
    let path = write(&dir, "costly.ron", &fixture);
    let file = path.display().to_string();
    let failed = stdout(&feed(&["test", &file], ""));
    assert!(failed.contains("expected no remarks") && failed.contains("actual remark: array-expr: @f"), "{failed}");
    // An empty list is an assertion, and an empty text a place to be filled.
    assert_eq!(feed(&["test", &file, "--bless"], "").status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), fixture);
    write(&dir, "costly.ron", &fixture.replace("remarks: []", "remarks: [\"\"]"));
    done(&feed(&["test", &file, "--bless"], ""));
    let blessed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(blessed.contains("remarks: [\"array-expr: @f") && blessed.contains("`sin`"), "{blessed}");
    assert_eq!(done(&feed(&["test", &file], "")), "1 passed, 0 failed\n");
    let other = write(&dir, "other.ron", &fixture.replace("remarks: []", "remarks: [\"no such thing\"]"));
    let failed = stdout(&feed(&["test", &other.display().to_string()], ""));
    assert!(failed.contains("expected a remark containing \"no such thing\""), "{failed}");
}

#[test]
fn only_outputs_whose_runs_agree_are_blessed() {
    let dir = folder();
    let text = fixture("\"\"", "[f64([2], [0.5, 1.5])]");
    let path = write(&dir, "half.ron", &text);
    let failed = feed(&["test", &path.display().to_string(), "--bless"], "");
    assert_eq!(failed.status.code(), Some(1));
    let shown = stdout(&failed);
    assert!(shown.contains("not blessed") && shown.contains("wanted 1.5, found 1.0"), "{shown}");
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text);
}

#[test]
fn every_fixture_of_a_folder_is_checked() {
    let dir = folder();
    std::fs::create_dir(dir.path().join("b")).unwrap_or_else(|e| panic!("{e}"));
    write(&dir, "c.ron", "Fixture(");
    write(&dir, "b/a.ron", &fixture(&format!("r#\"{HALVES}\"#"), "[f64([2], [0.5, 1])]"));
    write(&dir, "a.ron", &fixture("\"\"", "[f64([2], [0.5, 1])]"));
    write(&dir, "note.txt", "no fixture");
    let failed = feed(&["test", &dir.path().display().to_string()], "");
    assert_eq!(failed.status.code(), Some(1));
    let text = stdout(&failed);
    assert!(text.ends_with("1 passed, 2 failed\n"), "{text}");
    let places = ["a.ron", "c.ron"].map(|name| text.find(&format!("FAILED {}", dir.path().join(name).display())));
    assert!(places[0].is_some() && places[0] < places[1], "{text}");
    let empty = folder();
    assert!(wrong(&feed(&["test", &empty.path().display().to_string()], "")).contains("no fixture"));
}

#[test]
fn fixtures_can_be_trees() {
    let ron = done(&feed(&["run", "-", "--pipeline", "", "--emit", "ron"], HALVES));
    let dir = folder();
    let text = fixture(&format!("r#\"{HALVES}\"#"), "[f64([2], [0.5, 1])]");
    let tree = text.replace(&format!("r#\"\n{HALVES}\"#"), ron.trim());
    assert!(tree.contains("input: Module(["), "{tree}");
    let path = write(&dir, "tree.ron", &tree);
    assert_eq!(done(&feed(&["test", &path.display().to_string()], "")), "1 passed, 0 failed\n");
    write(&dir, "tree.ron", &tree.replace("\"mul\"", "\"mull\""));
    let failed = stdout(&feed(&["test", &path.display().to_string()], ""));
    assert!(failed.contains("mull"), "{failed}");
}

#[test]
fn failures_name_run_backend_element_and_values() {
    let dir = folder();
    let path = write(&dir, "half.ron", &fixture(&format!("r#\"{HALVES}\"#"), "[f64([2], [0.5, 1.5])]"));
    let failed = feed(&["test", &path.display().to_string()], "");
    assert_eq!(failed.status.code(), Some(1));
    let text = stdout(&failed);
    assert!(
        text.contains("run 0, reference, before rewriting, result 0: element [1]: wanted 1.5, found 1.0"),
        "{text}"
    );
    assert!(wrong(&feed(&["test", "no/such/folder"], "")).contains("no/such/folder"));
}

#[test]
fn a_fixture_gives_its_own_arguments() {
    let dir = folder();
    let path = write(&dir, "half.ron", &fixture("\"\"", "[]")).display().to_string();
    assert_eq!(done(&feed(&["exec", &path], "")), "half: f64[2]\n[0.5 1. ]\n");
    assert_eq!(done(&feed(&["exec", &path, "--arg", "x=[4]"], "")), "half: f64[1]\n[2.]\n");
}

/// Without arguments the call gets example values, which a note shows. The note has the arguments of the
/// same call.
#[test]
fn example_values_are_chosen_and_shown() {
    let text = "func @f(%x: f64[n, 2], %y: i32[n, 2], %b: bool, %d: f64[3, 3; diagonal]) -> f64[n, 2], f64[3, 3; diagonal] {\n\
                entry:\n  %z = add %x, %y\n  %r = where %b, %z, 0.0\n  ret %r, %d\n}\n";
    let output = feed(&["exec", "-"], text);
    let note = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{note}");
    assert!(note.starts_with("note: no arguments are given, so `@f` is called with example values:\n"), "{note}");
    assert!(note.contains("--arg 'x=[[1, 2], [3, 4], [5, 6], [7, 8]]'\n"), "{note}");
    assert!(note.contains("--arg 'y=[[1, 2], [3, 1], [2, 3], [1, 2]]'\n") && note.contains("--arg 'b=true'"), "{note}");
    assert!(stdout(&output).starts_with("r: f64[4, 2]\n[[ 2.  4.]\n [ 6.  5.]"), "{}", stdout(&output));
    let args: Vec<&str> = note.lines().filter_map(|l| l.trim().strip_prefix("--arg '")?.strip_suffix('\'')).collect();
    assert_eq!(args.len(), 4, "{note}");
    let given: Vec<&str> = ["exec", "-"].into_iter().chain(args.iter().flat_map(|arg| ["--arg", arg])).collect();
    assert_eq!(done(&feed(&given, text)), stdout(&output));
    let bench = feed(&["bench", "-", "--time", "0"], HALVES);
    assert_eq!(bench.status.code(), Some(0));
    assert!(stderr(&bench).contains("--arg 'x=random:f64[10000]'") && stdout(&bench).contains("10000 elements"));
}

#[test]
fn no_input_makes_it_panic() {
    let long = "[".repeat(1 << 20);
    for input in ["", "\0", "func", "Fixture(", "#![", "Fixture()", "é", &long, &format!("Fixture{long}")] {
        for command in ["run", "exec"] {
            wrong(&feed(&[command, "-"], input));
        }
    }
    let dir = folder();
    let path = dir.path().join("bytes.ir");
    std::fs::write(&path, [0xff, 0xfe, 0]).unwrap_or_else(|e| panic!("{e}"));
    assert!(wrong(&feed(&["run", &path.display().to_string()], "")).contains("bytes.ir"));
}

/// An error inside a node is at the line of the op that it came from, whatever runs it.
#[test]
fn an_error_inside_a_node_points_to_the_op_that_it_came_from() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/errors/fused_error_place.ron");
    for backend in ["reference", "interp", "cranelift"] {
        let output = passdump(&["exec", file, "--backend", backend, "--arg", "a=[1,2]", "--arg", "b=[2,-1]"]).output();
        let said = wrong(&output.unwrap_or_else(|e| panic!("{e}")));
        assert!(said.contains("fused_error_place.ron:8:"), "{backend}: {said}");
    }
}

#[test]
fn type_errors_have_locations() {
    let text = "untyped func @f(%x: f64[n]) -> f64[n] {\nentry:\n  %a = mul %x, 2\n  %b = bitand %a, 3\n  ret %b\n}\n";
    let said = wrong(&feed(&["run", "-"], text));
    assert!(said.contains("`bitand` is not defined for f64, f64") && said.contains("stdin:4:3"), "{said}");
    assert!(said.contains("help: operands must cast safely"), "{said}");
    let said = wrong(&feed(&["run", "-", "--pipeline", "-dce"], text));
    assert!(said.contains("takes out a rewrite that is not in the pipeline before it"), "{said}");
}

#[test]
fn of_several_nodes_a_value_is_in_its_own() {
    let text = "func @f(%a: f64[n]) -> f64[?] {\nentry:\n  %v = add %a, %a\n  %s = slice %v, at=[1:]\n  %w = mul %s, 2.0\n  ret %w\n}\n";
    let explain = |value: &str| done(&feed(&["explain", "-", value, "--pipeline", "array-expr"], text));
    let (v, w) = (explain("v"), explain("w"));
    assert!(v.contains("its `add` is taken into `%v = arrayexpr"), "{v}");
    assert!(v.contains("// array-expr: @f line 3: the operand of `slice` is computed apart"), "{v}");
    assert!(w.contains("its `mul` is taken into `%w = arrayexpr"), "{w}");
}

#[test]
fn a_value_is_followed() {
    let text = "func @halve(%x: f64) -> f64 {\nentry:\n  jump test(%x)\ntest(%y: f64):\n  %big = ge %y, 1.0\n  br_if %big, step, done\nstep:\n  %z = mul %y, 0.5\n  jump test(%z)\ndone:\n  ret %y\n}\nfunc @f(%a: f64[n]) -> f64[n] {\nentry:\n  %slow = ufunc @halve(%a)\n  %n = neg %a\n  %p = neg %n\n  %b = mul %p, %p\n  %c = add %b, %slow\n  ret %c\n}\n";
    let dir = folder();
    let program = write(&dir, "f.ir", text).display().to_string();
    let explain =
        |value: &str| done(&feed(&["explain", &program, value, "--pipeline", "canonicalize, dce, array-expr"], ""));
    let p = explain("p");
    assert!(p.starts_with("%p = neg %n\n1: canonicalize: its users use `%a: f64[n], a parameter` instead"), "{p}");
    assert!(p.ends_with("in the end: %a: f64[n], a parameter\n"), "{p}");
    let b = explain("%b");
    assert!(b.contains("array-expr: its `mul` is taken into `%c = arrayexpr"), "{b}");
    let slow = explain("slow");
    assert!(slow.contains("no rewrite touched it"), "{slow}");
    assert!(
        slow.contains("// array-expr: @f line 15: `ufunc @halve` is computed apart: `@halve` has a loop"),
        "{slow}"
    );
    let unknown = wrong(&feed(&["explain", &program, "slw"], ""));
    assert!(unknown.contains("`@f` has no value `%slw`; did you mean `%slow`?"), "{unknown}");
}

const EQUAL: &str = "func @a(%x: i64, %y: i64) -> i64 {\nentry:\n  %n = neg %y\n  %m = neg %n\n  %r = add %x, %m\n  ret %r\n}\nfunc @b(%x: i64, %y: i64) -> i64 {\nentry:\n  %r = add %y, %x\n  ret %r\n}\nfunc @c(%x: i64, %y: i64) -> i64 {\nentry:\n  %r = sub %y, %x\n  ret %r\n}\n";

/// Values are called what the text calls them, in whatever order it numbers them.
#[test]
fn numbers_are_those_of_the_text() {
    let dir = folder();
    let text = "func @h(%x: f64, %z: f64) -> f64 {\nentry:\n  %7 = add %x, %z\n  %2 = mul %7, 1.0\n  %1 = mul %2, %7\n  ret %1\n}\n";
    let program = write(&dir, "f.ir", text).display().to_string();
    let told = done(&feed(&["explain", &program, "%2", "--pipeline", "canonicalize"], ""));
    assert!(told.starts_with("%2 = mul %7, 1.0\n") && told.contains("in the end: %7 = add %x, %z"), "{told}");
    assert!(done(&feed(&["explain", &program, "%7"], "")).starts_with("%7 = add %x, %z\n"));
    assert!(wrong(&feed(&["explain", &program, "%0"], "")).contains("`@h` has no value `%0`"));
    assert!(done(&feed(&["prove", &program, "%2", "%7"], "")).starts_with("equal, by 1 step"));
}

/// What a function does besides computing its result is in no proof, so it is not left out of one either.
#[test]
fn functions_that_do_more_than_to_compute_are_not_proved_equal() {
    let dir = folder();
    let text = "func @c(%x: f64) -> f64 {\nentry:\n  %1 = neg %x\n  ret %1\n}\nfunc @p(%x: f64) -> f64 {\nentry:\n  print %x\n  \
                %1 = neg %x\n  ret %1\n}\nfunc @q(%x: f64) -> f64 {\nentry:\n  %0 = call @p(%x)\n  %1 = neg %x\n  ret %1\n}\n";
    let program = write(&dir, "f.ir", text).display().to_string();
    for (other, op) in [("p", "print"), ("q", "call")] {
        let why = wrong(&feed(&["prove", &program, "c", other], ""));
        assert!(
            why.contains(&format!("`@{other}` can't be compared: it does more than to compute a result: `{op}`")),
            "{why}"
        );
    }
}

#[test]
fn a_page_is_not_written_over_the_program() {
    let dir = folder();
    let program = write(&dir, "f.ir", EQUAL).display().to_string();
    let why = wrong(&feed(&["html", &program, &program], ""));
    assert!(why.contains("would be written over the program"), "{why}");
    assert_eq!(std::fs::read_to_string(&program).unwrap(), EQUAL);
}

/// What each rule did in e-graphs, and how these ended: numbers only, the same every time, unless times are
/// asked for.
#[test]
fn rules_of_equality_saturation_are_counted() {
    let program = "func @f(%x: f64) -> f64 {\nentry:\n  %a = neg %x\n  %b = neg %a\n  ret %b\n}\n";
    let args = ["run", "-", "--pipeline", "saturate", "--stats"];
    let out = done(&feed(&args, program));
    let row = |first: &str| {
        let line =
            out.lines().find(|line| line.starts_with(&format!("// {first} "))).unwrap_or_else(|| panic!("{out}"));
        line.split_whitespace().skip(1).map(String::from).collect::<Vec<_>>()
    };
    // Both classes of a `neg` are searched, and again when `%b` has become `%x`: each is the negation of
    // the other then, which says nothing new.
    assert_eq!(row("neg.neg")[1..], ["4", "3", "1", "0"].map(String::from), "{out}");
    // The block that is left holds no instructions, so there is one graph.
    assert_eq!(row("@f")[1..], ["line", "3", "2", "2", "3", "2", "saturated"].map(String::from), "{out}");
    assert_eq!(out, done(&feed(&args, program)));
    assert!(!out.lines().any(|line| line.ends_with("  time")), "{out}");
    let timed = done(&feed(&[&args[..], &["--time"]].concat(), program));
    assert!(timed.lines().any(|line| line.starts_with("// rule in e-graphs") && line.ends_with("time")), "{timed}");
    // Nothing is said of e-graphs where there are none.
    let without = done(&feed(&["run", "-", "--pipeline", "canonicalize", "--stats"], program));
    assert!(!without.contains("e-graph"), "{without}");
}

/// Rules of equality saturation and those that are applied at once are told in the same way, with their
/// places.
#[test]
fn the_rules_that_made_a_value_are_told() {
    let dir = folder();
    let program = write(&dir, "f.ir", EQUAL).display().to_string();
    let explain = |more: &[&str]| {
        let args = [&["explain", &program, "m", "--func", "a"], more].concat();
        done(&feed(&args, ""))
    };
    let saturated = explain(&["--pipeline", "saturate, dce"]);
    let step = "     neg %n  =>  %y    neg.neg (";
    assert!(saturated.contains(step) && saturated.contains("exact.rs:"), "{saturated}");
    let rules = "[Rule(name: \"twice\", rule: \"(neg (neg ?x)) => ?x\")]";
    let rules = write(&dir, "rules.ron", rules).display().to_string();
    let greedy = explain(&["--pipeline", "twice, dce", "--rules", &rules]);
    let step = format!("     neg %n  =>  %y    twice ({rules}:1)\n");
    assert!(greedy.contains(&step), "{greedy}");
}

#[test]
fn functions_and_values_are_proved_equal() {
    let dir = folder();
    let program = write(&dir, "f.ir", EQUAL).display().to_string();
    let equal = done(&feed(&["prove", &program, "@a", "b"], ""));
    assert!(equal.starts_with("equal, by ") && equal.contains("checked\n"), "{equal}");
    assert!(equal.contains("add %x, %m  =>  add %x, %y    sum-of-terms\n"), "{equal}");
    let value = done(&feed(&["prove", &program, "%m", "y", "--func", "a"], ""));
    assert!(value.starts_with("equal, by 1 step, checked\n  neg %n  =>  %y    neg.neg ("), "{value}");
    let other = feed(&["prove", &program, "b", "c"], "");
    assert_eq!(other.status.code(), Some(1));
    let said = stdout(&other);
    assert!(said.starts_with("not proved: the rules do not make the two equal: saturated after "), "{said}");
    let unknown = wrong(&feed(&["prove", &program, "b", "d"], ""));
    assert!(unknown.contains("has no value"), "{unknown}");
}

#[test]
fn an_endless_loop_ends_with_advice() {
    let endless = "func @f(%n: i64) -> i64 {\nentry:\n  jump next()\nnext:\n  jump next()\n}\n";
    for backend in ["reference", "cranelift"] {
        let exec = ["exec", "-", "--arg", "n=1", "--backend", backend];
        let error = wrong(&feed(&[&exec[..], &["--max-steps", "5000"]].concat(), endless));
        let error = error.replace("\n  │ ", " ");
        assert!(error.contains("5000 steps: does it ever end? `--max-steps N` allows more"), "{error}");
    }
    assert!(done(&feed(&["exec", "--help"], "")).contains("[default: 1073741824]"));
}

#[test]
fn limits_say_which_flag_allows_more() {
    let large =
        "func @f(%k: i64) -> u64 {\nentry:\n  %0 = full 1:u8, dims=[2000, 1000000]\n  %1 = sum %0\n  ret %1\n}\n";
    for backend in ["reference", "cranelift"] {
        let exec = ["exec", "-", "--arg", "k=1", "--backend", backend];
        let error = wrong(&feed(&exec, large)).replace("\n  │ ", " ");
        assert!(
            error.contains("has more than 1073741824 ") && error.contains("`--max-steps N` allows more"),
            "{error}"
        );
        let flags = ["--max-steps", "4000000000", "--max-bytes", "1000"];
        // The reference evaluator computes the array before it counts the bytes.
        let smaller = large.replace("2000", "20");
        let error = wrong(&feed(&[&exec[..], &flags].concat(), &smaller)).replace("\n  │ ", " ");
        assert!(error.contains("more than 1000 bytes: `--max-bytes N` allows more"), "{error}");
    }
    let flags = ["exec", "-", "--arg", "k=1", "--backend", "cranelift"];
    assert_eq!(done(&feed(&flags, &large.replace("2000", "300"))), "0: u64\n300000000\n");
}

#[test]
fn numbers_and_paths_that_cannot_be_are_refused() {
    let large = misused(&feed(&["exec", "-", "--arg", "x=[1, 1e400]"], HALVES));
    assert!(large.contains("`1e400` is more than an f64 holds") && large.contains("^^^^^"), "{large}");
    let empty = misused(&feed(&["exec", "-", "--arg", "x=[1]", "--out", "0="], HALVES));
    assert!(empty.contains("with a path after the `=`"), "{empty}");
}

#[test]
fn backends_and_interfaces_are_listed() {
    let backends = done(&feed(&["list", "backends"], ""));
    for name in ["reference ", "interp ", "cranelift ", "x64 ", "auto "] {
        assert!(backends.lines().any(|l| l.starts_with(name) && l.contains("here: ")), "{name}: {backends}");
    }
    for part in ["\ninstructions  ", "\nfound  ", "REWRIGHT_X64", "\nthreads  ", "--threads N"] {
        assert!(backends.contains(part), "{part}: {backends}");
    }
    let mut limited = passdump(&["list", "backends"]);
    let limited = stdout(&limited.env("REWRIGHT_X64", "none").output().unwrap());
    assert!(limited.contains("those of Cranelift"), "{limited}");
    if cfg!(target_arch = "x86_64") {
        assert!(
            limited.contains("REWRIGHT_X64 forbids AVX2") && limited.contains("REWRIGHT_X64 is `none`"),
            "{limited}"
        );
    }
    let interfaces = done(&feed(&["list", "interfaces"], ""));
    assert!(interfaces.lines().any(|l| l.contains("Cost") && l.ends_with(" exp")), "{interfaces}");
    let all = done(&feed(&["list"], ""));
    assert!(all.contains("interfaces of ops (") && all.contains("backends ("), "{all}");
}

#[test]
fn shells_complete_subcommands_and_flags() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = done(&feed(&["completions", shell], ""));
        assert!(script.contains("bisect") && script.contains("check-each"), "{shell}: {script}");
    }
    assert!(misused(&feed(&["completions", "cmd"], "")).contains("fish"));
}

#[test]
fn steps_can_be_suggested_and_made_one_by_one() {
    let text = "func @f(%x: f64) -> f64 {\nentry:\n  %a = neg %x\n  %b = neg %a\n  %c = exp %b\n  %d = exp %b\n  %e = add %c, %d\n  ret %e\n}\n";
    let shown = done(&feed(&["suggest", "-", "--pipeline", "fold, canonicalize, cse, dce"], text));
    assert!(
        shown.contains("canonicalize of rewright-rewrites (rewrites/src/builtin/scalar/canonicalize/mod.rs:"),
        "{shown}"
    );
    assert!(shown.contains("-   %b = neg %a\n") && shown.contains("\ncse of rewright-rewrites ("), "{shown}");
    assert!(!shown.contains("dce of") && shown.ends_with("2 of 4 rewrites match `@f`\n"), "{shown}");
    let all = done(&feed(&["suggest", "-"], text));
    assert!(all.contains("\ncse of ") && all.contains("\nsaturate of "), "{all}");
    // Step by step comes to the same as all at once.
    let pipeline = "canonicalize, cse, dce";
    let mut program = text.to_string();
    let mut steps = 0;
    loop {
        let next = done(&feed(&["run", "-", "--pipeline", pipeline, "--stop-after", "1"], &program));
        if next == program {
            break;
        }
        (program, steps) = (next, steps + 1);
        assert!(steps < 9, "{program}");
    }
    assert_eq!(program, done(&feed(&["run", "-", "--pipeline", pipeline], text)));
    assert_eq!(steps, 3, "{program}");
    assert_eq!(text, done(&feed(&["run", "-", "--stop-after", "0"], text)));
}
