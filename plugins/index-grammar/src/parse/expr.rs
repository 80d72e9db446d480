//! The parser of expressions, by precedence climbing.

use super::{MAX_HEIGHT, Parsed, Parser, error};
use crate::syntax::{Binary, Expr, ExprKind, Let, Position, RangeSign, ScopedIndex, UNARY, Unary, Word};
use crate::token::Kind;
use rewright_ir::{Literal, Loc};

/// The names of scoped reductions: `sum[k](x)`.
pub(crate) const SCOPED: [&str; 6] = ["sum", "prod", "max", "min", "any", "all"];

fn boxed(kind: ExprKind, loc: Loc) -> Expr {
    Expr { kind, loc }
}

impl Parser<'_> {
    /// Parses one level deeper, up to a bound.
    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.height >= MAX_HEIGHT {
            let help = "name a part of it in a statement of its own";
            return error(format!("the expression nests deeper than {MAX_HEIGHT}"), self.loc(), help);
        }
        self.height += 1;
        let parsed = parse(self);
        self.height -= 1;
        parsed
    }

    /// An expression, which may be a range.
    pub(crate) fn expr(&mut self) -> Parsed<Expr> {
        self.deeper(|p| {
            let start = p.loc();
            let lo = p.choice()?;
            let sign = match p.kind() {
                Kind::Sign("..") => RangeSign::Below,
                Kind::Sign("..=") => RangeSign::Through,
                Kind::Sign(":") if p.colons => RangeSign::Colon,
                _ => return Ok(lo),
            };
            p.bump();
            let hi = p.choice()?;
            if sign == RangeSign::Colon && p.eat(":") {
                let last = p.choice()?;
                return Ok(boxed(ExprKind::Stepped(Box::new([lo, hi, last])), p.since(start)));
            }
            Ok(boxed(ExprKind::Range(sign, Box::new(lo), Box::new(hi)), p.since(start)))
        })
    }

    /// `c ? x : y`, or an operation.
    fn choice(&mut self) -> Parsed<Expr> {
        let start = self.loc();
        let cond = self.operation(1)?;
        if !self.eat("?") {
            return Ok(cond);
        }
        let colons = std::mem::replace(&mut self.colons, false);
        let then = self.expr()?;
        self.expect(":")?;
        let otherwise = self.expr()?;
        self.colons = colons;
        Ok(boxed(ExprKind::If(Box::new([cond, then, otherwise])), self.since(start)))
    }

    /// The binary operation ahead and its binding power.
    fn binary(&mut self) -> Option<(Binary, u8)> {
        let Kind::Sign(sign) = self.kind() else { return None };
        Binary::ALL.iter().find(|(_, own, _)| *own == sign).map(|&(op, _, power)| (op, power))
    }

    /// Operations that bind at least as tightly as `least`.
    fn operation(&mut self, least: u8) -> Parsed<Expr> {
        self.deeper(|p| {
            let start = p.loc();
            let mut left = p.unary()?;
            let mut links = 0;
            while let Some((op, power)) = p.binary().filter(|(_, power)| *power >= least) {
                p.bump();
                links += 1;
                if p.height + links > MAX_HEIGHT {
                    let help = "name a part of it in a statement of its own, or sum over an index";
                    return error(format!("more than {MAX_HEIGHT} operations in a row"), p.loc(), help);
                }
                let right = match op {
                    Binary::Power => p.operation(UNARY)?,
                    _ => p.operation(power + 1)?,
                };
                left = boxed(ExprKind::Binary(op, Box::new(left), Box::new(right)), p.since(start));
                let compares = |found: Option<(Binary, u8)>| found.is_some_and(|(_, power)| power == 3);
                if power == 3 && compares(p.binary()) {
                    return error("comparisons do not chain", p.loc(), "write `(a < b) & (b < c)`");
                }
            }
            // The height of a chain counts for the operations around it.
            Ok(left)
        })
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let start = self.loc();
        let op = match self.kind() {
            Kind::Sign("-") => Unary::Negate,
            Kind::Sign("+") => Unary::Plus,
            Kind::Sign("!") => Unary::Not,
            Kind::Sign("√") => Unary::Root,
            _ => return self.product(),
        };
        self.bump();
        let arg = self.operation(UNARY)?;
        Ok(boxed(ExprKind::Unary(op, Box::new(arg)), self.since(start)))
    }

    /// A number before a name or a bracket is a factor: `2i`, `2(i + j)`.
    fn product(&mut self) -> Parsed<Expr> {
        let start = self.loc();
        let first = self.postfix()?;
        let is_number = matches!(first.kind, ExprKind::Number(Literal::Int(_) | Literal::Float(_)));
        let next = self.token();
        let is_factor = match next.kind {
            Kind::Name => next.joined && (self.positions > 0 || !matches!(self.slice(next), "in" | "∈")),
            Kind::Sign("(") => next.joined && !self.at_range(),
            Kind::Sign("$") => next.joined,
            _ => false,
        };
        if !is_number || !is_factor {
            return Ok(first);
        }
        let right = self.operation(UNARY + 1)?;
        Ok(boxed(ExprKind::Binary(Binary::Multiply, Box::new(first), Box::new(right)), self.since(start)))
    }

    /// A primary expression with reads, fields and calls.
    fn postfix(&mut self) -> Parsed<Expr> {
        let start = self.loc();
        let mut expr = self.primary()?;
        let mut links = 0;
        loop {
            links += 1;
            if self.height + links > MAX_HEIGHT {
                return error(format!("more than {MAX_HEIGHT} brackets in a row"), self.loc(), "");
            }
            let next = self.token();
            expr = match next.kind {
                Kind::Sign("[") => match self.scoped(&expr)? {
                    Some(reduce) => reduce,
                    None => {
                        let positions = self.positions()?;
                        boxed(ExprKind::Read(Box::new(expr), positions), self.since(start))
                    }
                },
                Kind::Sign("(") if next.joined && !matches!(expr.kind, ExprKind::Number(_)) && !self.at_range() => {
                    let args = self.args()?;
                    boxed(ExprKind::Call(Box::new(expr), args, false), self.since(start))
                }
                Kind::Sign(".") => {
                    self.bump();
                    if self.is("(") {
                        let args = self.args()?;
                        boxed(ExprKind::Call(Box::new(expr), args, true), self.since(start))
                    } else {
                        let field = self.field(&expr)?;
                        boxed(ExprKind::Field(Box::new(expr), field), self.since(start))
                    }
                }
                _ => return Ok(expr),
            };
        }
    }

    /// The name of a field, or the number of a part of a tuple: of an element, or of the result `_`.
    fn field(&mut self, of: &Expr) -> Parsed<Word> {
        let token = self.token();
        match token.kind {
            Kind::Number(Literal::Int(n))
                if matches!(of.kind, ExprKind::Read(..) | ExprKind::Name(_) | ExprKind::Result) =>
            {
                self.bump();
                Ok(Word { text: n.to_string(), loc: token.loc })
            }
            _ => self.word("the name of a field, or `(`,"),
        }
    }

    fn args(&mut self) -> Parsed<Vec<Expr>> {
        self.open("(")?;
        let colons = std::mem::replace(&mut self.colons, true);
        let mut args = Vec::new();
        while !self.is(")") {
            args.push(self.expr()?);
            if !self.eat(",") {
                break;
            }
        }
        self.colons = colons;
        self.close(")")?;
        Ok(args)
    }

    pub(super) fn positions(&mut self) -> Parsed<Vec<Position>> {
        self.open("[")?;
        self.positions += 1;
        let colons = std::mem::replace(&mut self.colons, true);
        let mut found = Vec::new();
        while !self.is("]") {
            let dim = self.dim_name()?;
            let loc = self.loc();
            let expr = if self.eat(":") { boxed(ExprKind::All, loc) } else { self.expr()? };
            found.push(Position { dim, expr });
            if !self.eat(",") {
                break;
            }
        }
        self.colons = colons;
        self.positions -= 1;
        self.close("]")?;
        Ok(found)
    }

    /// `sum[k, l in 0..3](x)`, if the expression is the name of such a reduction and arguments follow the
    /// indices.
    fn scoped(&mut self, name: &Expr) -> Parsed<Option<Expr>> {
        let ExprKind::Name(text) = &name.kind else { return Ok(None) };
        if !SCOPED.contains(&text.as_str()) || !self.has_call_after_bracket() {
            return Ok(None);
        }
        self.open("[")?;
        let mut indices = Vec::new();
        while !self.is("]") {
            let name = self.word("the name of an index")?;
            let is_end = self.is(",") || self.is("]");
            let range = if is_end { None } else { Some(self.range_after_in()?) };
            indices.push(ScopedIndex { name, range });
            if !self.eat(",") {
                break;
            }
        }
        self.close("]")?;
        self.open("(")?;
        let (colons, positions) = (self.colons, std::mem::replace(&mut self.positions, 0));
        self.colons = true;
        let body = self.expr()?;
        (self.colons, self.positions) = (colons, positions);
        if self.is(",") {
            let help = format!("write an expression: `{text}[k](max(0, x[k]))`");
            return error(format!("`{text}[...]` reduces one expression"), self.loc(), &help);
        }
        self.close(")")?;
        let word = Word { text: text.clone(), loc: name.loc };
        Ok(Some(boxed(ExprKind::Reduce(word, indices, Box::new(body)), self.since(name.loc))))
    }

    /// Whether `(` follows the bracket ahead, and is not that of a range.
    fn has_call_after_bracket(&self) -> bool {
        let mut open = 0usize;
        for (n, token) in self.tokens[self.at..].iter().enumerate() {
            match token.kind {
                Kind::Sign("[" | "(" | "{") => {
                    if open == 0 && token.kind == Kind::Sign("(") {
                        return !self.is_range_ahead(n);
                    }
                    open += 1;
                }
                Kind::Sign("]" | ")" | "}") if open > 0 => open -= 1,
                Kind::Line if open > 0 || self.brackets > 0 => {}
                Kind::End => return false,
                _ if open == 0 => return false,
                _ => {}
            }
        }
        false
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let token = self.token();
        let made = |kind| Ok(boxed(kind, token.loc));
        match token.kind {
            Kind::Number(literal) => {
                self.bump();
                made(ExprKind::Number(literal))
            }
            Kind::Name if self.is_word("_") => {
                self.bump();
                made(ExprKind::Result)
            }
            Kind::Name if self.is_word("true") || self.is_word("false") => {
                let value = self.is_word("true");
                self.bump();
                made(ExprKind::Number(Literal::Bool(value)))
            }
            Kind::Name if self.is_word("inf") || self.is_word("nan") => {
                let value = if self.is_word("inf") { f64::INFINITY } else { f64::NAN };
                self.bump();
                made(ExprKind::Number(Literal::Float(value)))
            }
            Kind::Name if self.is_word("im") => {
                self.bump();
                made(ExprKind::Number(Literal::Complex(0.0, 1.0)))
            }
            Kind::Name if self.is_word("begin") && self.positions == 0 => self.block("end"),
            Kind::Name => Ok(boxed(ExprKind::Name(self.word("an expression")?.text), token.loc)),
            Kind::Sign("$") => {
                self.bump();
                let inner = match self.is("(") {
                    true => self.parenthesized()?,
                    false => {
                        let word = self.word("a name or `(` after `$`")?;
                        boxed(ExprKind::Name(word.text), word.loc)
                    }
                };
                Ok(boxed(ExprKind::Outer(Box::new(inner)), self.since(token.loc)))
            }
            Kind::Sign("(") => self.parenthesized(),
            Kind::Sign("{") => self.block("}"),
            _ => self.expected("an expression"),
        }
    }

    /// `(x)`, or a tuple.
    fn parenthesized(&mut self) -> Parsed<Expr> {
        let start = self.loc();
        self.open("(")?;
        let colons = std::mem::replace(&mut self.colons, true);
        let mut items = Vec::new();
        let mut is_tuple = false;
        while !self.is(")") {
            let name = self.dim_name()?;
            is_tuple |= name.is_some();
            items.push((name, self.expr()?));
            if !self.eat(",") {
                break;
            }
            is_tuple = true;
        }
        self.colons = colons;
        self.close(")")?;
        match items.pop() {
            Some((_, only)) if !is_tuple => Ok(Expr { loc: self.since(start), ..only }),
            last => {
                items.extend(last);
                Ok(boxed(ExprKind::Tuple(items), self.since(start)))
            }
        }
    }

    /// `{ x = 1; x + 1 }` or `begin x = 1; x + 1 end`: names and a value, on lines of their own.
    fn block(&mut self, end: &str) -> Parsed<Expr> {
        let start = self.loc();
        self.bump();
        let (brackets, positions) =
            (std::mem::replace(&mut self.brackets, 0), std::mem::replace(&mut self.positions, 0));
        let colons = std::mem::replace(&mut self.colons, true);
        let mut lets: Vec<Let> = Vec::new();
        let mut value = None;
        loop {
            while self.kind() == Kind::Line {
                self.bump();
            }
            let at_end = if end == "}" { self.is("}") } else { self.is_word("end") };
            if at_end {
                self.bump();
                break;
            }
            if value.is_some() {
                return self.expected(&format!("`{end}` after the value of a block"));
            }
            match self.assigned()? {
                Some(names) => lets.push(Let { names, value: self.expr()? }),
                None => value = Some(self.expr()?),
            }
            let at_end = if end == "}" { self.is("}") } else { self.is_word("end") };
            if !at_end && self.kind() != Kind::Line {
                return self.expected(&format!("`;`, the end of the line or `{end}`"));
            }
        }
        (self.brackets, self.positions, self.colons) = (brackets, positions, colons);
        let loc = self.since(start);
        match value {
            Some(value) => Ok(boxed(ExprKind::Block(lets, Box::new(value)), loc)),
            None => error("a block ends with its value", loc, "write an expression before its end"),
        }
    }

    /// `x =` or `a, b =` at the beginning of a line of a block.
    fn assigned(&mut self) -> Parsed<Option<Vec<Word>>> {
        let mut n = 0;
        loop {
            if self.ahead(n).kind != Kind::Name {
                return Ok(None);
            }
            match self.ahead(n + 1).kind {
                Kind::Sign(",") => n += 2,
                Kind::Sign("=") => break,
                _ => return Ok(None),
            }
        }
        let mut names = Vec::new();
        loop {
            names.push(self.word("a name")?);
            if !self.eat(",") {
                break;
            }
        }
        self.bump();
        Ok(Some(names))
    }
}
