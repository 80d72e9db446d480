//! Schedules that are impossible for an expression, or not legal for a call.

use super::{compile, function, matrix, module, programs, same_bits};
use rewright_lowering::exec::{Backend, Executable, Options};

#[test]
fn impossible_schedules_are_errors() {
    let fails = |program: usize, schedule: &str| {
        let text = programs()[program].1.replace("SCHEDULE", &format!("schedule=\"{schedule}\""));
        match Executable::compile(&module(&text), "f", Options::default()) {
            Ok(_) => panic!("{schedule}"),
            Err(error) => error.to_string(),
        }
    };
    for (program, schedule, message) in [
        (0, "hurry", "unknown transformation `hurry`; there are `reorder(i, j*k)`"),
        (0, "split(k, 4)", "there is no axis `k`; there are `i`, `j`"),
        (0, "stage(z, i, j)", "there is no array `z`; there are `x`, `y`, `out.0`"),
        (0, "fission(i, j)", "the points of its rows can't be computed by themselves"),
        (0, "parallel(threads=0)", "expected a number from 1 to 256"),
        (0, "reorder(i)", "`reorder` names each axis once: those of `reorder(i, j)`, in any order"),
        (0, "reorder(i, j, k)", "`reorder` names each axis once"),
        (0, "reorder(i, i)", "`reorder` names each axis once"),
        (2, "reorder(j, j)", "`reorder` names each axis once"),
        (4, "reorder(j, i)", "these loops can't change places"),
        (6, "reorder(j, i)", "these loops can't change places"),
        (5, "reorder(i, j)", "allowed are `reorder(j, i)` and `*` between neighbours"),
    ] {
        let error = fails(program, schedule);
        assert!(error.contains("`@f`") && error.contains("schedule: ") && error.contains(message), "{error}");
    }
}

/// A transformation that is not legal for the strides or extents of a call is an error of the call.
#[test]
fn illegal_transformations_are_errors_of_a_call() {
    for (program, schedule, message) in [
        (0, "split(i, 4)", "`split(i, 4)` names another loop than this call has: `i*j`; `reorder` fixes the loops"),
        (
            0,
            "reorder(i, j) stage(x, i)",
            "`stage(x, i)` is not legal for this call: the operand moves along another loop",
        ),
        (0, "reorder(i, j) stage(x, i, i)", "it names a loop twice"),
        (0, "reorder(i, j) stage(x, i, j) stage(x, j, i)", "the operand is staged already"),
        (0, "reorder(i, j) stage(x, i, j, pitch=7)", "its pitch is less than the points of the last loop"),
        (0, "reorder(i, j) unroll_and_jam(i, 4)", "its loop is not the one around rows that are combined"),
        (4, "unroll_and_jam(j, 4)", "its loop is not the one around rows that are combined"),
        (4, "unroll_and_jam(i, 4) split(i, 8)", "it must be the last transformation"),
        (5, "unroll_and_jam(i, 4)", "its loop is not the one around rows that are combined"),
        (4, "split(i, 1) fission(i, j) unroll_and_jam(i, 4)", "the points of rows are computed before"),
        (0, "reorder(i, j) collapse(j, i)", "the first loop is not outside of the second one"),
        (2, "reorder(i, j) collapse(i, j)", "the index of one of the loops is a value"),
        (
            3,
            "reorder(i, j) collapse(i, j)",
            "`collapse(i, j)` is not legal for this call: elements of an operand or result",
        ),
        (4, "split(j, 4)", "rows that are combined are whole"),
        (4, "split(i, 4) collapse(i, j)", "rows that are combined are whole"),
        (4, "fission(i, j) fission(i, j)", "`fission(i, j)` is not legal for this call: there is one already"),
        (
            4,
            "split(i, 1) fission(i, j, stage(out.0, i))",
            "results and values of points are staged for the second kernel",
        ),
        // The values of points would not be evenly spaced.
        (4, "fission(i, j, split(j, 5), stage(x, i, j), stage(y, i, j), collapse(i, j))", "not evenly spaced"),
        (0, "reorder(i, j) stage(x, i, j, pitch=4294967295)", "its copy has more than 256 MiB; split a loop of it"),
    ] {
        let f = compile(&programs()[program].1, schedule, Backend::Auto);
        let (a, b) =
            (matrix(30, 20, 1), matrix(if program == 3 { 20 } else { 30 }, if program == 3 { 30 } else { 20 }, 2));
        let error = f.call(&[(&a).into(), (&b).into()]).unwrap_err().to_string();
        assert!(error.contains("schedule: ") && error.contains(message), "{error}");
    }
}

/// Two outer loops are collapsed only if each operand moves along both or neither.
#[test]
fn outer_loops_are_collapsed_if_operands_move_along_both() {
    let rows = "(x = %a[h, i, k], y = OPERAND) {\n t0 = mul x, y\n yield t0\n }";
    for (axes, reduce, result) in [("k: reduce m", " reduce (sum f64)", "f64[l, n]"), ("k: m", "", "f64[l, n, m]")] {
        for (operand, is_legal) in [("%b[h, k]", false), ("%b[i, k]", true), ("%c[h, i, 0]", true)] {
            let expr = format!("[h: l, i: n, {axes}] {}{reduce}", rows.replace("OPERAND", operand));
            let text = function("%a: f64[l, n, m], %b: f64[q, m], %c: f64[l, n, p]", &expr, result);
            for schedule in [
                "reorder(h, i, k) split(i, 1) collapse(h, i)",
                "reorder(h, i, k) split(h, 1) collapse(h, i)",
                "reorder(h, i, k) stage(y, h, i, k) collapse(h, i)",
                "reorder(h, i, k) split(i, 1) collapse(h, i) unroll_and_jam(i, 2)",
            ] {
                for (backend, n) in [(Backend::Auto, 1), (Backend::Auto, 3), (Backend::Interp, 3)] {
                    let f = compile(&text, schedule, backend);
                    let a = ndarray::Array3::from_shape_fn((2, n, 3), |(h, i, k)| (1 + h + 2 * i + 7 * k) as f64);
                    let (b, c) = (matrix(if operand == "%b[i, k]" { n } else { 2 }, 3, 1), a.clone());
                    let args = [(&a).into(), (&b).into(), (&c).into()];
                    let want = compile(&text, "", Backend::Reference).call(&args).unwrap();
                    match f.call(&args) {
                        Ok(got) => assert!(same_bits(&want, &got), "{operand} {schedule} {n} {backend:?}"),
                        Err(error) => {
                            let error = error.to_string();
                            let is_jam = reduce.is_empty() && error.contains("not the one around rows");
                            let is_stage = error.contains("evenly spaced") || error.contains("names another loop");
                            let is_fixed = error.contains("does not move along the inner one");
                            assert!(is_jam || is_stage || is_fixed && !is_legal, "{operand} {schedule}: {error}");
                        }
                    }
                }
            }
        }
    }
}
