//! The lexer: splits a text into tokens, each with its place.
//!
//! First stage of the front end. It never fails: text that is no token becomes [`Kind::Unknown`], and the
//! parser reports it. A line end is a token, as it ends a statement; the parser ignores it inside brackets.

use rewright_ir::{Literal, Loc};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A name; primes at its end belong to it.
    Name,
    /// A number.
    Number(Literal),
    /// An operator or a bracket, as it is written; Unicode forms become ASCII ones.
    Sign(&'static str),
    /// The end of a line, or `;`.
    Line,
    /// The end of the text.
    End,
    /// A character that begins no token, or a number that is no value.
    Unknown(&'static str),
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub kind: Kind,
    pub loc: Loc,
    /// No space stands before it.
    pub joined: bool,
}

/// Operators and brackets, longest first where one is the beginning of another, with their ASCII forms.
const SIGNS: [(&str, &str); 55] = [
    ("..=", "..="),
    (":=", ":="),
    ("+=", "+="),
    ("-=", "-="),
    ("*=", "*="),
    ("/=", "/="),
    ("^=", "^="),
    ("**", "^"),
    ("//", "//"),
    ("==", "=="),
    ("!=", "!="),
    ("<=", "<="),
    (">=", ">="),
    ("&&", "&&"),
    ("||", "||"),
    ("|>", "|>"),
    ("<|", "<|"),
    ("..", ".."),
    ("÷", "//"),
    ("≠", "!="),
    ("≤", "<="),
    ("≥", ">="),
    ("∈", "in"),
    ("√", "√"),
    ("⊗", "⊗"),
    ("=", "="),
    ("+", "+"),
    ("-", "-"),
    ("*", "*"),
    ("/", "/"),
    ("%", "%"),
    ("^", "^"),
    ("<", "<"),
    (">", ">"),
    ("&", "&"),
    ("|", "|"),
    ("!", "!"),
    ("?", "?"),
    (":", ":"),
    ("$", "$"),
    (".", "."),
    (",", ","),
    ("(", "("),
    (")", ")"),
    ("[", "["),
    ("]", "]"),
    ("{", "{"),
    ("}", "}"),
    ("−", "-"),
    ("·", "*"),
    ("×", "*"),
    ("∧", "&"),
    ("∨", "|"),
    ("¬", "!"),
    ("⋅", "*"),
];

/// All tokens of a text; the last one is [`Kind::End`].
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { text, at: 0, line: 1, line_start: 0, tokens: Vec::new() };
    while lexer.next() {}
    lexer.tokens
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    line_start: usize,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn push(&mut self, kind: Kind, len: usize, joined: bool) {
        let col = self.text[self.line_start..self.at].chars().count() as u32 + 1;
        let loc = Loc { line: self.line, col, start: self.at as u32, len: len as u32, op: None };
        self.tokens.push(Token { kind, loc, joined });
        self.at += len;
    }

    /// Adds the next token; false at the end.
    fn next(&mut self) -> bool {
        let start = self.at;
        let rest = &self.text[self.at..];
        let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
        self.at += blank;
        if self.text[self.at..].starts_with('#') {
            self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at);
        }
        let joined = self.at == start && start > 0;
        let rest = &self.text[self.at..];
        let Some(first) = rest.chars().next() else {
            self.push(Kind::End, 0, false);
            return false;
        };
        if first == '\n' || first == ';' {
            self.push(Kind::Line, 1, joined);
            if first == '\n' {
                self.line += 1;
                self.line_start = self.at;
            }
        } else if first.is_alphabetic() || first == '_' {
            let body = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let primes = rest[body..].find(|c| c != '\'' && c != '′').unwrap_or(rest.len() - body);
            self.push(Kind::Name, body + primes, joined);
        } else if first.is_ascii_digit() {
            let (kind, len) = number(rest);
            self.push(kind, len, joined);
        } else if let Some((sign, ascii)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
            // `∈` is a word in ASCII.
            let kind = if *ascii == "in" { Kind::Name } else { Kind::Sign(ascii) };
            self.push(kind, sign.len(), joined);
        } else {
            self.push(Kind::Unknown("this character begins no part of a statement"), first.len_utf8(), joined);
        }
        true
    }
}

/// The number at the beginning of a text, and its length in bytes.
fn number(text: &str) -> (Kind, usize) {
    let digits =
        |from: usize| text[from..].find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len() - from);
    let mut end = digits(0);
    let mut is_float = false;
    // `1..3` is a range, `1.` and `1.5` are floats.
    if text[end..].starts_with('.') && !text[end..].starts_with("..") {
        let fraction = digits(end + 1);
        let is_name = text[end + 1..].starts_with(|c: char| c.is_alphabetic() || c == '_');
        if fraction > 0 || !is_name {
            is_float = true;
            end += 1 + fraction;
        }
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        let first = text[end + 1 + sign..].starts_with(|c: char| c.is_ascii_digit());
        if exponent > 0 && first {
            is_float = true;
            end += 1 + sign + exponent;
        }
    }
    let plain = text[..end].replace('_', "");
    let imaginary =
        text[end..].starts_with("im") && !text[end + 2..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let value = match is_float || imaginary {
        true => plain.parse::<f64>().ok().filter(|x| x.is_finite()).map(Literal::Float),
        false => plain.parse::<i128>().ok().filter(|i| u64::try_from(*i).is_ok()).map(Literal::Int),
    };
    match value {
        Some(Literal::Float(x)) if imaginary => (Kind::Number(Literal::Complex(0.0, x)), end + 2),
        Some(literal) => (Kind::Number(literal), end),
        None => (Kind::Unknown("this number is too large for every dtype"), end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let show = |token: &Token| match token.kind {
            Kind::Name => text[token.loc.start as usize..][..token.loc.len as usize].to_string(),
            Kind::Number(n) => format!("{n}"),
            Kind::Sign(s) => s.to_string(),
            Kind::Line => "EOL".into(),
            Kind::End => "END".into(),
            Kind::Unknown(_) => "?".into(),
        };
        tokens(text).iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn texts_are_split() {
        assert_eq!(shown("C[i,k] := 2i*A[i'] # x\n"), "C [ i , k ] := 2 i * A [ i' ] EOL END");
        assert_eq!(
            shown("1..3 1:3 0..=n 1.5e3 2. 2e+1 3im 2i"),
            "1 .. 3 1 : 3 0 ..= n 1500.0 2.0 20.0 (0.0, 3.0) 2 i END"
        );
        assert_eq!(shown("i ∈ n ≤ ÷ √x"), "i ∈ n <= // √ x END");
        assert_eq!(shown("99999999999999999999 1e999 @"), "? ? ? END");
        assert_eq!(shown("log.(B) 1.x"), "log . ( B ) 1 . x END");
        assert_eq!(shown(""), "END");
    }
}
