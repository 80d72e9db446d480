//! The page of `passdump html`: that it holds all that it shows, and what a browser makes of it.
//!
//! The browser is `chromium`, or what the variable `CHROMIUM` names. Where there is none, only the first
//! part is tested, and a line says so.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const LOOP: &str = "untyped func @powers(%x: f32[n], %k: i64) -> f32[n] {
entry:
  %r = rank %x
  %one = eq %r, 1
  br_if %one, start, other
other:
  jump start
start:
  jump head(0, 1, %x)
head(%i, %scale, %sum):
  %more = lt %i, %k
  br_if %more, body, done
body:
  %next = add %i, 1
  %smaller = mul %scale, 0.5
  %term = mul %x, %smaller
  %neg = neg %term
  %pos = neg %neg
  %new = add %sum, %pos
  jump head(%next, %smaller, %new)
done:
  ret %sum
}
";

const PIPELINE: &str = "extents, dead-branches, fold, canonicalize, dce, array-expr";

fn page(dir: &Path, text: &str, pipeline: &str) -> PathBuf {
    page_with(dir, text, pipeline, &[])
}

fn page_with(dir: &Path, text: &str, pipeline: &str, more: &[&str]) -> PathBuf {
    let (program, page) = (dir.join("f.ir"), dir.join("steps.html"));
    std::fs::write(&program, text).unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_passdump"))
        .args(["html".as_ref(), program.as_os_str(), page.as_os_str(), "--pipeline".as_ref(), pipeline.as_ref()])
        .args(more)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    page
}

fn data(page: &str) -> serde_json::Value {
    let begin = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let end = begin + page[begin..].find("</script>").unwrap();
    serde_json::from_str(&page[begin..end]).unwrap()
}

#[test]
fn a_page_needs_nothing_else_and_holds_every_step() {
    let dir = tempfile::tempdir().unwrap();
    let page = std::fs::read_to_string(page(dir.path(), LOOP, PIPELINE)).unwrap();
    for outside in ["src=", "href=", "@import", "url(", "{{"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let data = data(&page);
    let steps = data["steps"].as_array().unwrap();
    let names: Vec<&str> = steps.iter().map(|s| s["rewrite"].as_str().unwrap()).collect();
    assert_eq!(names, ["extents", "dead-branches", "type inference", "fold", "canonicalize", "dce", "array-expr"]);
    // What the steps make of the first text is the last one.
    let mut lines: Vec<String> =
        data["functions"][0]["lines"].as_array().unwrap().iter().map(|l| l.as_str().unwrap().to_string()).collect();
    assert_eq!(lines.join("\n") + "\n", LOOP);
    for step in steps {
        for hunk in step["hunks"].as_array().unwrap().iter().rev() {
            let (at, gone) = (hunk[0].as_u64().unwrap() as usize, hunk[1].as_u64().unwrap() as usize);
            let come = hunk[2].as_array().unwrap().iter().map(|l| l.as_str().unwrap().to_string());
            lines.splice(at..at + gone, come);
        }
    }
    assert_eq!(lines[0], "func @powers(%x: f32[n], %k: i64) -> f32[n] {");
    assert!(lines.iter().any(|l| l.contains("= arrayexpr")), "{lines:#?}");
    assert!(data["kernels"][0]["title"].as_str().unwrap().contains("@powers: arrayexpr"), "{}", data["kernels"][0]);
    assert!(data["kernels"][0]["micros"].is_null(), "{data}");
}

#[test]
fn kernels_have_their_schedule_and_their_time() {
    let dir = tempfile::tempdir().unwrap();
    let page = page_with(dir.path(), LOOP, PIPELINE, &["--time", "--arg", "x=[1, 2, 3]:f32", "--arg", "k=2"]);
    let found = data(&std::fs::read_to_string(&page).unwrap());
    let kernel = &found["kernels"][0];
    assert!(kernel["micros"].as_f64().unwrap() > 0.0, "{kernel}");
    assert!(kernel["schedule"].as_str().unwrap().contains("one loop"), "{kernel}");
    assert_eq!(found["notes"].as_array().unwrap().len(), 0, "{found}");
    // Where values are missing the page says so.
    let dir = tempfile::tempdir().unwrap();
    let untimed = page_with(dir.path(), LOOP, PIPELINE, &["--time"]);
    let notes = data(&std::fs::read_to_string(untimed).unwrap())["notes"].to_string();
    assert!(notes.contains("not timed: parameter `x: f32[n]` of `@powers` has no value"), "{notes}");
    let Some(shown) = browsed(&page, "tab=kernels") else { return };
    assert!(shown.contains("µs at best") && shown.contains("one loop"), "{shown}");
}

#[test]
fn text_that_looks_like_a_page_is_only_text() {
    let dir = tempfile::tempdir().unwrap();
    let text = "func @\"</script><b>\"(%x: f64) -> f64 {\nentry:\n  %a = neg %x\n  %b = neg %a\n  ret %b\n}\n";
    let page = std::fs::read_to_string(page(dir.path(), text, "canonicalize")).unwrap();
    assert_eq!(page.matches("</script>").count(), 2);
    assert_eq!(data(&page)["functions"][0]["name"], "</script><b>");
}

/// What a browser has made of the page at `#place` when it has run its script.
fn browsed(page: &Path, place: &str) -> Option<String> {
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let names = ["chromium", "chromium-browser", "google-chrome"].map(PathBuf::from);
    for browser in named.into_iter().chain(names) {
        let url = format!("file://{}#{place}", page.display());
        let flags =
            ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--window-size=1200,800"];
        let done = Command::new(&browser).args(flags).args(["--dump-dom", &url]).output();
        if let Ok(done) = done {
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            let dom = String::from_utf8_lossy(&done.stdout).into_owned();
            // Behind the elements come the data and the script, which name everything.
            return Some(dom.split("id=\"data\"").next().unwrap_or_default().to_string());
        }
    }
    eprintln!("skipped: there is no chromium here, and CHROMIUM names none");
    None
}

#[test]
fn a_browser_shows_steps_values_graphs_and_kernels() {
    let dir = tempfile::tempdir().unwrap();
    let page = page(dir.path(), LOOP, PIPELINE);
    let Some(code) = browsed(&page, "step=5&value=%25pos") else { return };
    assert!(code.contains("7 of 7"), "{code}");
    assert!(code.contains("<b>5: canonicalize</b>") && !code.contains("class=\"error\""), "{code}");
    assert!(code.contains("class=\"cell del ") && code.contains("class=\"cell ins "), "{code}");
    assert!(code.contains("<span class=\"op\">") && code.contains("class=\"picked\" data-step=\"4\""), "{code}");
    // The value is marked wherever it is, and its places are listed.
    assert!(code.contains("<span class=\"v lit\" data-v=\"%pos\">"), "{code}");
    assert!(code.contains("gone after this step") && code.contains("defines  %pos = neg %neg"), "{code}");
    assert!(code.contains("data-line=\"16\"") && code.contains("uses  %new = add %sum, %pos"), "{code}");

    let moved = browsed(&page, "step=5&keys=jjkc").unwrap_or_default();
    assert!(moved.contains("<b>6: dce</b>") && moved.contains("lines are the same"), "{moved}");
    let found = browsed(&page, "find=arrayexpr").unwrap_or_default();
    assert!(
        found.contains("1 of 7") && found.contains("<b>7: array-expr</b>") && found.contains("fused 2 operations"),
        "{found}"
    );

    let graph = browsed(&page, "step=7&tab=graph").unwrap_or_default();
    assert!(graph.contains("data-graph=\"blocks\"") && graph.contains("data-node=\"head\""), "{graph}");
    assert!(graph.contains("class=\"back\""), "the loop goes round: {graph}");
    assert!(graph.contains("<g class=\"fused \" data-node=\"%new\">"), "{graph}");
    let kernels = browsed(&page, "tab=kernels").unwrap_or_default();
    assert!(kernels.contains("@powers: arrayexpr"), "{kernels}");
}

#[test]
fn ten_thousand_instructions_are_no_burden() {
    let mut text = "func @f(%x: f64) -> f64 {\nentry:\n  %v0 = add %x, 1.0\n".to_string();
    for i in 1..10_000 {
        // Here and there something to do.
        let line = if i % 500 == 0 {
            format!("  %v{i} = mul %v{}, 1.0\n", i - 1)
        } else {
            format!("  %v{i} = add %v{}, {i}.5\n", i - 1)
        };
        text.push_str(&line);
    }
    text.push_str("  ret %v9999\n}\n");
    let dir = tempfile::tempdir().unwrap();
    let size = |page: &Path| std::fs::metadata(page).unwrap().len();
    let numbered = page(dir.path(), &text.replace("%v", "%"), "canonicalize");
    assert!(size(&numbered) < 2_000_000, "values without a name keep their numbers");
    let page = page(dir.path(), &text, "canonicalize");
    assert!(size(&page) < 2_000_000, "only changes are kept");
    let began = Instant::now();
    let Some(dom) = browsed(&page, "step=19&value=%25v9000") else { return };
    assert!(dom.contains("<b>19: canonicalize</b>") && !dom.contains("class=\"error\""), "the wrong step");
    // Rows that are not seen are not there.
    let rows = dom.matches("class=\"row\"").count();
    assert!((10..400).contains(&rows), "{rows} rows");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

/// What passdump writes can be compared with what it wrote before: the same bytes each time, unless times
/// are asked for.
#[test]
fn the_same_page_is_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let written = |more: &[&str]| std::fs::read(page_with(dir.path(), LOOP, PIPELINE, more)).unwrap();
    let first = written(&[]);
    assert_eq!(first, written(&[]));
    let page = String::from_utf8(first).unwrap();
    assert!(page.contains("canonicalize") && data(&page)["steps"][0]["micros"].is_null());
    let timed = String::from_utf8(written(&["--time"])).unwrap();
    assert!(data(&timed)["steps"][0]["micros"].is_number());
}
