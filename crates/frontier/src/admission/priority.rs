//! The order of URLs: a number from 0 to 100, lower is sooner. It is a sum of signals that are known when a URL is
//! first discovered; their weights are chosen so that the bands are as described in [`Band`].

use argiope_model::{Millis, Url};

const DEFAULT: i32 = 50;
const PER_DEPTH: i32 = 10;
const HOME_PAGE: i32 = -20;
/// A page at most this many links from a seed is near. The bonus moves a near page into the high band.
const NEAR_DEPTH: u32 = 2;
const NEAR: i32 = -40;
/// Content gains as much as two links of distance; lists of content lose as much.
const CONTENT: i32 = -20;
const LISTING: i32 = 20;
/// A sitemap's priority of 0.0 or 1.0, against its default of 0.5.
const SITEMAP_PRIORITY: f32 = 10.0;
const OLDEST_DAYS: u64 = 30;
/// `categories`
const LONGEST_WORD: usize = 10;
const DAY_MS: u64 = 86_400_000;

/// What a sitemap states about a URL.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SitemapHints {
    /// 0.0 to 1.0.
    pub priority: Option<f32>,
    pub last_modified: Option<Millis>,
}

/// The bands of priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Band {
    /// 0 to 33: seeds, home pages, pages near a seed.
    High,
    /// 34 to 66: content further away, `/about`, `/contact`.
    Medium,
    /// 67 to 100: pagination, archives, deep pages.
    Low,
}

impl Band {
    pub fn of(priority: u8) -> Band {
        match priority {
            0..=33 => Band::High,
            34..=66 => Band::Medium,
            _ => Band::Low,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Band::High => "high",
            Band::Medium => "medium",
            Band::Low => "low",
        }
    }
}

/// The priority of a URL when it is first discovered. `authority` is what the job gives its host
/// ([`super::JobRules::authority`]).
pub fn priority(
    url: &Url,
    depth: u32,
    is_seed: bool,
    sitemap: SitemapHints,
    authority: u8,
    now: Millis,
) -> u8 {
    if is_seed {
        return 0;
    }
    let kind = kind_of(url);
    let is_near = depth <= NEAR_DEPTH || kind == Kind::HomePage;
    let mut number = DEFAULT + PER_DEPTH.saturating_mul(i32::try_from(depth.min(100)).unwrap_or(100));
    number += match kind {
        Kind::HomePage => HOME_PAGE,
        Kind::Content => CONTENT,
        Kind::Listing => LISTING,
        Kind::Other => 0,
    };
    // A list near a seed is still a list.
    if is_near && kind != Kind::Listing {
        number += NEAR;
    }
    if let Some(given) = sitemap.priority.filter(|given| given.is_finite()) {
        // Clamped, so that the conversion loses only the fraction.
        number += ((0.5 - given.clamp(0.0, 1.0)) * 2.0 * SITEMAP_PRIORITY).round() as i32;
    }
    if let Some(changed) = sitemap.last_modified {
        let days = now.0.saturating_sub(changed.0) / DAY_MS;
        number += i32::try_from(days.min(OLDEST_DAYS)).unwrap_or(0);
    }
    number -= i32::from(authority);
    u8::try_from(number.clamp(0, 100)).unwrap_or(100)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    HomePage,
    Content,
    /// Pagination and archives: pages that exist to lead to others.
    Listing,
    Other,
}

fn kind_of(url: &Url) -> Kind {
    if url.path() == "/" && url.query().is_none() {
        return Kind::HomePage;
    }
    if is_listing(url) {
        return Kind::Listing;
    }
    if is_content(url) { Kind::Content } else { Kind::Other }
}

fn is_listing(url: &Url) -> bool {
    let is_number = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
    let mut after_page = false;
    let mut all_numbers = true;
    for segment in segments(url) {
        let number = is_number(segment);
        let mut buffer = [0; LONGEST_WORD];
        let word = lower_case(segment, &mut buffer);
        if (after_page && number) || is_list(word) {
            return true;
        }
        all_numbers &= number;
        after_page = matches!(word, b"page" | b"pages");
    }
    // `/2024/05/` is the archive of a month; `/2024/05/title` is not.
    let is_archive = all_numbers && url.path() != "/";
    is_archive
        || (url.query().is_some() && url.parameters().any(|(name, _)| is_list_parameter(name.as_bytes())))
}

fn is_list(word: &[u8]) -> bool {
    matches!(
        word,
        b"archive" | b"archives" | b"tag" | b"tags" | b"category" | b"categories" | b"author" | b"authors"
    )
}

fn is_list_parameter(name: &[u8]) -> bool {
    let mut buffer = [0; LONGEST_WORD];
    matches!(
        lower_case(name, &mut buffer),
        b"page" | b"p" | b"pg" | b"paged" | b"offset" | b"start" | b"sort" | b"orderby" | b"order"
    )
}

fn is_content(url: &Url) -> bool {
    let mut last: &[u8] = b"";
    for segment in segments(url) {
        let mut buffer = [0; LONGEST_WORD];
        if is_section(lower_case(segment, &mut buffer)) {
            return true;
        }
        last = segment;
    }
    // A title in the URL: words joined by hyphens.
    last.iter().filter(|b| **b == b'-').count() >= 3
}

fn is_section(word: &[u8]) -> bool {
    matches!(
        word,
        b"blog"
            | b"news"
            | b"article"
            | b"articles"
            | b"post"
            | b"posts"
            | b"story"
            | b"stories"
            | b"about"
            | b"about-us"
            | b"contact"
            | b"contact-us"
            | b"doc"
            | b"docs"
            | b"wiki"
            | b"product"
            | b"products"
            | b"guide"
    )
}

fn segments(url: &Url) -> impl Iterator<Item = &[u8]> {
    url.path().as_bytes().split(|b| *b == b'/').filter(|segment| !segment.is_empty())
}

/// The text in lower case; empty if it is longer than any word that is looked for.
fn lower_case<'b>(text: &[u8], buffer: &'b mut [u8; LONGEST_WORD]) -> &'b [u8] {
    match buffer.get_mut(..text.len()) {
        Some(lower) => {
            lower.copy_from_slice(text);
            lower.make_ascii_lowercase();
            lower
        }
        None => b"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_model::NormalRules;

    const NOW: Millis = Millis(1_767_323_045_678);

    fn url(path: &str) -> Url {
        Url::parse(&format!("https://h.test{path}"), &NormalRules::default()).unwrap()
    }

    fn plain(path: &str, depth: u32) -> u8 {
        priority(&url(path), depth, false, SitemapHints::default(), 0, NOW)
    }

    fn band(path: &str, depth: u32) -> Band {
        Band::of(plain(path, depth))
    }

    #[test]
    fn seeds_come_first_of_all() {
        assert_eq!(priority(&url("/tag/x?page=9"), 9, true, SitemapHints::default(), 0, NOW), 0);
    }

    #[test]
    fn each_link_of_distance_costs_ten() {
        assert_eq!(plain("/x", 3), 80);
        assert_eq!(plain("/x", 4), 90);
        assert_eq!(plain("/x", 2) - plain("/x", 1), 10);
        assert_eq!(plain("/x", u32::MAX), 100);
    }

    #[test]
    fn a_home_page_is_twenty_better_than_another_page_at_its_distance() {
        assert_eq!(plain("/", 2) + 20, plain("/x", 2));
    }

    #[test]
    fn the_bands_are_what_they_are_called() {
        for path in ["/", "/x", "/about", "/some/where?id=3"] {
            assert_eq!(band(path, 1), Band::High, "{path}");
            assert_eq!(band(path, 2), Band::High, "{path}");
        }
        assert_eq!(band("/", 4), Band::High);
        for path in ["/blog/entry", "/about", "/contact", "/2024/05/how-to-bake-bread", "/News/x"] {
            assert_eq!(band(path, 3), Band::Medium, "{path}");
        }
        for path in ["/blog/page/2", "/?page=2", "/archive/", "/2024/05/", "/tag/rust", "/list?sort=price"] {
            for depth in [1, 2, 3, 9] {
                assert_eq!(band(path, depth), Band::Low, "{path}");
            }
        }
        for path in ["/x", "/blog/entry"] {
            assert_eq!(band(path, 6), Band::Low, "{path}");
        }
    }

    #[test]
    fn bands_divide_the_range_in_three() {
        let bands: Vec<Band> = [0, 33, 34, 66, 67, 100].into_iter().map(Band::of).collect();
        assert_eq!(bands, [Band::High, Band::High, Band::Medium, Band::Medium, Band::Low, Band::Low]);
    }

    #[test]
    fn a_page_ages_by_one_a_day_for_thirty_days() {
        let aged = |days: u64| {
            let sitemap = SitemapHints { last_modified: Some(Millis(NOW.0 - days * DAY_MS)), priority: None };
            priority(&url("/x"), 1, false, sitemap, 0, NOW)
        };
        assert_eq!(aged(0), plain("/x", 1));
        assert_eq!(aged(7), plain("/x", 1) + 7);
        assert_eq!(aged(30), plain("/x", 1) + 30);
        assert_eq!(aged(3000), plain("/x", 1) + 30);
        let future = SitemapHints { last_modified: Some(Millis(NOW.0 + DAY_MS)), priority: None };
        assert_eq!(priority(&url("/x"), 1, false, future, 0, NOW), plain("/x", 1));
    }

    #[test]
    fn sitemaps_and_authority_move_a_page() {
        let given = |value: f32| {
            let sitemap = SitemapHints { priority: Some(value), last_modified: None };
            priority(&url("/x"), 1, false, sitemap, 0, NOW)
        };
        assert_eq!(given(0.5), plain("/x", 1));
        assert_eq!(given(1.0), plain("/x", 1) - 10);
        assert_eq!(given(0.0), plain("/x", 1) + 10);
        assert_eq!(given(99.0), given(1.0));
        assert_eq!(given(f32::NAN), plain("/x", 1));
        assert_eq!(priority(&url("/x"), 1, false, SitemapHints::default(), 15, NOW), plain("/x", 1) - 15);
        assert_eq!(priority(&url("/x"), 1, false, SitemapHints::default(), 255, NOW), 0);
    }
}
