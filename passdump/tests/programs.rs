//! Programs of several functions, of styles and of lazy arrays, as the tool of this repository has them.

use crate::support::{done, passdump};

/// The error message for an invalid input.
fn wrong(args: &[&str], input: &str) -> String {
    let output = passdump(args, input);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

/// Arguments, and more of them.
fn with<'a>(more: &[&'a str], args: &[&'a str]) -> Vec<&'a str> {
    [args, more].concat()
}

const TWO: &str = "func @other(%x: f64) -> f64 {\nentry:\n  %a = neg %x\n  %b = neg %a\n  ret %b\n}\n\
    func @callee(%x: f64) -> f64 {\nentry:\n  %a = neg %x\n  %b = neg %a\n  ret %b\n}\n\
    func @ok(%x: f64) -> f64 {\nentry:\n  %a = call @callee(%x)\n  %b = neg %a\n  %c = neg %b\n  ret %c\n}\n";

#[test]
fn a_function_that_is_asked_for_is_rewritten_alone() {
    let (dir, neg) = (tempfile::tempdir().unwrap(), "canonicalize");
    let program = dir.path().join("two.ir").display().to_string();
    std::fs::write(&program, TWO).unwrap();
    let call = |args: &[&str]| done(&[args, &["--pipeline", neg]].concat(), "");
    let all = call(&["run", &program, "--stats"]);
    assert!(all.contains(" 3 "), "{all}");
    let one = call(&["run", &program, "--func", "ok", "--stats"]);
    assert!(one.contains("func @ok") && !one.contains("func @callee") && one.contains(" 1 "), "{one}");
    // Callees are rewritten together with their caller.
    let page = dir.path().join("steps.html").display().to_string();
    assert!(call(&["html", &program, &page, "--func", "ok"]).contains("2 steps"));
    assert!(call(&["html", &program, &page]).contains("3 steps"));
    assert_eq!(call(&["exec", &program, "--func", "ok", "--arg", "x=2", "--time"]).matches("func @other").count(), 0);
    // An error in another function is no error of this one.
    let rules = dir.path().join("wrong.ron").display().to_string();
    std::fs::write(&rules, "[Rule(name: \"wrong\", rule: \"(abs ?x:f64) => ?x\", unchecked: true)]").unwrap();
    let wrong_one = TWO.replacen("%b = neg %a", "%b = abs %a", 1);
    std::fs::write(&program, &wrong_one).unwrap();
    let checked = ["--pipeline", "wrong", "--rules", &rules];
    assert!(wrong(&with(&checked, &["run", &program, "--check-each"]), "").contains("wrong"));
    done(&with(&checked, &["run", &program, "--check-each", "--func", "ok"]), "");
    assert!(wrong(&with(&checked, &["bisect", &program, "--func", "ok"]), "").contains("nothing is wrong"));
    assert!(wrong(&with(&checked, &["reduce", &program, "--func", "ok"]), "").contains("nothing to reduce"));
    assert!(done(&with(&checked, &["bisect", &program, "--func", "other"]), "").contains("in @other"));
}

#[test]
fn the_plugins_of_the_repository_are_linked() {
    let styles = done(&["list", "styles", "--long"], "");
    assert!(styles.contains("diagonal ") && styles.contains("rewright-broadcast"), "{styles}");
    let rewrites = done(&["list", "rewrites", "--long"], "");
    assert!(rewrites.contains("rewright-lazy") && rewrites.contains("lazy-constructors "), "{rewrites}");
    let text = "func @f(%x: f64[m, n]) -> f64[m, n] {\nentry:\n  %i = iota dims=[m], dtype=f64\n  \
                %c = expand_dims %i, axes=[1]\n  %r = add %x, %c\n  ret %r\n}\n";
    let fused = done(&["exec", "-", "--arg", "x=[[1, 2], [3, 4]]", "--time"], text);
    assert!(fused.contains("a call runs 1 kernel, and 0 ops by reference meaning"), "{fused}");
    assert!(fused.contains("[[1. 2.]\n [4. 5.]]"), "{fused}");
}

#[test]
fn errors_of_unknown_names_list_the_linked_plugins() {
    for text in [
        "func @f(%x: f64[n; wobbly]) -> f64 {\nentry:\n  ret 0.0\n}\n",
        "func @f(%x: f64) -> f64 {\nentry:\n  %r = frobnicate %x\n  ret %r\n}\n",
    ] {
        let error = wrong(&["run", "-"], text);
        let said: String = error.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
        for part in ["linked are", "`rewright-broadcast`", "`rewright-ir`", "`rewright-lazy`", "use my_plugin as _;"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}

#[test]
fn stores_to_styled_arguments_are_shown() {
    let text = "func @f(%a: f64[n, n; diagonal], %b: f64[n, n; diagonal]) {\nentry:\n  %l = broadcasted %a, 2.0, op=\"mul\"\n  \
                store %a, %l\n  ret\n}\n";
    let shown = done(&["exec", "-", "--arg", "a=[[1, 0], [0, 2]]", "--arg", "b=[[1, 0], [0, 2]]"], text);
    assert_eq!(shown, "a after the call: f64[2, 2; diagonal]\nf64[2, 2; diagonal] { diag: [2. 4.] }\n");
}

#[test]
fn values_without_a_name_are_called_as_in_the_text() {
    let (dir, text) = (
        tempfile::tempdir().unwrap(),
        "func @a(%4: f64, %9: f64) -> f64 {\nentry:\n  %2 = add %4, %9\n  %3 = neg %2\n  %7 = neg %3\n  ret %7\n}\n\
        func @b(%0: f64, %1: f64) -> f64 {\nentry:\n  %2 = add %1, %0\n  ret %2\n}\n",
    );
    let program = dir.path().join("numbers.ir").display().to_string();
    std::fs::write(&program, text).unwrap();
    let proof = done(&["prove", &program, "a", "b"], "");
    assert!(proof.contains("neg %3  =>  add %4, %9") && proof.contains("add %4, %9  =>  add %9, %4"), "{proof}");
    let told = done(&["explain", &program, "%7", "--func", "a", "--pipeline", "saturate, dce"], "");
    assert!(told.contains("in the end: %2 = add %4, %9") && !told.contains("%?"), "{told}");
}
