//! The numbers of the naive evaluator, and their arithmetic.

use super::oracle::{Got, Stop};
use rewright_index::syntax::Binary;

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Num {
    B(bool),
    I(i64),
    F(f64),
}

impl Num {
    pub fn f(self) -> f64 {
        match self {
            Num::B(b) => f64::from(u8::from(b)),
            Num::I(n) => n as f64,
            Num::F(x) => x,
        }
    }
    pub fn i(self) -> i64 {
        match self {
            Num::B(b) => i64::from(b),
            Num::I(n) => n,
            Num::F(x) => x as i64,
        }
    }
}

/// The accumulator after one more term. Sums and products of truth values are integers.
pub fn accumulated(op: &str, sum: Option<Num>, term: Num) -> Got<Num> {
    let term = match (op, term) {
        ("+" | "*", Num::B(b)) => Num::I(i64::from(b)),
        (_, term) => term,
    };
    let zero = match op {
        "+" => Some(0),
        "*" => Some(1),
        _ => None,
    };
    match (sum, zero) {
        (Some(sum), _) => joined(op, sum, term),
        (None, Some(n)) => joined(op, if matches!(term, Num::F(_)) { Num::F(n as f64) } else { Num::I(n) }, term),
        (None, None) => Ok(term),
    }
}

pub fn joined(op: &str, a: Num, b: Num) -> Got<Num> {
    match op {
        "+" => binary(Binary::Add, a, b),
        "*" => binary(Binary::Multiply, a, b),
        "max" | "min" => {
            let takes = |x: f64, y: f64| if op == "max" { y > x } else { y < x };
            Ok(match (a, b) {
                (Num::F(_), _) | (_, Num::F(_)) => {
                    let (x, y) = (a.f(), b.f());
                    Num::F(if x.is_nan() {
                        x
                    } else if y.is_nan() || takes(x, y) {
                        y
                    } else {
                        x
                    })
                }
                _ => Num::I(if op == "max" { a.i().max(b.i()) } else { a.i().min(b.i()) }),
            })
        }
        _ => Err(Stop::Skip),
    }
}

pub fn binary(op: Binary, a: Num, b: Num) -> Got<Num> {
    let is_float = matches!(a, Num::F(_)) || matches!(b, Num::F(_));
    let (x, y, n, m) = (a.f(), b.f(), a.i(), b.i());
    Ok(match op {
        Binary::Add if is_float => Num::F(x + y),
        Binary::Subtract if is_float => Num::F(x - y),
        Binary::Multiply if is_float => Num::F(x * y),
        Binary::Add => Num::I(n.wrapping_add(m)),
        Binary::Subtract => Num::I(n.wrapping_sub(m)),
        Binary::Multiply => Num::I(n.wrapping_mul(m)),
        Binary::Divide => Num::F(x / y),
        Binary::FloorDivide if is_float => return Err(Stop::Skip),
        Binary::Remainder if is_float => return Err(Stop::Skip),
        Binary::FloorDivide if m == 0 => Num::I(0),
        Binary::Remainder if m == 0 => Num::I(0),
        Binary::FloorDivide => Num::I(n.wrapping_div(m) - i64::from(n % m != 0 && (n < 0) != (m < 0))),
        Binary::Remainder => Num::I(n.wrapping_rem(m) + if n % m != 0 && (n < 0) != (m < 0) { m } else { 0 }),
        Binary::Less => Num::B(x < y),
        Binary::LessEqual => Num::B(x <= y),
        Binary::Greater => Num::B(x > y),
        Binary::GreaterEqual => Num::B(x >= y),
        Binary::Equal => Num::B(x == y),
        Binary::NotEqual => Num::B(x != y),
        _ => return Err(Stop::Skip),
    })
}
