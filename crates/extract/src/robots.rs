//! Robots directives of a page: `<meta name=robots>` and `X-Robots-Tag`.

use serde::Serialize;

/// The strictest of all that apply to us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RobotsDirectives {
    /// Fetched, links followed, but neither exported nor searchable.
    pub noindex: bool,
    /// None of the page's links is followed.
    pub nofollow: bool,
}

impl RobotsDirectives {
    /// The content of a robots meta tag that applies to us.
    pub fn merge(&mut self, directives: &str) {
        for directive in directives.split(',') {
            self.merge_one(directive.trim());
        }
    }

    /// One value of `X-Robots-Tag`. After an agent name and a colon, the rest of the value applies only to that agent.
    pub fn merge_header(&mut self, value: &str, agent: &str) {
        let mut for_us = true;
        for part in value.split(',') {
            let mut directive = part.trim();
            if let Some((name, rest)) = directive.split_once(':')
                && !takes_a_value(name.trim())
            {
                for_us = names_us(name.trim(), agent);
                directive = rest.trim();
            }
            if for_us {
                self.merge_one(directive);
            }
        }
    }

    fn merge_one(&mut self, directive: &str) {
        let is = |word: &str| directive.eq_ignore_ascii_case(word);
        self.noindex |= is("noindex") || is("none");
        self.nofollow |= is("nofollow") || is("none");
    }
}

/// Whether a robots rule for `name` applies to us.
pub(crate) fn names_us(name: &str, agent: &str) -> bool {
    name == "*"
        || name.eq_ignore_ascii_case("robots")
        || (!agent.is_empty() && name.eq_ignore_ascii_case(agent))
}

fn takes_a_value(name: &str) -> bool {
    ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(value: &str) -> (bool, bool) {
        let mut robots = RobotsDirectives::default();
        robots.merge_header(value, "argiope");
        (robots.noindex, robots.nofollow)
    }

    #[test]
    fn directives_are_read_in_any_case_and_spacing() {
        assert_eq!(header("noindex"), (true, false));
        assert_eq!(header(" NoFollow ,  noarchive"), (false, true));
        assert_eq!(header("none"), (true, true));
        assert_eq!(header("index, follow"), (false, false));
        assert_eq!(header(""), (false, false));
    }

    #[test]
    fn a_rule_for_another_agent_is_not_for_us() {
        assert_eq!(header("googlebot: noindex, nofollow"), (false, false));
        assert_eq!(header("Argiope: noindex"), (true, false));
        assert_eq!(header("googlebot: noindex, argiope: nofollow"), (false, true));
        assert_eq!(header("unavailable_after: 25 Jun 2030 15:00:00 PST, noindex"), (true, false));
    }
}
