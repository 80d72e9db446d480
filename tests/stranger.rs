//! A crate outside of the workspace, built as its author would build it, has its op, rewrite, rule and
//! storage style in its own passdump.

use std::fs;
use std::path::Path;
use std::process::Command;

/// What cargo prints, in the folder of a crate.
fn cargo(folder: &Path, command: &str, args: &[&str]) -> String {
    // What the workspace has built is found there.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
    // The settings of single crates, which are not found from every folder.
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join(".cargo/config.toml");
    let output = Command::new(env!("CARGO"))
        .args([command, "--quiet", "--offline", "--config"])
        .arg(config)
        .arg("--target-dir")
        .arg(target)
        .args(args)
        .current_dir(folder)
        .output()
        .expect("cargo runs");
    let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{wrong}");
    said.into_owned()
}

fn done(args: &[&str]) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stranger");
    cargo(&folder, "run", &[&["--"], args].concat())
}

#[test]
#[ignore = "a sweep: Rewright is built once more"]
fn a_strangers_op_rewrite_rule_and_style_are_in_its_passdump() {
    // The same versions as the workspace has, which are there.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::copy(folder.join("Cargo.lock"), folder.join("tests/stranger/Cargo.lock"))
        .expect("the lock file is copied");
    let ops = done(&["list", "ops", "--long"]);
    let op = ops.lines().find(|l| l.starts_with("softsign ")).unwrap_or_else(|| panic!("{ops}"));
    assert!(op.contains("stranger src/softsign.rs:"), "{op}");
    let rewrites = done(&["list", "rewrites", "--long"]);
    for name in ["form-softsign ", "softsign-neg "] {
        let row = rewrites.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("{rewrites}"));
        assert!(row.contains("stranger src/form_softsign.rs:"), "{row}");
    }
    assert!(done(&["check-rules"]).contains("held     softsign-neg on 2 cases"));
    let styles = done(&["list", "styles", "--long"]);
    let style = styles.lines().find(|l| l.starts_with("toeplitz ")).unwrap_or_else(|| panic!("{styles}"));
    assert!(style.contains("stranger src/toeplitz.rs:"), "{style}");
    assert!(done(&["test", "fixtures"]).contains("4 passed, 0 failed"));
    // What `saturate` gets its rules by, and more.
    let seen = |pipeline: &str, backend: &str| {
        let args = ["--pipeline", pipeline, "--backend", backend, "--liberties", "contract", "--arg", "x=[1]:f32"];
        let program = "fixtures/softsign.ron";
        done(&[&["exec", program, "--time"], &args[..]].concat())
    };
    let by_interp = seen("how-compiled", "interp");
    let said = "by interp for nothing; liberties: contract; rules: softsign-neg; steps: None";
    assert!(by_interp.contains(said), "{by_interp}");
    let by_cranelift = seen("softsign-neg, -softsign-neg, how-compiled", "cranelift");
    let said = format!("by cranelift for {}; liberties: contract; rules: ; steps: None", std::env::consts::ARCH);
    assert!(by_cranelift.contains(&said), "{by_cranelift}");
}

/// A reader of the page can copy it from there.
#[test]
fn the_page_of_styles_shows_the_strangers_style_as_it_is_tested() {
    let read = |path: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("it is there");
    let (page, file) = (read("docs/write-a-style.md"), read("tests/stranger/src/toeplitz.rs"));
    let (_, code) = file.split_once("\n\n").expect("it begins with what it is");
    assert!(page.contains(&format!("```rust\n{code}```")), "the page has another text than the file");
    assert!(file.lines().count() < 150);
}

/// Copies a folder; file names and texts are changed.
fn copy(from: &Path, to: &Path, change: &dyn Fn(&str) -> String) {
    fs::create_dir_all(to).expect("a folder is made");
    for entry in fs::read_dir(from).expect("a folder is read") {
        let path = entry.expect("an entry is read").path();
        let name = path.file_name().expect("it has a name").to_string_lossy();
        match path.is_dir() {
            true => copy(&path, &to.join(&*name), change),
            false => {
                let text = fs::read_to_string(&path).expect("a text is read");
                fs::write(to.join(change(&name)), change(&text)).expect("a text is written");
            }
        }
    }
}

#[test]
#[ignore = "a sweep: Rewright is built once more"]
fn the_template_works_when_it_is_copied_as_its_page_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let elsewhere = tempfile::tempdir().expect("a folder is made");
    let change = |text: &str| {
        let named = text.replace("rewright-template", "my-ops").replace("rewright_template", "my_ops");
        named.replace("template-passdump", "my-passdump").replace("\"../..", &format!("\"{}", root.display()))
    };
    copy(&root.join("plugins/template"), elsewhere.path(), &change);
    let manifest = elsewhere.path().join("Cargo.toml");
    // The workspace's profile, so that its builds are reused.
    let profile = fs::read_to_string(root.join("tests/stranger/Cargo.toml")).expect("the stranger is there");
    let profile = &profile[profile.find("[profile.dev]").expect("it has a profile")..];
    let text = fs::read_to_string(&manifest).expect("the manifest is copied");
    fs::write(&manifest, format!("{text}\n{profile}")).expect("the manifest is written");
    fs::copy(root.join("Cargo.lock"), elsewhere.path().join("Cargo.lock")).expect("the lock file is copied");
    let tests = cargo(elsewhere.path(), "test", &[]);
    assert_eq!(tests.matches("test result: ok. 1 passed").count(), 2, "{tests}");
    assert!(cargo(elsewhere.path(), "run", &["--", "list", "ops", "--long"]).contains("my-ops src/cube.rs:"));
}
