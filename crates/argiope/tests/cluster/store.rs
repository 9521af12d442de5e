//! A private object store: an S3 server that may be stopped, or a directory; with access to its contents.

use crate::site::{Site, script};
use argiope_cluster::objects::{ObjectSettings, Objects, open, stream};
use argiope_lab::TestServer;
use argiope_local::links::read_segment;
use argiope_model::RequestKind;
use argiope_store::links::PageLinks;
use argiope_store::warc::{VisitOutcome, VisitReader};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) struct Store {
    directory: tempfile::TempDir,
    pub(crate) objects: Arc<dyn Objects>,
    is_s3: bool,
}

impl Store {
    /// A new S3 server; the site's configuration names its bucket. None if the test is to be skipped.
    pub(crate) fn on_s3(site: &mut Site, more: &str) -> Option<Store> {
        TestServer::S3.address()?;
        let directory = tempfile::tempdir().expect("a temporary directory");
        let root = directory.path().join("servers");
        script(&root, &["up", "--only", "s3", "--owner", &std::process::id().to_string()]);
        let text = script(&root, &["env"]);
        let words = text.split_whitespace().filter_map(|word| word.split_once('='));
        let variables: BTreeMap<String, String> =
            words.map(|(name, value)| (name.to_owned(), value.trim_matches('\'').to_owned())).collect();
        let settings = ObjectSettings {
            bucket: variables["ARGIOPE_TEST_S3_BUCKET"].clone(),
            region: None,
            endpoint: Some(variables["ARGIOPE_TEST_S3"].clone()),
        };
        let objects = open(&settings, &|name| variables.get(name).cloned()).expect("a store");
        let credentials = variables.iter().filter(|(name, _)| name.starts_with("AWS_"));
        site.environment.extend(credentials.map(|(name, value)| (name.clone(), value.clone())));
        site.configure_storage(&format!(
            "  html_bucket: \"{}\"\n  html_endpoint: \"{}\"\n{more}",
            settings.bucket,
            settings.endpoint.unwrap_or_default()
        ));
        Some(Store { directory, objects, is_s3: true })
    }

    /// A directory that all share.
    pub(crate) fn in_directory(site: &Site, more: &str) -> Store {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let bucket = format!("file://{}/store", directory.path().display());
        site.configure_storage(&format!("  html_bucket: \"{bucket}\"\n{more}"));
        let settings = ObjectSettings { bucket, ..ObjectSettings::default() };
        Store { directory, objects: open(&settings, &|_| None).expect("a store"), is_s3: false }
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("servers")
    }

    /// `stop`, `start`, `pause` or `resume`.
    pub(crate) fn server(&self, what: &str) {
        script(&self.root(), &[what, "s3"]);
    }

    pub(crate) fn keys(&self, prefix: &str, ending: &str) -> Vec<String> {
        let keys = self.objects.list(prefix, None, 100_000).expect("a list");
        keys.into_iter().filter(|key| key.ends_with(ending)).collect()
    }

    /// How often each page is in the files of the bucket. Every file is whole.
    pub(crate) fn pages(&self) -> BTreeMap<String, usize> {
        let mut pages = BTreeMap::new();
        for key in self.keys("warc/", ".warc.gz") {
            let length = self.objects.head(&key).expect("an answer").expect("an object").length;
            let bytes = self.objects.get(&key, 0, length).expect("an object");
            let mut visits = VisitReader::new(bytes.as_slice(), 0);
            while let Some(visit) = visits.next_visit().unwrap_or_else(|e| panic!("{key}: {e}")) {
                let metadata = visit.metadata;
                if metadata.visit.kind == RequestKind::Page && metadata.outcome == VisitOutcome::Final {
                    *pages.entry(metadata.visit.scheduled_url().as_str().to_owned()).or_default() += 1;
                }
            }
            assert_eq!(visits.complete(), length, "{key} ends in the middle of a visit");
        }
        pages
    }

    /// The pages whose links are in the segments of the bucket.
    pub(crate) fn linking_pages(&self) -> Vec<String> {
        let mut pages = Vec::new();
        for key in self.keys("links/", ".zst") {
            let length = self.objects.head(&key).expect("an answer").expect("an object").length;
            let source = stream(self.objects.clone(), key.clone(), 0);
            let mut add = |page: &PageLinks<'_>| {
                pages.push(page.source.to_owned());
                Ok(())
            };
            read_segment(&key, source, length, &mut add).unwrap_or_else(|e| panic!("{e}"));
        }
        pages
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.is_s3 {
            script(&self.root(), &["down"]);
        }
    }
}
