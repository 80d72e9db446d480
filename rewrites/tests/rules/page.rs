//! The examples of docs/write-a-rule.md parse, and hold or do not hold as the page says.

use rewright_rewrites::rule::{parse_rule, soundness};

#[test]
fn the_examples_of_the_page_are_true() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/write-a-rule.md");
    let page = std::fs::read_to_string(path).expect("docs/write-a-rule.md");
    let (mut fence, mut count) = (None, [0, 0]);
    let mut wrong = Vec::new();
    for line in page.lines() {
        match (line.strip_prefix("```"), fence) {
            (Some(info), None) => fence = Some(info),
            (Some(_), Some(_)) => fence = None,
            (None, Some(info @ ("rule" | "rule wrong"))) => {
                let holds = info == "rule";
                count[usize::from(holds)] += 1;
                let rule = parse_rule("example", line).unwrap_or_else(|e| panic!("{e}"));
                let found = soundness::check(&rule);
                if found.counterexample.is_none() != holds || holds && found.points < 10 {
                    let example = found.counterexample.map(|example| example.to_string());
                    wrong.push(format!("{line}: {} points, {example:?}", found.points));
                }
            }
            _ => {}
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(count[0] >= 4 && count[1] >= 20, "there are {count:?} examples");
}
