//! No test is forgotten: crates list the binaries of their tests, and `tests/all.rs` lists the modules of one.

use std::fs;
use std::path::Path;

/// The crates that list the binaries of their tests.
const CRATES: [&str; 7] = [".", "ir", "lowering", "passdump", "plugins/broadcast", "plugins/index", "plugins/lazy"];

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn every_file_of_tests_is_in_a_binary() {
    let mut forgotten = Vec::new();
    for name in CRATES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        let (manifest, all) = (read(&folder.join("Cargo.toml")), read(&folder.join("tests/all.rs")));
        for entry in fs::read_dir(folder.join("tests")).expect("a folder of tests") {
            let path = entry.expect("an entry").path();
            let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let is_binary = |name: &str| manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
            let is_module = || all.lines().any(|line| line == format!("mod {stem};"));
            let is_test = path.extension().is_some_and(|extension| extension == "rs")
                || path.join("mod.rs").exists()
                || path.join("main.rs").exists();
            if is_test && !is_binary(&stem) && !is_module() && stem != "support" {
                forgotten.push(path.display().to_string());
            }
        }
    }
    assert!(forgotten.is_empty(), "neither in `all.rs` nor in `Cargo.toml`:\n{}", forgotten.join("\n"));
}
