//! How a job logs in: a `cookies.txt` file, and its login form with variables replaced.

use crate::environment::expand_text;
use crate::failure::Failure;
use crate::read::Environment;
use argiope_fetch::cookies::{Cookie, netscape};
use argiope_model::{Login, LoginForm, NormalRules, PublicSuffixes, Url};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// More than the cookies of a whole browser profile.
const MAX_BYTES: u64 = 16 << 20;

/// Reads and checks a cookies.txt file.
pub fn read_cookies_file(path: &Path) -> Result<String, Failure> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot read the cookies in {}: {error}", path.display()))
            .hint("give a file as curl and browser extensions write it (Netscape cookies.txt)")
    };
    let text = read_cookies_text(path).map_err(|error| unreadable(&error))?;
    parse_cookies(&text, &PublicSuffixes::bundled()).map_err(|error| unreadable(&error))?;
    Ok(text)
}

pub fn parse_cookies(text: &str, suffixes: &PublicSuffixes) -> Result<Vec<Cookie>, String> {
    netscape::parse(text, suffixes)
}

/// Reads a file of at most the size of a cookies.txt.
pub fn read_cookies_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("it is longer than any cookies.txt"));
    }
    Ok(text)
}

/// Replaces the variables of a login form.
pub fn login_form(login: &Login, environment: Environment<'_>) -> Result<LoginForm, Failure> {
    let wrong = |problem: String| Failure::usage(format!("'login': {problem}"));
    let url_of = |text: &str| {
        Url::parse(text, &NormalRules::default()).map_err(|error| wrong(format!("'{text}': {error}")))
    };
    let url = url_of(&login.url)?;
    let page = login.page.as_deref().map(url_of).transpose()?;
    let field = |(name, value): (&String, &String)| match expand_text(value, environment) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
