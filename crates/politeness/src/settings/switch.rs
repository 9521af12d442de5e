//! A part of the configuration that can be switched off as a whole (`breaker: false`) or set in detail.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch<T> {
    Off,
    On(T),
}

impl<T: Default> Default for Switch<T> {
    fn default() -> Switch<T> {
        Switch::On(T::default())
    }
}

impl<T: Serialize> Serialize for Switch<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Switch::Off => to.serialize_bool(false),
            Switch::On(details) => details.serialize(to),
        }
    }
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Switch<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Switch<T>, D::Error> {
        from.deserialize_any(SwitchVisitor(PhantomData))
    }
}

struct SwitchVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for SwitchVisitor<T> {
    type Value = Switch<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false, or a map of settings")
    }

    fn visit_bool<E: Error>(self, on: bool) -> Result<Switch<T>, E> {
        Ok(if on { Switch::On(T::default()) } else { Switch::Off })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Switch<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Switch::On)
    }
}
