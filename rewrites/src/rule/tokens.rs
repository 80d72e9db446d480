//! Tokens of the text of a rule: words and numbers.

use super::parse::{Parser, RuleError};
use super::{Direction, Number};
use rewright_ir::{Literal, Name};

impl<'t> Parser<'t> {
    pub(super) fn error(&mut self, at: usize, message: impl Into<String>) {
        self.errors.push(RuleError { message: message.into(), at });
    }
    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }
    pub(super) fn next_char(&self) -> String {
        self.rest().chars().next().map_or(String::new(), String::from)
    }
    pub(super) fn found(&self) -> String {
        match self.rest().is_empty() {
            true => "the end".to_string(),
            false => format!("`{}`", self.next_char()),
        }
    }
    /// Skips white space; returns the position after it.
    pub(super) fn space(&mut self) -> usize {
        self.at += self.rest().len() - self.rest().trim_start().len();
        self.at
    }
    pub(super) fn eat(&mut self, token: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }
    pub(super) fn expect(&mut self, token: &str) -> Option<()> {
        if self.eat(token) {
            return Some(());
        }
        let message = format!("expected `{token}`, found {}", self.found());
        self.error(self.at, message);
        None
    }
    /// Letters, digits and underscores; possibly empty.
    pub(super) fn word(&mut self) -> &'t str {
        self.space();
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }
    /// The name of a variable whose sigil is at `at`.
    pub(super) fn name(&mut self, at: usize) -> Option<Name> {
        let name = self.word();
        if name.is_empty() {
            self.error(at, "a variable has a name: `?x`, `@axes`");
            return None;
        }
        Some(Name::new(name))
    }
    pub(super) fn arrow(&mut self) -> Option<Direction> {
        let at = self.space();
        // The compiler prints the tokens of a macro argument with spaces between some of them.
        let arrows =
            [(["=", ">"], Direction::Rewrites), (["~", ">"], Direction::Explores), (["<=", ">"], Direction::Equates)];
        for (tokens, direction) in arrows {
            if tokens.iter().all(|token| self.eat(token)) {
                return Some(direction);
            }
            self.at = at;
        }
        let message = format!("expected `=>`, `~>` or `<=>`, found {}", self.found());
        self.error(at, message);
        None
    }
    pub(super) fn list(&mut self, end: &str, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if self.eat(end) {
            return Some(());
        }
        loop {
            item(self)?;
            if self.eat(end) {
                return Some(());
            }
            self.expect(",")?;
        }
    }
    /// A number: `2`, `-0.5`, `1e-3`, `0xff`, `1_000`, `true`, `inf`, `greatest`.
    pub(super) fn number(&mut self) -> Option<Number> {
        let begin = self.space();
        let minus = self.eat("-");
        self.space();
        let rest = self.rest();
        let is_part = |(at, c): (usize, char)| {
            let after_exponent = matches!(rest.as_bytes().get(at.wrapping_sub(1)), Some(b'e' | b'E'));
            let is_sign = matches!(c, '+' | '-') && after_exponent && !rest.starts_with("0x");
            c.is_ascii_alphanumeric() || matches!(c, '.' | '_') || is_sign
        };
        let end = rest.char_indices().find(|&part| !is_part(part)).map_or(rest.len(), |(at, _)| at);
        let word = &rest[..end];
        let literal = match word {
            "true" | "false" if !minus => Some(Literal::Bool(word == "true")),
            "nan" => Some(Literal::Float(f64::NAN)),
            "inf" => Some(Literal::Float(f64::INFINITY)),
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => digits(word),
            _ => None,
        };
        let number = match literal {
            Some(Literal::Int(i)) if minus => Some(Number::Literal(Literal::Int(-i))),
            Some(Literal::Float(x)) if minus => Some(Number::Literal(Literal::Float(-x))),
            Some(other) => Some(Number::Literal(other)),
            None if minus => None,
            None => Number::named(word),
        };
        if number.is_some() {
            self.at += end;
            return number;
        }
        let message = match word.is_empty() && !minus {
            true => format!("expected `?x`, `(op ...)` or a number, found {}", self.found()),
            false => {
                let sign = if minus { "-" } else { "" };
                format!(
                    "`{sign}{word}` is no number: numbers are `2`, `-0.5`, `1e-3`, `0xff`, `1_000`, `true`, `false`, `inf`, `nan`, \
                     `least`, `greatest`, `width` and `all_bits`"
                )
            }
        };
        self.at = begin;
        self.error(begin, message);
        None
    }
}

/// The number of a word that starts with a digit. An underscore may stand between two digits.
fn digits(word: &str) -> Option<Literal> {
    let (radix, body) = match word.strip_prefix("0x") {
        Some(body) => (16, body),
        None => (10, word),
    };
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_digit(radix));
    let misplaced =
        |(at, _): (usize, &str)| !is_digit(body[..at].chars().next_back()) || !is_digit(body[at + 1..].chars().next());
    if body.match_indices('_').any(misplaced) {
        return None;
    }
    let body: String = body.chars().filter(|&c| c != '_').collect();
    // `from_str_radix` accepts a sign, which is not allowed here.
    if radix == 16 {
        let is_hex = !body.is_empty() && body.chars().all(|c| c.is_ascii_hexdigit());
        return is_hex.then(|| i128::from_str_radix(&body, 16).ok()).flatten().map(Literal::Int);
    }
    let finite = |x: &f64| x.is_finite();
    body.parse().map(Literal::Int).ok().or_else(|| body.parse().ok().filter(finite).map(Literal::Float))
}
