//! Parsing of types: `f64`, `f64[n, 3, ?]`, `f64[n, n; diagonal]`.

use super::lexer::TokenKind;
use super::parser::{Parsed, Parser, clip};
use crate::diag::Diagnostic;
use crate::dtype::DType;
use crate::loc::Loc;
use crate::name::Name;
use crate::registry::{Registry, registry};
use crate::style::canonical;
use crate::types::{Dim, MAX_RANK, Type};
use crate::value::Style;

impl<'a> Parser<'a> {
    /// `f64`.
    pub fn dtype(&mut self) -> Parsed<DType> {
        if !self.is(TokenKind::Ident) {
            return self.expected("a dtype");
        }
        let token = self.bump();
        let text = self.slice(token);
        match text.parse() {
            Ok(dtype) => Ok(dtype),
            Err(()) => {
                let near = Registry::suggest(text, DType::ALL.iter().map(|d| d.name()));
                let help = near.map(|n| format!("did you mean `{n}`?")).unwrap_or_else(|| {
                    let all: Vec<_> = DType::ALL.iter().map(|d| d.name()).collect();
                    format!("there are {}", all.join(", "))
                });
                self.fail(Diagnostic::new(format!("unknown dtype `{}`", clip(text))).at(token.loc).help(help))
            }
        }
    }

    /// `n`, `3` or `?`.
    pub fn dim(&mut self) -> Parsed<Dim> {
        let token = self.token();
        match token.kind {
            TokenKind::Question => {
                self.bump();
                Ok(Dim::Any)
            }
            TokenKind::Int => {
                self.bump();
                match self.slice(token).parse() {
                    Ok(extent) => Ok(Dim::Const(extent)),
                    Err(_) => self.fail(Diagnostic::new("this extent does not fit 64 bits").at(token.loc)),
                }
            }
            _ => Ok(Dim::Sym(Name::new(self.name("a dim: a number, a symbol or `?`")?.0))),
        }
    }

    /// A list of dims up to `close`, which is not consumed.
    fn dims(&mut self) -> Parsed<Vec<Dim>> {
        let mut dims = Vec::new();
        while !matches!(self.kind(), TokenKind::RBracket | TokenKind::Semicolon) {
            if dims.len() == MAX_RANK {
                let loc = self.loc();
                return self.fail(Diagnostic::new(format!("an array has at most {MAX_RANK} dims")).at(loc));
            }
            dims.push(self.dim()?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        Ok(dims)
    }

    /// `[n, 3]`.
    pub fn bracketed_dims(&mut self) -> Parsed<Vec<Dim>> {
        self.expect(TokenKind::LBracket, "`[`")?;
        let dims = self.dims()?;
        self.expect(TokenKind::RBracket, "`,` or `]`")?;
        Ok(dims)
    }

    /// A type.
    pub fn ty(&mut self) -> Parsed<Type> {
        let dtype = self.dtype()?;
        if !self.is(TokenKind::LBracket) || self.token().first_on_line {
            return Ok(Type::scalar(dtype));
        }
        self.bump();
        let dims = self.dims()?;
        let style = if self.eat(TokenKind::Semicolon) { Some(self.style()?) } else { None };
        self.expect(TokenKind::RBracket, "`,` or `]`")?;
        Ok(Type::array(dtype, dims).with_style(style))
    }

    fn style(&mut self) -> Parsed<Name> {
        let (name, loc) = self.name("a storage style")?;
        if registry().style(Name::new(name)).is_none() {
            let near = Registry::suggest(name, registry().styles().map(|(s, _)| s.name));
            let help =
                near.map_or("is the crate that registers it linked?".to_string(), |n| format!("did you mean `{n}`?"));
            return self.fail(Diagnostic::new(format!("unknown storage style `{}`", clip(name))).at(loc).help(help));
        }
        if self.is(TokenKind::LParen) {
            self.style_arguments(loc)
        } else {
            Ok(Style::named(Name::new(name)).map_or(Name::new(name), Style::name))
        }
    }

    /// The parenthesized arguments after the name of a style that starts at `start`.
    fn style_arguments(&mut self, start: Loc) -> Parsed<Name> {
        let mut depth = 0_usize;
        loop {
            let token = self.token();
            match token.kind {
                TokenKind::LParen => depth += 1,
                TokenKind::RParen => depth -= 1,
                TokenKind::End | TokenKind::RBracket => return self.expected("`)`"),
                _ => {}
            }
            self.bump();
            if depth == 0 {
                let text = &self.text[start.start as usize..token.end() as usize];
                return match canonical(text) {
                    Some(name) => Ok(Name::new(&name)),
                    None => {
                        let message = format!("`{}` is no storage style with arguments", clip(text));
                        let help = "arguments are names and numbers, separated by commas";
                        self.fail(Diagnostic::new(message).at(start).help(help))
                    }
                };
            }
        }
    }

    /// Types separated by commas, at least one.
    pub fn types(&mut self) -> Parsed<Vec<Type>> {
        let mut types = vec![self.ty()?];
        while self.eat(TokenKind::Comma) {
            types.push(self.ty()?);
        }
        Ok(types)
    }
}
