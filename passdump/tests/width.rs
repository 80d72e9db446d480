//! Output fits 100 columns, except IR text, its comments, and machine code.

use crate::support::{done, passdump};

/// The widest line, in columns.
const WIDTH: usize = 100;

/// Fixtures with long remarks, names and schedules.
const FIXTURES: [&str; 4] =
    ["real/black_scholes.ron", "real/softmax.ron", "real/layer_norm.ron", "reduce_views/stays.ron"];

/// Commands on a fixture. `FILE` stands for it.
const COMMANDS: [&[&str]; 9] = [
    &["run", "FILE", "--stats", "--time"],
    &["run", "FILE", "--pipeline", "saturate, default", "--stats", "--time"],
    &["exec", "FILE", "--time"],
    &["bench", "FILE", "--time", "0"],
    &["suggest", "FILE"],
    &["asm", "FILE"],
    &["bisect", "FILE", "--command", "! grep -q arrayexpr {}"],
    &["reduce", "FILE", "--command", "! grep -q div {}"],
    &["explain", "FILE", "0"],
];

/// Commands without a fixture.
const OTHERS: [&[&str]; 6] = [
    &["check-rules", "rewrites/tests/rules/unsound/general.ron"],
    &["check-rules", "rewrites/tests/rules/unsound/floats.ron"],
    &["explain", "fixtures/real/black_scholes.ron", "d1"],
    &["explain", "fixtures/saturate/log_exp.ron", "r"],
    &["prove", "fixtures/real/gelu.ron", "scaled", "half"],
    &["test", "fixtures/saturate"],
];

/// True for lines of IR text, of a comment or a diff of it, of a kernel, and of an excerpt.
fn is_code(line: &str) -> bool {
    let line = line.trim_start_matches(['+', '-', ' ']);
    let is_diff = line.starts_with("func @") || line.starts_with("ret ") || line.starts_with("yield ");
    is_diff
        || line.starts_with('%')
        || line.split_once(" = ").is_some_and(|(name, _)| !name.contains(' '))
        || line.contains('│')
        || line.starts_with("//")
}

#[test]
fn output_fits_the_screen() {
    let mut wide = Vec::new();
    let mut run = |command: &[String]| {
        let args: Vec<&str> = command.iter().map(String::as_str).collect();
        let output = passdump(&args, "");
        for stream in [output.stdout, output.stderr] {
            let text = String::from_utf8(stream).unwrap();
            let lines = text.lines().filter(|line| line.chars().count() > WIDTH && !is_code(line));
            wide.extend(lines.map(|line| format!("{}: {line}", args.join(" "))));
        }
    };
    // Tests run in the folder of their crate.
    let word = |word: &str, file: &str| match word {
        "FILE" => format!("../fixtures/{file}"),
        path if path.ends_with(".ron") || path.starts_with("fixtures/") => format!("../{path}"),
        other => other.to_string(),
    };
    for file in FIXTURES {
        COMMANDS.iter().for_each(|command| run(&command.iter().map(|part| word(part, file)).collect::<Vec<_>>()));
    }
    OTHERS.iter().for_each(|command| run(&command.iter().map(|part| word(part, "")).collect::<Vec<_>>()));
    assert!(wide.is_empty(), "{} lines are too wide:\n{}", wide.len(), wide.join("\n"));
}

#[test]
fn lists_fit_the_screen() {
    for long in [&[][..], &["--long"]] {
        let text = done(&[&["list"], long].concat(), "");
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > WIDTH).collect();
        assert!(text.lines().count() > 100 && wide.is_empty(), "{}", wide.join("\n"));
    }
}
