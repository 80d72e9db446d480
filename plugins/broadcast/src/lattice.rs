//! Who wins where arrays of different styles meet.
//!
//! A style says what elementwise functions make of its arrays ([`Broadcasting`], an interface of the
//! style), and pairs of styles what is made of both ([`register_join!`](crate::register_join)). One order
//! of a pair is enough. Scalars leave others as they are, and what no pair says is dense; the remarks of
//! `materialize` say so. Two answers for one pair are an error of the registration, which names both
//! places.

use rewright::ir::{Origin, Style, Styled};
use rewright::{DType, Datum, Name, Op, Scalar, Type, inventory};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Interface of a storage style: what elementwise functions make of an array of it.
pub struct Broadcasting {
    /// The style of the result, the same one or that of what is left of its structure.
    pub into: &'static str,
    /// For which functions that is so; the results of others are dense.
    pub keeps: Keeps,
    /// The style of a result that is zero where the array is by structure, and may be anything elsewhere.
    pub zeros: &'static str,
    /// A rule of its own, asked first for each function that has an operand of the style.
    pub rule: fn(&Applying<'_>) -> Result<Answer, String>,
}

/// A function that is applied.
pub struct Applying<'a> {
    /// The elementwise op; nothing of a function of scalars.
    pub op: Option<Op>,
    /// What the operands are of, in order; scalars are dense.
    pub styles: &'a [Style],
    /// The operands' types.
    pub types: &'a [Type],
    /// Those that are numbers in the program.
    pub consts: &'a [Option<Scalar>],
    /// The dtype of the result.
    pub dtype: DType,
}

/// What a style's rule says of a function. An error refuses it.
pub enum Answer {
    /// What pairs of styles say.
    Join,
    /// The result is dense; why.
    Dense(String),
    /// The result's style.
    Style(Style),
    /// The result is no lazy array but one of a style, which [`Eager`] computes at once.
    Now(Style),
}

/// Interface of a storage style: what it has instead of loops, for the functions that its rule answers with
/// [`Answer::Now`]. Rewrites do the same to programs.
pub struct Eager(pub fn(Op, &[Datum]) -> Result<Styled, String>);

/// What a style asks of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeps {
    /// That it makes zero of what is zero by structure.
    Zeros,
    /// That it gives bools.
    Bools,
    /// Nothing.
    Anything,
}

impl Broadcasting {
    /// A style of arrays that are zero where nothing is stored.
    pub const fn zeros(into: &'static str) -> Broadcasting {
        Broadcasting { into, keeps: Keeps::Zeros, zeros: into, rule: |_| Ok(Answer::Join) }
    }
    /// The same where the elements that are stored say others, of which only the zeros may be left: in
    /// another style.
    pub const fn only_zeros(self, zeros: &'static str) -> Broadcasting {
        Broadcasting { zeros, ..self }
    }
    /// The same with a rule.
    pub const fn rule(self, rule: fn(&Applying<'_>) -> Result<Answer, String>) -> Broadcasting {
        Broadcasting { rule, ..self }
    }
}

impl Keeps {
    /// Why results of a dtype that are `zero` where the operands are zero by structure can't be kept;
    /// nothing if they can.
    pub fn refuses(self, dtype: DType, zero: Option<Scalar>) -> Option<String> {
        match (self, zero) {
            (Keeps::Zeros, None) => Some("what it makes of zeros is not known".into()),
            (Keeps::Zeros, Some(zero)) if zero.truthy() => Some(format!("it makes {zero} of zeros")),
            (Keeps::Bools, _) if dtype != DType::Bool => Some(format!("it gives {dtype}, not bools")),
            _ => None,
        }
    }
}

/// Says what is made of arrays of two styles: `register_join!("diagonal", "upper" => "upper")`. `"dense"`
/// declares a conflict.
#[macro_export]
macro_rules! register_join {
    ($a:expr, $b:expr => $to:expr) => {
        $crate::rewright::inventory::submit! {
            $crate::lattice::Join { styles: [$a, $b], to: $to, origin: $crate::rewright::ir::origin!() }
        }
    };
}

/// The result style of a pair of styles, in either order.
#[derive(Clone, Copy, Debug)]
pub struct Join {
    /// The two.
    pub styles: [&'static str; 2],
    /// The style of the result.
    pub to: &'static str,
    /// Who says so.
    pub origin: Origin,
}
inventory::collect!(Join);

/// All pairs.
pub struct Lattice {
    pairs: BTreeMap<[&'static str; 2], Join>,
    errors: Vec<String>,
}

static LATTICE: LazyLock<Lattice> = LazyLock::new(|| Lattice::build(inventory::iter::<Join>.into_iter().copied()));

/// The pairs of this process.
pub fn lattice() -> &'static Lattice {
    &LATTICE
}

impl Lattice {
    /// The lattice of pairs that come in any order; contradictions become [`errors`](Lattice::errors).
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

    /// What two registrations say differently.
    pub fn errors(&self) -> &[String] {
        &self.errors
    }

    /// The style of what is made of arrays of two; the error says why it is dense.
    pub fn join(&self, a: Style, b: Style) -> Result<Style, String> {
        let mut names = [a.def().name, b.def().name];
        names.sort_unstable();
        match self.pairs.get(&names) {
            Some(join) if join.to == "dense" => Err(format!("`{a}` with `{b}` is dense, says {}", join.origin)),
            Some(join) if join.to == a.def().name => Ok(a),
            Some(join) if join.to == b.def().name => Ok(b),
            Some(join) => Style::named(Name::new(join.to)),
            None if a == b => Ok(a),
            None => Err(format!("nobody says what `{a}` with `{b}` is")),
        }
    }
}
