//! Plugins are linked, or the program names the missing one.

use pretty_assertions::assert_eq;
use rewright_rewrites::{PluginError, link_plugins};
use rewright_rewrites::{VERSION, check_plugins, plugins};

mod this_crate {
    rewright_rewrites::plugin!();
}

#[test]
fn a_plugin_is_found_once_it_is_linked() {
    link_plugins!(this_crate).unwrap();
    assert_eq!(
        plugins().iter().map(|p| (p.origin.krate, p.built_for)).collect::<Vec<_>>(),
        [(this_crate::link(), VERSION)]
    );
}

#[test]
fn all_that_are_missing_are_named() {
    let missing = ["absent", "also-absent"];
    let errors = check_plugins(&["absent", this_crate::link(), "also-absent"]).unwrap_err();
    assert_eq!(errors, missing.map(PluginError::Missing));
    assert!(errors[0].to_string().starts_with("plugin `absent` is linked but registered nothing"));
}
