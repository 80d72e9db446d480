//! Affine forms over axes and symbols.

use crate::name::Name;
use crate::types::Dim;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// `sum of coefficient * symbol + constant`: an extent or a bound. Terms are sorted by symbol, and
/// coefficients are not 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "SymData", into = "SymData")]
pub struct SymExpr {
    terms: SmallVec<[(Name, i64); 1]>,
    /// The constant.
    pub constant: i64,
}

impl SymExpr {
    /// A constant.
    pub fn constant(constant: i64) -> Self {
        SymExpr { terms: SmallVec::new(), constant }
    }
    /// A symbol.
    pub fn symbol(name: Name) -> Self {
        SymExpr { terms: SmallVec::from_iter([(name, 1)]), constant: 0 }
    }
    /// The constant, if there are no symbols.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }
    /// A dim's extent; `None` if it is unknown, or exceeds the range of an index.
    pub fn of_dim(dim: Dim) -> Option<Self> {
        match dim {
            Dim::Const(extent) => i64::try_from(extent).ok().map(SymExpr::constant),
            Dim::Sym(name) => Some(SymExpr::symbol(name)),
            Dim::Any => None,
        }
    }
    /// Adds `coefficient * name`. `None` on overflow.
    pub fn add_term(mut self, name: Name, coefficient: i64) -> Option<Self> {
        match self.terms.binary_search_by(|(n, _)| n.cmp(&name)) {
            Ok(i) => {
                self.terms[i].1 = self.terms[i].1.checked_add(coefficient)?;
                if self.terms[i].1 == 0 {
                    self.terms.remove(i);
                }
            }
            Err(_) if coefficient == 0 => {}
            Err(i) => self.terms.insert(i, (name, coefficient)),
        }
        Some(self)
    }
    /// `self + factor * other`. `None` on overflow.
    pub fn plus_scaled(mut self, other: &SymExpr, factor: i64) -> Option<Self> {
        self.constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        other.terms.iter().try_fold(self, |sum, &(name, c)| sum.add_term(name, c.checked_mul(factor)?))
    }
    /// The terms.
    pub fn terms(&self) -> &[(Name, i64)] {
        &self.terms
    }
    /// The value with symbols bound by `bind`. `None` if one is unbound, or on overflow.
    pub fn eval(&self, bind: impl Fn(Name) -> Option<i64>) -> Option<i64> {
        self.terms.iter().try_fold(self.constant, |sum, &(name, c)| sum.checked_add(c.checked_mul(bind(name)?)?))
    }
}

/// `sum of coefficient * axis + symbols + constant`. Axes are numbered as in the expression; those of a
/// nested expression follow those of the enclosing ones. Terms are sorted by axis, and coefficients are not
/// 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "AffineData", into = "AffineData")]
pub struct Affine {
    axes: SmallVec<[(u32, i64); 1]>,
    /// The part without axes.
    pub offset: SymExpr,
}

impl Affine {
    /// A constant.
    pub fn constant(constant: i64) -> Self {
        Affine { axes: SmallVec::new(), offset: SymExpr::constant(constant) }
    }
    /// An axis.
    pub fn axis(axis: u32) -> Self {
        Affine { axes: SmallVec::from_iter([(axis, 1)]), offset: SymExpr::default() }
    }
    /// Adds `coefficient * axis`. `None` on overflow.
    pub fn add_axis(mut self, axis: u32, coefficient: i64) -> Option<Self> {
        match self.axes.binary_search_by_key(&axis, |(a, _)| *a) {
            Ok(i) => {
                self.axes[i].1 = self.axes[i].1.checked_add(coefficient)?;
                if self.axes[i].1 == 0 {
                    self.axes.remove(i);
                }
            }
            Err(_) if coefficient == 0 => {}
            Err(i) => self.axes.insert(i, (axis, coefficient)),
        }
        Some(self)
    }
    /// The axis terms.
    pub fn axes(&self) -> &[(u32, i64)] {
        &self.axes
    }
    /// The axis, if the form is just one axis.
    pub fn as_axis(&self) -> Option<u32> {
        match (self.axes.as_slice(), &self.offset) {
            ([(axis, 1)], offset) if *offset == SymExpr::default() => Some(*axis),
            _ => None,
        }
    }
    /// The constant, if the form is one.
    pub fn as_constant(&self) -> Option<i64> {
        self.offset.as_constant().filter(|_| self.axes.is_empty())
    }
    /// The value at a point. `None` if an axis or a symbol is missing, or on overflow.
    pub fn eval(&self, point: &[i64], bind: impl Fn(Name) -> Option<i64>) -> Option<i64> {
        self.axes.iter().try_fold(self.offset.eval(bind)?, |sum, &(axis, c)| {
            sum.checked_add(c.checked_mul(*point.get(axis as usize)?)?)
        })
    }
    /// The form with a form in place of each axis. `None` if one is missing, or on overflow.
    pub fn along(&self, axes: &[Affine]) -> Option<Affine> {
        let start = Affine { axes: SmallVec::new(), offset: self.offset.clone() };
        self.axes.iter().try_fold(start, |sum, &(axis, factor)| {
            let form = axes.get(axis as usize)?;
            let scaled = form.axes.iter().try_fold(sum, |sum, &(own, c)| sum.add_axis(own, c.checked_mul(factor)?))?;
            Some(Affine { offset: scaled.offset.plus_scaled(&form.offset, factor)?, axes: scaled.axes })
        })
    }
    /// The coefficient of an axis, 0 if there is no such term.
    pub fn coefficient(&self, axis: u32) -> i64 {
        self.axes.iter().find(|(own, _)| *own == axis).map_or(0, |&(_, coefficient)| coefficient)
    }
    /// The least and the greatest value, from the least and the greatest index of each axis. `None` if an
    /// axis or a symbol is missing, or on overflow.
    pub fn extremes(
        &self,
        indices: impl Fn(u32) -> Option<(i64, i64)>,
        bind: impl Fn(Name) -> Option<i64>,
    ) -> Option<(i128, i128)> {
        let offset = i128::from(self.offset.eval(bind)?);
        self.axes.iter().try_fold((offset, offset), |(least, most), &(axis, c)| {
            let (first, last) = indices(axis)?;
            let [a, b] = [first, last].map(|index| i128::from(index) * i128::from(c));
            Some((least.checked_add(a.min(b))?, most.checked_add(a.max(b))?))
        })
    }
}

/// The serialized form of a [`SymExpr`]; terms may come in any order.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Sym", deny_unknown_fields)]
struct SymData {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    terms: Vec<(Name, i64)>,
    #[serde(default, skip_serializing_if = "is_zero")]
    constant: i64,
}

/// The serialized form of an [`Affine`].
#[derive(Serialize, Deserialize)]
#[serde(rename = "Affine", deny_unknown_fields)]
struct AffineData {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    axes: Vec<(u32, i64)>,
    #[serde(default, skip_serializing_if = "is_default")]
    offset: SymExpr,
}

fn is_zero(x: &i64) -> bool {
    *x == 0
}
fn is_default(x: &SymExpr) -> bool {
    *x == SymExpr::default()
}

impl From<SymExpr> for SymData {
    fn from(form: SymExpr) -> Self {
        SymData { terms: form.terms.to_vec(), constant: form.constant }
    }
}
impl TryFrom<SymData> for SymExpr {
    type Error = &'static str;
    fn try_from(data: SymData) -> Result<Self, Self::Error> {
        let add = |form: SymExpr, (name, c)| form.add_term(name, c);
        data.terms.into_iter().try_fold(SymExpr::constant(data.constant), add).ok_or(TOO_LARGE)
    }
}
impl From<Affine> for AffineData {
    fn from(form: Affine) -> Self {
        AffineData { axes: form.axes.to_vec(), offset: form.offset }
    }
}
impl TryFrom<AffineData> for Affine {
    type Error = &'static str;
    fn try_from(data: AffineData) -> Result<Self, Self::Error> {
        let constant = Affine { axes: SmallVec::new(), offset: data.offset };
        data.axes.into_iter().try_fold(constant, |form, (axis, c)| form.add_axis(axis, c)).ok_or(TOO_LARGE)
    }
}

const TOO_LARGE: &str = "a coefficient does not fit 64 bits";
