//! Interned names: of functions, symbols, values, attributes and styles.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{LazyLock, RwLock};

/// An interned string: copied and compared as a pointer, ordered and hashed by its text. So results that
/// depend on a `Name` do not depend on other names that the process interned before.
#[derive(Clone, Copy)]
pub struct Name(&'static Kept);

/// An interned text. A [`Name`] points to one, which takes half the size of a `&str`.
#[derive(Default)]
struct Kept(&'static str);

/// All names, and free space for more.
#[derive(Default)]
struct Interner {
    names: FxHashMap<&'static str, Name>,
    bytes: &'static mut [u8],
    kept: &'static mut [Kept],
}

static INTERNER: LazyLock<RwLock<Interner>> = LazyLock::new(Default::default);

/// The size of the blocks in which texts are allocated, in bytes.
const PIECE: usize = 1 << 14;

impl Interner {
    /// Copies a text to memory that lives as long as the process.
    fn text(&mut self, text: &str) -> &'static str {
        if text.len() > PIECE / 16 {
            return Box::leak(text.into());
        }
        if self.bytes.len() < text.len() {
            self.bytes = Box::leak(vec![0; PIECE].into());
        }
        let (kept, room) = std::mem::take(&mut self.bytes).split_at_mut(text.len());
        self.bytes = room;
        kept.copy_from_slice(text.as_bytes());
        // The bytes are those of a text.
        std::str::from_utf8(kept).unwrap_or_default()
    }

    /// Interns a new name.
    fn keep(&mut self, text: &str) -> Name {
        let text = self.text(text);
        if self.kept.is_empty() {
            self.kept = Box::leak((0..PIECE / size_of::<Kept>()).map(|_| Kept::default()).collect());
        }
        let name = match std::mem::take(&mut self.kept).split_first_mut() {
            Some((kept, room)) => {
                (*kept, self.kept) = (Kept(text), room);
                Name(kept)
            }
            None => Name(Box::leak(Kept(text).into())),
        };
        self.names.insert(text, name);
        name
    }
}

impl Name {
    /// Interns `text`. The text of every distinct name lives as long as the process.
    pub fn new(text: &str) -> Self {
        let known = |interner: &Interner| interner.names.get(text).copied();
        if let Some(found) = known(&INTERNER.read().unwrap_or_else(|e| e.into_inner())) {
            return found;
        }
        let mut interner = INTERNER.write().unwrap_or_else(|e| e.into_inner());
        if let Some(found) = known(&interner) {
            return found;
        }
        interner.keep(text)
    }

    /// The text.
    #[inline]
    pub fn as_str(self) -> &'static str {
        self.0.0
    }
}

impl Deref for Name {
    type Target = str;
    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
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
        self.as_str() == other
    }
}
impl PartialEq<&str> for Name {
    #[inline]
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}
impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        if self == other { Ordering::Equal } else { self.as_str().cmp(other.as_str()) }
    }
}
impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
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
        f.write_str(self.as_str())
    }
}
impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
impl Serialize for Name {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.as_str())
    }
}
impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d).map(Name::from)
    }
}
