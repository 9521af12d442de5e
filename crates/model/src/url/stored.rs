//! Both forms of a URL as one text, for stores.

use super::{Scheme, Url, UrlError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

impl Url {
    /// Both forms as one text, for stores: the request form, then a space and the normal form if it differs.
    pub fn to_stored(&self) -> Cow<'_, str> {
        if self.is_normal() {
            Cow::Borrowed(self.as_str())
        } else {
            Cow::Owned(format!("{} {}", self.as_str(), self.normal()))
        }
    }

    /// Reads back the output of [`Url::to_stored`]. A text without a normal form is its own normal form. Checks the
    /// shape only: do not use it for outside data.
    pub fn from_stored(text: &str) -> Result<Url, UrlError> {
        let (text, normal) = match text.split_once(' ') {
            Some((request, normal)) => (request, Some(normal)),
            None => (text, None),
        };
        let malformed = || UrlError::Invalid(text.to_owned());
        let scheme =
            [Scheme::Https, Scheme::Http].into_iter().find(|scheme| text.starts_with(scheme.prefix()));
        let authority = scheme.ok_or_else(malformed)?.prefix().len();
        let rest = text.as_bytes().get(authority..).unwrap_or(&[]);
        let host_length = memchr::memchr(b'/', rest).ok_or_else(malformed)?;
        if host_length == 0 {
            return Err(UrlError::NoHost);
        }
        let path_start = authority + host_length;
        let path_end = memchr::memchr(b'?', text.as_bytes()).unwrap_or(text.len());
        if path_end < path_start {
            return Err(malformed());
        }
        let same_origin = |normal: &str| {
            normal.get(..path_start) == text.get(..path_start)
                && normal.as_bytes().get(path_start) == Some(&b'/')
        };
        if normal.is_some_and(|normal| !same_origin(normal) || normal.contains(' ') || normal == text) {
            return Err(malformed());
        }
        let normal = normal.map(str::as_bytes);
        let mut stored = Vec::with_capacity(text.len() + normal.map_or(0, <[u8]>::len));
        stored.extend_from_slice(text.as_bytes());
        Url::from_parts(stored, path_start, path_end, normal)
    }
}

impl Serialize for Url {
    /// For stores, which must keep the identity: see [`Url::to_stored`]. Records for people have the request form.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.to_stored())
    }
}

impl<'de> Deserialize<'de> for Url {
    /// Stored URLs only: see [`Url::from_stored`].
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Url, D::Error> {
        let text = String::deserialize(from)?;
        Url::from_stored(&text).map_err(serde::de::Error::custom)
    }
}
