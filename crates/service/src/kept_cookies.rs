//! The cookies that a job stores between runs: a file in the data directory.

use argiope_config::{Failure, parse_cookies, read_cookies_text};
use argiope_engine::CookieKeeper;
use argiope_fetch::cookies::{Cookie, netscape};
use argiope_model::{JobId, PublicSuffixes};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// `cookies/JOB.txt` of a data directory, readable by its owner only.
#[derive(Clone, Debug)]
pub struct KeptCookies {
    path: PathBuf,
}

impl KeptCookies {
    pub fn of(data: &Path, job: JobId) -> KeptCookies {
        KeptCookies { path: data.join("cookies").join(format!("{job}.txt")) }
    }

    pub fn read(&self, suffixes: &PublicSuffixes) -> Result<Vec<Cookie>, Failure> {
        let text = match read_cookies_text(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                return Err(Failure::failed(format!("cannot read {}: {error}", self.path.display())));
            }
        };
        parse_cookies(&text, suffixes).map_err(|error| {
            Failure::failed(format!("the cookies in {} cannot be read: {error}", self.path.display()))
                .hint("delete the file to continue without them")
        })
    }

    /// With the job.
    pub fn delete(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

impl CookieKeeper for KeptCookies {
    /// A file is replaced as a whole, so that a crash leaves the old one or the new one.
    fn keep(&self, cookies: &mut dyn Iterator<Item = &Cookie>) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let new = self.path.with_extension("new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(netscape::write(cookies).as_bytes())?;
        file.sync_data()?;
        fs::rename(&new, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_cookies_are_read_back_and_are_nobody_elses() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let suffixes = PublicSuffixes::bundled();
        let kept = KeptCookies::of(folder.path(), JobId(7));
        assert_eq!(kept.read(&suffixes).unwrap(), []);
        let cookies = parse_cookies("a.test\tFALSE\t/\tFALSE\t0\tsid\tx\n", &suffixes).unwrap();
        kept.keep(&mut cookies.iter()).unwrap();
        assert_eq!(kept.read(&suffixes).unwrap(), cookies);
        assert_eq!(fs::metadata(&kept.path).unwrap().permissions().mode() & 0o777, 0o600);
        kept.delete().unwrap();
        kept.delete().unwrap();
        assert_eq!(kept.read(&suffixes).unwrap(), []);
    }
}
