//! Links of a page: the element that contains them and the values of `rel`. Link segments store each as one byte.

/// The element that contains a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// `<a>`, `<area>`
    Anchor,
    /// `<img>`, `<picture>`, `<svg>`
    Image,
    Script,
    Stylesheet,
    /// `<iframe>`, `<frame>`, `<embed>`, `<object>`
    Frame,
    Form,
    /// `<link>` and `<meta>` other than the above: canonical, alternate, refresh.
    Meta,
    /// `Location` of a redirect.
    Redirect,
    Other,
    Font,
    /// `<video>`, `<audio>`, `<track>` and their sources.
    Media,
    /// `<object>` and `<embed>` whose content is not a page.
    Embedded,
    /// Anything else that a page preloads.
    Preload,
}

impl LinkKind {
    /// In the order of their codes. Only append to it; never reorder it.
    pub const ALL: [LinkKind; 13] = [
        LinkKind::Anchor,
        LinkKind::Image,
        LinkKind::Script,
        LinkKind::Stylesheet,
        LinkKind::Frame,
        LinkKind::Form,
        LinkKind::Meta,
        LinkKind::Redirect,
        LinkKind::Other,
        LinkKind::Font,
        LinkKind::Media,
        LinkKind::Embedded,
        LinkKind::Preload,
    ];

    /// The byte for it in link segments.
    pub fn code(self) -> u8 {
        self as u8
    }

    pub fn from_code(code: u8) -> Option<LinkKind> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The name used in exports.
    pub fn as_str(self) -> &'static str {
        match self {
            LinkKind::Anchor => "anchor",
            LinkKind::Image => "image",
            LinkKind::Script => "script",
            LinkKind::Stylesheet => "stylesheet",
            LinkKind::Frame => "frame",
            LinkKind::Form => "form",
            LinkKind::Meta => "meta",
            LinkKind::Redirect => "redirect",
            LinkKind::Other => "other",
            LinkKind::Font => "font",
            LinkKind::Media => "media",
            LinkKind::Embedded => "embedded",
            LinkKind::Preload => "preload",
        }
    }

    /// Whether it is a part of the page rather than a link to another page.
    pub fn is_resource(self) -> bool {
        match self {
            LinkKind::Image
            | LinkKind::Script
            | LinkKind::Stylesheet
            | LinkKind::Font
            | LinkKind::Media
            | LinkKind::Embedded
            | LinkKind::Preload => true,
            LinkKind::Anchor
            | LinkKind::Frame
            | LinkKind::Form
            | LinkKind::Meta
            | LinkKind::Redirect
            | LinkKind::Other => false,
        }
    }
}

/// The `rel` values that matter, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rel(pub u8);

impl Rel {
    pub const NOFOLLOW: Rel = Rel(1);
    pub const UGC: Rel = Rel(2);
    pub const SPONSORED: Rel = Rel(4);
    pub const NEXT: Rel = Rel(8);
    pub const PREV: Rel = Rel(16);
    pub const CANONICAL: Rel = Rel(32);
    pub const ALTERNATE: Rel = Rel(64);

    /// The `rel` values a crawler checks before it follows a link.
    const ABOUT_FOLLOWING: u8 = Rel::NOFOLLOW.0 | Rel::UGC.0 | Rel::SPONSORED.0;

    pub fn and(self, other: Rel) -> Rel {
        Rel(self.0 | other.0)
    }

    /// For a URL that a page links twice: `nofollow`, `ugc` and `sponsored` count only if both links have them.
    pub fn merged_with(self, other: Rel) -> Rel {
        Rel(self.0 & (other.0 | !Rel::ABOUT_FOLLOWING))
    }

    pub fn has(self, other: Rel) -> bool {
        self.0 & other.0 == other.0
    }

    /// In the spelling of HTML.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        let words = [
            (Rel::NOFOLLOW, "nofollow"),
            (Rel::UGC, "ugc"),
            (Rel::SPONSORED, "sponsored"),
            (Rel::NEXT, "next"),
            (Rel::PREV, "prev"),
            (Rel::CANONICAL, "canonical"),
            (Rel::ALTERNATE, "alternate"),
        ];
        words.into_iter().filter(move |(rel, _)| self.has(*rel)).map(|(_, word)| word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_stored_segments() {
        for (kind, code) in LinkKind::ALL.into_iter().zip(0..) {
            assert_eq!((kind.code(), LinkKind::from_code(code)), (code, Some(kind)));
        }
        assert_eq!(
            (LinkKind::Anchor.code(), LinkKind::Redirect.code(), LinkKind::Preload.code()),
            (0, 7, 12)
        );
        assert_eq!(LinkKind::from_code(13), None);
    }

    #[test]
    fn a_second_link_takes_away_what_it_does_not_say_about_following() {
        let first = Rel::NOFOLLOW.and(Rel::UGC).and(Rel::CANONICAL);
        assert_eq!(first.merged_with(Rel::UGC), Rel::UGC.and(Rel::CANONICAL));
        assert_eq!(Rel::default().merged_with(Rel::NOFOLLOW), Rel::default());
    }
}
