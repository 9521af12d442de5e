//! Formats numbers and texts for people.

use std::time::Duration;

/// `12,345`
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 page`, `2 pages`
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// `873 B`, `4.2 MB`: decimal units, as disks and networks count.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = "kB";
    for next in UNITS.into_iter().skip(1) {
        // Compared as it will be printed: 999,950 is "1.0 MB", not "1000.0 kB".
        if value < 999.95 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    format!("{value:.1} {unit}")
}

/// `82.1/s`, `1,204/s`
pub fn rate(per_second: f64) -> String {
    if per_second >= 100.0 {
        format!("{}/s", count(per_second.round() as u64))
    } else if per_second >= 0.095 || per_second <= 0.0 {
        format!("{:.1}/s", per_second.max(0.0))
    } else {
        format!("{per_second:.2}/s")
    }
}

/// How long something has been going on: `12s`, `3m 12s`, `2h 05m`, `3d 04h`.
pub fn elapsed(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    if days > 0 {
        format!("{days}d {:02}h", hours % 24)
    } else if hours > 0 {
        format!("{hours}h {:02}m", minutes % 60)
    } else if minutes > 0 {
        format!("{minutes}m {:02}s", seconds % 60)
    } else {
        format!("{seconds}s")
    }
}

/// Time until something: `0.4 s`, `12 s`, then as [`elapsed`]. Rounded up, so that nothing appears due too early.
pub fn until(duration: Duration) -> String {
    let ms = duration.as_millis();
    if ms < 10_000 {
        let tenths = ms.div_ceil(100);
        format!("{}.{} s", tenths / 10, tenths % 10)
    } else if ms < 60_000 {
        format!("{} s", ms.div_ceil(1000))
    } else {
        elapsed(duration)
    }
}

/// `12.5 %`; 0 if the whole is 0.
pub fn percent(part: u64, whole: u64) -> String {
    let share = if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 };
    format!("{share:.1} %")
}

/// Cuts to `width` characters, with an ellipsis where something was cut.
pub fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(width.saturating_sub(1)).collect();
    if width > 0 {
        cut.push('…');
    }
    cut
}

/// Text from the network may contain escape sequences: control characters become spaces, so none reaches a terminal.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_separators() {
        assert_eq!(
            [0, 999, 1000, 12_345, 1_234_567].map(count),
            ["0", "999", "1,000", "12,345", "1,234,567"]
        );
        assert_eq!(counted(1, "page", "pages"), "1 page");
        assert_eq!(counted(0, "page", "pages"), "0 pages");
    }

    #[test]
    fn bytes_have_one_decimal_and_never_a_thousand() {
        assert_eq!(
            [0, 999, 1000, 4_200_000, 999_949, 999_950, 7_000_000_000_000_000].map(bytes),
            ["0 B", "999 B", "1.0 kB", "4.2 MB", "999.9 kB", "1.0 MB", "7.0 PB"]
        );
    }

    #[test]
    fn times_are_as_coarse_as_they_are_long() {
        let s = Duration::from_secs;
        assert_eq!(
            [s(0), s(12), s(192), s(7500), s(273_600)].map(elapsed),
            ["0s", "12s", "3m 12s", "2h 05m", "3d 04h"]
        );
        assert_eq!(
            [Duration::from_millis(301), s(12), s(60), Duration::ZERO].map(until),
            ["0.4 s", "12 s", "1m 00s", "0.0 s"]
        );
    }

    #[test]
    fn rates_show_what_matters_at_their_size() {
        assert_eq!(
            [0.0, 0.05, 0.5, 82.14, 1203.6].map(rate),
            ["0.0/s", "0.05/s", "0.5/s", "82.1/s", "1,204/s"]
        );
    }

    #[test]
    fn long_text_is_cut_with_an_ellipsis() {
        assert_eq!(fit("example.com", 20), "example.com");
        assert_eq!(fit("example.com", 5), "exam…");
        assert_eq!(fit("abc", 0), "");
    }

    #[test]
    fn shares_are_percentages() {
        assert_eq!(percent(1, 8), "12.5 %");
        assert_eq!(percent(0, 0), "0.0 %");
    }
}
