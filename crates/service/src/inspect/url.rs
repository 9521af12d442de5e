//! What the crawler makes of a URL as it is written.

use argiope_config::parse_typed;
use argiope_model::{NormalRules, PublicSuffixes, Url};
use serde::Serialize;

/// The fields of each in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum InspectedUrl {
    Url {
        input: String,
        request: String,
        normal_form: String,
        host: String,
        root_domain: String,
        identity: String,
        key: String,
    },
    Refused {
        input: String,
        error: String,
    },
}

/// Inspects URLs by the default rules.
pub struct UrlInspector {
    rules: NormalRules,
    suffixes: PublicSuffixes,
}

impl Default for UrlInspector {
    fn default() -> UrlInspector {
        UrlInspector { rules: NormalRules::default(), suffixes: PublicSuffixes::bundled() }
    }
}

impl UrlInspector {
    pub fn inspect(&self, input: &str) -> InspectedUrl {
        let rules = &self.rules;
        // As crawl and why take it: a host without a scheme is one to ask by https.
        let parsed = Url::parse(input, rules).or_else(|error| parse_typed(input, rules).map_err(|_| error));
        let url = match parsed {
            Ok(url) => url,
            Err(error) => {
                return InspectedUrl::Refused { input: input.to_owned(), error: error.to_string() };
            }
        };
        let identity = url.identity();
        InspectedUrl::Url {
            input: input.to_owned(),
            request: url.as_str().to_owned(),
            normal_form: url.normal().to_owned(),
            host: url.host().to_owned(),
            root_domain: self.suffixes.root_domain(url.host()).to_owned(),
            identity: identity.hex(),
            key: identity.key(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_two_forms_and_what_is_none_has_a_reason() {
        let inspector = UrlInspector::default();
        match inspector.inspect("HTTP://www.Example.co.uk:80/a/../b?utm_source=x") {
            InspectedUrl::Url { normal_form, root_domain, .. } => {
                assert_eq!((&*normal_form, &*root_domain), ("http://www.example.co.uk/b", "example.co.uk"));
            }
            refused => panic!("{refused:?}"),
        }
        assert!(matches!(inspector.inspect("http://"), InspectedUrl::Refused { .. }));
    }
}
