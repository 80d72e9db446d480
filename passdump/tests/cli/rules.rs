//! Rules of a file: applied, judged, and their verdicts kept.

use super::{HALVES, done, feed, folder, misused, passdump, stdout, write, wrong};

#[test]
fn rules_of_a_file_are_applied_and_tried() {
    let dir = folder();
    let program = write(&dir, "f.ir", "func @f(%x: f64) -> f64 {\nentry:\n  %a = sub %x, %x\n  ret %a\n}\n");
    let text = "[Rule(name: \"sub-self\", rule: \"(sub ?x:float ?x) => 0 liberties [no_nan]\")]";
    let rules = write(&dir, "rules.ron", text);
    let (program, rules) = (program.display().to_string(), rules.display().to_string());
    let strict = done(&feed(&["run", &program, "--rules", &rules], ""));
    assert!(strict.contains("sub %x, %x"), "{strict}");
    let free = done(&feed(&["run", &program, "--rules", &rules, "--liberties", "no_nan, contract"], ""));
    assert!(free.contains("ret 0.0"), "{free}");
    assert!(misused(&feed(&["run", &program, "--liberties", "fast"], "")).contains("unknown liberty `fast`"));

    let sound = done(&feed(&["check-rules", &rules], ""));
    assert!(sound.starts_with("held     sub-self on 2 cases"), "{sound}");
    assert!(sound.ends_with("1 rules: 0 proved, 1 held, 0 unsound\n"), "{sound}");
    let chosen = done(&feed(&["check-rules", &rules, "--rewrites", "sub-"], ""));
    assert_eq!(chosen, sound);
    let none = feed(&["check-rules", &rules, "--rewrites", "add-"], "");
    assert!(wrong(&none).contains("no rule has a name that begins with `add-`"));
    let wrong = write(&dir, "wrong.ron", "[\n  Rule(name: \"x-div-x\", rule: \"(div ?x:f64 ?x) => 1\"),\n]");
    let unsound = feed(&["check-rules", &wrong.display().to_string()], "");
    assert_eq!(unsound.status.code(), Some(1));
    let shown = stdout(&unsound);
    assert!(shown.contains("?x = 0.0 of f64: the pattern gives NaN, the template 1.0"), "{shown}");
    assert!(shown.contains("wrong.ron:2"), "{shown}");

    let bad = write(&dir, "bad.ron", "[Rule(name: \"bad\", rule: \"(neg ?x) => ?y\")]");
    let refused = wrong_rules(&["run", &program, "--rules", &bad.display().to_string()]);
    assert!(refused.contains("`?y` is not in the pattern"), "{refused}");
    let unread = write(&dir, "unread.ron", "[Rule(name: 3)]");
    let refused = wrong_rules(&["check-rules", &unread.display().to_string()]);
    assert!(refused.contains("unread.ron:1"), "{refused}");
}

#[test]
fn all_that_is_said_of_a_file_of_rules() {
    let dir = folder();
    let rule = |name: &str, text: &str| format!("  Rule(name: \"{name}\", rule: \"{text}\"),\n");
    let text = [
        rule("bad", "(neg ?x) => ?y"),
        rule("wrong", "(neg ?x:int) => ?x"),
        rule("right", "(neg (neg ?x:int)) => ?x"),
        rule("never", "(add ?x:i32 ?c:const) => ?x if [(lt ?c ?c)]"),
        rule("narrow", "(mul ?x:int ?c:const) => (left_shift ?x [bit_count [sub ?c 1]]) if [power_of_two(?c)]"),
    ];
    let file = write(&dir, "mixed.ron", &format!("[\n{}]", text.concat())).display().to_string();
    let program = write(&dir, "f.ir", HALVES).display().to_string();
    // A rule that can't be read hides nothing of the others.
    let judged = feed(&["check-rules", &file], "");
    let shown = stdout(&judged);
    assert_eq!(judged.status.code(), Some(1), "{shown}");
    assert!(
        shown.contains("invalid  ") && shown.contains("mixed.ron:2: rule `bad`: `?y` is not in the pattern"),
        "{shown}"
    );
    assert!(shown.contains("unsound  wrong ") && shown.contains("proved   right for all values of 8 cases"), "{shown}");
    assert!(shown.contains("note: both sides have one type at ?x of u8 only"), "{shown}");
    assert!(shown.ends_with("5 rules: 2 proved, 0 held, 1 unsound, 1 untried, 1 invalid\n"), "{shown}");
    let refused = wrong(&feed(&["run", &program, "--rules", &file], ""));
    assert!(
        refused.contains("`?y` is not in the pattern") && refused.contains("rule `wrong` does not hold"),
        "{refused}"
    );
    // Verdicts of the cache are the same, and it can be done without.
    assert_eq!(stdout(&feed(&["check-rules", &file], "")), shown);
    assert_eq!(stdout(&feed(&["check-rules", &file, "--no-cache"], "")), shown);
    let misuse = misused(&feed(&["run", &program, "--no-cache"], ""));
    assert!(misuse.contains("--rules"), "{misuse}");
}

#[test]
fn known_verdicts_are_kept_where_the_environment_says() {
    let dir = folder();
    let rules = write(&dir, "rules.ron", "[Rule(name: \"twice\", rule: \"(neg (neg ?x:int)) => ?x\")]");
    let check = |more: &[&str]| {
        let mut command = passdump(&[&["check-rules", &rules.display().to_string()], more].concat());
        command.env("REWRIGHT_CACHE", dir.path().join("cache")).output().unwrap_or_else(|e| panic!("{e}"))
    };
    let kept = || std::fs::read_dir(dir.path().join("cache/verdicts")).map(|files| files.count()).unwrap_or(0);
    let without = done(&check(&["--no-cache"]));
    assert_eq!(kept(), 0);
    assert_eq!(done(&check(&[])), without);
    assert_eq!(kept(), 1);
    assert_eq!(done(&check(&[])), without);
}

fn wrong_rules(args: &[&str]) -> String {
    wrong(&feed(args, ""))
}
