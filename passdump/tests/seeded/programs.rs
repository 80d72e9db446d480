//! Programs for the tests.

/// A function of two arrays that returns `%r`, from the text of its instructions.
pub fn arrays(body: &str) -> String {
    format!("func @f(%x: f64[n], %y: f64[n]) -> f64[n] {{\nentry:\n{body}  ret %r\n}}\n")
}
