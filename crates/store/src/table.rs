//! Aligned text tables and figures as people read them: for reports on a terminal.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// The widest a column gets; longer cells are cut in the middle, so that both ends of a URL stay readable.
const WIDEST: usize = 72;

/// Columns separated by two spaces, as wide as their widest cell.
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| shortened(&printable(&cell), WIDEST)).collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths: Vec<usize> = self.columns.iter().map(|(name, _)| name.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let header: Vec<String> = self.columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        for row in std::iter::once(&header).chain(&self.rows) {
            let mut line = String::from("  ");
            for ((cell, width), (_, align)) in row.iter().zip(&widths).zip(&self.columns) {
                let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
                match align {
                    Align::Left => line.extend([cell.as_str(), &padding, "  "]),
                    Align::Right => line.extend([padding.as_str(), cell, "  "]),
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Removes escape sequences: texts from the net must not control a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Cut in the middle.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    let length = text.chars().count();
    if length <= limit {
        return text.to_owned();
    }
    let tail = limit / 3;
    let head = limit - tail - 3;
    let beginning: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{beginning}...{end}")
}

/// `1,204,332`
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `250 ms`, `1.5 s`, `2 min 5 s`, `3 h 12 min`
pub(crate) fn milliseconds(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
        _ => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

/// `512 B`, `1.2 MB`; powers of a thousand.
pub(crate) fn bytes(count: u64) -> String {
    let mut unit = "B";
    let mut value = count as f64;
    for next in ["kB", "MB", "GB", "TB", "PB"] {
        // Compared as it will be printed: 999,950 is "1.0 MB", not "1000.0 kB".
        if value < if unit == "B" { 1000.0 } else { 999.95 } {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    if unit == "B" { format!("{count} B") } else { format!("{value:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_long_cells_are_cut_in_the_middle() {
        let mut table = Table::new(&[("url", Align::Left), ("ms", Align::Right)]);
        table.row(["https://a.test/".to_owned(), "5".to_owned()]);
        table.row([format!("https://a.test/{}/end", "x".repeat(200)), "12345".to_owned()]);
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        let ends: Vec<usize> = lines.iter().map(|line| line.len()).collect();
        assert!(ends.iter().all(|end| *end == ends[0]), "{text}");
        assert!(lines[2].contains("...") && lines[2].contains("/end"), "{text}");
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        let mut table = Table::new(&[("title", Align::Left)]);
        table.row(["\u{1b}[31mred\n".to_owned()]);
        assert!(!table.to_string().contains('\u{1b}'));
        assert_eq!(table.to_string().lines().count(), 2);
    }

    #[test]
    fn figures_are_written_for_people() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_204_332), "1,204,332");
        assert_eq!(milliseconds(250), "250 ms");
        assert_eq!(milliseconds(1500), "1.5 s");
        assert_eq!(milliseconds(125_000), "2 min 5 s");
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(1_234_567), "1.2 MB");
    }
}
