//! Interned names: of functions, symbols, values, attributes and styles.

use rustc_hash::FxHashSet;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{LazyLock, RwLock};

/// An interned string: copied and compared as a pointer, ordered and hashed by its text, so that
/// nothing that depends on a `Name` depends on what else the process interned before.
#[derive(Clone, Copy)]
pub struct Name(&'static str);

static INTERNER: LazyLock<RwLock<FxHashSet<&'static str>>> = LazyLock::new(Default::default);

impl Name {
    /// Interns `text`. The text of every distinct name is kept for the life of the process.
    pub fn new(text: &str) -> Self {
        let known = |set: &FxHashSet<&'static str>| set.get(text).copied();
        if let Some(found) = known(&INTERNER.read().unwrap_or_else(|e| e.into_inner())) {
            return Name(found);
        }
        let mut set = INTERNER.write().unwrap_or_else(|e| e.into_inner());
        if let Some(found) = known(&set) {
            return Name(found);
        }
        let leaked: &'static str = Box::leak(text.into());
        set.insert(leaked);
        Name(leaked)
    }

    /// The text.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl Deref for Name {
    type Target = str;
    fn deref(&self) -> &str {
        self.0
    }
}
impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}
impl Eq for Name {}
impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}
impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}
impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(other.0)
    }
}
impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}
impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Name::new(text)
    }
}
impl From<String> for Name {
    fn from(text: String) -> Self {
        Name::new(&text)
    }
}
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}
impl Serialize for Name {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.0)
    }
}
impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d).map(Name::from)
    }
}
