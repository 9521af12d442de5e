//! Draws progress on stderr: a block that is redrawn on a terminal, a line now and then elsewhere, nothing with `-q`.
//! It has no thread and no clock: the caller passes views as often as it likes, and their `elapsed` decides what is
//! drawn. Messages and log lines use the same lock, so that they never break the block.

use super::fold::fold;
use super::render::{Style, block, plain_line};
use super::view::View;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Between two redraws on a terminal.
const REDRAW: Duration = Duration::from_millis(250);
/// Between two lines when not on a terminal.
const LINE: Duration = Duration::from_secs(5);
/// The default if the terminal does not report its width.
const DEFAULT_WIDTH: usize = 80;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A block redrawn in place.
    Terminal(Style),
    /// A line every few seconds.
    Lines,
    Quiet,
}

impl Mode {
    /// `may_redraw`: a terminal without other output. `variable` reads the environment. https://no-color.org: any
    /// non-empty value turns colours off.
    pub(crate) fn choose(quiet: bool, may_redraw: bool, variable: &dyn Fn(&str) -> Option<String>) -> Mode {
        if quiet {
            return Mode::Quiet;
        }
        let dumb = variable("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        if !may_redraw || dumb {
            return Mode::Lines;
        }
        let colourless = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        Mode::Terminal(if colourless { Style::Plain } else { Style::Coloured })
    }

    /// The mode for this process' stderr. Pages streamed to stdout may appear on the same terminal, also through a
    /// pipe: redrawing a block there would erase them.
    pub(crate) fn for_stderr(quiet: bool, streams_to_stdout: bool) -> Mode {
        let may_redraw = io::stderr().is_terminal() && !streams_to_stdout;
        Mode::choose(quiet, may_redraw, &|name| std::env::var(name).ok())
    }
}

/// The lines and colours of other output, such as a summary on stdout.
pub(crate) fn style_for_stdout() -> Style {
    match Mode::choose(false, io::stdout().is_terminal(), &|name| std::env::var(name).ok()) {
        Mode::Terminal(style) => style,
        Mode::Lines | Mode::Quiet => Style::Plain,
    }
}

struct Screen {
    mode: Mode,
    to: Box<dyn Write + Send>,
    width: fn() -> usize,
    /// The part of the block that is on the screen now.
    drawn: Vec<String>,
    drawn_at: Option<Duration>,
}

/// Cheap to clone: all clones write to the same screen.
#[derive(Clone)]
pub(crate) struct Display {
    screen: Arc<Mutex<Screen>>,
}

impl Display {
    pub(crate) fn stderr(quiet: bool, streams_to_stdout: bool) -> Display {
        Display::new(Mode::for_stderr(quiet, streams_to_stdout), Box::new(io::stderr()), terminal_width)
    }

    fn new(mode: Mode, to: Box<dyn Write + Send>, width: fn() -> usize) -> Display {
        Display {
            screen: Arc::new(Mutex::new(Screen { mode, to, width, drawn: Vec::new(), drawn_at: None })),
        }
    }

    /// Draws the view if it is time.
    pub(crate) fn update(&self, view: &View<'_>) {
        self.with(|screen| {
            let every = if screen.mode == Mode::Lines { LINE } else { REDRAW };
            let due = match screen.drawn_at {
                Some(last) => view.elapsed >= last + every,
                None => screen.mode != Mode::Lines || view.elapsed >= every,
            };
            if due { screen.draw(view) } else { Ok(()) }
        });
    }

    /// Writes a line that stays, above the block. With `-q` it is dropped.
    pub(crate) fn message(&self, text: &str) {
        self.with(|screen| {
            let text = match screen.mode {
                Mode::Quiet => return Ok(()),
                Mode::Lines => text.to_owned(),
                Mode::Terminal(_) => {
                    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
                    fold(&lines, (screen.width)()).join("\n")
                }
            };
            screen.above(format!("{text}\n").as_bytes())
        });
    }

    /// Removes the block from the screen, so that further output starts on a clean line.
    pub(crate) fn finish(&self) {
        self.with(|screen| {
            screen.erase()?;
            screen.drawn.clear();
            screen.to.flush()
        });
    }

    /// A writer for log lines, which also shows errors with `-q`.
    pub(crate) fn log_writer(&self) -> LogWriter {
        LogWriter { display: self.clone() }
    }

    /// A terminal that cannot be written to must not stop a crawl, so its errors are ignored.
    fn with(&self, act: impl FnOnce(&mut Screen) -> io::Result<()>) {
        let mut screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = act(&mut screen);
    }
}

impl Screen {
    fn draw(&mut self, view: &View<'_>) -> io::Result<()> {
        self.drawn_at = Some(view.elapsed);
        match self.mode {
            Mode::Quiet => Ok(()),
            Mode::Lines => {
                writeln!(self.to, "{}", plain_line(view))?;
                self.to.flush()
            }
            Mode::Terminal(style) => {
                self.erase()?;
                self.drawn = block(view, (self.width)(), style);
                self.redraw()
            }
        }
    }

    fn redraw(&mut self) -> io::Result<()> {
        let text: String = self.drawn.iter().map(|line| format!("{line}\n")).collect();
        self.to.write_all(text.as_bytes())?;
        self.to.flush()
    }

    /// Moves up over the block and clears to the end of the screen.
    fn erase(&mut self) -> io::Result<()> {
        match self.drawn.len() {
            0 => Ok(()),
            lines => write!(self.to, "\x1b[{lines}F\x1b[0J"),
        }
    }

    fn above(&mut self, text: &[u8]) -> io::Result<()> {
        self.erase()?;
        self.to.write_all(text)?;
        self.redraw()
    }
}

/// Passes log lines to the display.
pub(crate) struct LogWriter {
    display: Display,
}

impl Write for LogWriter {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.display.with(|screen| screen.above(text));
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn terminal_width() -> usize {
    width_of(&io::stderr()).unwrap_or(DEFAULT_WIDTH - 1)
}

/// The usable columns of a terminal; None if it is not one.
pub(crate) fn width_of(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    let size = stream.is_terminal().then(|| terminal_size::terminal_size_of(stream)).flatten();
    // The last column stays free: some terminals wrap when it is filled.
    size.map(|(width, _)| usize::from(width.0).saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::super::view::Narrator;
    use super::*;
    use argiope_engine::Status;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(text);
            Ok(text.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Paper {
        fn take(&self) -> String {
            String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
        }
    }

    fn display(mode: Mode) -> (Display, Paper) {
        let paper = Paper::default();
        (Display::new(mode, Box::new(paper.clone()), || 80), paper)
    }

    fn show(display: &Display, ms: u64) {
        let mut narrator = Narrator::new(String::from("t"), None);
        display.update(&narrator.view(&Status::default(), Duration::from_millis(ms)));
    }

    #[test]
    fn a_terminal_is_redrawn_in_place_a_few_times_a_second() {
        let (display, paper) = display(Mode::Terminal(Style::Plain));
        show(&display, 0);
        let first = paper.take();
        assert!(first.starts_with("t  0s\n") && first.lines().count() == 4, "{first}");
        show(&display, 100);
        assert_eq!(paper.take(), "");
        show(&display, 250);
        assert!(paper.take().starts_with("\x1b[4F\x1b[0Jt  0s\n"));
        display.message("hello");
        let with_message = paper.take();
        assert!(with_message.starts_with("\x1b[4F\x1b[0Jhello\nt  0s\n"), "{with_message}");
        display.finish();
        assert_eq!(paper.take(), "\x1b[4F\x1b[0J");
        display.finish();
        assert_eq!(paper.take(), "");
    }

    #[test]
    fn elsewhere_there_is_a_line_every_few_seconds_without_escapes() {
        let (display, paper) = display(Mode::Lines);
        for ms in (0..=10_500).step_by(100) {
            show(&display, ms);
        }
        let lines = paper.take();
        assert_eq!(lines.lines().map(|l| &l[..3]).collect::<Vec<_>>(), ["5s ", "10s"]);
        assert!(!lines.contains('\x1b'));
        display.finish();
        assert_eq!(paper.take(), "");
    }

    #[test]
    fn quiet_shows_nothing_but_logged_errors() {
        let (display, paper) = display(Mode::Quiet);
        show(&display, 0);
        show(&display, 10_000);
        display.message("hello");
        display.finish();
        assert_eq!(paper.take(), "");
        display.log_writer().write_all(b"error\n").unwrap();
        assert_eq!(paper.take(), "error\n");
    }

    #[test]
    fn the_mode_follows_the_terminal_and_the_environment() {
        let with = |pairs: &'static [(&str, &str)]| {
            move |name: &str| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| String::from(*v))
        };
        let xterm = with(&[("TERM", "xterm")]);
        assert_eq!(Mode::choose(false, true, &xterm), Mode::Terminal(Style::Coloured));
        assert_eq!(Mode::choose(false, false, &xterm), Mode::Lines);
        assert_eq!(Mode::choose(true, true, &xterm), Mode::Quiet);
        assert_eq!(Mode::choose(false, true, &with(&[("TERM", "dumb")])), Mode::Lines);
        assert_eq!(Mode::choose(false, true, &with(&[])), Mode::Lines);
        let colourless = with(&[("TERM", "xterm"), ("NO_COLOR", "1")]);
        assert_eq!(Mode::choose(false, true, &colourless), Mode::Terminal(Style::Plain));
        let empty = with(&[("TERM", "xterm"), ("NO_COLOR", "")]);
        assert_eq!(Mode::choose(false, true, &empty), Mode::Terminal(Style::Coloured));
    }
}
