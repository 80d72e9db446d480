//! Parsing of attributes by the kinds in the op's schema.

use super::lexer::TokenKind;
use super::parser::{Parsed, Parser, clip};
use crate::attr::{Attr, AttrDef, AttrKind, Attrs, SliceSpec};
use crate::diag::Diagnostic;
use crate::op::Op;
use crate::registry::Registry;
use std::sync::Arc;

impl<'a> Parser<'a> {
    /// `name=value`, for an attribute of the op.
    pub fn attribute(&mut self, op: Op, attrs: &mut Attrs) -> Parsed<()> {
        let token = self.bump();
        let name = self.slice(token);
        self.expect(TokenKind::Equals, "`=`")?;
        let Some(def) = op.attrs.iter().find(|d| d.name == name) else {
            return self.unknown_attribute(op, name, token.loc);
        };
        let value = self.attribute_value(def)?;
        if attrs.get(name).is_some() {
            return self.fail(Diagnostic::new(format!("attribute `{name}` is given twice")).at(token.loc));
        }
        attrs.set(def.name.into(), value);
        Ok(())
    }

    fn unknown_attribute(&mut self, op: Op, name: &str, loc: crate::Loc) -> Parsed<()> {
        let help = match Registry::suggest(name, op.attrs.iter().map(|d| d.name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None if op.attrs.is_empty() => format!("`{op}` has no attributes"),
            None => {
                let all: Vec<_> = op.attrs.iter().map(|d| format!("`{}`", d.name)).collect();
                format!("`{op}` has {}", all.join(", "))
            }
        };
        self.fail(Diagnostic::new(format!("`{op}` has no attribute `{}`", clip(name))).at(loc).help(help))
    }

    pub(super) fn attribute_value(&mut self, def: &AttrDef) -> Parsed<Attr> {
        Ok(match def.kind {
            AttrKind::Bool => Attr::Bool(self.bool_value()?),
            AttrKind::Int => Attr::Int(self.int("an integer")?),
            AttrKind::Str => {
                let token = self.expect(TokenKind::Str, "a string in double quotes")?;
                Attr::Str(Arc::from(self.string_of(token)?))
            }
            AttrKind::Ints => {
                self.expect(TokenKind::LBracket, "`[`")?;
                Attr::Ints(self.list(TokenKind::RBracket, "`,` or `]`", |p| p.int("an integer"))?.into())
            }
            AttrKind::Dims => Attr::Dims(self.bracketed_dims()?.into()),
            AttrKind::Slices => {
                self.expect(TokenKind::LBracket, "`[`")?;
                Attr::Slices(self.list(TokenKind::RBracket, "`,` or `]`", Self::slice_spec)?.into())
            }
            AttrKind::DType => Attr::DType(self.dtype()?),
            AttrKind::Scalar => Attr::Scalar(self.scalar(None)?),
            AttrKind::Func => Attr::Func(self.func_name()?.0),
            AttrKind::Array => Attr::Array(Arc::new(self.array()?)),
            AttrKind::Expr => {
                let loc = self.loc();
                return self.fail(Diagnostic::new(format!("`{}` is not written as an attribute", def.name)).at(loc));
            }
        })
    }

    fn bool_value(&mut self) -> Parsed<bool> {
        if self.eat_word("true") {
            Ok(true)
        } else if self.eat_word("false") {
            Ok(false)
        } else {
            self.expected("`true` or `false`")
        }
    }

    /// `1:`, `::-1`, `2:8:3`.
    fn slice_spec(&mut self) -> Parsed<SliceSpec> {
        let start = self.slice_part()?;
        self.expect(TokenKind::Colon, "`:`, as in `start:stop:step`")?;
        let stop = self.slice_part()?;
        let mut step = 1;
        if self.eat(TokenKind::Colon) {
            let loc = self.loc();
            step = self.slice_part()?.unwrap_or(1);
            if step == 0 {
                return self.fail(Diagnostic::new("the step of a slice is not 0").at(loc));
            }
        }
        Ok(SliceSpec { start, stop, step })
    }

    fn slice_part(&mut self) -> Parsed<Option<i64>> {
        let is_number = matches!(self.kind(), TokenKind::Int | TokenKind::Minus);
        if is_number { self.int("a position").map(Some) } else { Ok(None) }
    }
}
