//! Prometheus' text format, version 0.0.4. Pure.

use super::histogram::Reading;
use std::fmt::{Display, Write};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
}

/// A value of a sample: counts are exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Whole(u64),
    Real(f64),
}

impl From<u64> for Number {
    fn from(number: u64) -> Number {
        Number::Whole(number)
    }
}

impl From<f64> for Number {
    fn from(number: f64) -> Number {
        Number::Real(number)
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Number::Whole(number) => write!(f, "{number}"),
            Number::Real(number) if number.is_nan() => f.write_str("NaN"),
            Number::Real(number) if number.is_infinite() => {
                f.write_str(if number > 0.0 { "+Inf" } else { "-Inf" })
            }
            Number::Real(number) => write!(f, "{number}"),
        }
    }
}

/// The text while it is written, metric by metric.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    text: String,
}

impl Exposition {
    /// The samples of one metric, each with its labels. A metric without samples is left out.
    pub(crate) fn metric<'l, N: Into<Number>>(
        &mut self,
        name: &str,
        kind: Kind,
        help: &str,
        samples: impl IntoIterator<Item = (Labels<'l>, N)>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_some() {
            self.head(name, if kind == Kind::Counter { "counter" } else { "gauge" }, help);
        }
        for (labels, number) in samples {
            self.sample(name, "", &labels, None, number.into());
        }
    }

    /// A metric of one sample without labels.
    pub(crate) fn single(&mut self, name: &str, kind: Kind, help: &str, number: impl Into<Number>) {
        self.metric(name, kind, help, [(Labels::default(), number)]);
    }

    pub(crate) fn histogram(&mut self, name: &str, help: &str, reading: &Reading) {
        self.head(name, "histogram", help);
        let none = Labels::default();
        for (bound, count) in reading.cumulative() {
            let bound = bound.map_or(f64::INFINITY, |bound| bound.as_secs_f64());
            self.sample(name, "_bucket", &none, Some(bound), count.into());
        }
        self.sample(name, "_sum", &none, None, reading.sum.as_secs_f64().into());
        self.sample(name, "_count", &none, None, reading.count().into());
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let help = help.replace('\\', r"\\").replace('\n', r"\n");
        self.write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    fn sample(&mut self, name: &str, suffix: &str, labels: &Labels<'_>, bound: Option<f64>, number: Number) {
        self.write(format_args!("{name}{suffix}"));
        let bound = bound.map(|bound| ("le", Number::Real(bound).to_string()));
        let bound = bound.iter().map(|(label, value)| (*label, value.as_str()));
        let mut separator = '{';
        for (label, value) in labels.0.iter().copied().chain(bound) {
            self.write(format_args!("{separator}{label}=\"{}\"", escaped(value)));
            separator = ',';
        }
        let end = if separator == '{' { "" } else { "}" };
        self.write(format_args!("{end} {number}\n"));
    }

    fn write(&mut self, words: std::fmt::Arguments<'_>) {
        // A string takes everything.
        let _ = self.text.write_fmt(words);
    }
}

/// Names of ours with values that may be anybody's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Labels<'l>(pub(crate) Vec<(&'static str, &'l str)>);

fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::histogram::Histogram;
    use proptest::prelude::*;
    use std::time::Duration;

    #[test]
    fn a_metric_has_its_head_once_and_a_line_a_sample() {
        let mut text = Exposition::default();
        let samples = [("a.example", 3u64), ("b\"\\\n", u64::MAX)];
        text.metric(
            "crawler_pages",
            Kind::Counter,
            "Pages.\nReally.",
            samples.map(|(domain, count)| (Labels(vec![("domain", domain), ("status", "ok")]), count)),
        );
        text.single("crawler_share", Kind::Gauge, "A share.", 0.25);
        text.metric("crawler_unknown", Kind::Gauge, "Nobody knows.", None::<(Labels<'_>, u64)>);
        assert_eq!(
            text.into_text(),
            "# HELP crawler_pages Pages.\\nReally.\n\
             # TYPE crawler_pages counter\n\
             crawler_pages{domain=\"a.example\",status=\"ok\"} 3\n\
             crawler_pages{domain=\"b\\\"\\\\\\n\",status=\"ok\"} 18446744073709551615\n\
             # HELP crawler_share A share.\n\
             # TYPE crawler_share gauge\n\
             crawler_share 0.25\n"
        );
    }

    #[test]
    fn buckets_of_a_histogram_contain_those_below_them() {
        static BOUNDS: [Duration; 2] = [Duration::from_millis(5), Duration::from_secs(1)];
        let histogram = Histogram::new(&BOUNDS);
        for millis in [1, 5, 6, 2500] {
            histogram.observe(Duration::from_millis(millis));
        }
        let mut text = Exposition::default();
        text.histogram("write_seconds", "Writes.", &histogram.reading());
        assert_eq!(
            text.into_text(),
            "# HELP write_seconds Writes.\n\
             # TYPE write_seconds histogram\n\
             write_seconds_bucket{le=\"0.005\"} 2\n\
             write_seconds_bucket{le=\"1\"} 3\n\
             write_seconds_bucket{le=\"+Inf\"} 4\n\
             write_seconds_sum 2.512\n\
             write_seconds_count 4\n"
        );
    }

    #[test]
    fn numbers_that_are_none_have_their_words() {
        assert_eq!(Number::from(f64::NAN).to_string(), "NaN");
        assert_eq!(Number::from(f64::INFINITY).to_string(), "+Inf");
        assert_eq!(Number::from(f64::NEG_INFINITY).to_string(), "-Inf");
    }

    proptest! {
        #[test]
        fn no_value_of_a_label_can_break_out_of_its_line(value in any::<String>()) {
            let mut text = Exposition::default();
            text.metric("m", Kind::Gauge, "h", [(Labels(vec![("l", &value)]), 1u64)]);
            let text = text.into_text();
            prop_assert_eq!(text.matches('\n').count(), 3);
            let sample = text.lines().last().unwrap_or_default();
            let quoted = sample.strip_prefix("m{l=\"").and_then(|rest| rest.strip_suffix("\"} 1"));
            prop_assert_eq!(quoted.map(read_back), Some(value));
        }
    }

    /// As Prometheus reads it; an unescaped quote would end it.
    fn read_back(quoted: &str) -> String {
        let mut value = String::new();
        let mut characters = quoted.chars();
        while let Some(character) = characters.next() {
            assert_ne!(character, '"');
            value.push(match character {
                '\\' => match characters.next() {
                    Some('n') => '\n',
                    Some(other) => other,
                    None => panic!("a lone backslash"),
                },
                other => other,
            });
        }
        value
    }
}
