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

/// All names, and room for the text of more.
#[derive(Default)]
struct Interner {
    names: FxHashSet<&'static str>,
    room: &'static mut [u8],
}

static INTERNER: LazyLock<RwLock<Interner>> = LazyLock::new(Default::default);

/// Names are kept together in pieces of so many bytes.
const PIECE: usize = 1 << 14;

impl Interner {
    /// Keeps a text for the life of the process.
    fn keep(&mut self, text: &str) -> &'static str {
        if text.len() > PIECE / 16 {
            return Box::leak(text.into());
        }
        if self.room.len() < text.len() {
            self.room = Box::leak(vec![0; PIECE].into());
        }
        let (kept, room) = std::mem::take(&mut self.room).split_at_mut(text.len());
        self.room = room;
        kept.copy_from_slice(text.as_bytes());
        // It is what it was before: text.
        std::str::from_utf8(kept).unwrap_or_default()
    }
}

impl Name {
    /// Interns `text`. The text of every distinct name is kept for the life of the process.
    pub fn new(text: &str) -> Self {
        let known = |interner: &Interner| interner.names.get(text).copied();
        if let Some(found) = known(&INTERNER.read().unwrap_or_else(|e| e.into_inner())) {
            return Name(found);
        }
        let mut interner = INTERNER.write().unwrap_or_else(|e| e.into_inner());
        if let Some(found) = known(&interner) {
            return Name(found);
        }
        let kept = interner.keep(text);
        interner.names.insert(kept);
        Name(kept)
    }

    /// The text.
    #[inline]
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl Deref for Name {
    type Target = str;
    #[inline]
    fn deref(&self) -> &str {
        self.0
    }
}
impl PartialEq for Name {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}
impl Eq for Name {}
impl PartialEq<str> for Name {
    #[inline]
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}
impl PartialEq<&str> for Name {
    #[inline]
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
