//! Traps that a single URL reveals: a path that repeats itself, a calendar far from today, a session in the URL.
//! Nothing here allocates, because all of it runs for every link.

use argiope_model::Url;
use std::ops::RangeInclusive;

/// Digits before a month count as a year only if they can be one: `/item/4711/3` is not a calendar.
const PLAUSIBLE_YEARS: RangeInclusive<u16> = 1800..=2999;

const SHORTEST_SESSION_ID: usize = 8;

/// The result of one pass over a path: most paths have nothing that needs a closer look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PathShape {
    /// Segments; a trailing slash does not make a path deeper.
    pub(super) depth: usize,
    /// A segment begins with four digits.
    may_have_year: bool,
    /// A segment begins with a bracket.
    may_have_session: bool,
    /// An upper bound of the number of equal segments; much cheaper than the exact number.
    alike: u8,
}

/// Counts up to 15 in each of 16 places.
#[derive(Default)]
struct Tally(u64);

impl Tally {
    const FULL: u8 = 15;

    /// Counts one more in this place and returns the new count.
    fn add(&mut self, place: u8) -> u8 {
        let shift = u32::from(place & 15) * 4;
        let count = (self.0 >> shift) as u8 & Self::FULL;
        if count == Self::FULL {
            return count;
        }
        self.0 += 1 << shift;
        count + 1
    }
}

impl PathShape {
    pub(super) fn of(url: &Url) -> PathShape {
        let mut shape = PathShape::default();
        let mut tally = Tally::default();
        for segment in segments(url) {
            shape.depth += 1;
            // Equal segments have the same place; different ones rarely do.
            let ends =
                segment.first().unwrap_or(&0).wrapping_add(segment.last().unwrap_or(&0).wrapping_mul(3));
            shape.alike = shape.alike.max(tally.add(ends.wrapping_add(segment.len() as u8)));
            match segment {
                [b'(', ..] => shape.may_have_session = true,
                [b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', ..] => shape.may_have_year = true,
                _ => {}
            }
        }
        shape
    }
}

/// The path's segments as bytes.
fn segments(url: &Url) -> impl Iterator<Item = &[u8]> + Clone {
    url.path().as_bytes().split(|b| *b == b'/').filter(|segment| !segment.is_empty())
}

/// A segment that occurs in the path more often than `most`.
pub(super) fn repeated_segment(url: &Url, shape: PathShape, most: u32) -> Option<&str> {
    if u32::from(shape.alike) <= most && shape.alike < Tally::FULL {
        return None;
    }
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut rest = segments(url);
    // A segment that occurs more often has begun before the last `most` segments.
    for _ in most..shape.depth {
        let segment = rest.next()?;
        if 1 + rest.clone().filter(|other| *other == segment).count() > most {
            return std::str::from_utf8(segment).ok();
        }
    }
    None
}

/// A year in a date of the path or the query that lies outside of `years`.
pub(super) fn calendar_year_outside(url: &Url, shape: PathShape, years: &RangeInclusive<u16>) -> Option<u16> {
    let in_path = if shape.may_have_year { year_in_path(url, years) } else { None };
    in_path.or_else(|| if url.query().is_some() { year_in_query(url, years) } else { None })
}

/// `/2024/05`, `/2024/05/12`, `/2024-05`, `/2024-05-12`.
fn year_in_path(url: &Url, years: &RangeInclusive<u16>) -> Option<u16> {
    let mut rest = segments(url).peekable();
    while let Some(segment) = rest.next() {
        let year = match rest.peek() {
            Some(month) if segment.len() == 4 && is_month(month) => number(segment),
            _ => year_of_date(segment),
        };
        if let Some(year) = year.filter(|year| PLAUSIBLE_YEARS.contains(year) && !years.contains(year)) {
            return Some(year);
        }
    }
    None
}

/// `year=2024`, `date=2024-05-12`, `month=202405`, `day=20240512`. The name says that it is a date, so any number can
/// be a year.
fn year_in_query(url: &Url, years: &RangeInclusive<u16>) -> Option<u16> {
    parameters(url).find_map(|(name, value)| {
        let year = match value {
            [_, _, _, _] => number(value),
            [a, b, c, d, m, n] | [a, b, c, d, m, n, b'0'..=b'9', b'0'..=b'9'] if is_month(&[*m, *n]) => {
                number(&[*a, *b, *c, *d])
            }
            _ => year_of_date(value),
        };
        year.filter(|year| !years.contains(year) && names_a_date(name))
    })
}

/// The query's parameters as bytes, each with its value, which may be empty.
fn parameters(url: &Url) -> impl Iterator<Item = (&[u8], &[u8])> {
    let query = url.query().unwrap_or("").as_bytes();
    query.split(|b| *b == b'&').map(|parameter| {
        let end = parameter.iter().position(|b| *b == b'=').unwrap_or(parameter.len());
        (parameter.get(..end).unwrap_or(&[]), parameter.get(end + 1..).unwrap_or(&[]))
    })
}

fn names_a_date(name: &[u8]) -> bool {
    const WORDS: [&str; 5] = ["year", "month", "date", "day", "calendar"];
    let contains =
        |word: &str| name.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    name.eq_ignore_ascii_case(b"y")
        || name.eq_ignore_ascii_case(b"yr")
        || WORDS.iter().any(|word| contains(word))
}

/// The year of `2024-05` and `2024-05-12`, whatever follows the day.
fn year_of_date(text: &[u8]) -> Option<u16> {
    match text {
        [year @ .., b'-', m, n] if year.len() == 4 && is_month(&[*m, *n]) => number(year),
        [a, b, c, d, b'-', m, n, b'-', b'0'..=b'9', ..] if is_month(&[*m, *n]) => number(&[*a, *b, *c, *d]),
        _ => None,
    }
}

fn is_month(text: &[u8]) -> bool {
    matches!(text.len(), 1 | 2) && number(text).is_some_and(|month| (1..=12).contains(&month))
}

/// A number of at most four digits.
fn number(digits: &[u8]) -> Option<u16> {
    if digits.is_empty() || digits.len() > 4 {
        return None;
    }
    digits.iter().try_fold(0, |n, b| b.is_ascii_digit().then(|| n * 10 + u16::from(b - b'0')))
}

/// A session id that the normal form could not drop: its page would be new on every visit.
pub(super) fn session_id(url: &Url, shape: PathShape) -> Option<&str> {
    let in_path =
        if shape.may_have_session { segments(url).find(|one| is_cookieless_session(one)) } else { None };
    let in_query = || {
        let is_session =
            |name: &[u8], value: &[u8]| value.len() >= SHORTEST_SESSION_ID && names_a_session(name);
        parameters(url).find(|(name, value)| is_session(name, value)).map(|(name, _)| name)
    };
    let found = in_path.or_else(|| if url.query().is_some() { in_query() } else { None });
    found.and_then(|name| std::str::from_utf8(name).ok())
}

/// ASP.NET without cookies: `/(S(lit3py55t21z5v55vlm25s55))/`.
fn is_cookieless_session(segment: &[u8]) -> bool {
    segment.len() > 20
        && segment.ends_with(b"))")
        && (segment.starts_with(b"(S(") || segment.starts_with(b"(X("))
}

fn names_a_session(name: &[u8]) -> bool {
    const ENDINGS: [&str; 4] = ["sessid", "sessionid", "session_id", "session-id"];
    ENDINGS.iter().any(|ending| {
        let start = name.len().checked_sub(ending.len());
        start
            .and_then(|start| name.get(start..))
            .is_some_and(|end| end.eq_ignore_ascii_case(ending.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_model::{NormalForm, NormalRules};
    use proptest::prelude::*;

    fn url(path: &str) -> Url {
        Url::parse(&format!("https://h.test{path}"), &NormalRules::default()).unwrap()
    }

    fn repeated(url: &Url, most: u32) -> Option<&str> {
        repeated_segment(url, PathShape::of(url), most)
    }

    fn calendar(url: &Url) -> Option<u16> {
        calendar_year_outside(url, PathShape::of(url), &(1990..=2031))
    }

    fn session(url: &Url) -> Option<&str> {
        session_id(url, PathShape::of(url))
    }

    #[test]
    fn depth_is_the_number_of_segments() {
        for path in ["/", "/a", "/a/", "/a/b.c", "/1999/12/"] {
            assert_eq!(PathShape::of(&url(path)).depth, url(path).segments().count(), "{path}");
        }
    }

    #[test]
    fn a_path_may_repeat_a_segment_but_not_too_often() {
        assert_eq!(repeated(&url("/a/b/a/b/a/b"), 3), None);
        assert_eq!(repeated(&url("/a/b/a/b/a/b/a"), 3), Some("a"));
        assert_eq!(repeated(&url("/x/y/z/a/a/a/a/"), 3), Some("a"));
        assert_eq!(repeated(&url("/a/a"), 1), Some("a"));
        assert_eq!(repeated(&url("/a/b"), 1), None);
        assert_eq!(repeated(&url("/"), 1), None);
        assert_eq!(repeated(&url("/a"), 0), Some("a"));
        assert_eq!(repeated(&url(&"/again".repeat(40)), 39), Some("again"));
        assert_eq!(repeated(&url(&"/again".repeat(40)), 40), None);
    }

    #[test]
    fn calendars_are_followed_within_sight_only() {
        let outside = |path: &str| calendar(&url(path));
        for near in [
            "/",
            "/1999/12/31/x",
            "/2031/01",
            "/news/2024-05-12-title",
            "/?year=2000",
            "/?date=2024-05-12",
            "/?day=20240512",
            "/?date=soon",
        ] {
            assert_eq!(outside(near), None, "{near}");
        }
        for (far, year) in [
            ("/calendar/2032/01", 2032),
            ("/1989/12/31/", 1989),
            ("/events/2050-01", 2050),
            ("/events/1899-12-31", 1899),
            ("/cal?year=2040&month=1", 2040),
            ("/cal?y=1492", 1492),
            ("/cal?tribe-bar-date=2999-01-01", 2999),
            ("/cal?Month=203201", 2032),
            ("/cal?startDate=20991231", 2099),
        ] {
            assert_eq!(outside(far), Some(year), "{far}");
        }
    }

    #[test]
    fn numbers_that_are_no_dates_are_no_calendar() {
        let outside = |path: &str| calendar(&url(path));
        for path in [
            "/item/4711/3",
            "/1984",
            "/2040/13",
            "/2040/page",
            "/?id=1066",
            "/?page=2040",
            "/1914-1918",
            "/1800-ships",
        ] {
            assert_eq!(outside(path), None, "{path}");
        }
    }

    #[test]
    fn sessions_that_stay_in_a_url_are_found() {
        assert_eq!(
            session(&url("/(S(lit3py55t21z5v55vlm25s55))/order.aspx")),
            Some("(S(lit3py55t21z5v55vlm25s55))")
        );
        assert_eq!(session(&url("/?mySessionId=abcdef0123")), Some("mySessionId"));
        assert_eq!(session(&url("/?session=spring")), None);
        assert_eq!(session(&url("/a(S(x))?q=1")), None);
        let keep_all = NormalForm { session_parameters: vec![], ..NormalForm::default() }.compile();
        let kept = Url::parse("https://h.test/?PHPSESSID=abcdef0123", &keep_all).unwrap();
        assert_eq!(session(&kept), Some("PHPSESSID"));
    }

    proptest! {
        #[test]
        fn a_repetition_is_found_if_and_only_if_there_is_one(
            names in prop::collection::vec("[a-c]{1,2}", 0..24), most in 0u32..20
        ) {
            let url = url(&format!("/{}", names.join("/")));
            let often = |name: &str| names.iter().filter(|other| *other == name).count() > most as usize;
            prop_assert_eq!(repeated(&url, most).is_some(), names.iter().any(|name| often(name)));
        }
    }
}
