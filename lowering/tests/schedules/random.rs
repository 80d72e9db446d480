//! Random schedules.

use super::{compile, function, matrix, module, programs, same_bits};
use rewright_lowering::exec::{Arg, Backend, Executable, Options};
use rewright_lowering::internals::schedule::Block;

/// Random transformations: those that are legal for a call are applied, and none changes a bit.
#[test]
fn random_transformations_change_no_bit() {
    let more = [
        (
            "short rows",
            function(
                "%a: f64[n, m], %b: f64[n, m]",
                "[i: n, j: m] (x = %a[i, j], y = %b[0, j], z = %b[i, 0]) {\n t0 = mul x, y\n t1 = add t0, z\n yield t1\n }",
                "f64[n, m]",
            ),
        ),
        (
            "functions of short rows",
            function(
                "%a: f64[n, m], %b: f64[n, m]",
                "[i: n, j: reduce m] (x = %a[i, j], y = %b[0, j], z = %b[i, 0]) {\n t0 = sin x\n t1 = mul t0, y\n t2 = sub t1, z\n yield t2\n } reduce (sum f64)",
                "f64[n]",
            ),
        ),
        (
            "three loops",
            function(
                "%a: f64[n, m], %b: f64[l, m]",
                "[i: n, j: l, k: m] (x = %a[i, k], y = %b[j, k], z = %a[i, 0]) {\n t0 = sub x, y\n t1 = exp z\n t2 = mul t0, t1\n yield t2\n }",
                "f64[n, l, m]",
            ),
        ),
        (
            "distances",
            function(
                "%a: f64[n, m], %b: f64[l, m]",
                "[i: n, j: l, k: reduce m] (x = %a[i, k], y = %b[j, k]) {\n t0 = sub x, y\n t1 = mul t0, t0\n yield t1\n } reduce (sum f64)",
                "f64[n, l]",
            ),
        ),
    ];
    let count = std::env::var("REWRIGHT_SCHEDULES").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let mut random = fastrand::Rng::with_seed(21);
    let programs = programs().into_iter().map(|(name, text, _)| (name, text)).chain(more);
    for (name, text) in programs {
        let names = |rest: &str, ends: &[char]| {
            let words = rest.split([',', '(']).filter_map(|word| word.split_once(ends).map(|(name, _)| name.trim()));
            words.map(str::to_string).filter(|name| name.len() == 1).collect::<Vec<_>>()
        };
        let (axes, operands) = text.split_once("SCHEDULE [").unwrap().1.split_once(']').unwrap();
        let (axes, mut operands) = (names(axes, &[':']), names(operands.split_once('{').unwrap().0, &['=']));
        operands.push("out.0".to_string());
        let mut applied = 0;
        for number in 0..count {
            let (rows, columns) = [(40, 3), (7, 33), (19, 20), (100, 5), (1, 9)][number % 5];
            let (a, b) = (matrix(rows, columns, 1), matrix(rows, columns, 2));
            let is_transposed = text.contains("f64[m, n]");
            let b = if is_transposed { b.reversed_axes().as_standard_layout().to_owned() } else { b };
            let args: [Arg<'_>; 2] = [(&a).into(), (&b).into()];
            let any = |random: &mut fastrand::Rng, names: &[String]| names[random.usize(0..names.len())].clone();
            let has_fission = random.u32(0..3) == 0;
            let step = |random: &mut fastrand::Rng| {
                let mut loops = axes.clone();
                random.shuffle(&mut loops);
                loops.truncate(if random.bool() { axes.len() } else { 2 });
                let (one, other) = (any(random, &axes), any(random, &axes));
                match random.u32(0..6) {
                    0..2 => format!("split({one}, {})", random.u32(1..12)),
                    2 => format!("collapse({one}, {other})"),
                    3 if has_fission => format!("stage(value.0, {one}, {other})"),
                    _ => {
                        let loops = loops.iter().map(|name| format!(", {name}")).collect::<String>();
                        format!("stage({}{loops})", any(random, &operands))
                    }
                }
            };
            let mut splits = String::new();
            for name in axes.iter() {
                if random.bool() {
                    splits = format!("{splits} split({name}, {})", random.u32(1..12));
                }
            }
            let mut schedule = format!("reorder({}){splits}", axes.join(", "));
            if has_fission {
                let first = (0..random.usize(0..5)).map(|_| format!(", {}", step(&mut random))).collect::<String>();
                schedule = format!("{schedule} fission({}, {}{first})", axes[axes.len() - 2], axes[axes.len() - 1]);
            }
            for _ in 0..random.usize(0..4) {
                schedule = format!("{schedule} {}", step(&mut random));
            }
            if random.u32(0..4) == 0 {
                let along = if random.bool() { any(&mut random, &axes) } else { axes[axes.len().max(2) - 2].clone() };
                schedule = format!("{schedule} unroll_and_jam({along}, {})", random.u32(2..6));
            }
            let backend = [Backend::Auto, Backend::Cranelift, Backend::Interp][number % 3];
            let attribute = format!("schedule=\"{schedule} {}\"", ["serial", "parallel(threads=3)"][number % 2]);
            let options = Options { backend, times: true, ..Options::default() };
            // A fission without a row is an error, and so is a value of points without a fission.
            let Ok(f) = Executable::compile(&module(&text.replace("SCHEDULE", &attribute)), "f", options) else {
                continue;
            };
            let want = compile(&text, "", Backend::Reference).call(&args).unwrap();
            let got = match f.call(&args) {
                Ok(got) => got,
                Err(error) => {
                    let (named, why) = (error.to_string(), ["is not legal for this call: ", "names another loop"]);
                    assert!(why.iter().any(|why| named.contains(why)), "{error}");
                    continue;
                }
            };
            assert!(same_bits(&want, &got), "{name} {rows}x{columns}, {attribute}, {backend:?}");
            let blocks = f.schedules()[0].schedule.blocks.clone().unwrap_or_default();
            applied += usize::from(blocks.iter().any(|block| !matches!(block, Block::Split { .. })));
        }
        assert!(name == "one row" || applied * 40 >= count, "{name}: {applied} of {count} are legal");
    }
}
