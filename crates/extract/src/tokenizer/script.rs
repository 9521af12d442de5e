//! Finds the end of a script. A script may contain what looks like a comment, and in it what looks like scripts: `<!--
//! <script> </script>` does not end one.

use super::is_end_tag;
use crate::scan;

/// The depth in comment and script, by the standard.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Script,
    /// After `<!--`.
    Escaped,
    /// After `<script` within it.
    DoubleEscaped,
}

/// The text after the `<` of the end tag of the script at the start of `script`; empty if it does not end.
pub(super) fn skip<'p>(script: &'p [u8], name: &[u8]) -> &'p [u8] {
    let mut rest = script;
    let mut depth = Depth::Script;
    loop {
        let at = match depth {
            Depth::Script => scan::length_before(b'<', rest),
            Depth::Escaped | Depth::DoubleEscaped => scan::length_before_either(b'<', b'-', rest),
        };
        rest = rest.get(at..).unwrap_or_default();
        match (rest, depth) {
            ([], _) => return rest,
            ([b'<', tag @ ..], Depth::Script | Depth::Escaped) if is_end_tag(tag, name) => return tag,
            ([b'<', b'!', comment @ ..], Depth::Script) => {
                // Its own dashes may be those of its end: `<!-->`.
                rest = comment;
                if comment.starts_with(b"--") {
                    depth = Depth::Escaped;
                }
            }
            ([b'-', b'-', b'>', after @ ..], _) => {
                rest = after;
                depth = Depth::Script;
            }
            ([b'<', tag @ ..], Depth::Escaped) => {
                rest = tag;
                if names_script(tag) {
                    depth = Depth::DoubleEscaped;
                }
            }
            ([b'<', b'/', tag @ ..], Depth::DoubleEscaped) => {
                rest = tag;
                if names_script(tag) {
                    depth = Depth::Escaped;
                }
            }
            ([_, after @ ..], _) => rest = after,
        }
    }
}

/// Always `script` here, whatever the name of the element.
fn names_script(tag: &[u8]) -> bool {
    tag.split_at_checked(b"script".len()).is_some_and(|(name, after)| {
        name.eq_ignore_ascii_case(b"script") && after.first().is_some_and(|b| super::ends_name(*b))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest_of(script: &str) -> &str {
        std::str::from_utf8(skip(script.as_bytes(), b"script")).unwrap()
    }

    #[test]
    fn scripts_end_at_their_end_tag() {
        assert_eq!(rest_of("if (a < b) '</p>'</scripts></SCRIPT>x"), "/SCRIPT>x");
        assert_eq!(rest_of("a</script\n>x"), "/script\n>x");
        assert_eq!(rest_of("a</script"), "");
    }

    #[test]
    fn scripts_in_comments_in_scripts_do_not_end_them() {
        assert_eq!(rest_of("<!-- a </script>x"), "/script>x");
        assert_eq!(rest_of("<!-- <script> </script> --> </script>x"), "/script>x");
        assert_eq!(rest_of("<!-- <script> </script> </script>y</script>"), "/script>y</script>");
        assert_eq!(rest_of("<!-- <script> --></script>x"), "/script>x");
        assert_eq!(rest_of("<!--><script></script>x"), "/script>x");
        assert_eq!(rest_of("<!-- <script> </script"), "");
        assert_eq!(rest_of("<!-<script></script>x"), "/script>x");
    }
}
