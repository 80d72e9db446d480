//! The join of storage styles: the style of an elementwise result whose operands have different styles.
//!
//! A style declares the structure of elementwise functions of its arrays ([`Broadcasting`], an interface of
//! the style). [`register_join!`](crate::register_join) declares the result style of a pair of styles, in
//! either order. Scalars do not take part in the join. A pair without a join gives a dense result, and a
//! remark of `materialize` says so. Two different joins of one pair are an error of registration, which
//! names both places.

use rewright::ir::{Origin, Style, Styled};
use rewright::{DType, Datum, Name, Op, Scalar, Type, inventory};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Interface of a storage style: the structure of elementwise functions of its arrays.
pub struct Broadcasting {
    /// The style of the result: the same style, or one with the structure that survives.
    pub into: &'static str,
    /// The condition on the function; if it fails, the result is dense.
    pub keeps: Keeps,
    /// The style of a result that is zero at the array's structural zeros, and arbitrary elsewhere.
    pub zeros: &'static str,
    /// The style's own rule, which has precedence for each function with an operand of the style.
    pub rule: fn(&Applying<'_>) -> Result<Answer, String>,
}

/// An application of a function: the input of a style's rule.
pub struct Applying<'a> {
    /// The elementwise op; none for a function of scalars.
    pub op: Option<Op>,
    /// The operands' styles, in order; scalars count as dense.
    pub styles: &'a [Style],
    /// The operands' types.
    pub types: &'a [Type],
    /// The operands' values, where they are constants of the program.
    pub consts: &'a [Option<Scalar>],
    /// The dtype of the result.
    pub dtype: DType,
}

/// The answer of a style's rule. A rule rejects a function by an error instead.
pub enum Answer {
    /// The result has the join of the operands' styles.
    Join,
    /// The result is dense, for this reason.
    Dense(String),
    /// The result's style.
    Style(Style),
    /// The result is an array of this style, computed at once by [`Eager`] instead of lazily.
    Now(Style),
}

/// Interface of a storage style: evaluates, without loops, the functions that its rule answers with
/// [`Answer::Now`]. Rewrites do the same to programs.
pub struct Eager(pub fn(Op, &[Datum]) -> Result<Styled, String>);

/// The condition on a function under which its result keeps the style.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeps {
    /// The function maps structural zeros to zero.
    Zeros,
    /// The function gives bools.
    Bools,
    /// No condition.
    Anything,
}

impl Broadcasting {
    /// A style of arrays that are zero where nothing is stored.
    pub const fn zeros(into: &'static str) -> Broadcasting {
        Broadcasting { into, keeps: Keeps::Zeros, zeros: into, rule: |_| Ok(Answer::Join) }
    }
    /// The same for a style whose stored elements determine others, as in symmetric matrices. If only its
    /// zeros survive, the result has the style `zeros`.
    pub const fn only_zeros(self, zeros: &'static str) -> Broadcasting {
        Broadcasting { zeros, ..self }
    }
    /// The same with a rule.
    pub const fn rule(self, rule: fn(&Applying<'_>) -> Result<Answer, String>) -> Broadcasting {
        Broadcasting { rule, ..self }
    }
}

impl Keeps {
    /// Why a result can't have the style; none if it can. `dtype` is its dtype, `zero` its value at
    /// structural zeros.
    pub fn refuses(self, dtype: DType, zero: Option<Scalar>) -> Option<String> {
        match (self, zero) {
            (Keeps::Zeros, None) => Some("its result for zeros is not known".into()),
            (Keeps::Zeros, Some(zero)) if zero.truthy() => Some(format!("it makes {zero} of zeros")),
            (Keeps::Bools, _) if dtype != DType::Bool => Some(format!("it gives {dtype}, not bools")),
            _ => None,
        }
    }
}

/// Registers the result style of a pair of styles: `register_join!("diagonal", "upper" => "upper")`.
/// `"dense"` declares that the pair shares no structure.
#[macro_export]
macro_rules! register_join {
    ($a:expr, $b:expr => $to:expr) => {
        $crate::rewright::inventory::submit! {
            $crate::interfaces::Join { styles: [$a, $b], to: $to, origin: $crate::rewright::ir::origin!() }
        }
    };
}

/// The result style of a pair of styles, in either order.
#[derive(Clone, Copy, Debug)]
pub struct Join {
    /// The pair.
    pub styles: [&'static str; 2],
    /// The style of the result.
    pub to: &'static str,
    /// The place of the registration.
    pub origin: Origin,
}
inventory::collect!(Join);

/// The joins of pairs of styles.
pub struct Lattice {
    pairs: BTreeMap<[&'static str; 2], Join>,
    errors: Vec<String>,
}

static LATTICE: LazyLock<Lattice> = LazyLock::new(|| Lattice::build(inventory::iter::<Join>.into_iter().copied()));

/// The joins that are registered in this process.
pub fn lattice() -> &'static Lattice {
    &LATTICE
}

impl Lattice {
    /// Builds the lattice from joins in any order; contradictions become [`errors`](Lattice::errors).
    pub fn build(joins: impl IntoIterator<Item = Join>) -> Lattice {
        let mut all: Vec<Join> = joins.into_iter().collect();
        all.iter_mut().for_each(|join| join.styles.sort_unstable());
        all.sort_by_key(|join| (join.styles, join.origin));
        let (mut pairs, mut errors) = (BTreeMap::<_, Join>::new(), Vec::new());
        for join in all {
            let [a, b] = join.styles;
            match pairs.get(&join.styles) {
                Some(first) if first.to != join.to => errors.push(format!(
                    "`{a}` and `{b}` are joined to `{}` by {} and to `{}` by {}",
                    first.to, first.origin, join.to, join.origin
                )),
                _ => {
                    pairs.insert(join.styles, join);
                }
            }
        }
        Lattice { pairs, errors }
    }

    /// The contradictions between registrations.
    pub fn errors(&self) -> &[String] {
        &self.errors
    }

    /// The result style for operands of two styles; the error says why it is dense.
    pub fn join(&self, a: Style, b: Style) -> Result<Style, String> {
        let mut names = [a.def().name, b.def().name];
        names.sort_unstable();
        match self.pairs.get(&names) {
            Some(join) if join.to == "dense" => Err(format!("`{a}` with `{b}` is dense, says {}", join.origin)),
            Some(join) if join.to == a.def().name => Ok(a),
            Some(join) if join.to == b.def().name => Ok(b),
            Some(join) => Style::named(Name::new(join.to)),
            None if a == b => Ok(a),
            None => Err(format!("no rule gives the style of `{a}` with `{b}`")),
        }
    }
}
