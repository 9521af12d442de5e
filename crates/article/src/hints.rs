//! What the classes, ids and roles of an element say about it. Authors of pages name their boxes after what is in
//! them, in English mostly, and the same few hundred words are used all over the web.

mod words;

use crate::element::Element;
use crate::tree::{Name, Tree};
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use std::sync::LazyLock;
use words::WORDS;

/// Longest class or id that is looked at.
const LONGEST_LABEL: usize = 512;

/// A set of hints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Hints(u32);

macro_rules! hints {
    ($($(#[$doc:meta])* $name:ident = $bit:literal,)*) => {
        impl Hints {
            $($(#[$doc])* pub(crate) const $name: Hints = Hints(1 << $bit);)*
        }
    };
}

hints! {
    /// Holds the text of an article and nothing else.
    BODY = 0,
    /// Holds an article, mostly with a headline and more.
    ARTICLE = 1,
    /// Holds the main part of the page.
    CONTENT = 2,
    /// Is likely to have text.
    POSITIVE = 3,
    /// Is likely to have none.
    NEGATIVE = 4,
    /// Ways to other parts of the site.
    NAVIGATION = 5,
    /// Buttons of other sites.
    SHARE = 6,
    /// Ways to other pages like this one.
    RELATED = 7,
    /// What readers say.
    COMMENT = 8,
    /// Asks for consent, an address, a subscription; lies above the page.
    INTRUSION = 9,
    ADVERTISEMENT = 10,
    /// Who wrote it and when, under which tags.
    BYLINE = 11,
    FOOTER = 12,
    SIDEBAR = 13,
    HIDDEN = 14,
    CAPTION = 15,
    /// Other small things around a text.
    WIDGET = 16,
    /// A summary above the text.
    LEAD = 17,
    /// The posts of a forum.
    POST = 18,
}

impl Hints {
    /// Those that say there is no main text in here.
    pub(crate) const BOILERPLATE: Hints = Hints(
        Hints::NAVIGATION.0
            | Hints::SHARE.0
            | Hints::RELATED.0
            | Hints::INTRUSION.0
            | Hints::ADVERTISEMENT.0
            | Hints::BYLINE.0
            | Hints::FOOTER.0
            | Hints::SIDEBAR.0
            | Hints::HIDDEN.0
            | Hints::WIDGET.0,
    );

    pub(crate) fn has(self, any: Hints) -> bool {
        self.0 & any.0 != 0
    }

    pub(crate) fn with(self, more: Hints) -> Hints {
        Hints(self.0 | more.0)
    }

    fn without(self, less: Hints) -> Hints {
        Hints(self.0 & !less.0)
    }

    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Where a pattern stands in a label.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Anywhere,
    /// At the beginning of a word.
    Start,
    /// A word of its own.
    Word,
    /// A whole class or the whole id.
    Whole,
}

struct Matcher {
    automaton: AhoCorasick,
    meanings: Vec<(At, Hints)>,
}

static MATCHER: LazyLock<Option<Matcher>> = LazyLock::new(|| {
    let mut words = Vec::new();
    let mut meanings = Vec::new();
    for (at, hints, patterns) in WORDS {
        for pattern in patterns.split_ascii_whitespace() {
            words.push(pattern);
            meanings.push((*at, *hints));
        }
    }
    let automaton = AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(words).ok()?;
    Some(Matcher { automaton, meanings })
});

fn is_letter(byte: Option<&u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80)
}

fn is_blank(byte: Option<&u8>) -> bool {
    byte.is_none_or(u8::is_ascii_whitespace)
}

/// What a class or id says.
fn of_label(label: &[u8], hints: &mut Hints) {
    let Some(matcher) = MATCHER.as_ref() else { return };
    let label = label.get(..LONGEST_LABEL).unwrap_or(label);
    let mut lower = [0; LONGEST_LABEL];
    let Some(lower) = lower.get_mut(..label.len()) else { return };
    lower.copy_from_slice(label);
    lower.make_ascii_lowercase();
    for found in matcher.automaton.find_overlapping_iter(&*lower) {
        let Some((at, meaning)) = matcher.meanings.get(found.pattern().as_usize()) else { continue };
        if hints.has(*meaning) {
            continue;
        }
        let before = found.start().checked_sub(1).and_then(|at| label.get(at));
        let after = label.get(found.end());
        let starts = || {
            !is_letter(before)
                || (before.is_some_and(|byte| byte.is_ascii_lowercase())
                    && label.get(found.start()).is_some_and(u8::is_ascii_uppercase))
        };
        let ends = || !is_letter(after) || after.is_some_and(u8::is_ascii_uppercase);
        let holds = match at {
            At::Anywhere => true,
            At::Start => starts(),
            At::Word => starts() && ends(),
            At::Whole => is_blank(before) && is_blank(after),
        };
        if holds {
            *hints = hints.with(*meaning);
        }
    }
}

fn contains(value: &[u8], part: &[u8]) -> bool {
    value.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

/// What is said about an element by its name and attributes.
pub(crate) fn of(tree: &Tree<'_>, number: usize) -> Hints {
    let mut hints = Hints::default();
    for name in [Name::Id, Name::Class] {
        if let Some(label) = tree.raw_attribute(number, name)
            && !label.is_empty()
        {
            // The anchor of a heading is the text of the heading, and no name of a box.
            let is_anchor =
                name == Name::Id && label.iter().filter(|byte| matches!(byte, b'-' | b'_')).count() > 2;
            if !is_anchor {
                of_label(label, &mut hints);
            }
        }
    }
    if let Some(role) = tree.raw_attribute(number, Name::Role) {
        hints = hints.with(match role.trim_ascii().to_ascii_lowercase().as_slice() {
            b"navigation" | b"menu" | b"menubar" | b"directory" | b"tablist" => Hints::NAVIGATION,
            b"complementary" => Hints::SIDEBAR,
            b"contentinfo" | b"banner" => Hints::FOOTER,
            b"dialog" | b"alertdialog" | b"alert" => Hints::INTRUSION,
            b"search" | b"button" | b"toolbar" | b"tooltip" => Hints::WIDGET,
            b"main" => Hints::CONTENT,
            b"article" => Hints::ARTICLE,
            _ => Hints::default(),
        });
    }
    if let Some(property) = tree.raw_attribute(number, Name::ItemProperty) {
        let property = property.trim_ascii();
        if property.eq_ignore_ascii_case(b"articleBody") || property.eq_ignore_ascii_case(b"reviewBody") {
            hints = hints.with(Hints::BODY);
        } else if [b"author".as_slice(), b"datePublished", b"dateModified", b"keywords", b"publisher"]
            .iter()
            .any(|name| property.eq_ignore_ascii_case(name))
        {
            hints = hints.with(Hints::BYLINE);
        }
    }
    let is_hidden = tree.raw_attribute(number, Name::Hidden).is_some()
        || tree
            .raw_attribute(number, Name::AriaHidden)
            .is_some_and(|value| value.eq_ignore_ascii_case(b"true"))
        || tree.raw_attribute(number, Name::Style).is_some_and(hides);
    if is_hidden {
        hints = hints.with(Hints::HIDDEN);
    }
    match tree.element(number) {
        Element::Nav => hints = hints.with(Hints::NAVIGATION),
        Element::Aside => hints = hints.with(Hints::SIDEBAR),
        Element::Footer => hints = hints.with(Hints::FOOTER),
        Element::Article => hints = hints.with(Hints::ARTICLE),
        Element::Main => hints = hints.with(Hints::CONTENT),
        Element::Figcaption => hints = hints.with(Hints::CAPTION),
        Element::Html | Element::Body => hints = Hints::default(),
        _ => {}
    }
    // The box of a text may be named after what else is in it.
    if hints.has(Hints::BODY) {
        hints = hints.without(Hints::BYLINE.with(Hints::WIDGET).with(Hints::CAPTION));
    }
    hints
}

/// A style that does not show what it is given to.
fn hides(style: &[u8]) -> bool {
    let has = |name: &[u8], value: &[u8]| {
        style.split(|byte| *byte == b';').any(|declaration| {
            let mut parts = declaration.splitn(2, |byte| *byte == b':');
            matches!((parts.next(), parts.next()), (Some(found), Some(given))
                if found.trim_ascii().eq_ignore_ascii_case(name) && contains(given, value))
        })
    };
    has(b"display", b"none") || has(b"visibility", b"hidden")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(tag: &str) -> Hints {
        of(&Tree::of(tag), 1)
    }

    #[test]
    fn labels_are_read_word_by_word() {
        assert!(hints("<div class='x entry-content'>").has(Hints::BODY));
        assert!(hints("<div id=articleBody>").has(Hints::BODY));
        assert!(hints("<div class=mainNav>").has(Hints::NAVIGATION));
        assert!(!hints("<div class=unnavigable>").has(Hints::NAVIGATION.with(Hints::SHARE)));
        assert!(hints("<div class='box ad'>").has(Hints::ADVERTISEMENT));
        assert!(!hints("<div class='head shade'>").has(Hints::ADVERTISEMENT));
        assert!(hints("<div class=text>").has(Hints::BODY));
        assert!(!hints("<div class='text-small'>").has(Hints::BODY));
    }

    #[test]
    fn what_is_hidden_is_said_in_many_ways() {
        for tag in [
            "<p hidden>",
            "<p aria-hidden=true>",
            "<p style='color:red; display : none'>",
            "<p class=sr-only>",
        ] {
            assert!(hints(tag).has(Hints::HIDDEN), "{tag}");
        }
        assert!(!hints("<p style='display:block' aria-hidden=false>").has(Hints::HIDDEN));
    }
}
