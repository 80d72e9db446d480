//! Checks of a rule's text that need no ops: balanced parentheses, an arrow, and bound variables.
//!
//! [`rule!`](crate::rule!) runs these checks at compile time, so that such an error is reported at the line
//! of the rule.

/// Rejects an invalid rule text at compile time. Accepted text may still be rejected when ops are known.
pub const fn check(text: &str) {
    let bytes = text.as_bytes();
    let arrow = arrow(bytes);
    if arrow == bytes.len() {
        panic!("a rule has a pattern, an arrow (`=>`, `~>` or `<=>`) and a template");
    }
    let mut depth = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'(' => depth += 1,
            b')' if depth == 0 => panic!("a closing parenthesis too many"),
            b')' => depth -= 1,
            b'?' if at > arrow && !is_bound(bytes, arrow, at) => {
                unbound("the variable `", bytes, at, "` of the template or of a condition is not in the pattern")
            }
            b'@' if at > arrow && !is_bound(bytes, arrow, at) => {
                unbound("the attribute variable `", bytes, at, "` of the template is not in the pattern")
            }
            _ => {}
        }
        if at == arrow && depth != 0 {
            panic!("a closing parenthesis is missing before the arrow");
        }
        at += 1;
    }
    if depth != 0 {
        panic!("a closing parenthesis is missing");
    }
}

/// The limit on a message, in bytes.
const MAX_MESSAGE: usize = 256;

/// Panics with the name at `at`, with its sigil. Constants can't be formatted, so the message is copied.
const fn unbound(before: &str, text: &[u8], at: usize, after: &str) -> ! {
    let name = skip_space(text, at + 1);
    let mut end = name;
    while end < text.len() && is_word(text[end]) {
        end += 1;
    }
    let mut message = [0; MAX_MESSAGE];
    let mut len = copy(before.as_bytes(), 0, before.len(), &mut message, 0);
    len = copy(text, at, at + 1, &mut message, len);
    // A long name is cut short, so that the rest has room.
    let room = MAX_MESSAGE - len - after.len();
    len = copy(text, name, if end - name > room { name + room } else { end }, &mut message, len);
    len = copy(after.as_bytes(), 0, after.len(), &mut message, len);
    match core::str::from_utf8(message.split_at(len).0) {
        Ok(message) => panic!("{}", message),
        Err(_) => panic!("a variable of the template or of a condition is not in the pattern"),
    }
}

/// Copies a part of a text behind the first `len` bytes of a message; returns the new length.
const fn copy(text: &[u8], from: usize, to: usize, message: &mut [u8; MAX_MESSAGE], len: usize) -> usize {
    let mut at = from;
    while at < to {
        message[len + at - from] = text[at];
        at += 1;
    }
    len + to - from
}

/// The position of the arrow's `>`; the text's length if there is none.
const fn arrow(bytes: &[u8]) -> usize {
    let mut at = 1;
    while at < bytes.len() {
        if bytes[at] == b'>' {
            return at;
        }
        at += 1;
    }
    at
}

/// True if the name after the sigil at `at` also occurs before the arrow, with the same sigil.
const fn is_bound(bytes: &[u8], arrow: usize, at: usize) -> bool {
    let mut before = 0;
    while before < arrow {
        if bytes[before] == bytes[at] && same_name(bytes, before + 1, at + 1) {
            return true;
        }
        before += 1;
    }
    false
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

const fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at].is_ascii_whitespace() {
        at += 1;
    }
    at
}

const fn same_name(bytes: &[u8], a: usize, b: usize) -> bool {
    let (mut a, mut b) = (skip_space(bytes, a), skip_space(bytes, b));
    loop {
        let more = (a < bytes.len() && is_word(bytes[a]), b < bytes.len() && is_word(bytes[b]));
        match more {
            (true, true) if bytes[a] == bytes[b] => (a, b) = (a + 1, b + 1),
            (false, false) => return true,
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn what_the_compiler_refuses() {
        check("(div ?x (sqrt ?x)) => (sqrt ?x) if [nonneg(?x)]");
        check("(sum (neg ? x) axes = @ a) => (neg (sum ?x axes=@a))");
        let refused = |text: &str| {
            let text = text.to_string();
            std::panic::catch_unwind(move || check(&text)).is_err()
        };
        let message = |text: &str| {
            let text = text.to_string();
            let panic = std::panic::catch_unwind(move || check(&text)).expect_err("it is refused");
            panic.downcast_ref::<String>().cloned().unwrap_or_default()
        };
        let unbound = "the variable `?zone` of the template or of a condition is not in the pattern";
        assert_eq!(message("(add ?x ?y) => ? zone"), unbound);
        assert_eq!(
            message("(sum ?x axes=@a) => (sum ?x axes=@b)"),
            "the attribute variable `@b` of the template is not in the pattern"
        );
        assert!(message(&format!("(neg ?x) => ?{}", "y".repeat(300))).ends_with("is not in the pattern"));
        assert!(refused("(add ?x ?y)"));
        assert!(refused("(add ?x ?y => ?x"));
        assert!(refused("(add ?x ?y)) => ?x"));
        assert!(refused("(add ?x ?y) => (neg ?x"));
        assert!(refused("(add ?x ?y) => ?z"));
        assert!(refused("(add ?x ?yy) => ?y"));
        assert!(refused("(add ?x ?y) => ?x if [nonneg(?z)]"));
        assert!(refused("(sum ?x axes=@a) => (sum ?x axes=@b)"));
    }
}
