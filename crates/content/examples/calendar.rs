//! A processor for calendars (`text/calendar`): the names of the events are the text, their URLs are links.
//!
//! `cargo run -p argiope-content --example calendar` processes the one below.

use argiope_content::processor::{Budget, Input, ProcessError, Processed, Processor, Registry};

struct Calendar;

const MOST_EVENTS: usize = 10_000;

impl Processor for Calendar {
    fn name(&self) -> &'static str {
        "calendar"
    }

    fn takes(&self, media_type: &str) -> bool {
        media_type == "text/calendar"
    }

    fn process(&self, input: &Input<'_>) -> Result<Processed, ProcessError> {
        let (bytes, is_cut) = input.within_budget();
        let text = String::from_utf8_lossy(bytes);
        if !text.trim_start().starts_with("BEGIN:VCALENDAR") {
            let what = "it does not begin with BEGIN:VCALENDAR".to_owned();
            return Err(ProcessError::Broken { format: "calendar", what });
        }
        let mut processed = Processed { truncated: is_cut, ..Processed::of(self.name()) };
        let mut events = Vec::new();
        for line in text.lines() {
            match line.split_once(':') {
                Some(("SUMMARY", _)) if events.len() >= MOST_EVENTS => processed.truncated = true,
                Some(("SUMMARY", summary)) => events.push(summary.trim().to_owned()),
                Some(("URL", url)) if processed.links.len() < MOST_EVENTS => {
                    processed.links.push(url.trim().to_owned())
                }
                Some(("X-WR-CALNAME", name)) => processed.title = Some(name.trim().to_owned()),
                _ => {}
            }
        }
        processed.properties.insert("events".to_owned(), events.len().into());
        processed.text = Some(events.join("\n"));
        Ok(processed)
    }
}

fn main() -> Result<(), ProcessError> {
    let mut registry = Registry::default();
    registry.add(Calendar);
    let body = b"BEGIN:VCALENDAR\nX-WR-CALNAME:Meetups\nBEGIN:VEVENT\nSUMMARY:Crawlers at night\nURL:https://example.org/1\nEND:VEVENT\n";
    let processed = registry.process(&Input {
        bytes: body,
        content_type: Some("text/calendar; charset=utf-8"),
        charset: None,
        url: "https://example.org/events.ics",
        budget: Budget::default(),
    })?;
    println!(
        "{}: {} event(s) in '{}'",
        processed.processor,
        processed.properties.get("events").unwrap_or(&serde_json::Value::Null),
        processed.title.unwrap_or_default()
    );
    println!("{}\n{:?}", processed.text.unwrap_or_default(), processed.links);
    Ok(())
}
