//! Parser of lazy expressions.

use crate::expr::{Axis, LazyExpr, Steps};
use crate::input::{Input, Matrix};
use rewright::{Attr, AttrDef, AttrKind, DType, Dim, MAX_RANK, parse_attr, parse_type};
use std::fmt;
use std::str::FromStr;

/// A parse error, with its position in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The byte offset.
    pub at: usize,
    /// The expected token, or the inconsistency.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.at + 1, self.message)
    }
}

impl std::error::Error for ParseError {}

type Parsed<T> = Result<T, ParseError>;

impl FromStr for LazyExpr {
    type Err = ParseError;

    fn from_str(text: &str) -> Parsed<LazyExpr> {
        let mut parser = Parser { text, at: 0 };
        let input = parser.input()?;
        let expr = if parser.takes('[') { parser.map(input)? } else { LazyExpr::of(input) };
        parser.spaces();
        if parser.at < text.len() { parser.wanted("the end") } else { Ok(expr) }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn fail<T>(&self, at: usize, message: impl fmt::Display) -> Parsed<T> {
        Err(ParseError { at, message: message.to_string() })
    }

    fn wanted<T>(&self, what: &str) -> Parsed<T> {
        let found = self.rest().chars().next().map_or("the end".to_string(), |c| format!("`{}`", c.escape_debug()));
        self.fail(self.at, format!("{what} is wanted, not {found}"))
    }

    /// Consumes a character if it is next, after spaces.
    fn takes(&mut self, c: char) -> bool {
        self.spaces();
        let next = self.rest().starts_with(c);
        self.at += if next { c.len_utf8() } else { 0 };
        next
    }

    fn expect(&mut self, c: char) -> Parsed<()> {
        if self.takes(c) { Ok(()) } else { self.wanted(&format!("`{c}`")) }
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let part = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        self.at += part.len();
        part
    }

    fn word(&mut self, what: &str) -> Parsed<&'a str> {
        self.spaces();
        if !self.rest().starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return self.wanted(what);
        }
        Ok(self.take_while(|c| c.is_ascii_alphanumeric() || c == '_'))
    }

    fn number<T: FromStr>(&mut self, what: &str) -> Parsed<T> {
        self.spaces();
        let at = self.at;
        let minus = usize::from(self.rest().starts_with('-'));
        self.at += minus;
        if self.take_while(|c| c.is_ascii_digit()).is_empty() {
            self.at = at;
            return self.wanted(what);
        }
        self.text[at..self.at].parse().or_else(|_| self.fail(at, format!("this is too large or too small for {what}")))
    }

    fn dtype(&mut self) -> Parsed<DType> {
        self.spaces();
        let at = self.at;
        let word = self.word("a dtype")?;
        word.parse().or_else(|()| self.fail(at, format!("there is no dtype `{word}`")))
    }

    fn extents(&mut self) -> Parsed<Vec<u64>> {
        let mut extents = Vec::new();
        while self.takes(',') {
            extents.push(self.number("an extent")?);
            if extents.len() > MAX_RANK {
                return self.fail(self.at, format!("there are at most {MAX_RANK} axes"));
            }
        }
        Ok(extents)
    }

    fn input(&mut self) -> Parsed<Input> {
        self.spaces();
        let at = self.at;
        let name = self.word("`var`, `full`, `iota`, `eye`, `tri` or `delta`")?;
        self.expect('(')?;
        let input = match name {
            "var" => self.var()?,
            "full" => self.full()?,
            "iota" => {
                let dtype = self.dtype()?;
                self.expect(',')?;
                Input::Iota { dtype, extent: self.number("an extent")? }
            }
            "eye" => Input::Eye(self.matrix()?),
            "tri" => Input::Tri(self.matrix()?),
            "delta" => Input::Delta { dtype: self.dtype()?, shape: self.extents()? },
            _ => {
                let names = "`var`, `full`, `iota`, `eye`, `tri` and `delta`";
                return self.fail(at, format!("there is no input `{name}`; there are {names}"));
            }
        };
        self.expect(')')?;
        Ok(input)
    }

    /// The text up to the closing bracket.
    fn inside(&mut self) -> &'a str {
        let mut depth = 0;
        let closes = |c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth < 0
        };
        let rest = self.rest();
        let part = &rest[..rest.find(closes).unwrap_or(rest.len())];
        self.at += part.len();
        part
    }

    fn var(&mut self) -> Parsed<Input> {
        let at = self.at;
        let text = self.inside();
        let ty = parse_type(text).or_else(|why| self.fail(at, why))?;
        let extent = |dim: &Dim| if let Dim::Const(extent) = dim { Some(*extent) } else { None };
        match ty.dims().iter().map(extent).collect::<Option<Vec<u64>>>() {
            Some(shape) if ty.is_array() && ty.style().is_none() => Ok(Input::Var { dtype: ty.dtype(), shape }),
            _ => self
                .fail(at, format!("`var` has the type of a dense array, of which all extents are numbers, not {ty}")),
        }
    }

    fn full(&mut self) -> Parsed<Input> {
        const VALUE: AttrDef = AttrDef::required("value", AttrKind::Scalar, "the value");
        let at = self.at;
        match parse_attr(&VALUE, self.inside()) {
            Ok(Attr::Scalar(value)) => Ok(Input::Full(value)),
            Ok(_) => self.fail(at, "`full` has a number"),
            Err(why) => self.fail(at, why),
        }
    }

    fn matrix(&mut self) -> Parsed<Matrix> {
        let dtype = self.dtype()?;
        self.expect(',')?;
        let rows = self.number("a number of rows")?;
        self.expect(',')?;
        let columns = self.number("a number of columns")?;
        let offset = if self.takes(',') { self.number("a diagonal")? } else { 0 };
        Ok(Matrix { dtype, shape: [rows, columns], offset })
    }

    /// Parses the bracketed map: axes, and a position along each axis of the input.
    fn map(&mut self, input: Input) -> Parsed<LazyExpr> {
        let begin = self.at;
        let rank = input.shape().len();
        let (mut names, mut axes) = (Vec::new(), Vec::new());
        self.spaces();
        while !self.rest().starts_with("->") && !self.rest().starts_with(']') {
            if !names.is_empty() {
                self.expect(',')?;
            }
            self.spaces();
            let at = self.at;
            let name = self.word("the name of an axis")?;
            if names.contains(&name) {
                return self.fail(at, format!("there is an axis `{name}` already"));
            }
            if names.len() == MAX_RANK {
                return self.fail(at, format!("there are at most {MAX_RANK} axes"));
            }
            names.push(name);
            self.expect(':')?;
            axes.push(Axis { extent: self.number("an extent")?, steps: Steps::from_elem(0, rank) });
            self.spaces();
        }
        let mut start = Steps::from_elem(0, rank);
        if self.rest().starts_with("->") {
            self.at += 2;
            for along in 0..rank {
                if along > 0 {
                    self.expect(',')?;
                }
                self.form(&names, along, &mut start, &mut axes)?;
            }
        } else if rank > 0 {
            return self.wanted(&format!("`->` and {rank} positions in `{input}`"));
        }
        self.expect(']')?;
        LazyExpr::new(input, start, axes).or_else(|why| self.fail(begin, why))
    }

    /// Parses an affine form: `2*i - j + 1`.
    fn form(&mut self, names: &[&str], along: usize, start: &mut Steps, axes: &mut [Axis]) -> Parsed<()> {
        let mut sign = if self.takes('-') { -1 } else { 1 };
        loop {
            self.spaces();
            let at = self.at;
            let is_number = self.rest().starts_with(|c: char| c.is_ascii_digit());
            let number: i128 = if is_number { self.number("a position")? } else { 1 };
            let slot = if is_number && !self.takes('*') {
                &mut start[along]
            } else {
                self.spaces();
                let at = self.at;
                let name = self.word("a number or an axis")?;
                match names.iter().position(|known| *known == name) {
                    Some(axis) => &mut axes[axis].steps[along],
                    None => return self.fail(at, format!("there is no axis `{name}`")),
                }
            };
            *slot = match number.checked_mul(sign).and_then(|term| slot.checked_add(term)) {
                Some(sum) => sum,
                None => return self.fail(at, "the sum is too large a number"),
            };
            sign = match (self.takes('+'), self.takes('-')) {
                (true, false) => 1,
                (false, true) => -1,
                (true, true) => return self.wanted("a number or an axis"),
                (false, false) => return Ok(()),
            };
        }
    }
}
