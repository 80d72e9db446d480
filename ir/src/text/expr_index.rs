//! Parsing of affine forms, positions, access modes and guards.

use super::expr::ExprCx;
use super::expr_ast::{PIndex, PMode};
use super::lexer::TokenKind;
use super::parser::{Parsed, Parser, clip};
use crate::diag::Diagnostic;
use crate::expr::{Affine, Condition, IndexExpr, Mode, Negative, SymExpr, Test};
use crate::name::Name;
use crate::registry::Registry;
use std::collections::BTreeMap;

/// An affine form under construction, with wide coefficients.
#[derive(Default)]
struct Sum {
    axes: BTreeMap<u32, i128>,
    symbols: BTreeMap<Name, i128>,
    constant: i128,
}

impl Sum {
    fn add(&mut self, other: Sum, sign: i128) -> Option<()> {
        for (axis, c) in other.axes {
            let slot = self.axes.entry(axis).or_default();
            *slot = slot.checked_add(c.checked_mul(sign)?)?;
        }
        for (symbol, c) in other.symbols {
            let slot = self.symbols.entry(symbol).or_default();
            *slot = slot.checked_add(c.checked_mul(sign)?)?;
        }
        self.constant = self.constant.checked_add(other.constant.checked_mul(sign)?)?;
        Some(())
    }

    fn symbols(&self) -> Option<SymExpr> {
        let mut sum = SymExpr::constant(i64::try_from(self.constant).ok()?);
        for (&symbol, &c) in &self.symbols {
            sum = sum.add_term(symbol, i64::try_from(c).ok()?)?;
        }
        Some(sum)
    }

    fn affine(&self) -> Option<Affine> {
        let mut form = Affine::default();
        form.offset = self.symbols()?;
        for (&axis, &c) in &self.axes {
            form = form.add_axis(axis, i64::try_from(c).ok()?)?;
        }
        Some(form)
    }
}

impl<'a> Parser<'a> {
    /// A bound: symbols and numbers.
    pub fn bound(&mut self) -> Parsed<SymExpr> {
        let start = self.loc();
        let (sum, _) = self.sum(&[])?;
        self.fits(sum.symbols(), start)
    }

    fn fits<T>(&mut self, made: Option<T>, start: crate::Loc) -> Parsed<T> {
        let loc = self.since(start);
        match made {
            Some(made) => Ok(made),
            None => self.fail(Diagnostic::new("this does not fit 64 bits").at(loc)),
        }
    }

    /// `2*i - k + n + 1`. Also returns whether it is one term without a sign, or in parentheses.
    fn sum(&mut self, axes: &[Name]) -> Parsed<(Sum, bool)> {
        let start = self.loc();
        let mut sum = Sum::default();
        let mut simple = true;
        loop {
            let sign = match self.kind() {
                TokenKind::Minus => -1,
                _ => 1,
            };
            if matches!(self.kind(), TokenKind::Minus | TokenKind::Plus) {
                self.bump();
                simple = false;
            }
            let term = self.term(axes)?;
            let added = sum.add(term, sign);
            self.fits(added, start)?;
            if !matches!(self.kind(), TokenKind::Minus | TokenKind::Plus) {
                return Ok((sum, simple));
            }
        }
    }

    fn term(&mut self, axes: &[Name]) -> Parsed<Sum> {
        let mut sum = Sum::default();
        if self.eat(TokenKind::LParen) {
            sum = self.nested(|p| p.sum(axes))?.0;
            self.expect(TokenKind::RParen, "`)`")?;
            return Ok(sum);
        }
        if self.is(TokenKind::Int) {
            let number = self.wide_int()?;
            if self.eat(TokenKind::Star) {
                self.symbol_or_axis(axes, number, &mut sum)?;
            } else {
                sum.constant = number;
            }
            return Ok(sum);
        }
        self.symbol_or_axis(axes, 1, &mut sum)?;
        if self.eat(TokenKind::Star) {
            let factor = self.wide_int()?;
            sum.axes.values_mut().chain(sum.symbols.values_mut()).for_each(|c| *c = factor);
        }
        Ok(sum)
    }

    /// A plain name is the axis of that name if there is one, else a symbol. A quoted name is always a
    /// symbol.
    fn symbol_or_axis(&mut self, axes: &[Name], coefficient: i128, sum: &mut Sum) -> Parsed<()> {
        let quoted = self.is(TokenKind::Str);
        let (text, _) = self.name("an axis, a symbol or a number")?;
        let name = Name::new(text);
        match axes.iter().rposition(|a| *a == name).filter(|_| !quoted) {
            Some(axis) => sum.axes.insert(axis as u32, coefficient),
            None => sum.symbols.insert(name, coefficient),
        };
        Ok(())
    }

    pub fn affine(&mut self, axes: &[Name]) -> Parsed<Affine> {
        let start = self.loc();
        let (sum, _) = self.sum(axes)?;
        self.fits(sum.affine(), start)
    }

    /// `k <= i`, `i == 2*k`, `i % 2 == 0`.
    pub fn condition(&mut self, axes: &[Name]) -> Parsed<Condition> {
        let start = self.loc();
        let (mut left, simple) = self.sum(axes)?;
        if self.is(TokenKind::Percent) {
            let divisor = self.divisor(simple)?;
            self.expect(TokenKind::EqualsEquals, "`== 0`")?;
            let zero = self.token();
            if self.int("`0`")? != 0 {
                return self.fail(Diagnostic::new("a remainder is compared with 0").at(zero.loc));
            }
            let form = self.fits(left.affine(), start)?;
            return Ok(Condition { form, test: Test::DivisibleBy(divisor) });
        }
        let relation = self.kind();
        if !matches!(
            relation,
            TokenKind::LessEquals
                | TokenKind::Less
                | TokenKind::GreaterEquals
                | TokenKind::Greater
                | TokenKind::EqualsEquals
        ) {
            return self.expected("a comparison: `<=`, `<`, `>=`, `>`, `==` or `% n == 0`");
        }
        self.bump();
        let (mut right, _) = self.sum(axes)?;
        if matches!(relation, TokenKind::GreaterEquals | TokenKind::Greater) {
            std::mem::swap(&mut left, &mut right);
        }
        let strict = i128::from(matches!(relation, TokenKind::Less | TokenKind::Greater));
        let moved = left.add(right, -1).and_then(|()| left.add(Sum { constant: strict, ..Sum::default() }, 1));
        self.fits(moved, start)?;
        let form = self.fits(left.affine(), start)?;
        let test = if relation == TokenKind::EqualsEquals { Test::Zero } else { Test::NotPositive };
        Ok(Condition { form, test })
    }

    /// `// 2` or `% 2` after a form.
    fn divisor(&mut self, simple: bool) -> Parsed<i64> {
        let operator = self.bump();
        if !simple {
            let error = Diagnostic::new("the dividend of `//` and `%` is one term, or in parentheses").at(operator.loc);
            return self.fail(error.help("write `(i + 1) // 2`"));
        }
        let loc = self.loc();
        let divisor = self.int("a positive number")?;
        if divisor > 0 {
            return Ok(divisor);
        }
        self.fail(Diagnostic::new("the divisor is not positive").at(loc))
    }

    /// A position along one dim: an affine form, a quotient, a remainder, or `gather(%idx[i]) + 1`.
    pub fn position_along(&mut self, cx: &mut ExprCx<'_, 'a>) -> Parsed<IndexExpr> {
        for (word, negative) in GATHERS {
            if self.is_word(word) && self.ahead(1).kind == TokenKind::LParen {
                return self.nested(|p| p.gather(cx, negative));
            }
        }
        let start = self.loc();
        let (sum, simple) = self.sum(&cx.axes)?;
        let form = self.fits(sum.affine(), start)?;
        match self.kind() {
            TokenKind::SlashSlash => Ok(IndexExpr::FloorDiv(form, self.divisor(simple)?)),
            TokenKind::Percent => Ok(IndexExpr::Mod(form, self.divisor(simple)?)),
            TokenKind::Value => {
                let loc = self.loc();
                self.fail(Diagnostic::new("a value is no position").at(loc).help("a remainder is written `i % 3`"))
            }
            _ => Ok(IndexExpr::Affine(form)),
        }
    }

    fn gather(&mut self, cx: &mut ExprCx<'_, 'a>, negative: Negative) -> Parsed<IndexExpr> {
        self.bump();
        self.bump();
        let arg = self.arg_reference(cx)?;
        let index = match self.kind() {
            TokenKind::RParen => Vec::new(),
            _ => {
                self.expect(TokenKind::LBracket, "`[` and positions, or `)` after a scalar")?;
                self.list(TokenKind::RBracket, "`,` or `]`", |p| p.position_along(cx))?
            }
        };
        self.expect(TokenKind::RParen, "`)`")?;
        let signed = matches!(self.kind(), TokenKind::Plus | TokenKind::Minus);
        let offset = if signed { self.affine(&cx.axes)? } else { Affine::default() };
        Ok(IndexExpr::Gather { arg, index, offset, negative })
    }

    /// A position with its access mode.
    pub fn index(&mut self, cx: &mut ExprCx<'_, 'a>) -> Parsed<PIndex> {
        let token = self.token();
        let word = if token.kind == TokenKind::Ident && self.ahead(1).kind == TokenKind::LParen {
            self.slice(token)
        } else {
            ""
        };
        let mode = match word {
            "proved" => Some(Mode::Proved),
            "bcast" => Some(Mode::Broadcast),
            "check" => Some(Mode::Check),
            "wrap" => Some(Mode::Wrap),
            "clamp" => Some(Mode::Clamp),
            "pad" => None,
            "" | "gather" | "gather_from_start" => {
                let expr = self.position_along(cx)?;
                let mode = PMode::Known(default_mode(&expr));
                return Ok(PIndex { expr, mode });
            }
            _ => return self.unknown_mode(word, token.loc),
        };
        self.bump();
        self.bump();
        let expr = self.position_along(cx)?;
        let mode = match mode {
            Some(mode) => PMode::Known(mode),
            None => {
                self.expect(TokenKind::Comma, "`,` and the value outside")?;
                let loc = self.loc();
                PMode::Pad((self.literal()?, loc))
            }
        };
        self.expect(TokenKind::RParen, "`)`")?;
        Ok(PIndex { expr, mode })
    }

    fn unknown_mode<T>(&mut self, word: &str, loc: crate::Loc) -> Parsed<T> {
        let error = Diagnostic::new(format!("unknown access mode `{}`", clip(word))).at(loc);
        let near = Registry::suggest(word, MODES.iter().copied());
        self.fail(match near {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help(format!("there are {}", MODES.join(", "))),
        })
    }
}

/// The words that may precede a position in parentheses.
const MODES: [&str; 8] = ["proved", "bcast", "check", "wrap", "clamp", "pad", "gather", "gather_from_start"];

/// The words of positions that are read from arrays.
const GATHERS: [(&str, Negative); 2] = [("gather", Negative::FromEnd), ("gather_from_start", Negative::BeforeStart)];

/// The mode that the text omits. Positions from an array can't be proved in bounds.
pub(super) fn default_mode(expr: &IndexExpr) -> Mode {
    if matches!(expr, IndexExpr::Gather { .. }) { Mode::Check } else { Mode::Proved }
}
