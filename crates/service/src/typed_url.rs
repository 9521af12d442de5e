//! A URL as a person types it: without a scheme it may be an https or an http one.

use argiope_config::parse_typed;
use argiope_model::{JobSpec, Url};

/// The URLs that may be meant, the likeliest first; or why it is none.
pub(crate) fn spellings(typed: &str, spec: &JobSpec) -> Result<Vec<Url>, String> {
    let rules = spec.normal_form.compile();
    let mut all = vec![parse_typed(typed, &rules).map_err(|problem| problem.message().to_owned())?];
    if !typed.contains("://") {
        all.extend(parse_typed(&format!("http://{}", typed.trim_start_matches('/')), &rules).ok());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_scheme_both_are_meant() {
        let spec = JobSpec::default();
        let texts = |typed| -> Vec<String> {
            spellings(typed, &spec).unwrap().iter().map(|url| url.as_str().to_owned()).collect()
        };
        assert_eq!(texts("a.test/x"), ["https://a.test/x", "http://a.test/x"]);
        assert_eq!(texts("http://a.test/x"), ["http://a.test/x"]);
        assert!(spellings("mailto:somebody@a.test", &spec).is_err());
    }
}
