//! A crate outside of the workspace, built as its author would build it, has its op, rewrite and rule in its own passdump.

use std::path::Path;
use std::process::{Command, Output};

fn passdump(args: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stranger");
    // What the workspace has built is found there.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
    Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--manifest-path"])
        .arg(folder.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .arg("--")
        .args(args)
        .current_dir(folder)
        .output()
        .expect("cargo runs")
}

fn done(args: &[&str]) -> String {
    let output = passdump(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_strangers_op_rewrite_and_rule_are_in_its_passdump() {
    // The same versions as the workspace has, which are there.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::copy(folder.join("Cargo.lock"), folder.join("tests/stranger/Cargo.lock"))
        .expect("the lock file is copied");
    let ops = done(&["list", "ops"]);
    let op = ops.lines().find(|l| l.starts_with("softsign ")).unwrap_or_else(|| panic!("{ops}"));
    assert!(op.contains("stranger src/softsign.rs:"), "{op}");
    let rewrites = done(&["list", "rewrites"]);
    for name in ["form-softsign ", "softsign-neg "] {
        let row = rewrites.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("{rewrites}"));
        assert!(row.contains("stranger src/form_softsign.rs:"), "{row}");
    }
    assert!(done(&["check-rules"]).contains("sound    softsign-neg 2 cases"));
    assert!(done(&["test", "fixtures"]).contains("1 passed, 0 failed"));
}
