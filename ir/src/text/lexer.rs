//! The lexer: splits IR text into tokens, the first step of parsing.
//!
//! `//` begins a comment, but between square brackets it is floor division, as in `%a[i // 2]`. At the start
//! of a line it begins a comment there, too: an index list may go over several lines, each with a comment.

use crate::loc::Loc;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// `add`, `entry`, `f64`.
    Ident,
    /// `%x`, `%0`, `%"any text"`.
    Value,
    /// `@f`, `@"any text"`.
    Func,
    /// `12`, `0xff`.
    Int,
    /// `1.5`, `1e-3`.
    Float,
    /// `2.0j`.
    Imaginary,
    /// `"text"`, terminated.
    Str,
    LParen,
    RParen,
    LBracket,
    RBracket,
    LBrace,
    RBrace,
    Comma,
    Colon,
    Semicolon,
    Equals,
    EqualsEquals,
    Less,
    LessEquals,
    Greater,
    GreaterEquals,
    Plus,
    Minus,
    Star,
    SlashSlash,
    Percent,
    Question,
    DotDot,
    Arrow,
    Hash,
    Dollar,
    /// A string without an end on its line.
    UnterminatedString,
    /// A byte that starts no token.
    Bad,
    /// The end of the text; may be read repeatedly.
    End,
}

/// A token: its kind and location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub kind: TokenKind,
    /// True if it is the first of its line.
    pub first_on_line: bool,
    pub loc: Loc,
}

impl Token {
    /// The byte offset after the token.
    pub fn end(self) -> u32 {
        self.loc.start + self.loc.len
    }
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u32,
    line_start: usize,
    /// Continuation bytes of characters on this line.
    continuation: usize,
    /// Open square brackets: inside, `//` is floor division.
    brackets: usize,
    first_on_line: bool,
    tokens: Vec<Token>,
}

fn is_ident_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_'
}
fn is_ident_continue(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

/// True if the text is a valid name without quotes.
pub(super) fn is_plain_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|&b| is_ident_start(b)) && bytes.iter().all(|&b| is_ident_continue(b))
}

/// All tokens of a text; the last one is [`TokenKind::End`]. The text must be shorter than 4 GiB.
pub(super) fn lex(text: &str) -> Vec<Token> {
    let mut lexer = Lexer {
        bytes: text.as_bytes(),
        at: 0,
        line: 1,
        line_start: 0,
        continuation: 0,
        brackets: 0,
        first_on_line: true,
        tokens: Vec::with_capacity(text.len() / 4),
    };
    lexer.run();
    lexer.tokens
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn run(&mut self) {
        loop {
            self.skip_blanks();
            let start = self.at;
            let (line, col) = (self.line, start - self.line_start - self.continuation + 1);
            let kind = if start < self.bytes.len() { self.token() } else { TokenKind::End };
            let len = (self.at - start) as u32;
            let loc = Loc { line, col: col as u32, start: start as u32, len, op: None };
            self.tokens.push(Token { kind, first_on_line: self.first_on_line, loc });
            self.first_on_line = false;
            if kind == TokenKind::End {
                return;
            }
        }
    }

    fn skip_blanks(&mut self) {
        while let Some(&b) = self.bytes.get(self.at) {
            match b {
                b'\n' => {
                    self.at += 1;
                    self.new_line();
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                // A byte order mark, as some editors write.
                0xEF if self.at == 0 && self.bytes.starts_with("\u{feff}".as_bytes()) => {
                    self.at = 3;
                    self.line_start = 3;
                }
                b'/' if self.peek(1) == b'/' && (self.brackets == 0 || self.first_on_line) => {
                    while self.at < self.bytes.len() && self.bytes[self.at] != b'\n' {
                        self.count_continuation();
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn new_line(&mut self) {
        self.line += 1;
        self.line_start = self.at;
        self.continuation = 0;
        self.first_on_line = true;
    }

    fn count_continuation(&mut self) {
        self.continuation += usize::from(self.bytes[self.at] & 0xc0 == 0x80);
    }

    fn skip_while(&mut self, accept: fn(u8) -> bool) {
        while self.bytes.get(self.at).is_some_and(|&b| accept(b)) {
            self.at += 1;
        }
    }

    fn token(&mut self) -> TokenKind {
        let b = self.bytes[self.at];
        match b {
            b'%' | b'@' => self.sigil(b),
            b'"' => self.string(TokenKind::Str),
            b'0'..=b'9' => self.number(),
            _ if is_ident_start(b) => {
                self.skip_while(is_ident_continue);
                // Op names may contain dots.
                while self.peek(0) == b'.' && is_ident_start(self.peek(1)) {
                    self.at += 1;
                    self.skip_while(is_ident_continue);
                }
                TokenKind::Ident
            }
            _ => self.punctuation(b),
        }
    }

    fn sigil(&mut self, b: u8) -> TokenKind {
        let named = if b == b'%' { TokenKind::Value } else { TokenKind::Func };
        self.at += 1;
        match self.peek(0) {
            b'"' => self.string(named),
            next if is_ident_continue(next) => {
                self.skip_while(is_ident_continue);
                named
            }
            _ if b == b'%' => TokenKind::Percent,
            _ => TokenKind::Bad,
        }
    }

    fn string(&mut self, kind: TokenKind) -> TokenKind {
        self.at += 1;
        while let Some(&b) = self.bytes.get(self.at) {
            match b {
                b'"' => {
                    self.at += 1;
                    return kind;
                }
                b'\n' => return TokenKind::UnterminatedString,
                b'\\' if self.peek(1) != b'\n' && self.at + 1 < self.bytes.len() => self.at += 1,
                _ => {}
            }
            self.count_continuation();
            self.at += 1;
        }
        TokenKind::UnterminatedString
    }

    /// `12`, `0xff`, `1.5`, `1.`, `1e-3`; with `j` after it, an imaginary number.
    /// Signs are tokens of their own.
    fn number(&mut self) -> TokenKind {
        if self.peek(0) == b'0' && self.peek(1) == b'x' && self.peek(2).is_ascii_hexdigit() {
            self.at += 2;
            self.skip_while(|b| b.is_ascii_hexdigit());
            return TokenKind::Int;
        }
        let digits = |b: u8| b.is_ascii_digit();
        let mut kind = TokenKind::Int;
        self.skip_while(digits);
        if self.peek(0) == b'.' && self.peek(1) != b'.' {
            kind = TokenKind::Float;
            self.at += 1;
            self.skip_while(digits);
        }
        let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
        if matches!(self.peek(0), b'e' | b'E') && self.peek(1 + sign).is_ascii_digit() {
            kind = TokenKind::Float;
            self.at += 1 + sign;
            self.skip_while(digits);
        }
        if self.peek(0) == b'j' && !is_ident_continue(self.peek(1)) {
            self.at += 1;
            return TokenKind::Imaginary;
        }
        kind
    }

    fn punctuation(&mut self, b: u8) -> TokenKind {
        let (kind, len) = match (b, self.peek(1)) {
            (b'-', b'>') => (TokenKind::Arrow, 2),
            (b'=', b'=') => (TokenKind::EqualsEquals, 2),
            (b'<', b'=') => (TokenKind::LessEquals, 2),
            (b'>', b'=') => (TokenKind::GreaterEquals, 2),
            (b'.', b'.') => (TokenKind::DotDot, 2),
            (b'/', b'/') => (TokenKind::SlashSlash, 2),
            (b'(', _) => (TokenKind::LParen, 1),
            (b')', _) => (TokenKind::RParen, 1),
            (b'[', _) => (TokenKind::LBracket, 1),
            (b']', _) => (TokenKind::RBracket, 1),
            (b'{', _) => (TokenKind::LBrace, 1),
            (b'}', _) => (TokenKind::RBrace, 1),
            (b',', _) => (TokenKind::Comma, 1),
            (b':', _) => (TokenKind::Colon, 1),
            (b';', _) => (TokenKind::Semicolon, 1),
            (b'=', _) => (TokenKind::Equals, 1),
            (b'<', _) => (TokenKind::Less, 1),
            (b'>', _) => (TokenKind::Greater, 1),
            (b'+', _) => (TokenKind::Plus, 1),
            (b'-', _) => (TokenKind::Minus, 1),
            (b'*', _) => (TokenKind::Star, 1),
            (b'?', _) => (TokenKind::Question, 1),
            (b'#', _) => (TokenKind::Hash, 1),
            (b'$', _) => (TokenKind::Dollar, 1),
            _ => return self.bad_character(),
        };
        match kind {
            TokenKind::LBracket => self.brackets += 1,
            TokenKind::RBracket => self.brackets = self.brackets.saturating_sub(1),
            // A brace closes all open brackets, so that comments after it are comments.
            TokenKind::LBrace | TokenKind::RBrace => self.brackets = 0,
            _ => {}
        }
        self.at += len;
        kind
    }

    fn bad_character(&mut self) -> TokenKind {
        self.at += 1;
        while self.at < self.bytes.len() && self.bytes[self.at] & 0xc0 == 0x80 {
            self.count_continuation();
            self.at += 1;
        }
        TokenKind::Bad
    }
}

/// The text inside a quoted name or string, with escapes resolved. `None` if an escape is invalid.
pub(super) fn unescape(quoted: &str) -> Option<String> {
    let inner = quoted.strip_prefix('"')?.strip_suffix('"')?;
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            '0' => '\0',
            '"' => '"',
            '\'' => '\'',
            '\\' => '\\',
            'u' => {
                let rest = chars.as_str().strip_prefix('{')?;
                let (digits, after) = rest.split_once('}')?;
                if digits.len() > 6 {
                    return None;
                }
                chars = after.chars();
                char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
            }
            _ => return None,
        });
    }
    Some(out)
}

/// Writes the text in quotes, with escapes.
pub(super) fn escape(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::{TokenKind as T, lex};

    fn kinds(text: &str) -> Vec<T> {
        lex(text).iter().map(|token| token.kind).filter(|&kind| kind != T::End).collect()
    }

    #[test]
    fn two_slashes_divide_inside_brackets_only() {
        assert_eq!(kinds("a // b"), [T::Ident]);
        assert_eq!(kinds("[a // b]"), [T::LBracket, T::Ident, T::SlashSlash, T::Ident, T::RBracket]);
        assert_eq!(kinds("[a,\n// b\nc]"), [T::LBracket, T::Ident, T::Comma, T::Ident, T::RBracket]);
        assert_eq!(kinds("[a {\n} // b"), [T::LBracket, T::Ident, T::LBrace, T::RBrace]);
    }

    #[test]
    fn numbers_end_before_ranges_and_names() {
        assert_eq!(kinds("1..2 1.5 1. 1e-3 0xff"), [T::Int, T::DotDot, T::Int, T::Float, T::Float, T::Float, T::Int]);
        assert_eq!(kinds("2j 2.5j 2jx -1"), [T::Imaginary, T::Imaginary, T::Int, T::Ident, T::Minus, T::Int]);
        assert_eq!(kinds("1e 0x"), [T::Int, T::Ident, T::Int, T::Ident]);
    }

    #[test]
    fn columns_count_characters() {
        let tokens = lex("\u{feff}\"äö\" x // ü\n y");
        let places: Vec<(u32, u32, bool)> = tokens.iter().map(|t| (t.loc.line, t.loc.col, t.first_on_line)).collect();
        assert_eq!(places, [(1, 1, true), (1, 6, false), (2, 2, true), (2, 3, false)]);
    }

    #[test]
    fn a_string_ends_on_its_line() {
        assert_eq!(kinds("\"a\nb"), [T::UnterminatedString, T::Ident]);
        assert_eq!(kinds(r#"%"a \" b" @"c""#), [T::Value, T::Func]);
        assert_eq!(kinds("@ & ä"), [T::Bad, T::Bad, T::Bad]);
    }
}
