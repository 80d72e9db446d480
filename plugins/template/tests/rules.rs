//! Checks the rules.

use rewright::plugin::assert_rules_hold;
use rewright_template as _;

#[test]
fn rules_hold() {
    assert_rules_hold(env!("CARGO_PKG_NAME"));
}

#[test]
#[should_panic(expected = "no rule of the package `other` is linked")]
fn a_package_without_rules_is_no_success() {
    assert_rules_hold("other");
}
