//! Pipeline strings.

use pretty_assertions::assert_eq;
use rewright_rewrites::{Pipeline, PipelineError};

fn shown(text: &str) -> String {
    Pipeline::parse(text).unwrap().to_string()
}

fn error(text: &str) -> (String, Option<usize>) {
    let error = Pipeline::parse(text).unwrap_err();
    (error.to_string(), error.at())
}

#[test]
fn names_stars_and_removed_rewrites() {
    assert_eq!(shown("test-double,test-sweep *,  test-double"), "test-double, test-sweep*, test-double");
    assert_eq!(shown("test-double, test-sweep, test-double, -test-double"), "test-sweep");
    assert_eq!(shown("  "), "");
    let default = shown("default");
    assert_eq!(shown("default, test-sweep, - test-sweep"), default);
    assert_eq!(shown(&default), default);
    let starred = Pipeline::parse("default*").unwrap();
    assert!(starred.stops().iter().all(|stop| stop.star));
}

#[test]
fn unknown_names_get_suggestions() {
    let want = "there is no rewrite `test-duoble`; did you mean `test-double`?";
    assert_eq!(error("test-sweep, test-duoble"), (want.to_string(), Some(12)));
    assert_eq!(error("test-sweep, - test-duoble*"), (want.to_string(), Some(12)));
    let (said, at) = error("quite-another-thing");
    assert_eq!(at, Some(0));
    assert!(said.contains("`quite-another-thing`") && said.contains("use my_plugin as _;"), "{said}");
}

#[test]
fn empty_names_and_removals_of_absent_rewrites() {
    for (text, at) in [("test-sweep,,test-double", 11), (",", 0), ("test-sweep, ", 12), ("*", 0)] {
        assert!(matches!(Pipeline::parse(text), Err(PipelineError::Empty { at: found }) if found == at), "{text}");
    }
    let (said, at) = error("test-sweep, -test-double");
    assert_eq!(at, Some(12));
    assert_eq!(said, "`-test-double` takes out a rewrite that is not in the pipeline before it");
}

#[test]
fn any_text_gives_an_answer() {
    for text in ["-", "--", "-,-", "é, ü*", "\n\t,\0", "default default", "-default", "**", "test-sweep**"] {
        assert!(Pipeline::parse(text).is_err(), "{text:?}");
    }
}
