//! A reference to a record in the archive.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Where the first record of a visit is: `FILE:OFFSET`, FILE relative to the root of the archive.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArchiveRef {
    pub file: Arc<str>,
    pub offset: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a reference to an archive record; write FILE:OFFSET, as in the field archive of a page")]
pub struct ArchiveRefError {
    pub text: String,
}

impl fmt::Display for ArchiveRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.offset)
    }
}

impl FromStr for ArchiveRef {
    type Err = ArchiveRefError;

    fn from_str(text: &str) -> Result<ArchiveRef, ArchiveRefError> {
        let error = || ArchiveRefError { text: text.to_owned() };
        let (file, offset) = text.rsplit_once(':').ok_or_else(error)?;
        let leads_outside = file.split('/').any(|part| part.is_empty() || part == "." || part == "..");
        if leads_outside || file.contains(['\\', '\0', '\r', '\n']) || offset.starts_with('+') {
            return Err(error());
        }
        Ok(ArchiveRef { file: file.into(), offset: offset.parse().map_err(|_| error())? })
    }
}

impl Serialize for ArchiveRef {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ArchiveRef {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<ArchiveRef, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_the_archive_is_written_file_and_offset() {
        let at: ArchiveRef = "a-1:2.warc.gz:77".parse().unwrap();
        assert_eq!(at, ArchiveRef { file: "a-1:2.warc.gz".into(), offset: 77 });
        assert_eq!(at.to_string(), "a-1:2.warc.gz:77");
        let json = serde_json::to_string(&at).unwrap();
        assert_eq!(json, r#""a-1:2.warc.gz:77""#);
        assert_eq!(serde_json::from_str::<ArchiveRef>(&json).unwrap(), at);
    }

    #[test]
    fn a_place_outside_the_archive_is_refused() {
        for text in
            ["", "x", "x:", ":1", "../x:1", "/etc/passwd:0", "a//b:1", "a:-1", "a:+1", "a/./b:1", "a\n:1"]
        {
            assert_eq!(text.parse::<ArchiveRef>().unwrap_err().text, text);
        }
    }
}
