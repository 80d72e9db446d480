//! Linking of plugins.
//!
//! A crate that is only named in `Cargo.toml` is not linked, and then registers nothing.
//! [`plugin!`](crate::plugin!) gives a plugin crate an empty function `link`; calling it is enough.
//! [`link_plugins!`](crate::link_plugins) calls it for several crates and checks that each is in the
//! registry, and that it was built against this version of Rewright.

use rewright_ir::Origin;
use thiserror::Error;

/// A plugin crate.
pub struct PluginEntry {
    /// The version of Rewright that it was built against.
    pub built_for: &'static str,
    /// The crate.
    pub origin: Origin,
}
rewright_ir::inventory::collect!(PluginEntry);

/// The version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Why a plugin can't be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PluginError {
    /// It was requested and did not register.
    #[error("plugin `{0}` is linked but registered nothing: does this platform run initializers?")]
    Missing(&'static str),
    /// It was built against another version.
    #[error("plugin {origin} was built for Rewright {built_for}, this is {VERSION}")]
    Version {
        /// The version it was built for.
        built_for: &'static str,
        /// The plugin.
        origin: Origin,
    },
}

/// All plugins, sorted by crate.
pub fn plugins() -> Vec<&'static PluginEntry> {
    let mut found: Vec<_> = rewright_ir::inventory::iter::<PluginEntry>.into_iter().collect();
    found.sort_by_key(|p| p.origin);
    found
}

/// Checks that these crates registered as plugins.
pub fn check_plugins(names: &[&'static str]) -> Result<(), Vec<PluginError>> {
    let found = plugins();
    let missing = names.iter().filter(|name| !found.iter().any(|p| p.origin.krate == **name));
    let mut errors: Vec<PluginError> = missing.map(|name| PluginError::Missing(name)).collect();
    let other = found.iter().filter(|p| p.built_for != VERSION);
    errors.extend(other.map(|p| PluginError::Version { built_for: p.built_for, origin: p.origin }));
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Declares the crate a plugin: `rewright_rewrites::plugin!();` in its `lib.rs`.
#[macro_export]
macro_rules! plugin {
    () => {
        $crate::rewright_ir::inventory::submit! {
            $crate::PluginEntry { built_for: $crate::VERSION, origin: $crate::rewright_ir::origin!() }
        }

        /// Does nothing: calling it links this crate, so that its registrations take effect. Returns the
        /// crate's name.
        pub fn link() -> &'static str {
            env!("CARGO_PKG_NAME")
        }
    };
}

/// Links plugin crates and checks that they are registered: `link_plugins!(my_plugin, other_plugin)?;`.
#[macro_export]
macro_rules! link_plugins {
    ($($krate:path),+ $(,)?) => {{
        $crate::check_plugins(&[$({ use $krate as plugin; plugin::link() }),+])
    }};
}
