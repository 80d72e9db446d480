//! `passdump asm` from outside: what it shows of a function's kernels.

use crate::support::{done, passdump};

const TWO: &str = "func @f(%x: f64[n], %y: f32[m]) -> f64[n], f32[m] {
entry:
  %0 = mul %x, 2.5
  %1 = add %0, 1.0
  %2 = neg %y
  ret %1, %2
}
";

/// Code that calls functions of this process holds their addresses, which are others each time.
fn without_addresses(text: &str) -> String {
    let is_address =
        |word: &str| word.strip_prefix("$0x").is_some_and(|digits| digits.trim_end_matches(',').len() >= 10);
    text.split(' ').map(|word| if is_address(word) { "ADDRESS" } else { word }).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_kernel_has_a_schedule_and_instructions() {
    let all = done(&["asm", "-"], TWO);
    assert!(all.starts_with("kernel 1 of 2: `arrayexpr` of `@f`, 4:3\n"), "{all}");
    assert_eq!(all.matches("\nschedule by ").count(), 2, "{all}");
    assert!(all.contains("v1: f64 = 2.5\n") && all.contains("f32 = neg v0\n"), "{all}");
    let second = done(&["asm", "-", "--kernel", "2"], TWO);
    assert!(second.starts_with("kernel 2 of 2: "), "{second}");
    assert!(without_addresses(&all).ends_with(&without_addresses(&second)), "{all}{second}");
    let none = done(&["asm", "-"], "func @g(%x: f64) -> f64 {\nentry:\n  ret %x\n}\n");
    assert_eq!(none, "`@g` has no kernels\n");
    let beyond = passdump(&["asm", "-", "--kernel", "3"], TWO);
    assert_eq!(beyond.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&beyond.stderr).contains("`@f` has 2 kernels, counted from 1"), "{beyond:?}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn machine_code_has_labels_constants_and_what_it_comes_from() {
    use rewright::lowering::internals::x64::Level;
    for (level, flag, register) in [(Level::Avx2, "avx2", "ymm"), (Level::Avx512, "avx512", "zmm")] {
        let text = done(&["asm", "-", "--kernel", "1", "--level", flag], TWO);
        if !level.is_available() {
            let refused = text.lines().find(|line| line.starts_with("not compiled: x64: "));
            assert!(refused.is_some_and(|line| line.contains(&level.to_string())), "{text}");
            continue;
        }
        assert!(text.contains(&format!("schedule by x64-{flag}: ")), "{text}");
        let constant = |line: &str| line.contains(": 0x4004000000000000") && line.ends_with("; 2.5");
        assert!(text.lines().any(constant) && text.contains("\nentry:\n"), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        // All that is jumped to is there, and loops are jumped to from below.
        let label = |name: &str| lines.iter().position(|line| line.strip_suffix(':') == Some(name));
        let jump = |line: &&str| line.split_whitespace().nth(1).is_some_and(|word| word.starts_with('j'));
        for line in lines.iter().filter(|line| jump(line)) {
            assert!(line.split_whitespace().nth(2).is_some_and(|target| label(target).is_some()), "{line}: {text}");
        }
        let mut loops = 0;
        while let Some(at) = label(&format!("loop{}", loops + 1)) {
            loops += 1;
            let back = |line: &&str| jump(line) && line.ends_with(&format!(" loop{loops}"));
            assert!(lines[at..].iter().any(back), "loop{loops}: {text}");
        }
        assert!(loops >= 2, "{text}");
        // Below the kernel's multiplication stands the processor's.
        let product =
            lines.iter().position(|line| line.contains("; v2: f64 = mul")).unwrap_or_else(|| panic!("{text}"));
        let mut code = lines[product + 1..].iter().take_while(|line| !line.contains("; v"));
        assert!(code.any(|line| line.contains("vmulpd") && line.contains(register)), "{text}");
    }
}

#[test]
fn cranelift_shows_its_code_too() {
    let text = done(&["asm", "-", "--kernel", "2", "--level", "cranelift"], TWO);
    assert!(text.contains("schedule by cranelift: ") && text.contains("f32 = neg v0\n"), "{text}");
    assert!(text.lines().count() > 40, "{text}");
}

#[test]
fn refused_programs_name_the_reason() {
    let reference = "func @f(%x: i64[n], %y: i64[n]) -> i64[n] {\nentry:\n  %0 = gcd %x, %y\n  ret %0\n}\n";
    let text = done(&["asm", "-", "--level", "avx2"], reference);
    assert!(text.contains("v2: i64 = reference gcd v0, v1"), "{text}");
    let refused = text.lines().find_map(|line| line.strip_prefix("not compiled: x64"));
    let why = if rewright::lowering::internals::x64::Level::Avx2.is_available() { "`gcd` is" } else { "AVX2" };
    assert!(refused.is_some_and(|refused| refused.contains(why)), "{text}");
    let unknown = passdump(&["asm", "-", "--level", "sse2"], reference);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn a_loop_program_is_printed_with_its_kernels() {
    let triangle = "func @f(%x: f64[n, n]) -> f64[n, n] {
entry:
  %0 = arrayexpr [i: n, j: n] where j <= i (x = %x[i, j]) {
    t0 = mul x, 2.0
    yield t0
  } into ([i, j] fill 0.0) : f64[n, n]
  ret %0
}
";
    let text = done(&["asm", "-", "--level", "cranelift"], triangle);
    assert!(text.starts_with("loop program 1 of 1: `arrayexpr` of `@f`, 3:3\nschedule by cranelift: "), "{text}");
    assert!(text.contains("\n  kernel 0 over 0..min(") && text.contains("\nkernel 0:\nread  b0: f64[i0]\n"), "{text}");
}
