//! Parsing of instructions.

use super::ast::{PArg, PDef, PFunction, PInst, POperand, PTarget};
use super::lexer::TokenKind;
use super::parser::{Parsed, Parser, clip};
use crate::attr::{Attr, Attrs};
use crate::builder::find_op;
use crate::diag::Diagnostic;
use crate::loc::Loc;
use crate::op::Op;
use crate::ops::arrayexpr::ARRAYEXPR;
use crate::ops::control::{SWITCH, target_count};
use smallvec::SmallVec;

/// Bounds the work of rules that check all operands for each of them.
const MAX_OPERANDS: usize = 4096;

impl<'a> Parser<'a> {
    /// Parses an instruction. Its results are defined even if the rest has an error, so that their uses are
    /// no errors.
    pub fn instruction(&mut self, f: &mut PFunction<'a>) -> Parsed<()> {
        let start = self.loc();
        let mut results = SmallVec::new();
        let found = self.results(f, &mut results).and_then(|()| self.operation(f, start));
        let next = f.insts.len() as u32;
        let def = if found.is_ok() { PDef::Result(next) } else { PDef::Poison };
        for &(id, loc) in &results {
            if let Err(first) = f.define(id, def, loc) {
                let value = &f.values[id as usize];
                let message = format!("value `%{}` is defined twice", clip(value.name));
                let help = if first.is_none() { String::new() } else { format!("first in line {}", first.line) };
                self.report(Diagnostic::new(message).at(loc).help(help));
            }
        }
        let mut inst = found?;
        inst.results = results.iter().map(|(id, _)| *id).collect();
        f.insts.push(inst);
        Ok(())
    }

    /// `%a, %b =`, or nothing.
    fn results(&mut self, f: &mut PFunction<'a>, results: &mut SmallVec<[(u32, Loc); 1]>) -> Parsed<()> {
        while self.is(TokenKind::Value) {
            let token = self.bump();
            results.push((self.value_id(f, token)?, token.loc));
            if !self.eat(TokenKind::Comma) {
                self.expect(TokenKind::Equals, "`=` after the results")?;
                return Ok(());
            }
        }
        if results.is_empty() { Ok(()) } else { self.expected("a result, as `%x`") }
    }

    /// The id of the value that a token names.
    pub fn value_id(&mut self, f: &mut PFunction<'a>, token: super::lexer::Token) -> Parsed<u32> {
        let name = self.name_of(token)?;
        let numbered = self.slice(token).as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        if numbered && !name.bytes().all(|b| b.is_ascii_digit()) {
            let message = format!("`%{}` is neither a number nor a name", clip(name));
            return self.fail(Diagnostic::new(message).at(token.loc).help("names begin with a letter or `_`"));
        }
        Ok(f.value(name, numbered, token.loc))
    }

    fn operation(&mut self, f: &mut PFunction<'a>, start: Loc) -> Parsed<PInst> {
        let token = self.expect(TokenKind::Ident, "an op's name")?;
        let op = match find_op(self.slice(token)) {
            Ok(op) => op,
            Err(e) => return self.fail(Diagnostic::from(e).at(token.loc)),
        };
        let mut inst = PInst {
            op,
            results: SmallVec::new(),
            args: SmallVec::new(),
            attrs: Attrs::new(),
            targets: Vec::new(),
            expr: None,
            types: None,
            op_loc: token.loc,
            loc: start,
            place: None,
        };
        if op == ARRAYEXPR {
            self.array_expression(f, &mut inst)?;
        } else if self.is(TokenKind::Func) && !self.token().first_on_line {
            self.callee(f, &mut inst)?;
            if self.eat(TokenKind::Comma) {
                self.items(f, &mut inst)?;
            }
        } else {
            self.items(f, &mut inst)?;
        }
        if self.is(TokenKind::Colon) && !self.token().first_on_line {
            self.bump();
            inst.types = Some(self.types()?);
        }
        self.end_of_instruction(&inst)?;
        let last = self.last();
        let on_first_line = last.loc.line == start.line;
        inst.loc.len = if on_first_line { last.end() - start.start } else { token.end() - start.start };
        self.check_targets(&inst)?;
        Ok(inst)
    }

    fn end_of_instruction(&mut self, inst: &PInst) -> Parsed<()> {
        if self.at_line_end() {
            return Ok(());
        }
        let wanted = if inst.types.is_some() || inst.expr.is_some() {
            "the end of the line"
        } else {
            "`,`, `:` or the end of the line"
        };
        self.expected(wanted)
    }

    /// `@g(%x, 2.0)`.
    fn callee(&mut self, f: &mut PFunction<'a>, inst: &mut PInst) -> Parsed<()> {
        let (name, loc) = self.func_name()?;
        if !inst.op.attrs.iter().any(|d| d.name == "callee") {
            return self.fail(Diagnostic::new(format!("`{}` calls no function", inst.op)).at(loc));
        }
        inst.attrs.set("callee".into(), Attr::Func(name));
        self.expect(TokenKind::LParen, "`(` and the arguments")?;
        inst.args = self.list(TokenKind::RParen, "`,` or `)`", |p| p.operand(f))?.into();
        Ok(())
    }

    /// Operands, attributes and branch targets, separated by commas.
    fn items(&mut self, f: &mut PFunction<'a>, inst: &mut PInst) -> Parsed<()> {
        if self.at_line_end() || self.is(TokenKind::Colon) {
            return Ok(());
        }
        let mut cases = Vec::new();
        loop {
            let names_attribute = self.is(TokenKind::Ident) && self.ahead(1).kind == TokenKind::Equals;
            if inst.op == SWITCH && !inst.args.is_empty() && self.at_case() {
                self.case(f, inst, &mut cases)?;
            } else if names_attribute {
                self.attribute(inst.op, &mut inst.attrs)?;
            } else if self.is(TokenKind::Value) || self.at_literal() {
                let arg = self.operand(f)?;
                inst.args.push(arg);
            } else if matches!(self.kind(), TokenKind::Ident | TokenKind::Str) {
                let target = self.target(f, inst.op)?;
                inst.targets.push(target);
            } else {
                return self.expected("an operand, an attribute or a block");
            }
            if inst.args.len() > MAX_OPERANDS {
                let message = format!("an instruction has at most {MAX_OPERANDS} operands");
                return self.fail(Diagnostic::new(message).at(inst.op_loc));
            }
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        if inst.op == SWITCH && inst.attrs.get("cases").is_none() {
            inst.attrs.set("cases".into(), Attr::Ints(cases.into()));
        }
        Ok(())
    }

    /// A value or a literal.
    pub fn operand(&mut self, f: &mut PFunction<'a>) -> Parsed<PArg> {
        let loc = self.loc();
        if self.is(TokenKind::Value) {
            let token = self.bump();
            return Ok(PArg { operand: POperand::Value(self.value_id(f, token)?), loc });
        }
        if !self.at_literal() {
            return self.expected("a value or a number");
        }
        let literal = self.literal()?;
        Ok(PArg { operand: POperand::Literal(f.literal(literal)), loc: self.since(loc) })
    }

    /// The location from `start` to the last token.
    pub fn since(&self, start: Loc) -> Loc {
        Loc { len: self.last().end().saturating_sub(start.start), ..start }
    }

    /// `b(%x, 0)` or `b`.
    fn target(&mut self, f: &mut PFunction<'a>, op: Op) -> Parsed<PTarget> {
        let (name, loc) = self.name("a block")?;
        if !op.is_terminator() {
            let known = f.values.iter().any(|v| v.name == name && !v.numbered);
            let help = if known {
                format!("did you mean the value `%{}`?", clip(name))
            } else {
                "values begin with `%`".into()
            };
            let message = format!("`{op}` takes values, `{}` is none", clip(name));
            return self.fail(Diagnostic::new(message).at(loc).help(help));
        }
        let block = f.block(name, loc);
        let mut args = SmallVec::new();
        if self.is(TokenKind::LParen) && !self.token().first_on_line {
            self.bump();
            args = self.list(TokenKind::RParen, "`,` or `)`", |p| p.operand(f))?.into();
        }
        Ok(PTarget { block, args, loc })
    }

    /// `7: block` or `default: block`.
    fn at_case(&self) -> bool {
        let skip = usize::from(self.is(TokenKind::Minus));
        let label = self.ahead(skip);
        let is_default = self.is_word("default");
        (label.kind == TokenKind::Int || is_default) && self.ahead(skip + 1).kind == TokenKind::Colon
    }

    fn case(&mut self, f: &mut PFunction<'a>, inst: &mut PInst, cases: &mut Vec<i64>) -> Parsed<()> {
        let loc = self.loc();
        let is_default = self.eat_word("default");
        if cases.len() != inst.targets.len() {
            return self.fail(Diagnostic::new("the default is the last case").at(loc));
        }
        if !is_default {
            cases.push(self.int("a case")?);
        }
        self.expect(TokenKind::Colon, "`:`")?;
        let target = self.target(f, inst.op)?;
        inst.targets.push(target);
        Ok(())
    }

    fn check_targets(&mut self, inst: &PInst) -> Parsed<()> {
        let Some(wanted) = target_count(inst.op, &inst.attrs) else { return Ok(()) };
        let given = inst.targets.len();
        if given == wanted {
            return Ok(());
        }
        let plural = if wanted == 1 { "" } else { "s" };
        let mut error =
            Diagnostic::new(format!("`{}` branches to {wanted} block{plural}, got {given}", inst.op)).at(inst.op_loc);
        if inst.op == SWITCH {
            error = error.help("end it with `default: block`");
        }
        self.fail(error)
    }
}
