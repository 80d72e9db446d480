//! Programs for the tests.

/// A function of two arrays that returns `%r`, from the text of its instructions.
pub fn arrays(body: &str) -> String {
    format!("func @f(%x: f64[n], %y: f64[n]) -> f64[n] {{\nentry:\n{body}  ret %r\n}}\n")
}

/// A module of some thousand instructions, in several blocks and functions, with these lines in the middle.
/// They read `%a` and `%b`, and define `%r`.
pub fn large(count: usize, seed: &str) -> String {
    const SEGMENTS: usize = 10;
    let params = "%x: f64[n, m], %y: f64[n, m], %flag: bool";
    let mut text = String::from(
        "func @half(%x: f64[n, m]) -> f64[n, m] {\nentry:\n  %0 = mul %x, 0.5\n  ret %0\n}\n\n\
         func @unused(%x: f64) -> f64 {\nentry:\n  ret %x\n}\n\n",
    );
    text.push_str(&format!("func @f({params}) -> f64[n, m], f64[n, m] {{\nentry:\n  jump s0(%x)\n"));
    let mut value = 0;
    for segment in 0..SEGMENTS {
        text.push_str(&format!("s{segment}(%a{segment}: f64[n, m]):\n"));
        let mut last = format!("%a{segment}");
        let mut earlier = last.clone();
        for i in 0..count / SEGMENTS {
            let line = match i % 8 {
                0 => format!("add {last}, 0.25"),
                1 => format!("maximum {last}, {earlier}"),
                2 => format!("mul {last}, 1.0"),
                3 => format!("add {last}, %y"),
                4 => format!("call {last}, callee=@half"),
                5 => format!("minimum {earlier}, {last}"),
                6 => format!("add {last}, {last}"),
                _ => format!("neg {last}"),
            };
            earlier = last;
            last = format!("%v{value}");
            value += 1;
            text.push_str(&format!("  {last} = {line}\n"));
            if segment == SEGMENTS / 2 && i == count / SEGMENTS / 2 {
                text.push_str(&seed.replace("%a", &last).replace("%b", &earlier));
                text.push_str(&format!("  %v{value} = add %r, {last}\n"));
                last = format!("%v{value}");
                value += 1;
            }
        }
        text.push_str(&match segment {
            s if s + 1 == SEGMENTS => format!("  ret {last}, {earlier}\n}}\n"),
            s if s % 3 == 1 => format!("  br_if %flag, s{0}({last}), s{0}({earlier})\n", s + 1),
            s => format!("  jump s{}({last})\n", s + 1),
        });
    }
    text
}
