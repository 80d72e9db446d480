//! Loop programs: how loops are split at the cuts of conditions, and which nests become kernels.

use rewright_ir::Type;
use rewright_ir::text::parse_module;
use rewright_lowering::internals::program::{Program, Tiling, Variant, lower_program};

/// The vector registers of a code generator that compiles kernels with steps.
const REGISTERS: usize = 31;

/// The program of the first `arrayexpr` of a function.
fn program(text: &str) -> Program {
    program_of(text, Variant::default())
}

fn program_of(text: &str, variant: Variant) -> Program {
    let module = parse_module(text, "given").unwrap_or_else(|errors| panic!("{:.2000}", errors.render(false)));
    let func = module.functions().next().expect("a function");
    let mut insts = func.blocks().flat_map(|block| func.insts(block));
    let data = insts.find_map(|inst| Some(func.inst(inst)).filter(|data| data.attrs.expr().is_some())).expect("a node");
    let types: Vec<Type> = data.args.iter().map(|&arg| func.ty(arg).clone()).collect();
    let expr = data.attrs.expr().expect("a node");
    lower_program(expr, &types, variant).expect("valid").program
}

fn of(expr: &str, args: &str, result: &str) -> Program {
    program(&format!("func @f({args}) -> {result} {{\nentry:\n  %0 = {expr} : {result}\n  ret %0\n}}\n"))
}

/// The program with kernels in place of nests, as text; the names of values are left out.
fn outlined(program: &Program) -> String {
    let text = program.blocked(None).distributed().outlined(&mut |_| Some(0)).to_string();
    text.lines().filter(|line| !line.contains(" = ")).map(|line| format!("{line}\n")).collect()
}

fn loops(text: &str) -> usize {
    text.lines().filter(|line| line.trim_start().starts_with("for ")).count()
}

fn conditions(text: &str) -> usize {
    text.lines().filter(|line| line.trim_start().starts_with("if ")).count()
}

fn kernels(text: &str) -> usize {
    text.lines().filter(|line| line.trim_start().starts_with("kernel ")).count()
}

#[test]
fn the_interior_of_a_padded_read_has_no_condition() {
    let body = "{\n    yield x\n  }";
    let copy = of(&format!("arrayexpr [i: n] (x = %x[pad(i - 1, 0.0)]) {body}"), "%x: f64[n]", "f64[n]");
    let text = outlined(&copy);
    // The border is filled, the interior is copied.
    assert_eq!((loops(&text), conditions(&text), kernels(&text)), (1, 0, 2), "{text}");
}

#[test]
fn a_triangle_is_a_kernel_for_each_row() {
    let guarded = "arrayexpr [i: n, j: n] where j <= i (x = %x[i, j]) {\n    t0 = sqrt x\n    yield t0\n  } into ([i, j] fill 0.0)";
    let text = outlined(&of(guarded, "%x: f64[n, n]", "f64[n, n]"));
    assert_eq!((loops(&text), conditions(&text), kernels(&text)), (1, 0, 1), "{text}");
}

#[test]
fn the_interior_of_a_stencil_is_one_kernel() {
    for mode in ["clamp", "wrap"] {
        let reads = format!("(a = %x[{mode}(i - 1), j], b = %x[i, {mode}(j + 1)])");
        let stencil = format!("arrayexpr [i: n, j: m] {reads} {{\n    t0 = add a, b\n    yield t0\n  }}");
        let text = outlined(&of(&stencil, "%x: f64[n, m]", "f64[n, m]"));
        let whole =
            text.lines().filter(|line| line.trim_start().starts_with("kernel ") && line.matches("..").count() == 2);
        assert_eq!(whole.count(), 1, "{text}");
    }
}

#[test]
fn a_convolution_with_few_weights_is_split_along_each_axis() {
    let reads = "(x = %x[pad(i + a - 1, 0.0), pad(j + b - 1, 0.0)], w = %w[a, b])";
    let convolution = format!(
        "arrayexpr [i: n, j: m, a: reduce 3, b: reduce 3] {reads} {{\n    t0 = mul x, w\n    yield t0\n  }} reduce (sum f64)"
    );
    let text = outlined(&of(&convolution, "%x: f64[n, m], %w: f64[3, 3]", "f64[n, m]"));
    let is_nest = |line: &&str| line.trim_start().starts_with("kernel ") && line.matches("..").count() == 2;
    // Four rows at once, then two, then one.
    assert_eq!((kernels(&text), text.lines().filter(is_nest).count()), (3, 3), "{text}");
}

#[test]
fn gathered_and_scattered_rows_are_kernels_or_copies() {
    let copied = "arrayexpr [i: n, j: m] (x = %x[gather(%p[i]), j]) {\n    yield x\n  }";
    let computed = "arrayexpr [i: n, j: m] (x = %x[gather(%p[i]), j]) {\n    t0 = sqrt x\n    yield t0\n  }";
    let last = "arrayexpr [i: n, j: m] (x = %x[i, j]) {\n    yield x\n  } into ([gather(%p[i]), j] fill 0.0 last)";
    let sums =
        "arrayexpr [i: n, j: m] (x = %x[i, j]) {\n    yield x\n  } into ([gather(%p[i]), j] fill 0.0 combine sum)";
    for (expr, result, found) in [
        (copied, "f64[n, m]", (2, 0)),
        (computed, "f64[n, m]", (1, 1)),
        (last, "f64[7, m]", (2, 0)),
        (sums, "f64[7, m]", (1, 1)),
    ] {
        let text = outlined(&of(expr, "%x: f64[n, m], %p: i64[n]", result));
        assert_eq!((loops(&text), kernels(&text)), found, "{text}");
    }
}

#[test]
fn loops_that_write_an_element_twice_are_no_kernels() {
    let last = "arrayexpr [i: n, j: m] (x = %x[i, j]) {\n    yield x\n  } into ([i] fill 0.0 last)";
    let sum = "arrayexpr [i: n, j: m] (x = %x[i, j]) {\n    yield x\n  } into ([i] fill 0.0 combine sum)";
    for expr in [last, sum] {
        let text = outlined(&of(expr, "%x: f64[n, m]", "f64[n]"));
        assert_eq!(kernels(&text), 0, "{text}");
    }
    // A kernel runs its outer loops in order.
    let overlap = "arrayexpr [i: n, j: 9] (x = %x[i, j]) {\n    yield x\n  } into ([i + j] fill 0.0 last)";
    let text = outlined(&of(overlap, "%x: f64[n, m]", "f64[n]"));
    assert_eq!((loops(&text), kernels(&text)), (0, 1), "{text}");
}

#[test]
fn a_row_with_a_loop_at_each_point_is_no_kernel() {
    let nested = "arrayexpr [i: n, k: reduce m] (y = #1[k]) {\n    t0 = arrayexpr [p: reduce 1] (x = #0[p]) {\n      \
                  yield x\n    } reduce (prod f64) : f64\n    t1 = mul t0, y\n    yield t1\n  } reduce (sum f64)";
    let text =
        outlined(&of(&nested.replace("arrayexpr [i", "arrayexpr (%x, %y) [i"), "%x: f64[1], %y: f64[m]", "f64[n]"));
    assert_eq!(kernels(&text), 0, "{text}");
}

#[test]
fn the_rows_of_each_product_of_a_batch_share_elements() {
    let expr = "arrayexpr [b: 50, i: 20, j: reduce 30, k: 40] (x = %x[b, i, j], y = %y[b, j, k]) {
    yield x, y
  } reduce (dot f64, f64) finish (s0, s1) {
    yield s0
  }";
    let text = format!(
        "func @f(%x: f64[50, 20, 30], %y: f64[50, 30, 40]) -> f64[50, 20, 40] {{\nentry:\n  %0 = {expr} : \
         f64[50, 20, 40]\n  ret %0\n}}\n"
    );
    let variant = Variant { one_block: true, ..Variant::default() };
    let shown =
        program_of(&text, variant).blocked(Some(REGISTERS)).distributed().outlined(&mut |_| Some(0)).to_string();
    let kernels: Vec<&str> = shown.split("kernel ").skip(1).collect();
    let reads = |kernel: &str, buffer: &str| kernel.matches(&format!(": {buffer}[")).count();
    assert!(!kernels.is_empty() && reads(kernels[0], "b1") > 3, "{shown}");
    assert!(kernels.iter().all(|kernel| reads(kernel, "b2") == 1), "{shown}");
}

/// The blocked program of a window of five rows, whose rows go up or down as the weights do.
fn window(row: &str) -> String {
    let reads = format!("(x = %x[{row}, j], w = %w[a])");
    let expr = format!(
        "arrayexpr [i: 96, a: reduce 5, j: m] {reads} {{\n    yield w, x\n  }} reduce (dot f64, f64) finish (s, one) {{\n    \
         yield s\n  }}"
    );
    of(&expr, "%x: f64[100, m], %w: f64[5]", "f64[96, m]").blocked(Some(REGISTERS)).to_string()
}

#[test]
fn the_rows_of_a_window_share_elements() {
    for row in ["i + a", "i - a + 4"] {
        let text = window(row);
        let is_load = |line: &str| line.contains(" = load b");
        // Four rows of results, and the eight rows that they read. Other loops compute the rest.
        let inner = text.lines().map(str::trim).skip_while(|line| !(is_load(line) && line.contains(", v")));
        let lines: Vec<&str> = inner.take_while(|line| !line.starts_with("for ")).collect();
        let loads = lines.iter().filter(|line| is_load(line)).count();
        let fused = lines.iter().filter(|line| line.contains(" = fma ")).count();
        assert_eq!((fused, loads), (4 * 5, 8), "{text}");
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| is_load(line)) {
            let (value, _) = line.split_once(" = ").expect("a value");
            let uses = |line: &&str| line.split([' ', ',']).any(|word| word == value);
            let last = lines.iter().rposition(uses).expect("a use");
            let later = lines[at + 1..last].iter().filter(|line| is_load(line)).count();
            assert_eq!(later, 0, "{value} is live while others are loaded: {text}");
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn work_after_a_product_leaves_its_totals_in_registers() {
    use rewright_lowering::internals::kernel::CodeGen;
    use rewright_lowering::internals::x64::{Level, X64};
    let Ok(x64) = X64::at(Level::Avx512) else { return };
    let text = "func @f(%a: f64[n, m], %b: f64[m, l]) -> f64[n, l] {
entry:
  %0 = arrayexpr [i: n, k: reduce m, j: l] (a = %a[i, k], b = %b[k, j]) {
    yield a, b
  } reduce (dot f64, f64) finish (sum, one) {
    t0 = mul sum, sum
    t1 = mul t0, 0.044715
    t2 = add t1, sum
    t3 = tanh t2
    t4 = mul t3, sum
    yield t4
  } : f64[n, l]
  ret %0
}
";
    let variant = Variant { tiling: Tiling::Rows, one_block: true, ..Variant::default() };
    let mut loops = 0;
    program_of(text, variant).blocked(Some(REGISTERS)).outlined(&mut |kernel| {
        if kernel.steps.as_ref().is_some_and(|steps| steps.first.len() == 8) {
            let code = x64.compile(kernel).expect("a kernel");
            let listing = code.disassembly().expect("its code");
            // The loop over steps comes first. It multiplies and adds for 8 rows and 3 vectors.
            let fused: Vec<&str> = listing.lines().filter(|line| line.contains("vfmadd")).take(24).collect();
            assert!(fused.len() == 24 && fused.iter().all(|line| !line.contains("[rsp")), "{listing}");
            loops += 1;
        }
        Some(0)
    });
    assert_eq!(loops, 1);
}

#[test]
fn a_product_of_matrices_is_blocked() {
    let product = "arrayexpr [i: n, k: reduce m, j: l] (a = %a[i, k], b = %b[k, j]) {\n    yield a, b\n  } \
                   reduce (dot f64, f64) finish (sum, one) {\n    yield sum\n  }";
    let text = format!(
        "func @f(%a: f64[n, m], %b: f64[m, l]) -> f64[n, l] {{\nentry:\n  %0 = {product} : f64[n, l]\n  ret %0\n}}\n"
    );
    let program = |variant, registers| program_of(&text, variant).blocked(registers);
    let tiled = Variant { tiling: Tiling::Rows, ..Variant::default() };
    let fused = |program: &Program| program.to_string().matches(" = fma ").count();
    // 8 rows by 8 steps; 4, 2 and 1 for the rest of either; blocks are joined.
    let whole = program(tiled, None);
    assert_eq!(fused(&whole), 15 * 15 + 1, "{whole}");
    assert!(whole.to_string().contains("f64[512, 96]\n"), "a staged block: {whole}");
    for (registers, rows) in [(31, 8 + 4 + 2 + 1), (15, 6 + 3 + 1)] {
        let program = program(tiled, Some(registers));
        assert_eq!(fused(&program), rows + 1, "{program}");
        let mut stepped = Vec::new();
        program.outlined(&mut |kernel| {
            stepped.extend(kernel.steps.as_ref().map(|steps| steps.first.len()));
            Some(0)
        });
        assert_eq!(stepped.iter().sum::<usize>(), rows, "each total of a block is a carried value: {program}");
    }
    // A single block writes its results where they belong: it has no buffer but those of the caller.
    let single = program(Variant { one_block: true, ..tiled }, Some(REGISTERS));
    let buffers = single.to_string().lines().filter(|line| line.contains("local ") && !line.contains("[]")).count();
    assert_eq!(buffers, 1, "the staged block: {single}");
}

/// The examples of `docs/loop-programs.md`: each block of IR has a block with the program after it.
/// `REWRIGHT_BLESS=1` writes these.
#[test]
fn examples_of_the_page() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/loop-programs.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let mut parts = page.split("```ir\n");
    let mut written = parts.next().unwrap_or_default().to_string();
    let mut examples = 0;
    for part in parts {
        let (ir, rest) = part.split_once("```\n").expect("the end of the IR");
        let (between, rest) = rest.split_once("```text\n").expect("a program after the IR");
        let (_, rest) = rest.split_once("```\n").expect("the end of the program");
        let mut kernels = 0..;
        let outlined = program(ir).blocked(Some(REGISTERS)).distributed().outlined(&mut |_| kernels.next());
        let shown = outlined.unrolled().to_string();
        written += &format!("```ir\n{ir}```\n{between}```text\n{shown}```\n{rest}");
        examples += 1;
    }
    assert!(examples > 3, "{examples} examples");
    if std::env::var_os("REWRIGHT_BLESS").is_some() {
        std::fs::write(path, &written).expect("the page is written");
        return;
    }
    assert!(page == written, "REWRIGHT_BLESS=1 writes the programs:\n{written}");
}

#[test]
fn results_that_are_not_read_are_streamed() {
    let streams = Variant { streams: true, ..Variant::default() };
    let text = |expr: &str, result: &str| {
        format!("func @f(%x: f64[n, m], %p: i64[k]) -> {result} {{\nentry:\n  %0 = {expr} : {result}\n  ret %0\n}}\n")
    };
    let streaming = |text: &str, variant| {
        let mut kernels = Vec::new();
        let program = program_of(text, variant);
        program.outlined(&mut |kernel| {
            kernels.push(kernel.wishes.streaming);
            Some(0)
        });
        (program.to_string().matches("streamed").count(), kernels)
    };
    let rows =
        text("arrayexpr [i: k, j: m] (x = %x[gather(%p[i]), j]) {\n    t0 = sqrt x\n    yield t0\n  }", "f64[k, m]");
    assert_eq!(streaming(&rows, streams), (1, vec![true]));
    assert_eq!(streaming(&rows, Variant::default()), (0, vec![false]));
    // Rows are copied without a kernel.
    let copied = rows.replace("t0 = sqrt x", "").replace("yield t0", "yield x");
    assert_eq!(streaming(&copied, streams), (1, vec![]));
    // Elements that several points add to are read.
    let sums = text(
        "arrayexpr [i: k, j: m] (x = %x[i, j]) {\n    yield x\n  } into ([gather(%p[i]), j] fill 0.0 combine sum)",
        "f64[8, m]",
    );
    assert_eq!(streaming(&sums, streams), (0, vec![false]));
}

#[test]
fn a_test_is_made_once() {
    let body = "{\n    t0 = add x, y\n    yield t0\n  }";
    let reads = "(x = %x[gather_from_start(%p[i]), 0], y = %y[gather_from_start(%p[i]), 1])";
    let text = outlined(&of(
        &format!("arrayexpr [i: n] {reads} {body}"),
        "%x: f64[m, 4], %y: f64[m, 4], %p: i64[n]",
        "f64[n]",
    ));
    let fails = text.lines().filter(|line| line.trim() == "fail").count();
    // The tests of both extents of dim 0; the numbers are in bounds.
    assert_eq!(fails, 2, "{text}");
    let same = "(x = %x[gather_from_start(%p[i]), 0], y = %x[gather_from_start(%p[i]), 1])";
    let text = outlined(&of(&format!("arrayexpr [i: n] {same} {body}"), "%x: f64[m, 4], %p: i64[n]", "f64[n]"));
    assert_eq!(text.lines().filter(|line| line.trim() == "fail").count(), 1, "{text}");
}

#[test]
fn few_streams_are_combined_without_a_loop() {
    let sum = "{\n    t0 = mul x, y\n    yield t0\n  } reduce (sum f64)";
    let rows = |points: usize, operands: &str, axes: &str| {
        let text = of(
            &format!("arrayexpr (%x, %y, %p) {} {operands} {sum}", axes.replace('#', &points.to_string())),
            &format!("%x: f64[n, {points}], %y: f64[n, {points}], %p: i64[n]"),
            "f64[n]",
        );
        let text = outlined(&text);
        (loops(&text), kernels(&text))
    };
    // Both arrays have a stream for each point.
    let apart = "(x = #0[i, k], y = #1[i, k])";
    assert_eq!(rows(8, apart, "[k: reduce #, i: n]"), (0, 1));
    assert_ne!(rows(9, apart, "[k: reduce #, i: n]"), (0, 1));
    // Rows of positions are one by one; long ones are vectors.
    let gathered = "(x = #0[gather(#2[i]), k], y = #1[gather(#2[i]), k])";
    assert_eq!(rows(16, gathered, "[i: n, k: reduce #]"), (1, 0));
    assert_ne!(rows(17, gathered, "[i: n, k: reduce #]"), (1, 0));
}

#[test]
fn loops_that_are_too_short_for_a_kernel_are_unrolled() {
    let rows = |columns: usize, value: &str| {
        let result = format!("f64[m, {columns}]");
        let (args, axes) = (format!("%x: f64[n, {columns}], %p: i64[m]"), format!("[i: m, c: {columns}]"));
        let read = format!(
            "arrayexpr (%p, %x) {axes} (x = #1[gather(#0[i]), c]) {{\n    t0 = sqrt x\n    yield {value}\n  }}"
        );
        let program = of(&read, &args, &result).blocked(None).distributed();
        let text = program.outlined(&mut |_| Some(0)).unrolled().to_string();
        (loops(&text), kernels(&text))
    };
    assert_eq!((rows(1, "x"), rows(8, "t0")), ((1, 0), (1, 0)));
    // One loop for each point, or a kernel for each row.
    assert_eq!(rows(9, "t0"), (2, 0));
    assert!(rows(12, "t0").1 > 0);
    // Rows that are only copied stay loops, but for those of few elements.
    assert_eq!((rows(3, "x"), rows(4, "x"), rows(12, "x")), ((1, 0), (2, 0), (2, 0)));
}

#[test]
fn blocks_along_several_axes_have_kernels_with_steps() {
    let product = "arrayexpr [i: 64, a: reduce 40, b: reduce 30, j: 24] (x = %x[i, a, b], y = %y[a, b, j]) {\n    yield x, y\n  } reduce (dot f64, f64) finish (s, one) {\n    yield s\n  }";
    let program = of(product, "%x: f64[64, 40, 30], %y: f64[40, 30, 24]", "f64[64, 24]");
    let mut steps = 0;
    program.blocked(Some(REGISTERS)).distributed().outlined(&mut |kernel| {
        steps += usize::from(kernel.steps.is_some());
        Some(0)
    });
    assert!(steps > 0, "{program}");
}
