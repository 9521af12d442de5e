//! Sites that require a cookie: one sets it and redirects to the same URL, one has a login form.

use super::SiteKind;
use crate::answer::{Answer, HTML};
use crate::request::Request;
use crate::web::path_of;

/// The values that the form of [`SiteKind::Login`] accepts.
pub const LOGIN_USER: &str = "crawler";
pub const LOGIN_PASSWORD: &str = "open sesame";
/// Its response to a correct form, after the redirect.
pub const LOGIN_WELCOME: &str = "Sign out";

const SEEN: &str = "seen=yes";
/// A plus has to be encoded in a form.
const TOKEN: &str = "4f+2a";
const SESSION: &str = "session=0123456789abcdef";

/// The response without the cookie; `None` leaves it to the rest of the site.
pub(crate) fn answer(kind: SiteKind, request: &Request<'_>, body: &[u8]) -> Option<Answer> {
    let path = path_of(request.target);
    match kind {
        SiteKind::Cookies if path != "/robots.txt" && !has(request, SEEN) => Some(
            Answer::redirect(302, request.target).header("Set-Cookie", format!("{SEEN}; Path=/; HttpOnly")),
        ),
        SiteKind::Login if path == "/login" => Some(login(request, body)),
        SiteKind::Login if path == "/signin" => Some(sign_in(request, body)),
        SiteKind::Login if path == "/account" && has(request, SESSION) => Some(Answer::bytes(
            HTML,
            format!("<title>Account</title><a href=/>Home</a><p>{LOGIN_WELCOME}").into_bytes(),
        )),
        SiteKind::Login if path != "/robots.txt" && !has(request, SESSION) => {
            Some(Answer::redirect(302, "/login"))
        }
        _ => None,
    }
}

fn login(request: &Request<'_>, body: &[u8]) -> Answer {
    let form =
        "<title>Log in</title><form method=post><input name=user><input name=password type=password></form>";
    if request.method != "POST" {
        return Answer::bytes(HTML, form.as_bytes().to_vec());
    }
    let right = format!("password={}&user={LOGIN_USER}", LOGIN_PASSWORD.replace(' ', "+"));
    if body == right.as_bytes() {
        Answer::redirect(303, "/account").header("Set-Cookie", format!("{SESSION}; Path=/; HttpOnly"))
    } else {
        Answer::bytes(HTML, format!("{form}<p>Wrong name or password").into_bytes())
    }
}

/// The same with a token that the form and a cookie have to agree on.
fn sign_in(request: &Request<'_>, body: &[u8]) -> Answer {
    let form = format!(
        "<title>Sign in</title><form><input name=q><input type=hidden name=token value=wrong></form><form method=post>\
         <input type=hidden name=token value='{TOKEN}'><input name=user><input name=password></form>"
    );
    let mut fields: Vec<&[u8]> = body.split(|byte| *byte == b'&').collect();
    fields.sort_unstable();
    let password = format!("password={}", LOGIN_PASSWORD.replace(' ', "+"));
    let (token, user) = (format!("token={}", TOKEN.replace('+', "%2B")), format!("user={LOGIN_USER}"));
    let right = [password.as_bytes(), token.as_bytes(), user.as_bytes()];
    if request.method == "POST" && fields == right && has(request, "guard=1") {
        return Answer::redirect(303, "/account")
            .header("Set-Cookie", format!("{SESSION}; Path=/; HttpOnly"));
    }
    let status = if request.method == "POST" { 403 } else { 200 };
    Answer { status, ..Answer::bytes(HTML, form.into_bytes()) }.header("Set-Cookie", "guard=1; Path=/")
}

fn has(request: &Request<'_>, cookie: &str) -> bool {
    request.cookie.split(';').any(|pair| pair.trim() == cookie)
}
