//! The table in docs/numba.md names every row, and only files that exist.

use std::path::Path;

#[test]
fn every_row_is_there_and_every_file_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(root.join("docs/numba.md")).expect("docs/numba.md");
    let numbers = |prefix: &str, ranges: &[std::ops::RangeInclusive<u32>]| -> Vec<String> {
        ranges.iter().flat_map(|r| r.clone().map(|n| format!("{prefix}{n}")).collect::<Vec<_>>()).collect()
    };
    let mut rows = numbers("N", &[1..=18, 20..=45, 50..=64]);
    rows.extend(numbers("A", &[1..=35, 40..=57]));
    rows.extend(numbers("B", &[1..=22]));
    let mut problems = Vec::new();
    for row in rows {
        let Some(line) = table.lines().find(|l| l.starts_with(&format!("| {row} |"))) else {
            problems.push(format!("{row} is missing"));
            continue;
        };
        let files: Vec<&str> = line.split('`').skip(1).step_by(2).filter(|f| f.contains('/')).collect();
        if files.is_empty() {
            problems.push(format!("{row} names no file"));
        }
        problems.extend(files.iter().filter(|f| !root.join(f).exists()).map(|f| format!("{row}: there is no {f}")));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
