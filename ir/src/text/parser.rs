//! The token cursor of the parser, and the primitives that all its parts share: expected tokens, names and
//! errors.

use super::lexer::{Token, TokenKind, lex, unescape};
use crate::diag::{Diagnostic, Diagnostics};
use crate::loc::Loc;
use crate::name::Name;

/// The error has been reported, and the current construct is abandoned.
#[derive(Debug)]
pub(crate) struct Failed;

pub(crate) type Parsed<T> = Result<T, Failed>;

/// The deepest nesting of brackets, expressions and gathers.
pub(super) const MAX_NESTING: usize = 64;

pub(crate) struct Parser<'a> {
    pub text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    pub errors: Diagnostics,
    pub nesting: usize,
}

impl<'a> Parser<'a> {
    pub fn new(text: &'a str, file_name: &str) -> Self {
        let mut errors = Diagnostics::new(file_name, text);
        let tokens = if text.len() < u32::MAX as usize {
            lex(text)
        } else {
            errors.push(Diagnostic::new("the text is longer than 4 GiB"));
            lex("")
        };
        Parser { text, tokens, at: 0, errors, nesting: 0 }
    }

    pub fn token(&self) -> Token {
        self.tokens[self.at]
    }
    /// The token `n` tokens ahead.
    pub fn ahead(&self, n: usize) -> Token {
        self.tokens[(self.at + n).min(self.tokens.len() - 1)]
    }
    pub fn kind(&self) -> TokenKind {
        self.token().kind
    }
    pub fn loc(&self) -> Loc {
        self.token().loc
    }
    /// The previous token.
    pub fn last(&self) -> Token {
        self.tokens[self.at.saturating_sub(1)]
    }
    pub fn bump(&mut self) -> Token {
        let token = self.token();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }
    pub fn position(&self) -> usize {
        self.at
    }
    pub fn is(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }
    pub fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.is(kind);
        if found {
            self.bump();
        }
        found
    }
    pub fn is_word(&self, word: &str) -> bool {
        self.is(TokenKind::Ident) && self.slice(self.token()) == word
    }
    pub fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.bump();
        }
        found
    }
    pub fn expect(&mut self, kind: TokenKind, what: &str) -> Parsed<Token> {
        if self.is(kind) { Ok(self.bump()) } else { self.expected(what) }
    }
    /// The text of a token.
    pub fn slice(&self, token: Token) -> &'a str {
        &self.text[token.loc.start as usize..token.end() as usize]
    }

    /// The text of a name token, without sigil and quotes.
    pub fn name_of(&mut self, token: Token) -> Parsed<&'a str> {
        let text = self.slice(token);
        let bare = text.strip_prefix(['%', '@']).unwrap_or(text);
        if !bare.starts_with('"') {
            return Ok(bare);
        }
        match unescape(bare) {
            Some(name) => Ok(Name::new(&name).as_str()),
            None => self.fail(Diagnostic::new("this string has an unknown escape").at(token.loc).help(ESCAPES)),
        }
    }

    /// The text of a string token.
    pub fn string_of(&mut self, token: Token) -> Parsed<String> {
        match unescape(self.slice(token)) {
            Some(text) => Ok(text),
            None => self.fail(Diagnostic::new("this string has an unknown escape").at(token.loc).help(ESCAPES)),
        }
    }

    /// A plain or quoted name.
    pub fn name(&mut self, what: &str) -> Parsed<(&'a str, Loc)> {
        if !matches!(self.kind(), TokenKind::Ident | TokenKind::Str) {
            return self.expected(what);
        }
        let token = self.bump();
        Ok((self.name_of(token)?, token.loc))
    }

    /// `%x`.
    pub fn expect_value(&mut self) -> Parsed<Token> {
        self.expect(TokenKind::Value, "a value, as `%x`")
    }

    /// `@f`.
    pub fn func_name(&mut self) -> Parsed<(Name, Loc)> {
        let token = self.expect(TokenKind::Func, "a function's name, as `@f`")?;
        Ok((Name::new(self.name_of(token)?), token.loc))
    }

    /// True at the end of an instruction: a new line, a closing brace, or the end of the text.
    pub fn at_line_end(&self) -> bool {
        self.token().first_on_line || matches!(self.kind(), TokenKind::RBrace | TokenKind::End)
    }

    pub fn report(&mut self, error: Diagnostic) {
        self.errors.push(error);
    }
    pub fn fail<T>(&mut self, error: Diagnostic) -> Parsed<T> {
        self.errors.push(error);
        Err(Failed)
    }
    /// The error for an unexpected token.
    pub fn expected<T>(&mut self, what: &str) -> Parsed<T> {
        let token = self.token();
        let found = match token.kind {
            TokenKind::End => "the end of the text".to_string(),
            TokenKind::UnterminatedString => "a string without an end".to_string(),
            _ => format!("`{}`", clip(self.slice(token))),
        };
        self.fail(
            Diagnostic::new(format!("expected {what}, found {found}")).at(token.loc).label(format!("expected {what}")),
        )
    }

    /// Runs a part of the parser one level deeper; an error beyond the maximum nesting.
    pub fn nested<T>(&mut self, part: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= MAX_NESTING {
            let loc = self.loc();
            return self.fail(Diagnostic::new(format!("nested more than {MAX_NESTING} levels deep")).at(loc));
        }
        self.nesting += 1;
        let result = part(self);
        self.nesting -= 1;
        result
    }

    /// Items separated by commas, up to a closing token, which is consumed.
    pub fn list<T>(
        &mut self,
        close: TokenKind,
        end: &str,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        while !self.is(close) {
            items.push(item(self)?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(close, end)?;
        Ok(items)
    }

    /// Error recovery from the construct that starts at token `start`. Skips to the next line on which a
    /// construct can start, outside the braces opened since.
    pub fn recover(&mut self, start: usize) {
        let mut depth = 0usize;
        for token in &self.tokens[start..self.at] {
            match token.kind {
                TokenKind::LBrace => depth += 1,
                TokenKind::RBrace => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if start == self.at && !self.is(TokenKind::RBrace) {
            depth += usize::from(self.bump().kind == TokenKind::LBrace);
        }
        loop {
            let token = self.token();
            match token.kind {
                TokenKind::End => return,
                TokenKind::RBrace if depth == 0 => return,
                TokenKind::RBrace => depth -= 1,
                _ if token.first_on_line && (depth == 0 || self.at_func()) => return,
                TokenKind::LBrace => depth += 1,
                _ => {}
            }
            self.bump();
        }
    }

    /// True at the start of a line with a function.
    pub fn at_next_func(&self) -> bool {
        self.token().first_on_line && self.at_func()
    }

    /// True at the start of a function.
    pub fn at_func(&self) -> bool {
        self.is_word("func") && self.ahead(1).kind == TokenKind::Func || self.at_untyped()
    }

    /// True at `untyped func @f`.
    pub fn at_untyped(&self) -> bool {
        self.is_word("untyped") && self.slice(self.ahead(1)) == "func" && self.ahead(2).kind == TokenKind::Func
    }
}

/// Parses a whole text by one rule; the error is the first message.
pub(crate) fn whole<'a, T>(text: &'a str, read: impl FnOnce(&mut Parser<'a>) -> Parsed<T>) -> Result<T, String> {
    let mut parser = Parser::new(text, "");
    let found = read(&mut parser);
    let ended = parser.is(TokenKind::End);
    match (found, parser.errors.errors().first()) {
        (Ok(found), None) if ended => Ok(found),
        (_, Some(error)) => Err(format!("in `{}`: {error}", clip(text))),
        _ => Err(format!("in `{}`: there is more than is read", clip(text))),
    }
}

const ESCAPES: &str = "known are \\n, \\t, \\r, \\0, \\\", \\\\ and \\u{..}";

/// The text, truncated if it is too long for a message.
pub(super) fn clip(text: &str) -> String {
    const MAX: usize = 40;
    if text.chars().nth(MAX).is_none() {
        return text.to_string();
    }
    text.chars().take(MAX).chain("...".chars()).collect()
}
