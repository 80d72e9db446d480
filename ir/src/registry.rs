//! The process-wide registry: every op, interface and storage style that a linked crate submitted, sorted by
//! name. All other parts find ops here, those of the core and of other crates alike.

use crate::attr::Attrs;
use crate::dtype::DType;
use crate::name::Name;
use crate::op::{Arity, NoLoop, Op, OpDef};
use crate::value::{StyleDef, split};
use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use std::any::{Any, TypeId};
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{LazyLock, OnceLock};
use thiserror::Error;

/// The crate and line of a registration. Made by [`origin!`](crate::origin).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Origin {
    /// The crate.
    pub krate: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The source file.
    pub file: &'static str,
    /// The line.
    pub line: u32,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}:{})", self.krate, self.file, self.line)
    }
}

/// The source location of this macro's call, as an [`Origin`].
#[macro_export]
macro_rules! origin {
    () => {
        $crate::Origin {
            krate: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            file: file!(),
            line: line!(),
        }
    };
}

/// A submitted op.
pub struct OpEntry {
    /// The definition.
    pub def: &'static OpDef,
    /// The place that submitted it.
    pub origin: Origin,
}
inventory::collect!(OpEntry);

/// Registers ops: `register_op!(ADD, SUB);`, each a `static OpDef`.
#[macro_export]
macro_rules! register_op {
    ($($def:path),+ $(,)?) => {$(
        $crate::inventory::submit! { $crate::OpEntry { def: &$def, origin: $crate::origin!() } }
    )+};
}

/// The subject of an interface.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Subject {
    /// The op of this name.
    Op(&'static str),
    /// The storage style of this name.
    Style(&'static str),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Op(name) => write!(f, "op `{name}`"),
            Subject::Style(name) => write!(f, "storage style `{name}`"),
        }
    }
}

/// An interface: a property of an op or a storage style besides its definition. The type of `value`
/// identifies the interface.
pub struct InterfaceEntry {
    /// The subject.
    pub of: Subject,
    /// The interface's type.
    pub kind: fn() -> TypeId,
    /// The interface's type, for messages.
    pub kind_name: fn() -> &'static str,
    /// The value.
    pub value: &'static (dyn Any + Sync),
    /// The place that submitted it.
    pub origin: Origin,
}
inventory::collect!(InterfaceEntry);

/// Registers an interface of an op: `register_interface!("exp", Cost, &Cost { cycles: 20 });`
///
/// Or of a storage style: `register_interface!(style "diagonal", Element, &ELEMENT);`
#[macro_export]
macro_rules! register_interface {
    (style $name:expr, $kind:ty, $value:expr) => {
        $crate::register_interface!(@ $crate::Subject::Style($name), $kind, $value);
    };
    ($op:expr, $kind:ty, $value:expr) => {
        $crate::register_interface!(@ $crate::Subject::Op($op), $kind, $value);
    };
    (@ $of:expr, $kind:ty, $value:expr) => {
        $crate::inventory::submit! { $crate::InterfaceEntry {
            of: $of,
            kind: ::std::any::TypeId::of::<$kind>,
            kind_name: ::std::any::type_name::<$kind>,
            value: { const VALUE: &'static $kind = $value; VALUE },
            origin: $crate::origin!(),
        } }
    };
}

/// A submitted style.
pub struct StyleEntry {
    /// The definition.
    pub def: &'static StyleDef,
    /// Who submitted it.
    pub origin: Origin,
}
inventory::collect!(StyleEntry);

/// Registers a storage style, a `static StyleDef`.
#[macro_export]
macro_rules! register_style {
    ($def:path) => {
        $crate::inventory::submit! { $crate::StyleEntry { def: &$def, origin: $crate::origin!() } }
    };
}

/// A conflict between registrations.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RegistryError {
    /// One name, two registrations.
    #[error("{what} `{name}` is registered twice: by {first} and by {second}")]
    Duplicate {
        /// "op", "storage style", or an interface and its op.
        what: String,
        /// The name.
        name: String,
        /// The first place.
        first: Origin,
        /// The second place.
        second: Origin,
    },
    /// An interface for an op or style that is not registered.
    #[error("{origin} registers {interface} for {of}, which no linked crate registers")]
    Dangling {
        /// The op or style.
        of: Subject,
        /// The interface's type.
        interface: &'static str,
        /// The place.
        origin: Origin,
    },
    /// An elementwise op whose loops are wrong.
    #[error("{message} ({origin})")]
    Loop {
        /// The error, with the op's name.
        message: String,
        /// The place.
        origin: Origin,
    },
}

/// All registrations.
pub struct Registry {
    ops: IndexMap<&'static str, (Op, Origin)>,
    by_name: FxHashMap<&'static str, Op>,
    interfaces: FxHashMap<(usize, TypeId), &'static (dyn Any + Sync)>,
    styles: IndexMap<&'static str, (&'static StyleDef, Origin)>,
    clashes: Vec<RegistryError>,
    /// The clashes, and the ops that are defined wrongly.
    errors: OnceLock<Vec<RegistryError>>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let registry = Registry::build(
        inventory::iter::<OpEntry>.into_iter(),
        inventory::iter::<InterfaceEntry>.into_iter(),
        inventory::iter::<StyleEntry>.into_iter(),
    );
    (0..).zip(registry.ops()).for_each(|(number, (op, _))| op.number.store(number, Relaxed));
    registry
});

/// The registry of this process.
pub fn registry() -> &'static Registry {
    &REGISTRY
}

/// The error of an elementwise op without attributes that chooses a wrong loop at one of the dtypes.
fn broken_loop(op: Op) -> Option<String> {
    let (Arity::Exactly(count), true, []) = (op.arity, op.is_elementwise(), op.attrs) else { return None };
    DType::ALL.into_iter().find_map(|dtype| match op.loop_at(&vec![dtype; count], &Attrs::new()) {
        Err(NoLoop::Broken(message)) => Some(message),
        _ => None,
    })
}

impl Registry {
    /// Builds a registry from entries in any order; conflicts become [`errors`](Registry::errors).
    pub fn build<'a>(
        ops: impl Iterator<Item = &'a OpEntry>,
        interfaces: impl Iterator<Item = &'a InterfaceEntry>,
        styles: impl Iterator<Item = &'a StyleEntry>,
    ) -> Registry {
        let mut errors = Vec::new();
        let mut ops: Vec<_> = ops.map(|e| (e.def.name, e.origin, Op(e.def))).collect();
        ops.sort_by_key(|&(name, origin, _)| (name, origin));
        let mut table: IndexMap<&'static str, (Op, Origin)> = IndexMap::new();
        for (name, origin, op) in ops {
            if let Some((_, first)) = table.get(name) {
                errors.push(duplicate("op".into(), name, *first, origin));
            } else {
                table.insert(name, (op, origin));
            }
        }
        let mut styles: Vec<_> = styles.map(|e| (e.def.name, e.origin, e.def)).collect();
        styles.sort_by_key(|&(name, origin, _)| (name, origin));
        let mut style_table: IndexMap<&'static str, (&'static StyleDef, Origin)> = IndexMap::new();
        for (name, origin, def) in styles {
            if let Some((_, first)) = style_table.get(name) {
                errors.push(duplicate("storage style".into(), name, *first, origin));
            } else {
                style_table.insert(name, (def, origin));
            }
        }
        let mut entries: Vec<_> = interfaces.collect();
        entries.sort_by_key(|e| (e.of, (e.kind_name)(), e.origin));
        let mut found: FxHashMap<(usize, TypeId), &'static (dyn Any + Sync)> = FxHashMap::default();
        let mut places: FxHashMap<(usize, TypeId), Origin> = FxHashMap::default();
        for e in entries {
            let (name, address) = match e.of {
                Subject::Op(name) => (name, table.get(name).map(|(op, _)| std::ptr::from_ref(op.0) as usize)),
                Subject::Style(name) => (name, style_table.get(name).map(|(def, _)| std::ptr::from_ref(*def) as usize)),
            };
            let Some(address) = address else {
                errors.push(RegistryError::Dangling { of: e.of, interface: (e.kind_name)(), origin: e.origin });
                continue;
            };
            let key = (address, (e.kind)());
            if let Some(first) = places.get(&key) {
                errors.push(duplicate((e.kind_name)().to_string(), name, *first, e.origin));
            } else {
                places.insert(key, e.origin);
                found.insert(key, e.value);
            }
        }
        let by_name = table.iter().map(|(name, (op, _))| (*name, *op)).collect();
        Registry {
            ops: table,
            by_name,
            interfaces: found,
            styles: style_table,
            clashes: errors,
            errors: OnceLock::new(),
        }
    }

    /// The op of this name.
    pub fn op(&self, name: &str) -> Option<Op> {
        self.by_name.get(name).copied()
    }
    /// All ops with their origins, sorted by name.
    pub fn ops(&self) -> impl ExactSizeIterator<Item = (Op, Origin)> + '_ {
        self.ops.values().copied()
    }
    /// All storage styles with their origins, sorted by name.
    pub fn styles(&self) -> impl ExactSizeIterator<Item = (&'static StyleDef, Origin)> + '_ {
        self.styles.values().copied()
    }
    /// The storage style of a name, which may include arguments.
    pub fn style(&self, name: Name) -> Option<&'static StyleDef> {
        self.styles.get(split(name.as_str()).0).map(|&(style, _)| style)
    }
    /// The interface `T` of the op or style at an address.
    fn interface<T: Any + Sync>(&self, address: usize) -> Option<&'static T> {
        (*self.interfaces.get(&(address, TypeId::of::<T>()))? as &dyn Any).downcast_ref()
    }
    /// Conflicts between registrations, and ops that are defined wrongly. A program should refuse to continue
    /// if there are any.
    pub fn errors(&self) -> &[RegistryError] {
        // Ops may use the registry to choose their loops, so that they are tried after it is built.
        self.errors.get_or_init(|| {
            let broken = self.ops().filter_map(|(op, origin)| {
                let message = broken_loop(op)?;
                Some(RegistryError::Loop { message, origin })
            });
            self.clashes.iter().cloned().chain(broken).collect()
        })
    }
    /// The names closest to `name` among `names`, for "did you mean".
    pub fn suggest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
        let count = name.chars().count();
        let limit = (count / 3).max(1);
        // Among names at equal distance, prefers one with the same first letter.
        let nearness = |n: &'a str| (edit_distance(name, n), !n.starts_with(name.chars().next().unwrap_or('\0')), n);
        names.map(nearness).filter(|(d, ..)| *d <= limit && *d < count).min().map(|(.., n)| n)
    }
}

impl Op {
    /// The interface `T` of this op, if some crate registered one.
    pub fn interface<T: Any + Sync>(self) -> Option<&'static T> {
        registry().interface(std::ptr::from_ref(self.0) as usize)
    }
}

impl StyleDef {
    /// The interface `T` of this style, if some crate registered one.
    pub fn interface<T: Any + Sync>(&'static self) -> Option<&'static T> {
        registry().interface(std::ptr::from_ref(self) as usize)
    }
}

fn duplicate(what: String, name: &str, first: Origin, second: Origin) -> RegistryError {
    RegistryError::Duplicate { what, name: name.to_string(), first, second }
}

/// Levenshtein distance, in characters; names longer than 64 count as far from everything.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    if a.len() > 64 || b.len() > 64 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Interface: the cost of one element of an op, in additions of floats: a twentieth of a nanosecond in
/// vector code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The number of additions; an op without this interface counts as 1.
    pub cycles: u32,
}

impl Op {
    /// The cost of one element by the [`Cost`] interface; 1 without one.
    pub fn cycles(self) -> u32 {
        self.interface::<Cost>().map_or(1, |c| c.cycles)
    }
}
