//! JSON-LD as pages have it: mostly JSON. What is nearly JSON is mended.

use serde_json::Value;

/// Parses a block; what is wrong with it, if it cannot be mended.
pub(super) fn parse(block: &str) -> Result<Value, String> {
    let block = block.trim().trim_start_matches('\u{feff}');
    match serde_json::from_str(block) {
        Ok(value) => Ok(value),
        Err(first) => {
            let mended = mended(block);
            // The place of the first error is one in the page.
            serde_json::from_str(&mended)
                .or_else(|_| serde_json::from_str(&mended.replace("&quot;", "\"").replace("&amp;", "&")))
                .map_err(|_| first.to_string())
        }
    }
}

/// Without comment wrappers, control characters, trailing commas and trailing semicolons.
fn mended(block: &str) -> String {
    let bare = without_wrappers(block);
    let mut out = String::with_capacity(bare.len());
    let (mut in_string, mut escaped) = (false, false);
    for character in bare.chars() {
        if in_string {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
            out.push(if character.is_control() { ' ' } else { character });
            continue;
        }
        match character {
            '"' => in_string = true,
            ']' | '}' => {
                let end = out.trim_end();
                if end.ends_with(',') {
                    out.truncate(end.len() - 1);
                }
            }
            _ => {}
        }
        // White space outside of strings may be anything here.
        out.push(if character.is_control() || character.is_whitespace() { ' ' } else { character });
    }
    out
}

fn without_wrappers(block: &str) -> &str {
    const BEFORE: [&str; 7] =
        ["<!--", "//<![CDATA[", "// <![CDATA[", "/*<![CDATA[*/", "<![CDATA[", "/*", "//"];
    const BEHIND: [&str; 9] = ["-->", "//]]>", "// ]]>", "/*]]>*/", "]]>", "*/", "//", ";", ","];
    let mut bare = block.trim();
    // Wrappers are wrapped at most a few times.
    for _ in 0..4 {
        let mut next = bare;
        for wrapper in BEFORE {
            next = next.strip_prefix(wrapper).unwrap_or(next).trim_start();
        }
        for wrapper in BEHIND {
            next = next.strip_suffix(wrapper).unwrap_or(next).trim_end();
        }
        if next.len() == bare.len() {
            break;
        }
        bare = next;
    }
    bare
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_nearly_json_is_mended() {
        for block in [
            r#"{"a": [1, 2]}"#,
            r#"{"a": [1, 2,],}"#,
            "\u{feff} {\"a\": [1, 2]};",
            "<!-- {\"a\": [1, 2]} -->",
            "//<![CDATA[\n{\"a\": [1, 2]}\n//]]>",
            "/*<![CDATA[*/ {\"a\": [1, 2]} /*]]>*/",
            "{&quot;a&quot;: [1, 2]}",
        ] {
            assert_eq!(parse(block), Ok(json!({"a": [1, 2]})), "{block}");
        }
        assert_eq!(
            parse("{\"a\": \"two\nlines, ] and \\\" \t\"}"),
            Ok(json!({"a": "two lines, ] and \"  "}))
        );
    }

    #[test]
    fn what_is_no_json_is_said_with_its_place() {
        let problem = parse("{\"a\": }").unwrap_err();
        assert!(problem.contains("line 1 column 7"), "{problem}");
        assert!(parse("").is_err() && parse("var a = 1").is_err());
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}
