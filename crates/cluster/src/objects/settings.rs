//! From the section `storage` of the configuration to the object store.

use super::{Directory, Objects, S3};
use argiope_store::error::{ErrorKind, Result, StoreError};
use std::path::Path;
use std::sync::Arc;

const BUCKET: &str = "storage.html_bucket";
const REGION: &str = "storage.html_bucket_region";
const ENDPOINT: &str = "storage.html_endpoint";
/// Google's store is S3-compatible here, with HMAC keys as credentials.
const GOOGLE: &str = "https://storage.googleapis.com";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectSettings {
    /// `html_bucket`: a name, `s3://NAME`, `gs://NAME` or `file:///PATH`.
    pub bucket: String,
    /// `html_bucket_region`
    pub region: Option<String>,
    /// `html_endpoint`: for servers other than Amazon's.
    pub endpoint: Option<String>,
}

/// Does not connect: see [`Objects::check`]. `variable` reads the environment: credentials are in `AWS_ACCESS_KEY_ID`,
/// `AWS_SECRET_ACCESS_KEY` and, for temporary ones, `AWS_SESSION_TOKEN`.
pub fn open(
    settings: &ObjectSettings,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Arc<dyn Objects>> {
    let bucket = settings.bucket.as_str();
    if let Some(path) = bucket.strip_prefix("file://") {
        if !path.starts_with('/') {
            return Err(wrong(BUCKET, format!("'{bucket}' is not a path; write file:///PATH")));
        }
        return Ok(Arc::new(Directory::new(Path::new(path))));
    }
    let (is_google, name) = match bucket.split_once("://") {
        None => (false, bucket),
        Some(("s3", name)) => (false, name),
        Some(("gs", name)) => (true, name),
        Some((scheme, _)) => {
            let message =
                format!("'{scheme}' is unknown; a bucket is NAME, s3://NAME, gs://NAME or file:///PATH");
            return Err(wrong(BUCKET, message));
        }
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if name.is_empty() || !name.bytes().all(plain) {
        return Err(wrong(BUCKET, format!("'{name}' is not a bucket name")));
    }
    let given = |value: &Option<String>| value.clone().filter(|text| !text.is_empty());
    let endpoint = given(&settings.endpoint).or_else(|| is_google.then(|| GOOGLE.to_owned()));
    let region = given(&settings.region).or_else(|| variable("AWS_REGION")).filter(|text| !text.is_empty());
    let region = match (region, &endpoint) {
        (Some(region), _) => region,
        // Servers other than Amazon's accept any region, and most expect this one.
        (None, Some(_)) => String::from("us-east-1"),
        (None, None) => {
            return Err(wrong(REGION, "is required for a bucket at Amazon, for example us-east-1"));
        }
    };
    let secret = |name: &str| {
        let missing = || {
            wrong(
                BUCKET,
                format!("the environment variable {name} is not set; it is part of the bucket's credentials"),
            )
        };
        variable(name).filter(|text| !text.is_empty()).ok_or_else(missing)
    };
    let (key, secret) = (secret("AWS_ACCESS_KEY_ID")?, secret("AWS_SECRET_ACCESS_KEY")?);
    let token = variable("AWS_SESSION_TOKEN").filter(|text| !text.is_empty());
    let s3 = S3::new(name, &region, endpoint.as_deref(), key, secret, token);
    Ok(Arc::new(s3.map_err(|error| match endpoint {
        Some(_) if error.kind == ErrorKind::Usage => StoreError { subject: ENDPOINT.into(), ..error },
        _ => error,
    })?))
}

fn wrong(setting: &str, message: impl Into<String>) -> StoreError {
    StoreError::new(ErrorKind::Usage, setting, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(name: &str) -> Option<String> {
        matches!(name, "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY").then(|| String::from("x"))
    }

    fn settings(bucket: &str, region: &str, endpoint: &str) -> ObjectSettings {
        ObjectSettings {
            bucket: bucket.into(),
            region: (!region.is_empty()).then(|| region.into()),
            endpoint: (!endpoint.is_empty()).then(|| endpoint.into()),
        }
    }

    #[test]
    fn every_kind_of_bucket_is_found() {
        for (bucket, region, endpoint, place) in [
            ("file:///data/html", "", "", "file:///data/html"),
            (
                "crawler-html",
                "eu-west-1",
                "",
                "s3://crawler-html at https://crawler-html.s3.eu-west-1.amazonaws.com/",
            ),
            ("a.b", "eu-west-1", "", "s3://a.b at https://s3.eu-west-1.amazonaws.com/a.b/"),
            ("s3://x", "", "http://127.0.0.1:9000", "s3://x at http://127.0.0.1:9000/x/"),
            ("gs://x", "", "", "s3://x at https://storage.googleapis.com/x/"),
        ] {
            assert_eq!(open(&settings(bucket, region, endpoint), &variables).unwrap().place(), place);
        }
    }

    #[test]
    fn what_is_wrong_names_the_setting() {
        for (bucket, region, endpoint, named) in [
            ("file://data", "", "", "storage.html_bucket: 'file://data'"),
            ("", "r", "", "storage.html_bucket: ''"),
            ("a/b", "r", "", "storage.html_bucket: 'a/b'"),
            ("hdfs://x", "", "", "storage.html_bucket: 'hdfs'"),
            ("x", "", "", "storage.html_bucket_region: is required"),
            ("x", "", "ftp://x", "storage.html_endpoint: "),
            ("x", "", "nonsense", "storage.html_endpoint: "),
        ] {
            let error = open(&settings(bucket, region, endpoint), &variables).err().unwrap();
            assert_eq!(error.kind, ErrorKind::Usage);
            assert!(error.to_string().starts_with(named), "{error}");
        }
        let error = open(&settings("x", "r", ""), &|_| None).err().unwrap();
        assert!(error.to_string().contains("AWS_ACCESS_KEY_ID"), "{error}");
    }
}
