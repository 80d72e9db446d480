//! Tests every rule of the registry by itself.

use rewright_rewrites::Form;
use rewright_rewrites::rewrites;
use rewright_rewrites::rule::soundness;

#[test]
fn all_rules_are_sound() {
    assert_eq!(rewrites().errors(), []);
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in rewrites().iter() {
        let Form::Rule(rule) = entry.def.form else { continue };
        count += 1;
        let found = soundness::check(rule);
        if let Some(example) = found.counterexample {
            wrong.push(format!("{}: {rule} liberties [{}]\n  {example}", rule.name, rule.liberties));
        } else if found.cases == 0 || found.points < 2 {
            wrong.push(format!("{}: only {} cases and {} points", rule.name, found.cases, found.points));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} rules:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 100, "there are only {count} rules");
}
