//! The first thing a new user types.

use crate::desk::{Desk, text};

#[test]
fn the_demo_shows_what_the_program_does() {
    let desk = Desk::new();
    let place = desk.path("kept");
    let run = desk.run(&["demo", "--data", text(&place)]).ok();
    for part in
        ["Job demo is done", "Some of the pages", "robots_disallowed", "0 violations in ", "confirms it"]
    {
        assert!(run.stdout.contains(part), "{part} in {}", run.stdout);
    }
    assert!(!run.stdout.contains('\u{1b}') && !run.stderr.contains('\u{1b}'));
    assert!(run.stderr.contains(" pages, "), "progress on stderr: {}", run.stderr);
    assert!(desk.run(&["audit", "--data", text(&place)]).ok().stdout.starts_with("0 violations"));
    assert!(!desk.path("argiope-data").exists());
}
