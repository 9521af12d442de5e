//! What the classes, ids and roles of an element say about it. Authors of pages name their boxes after what is in
//! them, in English mostly, and the same few hundred words are used all over the web.

use crate::element::Element;
use crate::tree::{Name, Tree};
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use std::sync::LazyLock;

/// Longest class or id that is looked at.
const LONGEST_LABEL: usize = 512;

/// A set of hints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// A word of its own, or its plural.
    Word,
    /// A whole class or the whole id.
    Whole,
}

use At::{Anywhere, Start, Whole, Word};

/// In lower case; a blank, hyphen or underscore is any of the three or none at all.
const PATTERNS: &[(At, Hints, &[&str])] = &[
    (Anywhere, Hints::BODY, &[
        "articlebody", "article-body", "article_body", "article__body", "article-text", "articletext", "article_text",
        "article-content", "articlecontent", "article_content", "article__content", "article__text", "art-content",
        "art-postcontent", "entry-content", "entrycontent", "entry_content", "entry-body", "entrybody", "entry__content",
        "post-content", "post_content", "postcontent", "post__content", "post-body", "postbody", "post_body", "post__body",
        "post-text", "post_text", "post-entry", "postentry", "post_inner_wrapper", "post-bodycopy", "body-text",
        "bodytext", "body-copy", "bodycopy", "story-body", "storybody", "story_body", "story__body", "story-content", "storycontent",
        "story-text", "storytext", "news-text", "newstext", "news-body", "news-content", "newsbody", "news_content", "newscontent",
        "text-content", "field-name-body", "field--name-body", "field-body", "fulltext", "single-content", "blog-content",
        "richtext", "rich-text", "rte-text", "page-content__", "mw-parser-output", "markdown-body", "article-detail",
        "detail-text", "article-main", "articlemain", "theme-content", "paragraph-content", "content-text", "article-copy",
    ]),
    (Whole, Hints::BODY, &["text", "post", "entry", "story", "articletext"]),
    (Start, Hints::ARTICLE, &["article", "single-post", "post-", "story", "hentry", "h-entry", "blog-post", "blogpost", "main-column", "postarea", "newsarticle", "news-article", "artikel", "articulo", "noticia", "beitrag"]),
    (Anywhere, Hints::CONTENT, &[
        "content-main", "content_main", "contentmain", "content-body", "contentbody", "content__body", "main-content", "maincontent",
        "main_content", "page-content", "pagecontent", "page_content", "content-wrapper", "content-area", "section-content", "wpb_text_column",
        "primary-content", "site-content",
    ]),
    (Whole, Hints::CONTENT, &["content", "main", "primary", "bodycontent", "contents", "inhalt", "contenido", "contenu"]),
    (Anywhere, Hints::POSITIVE, &["article", "body", "content", "entry", "main", "page", "post", "text", "blog", "story", "column", "shadow"]),
    (Anywhere, Hints::NEGATIVE, &["-ad-", "banner", "combx", "contact", "footer", "foot-", "gdpr", "masthead", "outbrain", "promo", "related", "share", "shoutbox", "sidebar", "skyscraper", "sponsor", "shopping", "tags", "widget", "meta", "extra", "rss", "legends", "remark", "supplemental"]),
    (Start, Hints::NAVIGATION, &[
        "nav", "menu", "breadcrumb", "bread-crumb", "pagination", "pager", "paging", "subnav", "topnav", "skip-link", "skiplink", "page-links", "pagenav",
        "wp-pagenavi", "sitemap", "toc", "table-of-contents", "tableofcontents", "jump-to", "next-", "prev-", "previous", "postnav", "hamburger", "megamenu", "dropdown", "editsection", "mw-editsection", "mw-jump",
    ]),
    (Anywhere, Hints::NAVIGATION, &["navbar", "navbox", "navigation", "breadcrumb", "post-nav", "catlinks", "submenu"]),
    (Start, Hints::SHARE, &["shar", "social", "sociable", "addthis", "addtoany", "jp-relatedposts", "sharedaddy", "jp-", "follow-us", "followus", "follow-", "facebook", "twitter-share", "tweet-button", "whatsapp", "pinterest", "fb-", "like-button", "likes", "bookmark", "syndication", "dpsp-content", "email-this", "print-", "printbtn", "post-sharing", "teilen", "compartir", "partage"]),
    (Anywhere, Hints::SHARE, &["-share", "_share", "social-", "sharing", "socialmedia", "sharebar", "sharebtn", "sociallinks", "socialshare", "share-button"]),
    (Start, Hints::RELATED, &[
        "related", "recommend", "suggest", "similar", "more-from", "more-stories", "morestories", "morefrom", "more-on", "more-news", "morenews", "most-read", "mostread", "most-popular",
        "mostpopular", "most-viewed", "popular", "trending", "also-read", "alsoread", "read-also", "readalso", "read-next", "readnext", "read-more", "readmore", "see-also", "seealso",
        "you-may", "youmay", "you-might", "yarpp", "crp_related", "zergnet", "nrelate", "latest", "recent-", "recentpost", "recirc", "up-next", "upnext", "next-article", "next-story",
        "linkbox", "link-box", "teaser", "elated", "viral", "top-stories", "topstories", "othernews", "other-news", "relacionad", "verwandt", "mehr-zum", "aehnliche", "weitere", "relacion", "story-list", "newslist", "news-list", "read-on", "inread-related", "internal-link", "crosslink", "keep-reading", "cross-sell", "crosssell", "upsell", "up-sell", "also-bought", "recently-viewed",
    ]),
    (Anywhere, Hints::RELATED, &["relatedpost", "related-", "-related", "_related", "-recommend", "-teaser", "-stories", "relatedarticle", "relatedlinks"]),
    (Start, Hints::COMMENT, &["comment", "disqus", "dsq-", "respond", "replies", "reply-", "comol", "livefyre", "akismet", "nocomments", "fb-comments", "reader-comments", "hypercomments", "kommentar", "commentaire", "comentario", "user-comment", "discussion", "review-list", "trackback", "pingback"]),
    (Anywhere, Hints::COMMENT, &["comments-", "-comments", "_comments", "commentlist", "comment-list", "commentform"]),
    (Start, Hints::INTRUSION, &[
        "cookie", "consent", "gdpr", "ccpa", "newsletter", "popup", "pop-up", "modal", "overlay", "lightbox", "interstitial", "signup", "sign-up", "subscribe", "subscription", "subscriber", "paywall", "premium-",
        "login", "log-in", "signin", "sign-in", "register", "registration", "agegate", "age-gate", "onetrust", "cmp-", "regwall", "piano-", "tp-modal", "mailchimp", "mc_embed", "donate", "donation", "optin", "opt-in", "toast", "snackbar", "adblock", "app-promo", "download-app",
    ]),
    (Anywhere, Hints::INTRUSION, &["newsletter", "cookie-", "cookieconsent", "cookielaw"]),
    (Start, Hints::ADVERTISEMENT, &["adsense", "advert", "adv-", "ad-", "ads-", "adbox", "adslot", "adunit", "adcontainer", "adwrap", "adblock", "ad_", "ads_", "adspace", "banner", "sponsor", "promo", "taboola", "outbrain", "criteo", "skyscraper", "dfp", "gpt-", "google_ad", "googlead", "werbung", "anzeige", "publicidad", "pubblicita", "mgid", "revcontent", "affiliate", "commercial-unit", "leaderboard", "billboard"]),
    (Word, Hints::ADVERTISEMENT, &["ad", "advertising", "advertisement", "adv"]),
    (Start, Hints::BYLINE, &[
        "byline", "by-line", "author", "post-author", "postauthor", "postedby", "posted-by", "posted-on", "post-meta", "postmeta", "postinfo", "post-info", "entry-meta", "article-meta", "articlemeta", "article-info", "article-date", "dateline", "timestamp", "date-", "pubdate", "pub-date", "publish", "published", "post-date", "postdate", "entry-date",
        "tags", "tag-list", "taglist", "tag-links", "tag-cloud", "tagcloud", "post-tag", "posttag", "entry-tag", "article-tag", "articletag", "meta-", "metadata", "post-categories", "cat-links", "categories", "writer", "contributor", "biography", "about-author", "user-info", "userinfo", "user-profile", "rating", "reading-time", "readtime", "read-time", "article-infos", "nfoline", "story-meta", "storymeta", "credits", "views-count", "post-views", "keywords", "entry-utility", "entry-footer", "post-footer", "postfooter", "article-footer", "article__footer", "entry-header", "article-actions", "article-tools", "article__meta", "post__meta", "dateblock", "vcard", "reporter",
    ]),
    (Word, Hints::BYLINE, &["meta", "date", "dates", "autor", "auteur", "topics", "tag"]),
    (Start, Hints::FOOTER, &["footer", "foot-", "colophon", "copyright", "site-info", "siteinfo", "bottom-bar", "legal", "disclaimer", "masthead", "site-header", "page-header-", "topbar", "top-bar", "siteheader", "global-header", "globalheader", "imprint", "impressum"]),
    (Anywhere, Hints::FOOTER, &["-footer", "_footer", "pagefooter", "sitefooter"]),
    (Start, Hints::SIDEBAR, &["sidebar", "side-bar", "aside", "rightcol", "right-col", "right_col", "rightbar", "right-rail", "rightrail", "leftcol", "left-col", "leftbar", "secondary", "side-", "sidecol", "sidecontent", "rail", "marginal", "supplementary"]),
    (Anywhere, Hints::SIDEBAR, &["sidebar", "-aside", "_aside", "side-column", "sidecolumn"]),
    (Whole, Hints::HIDDEN, &["hide", "hidden", "d-none", "invisible", "visually-hidden", "visuallyhidden", "sr-only", "screen-reader-text", "screen-reader", "element-invisible", "noprint", "print-only", "printonly", "visible-print", "is-hidden", "u-hidden", "offscreen", "aria-hidden", "clip-text", "hide-print", "notloaded", "assistive-text", "screen-reader-only", "show-for-sr", "print-hide", "hide-on-print"]),
    (Start, Hints::CAPTION, &["caption", "wp-caption-text", "img-caption", "image-caption", "photo-caption", "photo-credit", "figcaption", "bildunterschrift", "image-credit", "picture-caption", "credit", "media-caption", "imgcaption", "legende"]),
    (Anywhere, Hints::CAPTION, &["-caption", "_caption", "photocredit", "caption-"]),
    (Start, Hints::WIDGET, &["widget", "toolbar", "tool-bar", "button", "btn", "icon", "feedback", "poll-", "quiz", "survey", "search", "searchform", "rss", "slider", "carousel", "slick-", "swiper", "gallery-nav", "player", "video-player", "jw-", "embed", "loading", "spinner", "tooltip", "font-size", "textsize", "backtotop", "back-to-top", "scroll-top", "to-top", "errata", "report-", "accessibility", "vote", "voting", "filter", "sort", "options", "expand", "permission", "weather", "ticker", "stock-", "live-ticker", "flash-message", "alert-bar", "notice-bar", "hatnote", "ambox", "shortcut", "language-switch", "lang-switch", "langswitch", "add-to-cart", "addtocart", "buybox", "wishlist", "cart", "basket", "form-", "contact-form", "wpcf7", "factbox-nav", "infobar", "message-container", "reply-link"]),
    (Anywhere, Hints::WIDGET, &["-widget", "_widget", "toolbar"]),
    (Start, Hints::LEAD, &["lead", "standfirst", "article-intro", "intro", "dek", "subtitle", "sub-title", "sub-headline", "subheadline", "subhead", "chapeau", "sapo", "article-summary", "summary", "abstract", "excerpt", "description", "kicker", "vorspann", "anreisser", "ingress", "entradilla", "bajada", "occhiello", "sommario"]),
    (Start, Hints::POST, &["post-message", "postmessage", "post_message", "message-body", "messagebody", "message-content", "message-text", "messagetext", "post_body", "postcontent", "bbwrapper", "bbcode", "forum-post", "topic-post", "topic-body", "cooked", "js-post-body", "s-prose", "answercell", "postcell", "post-message-content", "msg-body", "usertext-body", "comment-body", "commtext", "answer", "question"]),
];

struct Matcher {
    automaton: AhoCorasick,
    meanings: Vec<(At, Hints)>,
}

static MATCHER: LazyLock<Option<Matcher>> = LazyLock::new(|| {
    let mut words = Vec::new();
    let mut meanings = Vec::new();
    for (at, hints, patterns) in PATTERNS {
        for pattern in *patterns {
            words.push(*pattern);
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
            Anywhere => true,
            Start => starts(),
            Word => starts() && ends(),
            Whole => is_blank(before) && is_blank(after),
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
            of_label(label, &mut hints);
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
        || tree.raw_attribute(number, Name::AriaHidden).is_some_and(|value| value.eq_ignore_ascii_case(b"true"))
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
        for tag in ["<p hidden>", "<p aria-hidden=true>", "<p style='color:red; display : none'>", "<p class=sr-only>"] {
            assert!(hints(tag).has(Hints::HIDDEN), "{tag}");
        }
        assert!(!hints("<p style='display:block' aria-hidden=false>").has(Hints::HIDDEN));
    }
}
