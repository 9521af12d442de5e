//! One paragraph with its markup. Marks are written only around text: what opens waits for a word, and what ends
//! without one leaves nothing behind.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Strong,
    Emphasis,
    Strikethrough,
    Link(String),
}

impl Style {
    fn opening(&self) -> &'static str {
        match self {
            Style::Strong => "**",
            Style::Emphasis => "*",
            Style::Strikethrough => "~~",
            Style::Link(_) => "[",
        }
    }

    fn is_same_kind(&self, other: &Style) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No word yet.
    Waiting,
    /// Its mark stands at this place of the line.
    Written(usize),
    /// Would be no mark there, or is one already.
    Silent,
}

#[derive(Default)]
pub(crate) struct Inline {
    line: String,
    open: Vec<(Style, State)>,
    needs_blank: bool,
    breaks: bool,
    /// Marks are not opened any more.
    is_silent: bool,
    pub(crate) in_heading: bool,
    /// In a table there are no line breaks.
    pub(crate) in_cell: bool,
    /// Where the mark that ended last was opened and where it ends, while nothing is behind it.
    closed: Option<(usize, usize, usize)>,
}

impl Inline {
    pub(crate) fn open(&mut self, style: Style) {
        let is_open = self.open.iter().any(|(open, _)| open.is_same_kind(&style));
        let is_silent = is_open || self.is_silent || (self.in_heading && style == Style::Strong);
        self.open.push((style, if is_silent { State::Silent } else { State::Waiting }));
    }

    pub(crate) fn len(&self) -> usize {
        self.line.len()
    }

    /// What is open and not written yet is not written any more.
    pub(crate) fn silence(&mut self) {
        for (_, state) in &mut self.open {
            match state {
                State::Waiting => *state = State::Silent,
                State::Written(_) | State::Silent => {}
            }
        }
        self.is_silent = true;
    }

    pub(crate) fn close(&mut self) {
        if let Some((style, State::Written(at))) = self.open.pop() {
            self.write_end(&style, at);
        }
    }

    fn write_end(&mut self, style: &Style, at: usize) {
        let before = self.line.len();
        match style {
            Style::Link(address) => {
                self.line.push_str("](");
                self.line.push_str(address);
                self.line.push(')');
                self.closed = None;
            }
            style => {
                self.line.push_str(style.opening());
                self.closed = Some((at, before, style.opening().len()));
            }
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.needs_blank |= text.starts_with(char::is_whitespace);
        let mut is_first = true;
        for word in text.split_whitespace() {
            self.needs_blank |= !is_first;
            is_first = false;
            self.begin(word.chars().next());
            let start = self.line.len();
            let begins_line = self.line.is_empty() || self.line.ends_with('\n');
            if begins_line || (is_number(&self.line) && word.starts_with(['.', ')'])) {
                escape_start(word, &mut self.line);
            } else {
                escape(word, &mut self.line);
            }
            if self.in_cell {
                escape_bars(&mut self.line, start);
            }
        }
        self.needs_blank |= !is_first && text.ends_with(char::is_whitespace);
    }

    /// Writes what is due before something that begins with `next`.
    fn begin(&mut self, next: Option<char>) {
        let is_empty = self.line.is_empty();
        if std::mem::take(&mut self.breaks) && !is_empty {
            match (self.in_heading, self.in_cell) {
                (_, true) => self.line.push_str("<br>"),
                (true, _) => self.line.push(' '),
                _ => self.line.push_str("  \n"),
            }
            self.needs_blank = false;
            self.closed = None;
        }
        if std::mem::take(&mut self.needs_blank) && !is_empty && !self.line.ends_with(['\n', ' ']) {
            self.line.push(' ');
            self.closed = None;
        }
        let previous = self.line.chars().next_back();
        let is_punctuation = |c: char| !c.is_alphanumeric() && !c.is_whitespace();
        let joins = next.is_some_and(char::is_alphanumeric);
        // `**a.**b` would not end the emphasis; rather none than a mark that shows.
        if let Some((from, to, length)) = self.closed.take()
            && joins
            && self.line.get(..to).and_then(|line| line.chars().next_back()).is_some_and(is_punctuation)
        {
            self.line.replace_range(to..to + length, "");
            self.line.replace_range(from..from + length, "");
        }
        let is_after_word = previous.is_some_and(char::is_alphanumeric);
        for (style, state) in &mut self.open {
            if *state == State::Waiting {
                let is_mark =
                    matches!(style, Style::Link(_)) || !(is_after_word && next.is_some_and(is_punctuation));
                *state = if is_mark { State::Written(self.line.len()) } else { State::Silent };
                if is_mark {
                    self.line.push_str(style.opening());
                }
            }
        }
    }

    pub(crate) fn line_break(&mut self) {
        self.breaks = true;
    }

    pub(crate) fn image(&mut self, image: &str) {
        self.needs_blank |= self.line.ends_with(|c: char| c.is_alphanumeric());
        self.begin(Some('!'));
        self.line.push_str(image);
    }

    pub(crate) fn code(&mut self, code: &str) {
        if code.is_empty() {
            return;
        }
        let start = self.line.len();
        self.begin(Some('`'));
        let fence = "`".repeat(super::longest_run(code, '`') + 1);
        let pad = if code.starts_with('`') || code.ends_with('`') { " " } else { "" };
        for piece in [&fence, pad, code, pad, &fence] {
            self.line.push_str(piece);
        }
        if self.in_cell {
            escape_bars(&mut self.line, start);
        }
    }

    /// The paragraph, if there is one; what is open goes on in the next.
    pub(crate) fn take(&mut self) -> Option<String> {
        self.needs_blank = false;
        self.breaks = false;
        self.closed = None;
        for number in (0..self.open.len()).rev() {
            let Some((style, state)) = self.open.get(number).cloned() else { continue };
            if let State::Written(at) = state {
                self.write_end(&style, at);
                if let Some((_, state)) = self.open.get_mut(number) {
                    *state = if self.is_silent { State::Silent } else { State::Waiting };
                }
            }
        }
        self.closed = None;
        let line = std::mem::take(&mut self.line);
        (!line.trim().is_empty()).then_some(line)
    }
}

fn is_number(line: &str) -> bool {
    !line.is_empty() && line.len() < 10 && line.bytes().all(|byte| byte.is_ascii_digit())
}

/// Appends a word so that nothing in it is markup, at the beginning of a line.
fn escape_start(word: &str, line: &mut String) {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let is_ordinal =
        (1..10).contains(&digits) && word.get(digits..).is_some_and(|rest| rest.starts_with(['.', ')']));
    if is_ordinal {
        let (number, rest) = word.split_at_checked(digits).unwrap_or((word, ""));
        line.push_str(number);
        line.push('\\');
        escape(rest, line);
    } else {
        // Four of these in a row begin or underline something, one is enough for others.
        if word.starts_with(['#', '+', '-', '>', '=', '~', '.', ')', '|', ':']) {
            line.push('\\');
            let mut characters = word.chars();
            line.extend(characters.next());
            escape(characters.as_str(), line);
        } else {
            escape(word, line);
        }
    }
}

/// Appends a word so that nothing in it is markup.
pub(crate) fn escape(word: &str, line: &mut String) {
    let special = |byte: u8| matches!(byte, b'\\' | b'*' | b'_' | b'`' | b'[' | b']' | b'<' | b'&' | b'~');
    if !word.bytes().any(special) {
        line.push_str(word);
        return;
    }
    let mut previous = line.chars().next_back().filter(|c| !c.is_whitespace());
    let mut characters = word.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        let is_markup = match c {
            '\\' | '*' | '`' | '[' | ']' => true,
            // Not inside of a word.
            '_' => {
                !(previous.is_some_and(char::is_alphanumeric)
                    && next.is_some_and(|c| c.is_alphanumeric() || c == '_'))
            }
            '<' => next.is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?')),
            '&' => word.get(at + 1..).is_some_and(is_reference),
            '~' => next == Some('~') || previous == Some('~'),
            _ => false,
        };
        if is_markup {
            line.push('\\');
        }
        line.push(c);
        previous = Some(c);
    }
}

/// Whether what follows an ampersand makes a character reference of it.
fn is_reference(rest: &str) -> bool {
    rest.bytes().take(32).position(|byte| byte == b';').is_some_and(|end| {
        end > 0
            && rest
                .get(..end)
                .is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'#'))
    })
}

/// The bars that were written from `start` on, in a table.
fn escape_bars(line: &mut String, start: usize) {
    if let Some(written) = line.get(start..)
        && written.contains('|')
    {
        let escaped = written.replace("\\|", "|").replace('|', "\\|");
        line.truncate(start);
        line.push_str(&escaped);
    }
}
