//! The main text as Markdown (CommonMark, with the tables and the strikethrough of GitHub).
//!
//! One pass over the tree. A paragraph is gathered in `Inline` with its markup and written when it ends, behind the
//! marks of the quotes and items it stands in.

mod inline;
pub(crate) mod table;

use crate::address::Addresses;
use crate::discard::Marks;
use crate::element::Element;
use crate::tree::{Name, Tree};
use inline::{Inline, Style};

/// Quotes and items in each other; what is nested deeper stands in the innermost.
const MOST_CONTAINERS: usize = 8;
/// The output is at most this many times as long as the page, and a bit; beyond it there is text only.
const MOST_PER_BYTE: usize = 8;
const AND_A_BIT: usize = 64 * 1024;

pub(crate) fn markdown(
    tree: &Tree<'_>,
    marks: &Marks,
    roots: &[usize],
    addresses: &Addresses,
    page_bytes: usize,
) -> String {
    let mut writer = Writer {
        tree,
        marks,
        addresses,
        out: String::new(),
        budget: page_bytes * MOST_PER_BYTE + AND_A_BIT,
        containers: Vec::new(),
        shared: 0,
        follows_item: false,
        inline: Inline::default(),
        open: Vec::new(),
        heading: None,
    };
    for root in roots {
        writer.part(*root);
    }
    writer.end()
}

enum Container {
    Quote,
    /// What stands before its first line, and whether that is written.
    Item {
        marker: String,
        is_written: bool,
    },
}

/// What ends where an element ends.
enum Leave {
    Block,
    Container,
    List,
    Style,
    Heading,
    Term,
}

struct Writer<'t, 'p> {
    tree: &'t Tree<'p>,
    marks: &'t Marks,
    addresses: &'t Addresses,
    out: String,
    budget: usize,
    containers: Vec<Container>,
    /// How many of the containers the latest block stood in, too.
    shared: usize,
    /// The latest block stands in an item of a list that is still open.
    follows_item: bool,
    inline: Inline,
    open: Vec<(usize, Leave)>,
    heading: Option<u8>,
}

/// The numbers of the items of the lists that are open.
#[derive(Clone, Copy)]
struct List {
    next: Option<u64>,
}

impl Writer<'_, '_> {
    fn part(&mut self, root: usize) {
        let mut lists: Vec<List> = Vec::new();
        let mut number = root;
        while number < self.tree.end(root) {
            self.leave(number, &mut lists);
            let element = self.tree.element(number);
            if self.marks.is_dropped(number) || (element != Element::Text && element.is_no_text()) {
                if element.is_block() {
                    self.end_block();
                }
                number = self.tree.end(number);
                continue;
            }
            number = self.node(number, element, &mut lists);
        }
        self.leave(number, &mut lists);
        self.end_block();
    }

    /// Writes a node or what it begins; the answer is the number of the next.
    fn node(&mut self, number: usize, element: Element, lists: &mut Vec<List>) -> usize {
        let end = self.tree.end(number);
        match element {
            Element::Text => self.inline.text(self.tree.text(number)),
            Element::Br => self.inline.line_break(),
            Element::Img | Element::AmpImg => self.image(number),
            Element::Hr => {
                self.end_block();
                if !self.out.is_empty() && !self.out.ends_with("---") {
                    self.write_block("---");
                }
            }
            Element::Pre | Element::Xmp | Element::Plaintext => {
                self.end_block();
                self.code_block(number);
                return end;
            }
            Element::Code | Element::Kbd | Element::Samp | Element::Tt if !self.holds_blocks(number) => {
                self.inline.code(&kept_text(self.tree, self.marks, number));
                return end;
            }
            Element::Table => {
                self.end_block();
                if let Some(table) = table::table(self.tree, self.marks, self.addresses, number, self.left())
                {
                    self.write_block(&table);
                    return end;
                }
                self.open.push((end, Leave::Block));
            }
            Element::Ul | Element::Ol | Element::Menu | Element::Dir => {
                self.end_block();
                let start = self
                    .tree
                    .attribute(number, Name::Start)
                    .and_then(|start| start.trim().parse::<u64>().ok())
                    .filter(|start| *start < 1_000_000_000);
                let next = (element == Element::Ol).then(|| start.unwrap_or(1));
                lists.push(List { next });
                self.open.push((end, Leave::List));
            }
            Element::Li => {
                self.end_block();
                self.item(end, lists);
            }
            Element::Blockquote => {
                self.end_block();
                self.contain(Container::Quote, end);
            }
            Element::Dt => {
                self.end_block();
                self.inline.open(Style::Strong);
                self.open.push((end, Leave::Term));
            }
            element if element.heading().is_some() => {
                self.end_block();
                self.heading = element.heading();
                self.inline.in_heading = true;
                self.open.push((end, Leave::Heading));
            }
            element if element.is_block() => {
                self.end_block();
                self.open.push((end, Leave::Block));
            }
            _ => {
                if let Some(style) = self.style(number, element) {
                    self.inline.open(style);
                    self.open.push((end, Leave::Style));
                }
            }
        }
        number + 1
    }

    fn style(&self, number: usize, element: Element) -> Option<Style> {
        Some(match element {
            Element::Strong | Element::B => Style::Strong,
            Element::Em | Element::I | Element::Cite | Element::Var => Style::Emphasis,
            Element::Del | Element::S | Element::Strike => Style::Strikethrough,
            Element::A if self.left() > 0 => {
                let reference = self.tree.attribute(number, Name::Href)?;
                Style::Link(self.addresses.absolute(&reference)?)
            }
            _ => return None,
        })
    }

    fn leave(&mut self, number: usize, lists: &mut Vec<List>) {
        while let Some((end, _)) = self.open.last()
            && *end <= number
        {
            let Some((_, leave)) = self.open.pop() else { return };
            match leave {
                Leave::Style => self.inline.close(),
                Leave::Block => self.end_block(),
                Leave::Term => {
                    self.inline.close();
                    self.end_block();
                }
                Leave::Heading => {
                    self.end_block();
                    self.heading = None;
                    self.inline.in_heading = false;
                }
                Leave::List => {
                    self.end_block();
                    lists.pop();
                    self.follows_item = !lists.is_empty();
                }
                Leave::Container => {
                    self.end_block();
                    self.containers.pop();
                    self.shared = self.shared.min(self.containers.len());
                }
            }
        }
    }

    fn item(&mut self, end: usize, lists: &mut [List]) {
        let marker = match lists.last_mut() {
            Some(List { next: Some(next) }) => {
                let marker = format!("{next}. ");
                *next += 1;
                marker
            }
            _ => "- ".to_owned(),
        };
        self.contain(Container::Item { marker, is_written: false }, end);
    }

    fn contain(&mut self, container: Container, end: usize) {
        if self.containers.len() < MOST_CONTAINERS && self.out.len() < self.budget {
            self.containers.push(container);
            self.open.push((end, Leave::Container));
        } else {
            self.open.push((end, Leave::Block));
        }
    }

    fn image(&mut self, number: usize) {
        if self.left() == 0 {
            return;
        }
        if let Some(image) = image(self.tree, self.addresses, number) {
            self.inline.image(&image);
        }
    }

    /// Whether something in a node begins a line of its own.
    fn holds_blocks(&self, number: usize) -> bool {
        (number + 1..self.tree.end(number)).any(|inner| {
            let element = self.tree.element(inner);
            element.is_block() || element == Element::Br
        })
    }

    fn code_block(&mut self, number: usize) {
        let code = code_of(self.tree, self.marks, number);
        let code = code.trim_end().trim_start_matches('\n');
        if code.trim().is_empty() {
            return;
        }
        let fence = "`".repeat((longest_run(code, '`') + 1).max(3));
        let language = language_of(self.tree, number).unwrap_or_default();
        let block = format!("{fence}{language}\n{code}\n{fence}");
        self.write_block(&block);
    }

    /// Bytes that may still be written with links and marks.
    fn left(&self) -> usize {
        self.budget.saturating_sub(self.out.len() + self.inline.len())
    }

    fn end_block(&mut self) {
        if self.left() == 0 {
            self.inline.silence();
        }
        let Some(line) = self.inline.take() else { return };
        match self.heading {
            Some(level) => {
                let marked = format!("{} {line}", "#".repeat(usize::from(level)));
                self.write_block(&marked);
            }
            None => self.write_block(&line),
        }
    }

    fn write_block(&mut self, block: &str) {
        let begins_item = self
            .containers
            .iter()
            .any(|container| matches!(container, Container::Item { is_written: false, .. }));
        if !self.out.is_empty() {
            self.out.push('\n');
            // The items of a list stand one below the other.
            if !(begins_item && self.follows_item) {
                let mut blank = String::new();
                for container in self.containers.iter().take(self.shared) {
                    match container {
                        Container::Quote => blank.push_str("> "),
                        Container::Item { marker, .. } => blank.extend(marker.chars().map(|_| ' ')),
                    }
                }
                self.out.push_str(blank.trim_end());
                self.out.push('\n');
            }
        }
        for (number, line) in block.split('\n').enumerate() {
            if number > 0 {
                self.out.push('\n');
            }
            let start = self.out.len();
            for container in &mut self.containers {
                match container {
                    Container::Quote => self.out.push_str("> "),
                    Container::Item { marker, is_written } if !*is_written => {
                        *is_written = true;
                        self.out.push_str(marker);
                    }
                    Container::Item { marker, .. } => self.out.extend(marker.chars().map(|_| ' ')),
                }
            }
            if line.is_empty() {
                let end = self.out.get(start..).map_or(0, |prefix| prefix.trim_end().len());
                self.out.truncate(start + end);
            }
            self.out.push_str(line);
        }
        self.shared = self.containers.len();
        self.follows_item =
            self.containers.iter().any(|container| matches!(container, Container::Item { .. }));
    }

    fn end(mut self) -> String {
        while self.out.ends_with("---") && self.out.trim_end_matches("---").ends_with('\n') {
            let end = self.out.trim_end_matches("---").trim_end().len();
            self.out.truncate(end);
        }
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out
    }
}

/// An image as Markdown, if it is one to be shown.
fn image(tree: &Tree<'_>, addresses: &Addresses, number: usize) -> Option<String> {
    let candidates = [Name::Source, Name::DataSource, Name::SourceSet];
    let source = candidates.into_iter().find_map(|name| {
        let value = tree.attribute(number, name)?;
        // What is loaded later has a picture of nothing in its place.
        let value = match name {
            Name::SourceSet => value.split_whitespace().next()?.trim_end_matches(',').to_owned(),
            _ => value.trim().to_owned(),
        };
        (!value.is_empty() && !value.starts_with("data:")).then_some(value)
    })?;
    let address = addresses.absolute(&source)?;
    let mut alternative = String::new();
    for word in tree.attribute(number, Name::Alt).unwrap_or_default().split_whitespace() {
        if !alternative.is_empty() {
            alternative.push(' ');
        }
        inline::escape(word, &mut alternative);
    }
    Some(format!("![{alternative}]({address})"))
}

/// The text in a node that was not dropped, white space collapsed.
fn kept_text(tree: &Tree<'_>, marks: &Marks, number: usize) -> String {
    let mut text = String::new();
    for inner in number + 1..tree.end(number) {
        if !marks.is_dropped(inner) {
            text.push_str(tree.text(inner));
        }
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// The text of a preformatted element as it stands there.
fn code_of(tree: &Tree<'_>, marks: &Marks, number: usize) -> String {
    let mut code = String::new();
    let mut ends: Vec<usize> = Vec::new();
    let mut inner = number + 1;
    while inner < tree.end(number) {
        while ends.last().is_some_and(|end| *end <= inner) {
            ends.pop();
            if !code.ends_with('\n') {
                code.push('\n');
            }
        }
        let element = tree.element(inner);
        if marks.is_dropped(inner) || (element != Element::Text && element.is_no_text()) {
            inner = tree.end(inner);
            continue;
        }
        match element {
            Element::Text => code.push_str(tree.text(inner)),
            Element::Br => code.push('\n'),
            element if element.is_block() => ends.push(tree.end(inner)),
            _ => {}
        }
        inner += 1;
    }
    code.replace("\r\n", "\n").replace('\r', "\n")
}

/// The language of a code block, as highlighters name it in a class of the block, of what it stands in or of the code
/// in it.
fn language_of(tree: &Tree<'_>, number: usize) -> Option<String> {
    let inner = (number + 1 < tree.end(number)).then_some(number + 1);
    let outer = Some(tree.parent(number)).filter(|outer| *outer != 0);
    [Some(number), inner, outer].into_iter().flatten().find_map(|node| {
        let class = tree.attribute(node, Name::Class)?;
        let mut words = class.split_whitespace();
        while let Some(word) = words.next() {
            if word == "brush:" {
                return words.next().and_then(plain_language);
            }
            let known = ["language-", "lang-", "highlight-source-", "brush:"];
            if let Some(language) = known.iter().find_map(|prefix| word.strip_prefix(prefix)) {
                return plain_language(language);
            }
        }
        None
    })
}

fn plain_language(language: &str) -> Option<String> {
    let language = language.trim_end_matches(';');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '.');
    (!language.is_empty() && language.len() <= 30 && language.chars().all(is_plain))
        .then(|| language.to_owned())
}

/// How often a character stands in a row at most.
pub(crate) fn longest_run(text: &str, wanted: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
