//! `passdump bench` from outside: what it reports, and what it answers to requests.

mod support;

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use support::{done, passdump};

const SUM: &str =
    "func @f(%x: f64[n], %k: f64) -> f64[n] {\nentry:\n  %0 = mul %x, %k\n  %1 = add %0, 1.0\n  ret %1\n}\n";

fn refused(args: &[&str], input: &str) -> String {
    let output = passdump(args, input);
    assert!(!output.status.success() && output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

/// The answers to requests.
fn serve(requests: &[Value]) -> Vec<Value> {
    let lines: String = requests.iter().map(|r| format!("{r}\n")).collect();
    done(&["bench", "--serve"], &lines).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

const ARGS: [&str; 4] = ["--arg", "x=random:f64[1000]:-1..1", "--arg", "k=3"];

#[test]
fn times_are_reported() {
    for mode in [&["--time", "0.01"][..], &["--time", "0", "--into"]] {
        let report = done(&[&["bench", "-"], &ARGS[..], mode].concat(), SUM);
        for part in ["median", "on the clock", "ns an element", "1000 elements and 16000 bytes", "optimizing took"] {
            assert!(report.contains(part), "{part}: {report}");
        }
        assert_eq!(report.matches("kernel by ").count(), 1, "{report}");
    }
}

#[test]
fn json_has_all_of_it() {
    for backend in ["reference", "interp", "cranelift", "auto"] {
        let args = ["bench", "-", "--json", "--time", "0.01", "--backend", backend];
        let found: Value = serde_json::from_str(&done(&[&args[..], &ARGS].concat(), SUM)).unwrap();
        assert_eq!(
            (&found["function"], &found["elements"], &found["bytes"]),
            (&json!("f"), &json!(1000), &json!(16000))
        );
        let times: Vec<f64> = ["min", "p10", "median", "p90", "max"]
            .iter()
            .map(|name| found["ns_a_call"][name].as_f64().unwrap())
            .collect();
        assert!(times[0] > 0.0 && times.is_sorted(), "{times:?}");
        let element = found["ns_an_element"].as_f64().unwrap();
        assert!((element * 1000.0 - times[2]).abs() < 1e-6 * times[2], "{element} {times:?}");
        assert!(found["calls"].as_u64() >= found["calls_a_batch"].as_u64(), "{found}");
        assert!(found["optimize_ns"].as_u64().unwrap() > 0 && found["lower_ns"].as_u64().unwrap() > 0, "{found}");
        let kernels = found["kernels"].as_array().unwrap().len();
        assert_eq!(kernels, usize::from(backend != "reference"), "{found}");
    }
}

/// Nanoseconds of a call that a line of `exec --time` tells, as `1.2ms`.
fn nanos(text: &str) -> f64 {
    let units = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    let (unit, scale) = units.into_iter().find(|(unit, _)| text.ends_with(unit)).unwrap();
    text.trim_end_matches(unit).parse::<f64>().unwrap() * scale
}

/// New results in each call, on whose memory the time depends; a machine that does other things besides may
/// be slow in one of both.
#[test]
fn exec_and_bench_tell_the_same_time() {
    let args = ["--arg", "x=random:f64[1000000]", "--arg", "k=3"];
    let mut tries = Vec::new();
    for _ in 0..8 {
        let exec = done(&[&["exec", "-", "--time"], &args[..]].concat(), SUM);
        let call = exec.lines().find(|line| line.starts_with("call ")).unwrap();
        let exec = nanos(call.split_whitespace().nth(1).unwrap());
        let bench = done(&[&["bench", "-", "--json", "--time", "0.25"], &args[..]].concat(), SUM);
        let bench: Value = serde_json::from_str(&bench).unwrap();
        let bench = bench["ns_a_call"]["median"].as_f64().unwrap();
        if (bench / exec).max(exec / bench) < 1.5 {
            return;
        }
        tries.push((exec, bench));
    }
    panic!("exec and bench differ: {tries:?}");
}

/// A function of scalars that is no expression.
const LOOP: &str = "func @halve(%x: f64) -> f64 {
entry:
  jump test(%x)
test(%y: f64):
  %big = ge %y, 1.0
  br_if %big, step, done
step:
  %z = mul %y, 0.5
  jump test(%z)
done:
  ret %y
}

";

#[test]
fn steps_by_reference_are_named() {
    let text = format!("{LOOP}func @f(%x: f64[4, 4]) -> f64[4, 4] {{\nentry:\n  %a = ufunc @halve(%x)\n  ret %a\n}}\n");
    let args = ["-", "--func", "f", "--arg", "x=random:f64[4, 4]"];
    let timed = done(&[&["exec", "--time"], &args[..]].concat(), &text);
    let row = timed.lines().find(|line| line.starts_with("`ufunc` by reference ")).unwrap_or_default();
    assert!(row.contains("`@f`, 16:3") && row.contains("1 run ") && row.contains("% of the call"), "{timed}");
    told_once(&text, &args, "runs by its reference meaning", "has a loop");
    let timed = done(&[&["exec", "-", "--time"], &ARGS[..]].concat(), SUM);
    assert!(!timed.contains("` by reference "), "{timed}");
}

#[test]
fn steps_without_vectors_are_named() {
    let planned = "arrayexpr [i: 4, r: reduce 4] where r <= i (x = %x[r, r]) {
    yield x
  } reduce (sum f64) : f64[4]";
    let found = "arrayexpr [i: 4, j: 4, r: reduce 9, s: reduce 9] (x = %x[i + r, j + s]) {
    yield x
  } reduce (max f64) : f64[4, 4]";
    for (expr, dims, why) in [(planned, "4", "it has a guard"), (found, "4, 4", "not evenly spaced")] {
        let text = format!("func @f(%x: f64[12, 12]) -> f64[{dims}] {{\nentry:\n  %a = {expr}\n  ret %a\n}}\n");
        told_once(&text, &["-", "--arg", "x=random:f64[12, 12]"], "a loop program of", why);
    }
}

/// One remark of `exec` and of `bench` says how a step runs, and why.
#[track_caller]
fn told_once(text: &str, args: &[&str], how: &str, why: &str) {
    let timed = done(&[&["exec", "--time"], args].concat(), text);
    let remarks: Vec<&str> = timed.lines().filter(|line| line.contains(how)).collect();
    assert!(remarks.len() == 1 && remarks[0].contains(why), "{timed}");
    let json = done(&[&["bench", "--json", "--time", "0"], args].concat(), text);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(json["remarks"].as_array().unwrap().len() == 1 && json["remarks"][0].as_str().unwrap().contains(why));
    let report = done(&[&["bench", "--time", "0"], args].concat(), text);
    assert_eq!(report.matches(why).count(), 1, "{report}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_roofline_is_measured() {
    if !rewright::lowering::internals::x64::Level::Avx2.is_available() {
        let error = refused(&[&["bench", "-", "--time", "0", "--roofline"], &ARGS[..]].concat(), SUM);
        assert!(error.contains("no AVX2"), "{error}");
        return;
    }
    let args = [&["bench", "-", "--json", "--time", "0", "--roofline"], &ARGS[..]].concat();
    let found: Value = serde_json::from_str(&done(&args, SUM)).unwrap();
    let number = |name: &str| found["roofline"][name].as_f64().unwrap();
    assert!(
        number("memory_ns") > 0.0 && number("issue_ns") > 0.0 && number("vector_instructions_a_ns") > 0.0,
        "{found}"
    );
    assert_eq!(number("bound_ns"), number("memory_ns").max(number("issue_ns")));
    let bytes = number("memory_ns") * number("gigabytes_a_second");
    assert!((bytes - 16000.0).abs() < 1.0, "{found}");
    let report = done(&[&["bench", "-", "--time", "0", "--roofline"], &ARGS[..]].concat(), SUM);
    assert!(report.contains("% of the roofline: at best ") && report.contains(" GB/s"), "{report}");
}

#[test]
fn what_can_not_be_measured_is_refused() {
    let usage = refused(&["bench"], "");
    assert!(usage.contains("FILE"), "{usage}");
    let both = refused(&["bench", "-", "--serve"], "");
    assert!(both.contains("cannot be used with"), "{both}");
    for (args, why) in [
        (&["--arg", "k=3"][..], "parameter `x: f64[n]` of `@f` has no value"),
        (&["--arg", "x=random:f32[3]", "--arg", "k=3"], "the numbers are f32, the parameter is f64[n]"),
        (&["--arg", "x=random:f64[3, 3]", "--arg", "k=3"], "the value is f64[3, 3], the parameter is f64[n]"),
        (&["--arg", "x=random:f64[3]", "--arg", "k=3", "--time=-1"], "--time: -1 is not from 0"),
        (&["--arg", "x=random:f64[3]", "--arg", "k=3", "--time", "nan"], "--time: NaN is not from 0"),
        (&["--arg", "x=random:f64[3]:2..1"], "the range is empty"),
    ] {
        let error = refused(&[&["bench", "-"], args].concat(), SUM);
        assert!(error.contains(why), "{args:?}: {error}");
    }
    let raises = "func @f(%x: i64) -> i64 {\nentry:\n  raise \"ValueError\", message=\"no\"\n}\n";
    let error = refused(&["bench", "-", "--arg", "x=1"], raises);
    assert!(error.contains("no"), "{error}");
}

#[test]
fn requests_are_answered_in_turn() {
    let dir = tempfile::tempdir().unwrap();
    let (program, saved) = (dir.path().join("f.ir"), dir.path().join("out.npy"));
    std::fs::write(&program, SUM).unwrap();
    let load = |name: &str, into: bool, x: &str| json!({ "load": { "case": name, "file": path(&program), "args": { "x": x, "k": "2" }, "into": into } });
    let (avx2, tiny) = (json!("x64-avx2"), json!(1));
    let limited = json!({ "load": { "case": "a", "file": path(&program), "args": { "x": "[1, 2]", "k": "2" }, "max_steps": tiny } });
    let named =
        json!({ "load": { "case": "a", "file": path(&program), "args": { "x": "[]", "k": "2" }, "backend": avx2 } });
    let answers = serve(&[limited, named]);
    let refused = answers[0]["error"].as_str().unwrap();
    assert!(refused.contains("more than 1 ") && refused.contains("`--max-steps N` allows more"), "{refused}");
    let error = answers[1]["error"].as_str();
    assert!(answers[1]["elements"] == json!(1) || error.is_some_and(|e| e.contains("not available")), "{}", answers[1]);
    let answers = serve(&[
        load("given", true, "[1, 2]"),
        load("new", false, "random:f64[3]"),
        json!({ "run": { "case": "given", "count": 50 } }),
        json!({ "run": { "case": "new", "count": 1 } }),
        json!({ "save": { "case": "given", "to": [path(&saved)] } }),
        json!({ "compile": { "case": "given", "count": 3 } }),
        json!({ "run": { "case": "given", "count": 2 } }),
        json!({ "save": { "case": "new", "to": [] } }),
        json!({ "drop": { "case": "new" } }),
        json!({ "run": { "case": "new", "count": 1 } }),
        load("bad", false, "[1, x]"),
        json!({ "load": { "case": "a", "file": "nowhere.ir" } }),
        json!({ "load": { "case": "a", "file": "nowhere.ir", "arg": {} } }),
        json!({ "walk": {} }),
        json!([]),
    ]);
    assert_eq!(answers[0]["bytes"], json!(32));
    assert_eq!(answers[1]["elements"], json!(3));
    assert_eq!(answers[2]["count"], json!(50));
    assert!(answers[2]["elapsed_ns"].as_u64().unwrap() > 0 && answers[3]["processor_ns"].is_u64());
    assert_eq!(answers[4]["types"], json!(["f64[2]"]));
    assert_eq!(answers[5]["lower_ns"].as_array().unwrap().len(), 3);
    assert_eq!(answers[6]["count"], json!(2));
    assert_eq!(answers[8], json!({}));
    let errors: Vec<&str> = [7, 9, 10, 11, 12, 13, 14].iter().map(|&i| answers[i]["error"].as_str().unwrap()).collect();
    let reasons = [
        "1 results",
        "no case `new`",
        "is not a number",
        "nowhere.ir",
        "unknown field `arg`",
        "unknown variant",
        "can't be read",
    ];
    for (error, why) in errors.iter().zip(reasons) {
        assert!(error.contains(why), "{why}: {error}");
    }
    let saved = rewright::ir::npy::read(&saved).unwrap();
    assert_eq!(saved.iter().map(|x| x.to_f64()).collect::<Vec<_>>(), [3.0, 5.0]);
}

/// The kernels of programs that are measured beside other systems compute the same as the evaluator.
#[test]
fn the_workloads_beside_peers_mean_what_they_compute() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/peers/workloads");
    let dir = tempfile::tempdir().unwrap();
    let mut requests = Vec::new();
    let mut files: Vec<(PathBuf, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let module = rewright::parse_module(&std::fs::read_to_string(&file).unwrap(), "workload").unwrap();
        for func in module.functions() {
            let value = |(i, &param): (usize, &rewright::Value)| {
                let ty = func.ty(param);
                let extents = vec!["37"; ty.rank()].join(", ");
                let value =
                    if ty.is_array() { format!("random:{}[{extents}]:{i}:1..3", ty.dtype()) } else { "0.25".into() };
                (func.value_name(param).unwrap().to_string(), value)
            };
            let args: std::collections::BTreeMap<_, _> = func.params().iter().enumerate().map(value).collect();
            let places = |backend: &str| -> Vec<PathBuf> {
                (0..func.results.len())
                    .map(|i| dir.path().join(format!("{}-{backend}-{i}.npy", requests.len())))
                    .collect()
            };
            let (by_reference, by_kernels) = (places("reference"), places("auto"));
            files.extend(by_reference.iter().cloned().zip(by_kernels.iter().cloned()));
            for (backend, places) in [("reference", by_reference), ("auto", by_kernels)] {
                let (file, func) = (path(&file), func.name.to_string());
                requests.push(json!({ "load": { "case": "f", "file": file, "func": func, "args": args, "backend": backend, "into": true } }));
                requests.push(json!({ "save": { "case": "f", "to": places } }));
            }
        }
    }
    for (request, answer) in requests.iter().zip(serve(&requests)) {
        assert!(answer.get("error").is_none(), "{request}: {answer}");
    }
    assert!(files.len() >= 20, "{files:?}");
    for (reference, kernels) in files {
        assert_eq!(std::fs::read(&reference).unwrap(), std::fs::read(&kernels).unwrap(), "{}", kernels.display());
    }
}
