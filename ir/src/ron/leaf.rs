//! Serialization of leaves: types, numbers, data, ops and attributes, most of them as strings in text form.

use crate::attr::{Attr, Attrs};
use crate::builder::find_op;
use crate::name::Name;
use crate::op::Op;
use crate::scalar::Scalar;
use crate::text::{whole, write_array, write_scalar, write_type};
use crate::types::Type;
use crate::value::Array;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use std::fmt;

impl Serialize for Type {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::new();
        write_type(self, &mut text);
        serializer.serialize_str(&text)
    }
}
impl<'de> Deserialize<'de> for Type {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "?" {
            return Ok(Type::unknown());
        }
        whole(&text, |p| p.ty()).map_err(D::Error::custom)
    }
}

impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::new();
        write_scalar(*self, true, &mut text);
        serializer.serialize_str(&text)
    }
}
impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        whole(&String::deserialize(deserializer)?, |p| p.scalar(None)).map_err(D::Error::custom)
    }
}

impl Serialize for Array {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::new();
        write_array(self, &mut text);
        serializer.serialize_str(&text)
    }
}
impl<'de> Deserialize<'de> for Array {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        whole(&String::deserialize(deserializer)?, |p| p.array()).map_err(D::Error::custom)
    }
}

impl Serialize for Op {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}
impl<'de> Deserialize<'de> for Op {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        find_op(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for Attrs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}
impl<'de> Deserialize<'de> for Attrs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ByName;
        impl<'de> Visitor<'de> for ByName {
            type Value = Attrs;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("attributes by name, as `{\"axes\": Ints([0])}`")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Attrs, A::Error> {
                let mut attrs = Attrs::new();
                while let Some((name, value)) = entries.next_entry::<Name, Attr>()? {
                    if attrs.get(&name).is_some() {
                        return Err(A::Error::custom(format!("attribute `{name}` is given twice")));
                    }
                    attrs.set(name, value);
                }
                Ok(attrs)
            }
        }
        deserializer.deserialize_map(ByName)
    }
}
