//! The first errors of a new user: each says what to do.

use crate::support::{done, passdump};
use std::fs;
use std::path::Path;

/// The program of the table. A case replaces a part of it.
const PROGRAM: &str = "func @f(%x: f64[n], %y: f64[n]) -> f64[n] {\nentry:\n  %t = mul %x, 2.0\n  \
                       %r = add %t, %y\n  ret %r\n}\n";

/// The widest line of an error, in columns.
const WIDTH: usize = 100;

/// A wrong program: the part of it that is replaced, the replacement, and parts of the message.
const PROGRAMS: &[(&str, &str, &[&str])] = &[
    ("mul %x", "mull %x", &["unknown op `mull`", "did you mean `mul`?"]),
    ("mul %x", "multiply %x", &["unknown op `multiply`", "NumPy's `multiply` is `mul`: write `mul %a, %b`"]),
    ("mul %x", "matmul %x", &["unknown op `matmul`", "NumPy's `matmul` is `dot_general`"]),
    (
        "mul %x",
        "frobnicate %x",
        &[
            "`passdump list ops`",
            "linked are `rewright-broadcast`, `rewright-ir`",
            "`use my_plugin as _;`",
            "plugins/template",
        ],
    ),
    ("mul %x, 2.0", "mul %x", &["`mul` takes 2 operands, got 1", "write `mul %a, %b`: Product"]),
    ("mul %x, 2.0", "neg %x, 2.0", &["`neg` takes 1 operand, got 2", "write `neg %a`: The opposite number"]),
    (
        "mul %x, 2.0",
        "sum %x, 2.0",
        &["`sum` takes 1 operand, got 2", "write `sum %a[, axes=...][, keepdims=...]`: the sum of elements"],
    ),
    ("mul %x, 2.0", "sum %x, axs=[0]", &["`sum` has no attribute `axs`", "did you mean `axes`?"]),
    ("mul %x, 2.0", "sum %x, frob=[0]", &["`sum` has no attribute `frob`", "`sum` has `axes`, `keepdims`"]),
    ("mul %x, 2.0", "mul %xx, 2.0", &["value `%xx` is not defined", "did you mean `%x`?"]),
    ("mul %x, 2.0", "mul %zebra, 2.0", &["value `%zebra` is not defined", "known names are `%x`, `%y`, `%t`"]),
    ("mul %x, 2.0", "mul x, 2.0", &["`mul` takes values, `x` is none", "did you mean the value `%x`?"]),
    ("mul %x, 2.0", "call @ff(%x)", &["there is no function `@ff`", "did you mean `@f`?"]),
    ("mul %x, 2.0", "call @other(%x)", &["there is no function `@other`", "known names are `@f`"]),
    ("%y: f64[n]", "%y: f64[n; diagnal]", &["unknown storage style `diagnal`", "did you mean `diagonal`?"]),
    (
        "%y: f64[n]",
        "%y: f64[n; unheard_of]",
        &["unknown storage style `unheard_of`", "`passdump list styles`", "`use my_plugin as _;`"],
    ),
    ("%y: f64[n]", "%y: f64[n; sparse]", &["`add` reads dense arrays", "`restyle %a, style=\"dense\"`"]),
    ("%y: f64[n]", "%y: f65[n]", &["unknown dtype `f65`", "did you mean `f64`?"]),
    ("%y: f64[n]", "%y: float[n]", &["unknown dtype `float`", "there are bool, i8", "f32, f64"]),
    (
        "-> f64[n]",
        "-> f64",
        &["result 0 of `@f` is f64, `ret` gives f64[n]", "declare the result as f64[n] after `->`"],
    ),
    ("  ret %r\n", "", &["does not end with a terminator", "`ret` and `raise` are terminators"]),
    ("func @f", "func f", &["expected a function's name, as `@f`, found `f`"]),
];

#[test]
fn errors_of_programs_have_a_remedy() {
    done(&["run", "-"], PROGRAM);
    for (part, instead, says) in PROGRAMS {
        assert!(PROGRAM.contains(part), "{part}");
        check(&["run", "-"], &PROGRAM.replace(part, instead), 1, says);
    }
}

#[test]
fn shapes_that_broadcast_are_named() {
    let with = |x: &str, y: &str| PROGRAM.replace("%x: f64[n]", x).replace("%y: f64[n]", y);
    let vectors = with("%x: f64[4]", "%y: f64[3]");
    check(&["run", "-"], &vectors, 1, &["can't broadcast f64[4], f64[3]", "instead of f64[3], f64[4] or f64[1] does"]);
    let rows = with("%x: f64[4, 3]", "%y: f64[4]");
    check(&["run", "-"], &rows, 1, &["f64[4, 3], f64[4]", "f64[3] or f64[1]", "axes=[1]` makes f64[4, 1] of it"]);
}

/// A wrong command line: the words after `passdump`, the exit status, and parts of the message.
const COMMANDS: &[(&[&str], i32, &[&str])] = &[
    (
        &["run", "-", "--pipeline", "cze"],
        1,
        &["there is no rewrite `cze`; did you mean `cse`?", "`passdump list rewrites`"],
    ),
    (&["run", "-", "--pipeline", "constant-folding"], 1, &["no rewrite `constant-folding`", "similar are `fold`"]),
    (
        &["run", "-", "--pipeline", "quux"],
        1,
        &["no rewrite `quux`", "`passdump list rewrites`", "linked are", "`use my_plugin as _;`"],
    ),
    (&["run", "-", "--pipeline", "fold,,dce"], 1, &["empty place at byte 5", "take one comma out"]),
    (&["run", "-", "--pipeline", "-fold"], 1, &["not in the pipeline before it", "`default, -fold`"]),
    (&["run", "-", "--pipelin", "fold"], 2, &["a similar argument exists: '--pipeline'", "'passdump run --help'"]),
    (&["run", "-", "--frobnicate"], 2, &["unexpected argument '--frobnicate'", "'passdump run --help'"]),
    (&["rum", "-"], 2, &["a similar subcommand exists: 'run'", "'passdump --help'"]),
    (&["exec", "-", "--func", "ff"], 1, &["there is no function `@ff`; did you mean `@f`?"]),
    (&["exec", "-", "--func", "other"], 1, &["there is no function `@other`; the program has `@f`"]),
    (&["exec", "-", "--arg", "x=[1, 2]"], 1, &["parameter `y: f64[n]` of `@f` has no value", "--arg 'y=[1, 2]'"]),
    (&["exec", "-", "--arg", "z=1"], 1, &["no parameter `z`; it has x, y"]),
    (&["exec", "-", "--arg", "x"], 2, &["expected NAME=VALUE, such as 'x=[1, 2, 3]'", "'passdump exec --help'"]),
    (&["exec", "-", "--arg", "x=1"], 1, &["the value is f64[], the parameter is f64[n]", "--arg 'x=[1, 2, 3, 4]'"]),
    (
        &["exec", "-", "--arg", "x=[[1]]"],
        1,
        &["the value is f64[1, 1], the parameter is f64[n]", "--arg 'x=[1, 2, 3, 4]'"],
    ),
    (&["exec", "-", "--arg", "x=[1, a]"], 2, &["`a` is not a number", "^"]),
    (&["exec", "-", "--arg", "x=[1]:f16"], 2, &["`f16` is no dtype: it is one of bool"]),
    (&["exec", "-", "--arg", "x=random:f32[3]"], 1, &["the numbers are f32, the parameter is f64[n]", "--arg 'x="]),
    (&["exec", "-", "--arg", "x=random:f64"], 2, &["such as `random:f64[1000, 3]`"]),
    (
        &["exec", "-", "--arg", "x=[1]", "--arg", "y=[1, 2]"],
        1,
        &["argument `%y` is f64[2], its type is f64[n] with n = 1 from `%x`", "a symbol stands for one extent"],
    ),
    (&["exec", "-", "--arg", "x=@no.npy"], 1, &["--arg x: no.npy: No such file", "relative to the current folder"]),
    (&["exec", "-", "--liberties", "fast"], 2, &["unknown liberty `fast`; expected one of contract"]),
    (&["exec", "-", "--backend", "gpu"], 2, &["possible values: reference, interp"]),
    (&["explain", "-", "tt"], 1, &["no value `%tt`; did you mean `%t`?"]),
    (&["explain", "-", "zebra"], 1, &["no value `%zebra`; it has %x, %y, %t, %r"]),
    (&["explain", "-"], 2, &["<VALUE>", "'passdump explain --help'"]),
    (&["prove", "-", "f", "g"], 1, &["`@f` is a function, `g` is none", "the functions are `@f`"]),
    (&["asm", "-", "--kernel", "4"], 1, &["`@f` has 1 kernel, counted from 1"]),
    (&["list", "foo"], 2, &["possible values: rewrites, conditions, ops"]),
    (
        &["exec", "-", "--arg", "x=[1]", "--arg", "y=[1]", "--out", "z=z.npy"],
        1,
        &["no result `z`; the results are `r`"],
    ),
];

#[test]
fn errors_of_commands_have_a_remedy() {
    for (command, status, says) in COMMANDS {
        check(command, PROGRAM, *status, says);
    }
}

/// A wrong file: its name, its text, the command, and parts of the message.
const FILES: &[(&str, &str, &[&str], &[&str])] = &[
    ("program.ir", PROGRAM, &["run", "progam.ir"], &["No such file", "program.ir`?"]),
    ("program.ir", PROGRAM, &["run", "nowhere/f.ir"], &["No such file", "there is no folder", "nowhere"]),
    ("program.ir", PROGRAM, &["run", "."], &["Is a directory", "name a file in it"]),
    ("program.ir", PROGRAM, &["test", "."], &["there is no fixture", "fixtures are `.ron` files"]),
    ("a.ron", "Fixture(about: \"\" input: \"\")", &["run", "a.ron"], &["Expected comma", "put one before this place"]),
    ("a.ron", "Fixture(about \"\")", &["run", "a.ron"], &["Expected colon", "`name: value`"]),
    ("a.ron", "Fixture(abot: \"\")", &["run", "a.ron"], &["Unexpected field named `abot`", "did you mean `about`?"]),
    ("a.ron", "Fixtur()", &["run", "a.ron"], &["found `Fixtur`", "write `Fixture(...)`", "docs/testing.md"]),
    ("a.ron", "Module([Func()])", &["run", "a.ron"], &["found `Func`", "write `Function(...)`", "--emit ron"]),
    (
        "a.ron",
        "Fixture(about: \"\", input: \"\")",
        &["run", "a.ron"],
        &["the fixture checks nothing", "docs/testing.md"],
    ),
    ("r.ron", "(", &["check-rules", "r.ron"], &["r.ron:1: Expected opening `[`", "a file of rules is a list: `[Rule("]),
    ("r.ron", "[Rule(nam: \"a\")]", &["check-rules", "r.ron"], &["field named `nam`", "did you mean `name`?"]),
    ("r.ron", "[]", &["check-rules", "q.ron"], &["No such file", "relative to the current folder"]),
    ("f.ir", "", &["run", "f.ir"], &["there is no function in the text", "`func @f(%x: f64) -> f64"]),
];

#[test]
fn errors_of_files_have_a_remedy() {
    for (name, text, command, says) in FILES {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), text).unwrap();
        let path = folder.path().join(command[1]).display().to_string();
        check_in(&[command[0], &path], "", 1, says, folder.path());
    }
}

/// Runs a command that is wrong. Its message has the parts, and fits the screen.
fn check(command: &[&str], input: &str, status: i32, says: &[&str]) {
    check_in(command, input, status, says, Path::new(""));
}

/// The same for files in a folder, whose path may be long.
fn check_in(command: &[&str], input: &str, status: i32, says: &[&str], folder: &Path) {
    let output = passdump(command, input);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{command:?}\n{message}");
    let words: Vec<&str> = message.split_whitespace().filter(|word| *word != "│").collect();
    let said = words.join(" ");
    for part in says {
        assert!(said.contains(part), "{command:?}: {part} is missing\n{message}");
    }
    let folder = folder.display().to_string();
    let wide =
        message.lines().find(|line| line.chars().count() > WIDTH && (folder.is_empty() || !line.contains(&folder)));
    assert_eq!(wide, None, "{command:?}");
}
