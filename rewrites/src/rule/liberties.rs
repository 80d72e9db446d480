//! Liberties, the fast-math flags of rules: the ways in which results may differ.

use std::fmt;
use std::str::FromStr;

/// The tolerance of an [`approximate`](Liberties::APPROXIMATE) rule, in ULPs of the largest intermediate
/// term.
pub const TOLERANCE: f64 = 4096.0;

bitflags::bitflags! {
    /// Fast-math flags: the ways in which a rewritten program may give other results than the original.
    /// None, the default, means identical bits.
    ///
    /// The names follow the fast-math flags of LLVM and MLIR, but each names the property that is given up.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Liberties: u8 {
        /// `contract`: a product and a sum may be rounded once instead of twice.
        const CONTRACT = 1;
        /// `reassociate`: sums and products may be regrouped, and factors taken out.
        const REASSOCIATE = 2;
        /// `reciprocal`: a quotient may be a product with the reciprocal.
        const RECIPROCAL = 4;
        /// `no_nan`: no operand and no result is NaN; if one is, the result may be anything.
        const NO_NAN = 8;
        /// `no_inf`: no operand and no result is an infinity; if one is, the result may be anything.
        const NO_INF = 16;
        /// `no_signed_zeros`: a zero may have the other sign.
        const NO_SIGNED_ZEROS = 32;
        /// `approximate`: functions may be replaced by others that are equal in real arithmetic. Results
        /// may differ by [`TOLERANCE`], and a zero result may have the other sign.
        const APPROXIMATE = 64;
    }
}

/// The flags and their names, which are those of the constants in lower case.
const NAMES: [(Liberties, &str); 7] = [
    (Liberties::CONTRACT, "contract"),
    (Liberties::REASSOCIATE, "reassociate"),
    (Liberties::RECIPROCAL, "reciprocal"),
    (Liberties::NO_NAN, "no_nan"),
    (Liberties::NO_INF, "no_inf"),
    (Liberties::NO_SIGNED_ZEROS, "no_signed_zeros"),
    (Liberties::APPROXIMATE, "approximate"),
];

impl Liberties {
    /// The liberty with this name.
    pub fn named(name: &str) -> Option<Liberties> {
        NAMES.iter().find(|(_, n)| *n == name).map(|(liberty, _)| *liberty)
    }
    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(_, name)| *name)
    }
    /// True if results may differ in more than NaN, infinities and signed zeros, because rounding differs.
    pub(crate) fn changes_rounding(self) -> bool {
        self.intersects(Liberties::CONTRACT | Liberties::REASSOCIATE | Liberties::RECIPROCAL | Liberties::APPROXIMATE)
    }
}

/// A list of names: `no_nan, contract`.
impl fmt::Display for Liberties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = NAMES.iter().filter(|(l, _)| self.contains(*l)).map(|(_, name)| *name).collect();
        f.write_str(&names.join(", "))
    }
}

/// Parses a list of names. `all` stands for all of them, an empty list for none.
impl FromStr for Liberties {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        names
            .map(|name| match name {
                "all" => Ok(Liberties::all()),
                _ => Liberties::named(name).ok_or_else(|| unknown_liberty(name)),
            })
            .try_fold(Liberties::empty(), |all, one| one.map(|one| all | one))
    }
}

/// The message for an unknown name.
pub fn unknown_liberty(name: &str) -> String {
    let known: Vec<&str> = Liberties::names().collect();
    format!("unknown liberty `{name}`; expected one of {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_flags() {
        let flags: Vec<(String, Liberties)> =
            Liberties::all().iter_names().map(|(name, flag)| (name.to_lowercase(), flag)).collect();
        let names: Vec<(String, Liberties)> = NAMES.iter().map(|&(flag, name)| (name.to_string(), flag)).collect();
        assert_eq!(names, flags);
    }
}
