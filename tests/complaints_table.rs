//! The tables in docs/complaints.md have every row, and name only tests that exist.

use std::path::Path;

#[test]
fn every_row_is_there_and_every_test_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/complaints.md")).expect("docs/complaints.md");
    let rows = (1..=14).map(|n| format!("U{n}")).chain((1..=12).map(|n| format!("P{n}")));
    let mut problems = Vec::new();
    for row in rows {
        let Some(line) = page.lines().find(|l| l.starts_with(&format!("| {row} |"))) else {
            problems.push(format!("{row} is missing"));
            continue;
        };
        let tests: Vec<(&str, &str)> =
            line.split('`').skip(1).step_by(2).filter_map(|t| t.split_once(".rs::")).collect();
        if tests.is_empty() {
            problems.push(format!("{row} names no test"));
        }
        for (file, name) in tests {
            let text = std::fs::read_to_string(root.join(format!("{file}.rs"))).unwrap_or_default();
            let defined = text.split("#[test]\n").skip(1).any(|t| t.starts_with(&format!("fn {name}(")));
            if !defined {
                problems.push(format!("{row}: there is no test {name} in {file}.rs"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
