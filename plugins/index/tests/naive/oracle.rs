//! The naive evaluator of the notation: nested loops over the syntax tree of one statement.
//!
//! It shares nothing with the implementation but the tree. Ranges are found by trial: of all integers of a
//! window, those for which a position is in bounds.

use super::numbers::{Num, accumulated, binary, joined};
use rewright::{DType, Literal};
use rewright_index::syntax::{
    Assign, Binary, Expr, ExprKind, Line, Place, Position, Program, RangeSign, Statement, Unary,
};
use std::collections::BTreeMap;
use std::fmt;

/// An array with its first indices.
#[derive(Clone, Debug)]
pub struct Arr {
    pub shape: Vec<usize>,
    pub first: Vec<i64>,
    pub data: Vec<Num>,
    pub is_float: bool,
    /// The dtype of an array that is only read in positions.
    pub positions: Option<DType>,
}

/// The reason why there is no result.
pub enum Stop {
    /// The statement is wrong.
    Wrong(String),
    /// The evaluator does not say.
    Skip,
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Wrong(why) => write!(f, "an error: {why}"),
            Stop::Skip => write!(f, "nothing"),
        }
    }
}

pub type Got<T> = Result<T, Stop>;

fn wrong<T>(message: impl Into<String>) -> Got<T> {
    Err(Stop::Wrong(message.into()))
}

/// The result: an array, or one number if the shape is `None`.
#[derive(Debug)]
pub struct Result_ {
    pub shape: Option<Vec<usize>>,
    pub data: Vec<Num>,
}

type Point = BTreeMap<String, i64>;

pub struct Oracle<'a> {
    pub arrays: &'a BTreeMap<String, Arr>,
    statement: &'a Statement,
    left: Vec<String>,
    reduced: Vec<String>,
    ranges: BTreeMap<String, (i64, i64)>,
    pad: Num,
    has_pad: bool,
}

/// The integers that are tried.
const WINDOW: std::ops::RangeInclusive<i64> = -120..=120;

/// An access: the array and its positions.
struct Access<'a> {
    array: &'a str,
    positions: Vec<&'a Expr>,
    /// It happens after the reduction.
    is_after: bool,
}

/// The boundary mode of a position, its padding, and the position without it.
fn mode(expr: &Expr) -> (&str, i64, i64, &Expr) {
    if let ExprKind::Call(function, args, false) = &expr.kind
        && let ExprKind::Name(name) = &function.kind
    {
        let int = |n: usize| {
            args.get(n)
                .and_then(|arg| if let ExprKind::Number(Literal::Int(n)) = arg.kind { Some(n as i64) } else { None })
        };
        return match (name.as_str(), args.len()) {
            ("pad", 1) => ("any", 0, 0, &args[0]),
            ("pad", 2) => ("pad", int(1).unwrap_or(0), int(1).unwrap_or(0), &args[0]),
            ("pad", _) => ("pad", int(1).unwrap_or(0), int(2).unwrap_or(0), &args[0]),
            ("mod", _) => ("mod", 0, 0, &args[0]),
            _ => ("clamp", 0, 0, &args[0]),
        };
    }
    ("in", 0, 0, expr)
}

/// The indices of a position; `direct` leaves out those inside of gathers.
fn indices(expr: &Expr, direct: bool, found: &mut Vec<String>) {
    match &expr.kind {
        ExprKind::Name(name) if name != "end" && name != "begin" => {
            if !found.contains(name) {
                found.push(name.clone());
            }
        }
        ExprKind::Read(_, positions) if !direct => {
            positions.iter().for_each(|p| indices(mode(&p.expr).3, direct, found))
        }
        ExprKind::Read(..) => {}
        _ => expr.parts().for_each(|part| indices(part, direct, found)),
    }
}

impl<'a> Oracle<'a> {
    /// The result of the one statement of a program.
    pub fn run(program: &'a Program, arrays: &'a BTreeMap<String, Arr>) -> Got<Result_> {
        let Some(Line::Statement(statement)) = program.lines.last() else { return Err(Stop::Skip) };
        let mut oracle = Oracle {
            arrays,
            statement,
            left: Vec::new(),
            reduced: Vec::new(),
            ranges: BTreeMap::new(),
            pad: Num::I(0),
            has_pad: false,
        };
        for setting in &statement.settings {
            if setting.key.text == "pad" {
                oracle.pad = oracle.eval(setting.value.as_ref().expect("a value"), &mut Point::new(), None)?;
                oracle.has_pad = true;
            }
        }
        oracle.names();
        oracle.infer()?;
        oracle.verify()?;
        oracle.result()
    }

    fn names(&mut self) {
        let statement = self.statement;
        for position in statement.left.positions.iter().flatten() {
            if let Place::At(expr) | Place::Moved(expr) = &position.position {
                indices(expr, false, &mut self.left);
            }
        }
        let mut scoped = Vec::new();
        let mut all = Vec::new();
        let mut visit = |expr: &Expr| {
            let mut work = vec![expr];
            while let Some(expr) = work.pop() {
                if let ExprKind::Reduce(_, own, _) = &expr.kind {
                    scoped.extend(own.iter().map(|index| index.name.text.clone()));
                }
                if let ExprKind::Read(_, positions) = &expr.kind {
                    positions.iter().for_each(|p| indices(mode(&p.expr).3, false, &mut all));
                }
                let mut parts: Vec<&Expr> = expr.parts().collect();
                parts.reverse();
                work.extend(parts);
            }
        };
        visit(&statement.right);
        statement.finish.iter().for_each(&mut visit);
        all.extend(statement.ranges.iter().flat_map(|range| range.names.iter().map(|name| name.text.clone())));
        for name in all {
            if !self.left.contains(&name) && !scoped.contains(&name) && !self.reduced.contains(&name) {
                self.reduced.push(name);
            }
        }
    }

    /// All accesses, with the write of an array that is changed.
    fn accesses(&self) -> Vec<Access<'a>> {
        let statement = self.statement;
        let mut found = Vec::new();
        let mut work: Vec<(&'a Expr, bool)> = vec![(&statement.right, false)];
        work.extend(statement.finish.iter().map(|expr| (expr, true)));
        if let Some(positions) = &statement.left.positions {
            let at = |place: &'a Place| if let Place::At(expr) = place { Some(expr) } else { None };
            work.extend(positions.iter().filter_map(|p| at(&p.position)).map(|expr| (expr, true)));
            if statement.assign != Assign::New {
                let positions = positions.iter().filter_map(|p| at(&p.position)).collect();
                found.push(Access { array: &statement.left.name.text, positions, is_after: true });
            }
        }
        while let Some((expr, is_after)) = work.pop() {
            if let ExprKind::Read(array, positions) = &expr.kind
                && let ExprKind::Name(name) = &array.kind
            {
                found.push(Access { array: name, positions: positions.iter().map(|p| &p.expr).collect(), is_after });
            }
            work.extend(expr.parts().map(|part| (part, is_after)));
        }
        found
    }

    fn range_of(&self, expr: &Expr) -> Got<(i64, i64)> {
        let ExprKind::Range(sign, lo, hi) = &expr.kind else { return Err(Stop::Skip) };
        let mut point = Point::new();
        let (lo, hi) = (self.eval(lo, &mut point, None)?.i(), self.eval(hi, &mut point, None)?.i());
        Ok((lo, if *sign == RangeSign::Through { hi } else { hi - 1 }))
    }

    fn infer(&mut self) -> Got<()> {
        let accesses = self.accesses();
        let mut given: Vec<(String, (i64, i64))> = Vec::new();
        for range in &self.statement.ranges {
            for name in &range.names {
                given.push((name.text.clone(), self.range_of(&range.range)?));
            }
        }
        let mut all: Vec<String> = self.left.iter().chain(&self.reduced).cloned().collect();
        let mut work: Vec<&Expr> = vec![&self.statement.right];
        while let Some(expr) = work.pop() {
            if let ExprKind::Reduce(_, own, _) = &expr.kind {
                for index in own {
                    all.push(index.name.text.clone());
                    if let Some(range) = &index.range {
                        given.push((index.name.text.clone(), self.range_of(range)?));
                    }
                }
            }
            work.extend(expr.parts());
        }
        let shifted: Vec<String> = {
            let mut found = Vec::new();
            for expr in accesses.iter().flat_map(|access| access.positions.iter()) {
                let inner = mode(expr).3;
                if !matches!(inner.kind, ExprKind::Name(_)) {
                    indices(inner, true, &mut found);
                }
            }
            found
        };
        let add = |found: &mut BTreeMap<String, (i64, i64)>, name: &str, range: (i64, i64)| match found.get_mut(name) {
            None => {
                found.insert(name.to_string(), range);
                Ok(())
            }
            Some(own) if shifted.iter().any(|other| other == name) => {
                *own = (own.0.max(range.0), own.1.min(range.1));
                Ok(())
            }
            Some(own) if *own == range => Ok(()),
            Some(own) => wrong(format!("{name}: {own:?} and {range:?}")),
        };
        for round in 0.. {
            let mut new: BTreeMap<String, (i64, i64)> = BTreeMap::new();
            if round == 0 {
                given.iter().try_for_each(|(name, range)| add(&mut new, name, *range))?;
            }
            for access in &accesses {
                let array = self.array(access.array)?;
                if array.shape.len() != access.positions.len() {
                    return wrong("dims");
                }
                for (dim, expr) in access.positions.iter().enumerate() {
                    let (mode, lo, hi, inner) = mode(expr);
                    if !matches!(mode, "in" | "pad") {
                        continue;
                    }
                    let (mut own, mut every) = (Vec::new(), Vec::new());
                    indices(inner, true, &mut own);
                    indices(inner, false, &mut every);
                    if round == 0 && (own.len() != 1 || every.len() != 1) {
                        continue;
                    }
                    let unknown: Vec<&String> = every.iter().filter(|name| !self.ranges.contains_key(*name)).collect();
                    let [index] = unknown[..] else { continue };
                    if !own.contains(index) {
                        continue;
                    }
                    let (first, last) = (array.first[dim], array.first[dim] + array.shape[dim] as i64 - 1);
                    let others: Vec<String> = every.iter().filter(|name| *name != index).cloned().collect();
                    if others.iter().any(|name| self.ranges[name].0 > self.ranges[name].1)
                        || array.shape[dim] == 0 && !others.is_empty()
                    {
                        return Err(Stop::Skip);
                    }
                    let mut good = Vec::new();
                    for value in WINDOW {
                        let mut is_good = true;
                        let mut point = Point::from([(index.clone(), value)]);
                        self.each(&others, &mut point, &mut |oracle, point| {
                            let e = oracle.eval(inner, point, Some((access.array, dim)))?.i();
                            is_good &= (first - lo..=last + hi).contains(&e);
                            Ok(())
                        })?;
                        if is_good {
                            good.push(value);
                        }
                    }
                    if good.is_empty() {
                        if matches!(inner.kind, ExprKind::Name(_)) {
                            // An empty dim.
                            add(&mut new, index, (first - lo, first - lo - 1))?;
                            continue;
                        }
                        return Err(Stop::Skip);
                    }
                    add(&mut new, index, (good[0], good[good.len() - 1]))?;
                }
            }
            if new.is_empty() && round > 0 {
                break;
            }
            self.ranges.extend(new);
        }
        match all.iter().find(|name| !self.ranges.contains_key(*name)) {
            Some(name) => wrong(format!("{name} has no range")),
            None => Ok(()),
        }
    }

    /// Calls `f` at all points of some indices, in row-major order.
    fn each(&self, names: &[String], point: &mut Point, f: &mut dyn FnMut(&Self, &mut Point) -> Got<()>) -> Got<()> {
        let Some((name, rest)) = names.split_first() else { return f(self, point) };
        let (lo, hi) = self.ranges[name];
        for value in lo..=hi {
            point.insert(name.clone(), value);
            self.each(rest, point, f)?;
        }
        point.remove(name);
        Ok(())
    }

    fn array(&self, name: &str) -> Got<&'a Arr> {
        self.arrays.get(name).map_or_else(|| wrong(format!("no array {name}")), Ok)
    }

    /// Every access is in bounds at all points of its indices.
    fn verify(&self) -> Got<()> {
        let is_empty = |name: &String| self.ranges[name].0 > self.ranges[name].1;
        for access in self.accesses() {
            if self.left.iter().any(is_empty) || (!access.is_after && self.reduced.iter().any(is_empty)) {
                continue;
            }
            let mut every = Vec::new();
            access.positions.iter().for_each(|expr| indices(mode(expr).3, false, &mut every));
            let array = self.array(access.array)?;
            let mut point = Point::new();
            self.each(&every, &mut point, &mut |oracle, point| {
                oracle.place(array, access.array, &access.positions, point).map(drop)
            })?;
        }
        Ok(())
    }

    /// The place of an element; `None` in padding.
    fn place(&self, array: &Arr, name: &str, positions: &[&Expr], point: &mut Point) -> Got<Option<usize>> {
        let (mut flat, mut is_padded) = (0, false);
        for (dim, expr) in positions.iter().enumerate() {
            let (mode, lo, hi, inner) = mode(expr);
            let p = self.eval(inner, point, Some((name, dim)))?.i() - array.first[dim];
            let n = array.shape[dim] as i64;
            let p = match mode {
                "mod" if n > 0 => p.rem_euclid(n),
                "clamp" if n > 0 => p.clamp(0, n - 1),
                "any" if !(0..n).contains(&p) => {
                    is_padded = true;
                    continue;
                }
                "pad" if (-lo..n + hi).contains(&p) && !(0..n).contains(&p) => {
                    is_padded = true;
                    continue;
                }
                _ if (0..n).contains(&p) => p,
                _ => return wrong(format!("{name} at {p} of {n}")),
            };
            flat = flat * n as usize + p as usize;
        }
        Ok((!is_padded).then_some(flat))
    }

    fn read(&self, name: &str, positions: &[Position], point: &mut Point) -> Got<Num> {
        let array = self.array(name)?;
        let positions: Vec<&Expr> = positions.iter().map(|p| &p.expr).collect();
        match self.place(array, name, &positions, point)? {
            Some(at) => Ok(array.data[at]),
            None => Ok(if array.is_float { Num::F(self.pad.f()) } else { Num::I(self.pad.i()) }),
        }
    }

    /// The value of an expression. `at` is the array and the dim of the position around it.
    fn eval(&self, expr: &Expr, point: &mut Point, at: Option<(&str, usize)>) -> Got<Num> {
        Ok(match &expr.kind {
            ExprKind::Number(Literal::Int(n)) => Num::I(*n as i64),
            ExprKind::Number(Literal::Float(x)) => Num::F(*x),
            ExprKind::Name(name) if name == "end" || name == "begin" => {
                let (array, dim) = at.ok_or(Stop::Skip)?;
                let array = self.array(array)?;
                Num::I(array.first[dim] + if name == "end" { array.shape[dim] as i64 - 1 } else { 0 })
            }
            ExprKind::Name(name) => match point.get(name) {
                Some(value) => Num::I(*value),
                None => return Err(Stop::Skip),
            },
            ExprKind::Result => match point.get("\u{0}") {
                Some(bits) => Num::F(f64::from_bits(*bits as u64)),
                None => match point.get("\u{1}") {
                    Some(n) => Num::I(*n),
                    None => return Err(Stop::Skip),
                },
            },
            ExprKind::Read(array, positions) => match &array.kind {
                ExprKind::Name(name) => self.read(name, positions, point)?,
                _ => return Err(Stop::Skip),
            },
            ExprKind::Unary(Unary::Negate, inner) => match self.eval(inner, point, at)? {
                Num::F(x) => Num::F(-x),
                other => Num::I(other.i().wrapping_neg()),
            },
            ExprKind::Unary(Unary::Plus, inner) => self.eval(inner, point, at)?,
            ExprKind::Binary(op, left, right) => {
                let (a, b) = (self.eval(left, point, at)?, self.eval(right, point, at)?);
                binary(*op, a, b)?
            }
            ExprKind::If(parts) => {
                let [c, x, y] = &**parts;
                let (c, x, y) = (self.eval(c, point, at)?, self.eval(x, point, at)?, self.eval(y, point, at)?);
                let both = matches!(x, Num::F(_)) || matches!(y, Num::F(_));
                let chosen = if c.f() != 0.0 { x } else { y };
                if both { Num::F(chosen.f()) } else { Num::I(chosen.i()) }
            }
            ExprKind::Call(function, args, false) => {
                let ExprKind::Name(name) = &function.kind else { return Err(Stop::Skip) };
                let args = args.iter().map(|arg| self.eval(arg, point, at)).collect::<Got<Vec<_>>>()?;
                match (name.as_str(), &args[..]) {
                    ("min", [a, b]) => joined("min", *a, *b)?,
                    ("max", [a, b]) => joined("max", *a, *b)?,
                    ("abs", [Num::F(x)]) => Num::F(x.abs()),
                    ("abs", [n]) => Num::I(n.i().wrapping_abs()),
                    ("sqrt", [x]) => Num::F(x.f().sqrt()),
                    _ => return Err(Stop::Skip),
                }
            }
            ExprKind::Reduce(word, own, body) => {
                let names: Vec<String> = own.iter().map(|index| index.name.text.clone()).collect();
                let op = match word.text.as_str() {
                    "sum" => "+",
                    "prod" => "*",
                    other => other,
                };
                let mut sum: Option<Num> = None;
                self.each(&names, point, &mut |oracle, point| {
                    let term = oracle.eval(body, point, None)?;
                    sum = Some(accumulated(op, sum, term)?);
                    Ok(())
                })?;
                match (sum, op) {
                    (Some(sum), _) => sum,
                    (None, "+" | "*") => {
                        // The dtype of no terms: that of a point of zeros.
                        return Err(Stop::Skip);
                    }
                    _ => return wrong("no elements"),
                }
            }
            _ => return Err(Stop::Skip),
        })
    }

    fn result(&self) -> Got<Result_> {
        let statement = self.statement;
        let op = match (&statement.reduction, statement.assign) {
            (Some(word), _) => word.text.as_str(),
            (None, Assign::Multiply | Assign::Divide) => "*",
            _ => "+",
        };
        let mut init = None;
        for setting in &statement.settings {
            if setting.key.text == "init" {
                init = Some(self.eval(setting.value.as_ref().expect("a value"), &mut Point::new(), None)?);
            }
        }
        let old = match (statement.assign, &statement.left.positions) {
            (Assign::New, _) | (_, None) => None,
            _ => Some(self.array(&statement.left.name.text)?.clone()),
        };
        // Values and where they go, in order.
        let mut written: Vec<(Vec<i64>, Num)> = Vec::new();
        let mut has_skipped = false;
        let is_repeated = self.repeats()?;
        if is_repeated && statement.finish.is_some() && !matches!(statement.assign, Assign::New | Assign::Store) {
            return wrong("no point has the total of its element");
        }
        let mut point = Point::new();
        self.each(&self.left.clone(), &mut point, &mut |oracle, point| {
            let at = oracle.target(point)?;
            let accumulates = matches!(statement.assign, Assign::Add | Assign::Multiply | Assign::Combine);
            let start = match &old {
                Some(old) if accumulates && !is_repeated => {
                    let flat = at.iter().zip(&old.shape).fold(0, |flat, (p, n)| flat * n + *p as usize);
                    Some(old.data[flat])
                }
                _ => init,
            };
            let mut sum = start;
            if oracle.reduced.is_empty() {
                let term = oracle.eval(&statement.right, point, None)?;
                sum = Some(match start {
                    Some(start) if accumulates => joined(op, start, term)?,
                    _ => term,
                });
            } else {
                oracle.each(&oracle.reduced.clone(), point, &mut |oracle, point| {
                    let term = oracle.eval(&statement.right, point, None)?;
                    sum = Some(accumulated(op, sum, term)?);
                    Ok(())
                })?;
            }
            let Some(mut value) = sum else {
                if matches!(op, "max" | "min") && !is_repeated {
                    return wrong("no elements");
                }
                has_skipped = true;
                return Ok(());
            };
            if let Some(finish) = &statement.finish {
                let key = if matches!(value, Num::F(_)) { "\u{0}" } else { "\u{1}" };
                let bits = if let Num::F(x) = value { x.to_bits() as i64 } else { value.i() };
                point.insert(key.to_string(), bits);
                value = oracle.eval(finish, point, None)?;
                point.remove(key);
            }
            written.push((at, value));
            Ok(())
        })?;
        if has_skipped {
            return Err(Stop::Skip);
        }
        if statement.left.positions.is_none() {
            return Ok(Result_ { shape: None, data: written.into_iter().map(|(_, value)| value).collect() });
        }
        let is_empty = self.left.iter().chain(&self.reduced).any(|name| self.ranges[name].0 > self.ranges[name].1);
        if self.has_pad && (is_empty || written.iter().any(|(_, value)| matches!(value, Num::B(_)))) {
            // The padding of truth values is one.
            return Err(Stop::Skip);
        }
        if (written.is_empty() || is_empty) && old.as_ref().is_some_and(|old| !old.is_float) {
            // The dtype of no values is not known.
            return Err(Stop::Skip);
        }
        let is_float = written.iter().any(|(_, value)| matches!(value, Num::F(_)));
        let (shape, mut data) = match &old {
            Some(old) => (old.shape.clone(), old.data.clone()),
            None => {
                let shape = self.new_shape(&written)?;
                let pad = if self.has_pad { self.pad } else { Num::I(0) };
                (shape.clone(), vec![pad; shape.iter().product()])
            }
        };
        let mut groups: BTreeMap<usize, Num> = BTreeMap::new();
        for (at, value) in written {
            if at.iter().zip(&shape).any(|(p, n)| *p < 0 || *p >= *n as i64) {
                return wrong("written out of bounds");
            }
            let flat = at.iter().zip(&shape).fold(0, |flat, (p, n)| flat * n + *p as usize);
            match statement.assign {
                Assign::New | Assign::Store => data[flat] = value,
                _ if is_repeated || matches!(statement.assign, Assign::Subtract | Assign::Divide) => {
                    // Points of one element are combined first.
                    let sum = match is_repeated {
                        true => accumulated(op, groups.get(&flat).copied(), value)?,
                        false => value,
                    };
                    groups.insert(flat, sum);
                }
                _ => data[flat] = value,
            }
        }
        for (flat, sum) in groups {
            data[flat] = match statement.assign {
                Assign::Subtract => binary(Binary::Subtract, data[flat], sum)?,
                Assign::Divide => binary(Binary::Divide, data[flat], sum)?,
                _ => joined(op, data[flat], sum)?,
            };
        }
        if let Some(old) = &old {
            if is_float && !old.is_float {
                return wrong("floats into integers");
            }
            data.iter_mut().for_each(|x| *x = if old.is_float { Num::F(x.f()) } else { *x });
        } else if is_float {
            data.iter_mut().for_each(|x| *x = Num::F(x.f()));
        }
        Ok(Result_ { shape: Some(shape), data })
    }

    /// Whether two points of the left side write one element. An assignment of two is an error, unless the
    /// positions are read from an array.
    fn repeats(&self) -> Got<bool> {
        let statement = self.statement;
        let Some(positions) = &statement.left.positions else { return Ok(false) };
        let gathers = positions.iter().any(|p| match &p.position {
            Place::At(expr) => {
                let mut work = vec![expr];
                let mut found = false;
                while let Some(expr) = work.pop() {
                    found |= matches!(expr.kind, ExprKind::Read(..));
                    work.extend(expr.parts());
                }
                found
            }
            _ => false,
        });
        if gathers {
            return Ok(true);
        }
        if statement.assign == Assign::Store {
            let mut seen = std::collections::BTreeSet::new();
            let mut is_repeated = false;
            self.each(&self.left.clone(), &mut Point::new(), &mut |oracle, point| {
                is_repeated |= !seen.insert(oracle.target(point)?);
                Ok(())
            })?;
            return if is_repeated { wrong("two points write one element") } else { Ok(false) };
        }
        // Points may meet unless each dim determines an index.
        let mut open = self.left.clone();
        loop {
            let determined = positions.iter().find_map(|position| {
                let Place::At(expr) = &position.position else { return None };
                let mut own = Vec::new();
                indices(expr, true, &mut own);
                own.retain(|name| open.contains(name));
                if let [only] = &own[..] { Some(only.clone()) } else { None }
            });
            match determined {
                Some(name) => open.retain(|own| *own != name),
                None => return Ok(statement.assign != Assign::New && !open.is_empty()),
            }
        }
    }

    /// The element that a point writes, from 0.
    fn target(&self, point: &mut Point) -> Got<Vec<i64>> {
        let statement = self.statement;
        let name = &statement.left.name.text;
        let is_new = statement.assign == Assign::New;
        let mut at = Vec::new();
        for (dim, position) in statement.left.positions.iter().flatten().enumerate() {
            at.push(match &position.position {
                Place::One => 0,
                Place::Moved(expr) => {
                    let ExprKind::Name(index) = &expr.kind else { return Err(Stop::Skip) };
                    point[index] - self.ranges[index].0
                }
                Place::At(expr) if is_new => self.eval(expr, point, None)?.i(),
                Place::At(expr) => self.eval(expr, point, Some((name, dim)))?.i() - self.array(name)?.first[dim],
            });
        }
        Ok(at)
    }

    fn new_shape(&self, written: &[(Vec<i64>, Num)]) -> Got<Vec<usize>> {
        let mut shape = Vec::new();
        for (dim, position) in self.statement.left.positions.iter().flatten().enumerate() {
            let extent = match &position.position {
                Place::One => 1,
                Place::At(expr) | Place::Moved(expr) => match &expr.kind {
                    ExprKind::Name(index) => {
                        let (lo, hi) = self.ranges[index];
                        if lo != 0 && matches!(position.position, Place::At(_)) {
                            return wrong("a new array begins at 0");
                        }
                        (hi - lo + 1).max(0)
                    }
                    ExprKind::Number(_) => 1,
                    ExprKind::Read(..) => written.iter().map(|(at, _)| at[dim] + 1).max().unwrap_or(0),
                    _ => return Err(Stop::Skip),
                },
            };
            if written.iter().any(|(at, _)| at[dim] < 0) {
                return wrong("negative");
            }
            shape.push(extent as usize);
        }
        if written.is_empty()
            && self
                .statement
                .left
                .positions
                .iter()
                .flatten()
                .any(|p| matches!(&p.position, Place::At(e) if matches!(e.kind, ExprKind::Read(..))))
        {
            return Err(Stop::Skip);
        }
        Ok(shape)
    }
}
