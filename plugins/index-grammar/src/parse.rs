//! The parser: builds the syntax tree of a text, or reports the first error of each statement.
//!
//! Second stage of the front end. Recursive descent for statements, precedence climbing for expressions. The
//! height of a tree is bounded, so that no text overflows the stack here or in a later stage.

mod expr;

use crate::syntax::{
    Assign, Expr, ExprKind, IndexRange, Left, LeftPosition, Line, Place, Program, Setting, Statement, Word,
};
use crate::token::{Kind, Token, tokens};
use rewright_ir::{Diagnostic, Diagnostics, Loc};

/// The greatest height of a syntax tree.
pub const MAX_HEIGHT: usize = 128;

/// The most tokens of a text.
const MAX_TOKENS: usize = 1 << 20;

/// The result of a parsing step. Errors are boxed, as they are large and rare.
pub type Parsed<T> = Result<T, Box<Diagnostic>>;

/// An error at a place, with advice unless it is empty.
///
/// # Errors
///
/// Always: that is its purpose.
pub fn error<T>(message: impl Into<String>, loc: Loc, help: &str) -> Parsed<T> {
    let found = Diagnostic::new(message).at(loc);
    Err(Box::new(if help.is_empty() { found } else { found.help(help) }))
}

/// Parses a program. `name` is the name of the text in errors.
///
/// # Errors
///
/// The first error of each line.
pub fn parse(text: &str, name: &str) -> Result<Program, Diagnostics> {
    let tokens = tokens(text);
    let mut errors = Diagnostics::new(name, text);
    if tokens.len() > MAX_TOKENS || u32::try_from(text.len()).is_err() {
        errors.push(Diagnostic::new(format!("the program has more than {MAX_TOKENS} tokens")).help("split it"));
        return Err(errors);
    }
    let mut parser = Parser { text, tokens: &tokens, at: 0, brackets: 0, positions: 0, height: 0, colons: true };
    let mut program = Program::default();
    loop {
        while parser.kind() == Kind::Line {
            parser.at += 1;
        }
        if parser.kind() == Kind::End {
            break;
        }
        parser.reset();
        match parser.line().and_then(bounded) {
            Ok(line) => program.lines.push(line),
            Err(error) => {
                errors.push(*error);
                parser.skip_line();
            }
        }
    }
    match errors.is_empty() {
        true if program.lines.iter().any(|line| matches!(line, Line::Statement(_))) => Ok(program),
        true => {
            errors.push(
                Diagnostic::new("there is no statement").help("write one, such as `C[i, k] := A[i, j] * B[j, k]`"),
            );
            Err(errors)
        }
        false => Err(errors),
    }
}

pub(crate) struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    /// The number of open brackets: line ends inside of them don't count.
    brackets: usize,
    /// The number of open square brackets, in which `end` and `begin` are positions.
    positions: usize,
    /// The number of expressions that are being parsed.
    height: usize,
    /// Whether `:` makes a range here.
    colons: bool,
}

impl<'a> Parser<'a> {
    fn reset(&mut self) {
        (self.brackets, self.positions, self.height, self.colons) = (0, 0, 0, true);
    }

    /// Skips to the end of the statement with an error.
    fn skip_line(&mut self) {
        self.reset();
        let mut open = 0usize;
        loop {
            match self.tokens[self.at].kind {
                Kind::End => return,
                Kind::Line if open == 0 || self.text.as_bytes()[self.tokens[self.at].loc.start as usize] == b'\n' => {
                    return;
                }
                Kind::Sign("(" | "[" | "{") => open += 1,
                Kind::Sign(")" | "]" | "}") => open = open.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
    }

    /// The current token; line ends inside brackets are skipped.
    pub(crate) fn token(&mut self) -> Token {
        while self.brackets > 0 && self.tokens[self.at].kind == Kind::Line {
            self.at += 1;
        }
        self.tokens[self.at]
    }
    pub(crate) fn kind(&mut self) -> Kind {
        self.token().kind
    }
    /// The place of the current token.
    pub(crate) fn loc(&mut self) -> Loc {
        self.token().loc
    }
    /// The text of a token.
    pub(crate) fn slice(&self, token: Token) -> &'a str {
        &self.text[token.loc.start as usize..][..token.loc.len as usize]
    }
    /// The token some places ahead, with line ends.
    fn ahead(&self, n: usize) -> Token {
        self.tokens[(self.at + n).min(self.tokens.len() - 1)]
    }
    /// Passes a token; the last one stays.
    pub(crate) fn bump(&mut self) -> Token {
        let token = self.token();
        if token.kind != Kind::End {
            self.at += 1;
        }
        token
    }
    pub(crate) fn is(&mut self, sign: &str) -> bool {
        matches!(self.kind(), Kind::Sign(found) if found == sign)
    }
    pub(crate) fn eat(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        if found {
            self.bump();
        }
        found
    }
    pub(crate) fn is_word(&mut self, word: &str) -> bool {
        let token = self.token();
        token.kind == Kind::Name && self.slice(token) == word
    }
    /// From a place to the last token that was passed.
    pub(crate) fn since(&self, start: Loc) -> Loc {
        let last = self.tokens[self.at.saturating_sub(1)].loc;
        let end = (last.start + last.len).max(start.start + start.len);
        Loc { len: end - start.start, ..start }
    }

    /// An error: this is expected at the current token.
    pub(crate) fn expected<T>(&mut self, what: &str) -> Parsed<T> {
        let token = self.token();
        let found = match token.kind {
            Kind::End => "the end".to_string(),
            Kind::Line => "the end of the line".to_string(),
            Kind::Unknown(why) => return error(why, token.loc, ""),
            _ => format!("`{}`", clip(self.slice(token))),
        };
        error(format!("{what} is expected here, found {found}"), token.loc, "")
    }
    pub(crate) fn expect(&mut self, sign: &'static str) -> Parsed<Token> {
        if self.is(sign) { Ok(self.bump()) } else { self.expected(&format!("`{sign}`")) }
    }
    pub(crate) fn open(&mut self, sign: &'static str) -> Parsed<()> {
        self.expect(sign)?;
        self.brackets += 1;
        Ok(())
    }
    pub(crate) fn close(&mut self, sign: &'static str) -> Parsed<()> {
        if !self.is(sign) {
            return self.expected(&format!("`,` or `{sign}`"));
        }
        self.bump();
        self.brackets -= 1;
        Ok(())
    }

    /// A name; primes are those of ASCII.
    pub(crate) fn word(&mut self, what: &str) -> Parsed<Word> {
        let token = self.token();
        if token.kind != Kind::Name || self.slice(token) == "∈" {
            return self.expected(what);
        }
        self.bump();
        Ok(Word { text: self.slice(token).replace('\'', "′"), loc: token.loc })
    }

    // --- Lines ------------------------------------------------------------------------------------

    fn line(&mut self) -> Parsed<Line> {
        let is_set = self.is_word("set") && self.ahead(1).kind == Kind::Name;
        let line =
            if is_set { self.set() } else { self.statement().map(|statement| Line::Statement(Box::new(statement))) }?;
        match self.kind() {
            Kind::Line | Kind::End => Ok(line),
            _ => self.expected("an operator, a range such as `(i in 0..3)`, an option or the end of the line"),
        }
    }

    fn set(&mut self) -> Parsed<Line> {
        self.bump();
        let mut settings = Vec::new();
        loop {
            settings.push(self.setting()?);
            if !self.eat(",") {
                return Ok(Line::Set(settings));
            }
        }
    }

    /// `strict`, `threads=2`, `origin K[-2]`.
    fn setting(&mut self) -> Parsed<Setting> {
        let key = self.word("the name of an option")?;
        let value = match matches!(key.text.as_str(), "origin" | "dims")
            && self.kind() == Kind::Name
            && self.ahead(1).kind == Kind::Sign("[")
        {
            true => {
                let name = self.word("the name of an array")?;
                let array = Expr { kind: ExprKind::Name(name.text), loc: name.loc };
                let positions = self.positions()?;
                Some(Expr { kind: ExprKind::Read(Box::new(array), positions), loc: self.since(name.loc) })
            }
            false if self.eat("=") => Some(self.expr()?),
            false => None,
        };
        Ok(Setting { key, value })
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let start = self.loc();
        let reduction = if self.is("(") { Some(self.reduction()?) } else { None };
        let left = self.left()?;
        let assign = match self.kind() {
            Kind::Sign(sign) => Assign::ALL.iter().find(|(_, own)| *own == sign).map(|(assign, _)| *assign),
            _ => None,
        };
        let Some(assign) = assign else {
            return self.expected("an assignment (`:=`, `=`, `+=`, `-=`, `*=`, `/=` or `^=`)");
        };
        self.bump();
        let (right, finish) = self.right()?;
        let (mut ranges, mut settings) = (Vec::new(), Vec::new());
        loop {
            if self.at_range() {
                self.index_ranges(&mut ranges)?;
            } else if self.kind() == Kind::Name {
                settings.push(self.setting()?);
            } else {
                break;
            }
        }
        Ok(Statement { reduction, left, assign, right, finish, ranges, settings, loc: self.since(start) })
    }

    /// `(max)`.
    fn reduction(&mut self) -> Parsed<Word> {
        self.open("(")?;
        let token = self.token();
        let word = match token.kind {
            Kind::Sign(sign @ ("+" | "*" | "&" | "|" | "&&" | "||")) => {
                self.bump();
                Word { text: sign.to_string(), loc: token.loc }
            }
            _ => self.word("a reduction such as `+`, `*`, `max`, `min`, `&`, `|`")?,
        };
        self.close(")")?;
        Ok(word)
    }

    fn left(&mut self) -> Parsed<Left> {
        let name = self.word("the name of the result, or `_`,")?;
        if !self.is("[") {
            return Ok(Left { name, positions: None });
        }
        let mut positions = Vec::new();
        // `t[i][a]` is `t[i, a]`.
        while self.is("[") {
            self.open("[")?;
            self.positions += 1;
            while !self.is("]") {
                positions.push(self.left_position()?);
                if !self.eat(",") {
                    break;
                }
            }
            self.positions -= 1;
            self.close("]")?;
        }
        Ok(Left { name, positions: Some(positions) })
    }

    fn left_position(&mut self) -> Parsed<LeftPosition> {
        let dim = self.dim_name()?;
        let expr = self.expr()?;
        let (loc, is_result_in_it) = (expr.loc, has_result(&expr));
        let position = match expr.kind {
            ExprKind::Result => Place::One,
            // `i + _`, which the parser of expressions reads as a sum with the result.
            ExprKind::Binary(crate::syntax::Binary::Add, index, last)
                if last.kind == ExprKind::Result && !has_result(&index) =>
            {
                Place::Moved(*index)
            }
            _ if is_result_in_it => return error("`_` stands behind the index", loc, "write `i + _`"),
            kind => Place::At(Expr { kind, loc }),
        };
        Ok(LeftPosition { dim, position })
    }

    /// `row=` before a position.
    pub(crate) fn dim_name(&mut self) -> Parsed<Option<Word>> {
        if self.kind() != Kind::Name || self.ahead(1).kind != Kind::Sign("=") {
            return Ok(None);
        }
        let word = self.word("the name of a dim")?;
        self.bump();
        Ok(Some(word))
    }

    /// The right side and its finisher: `x |> f`, `f <| x` or `x |> (_)^0.5`.
    fn right(&mut self) -> Parsed<(Expr, Option<Expr>)> {
        let expr = self.expr()?;
        if self.eat("<|") {
            let finish = finisher(expr)?;
            return Ok((self.expr()?, Some(finish)));
        }
        if !self.eat("|>") {
            return Ok((expr, None));
        }
        let finish = self.expr()?;
        if self.is("|>") {
            return error("a statement has one finisher", self.loc(), "write one function of the other: `|> f(g(_))`");
        }
        Ok((expr, Some(finisher(finish)?)))
    }

    /// True before `(i in` or `(i, j in`.
    pub(crate) fn at_range(&mut self) -> bool {
        self.is("(") && self.is_range_ahead(0)
    }

    /// True if the bracket some tokens ahead is that of a range.
    pub(crate) fn is_range_ahead(&self, bracket: usize) -> bool {
        let mut n = bracket + 1;
        loop {
            let (name, next) = (self.ahead(n), self.ahead(n + 1));
            if name.kind != Kind::Name {
                return false;
            }
            if next.kind == Kind::Name {
                return matches!(self.slice(next), "in" | "∈");
            }
            if next.kind != Kind::Sign(",") {
                return false;
            }
            n += 2;
        }
    }

    /// `(i in 0..3, j, k in 1:5)`.
    fn index_ranges(&mut self, ranges: &mut Vec<IndexRange>) -> Parsed<()> {
        self.open("(")?;
        loop {
            let mut names = Vec::new();
            loop {
                names.push(self.word("the name of an index")?);
                if !self.eat(",") {
                    break;
                }
            }
            let range = self.range_after_in()?;
            ranges.push(IndexRange { names, range });
            if !self.eat(",") {
                break;
            }
        }
        self.close(")")
    }

    /// `in 0..3`.
    pub(crate) fn range_after_in(&mut self) -> Parsed<Expr> {
        let token = self.token();
        if token.kind != Kind::Name || !matches!(self.slice(token), "in" | "∈") {
            return self.expected("`in` and a range");
        }
        self.bump();
        self.expr()
    }
}

/// Whether `_` occurs in an expression.
fn has_result(expr: &Expr) -> bool {
    let mut work = vec![expr];
    while let Some(expr) = work.pop() {
        if expr.kind == ExprKind::Result {
            return true;
        }
        work.extend(expr.parts());
    }
    false
}

/// Refuses a statement whose tree is too high for the later stages, which are recursive.
fn bounded(line: Line) -> Parsed<Line> {
    let Line::Statement(statement) = &line else { return Ok(line) };
    let mut work: Vec<(&Expr, usize)> = vec![(&statement.right, 1)];
    work.extend(statement.finish.iter().map(|expr| (expr, 1)));
    work.extend(statement.ranges.iter().map(|range| (&range.range, 1)));
    work.extend(statement.settings.iter().filter_map(|setting| Some((setting.value.as_ref()?, 1))));
    for position in statement.left.positions.iter().flatten() {
        if let Place::At(expr) | Place::Moved(expr) = &position.position {
            work.push((expr, 1));
        }
    }
    while let Some((expr, height)) = work.pop() {
        if height > MAX_HEIGHT {
            let help = "name a part of it in a statement of its own";
            return error(format!("the expression nests deeper than {MAX_HEIGHT}"), expr.loc, help);
        }
        work.extend(expr.parts().map(|part| (part, height + 1)));
    }
    Ok(line)
}

/// The function of a finisher as an expression of `_`: `sqrt` is `sqrt(_)`.
fn finisher(expr: Expr) -> Parsed<Expr> {
    let loc = expr.loc;
    match expr.kind {
        ExprKind::Name(_) => {
            let result = Expr { kind: ExprKind::Result, loc };
            Ok(Expr { kind: ExprKind::Call(Box::new(expr), vec![result], false), loc })
        }
        _ => Ok(expr),
    }
}

/// A text that is shown in a message.
pub(crate) fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(40).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}
