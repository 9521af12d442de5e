//! What every adapter of [`Objects`] has to fulfil.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use argiope_cluster::objects::{ObjectMetadata, Objects};
use argiope_store::error::ErrorKind;

/// `prefix` begins every key, so that runs do not meet.
pub(crate) fn run(objects: &dyn Objects, prefix: &str) {
    let key = |rest: &str| format!("{prefix}/{rest}");
    objects.check().unwrap();
    an_object_is_read_as_it_was_put(objects, &key("a/whole"));
    a_new_one_takes_no_place_of_another(objects, &key("b/new"));
    ranges_are_cut_at_the_end(objects, &key("c/ranges"));
    what_is_not_there_is_said(objects, &key("d/absent"));
    files_of_any_length_are_put(objects, &key("e/file"));
    keys_are_listed_in_order(objects, &key("list"));
    odd_keys_are_kept_apart(objects, &key("odd"));
}

fn object_metadata(value: &str) -> ObjectMetadata {
    vec![
        (String::from("url"), value.to_owned()),
        (String::from("crawled-at"), String::from("2024-07-01T00:00:00Z")),
    ]
}

fn an_object_is_read_as_it_was_put(objects: &dyn Objects, key: &str) {
    for body in [&b"first"[..], b"", b"a second, longer one"] {
        let url = "https://example.com/a?b=c&d=%20+e";
        objects.put(key, body, &object_metadata(url)).unwrap();
        assert_eq!(objects.get(key, 0, 1000).unwrap(), body);
        let head = objects.head(key).unwrap().unwrap();
        assert_eq!(head.length, body.len() as u64);
        assert_eq!((head.fact("url"), head.fact("crawled-at")), (Some(url), Some("2024-07-01T00:00:00Z")));
        assert_eq!(head.fact("other"), None);
    }
    objects.delete(key).unwrap();
    assert_eq!(objects.head(key).unwrap(), None);
    objects.delete(key).unwrap();
}

fn a_new_one_takes_no_place_of_another(objects: &dyn Objects, key: &str) {
    assert!(objects.put_new(key, b"mine", &object_metadata("x")).unwrap());
    assert!(!objects.put_new(key, b"yours", &object_metadata("y")).unwrap());
    assert_eq!(objects.get(key, 0, 100).unwrap(), b"mine");
    assert_eq!(objects.head(key).unwrap().unwrap().fact("url"), Some("x"));
    std::thread::scope(|scope| {
        let key = format!("{key}-raced");
        let racers: Vec<_> = (0..4u8)
            .map(|n| {
                let key = key.clone();
                scope.spawn(move || objects.put_new(&key, &[n; 100], &ObjectMetadata::new()).unwrap())
            })
            .collect();
        let won: Vec<bool> = racers.into_iter().map(|racer| racer.join().unwrap()).collect();
        let stored = objects.get(&key, 0, 1000).unwrap();
        assert_eq!(stored.len(), 100);
        assert!(won[usize::from(stored[0])], "{won:?}, {}", stored[0]);
    });
}

fn ranges_are_cut_at_the_end(objects: &dyn Objects, key: &str) {
    let body: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    objects.put(key, &body, &ObjectMetadata::new()).unwrap();
    for (offset, length) in [(0, 1), (1, 99_999), (99_999, 1), (50_000, 1000), (99_990, 1000), (0, 0), (7, 0)]
    {
        let end = body.len().min(offset + length);
        assert_eq!(
            objects.get(key, offset as u64, length as u64).unwrap(),
            &body[offset..end],
            "{offset} {length}"
        );
    }
    assert_eq!(objects.get(key, 100_000, 10).unwrap(), b"");
    assert_eq!(objects.get(key, 1 << 40, 10).unwrap(), b"");
}

fn what_is_not_there_is_said(objects: &dyn Objects, key: &str) {
    let error = objects.get(key, 0, 10).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains(key), "{error}");
    assert_eq!(objects.head(key).unwrap(), None);
    for key in ["", "/x", "a/../b", "a b"] {
        assert_eq!(
            objects.put(key, b"", &ObjectMetadata::new()).unwrap_err().kind,
            ErrorKind::Usage,
            "{key}"
        );
    }
}

fn files_of_any_length_are_put(objects: &dyn Objects, key: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    for length in [0, 1, 8 << 20, (8 << 20) + 1, 21_000_000] {
        let body: Vec<u8> = (0..length).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        std::fs::write(&path, &body).unwrap();
        objects.put_file(key, &path, &object_metadata("x")).unwrap();
        let head = objects.head(key).unwrap().unwrap();
        assert_eq!((head.length, head.fact("url")), (u64::from(length), Some("x")));
        let mut read = Vec::new();
        while read.len() < body.len() {
            read.extend(objects.get(key, read.len() as u64, 5_000_000).unwrap());
        }
        assert!(read == body, "{length}");
    }
    assert!(objects.put_file(key, &directory.path().join("none"), &ObjectMetadata::new()).is_err());
}

fn keys_are_listed_in_order(objects: &dyn Objects, prefix: &str) {
    let names = ["b/2", "a", "b/1", "b/3/x", "c", "b-0"];
    for name in names {
        objects.put(&format!("{prefix}/{name}"), b"x", &object_metadata("x")).unwrap();
    }
    let list = |rest: &str, after: Option<&str>, limit| {
        let after = after.map(|after| format!("{prefix}/{after}"));
        let keys = objects.list(&format!("{prefix}/{rest}"), after.as_deref(), limit).unwrap();
        keys.iter().map(|key| key[prefix.len() + 1..].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(list("", None, 100), ["a", "b-0", "b/1", "b/2", "b/3/x", "c"]);
    assert_eq!(list("b", None, 100), ["b-0", "b/1", "b/2", "b/3/x"]);
    assert_eq!(list("b/", None, 2), ["b/1", "b/2"]);
    assert_eq!(list("b/", Some("b/2"), 2), ["b/3/x"]);
    assert!(list("none/", None, 10).is_empty());
}

fn odd_keys_are_kept_apart(objects: &dyn Objects, prefix: &str) {
    let keys = ["a:80/x", "a%3A80/x", "a+b", "a=b&c", "~a", "a'(b)*!", "a,b;c@d$"];
    for key in keys {
        objects.put(&format!("{prefix}/{key}"), key.as_bytes(), &ObjectMetadata::new()).unwrap();
    }
    for key in keys {
        assert_eq!(objects.get(&format!("{prefix}/{key}"), 0, 100).unwrap(), key.as_bytes(), "{key}");
    }
    assert_eq!(objects.list(&format!("{prefix}/"), None, 100).unwrap().len(), keys.len());
}
