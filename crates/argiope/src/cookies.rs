//! What a job logs in with: a `cookies.txt`, the form of its login with the values of variables, and the cookies that it
//! keeps from run to run.

use crate::config::{Environment, expand};
use crate::exit::Failure;
use argiope_engine::{CookieKeeper, LoginForm};
use argiope_fetch::cookies::{Cookie, netscape};
use argiope_model::{JobId, Login, NormalRules, PublicSuffixes, Url};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A browser's whole profile has less.
const MAX_BYTES: u64 = 16 << 20;

/// The text of a cookies.txt, checked.
pub(crate) fn read_cookies_file(path: &Path) -> Result<String, Failure> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot read the cookies in {}: {error}", path.display()))
            .hint("give a file as curl and browser extensions write it (Netscape cookies.txt)")
    };
    let text = read_text(path).map_err(|error| unreadable(&error))?;
    parse(&text, &PublicSuffixes::bundled()).map_err(|error| unreadable(&error))?;
    Ok(text)
}

pub(crate) fn parse(text: &str, suffixes: &PublicSuffixes) -> Result<Vec<Cookie>, String> {
    netscape::parse(text, suffixes)
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("it is longer than any cookies.txt"));
    }
    Ok(text)
}

/// The form with the values of its variables.
pub(crate) fn login_form(login: &Login, environment: Environment<'_>) -> Result<LoginForm, Failure> {
    let wrong = |problem: String| Failure::usage(format!("'login': {problem}"));
    let url_of = |text: &str| {
        Url::parse(text, &NormalRules::default()).map_err(|error| wrong(format!("'{text}': {error}")))
    };
    let url = url_of(&login.url)?;
    let page = login.page.as_deref().map(url_of).transpose()?;
    let field = |(name, value): (&String, &String)| match expand(value, environment) {
        Ok(value) => Ok((name.clone(), value)),
        Err(problem) => Err(wrong(format!("field '{name}': {problem}"))),
    };
    Ok(LoginForm {
        url,
        page,
        fields: login.fields.iter().map(field).collect::<Result<_, _>>()?,
        success_text: login.success_text.clone(),
        success_cookie: login.success_cookie.clone(),
    })
}

/// `cookies/JOB.txt` of a data directory, readable by its owner only.
#[derive(Clone, Debug)]
pub(crate) struct KeptCookies {
    path: PathBuf,
}

impl KeptCookies {
    pub(crate) fn of(data: &Path, job: JobId) -> KeptCookies {
        KeptCookies { path: data.join("cookies").join(format!("{job}.txt")) }
    }

    pub(crate) fn read(&self, suffixes: &PublicSuffixes) -> Result<Vec<Cookie>, Failure> {
        let text = match read_text(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                return Err(Failure::failed(format!("cannot read {}: {error}", self.path.display())));
            }
        };
        parse(&text, suffixes).map_err(|error| {
            Failure::failed(format!("the cookies in {} cannot be read: {error}", self.path.display()))
                .hint("delete the file to go on without them")
        })
    }
}

impl CookieKeeper for KeptCookies {
    /// A file is replaced whole, so that a crash leaves the old one or the new one.
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
        let cookies = parse("a.test\tFALSE\t/\tFALSE\t0\tsid\tx\n", &suffixes).unwrap();
        kept.keep(&mut cookies.iter()).unwrap();
        assert_eq!(kept.read(&suffixes).unwrap(), cookies);
        assert_eq!(fs::metadata(&kept.path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn variables_are_put_in_when_the_form_is_made() {
        let fields = [("user", "me"), ("password", "${PW}")];
        let login = Login {
            url: String::from("https://a.test/login"),
            fields: fields.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            ..Login::default()
        };
        let form = login_form(&login, &|name| (name == "PW").then(|| String::from("hunter2"))).unwrap();
        assert!(form.fields.contains(&(String::from("password"), String::from("hunter2"))));
        assert!(!format!("{form:?}").contains("hunter2"));
        let missing = login_form(&login, &|_| None).unwrap_err();
        assert!(missing.messages.concat().contains("'PW' is not set"), "{missing:?}");
    }
}
