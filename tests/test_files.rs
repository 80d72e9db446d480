//! No test is forgotten: crates list the binaries of their tests, and `tests/all.rs` lists the modules of one
//! of them.

use std::fs;
use std::path::Path;

/// The crates that list the binaries of their tests.
const CRATES: [&str; 7] = [".", "ir", "lowering", "passdump", "plugins/broadcast", "plugins/index", "plugins/lazy"];

/// The crates without unit tests, whose libraries are not built for them.
const WITHOUT_UNIT_TESTS: [&str; 4] = [".", "plugins/index-macro", "plugins/lazy", "tools/emulator"];

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The files of a folder and of those in it.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
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

#[test]
fn libraries_without_unit_tests_have_none() {
    let mut forgotten = Vec::new();
    for name in WITHOUT_UNIT_TESTS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        assert!(read(&folder.join("Cargo.toml")).contains("\ntest = false\n"), "{name}");
        for path in files(&folder.join("src")) {
            if read(&path).lines().any(|line| line.trim() == "#[test]") {
                forgotten.push(path.display().to_string());
            }
        }
    }
    assert!(forgotten.is_empty(), "`test = false` in `Cargo.toml` leaves these tests out:\n{}", forgotten.join("\n"));
}
