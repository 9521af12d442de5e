//! The form of a login page: hidden fields, such as a token against forged requests, must be sent along with the user's
//! fields. Not used for crawled pages.

use html5gum::{DefaultEmitter, EndTag, StartTag, Token, Tokenizer};

/// Further hidden fields of a form are not sent.
const MOST_FIELDS: usize = 100;

/// The hidden fields of the first form that has one of these fields, except those named here.
pub fn hidden_fields(page: &[u8], names: &[&str]) -> Vec<(String, String)> {
    let mut emitter = DefaultEmitter::default();
    // So that what looks like a tag in a script is not treated as one.
    emitter.naively_switch_states(true);
    let mut form: Option<Form> = None;
    for Ok(token) in Tokenizer::new_with_emitter(page, emitter) {
        match token {
            Token::StartTag(tag) if tag.name.as_slice() == b"form" => form = Some(Form::default()),
            Token::StartTag(tag) if tag.name.as_slice() == b"input" => {
                if let Some(form) = &mut form {
                    form.add(&tag, names);
                }
            }
            Token::EndTag(EndTag { name, .. }) if name.as_slice() == b"form" => {
                if let Some(form) = form.take().filter(|form| form.is_wanted) {
                    return form.hidden;
                }
            }
            _ => {}
        }
    }
    form.filter(|form| form.is_wanted).map(|form| form.hidden).unwrap_or_default()
}

#[derive(Default)]
struct Form {
    hidden: Vec<(String, String)>,
    is_wanted: bool,
}

impl Form {
    fn add(&mut self, input: &StartTag<()>, names: &[&str]) {
        let value = |name: &[u8]| {
            let value = input.attributes.iter().find(|(known, _)| known.as_slice() == name);
            value.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
        };
        let Some(name) = value(b"name").filter(|name| !name.is_empty()) else { return };
        if names.contains(&name.as_str()) {
            self.is_wanted = true;
        } else if value(b"type").is_some_and(|kind| kind.trim().eq_ignore_ascii_case("hidden"))
            && self.hidden.len() < MOST_FIELDS
        {
            self.hidden.push((name, value(b"value").unwrap_or_default()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_fields_are_those_of_the_form_with_the_fields_of_the_user() {
        let page = b"<form action=/search><input type=hidden name=lang value=en><input name=q></form>
            <script>\"<form><input name=user>\"</script><input type=hidden name=stray value=1>
            <FORM method=post><INPUT TYPE='Hidden' NAME=token VALUE='a&amp;b=c'><input name=user>
            <input type=hidden name=empty><input type=hidden name=password value=no><input type=submit name=go></FORM>
            <form><input name=user><input type=hidden name=later value=1></form>";
        let fields = hidden_fields(page, &["user", "password"]);
        let expected =
            [("token", "a&b=c"), ("empty", "")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(fields, expected);
        assert!(hidden_fields(page, &["login"]).is_empty());
    }

    #[test]
    fn a_form_that_is_not_closed_ends_with_the_page() {
        let page = b"<form><input name=user><input type=hidden name=t value=1";
        assert!(hidden_fields(page, &["user"]).is_empty(), "the last tag is cut off");
        let page = b"<form><input name=user><input type=hidden name=t value=1><p>";
        assert_eq!(hidden_fields(page, &["user"]), [(String::from("t"), String::from("1"))]);
    }
}
