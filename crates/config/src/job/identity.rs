//! Which job a `crawl` command means: the one with its name, or else the one with the same seeds, list and job file.

use argiope_model::Url;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobIdentity {
    /// The key that the job is looked up by.
    pub key: String,
    /// Whether the key is a name that the user chose. Then the inputs may differ from those of the stored job:
    /// [`super::compare_for_resume`] and `list_digest` show that.
    pub named: bool,
    /// SHA-256 of the list's URLs, hex; lists are not part of the job's specification.
    pub list_digest: Option<String>,
}

impl JobIdentity {
    /// `job_file` is the content of the `-c` file. The order of seeds does not matter.
    pub fn new(
        name: Option<&str>,
        seeds: &[Url],
        list_digest: Option<&str>,
        job_file: Option<&[u8]>,
    ) -> JobIdentity {
        let key = match name {
            Some(name) => name.to_owned(),
            None => key_of_inputs(seeds, list_digest, job_file),
        };
        JobIdentity { key, named: name.is_some(), list_digest: list_digest.map(str::to_owned) }
    }
}

fn key_of_inputs(seeds: &[Url], list_digest: Option<&str>, job_file: Option<&[u8]>) -> String {
    let mut seeds: Vec<&str> = seeds.iter().map(Url::normal).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let mut hash = Sha256::new();
    for seed in seeds {
        hash.update(b"seed ");
        hash.update(seed.as_bytes());
        hash.update(b"\n");
    }
    if let Some(digest) = list_digest {
        hash.update(format!("list {digest}\n").as_bytes());
    }
    if let Some(content) = job_file {
        hash.update(format!("job {}\n", hex(&Sha256::digest(content))).as_bytes());
    }
    let mut key = hex(&hash.finalize());
    key.truncate(16);
    key
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seeds: &[&str], list: Option<&str>, file: Option<&[u8]>) -> String {
        let seeds: Vec<Url> = seeds.iter().map(|s| Url::from_stored(s).unwrap()).collect();
        JobIdentity::new(None, &seeds, list, file).key
    }

    #[test]
    fn the_same_inputs_are_the_same_job() {
        let a = key(&["https://a.test/", "https://b.test/"], None, None);
        assert_eq!(a, key(&["https://b.test/", "https://a.test/", "https://a.test/"], None, None));
        assert_eq!(a.len(), 16);
    }

    #[test]
    fn any_other_input_is_another_job() {
        let all = [
            key(&["https://a.test/"], None, None),
            key(&["https://a.test/x"], None, None),
            key(&["https://a.test/"], Some("d1"), None),
            key(&["https://a.test/"], Some("d2"), None),
            key(&["https://a.test/"], None, Some(b"depth: 1")),
            key(&[], None, Some(b"depth: 1")),
        ];
        let different: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len());
    }

    #[test]
    fn a_name_is_the_identity_whatever_the_inputs() {
        let seeds = [Url::from_stored("https://a.test/").unwrap()];
        let one = JobIdentity::new(Some("nightly"), &seeds, Some("d1"), None);
        let two = JobIdentity::new(Some("nightly"), &[], Some("d2"), None);
        assert_eq!(one.key, two.key);
        assert_ne!(one.list_digest, two.list_digest);
    }
}
