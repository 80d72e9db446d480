//! Parsing of the scalar bodies of an `arrayexpr`.

use super::expr::{ExprCx, Level};
use super::expr_ast::{PBody, PBodyInst, PBodyOp, PRef};
use super::lexer::TokenKind;
use super::parser::{Failed, Parsed, Parser, clip};
use crate::attr::Attrs;
use crate::builder::find_op;
use crate::diag::Diagnostic;
use crate::expr::BodyRef;
use crate::loc::Loc;
use crate::name::Name;
use crate::ops::arrayexpr::ARRAYEXPR;
use crate::registry::Registry;

impl<'a> Parser<'a> {
    /// `{ t0 = mul x, y ... yield t0 }`, with names for accumulators. Continues after errors.
    pub fn body_block(&mut self, cx: &mut ExprCx<'_, 'a>, accumulators: &[Name]) -> Parsed<PBody> {
        self.expect(TokenKind::LBrace, "`{` and a body")?;
        if let Some(level) = cx.levels.last_mut() {
            level.locals.clear();
            let accs = accumulators.iter().enumerate();
            level.locals.extend(accs.map(|(k, &name)| (name, BodyRef::Acc(k as u32))));
        }
        let mut body = PBody::default();
        let (mut failed, mut yields) = (false, false);
        while !matches!(self.kind(), TokenKind::RBrace | TokenKind::End) && !self.at_next_func() {
            let start = self.position();
            let read = if self.is_word("yield") && !matches!(self.ahead(1).kind, TokenKind::Equals | TokenKind::Comma) {
                yields = true;
                self.yields(cx, &mut body)
            } else {
                self.body_inst(cx, &mut body)
            };
            if read.is_err() {
                failed = true;
                self.recover(start);
            } else if yields && !self.is(TokenKind::RBrace) {
                return self.expected("`}` after `yield`");
            }
        }
        if !yields && !failed && self.is(TokenKind::RBrace) {
            return self.expected("`yield` at the end of the body");
        }
        self.expect(TokenKind::RBrace, "`}`")?;
        if failed { Err(Failed) } else { Ok(body) }
    }

    fn yields(&mut self, cx: &mut ExprCx<'_, 'a>, body: &mut PBody) -> Parsed<()> {
        self.bump();
        while !self.at_line_end() {
            body.yields.push(self.body_ref(cx)?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        if self.at_line_end() { Ok(()) } else { self.expected("`,` or the end of the line") }
    }

    /// `t0, t1 = divmod x, y`.
    fn body_inst(&mut self, cx: &mut ExprCx<'_, 'a>, body: &mut PBody) -> Parsed<()> {
        let start = self.loc();
        let mut names = Vec::new();
        loop {
            let (name, loc) = self.name("a name, as `t0 = ...`, or `yield`")?;
            names.push((Name::new(name), loc));
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        let found = self.expect(TokenKind::Equals, "`=`").and_then(|_| self.body_operation(cx, names.len(), start));
        let number = body.insts.len() as u32;
        for (k, &(name, loc)) in names.iter().enumerate() {
            let taken = cx.reference(name).is_some();
            let local = BodyRef::Inst(number, u8::try_from(k).unwrap_or(u8::MAX));
            if let Some(level) = cx.levels.last_mut() {
                level.locals.insert(name, local);
            }
            if taken {
                self.report(Diagnostic::new(format!("the name `{}` is taken", clip(&name))).at(loc));
            }
        }
        body.insts.push(found?);
        Ok(())
    }

    fn body_operation(&mut self, cx: &mut ExprCx<'_, 'a>, results: usize, start: Loc) -> Parsed<PBodyInst> {
        let token = self.expect(TokenKind::Ident, "an op's name")?;
        let op = match find_op(self.slice(token)) {
            Ok(op) => op,
            Err(e) => return self.fail(Diagnostic::from(e).at(token.loc)),
        };
        if op == ARRAYEXPR {
            let expr = self.nested(|p| p.nested_expression(cx))?;
            if !self.at_line_end() {
                return self.expected("the end of the line");
            }
            let loc = Loc { len: token.end() - start.start, ..start };
            return Ok(PBodyInst { op: PBodyOp::Nested(Box::new(expr)), args: Vec::new(), results, loc });
        }
        let mut attrs = Attrs::new();
        let mut args = Vec::new();
        while !self.at_line_end() {
            if self.is(TokenKind::Ident) && self.ahead(1).kind == TokenKind::Equals {
                self.attribute(op, &mut attrs)?;
            } else {
                args.push(self.body_ref(cx)?);
            }
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        if !self.at_line_end() {
            return self.expected("`,` or the end of the line");
        }
        Ok(PBodyInst { op: PBodyOp::Op(op, attrs), args, results, loc: self.since(start) })
    }

    fn nested_expression(&mut self, cx: &mut ExprCx<'_, 'a>) -> Parsed<super::expr_ast::PExpr> {
        let mut listed = None;
        if self.eat(TokenKind::LParen) {
            listed = Some(self.list(TokenKind::RParen, "`,` or `)`", |p| p.body_ref(cx))?);
        }
        cx.levels.push(Level::default());
        let axes = cx.axes.len();
        if let Some(refs) = listed {
            cx.list_captures(refs);
        }
        let expr = self.expression(cx);
        cx.levels.pop();
        cx.axes.truncate(axes);
        expr
    }

    /// A value of a body: a name or a number.
    fn body_ref(&mut self, cx: &ExprCx<'_, 'a>) -> Parsed<PRef> {
        let loc = self.loc();
        if self.at_literal() {
            let literal = self.literal()?;
            return Ok(PRef::Number(literal, self.since(loc)));
        }
        if self.is(TokenKind::Value) {
            let error = Diagnostic::new("a body sees its operands, not values of the function").at(loc);
            return self.fail(error.help("give it a name in the list of operands: `x = %a[i]`"));
        }
        let (text, loc) = self.name("a value of the body or a number")?;
        match cx.reference(Name::new(text)) {
            Some(known) => Ok(PRef::Known(known, loc)),
            None => {
                let near = Registry::suggest(text, cx.known());
                let error = Diagnostic::new(format!("`{}` is not defined in this body", clip(text))).at(loc);
                self.fail(error.maybe_help(near.map(|n| format!("did you mean `{n}`?"))))
            }
        }
    }
}
