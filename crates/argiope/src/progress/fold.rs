//! Wraps lines at the width of the terminal, between words. Pure.

/// The indentation of continued rows.
const FURTHER: usize = 2;

/// Wraps every line at `width`, except for longer words. A command stays valid for the shell: its rows end in a
/// backslash, and its comment goes to a row of its own.
pub(crate) fn fold(lines: &[String], width: usize) -> Vec<String> {
    lines.iter().flat_map(|line| folded(line, width)).collect()
}

fn folded(line: &str, width: usize) -> Vec<String> {
    if visible(line) <= width {
        return vec![line.to_owned()];
    }
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let is_command = text.starts_with("argiope ");
    // A backslash after a blank.
    let room = if is_command { width.saturating_sub(2) } else { width };
    let further = " ".repeat(indent + FURTHER);
    let mut rows = Vec::new();
    let mut row = " ".repeat(indent);
    let mut is_begun = false;
    let mut is_comment = false;
    for (blanks, word) in words(text) {
        let begins_comment = is_command && without_colours(word) == "#";
        is_comment |= begins_comment;
        let room = if is_comment { width } else { room };
        let fits = visible(&row) + blanks + visible(word) <= room && !begins_comment;
        if is_begun && !fits {
            if is_command && !is_comment {
                row.push_str(" \\");
            }
            rows.push(std::mem::replace(&mut row, further.clone()));
        } else if is_begun {
            row.push_str(&" ".repeat(blanks));
        }
        row.push_str(word);
        is_begun = true;
    }
    rows.push(row);
    rows
}

/// Words with the number of blanks before each.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut blanks = 0;
    text.split(' ').filter_map(move |word| {
        if word.is_empty() {
            blanks += 1;
            return None;
        }
        Some((std::mem::replace(&mut blanks, 0) + 1, word))
    })
}

/// The width of a text; colours take no columns.
fn visible(text: &str) -> usize {
    without_colours(text).chars().count()
}

fn without_colours(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        out.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold_one(line: &str, width: usize) -> Vec<String> {
        fold(&[line.to_owned()], width)
    }

    #[test]
    fn lines_are_broken_between_words_and_go_on_further_in() {
        assert_eq!(fold_one("short", 10), ["short"]);
        assert_eq!(fold_one("", 10), [""]);
        assert_eq!(
            fold_one("  bad.test    1 URL, robots.txt unreachable: no answer", 30),
            ["  bad.test    1 URL,", "    robots.txt unreachable: no", "    answer"]
        );
    }

    #[test]
    fn a_word_that_is_too_wide_stays_whole() {
        assert_eq!(
            fold_one("  data  /a/very/long/path/to/it", 12),
            ["  data", "    /a/very/long/path/to/it"]
        );
    }

    #[test]
    fn a_command_can_still_be_given_to_a_shell() {
        let line =
            "  argiope why --job 3 'https://a.test/private?x=1&y=2'  \x1b[2m# why it was not fetched\x1b[0m";
        assert_eq!(
            fold_one(line, 50),
            [
                "  argiope why --job 3 \\",
                "    'https://a.test/private?x=1&y=2'",
                "    \x1b[2m# why it was not fetched\x1b[0m",
            ]
        );
        assert_eq!(
            fold_one("  argiope report 3               # what was found", 40),
            ["  argiope report 3", "    # what was found"]
        );
    }

    #[test]
    fn colours_take_no_room() {
        let line = format!("\x1b[32m{}\x1b[0m", "word ".repeat(4).trim_end());
        assert_eq!(fold_one(&line, 19).len(), 1);
        assert_eq!(fold_one(&line, 13), ["\x1b[32mword word", "  word word\x1b[0m"]);
    }
}
