//! Parsing of modules, functions and blocks.

use super::ast::{PDef, PFunction, PParam};
use super::lexer::TokenKind;
use super::parser::{Parsed, Parser, clip};
use crate::diag::Diagnostic;
use crate::name::Name;
use crate::types::Type;

impl<'a> Parser<'a> {
    /// All functions of the text, including those with errors.
    pub fn module(&mut self) -> Vec<PFunction<'a>> {
        let mut functions = Vec::new();
        while !self.is(TokenKind::End) {
            if self.at_func() {
                functions.extend(self.function());
                continue;
            }
            let is_nameless = self.is_word("func");
            if is_nameless {
                self.bump();
            }
            let _ = self.expected::<()>(match is_nameless {
                true => "a function's name, as `@f`",
                false => "a function, as `func @f(%x: f64[n]) -> f64[n] {`",
            });
            while !self.is(TokenKind::End) && !self.at_next_func() {
                self.bump();
            }
        }
        functions
    }

    /// A function; `None` if even its name has an error.
    fn function(&mut self) -> Option<PFunction<'a>> {
        let untyped = self.at_untyped();
        if untyped {
            self.bump();
        }
        self.bump();
        let token = self.bump();
        let name = match self.name_of(token) {
            Ok(name) => Name::new(name),
            Err(_) => return None,
        };
        let mut f = PFunction::new(name, token.loc);
        f.untyped = untyped;
        let errors = self.errors.count();
        if self.header(&mut f).is_err() {
            f.results = None;
            self.skip_to_body();
        }
        if self.eat(TokenKind::LBrace) {
            self.body(&mut f);
        }
        f.failed = self.errors.count() > errors;
        Some(f)
    }

    /// `(%x: f64[n]) -> f64[n]`, up to the brace.
    fn header(&mut self, f: &mut PFunction<'a>) -> Parsed<()> {
        self.expect(TokenKind::LParen, "`(` and the parameters")?;
        f.params = self.params(f, false)?;
        if self.eat(TokenKind::Arrow) {
            f.results = Some(self.result_types()?);
        }
        if self.is(TokenKind::LBrace) { Ok(()) } else { self.expected("`{`") }
    }

    fn result_types(&mut self) -> Parsed<Vec<Type>> {
        if self.eat(TokenKind::LParen) {
            return self.list(TokenKind::RParen, "`,` or `)`", Self::ty);
        }
        self.types()
    }

    /// Skips to the brace that opens a function's body.
    fn skip_to_body(&mut self) {
        while !matches!(self.kind(), TokenKind::LBrace | TokenKind::RBrace | TokenKind::End) && !self.at_next_func() {
            self.bump();
        }
    }

    /// Parameters up to the closing parenthesis. With `inferred`, types may be omitted.
    fn params(&mut self, f: &mut PFunction<'a>, inferred: bool) -> Parsed<Vec<PParam>> {
        let mut params = Vec::new();
        self.list(TokenKind::RParen, "`,` or `)`", |p| {
            let token = p.expect(TokenKind::Value, "a parameter, as `%x: f64[n]`")?;
            let value = p.value_id(f, token)?;
            if let Err(first) = f.define(value, PDef::Param, token.loc) {
                let message = format!("value `%{}` is defined twice", clip(f.values[value as usize].name));
                p.report(Diagnostic::new(message).at(token.loc).help(format!("first in line {}", first.line)));
            }
            if inferred && !p.is(TokenKind::Colon) {
                params.push(PParam { value, ty: Some(Type::unknown()) });
                return Ok(());
            }
            p.expect(TokenKind::Colon, "`:` and the parameter's type")?;
            // An invalid type must not hide the parameters after it.
            let ty = match p.ty() {
                Ok(ty) => Some(ty),
                Err(_) => {
                    p.skip_param();
                    None
                }
            };
            params.push(PParam { value, ty });
            Ok(())
        })?;
        Ok(params)
    }

    /// Skips to the comma or parenthesis after a parameter.
    fn skip_param(&mut self) {
        let mut depth = 0usize;
        while !matches!(self.kind(), TokenKind::LBrace | TokenKind::RBrace | TokenKind::End) {
            match self.kind() {
                TokenKind::Comma | TokenKind::RParen if depth == 0 => return,
                TokenKind::LBracket => depth += 1,
                TokenKind::RBracket => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.bump();
        }
    }

    /// Blocks up to the closing brace.
    fn body(&mut self, f: &mut PFunction<'a>) {
        let mut current = None;
        while !self.is(TokenKind::RBrace) {
            if self.is(TokenKind::End) || self.at_next_func() {
                let _ = self.expected::<()>(&format!("`}}` at the end of `@{}`", clip(&f.name)));
                self.close_block(f, current);
                return;
            }
            if self.at_label() {
                self.close_block(f, current);
                let start = self.position();
                current = self.label(f).ok();
                if current.is_none() {
                    self.recover(start);
                }
                continue;
            }
            if current.is_none() && f.order.is_empty() {
                let entry = f.block("entry", f.loc);
                f.blocks[entry as usize].defined = true;
                f.order.push(entry);
                current = Some((entry, f.insts.len()));
            }
            let start = self.position();
            if self.instruction(f).is_err() {
                if let Some((block, _)) = current {
                    f.blocks[block as usize].failed = true;
                }
                self.recover(start);
            }
        }
        self.bump();
        self.close_block(f, current);
        if !self.at_line_end() {
            let start = self.position();
            let _ = self.expected::<()>("a new line after `}`");
            self.recover(start);
        }
    }

    fn close_block(&mut self, f: &mut PFunction<'a>, current: Option<(u32, usize)>) {
        if let Some((block, first)) = current {
            f.blocks[block as usize].insts = first..f.insts.len();
        }
    }

    /// `name:`, `name(%x: f64):`, `name():`.
    fn at_label(&self) -> bool {
        if !matches!(self.kind(), TokenKind::Ident | TokenKind::Str) {
            return false;
        }
        match self.ahead(1).kind {
            TokenKind::Colon => true,
            TokenKind::LParen => matches!(self.ahead(2).kind, TokenKind::Value | TokenKind::RParen),
            _ => false,
        }
    }

    fn label(&mut self, f: &mut PFunction<'a>) -> Parsed<(u32, usize)> {
        let (name, loc) = self.name("a block's name")?;
        let id = f.block(name, loc);
        if f.blocks[id as usize].defined {
            let first = f.blocks[id as usize].loc;
            let message = format!("block `{}` is defined twice", clip(name));
            self.report(Diagnostic::new(message).at(loc).help(format!("first in line {}", first.line)));
        }
        let is_entry = f.order.is_empty();
        let again = std::mem::replace(&mut f.blocks[id as usize].defined, true);
        if !again {
            f.blocks[id as usize].loc = loc;
            f.order.push(id);
        }
        let params = if self.eat(TokenKind::LParen) { self.params(f, f.untyped)? } else { Vec::new() };
        if is_entry && !params.is_empty() {
            let error = Diagnostic::new("the first block has the function's parameters, and no others").at(loc);
            self.report(error.help("write them in the function's header only"));
        }
        self.expect(TokenKind::Colon, "`:` after the block's name")?;
        if !again {
            f.blocks[id as usize].params = params;
        }
        Ok((id, f.insts.len()))
    }
}
