//! Numbers with their nouns.

/// `1 page`, `2 pages`
pub fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one_and_the_rest_are_many() {
        assert_eq!(plural(1, "page", "pages"), "1 page");
        assert_eq!(
            (plural(0, "page", "pages"), plural(21, "page", "pages")),
            ("0 pages".into(), "21 pages".into())
        );
    }
}
