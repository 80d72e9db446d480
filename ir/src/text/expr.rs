//! Parsing of `arrayexpr`: axes, guard, operands, reductions, results.

use super::ast::{PArg, PFunction, PInst, POperand};
use super::expr_ast::{PBody, PCombine, PExpr, PInit, PNumber, POut, PRead, PReduction, PRef};
use super::lexer::TokenKind;
use super::parser::{Parsed, Parser, clip};
use crate::diag::Diagnostic;
use crate::expr::{Affine, Axis, AxisKind, BodyRef, IndexExpr, Monoid, Source, SymExpr, Write};
use crate::loc::Loc;
use crate::name::Name;
use crate::registry::Registry;
use crate::scalar::{Literal, Scalar};
use rustc_hash::FxHashMap;

/// The maximum number of axes of an expression and the enclosing ones.
const MAX_AXES: usize = 64;
/// The maximum number of operands.
const MAX_OPERANDS: usize = 4096;

/// The names in scope while an expression is parsed.
pub(crate) struct ExprCx<'c, 'a> {
    pub function: &'c mut PFunction<'a>,
    /// The instruction's operands so far, in the order of their first appearance.
    args: Vec<PArg>,
    by_value: FxHashMap<u32, u32>,
    by_number: FxHashMap<Scalar, u32>,
    /// Axes of this expression and the enclosing ones, outermost first.
    pub axes: Vec<Name>,
    /// This expression and the enclosing ones, innermost last.
    pub levels: Vec<Level>,
}

/// The names in scope in the bodies of one expression.
#[derive(Default)]
pub(crate) struct Level {
    pub operands: FxHashMap<Name, u32>,
    pub locals: FxHashMap<Name, BodyRef>,
    /// The values captured from the enclosing body, and their numbers.
    captures: Vec<PRef>,
    by_capture: FxHashMap<BodyRef, u32>,
}

impl<'c, 'a> ExprCx<'c, 'a> {
    fn new(function: &'c mut PFunction<'a>) -> Self {
        ExprCx {
            function,
            args: Vec::new(),
            by_value: FxHashMap::default(),
            by_number: FxHashMap::default(),
            axes: Vec::new(),
            levels: Vec::new(),
        }
    }

    /// The number of an operand of the instruction; adds the operand if it is new.
    fn arg(&mut self, arg: PArg) -> u32 {
        let next = self.args.len() as u32;
        let number = match arg.operand {
            POperand::Value(id) => *self.by_value.entry(id).or_insert(next),
            POperand::Literal(id) => match self.function.literals[id as usize] {
                Literal::Typed(s) => *self.by_number.entry(s).or_insert(next),
                _ => next,
            },
        };
        if number == next {
            self.args.push(arg);
        }
        number
    }

    /// The value that a name denotes in the innermost body.
    pub fn reference(&self, name: Name) -> Option<BodyRef> {
        self.levels.last().and_then(|level| self.reference_at(level, name))
    }

    fn reference_at(&self, level: &Level, name: Name) -> Option<BodyRef> {
        let local = level.locals.get(&name).copied();
        local
            .or_else(|| level.operands.get(&name).map(|&k| BodyRef::Operand(k)))
            .or_else(|| self.axes.iter().rposition(|a| *a == name).map(|axis| BodyRef::Axis(axis as u32)))
    }

    /// Declares the captures of a nested expression in order: `arrayexpr (t0, 2.0) [...`.
    pub fn list_captures(&mut self, refs: Vec<PRef>) {
        let Some(level) = self.levels.last_mut() else { return };
        for (k, capture) in refs.iter().enumerate() {
            if let PRef::Known(known, _) = capture {
                level.by_capture.entry(*known).or_insert(k as u32);
            }
        }
        level.captures = refs;
    }

    /// All names in scope in the innermost body.
    pub fn known(&self) -> impl Iterator<Item = &'static str> + '_ {
        let level = self.levels.last();
        let names = level.into_iter().flat_map(|l| l.locals.keys().chain(l.operands.keys()));
        names.chain(&self.axes).map(|n| n.as_str())
    }
}

impl<'a> Parser<'a> {
    /// An `arrayexpr` after the op's name.
    pub fn array_expression(&mut self, f: &mut PFunction<'a>, inst: &mut PInst) -> Parsed<()> {
        while self.is(TokenKind::Ident) && self.ahead(1).kind == TokenKind::Equals {
            self.attribute(inst.op, &mut inst.attrs)?;
        }
        let mut cx = ExprCx::new(f);
        if self.eat(TokenKind::LParen) {
            let args = self.list(TokenKind::RParen, "`,` or `)`", |p| p.natural_operand(cx.function))?;
            for arg in args {
                // An operand listed twice is two operands; names denote the first.
                let number = cx.args.len() as u32;
                if cx.arg(arg) != number {
                    cx.args.push(arg);
                }
            }
        }
        cx.levels.push(Level::default());
        let expr = self.expression(&mut cx)?;
        inst.args = cx.args.into();
        inst.expr = Some(Box::new(expr));
        Ok(())
    }

    /// An operand; a number gets its default dtype.
    fn natural_operand(&mut self, f: &mut PFunction<'a>) -> Parsed<PArg> {
        let arg = self.operand(f)?;
        let POperand::Literal(id) = arg.operand else { return Ok(arg) };
        let literal = f.literals[id as usize];
        match literal.at(literal.dtype_beside(None)) {
            Some(scalar) => Ok(PArg { operand: POperand::Literal(f.literal(Literal::Typed(scalar))), ..arg }),
            None => self.fail(Diagnostic::new(format!("no dtype holds {}", clip(&literal.to_string()))).at(arg.loc)),
        }
    }

    /// Axes, guard, operands, bodies, results. The level of the expression exists already.
    pub fn expression(&mut self, cx: &mut ExprCx<'_, 'a>) -> Parsed<PExpr> {
        let loc = self.last().loc;
        let outer_axes = cx.axes.len();
        let axes = self.axes(cx)?;
        let mut guard = Vec::new();
        if self.eat_word("where") {
            guard.push(self.condition(&cx.axes)?);
            while self.eat_word("and") {
                guard.push(self.condition(&cx.axes)?);
            }
        }
        self.expect(TokenKind::LParen, "`(` and the operands")?;
        let mut operands = Vec::new();
        self.list(TokenKind::RParen, "`,` or `)`", |p| {
            let read = p.read(cx)?;
            p.declare_operand(cx, &read, operands.len())?;
            operands.push(read);
            Ok(())
        })?;
        let body = self.body_block(cx, &[])?;
        let mut reductions = Vec::new();
        while self.eat_word("reduce") {
            reductions.push(self.reduction(cx)?);
        }
        let finish = if self.eat_word("finish") { Some(self.finish(cx, &reductions)?) } else { None };
        let outs = if self.eat_word("into") { Some(self.outs(cx)?) } else { None };
        let types = if self.is(TokenKind::Colon) && !self.token().first_on_line {
            self.bump();
            self.types()?
        } else {
            Vec::new()
        };
        cx.axes.truncate(outer_axes);
        let captures = cx.levels.last_mut().map(|l| std::mem::take(&mut l.captures)).unwrap_or_default();
        Ok(PExpr { axes, guard, operands, body, reductions, finish, outs, types, loc, captures })
    }

    /// `[i: n, k: reduce 1..m, l: scan exclusive m]`.
    fn axes(&mut self, cx: &mut ExprCx<'_, 'a>) -> Parsed<Vec<Axis>> {
        self.expect(TokenKind::LBracket, "`[` and the axes")?;
        let axes = self.list(TokenKind::RBracket, "`,` or `]`", |p| {
            let (name, loc) = p.name("an axis")?;
            if cx.axes.len() >= MAX_AXES {
                return p.fail(Diagnostic::new(format!("an expression has at most {MAX_AXES} axes")).at(loc));
            }
            cx.axes.push(Name::new(name));
            p.expect(TokenKind::Colon, "`:` and the axis's extent")?;
            p.axis(Name::new(name))
        })?;
        Ok(axes)
    }

    fn axis(&mut self, name: Name) -> Parsed<Axis> {
        let kind = if self.eat_before_bound("reduce") {
            AxisKind::Reduce
        } else if self.eat_before_bound("scan") {
            AxisKind::Scan { exclusive: self.eat_before_bound("exclusive") }
        } else {
            AxisKind::Parallel
        };
        if self.eat(TokenKind::Question) {
            return Ok(Axis { name, lo: SymExpr::default(), hi: None, kind });
        }
        let first = self.bound()?;
        if !self.eat(TokenKind::DotDot) {
            return Ok(Axis { name, lo: SymExpr::default(), hi: Some(first), kind });
        }
        let hi = if self.eat(TokenKind::Question) { None } else { Some(self.bound()?) };
        Ok(Axis { name, lo: first, hi, kind })
    }

    /// Takes a word before the bound of an axis. A symbol of that name would precede an operator, or the end
    /// of the axis.
    fn eat_before_bound(&mut self, word: &str) -> bool {
        let bound_follows = matches!(
            self.ahead(1).kind,
            TokenKind::Ident
                | TokenKind::Str
                | TokenKind::Int
                | TokenKind::Minus
                | TokenKind::LParen
                | TokenKind::Question
        );
        bound_follows && self.eat_word(word)
    }

    /// `x = %a[i]`, `x: f32 = %a[i]`, `c = 2.0`, and `x = t0` in a nested expression.
    fn read(&mut self, cx: &mut ExprCx<'_, 'a>) -> Parsed<PRead> {
        let (name, loc) = self.name("an operand's name")?;
        let dtype = if self.eat(TokenKind::Colon) { Some(self.dtype()?) } else { None };
        self.expect(TokenKind::Equals, "`=` and an operand")?;
        let mut source = self.source(cx)?;
        let mut index = Vec::new();
        if self.is(TokenKind::LBracket) && !matches!(source, Source::Capture(_)) {
            self.bump();
            index = self.list(TokenKind::RBracket, "`,` or `]`", |p| p.index(cx))?;
            if let Source::Scalar(n) = source {
                source = Source::Array(n);
            }
        }
        Ok(PRead { name: Name::new(name), loc, source, dtype, index })
    }

    fn source(&mut self, cx: &mut ExprCx<'_, 'a>) -> Parsed<Source> {
        let is_number = self.at_literal();
        let nested = cx.levels.len() > 1;
        match self.kind() {
            TokenKind::Dollar if nested => {
                let token = self.bump();
                let given = cx.levels.last().map_or(0, |l| l.captures.len());
                Ok(Source::Capture(self.number_below(given, "capture", token.loc)?))
            }
            TokenKind::Ident if nested && !is_number => self.capture(cx).map(Source::Capture),
            _ => self.arg_reference(cx).map(Source::Scalar),
        }
    }

    /// A name of the enclosing body; adds a capture if it is new.
    fn capture(&mut self, cx: &mut ExprCx<'_, 'a>) -> Parsed<u32> {
        let (text, loc) = self.name("a value of the body around")?;
        let outer = cx.levels.len().checked_sub(2).and_then(|i| cx.levels.get(i));
        let Some(found) = outer.and_then(|level| cx.reference_at(level, Name::new(text))) else {
            return self.fail(Diagnostic::new(format!("`{}` is nothing in the body around", clip(text))).at(loc));
        };
        let Some(level) = cx.levels.last_mut() else { return Ok(0) };
        let next = level.captures.len() as u32;
        let number = *level.by_capture.entry(found).or_insert(next);
        if number == next {
            level.captures.push(PRef::Known(found, loc));
        }
        Ok(number)
    }

    /// `%a`, `2.0`, or `#0` for the first operand of the instruction.
    pub fn arg_reference(&mut self, cx: &mut ExprCx<'_, 'a>) -> Parsed<u32> {
        if self.is(TokenKind::Hash) {
            let token = self.bump();
            return self.number_below(cx.args.len(), "operand", token.loc);
        }
        let loc = self.loc();
        let arg = self.natural_operand(cx.function)?;
        if cx.args.len() >= MAX_OPERANDS {
            return self.fail(Diagnostic::new(format!("an instruction has at most {MAX_OPERANDS} operands")).at(loc));
        }
        Ok(cx.arg(arg))
    }

    fn number_below(&mut self, count: usize, what: &str, loc: Loc) -> Parsed<u32> {
        match usize::try_from(self.int("a number")?) {
            Ok(n) if n < count => Ok(n as u32),
            _ => self.fail(Diagnostic::new(format!("there is no such {what}, {count} are listed")).at(loc)),
        }
    }

    fn declare_operand(&mut self, cx: &mut ExprCx<'_, 'a>, read: &PRead, number: usize) -> Parsed<()> {
        let Some(level) = cx.levels.last_mut() else { return Ok(()) };
        if number >= MAX_OPERANDS {
            return self.fail(Diagnostic::new(format!("there are at most {MAX_OPERANDS} operands")).at(read.loc));
        }
        if level.operands.insert(read.name, number as u32).is_some() || cx.axes.contains(&read.name) {
            let message = format!("the name `{}` is taken", clip(&read.name));
            return self.fail(Diagnostic::new(message).at(read.loc));
        }
        Ok(())
    }

    fn monoid(&mut self) -> Parsed<Monoid> {
        let token = self.expect(TokenKind::Ident, "a monoid's name")?;
        let text = self.slice(token);
        match Monoid::ALL.into_iter().find(|m| m.name() == text) {
            Some(monoid) => Ok(monoid),
            None => {
                let near = Registry::suggest(text, Monoid::ALL.iter().map(|m| m.name()));
                let error = Diagnostic::new(format!("unknown monoid `{}`", clip(text))).at(token.loc);
                self.fail(error.maybe_help(near.map(|n| format!("did you mean `{n}`?"))))
            }
        }
    }

    /// `(sum f64) init 0.0`, or `(f64, f64) region (a, b, c, d) { ... } assoc identity [1.0, 0.0]`.
    fn reduction(&mut self, cx: &mut ExprCx<'_, 'a>) -> Parsed<PReduction> {
        self.expect(TokenKind::LParen, "`(` and a monoid")?;
        let is_dtype = self.slice(self.token()).parse::<crate::DType>().is_ok();
        let monoid = if is_dtype { None } else { Some(self.monoid()?) };
        let accumulators = self.list(TokenKind::RParen, "`,` or `)`", Self::dtype)?;
        let builtin = monoid.is_some();
        let combine = match monoid {
            Some(monoid) => PCombine::Builtin(monoid),
            None => PCombine::Region(self.region(cx, accumulators.len())?),
        };
        let mut reduction = PReduction {
            combine,
            accumulators,
            identity: None,
            init: PInit::Identity,
            associative: builtin,
            commutative: builtin,
            idempotent: false,
        };
        while self.clause(cx, &mut reduction)? {}
        Ok(reduction)
    }

    fn region(&mut self, cx: &mut ExprCx<'_, 'a>, accumulators: usize) -> Parsed<PBody> {
        if !self.eat_word("region") {
            return self.expected("`region` and how two accumulators combine");
        }
        let names = self.accumulator_names(2 * accumulators)?;
        self.body_block(cx, &names)
    }

    fn finish(&mut self, cx: &mut ExprCx<'_, 'a>, reductions: &[PReduction]) -> Parsed<PBody> {
        let names = self.accumulator_names(reductions.iter().map(|r| r.accumulators.len()).sum())?;
        self.body_block(cx, &names)
    }

    fn accumulator_names(&mut self, count: usize) -> Parsed<Vec<Name>> {
        let start = self.loc();
        self.expect(TokenKind::LParen, "`(` and names for the accumulators")?;
        let names = self.list(TokenKind::RParen, "`,` or `)`", |p| Ok(Name::new(p.name("a name")?.0)))?;
        if names.len() == count {
            return Ok(names);
        }
        self.fail(Diagnostic::new(format!("there are {count} accumulators here, {} names", names.len())).at(start))
    }

    /// Parses a clause after a reduction. False if there is none.
    fn clause(&mut self, cx: &mut ExprCx<'_, 'a>, reduction: &mut PReduction) -> Parsed<bool> {
        if !self.is(TokenKind::Ident) || self.token().first_on_line {
            return Ok(false);
        }
        match self.slice(self.token()) {
            "assoc" => reduction.associative = true,
            "noassoc" => reduction.associative = false,
            "comm" => reduction.commutative = true,
            "nocomm" => reduction.commutative = false,
            "idem" => reduction.idempotent = true,
            "noidem" => reduction.idempotent = false,
            "identity" => {
                self.bump();
                reduction.identity = Some(self.numbers()?);
                return Ok(true);
            }
            "init" => {
                self.bump();
                reduction.init = self.init(cx)?;
                return Ok(true);
            }
            _ => return Ok(false),
        }
        self.bump();
        Ok(true)
    }

    fn numbers(&mut self) -> Parsed<Vec<PNumber>> {
        let number = |p: &mut Self| {
            let loc = p.loc();
            Ok((p.literal()?, loc))
        };
        if self.eat(TokenKind::LBracket) {
            self.list(TokenKind::RBracket, "`,` or `]`", number)
        } else {
            Ok(vec![number(self)?])
        }
    }

    fn init(&mut self, cx: &mut ExprCx<'_, 'a>) -> Parsed<PInit> {
        if self.eat_word("first") {
            return Ok(PInit::First);
        }
        let first = if self.is(TokenKind::LBracket) { self.ahead(1).kind } else { self.kind() };
        if !matches!(first, TokenKind::Value | TokenKind::Hash) {
            return Ok(PInit::Values(self.numbers()?));
        }
        if self.eat(TokenKind::LBracket) {
            return Ok(PInit::Existing(self.list(TokenKind::RBracket, "`,` or `]`", |p| p.arg_reference(cx))?));
        }
        Ok(PInit::Existing(vec![self.arg_reference(cx)?]))
    }

    /// `([i], [k, i] fill 0.0 last)`.
    fn outs(&mut self, cx: &mut ExprCx<'_, 'a>) -> Parsed<Vec<POut>> {
        self.expect(TokenKind::LParen, "`(` and where the results are written")?;
        self.list(TokenKind::RParen, "`,` or `)`", |p| {
            p.expect(TokenKind::LBracket, "`[` and positions")?;
            let index = p.list(TokenKind::RBracket, "`,` or `]`", |p| p.position_along(cx))?;
            let mut fill = None;
            if p.eat_word("fill") {
                let loc = p.loc();
                fill = Some((p.literal()?, loc));
            }
            let write = if p.eat_word("last") {
                Write::LastWins
            } else if p.eat_word("combine") {
                Write::Combine(p.monoid()?)
            } else {
                Write::Unique
            };
            Ok(POut { index, fill, write })
        })
    }
}

/// The positions of a result with one dim for each parallel axis and the scan axis, in order.
pub(super) fn result_index(axes: &[Axis], first: usize) -> Vec<IndexExpr> {
    let numbered = axes.iter().enumerate().filter(|(_, a)| a.kind.has_results());
    numbered.map(|(i, _)| IndexExpr::Affine(Affine::axis((first + i) as u32))).collect()
}
