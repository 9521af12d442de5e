//! Turns a request form into its normal form: path and query. Both have the same origin.

use super::escape::{PATH, QUERY, push_escaped};
use super::rules::{NormalRules, Parameters};
use std::cmp::Ordering;

/// The normal form of a request form whose path lies between the two positions.
pub(super) fn of_request(text: &[u8], path_start: usize, path_end: usize, rules: &NormalRules) -> Vec<u8> {
    let origin = text.get(..path_start).unwrap_or_default();
    let path = text.get(path_start..path_end).unwrap_or_default();
    let slashes = path.iter().take_while(|b| **b == b'/').count();
    let mut out = Vec::with_capacity(text.len() + 1);
    out.extend_from_slice(origin);
    out.push(b'/');
    let parameters = rules.parameters(origin);
    push_segments(&mut out, path_start, path.get(slashes..).unwrap_or_default(), parameters);
    finish_path(&mut out, path_start, rules);
    if let Some(query) = text.get(path_end + 1..) {
        push_query(&mut out, query, parameters);
    }
    out
}

/// Whether this path, which has nothing to unescape or drop, is its own normal form.
pub(super) fn path_stays(path: &[u8], rules: &NormalRules) -> bool {
    !rules.strip_trailing_slash || path.len() == 1 || path.last() != Some(&b'/')
}

/// Whether this query, which has nothing to escape or unescape, is its own normal form.
pub(super) fn query_stays(query: &[u8], origin: &[u8], rules: &NormalRules) -> bool {
    let parameters = rules.parameters(origin);
    let mut before: Option<&[u8]> = None;
    query.split(|b| *b == b'&').all(|parameter| {
        let stays = !parameter.is_empty()
            && !parameters.drops_from_query(parameter)
            && before.is_none_or(|before| order(before, parameter) != Ordering::Greater);
        before = Some(parameter);
        stays
    })
}

/// Appends the segments of `path`. Resolves dot segments against the content of `out` from `path_start` on, and leaves
/// out empty segments and session ids. `out` must end with the slash before the first segment.
pub(super) fn push_segments(out: &mut Vec<u8>, path_start: usize, path: &[u8], rules: &Parameters) {
    let mut segments = path.split(|b| *b == b'/').peekable();
    while let Some(raw) = segments.next() {
        let start = out.len();
        push_escaped(out, raw, &PATH);
        drop_session_ids(out, start, rules);
        match out.get(start..).unwrap_or(&[]) {
            b"" => continue,
            b"." => out.truncate(start),
            b".." => {
                out.truncate(start);
                pop_segment(out, path_start);
            }
            _ if segments.peek().is_some() => out.push(b'/'),
            _ => {}
        }
    }
}

/// Removes the last whole segment from a path that ends with a slash; the root stays.
pub(super) fn pop_segment(out: &mut Vec<u8>, path_start: usize) {
    let parents = out.get(path_start..out.len().saturating_sub(1)).unwrap_or(&[]);
    if let Some(slash) = parents.iter().rposition(|b| *b == b'/') {
        out.truncate(path_start + slash + 1);
    }
}

/// `a;jsessionid=1;v=2` -> `a;v=2`, on the segment that begins at `start`.
fn drop_session_ids(out: &mut Vec<u8>, start: usize, rules: &Parameters) {
    let segment = out.get(start..).unwrap_or(&[]);
    if !segment.contains(&b';') {
        return;
    }
    let is_session = |parameter: &[u8]| rules.drops_from_path(parameter);
    if !segment.split(|b| *b == b';').skip(1).any(is_session) {
        return;
    }
    let mut kept = Vec::with_capacity(segment.len());
    for (position, parameter) in segment.split(|b| *b == b';').enumerate() {
        if position == 0 {
            kept.extend_from_slice(parameter);
        } else if !is_session(parameter) {
            kept.push(b';');
            kept.extend_from_slice(parameter);
        }
    }
    out.truncate(start);
    out.extend_from_slice(&kept);
}

/// Removes the last slash of a path other than `/`, if the job asks for it.
fn finish_path(out: &mut Vec<u8>, path_start: usize, rules: &NormalRules) {
    if rules.strip_trailing_slash && out.len() > path_start + 1 && out.last() == Some(&b'/') {
        out.pop();
    }
}

/// Appends `?` and the remaining parameters, sorted by name and then by value; nothing if none remain.
fn push_query(out: &mut Vec<u8>, query: &[u8], rules: &Parameters) {
    let question_mark = out.len();
    let mut previous = None;
    let mut sorted = true;
    for raw in query.split(|b| *b == b'&') {
        if raw.is_empty() {
            continue;
        }
        out.push(if out.len() == question_mark { b'?' } else { b'&' });
        let start = out.len();
        push_escaped(out, raw, &QUERY);
        let parameter = out.get(start..).unwrap_or(&[]);
        if rules.drops_from_query(parameter) {
            out.truncate(start - 1);
            continue;
        }
        if let Some(before) = previous {
            let before = out.get(before..start - 1).unwrap_or(&[]);
            sorted = sorted && order(before, parameter) != Ordering::Greater;
        }
        previous = Some(start);
    }
    if !sorted {
        sort_parameters(out, question_mark + 1);
    }
}

fn sort_parameters(out: &mut Vec<u8>, start: usize) {
    let query = out.split_off(start);
    let mut parameters: Vec<&[u8]> = query.split(|b| *b == b'&').collect();
    parameters.sort_unstable_by(|a, b| order(a, b));
    for (position, parameter) in parameters.into_iter().enumerate() {
        if position > 0 {
            out.push(b'&');
        }
        out.extend_from_slice(parameter);
    }
}

/// By name first: `a=1` comes before `a-b=1`, although `-` is less than `=`.
fn order(a: &[u8], b: &[u8]) -> Ordering {
    name_of(a).cmp(name_of(b)).then_with(|| a.cmp(b))
}

fn name_of(parameter: &[u8]) -> &[u8] {
    super::rules::split(parameter).0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> String {
        let mut out = b"/".to_vec();
        push_segments(
            &mut out,
            0,
            path.trim_start_matches('/').as_bytes(),
            NormalRules::default().parameters(b"https://h.test"),
        );
        String::from_utf8(out).unwrap()
    }

    fn query(query: &str) -> String {
        let mut out = Vec::new();
        push_query(&mut out, query.as_bytes(), NormalRules::default().parameters(b"https://h.test"));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn dot_segments_and_doubled_slashes_are_resolved() {
        assert_eq!(path("/a/./b/../c"), "/a/c");
        assert_eq!(path("/a/b/.."), "/a/");
        assert_eq!(path("/../../a"), "/a");
        assert_eq!(path("/a//b///"), "/a/b/");
        assert_eq!(path("/a/%2e%2E/b"), "/b");
        assert_eq!(path("/.well-known/..x"), "/.well-known/..x");
    }

    #[test]
    fn session_ids_leave_the_path_and_other_parameters_stay() {
        assert_eq!(path("/a;jsessionid=0123456789ABCDEF"), "/a");
        assert_eq!(path("/a;JSESSIONID=0123456789ABCDEF/b;v=1;jsessionid=0123456789ABCDEF;w"), "/a/b;v=1;w");
        assert_eq!(path("/a/..;jsessionid=0123456789ABCDEF/b"), "/b");
        assert_eq!(path("/a/;jsessionid=0123456789ABCDEF/b"), "/a/b");
        assert_eq!(path("/a;jsessionid=12"), "/a;jsessionid=12");
    }

    #[test]
    fn queries_are_sorted_and_cleaned() {
        assert_eq!(query("b=2&a=1"), "?a=1&b=2");
        assert_eq!(query("a=2&a=1"), "?a=1&a=2");
        assert_eq!(query("a-b=1&a=1"), "?a=1&a-b=1");
        assert_eq!(query("&&b=&&a&"), "?a&b=");
        assert_eq!(query(""), "");
        assert_eq!(query("utm_source=x&ref=y"), "");
        assert_eq!(query("q=1&%75tm_source=x&PHPSESSID=3ka9f8q2m4c7d1e5"), "?q=1");
        assert_eq!(query("sid=77"), "?sid=77");
        assert_eq!(query("a[]=2&a[]=1"), "?a%5B%5D=1&a%5B%5D=2");
    }
}
