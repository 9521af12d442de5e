//! Encodes forms as browsers do.

use bytes::Bytes;

/// `application/x-www-form-urlencoded`
pub fn encode_form<'f>(fields: impl Iterator<Item = (&'f str, &'f str)>) -> Bytes {
    let mut text = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in fields {
        text.append_pair(name, value);
    }
    Bytes::from(text.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_encoded() {
        let fields = [("user", "a b"), ("password", "p&q=é")];
        assert_eq!(encode_form(fields.into_iter()), "user=a+b&password=p%26q%3D%C3%A9");
    }
}
