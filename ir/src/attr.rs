//! Attributes: the compile-time parameters of an instruction, and the schema that an op declares for them.

use crate::dtype::DType;
use crate::expr::ArrayExpr;
use crate::name::Name;
use crate::scalar::Scalar;
use crate::types::Dim;
use crate::value::Array;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "one variant an attribute kind, documented at AttrKind")]
pub enum Attr {
    Bool(bool),
    Int(i64),
    Str(Arc<str>),
    Ints(Arc<[i64]>),
    Dims(Arc<[Dim]>),
    Slices(Arc<[SliceSpec]>),
    DType(DType),
    Scalar(Scalar),
    Func(Name),
    Array(Arc<Array>),
    Expr(Arc<ArrayExpr>),
}

/// One axis of a slice, as in Python: `start:stop:step`. Negative positions count from the end, and all are
/// clamped to the extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceSpec {
    /// First position; `None` is the end from which `step` leads inside.
    pub start: Option<i64>,
    /// Position to stop before; `None` is past the other end.
    pub stop: Option<i64>,
    /// Distance between positions; never 0.
    pub step: i64,
}

impl SliceSpec {
    /// The whole axis.
    pub const FULL: SliceSpec = SliceSpec { start: None, stop: None, step: 1 };

    /// First position and number of positions on an axis of `extent` elements.
    pub fn resolve(self, extent: u64) -> (i64, u64) {
        let n = extent as i128;
        let step = self.step as i128;
        let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
        let place = |p: Option<i64>, default: i128| match p {
            None => default,
            Some(p) => {
                let p = p as i128;
                (if p < 0 { p + n } else { p }).clamp(low, high)
            }
        };
        let (start, stop) = if step > 0 {
            (place(self.start, 0), place(self.stop, n))
        } else {
            (place(self.start, n - 1), place(self.stop, -1))
        };
        let span = if step > 0 { stop - start } else { start - stop };
        let count = if step == 0 || span <= 0 { 0 } else { (span - 1) / step.abs() + 1 };
        (if count == 0 { 0 } else { start as i64 }, count as u64)
    }
}

/// The kind of value that an attribute takes, and its text form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttrKind {
    /// `true` or `false`.
    Bool,
    /// `3`, `-1`.
    Int,
    /// `"text"`.
    Str,
    /// `[0, 2]`.
    Ints,
    /// `[n, 3, ?]`.
    Dims,
    /// `[1:, ::-1, 2:8:3]`.
    Slices,
    /// `f64`.
    DType,
    /// A typed number: `2.0:f32`.
    Scalar,
    /// A function: `@name`.
    Func,
    /// Constant data: `[[1, 2], [3, 4]]:f32`.
    Array,
    /// The expression of an `arrayexpr`, with a syntax of its own.
    Expr,
}

impl Attr {
    /// Its kind.
    pub fn kind(&self) -> AttrKind {
        match self {
            Attr::Bool(_) => AttrKind::Bool,
            Attr::Int(_) => AttrKind::Int,
            Attr::Str(_) => AttrKind::Str,
            Attr::Ints(_) => AttrKind::Ints,
            Attr::Dims(_) => AttrKind::Dims,
            Attr::Slices(_) => AttrKind::Slices,
            Attr::DType(_) => AttrKind::DType,
            Attr::Scalar(_) => AttrKind::Scalar,
            Attr::Func(_) => AttrKind::Func,
            Attr::Array(_) => AttrKind::Array,
            Attr::Expr(_) => AttrKind::Expr,
        }
    }
}

/// Whether an attribute is required, and the meaning of its absence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Presence {
    /// Required.
    Required,
    /// May be absent; the op defines the meaning of its absence.
    Optional,
    /// Absent means `false`; an explicit `false` is removed.
    False,
    /// Absent means this integer.
    Int(i64),
}

/// The declaration of one attribute of an op.
#[derive(Clone, Copy, Debug)]
pub struct AttrDef {
    /// Its name in text.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: AttrKind,
    /// Whether it is required.
    pub presence: Presence,
    /// One line of documentation.
    pub doc: &'static str,
}

impl AttrDef {
    /// A required attribute.
    pub const fn required(name: &'static str, kind: AttrKind, doc: &'static str) -> Self {
        AttrDef { name, kind, presence: Presence::Required, doc }
    }
    /// An attribute that may be absent; the op defines the meaning of its absence.
    pub const fn optional(name: &'static str, kind: AttrKind, doc: &'static str) -> Self {
        AttrDef { name, kind, presence: Presence::Optional, doc }
    }
    /// A flag, false by default.
    pub const fn flag(name: &'static str, doc: &'static str) -> Self {
        AttrDef { name, kind: AttrKind::Bool, presence: Presence::False, doc }
    }
    /// An integer with a default.
    pub const fn int(name: &'static str, default: i64, doc: &'static str) -> Self {
        AttrDef { name, kind: AttrKind::Int, presence: Presence::Int(default), doc }
    }
}

/// The attributes of an instruction, in the order of the op's schema. Attributes at their default values are
/// left out.
///
/// Most instructions have none, so this is a single pointer; clones share its target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attrs(Option<Arc<Vec<(Name, Attr)>>>);

impl Attrs {
    /// No attributes.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds or replaces an attribute.
    pub fn with(mut self, name: impl Into<Name>, value: Attr) -> Self {
        self.set(name.into(), value);
        self
    }
    /// Adds or replaces an attribute.
    pub fn set(&mut self, name: Name, value: Attr) {
        let list = Arc::make_mut(self.0.get_or_insert_default());
        match list.iter_mut().find(|(n, _)| *n == name) {
            Some(slot) => slot.1 = value,
            None => list.push((name, value)),
        }
    }
    /// The attribute; `None` if it is absent or at its default.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&Attr> {
        self.list().iter().find(|(n, _)| *n == name).map(|(_, a)| a)
    }
    /// A flag; false if absent.
    #[inline]
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Attr::Bool(true)))
    }
    /// An integer.
    pub fn int(&self, name: &str) -> Option<i64> {
        if let Some(Attr::Int(i)) = self.get(name) { Some(*i) } else { None }
    }
    /// A list of integers.
    #[inline]
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        if let Some(Attr::Ints(v)) = self.get(name) { Some(v) } else { None }
    }
    /// A list of dims.
    pub fn dims(&self, name: &str) -> Option<&[Dim]> {
        if let Some(Attr::Dims(v)) = self.get(name) { Some(v) } else { None }
    }
    /// A list of slices.
    pub fn slices(&self, name: &str) -> Option<&[SliceSpec]> {
        if let Some(Attr::Slices(v)) = self.get(name) { Some(v) } else { None }
    }
    /// A dtype.
    pub fn dtype(&self, name: &str) -> Option<DType> {
        if let Some(Attr::DType(d)) = self.get(name) { Some(*d) } else { None }
    }
    /// A string.
    pub fn str(&self, name: &str) -> Option<&str> {
        if let Some(Attr::Str(s)) = self.get(name) { Some(s) } else { None }
    }
    /// A function's name.
    #[inline]
    pub fn func(&self, name: &str) -> Option<Name> {
        if let Some(Attr::Func(f)) = self.get(name) { Some(*f) } else { None }
    }
    /// The expression of an `arrayexpr`.
    #[inline]
    pub fn expr(&self) -> Option<&Arc<ArrayExpr>> {
        if let Some(Attr::Expr(e)) = self.get("expr") { Some(e) } else { None }
    }
    /// All attributes, in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (Name, &Attr)> {
        self.list().iter().map(|(n, a)| (*n, a))
    }
    /// True if there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
    #[inline]
    fn list(&self) -> &[(Name, Attr)] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }

    /// Checks against a schema, sorts in its order, and removes defaults. Reports every violation.
    pub fn normalize(self, schema: &[AttrDef]) -> Result<Attrs, Vec<String>> {
        if self.is_empty() && schema.is_empty() {
            return Ok(self);
        }
        let mut problems = Vec::new();
        for (name, value) in self.list() {
            match schema.iter().find(|d| *name == d.name) {
                None => problems.push(format!("unknown attribute `{name}`{}", known_attrs(schema))),
                Some(d) if d.kind != value.kind() => problems.push(format!(
                    "attribute `{name}` wants a value of kind {:?}, got {:?}",
                    d.kind,
                    value.kind()
                )),
                Some(_) => {}
            }
        }
        let mut ordered = Vec::new();
        for def in schema {
            match (self.get(def.name), def.presence) {
                (None, Presence::Required) => problems.push(format!("missing attribute `{}`: {}", def.name, def.doc)),
                (None, _) => {}
                (Some(Attr::Bool(false)), Presence::False) => {}
                (Some(Attr::Int(i)), Presence::Int(d)) if *i == d => {}
                (Some(value), _) => ordered.push((Name::new(def.name), value.clone())),
            }
        }
        match (problems.is_empty(), ordered.is_empty()) {
            (false, _) => Err(problems),
            (true, true) => Ok(Attrs::new()),
            (true, false) => Ok(Attrs(Some(Arc::new(ordered)))),
        }
    }
}

fn known_attrs(schema: &[AttrDef]) -> String {
    if schema.is_empty() {
        return "; this op has none".to_string();
    }
    let names: Vec<_> = schema.iter().map(|d| format!("`{}`", d.name)).collect();
    format!("; this op has {}", names.join(", "))
}
