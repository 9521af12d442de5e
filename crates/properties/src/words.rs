//! Small texts that come back from stores and people: each that is read is written the same way.

use argiope_fetch::{AddressPolicy, Proxy};
use argiope_model::SimHash;
use argiope_store::archive::ArchiveRef;
use argiope_store::warc::{Digest, cdxj};
use std::path::{Component, Path};

/// The bytes are such a text.
pub(crate) fn are_written_as_they_are_read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(digest) = Digest::parse(text) {
        assert!(digest.to_string().eq_ignore_ascii_case(text));
    }
    if let Some(hash) = SimHash::parse(text) {
        assert!(hash.to_string().eq_ignore_ascii_case(text));
    }
    if let Ok(place) = text.parse::<ArchiveRef>() {
        assert_eq!(place.to_string().parse::<ArchiveRef>().ok(), Some(place.clone()));
        let path = Path::new(&*place.file);
        assert!(path.components().all(|part| matches!(part, Component::Normal(_))), "{path:?} leads outside");
    }
    if let Ok(network) = AddressPolicy::parse_network(text) {
        assert_eq!(AddressPolicy::parse_network(&network.to_string()), Ok(network));
    }
    let _ = Proxy::parse(text);
    let key = cdxj::surt(text);
    assert!(!key.contains([' ', '\n', '\r']) || text.contains([' ', '\n', '\r']), "{key:?}");
}
