//! Writes a page: head, navigation, article, related links, footer. The links make a tree of all pages of the site,
//! so that a crawl from the front page finds exactly those, and more links across it.

use crate::answer::PagePlan;
use crate::kinds;
use crate::random::{Random, mix};
use crate::sink::{Phrase, Sink};
use crate::web::{SECTIONS, Site, Web, write_number};

/// Children of a page in the tree of the site.
const CHILDREN: u32 = 20;
const CHILDREN_OF_SMALL: u32 = 8;
/// Links to anywhere on the site, and to other sites.
const RELATED: u32 = 22;
const OUTWARD: u32 = 6;

/// How a reference to a page of the same site is written.
#[derive(Clone, Copy)]
enum Form {
    FromRoot,
    Relative,
    Absolute,
    SchemeRelative,
    Fragment,
    Tracking,
}

impl Form {
    fn of(chance: u32) -> Form {
        match chance % 12 {
            0 | 1 => Form::Relative,
            2 => Form::Absolute,
            3 => Form::SchemeRelative,
            4 => Form::Fragment,
            5 => Form::Tracking,
            _ => Form::FromRoot,
        }
    }
}

pub(crate) fn write(web: &Web, site: &Site, plan: &PagePlan, out: &mut impl Sink) {
    let key = plan.content.unwrap_or_else(|| mix(site.key ^ 0x70_6167_6573, u64::from(plan.number)));
    let writer = Writer { web, site, plan };
    let mut random = Random::new(key);
    if web.small() {
        writer.small_page(&mut random, out);
    } else {
        writer.page(&mut random, out);
    }
}

struct Writer<'a> {
    web: &'a Web,
    site: &'a Site,
    plan: &'a PagePlan,
}

impl Writer<'_> {
    fn page(&self, random: &mut Random, out: &mut impl Sink) {
        let theme = self.web.library.theme(self.site.key);
        out.text(b"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">");
        if let Some(theme) = theme {
            out.segment(&theme.head);
        }
        self.head(random, out);
        self.navigation(out);
        self.article_head(random, out);
        // Between 3 and 5 passages: pages differ in size as they do elsewhere.
        let passages = 3 + random.below(3);
        for _ in 0..passages {
            if let Some(passage) = self.web.library.passage(random.next()) {
                out.segment(passage);
            }
        }
        out.text(b"\n</article>\n<ul class=\"pages\">");
        self.tree_links(CHILDREN, random, out);
        out.text(b"\n</ul>\n<ul class=\"related\">");
        for _ in 0..RELATED {
            self.related(random, out);
        }
        out.text(b"\n</ul>\n<ul class=\"elsewhere\">");
        for _ in 0..OUTWARD {
            self.outward(random, out);
        }
        out.text(b"\n</ul>");
        if let Some(theme) = theme {
            out.segment(&theme.footer);
        }
    }

    fn small_page(&self, random: &mut Random, out: &mut impl Sink) {
        out.text(b"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        self.head(random, out);
        out.text(b"\n</head>\n<body>");
        self.article_head(random, out);
        out.text(b"\n</article>\n<ul>");
        self.tree_links(CHILDREN_OF_SMALL, random, out);
        for _ in 0..2 {
            self.related(random, out);
        }
        self.outward(random, out);
        out.text(b"\n</ul>\n</body>\n</html>\n");
    }

    fn title(&self, out: &mut Vec<u8>) {
        match &self.plan.title {
            Some(title) => out.extend_from_slice(title.as_bytes()),
            None => self.web.write_title(self.site, self.plan.number, out),
        }
    }

    fn url(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"http://");
        out.extend_from_slice(self.site.authority.as_bytes());
        match &self.plan.path {
            Some(path) => out.extend_from_slice(path.as_bytes()),
            None => {
                out.push(b'/');
                self.web.write_path(self.site, self.plan.number, out);
            }
        }
    }

    fn head(&self, random: &mut Random, out: &mut impl Sink) {
        let mut text = Vec::with_capacity(2048);
        text.extend_from_slice(b"<title>");
        self.title(&mut text);
        text.extend_from_slice(b" &ndash; Site ");
        write_number(self.site.index, &mut text);
        text.extend_from_slice(b"</title>\n<meta name=\"description\" content=\"");
        self.web.vocabulary.run_of_words(random, 16, &mut text);
        text.extend_from_slice(b"\">\n<link rel=\"canonical\" href=\"");
        self.url(&mut text);
        text.extend_from_slice(b"\">");
        if !self.web.small() {
            text.extend_from_slice(b"\n<meta name=\"keywords\" content=\"");
            for position in 0..5 {
                text.extend_from_slice(if position == 0 { b"" } else { b", " });
                text.extend_from_slice(self.web.vocabulary.name(random.next()).as_bytes());
            }
            text.extend_from_slice(b"\">\n<meta name=\"author\" content=\"");
            self.web.write_title(self.site, 1 + random.below(20), &mut text);
            text.extend_from_slice(
                b"\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
            );
        }
        text.extend_from_slice(self.plan.head.as_bytes());
        out.text(&text);
        if !self.web.small() {
            self.open_graph(out);
        }
    }

    fn open_graph(&self, out: &mut impl Sink) {
        let mut text = Vec::with_capacity(128);
        for name in ["title", "type", "url", "image"] {
            out.phrase(Phrase::OpenGraph);
            text.clear();
            text.extend_from_slice(name.as_bytes());
            text.extend_from_slice(b"\" content=\"");
            match name {
                "title" => self.title(&mut text),
                "url" => self.url(&mut text),
                "image" => text.extend_from_slice(b"/img/cover.png"),
                _ => text.extend_from_slice(b"article"),
            }
            text.extend_from_slice(b"\">");
            out.text(&text);
        }
    }

    fn navigation(&self, out: &mut impl Sink) {
        out.text(
            b"</head>\n<body>\n<header id=\"top\"><a class=\"logo\" href=\"/\"><img src=\"/img/logo.png\" alt=\"Home\"></a>\
            \n<nav>\n<ul>",
        );
        let mut text = Vec::with_capacity(128);
        for (page, section) in (1..self.web.config.pages).zip(SECTIONS) {
            out.phrase(Phrase::Item);
            text.clear();
            text.push(b'/');
            self.web.write_path(self.site, page, &mut text);
            text.extend_from_slice(b"\">");
            text.extend_from_slice(section.as_bytes());
            out.text(&text);
            out.phrase(Phrase::ItemEnd);
        }
        out.text(b"\n</ul>\n</nav></header>\n<div class=\"crumbs\"><a href=\"/\">Home</a> &rsaquo; ");
        text.clear();
        let parent = self.plan.number.saturating_sub(1) / CHILDREN;
        text.extend_from_slice(b"<a href=\"/");
        self.web.write_path(self.site, parent, &mut text);
        text.extend_from_slice(b"\">");
        self.web.write_title(self.site, parent, &mut text);
        text.extend_from_slice(b"</a></div>\n<main>");
        out.text(&text);
    }

    /// The part of the article that no other page has.
    fn article_head(&self, random: &mut Random, out: &mut impl Sink) {
        let mut text = Vec::with_capacity(2048);
        text.extend_from_slice(b"\n<article>\n<h1>");
        self.title(&mut text);
        text.extend_from_slice(b"</h1>\n<p>");
        let words = if self.web.small() { 96 } else { 120 };
        self.web.vocabulary.run_of_words(random, words, &mut text);
        text.extend_from_slice(b"</p>");
        text.extend_from_slice(self.plan.body.as_bytes());
        out.text(&text);
        if self.plan.number == 0 && self.plan.path.is_none() {
            let mut text = Vec::new();
            kinds::write_links(self.web, self.site, &mut text);
            out.text(&text);
        }
    }

    fn tree_links(&self, children: u32, random: &mut Random, out: &mut impl Sink) {
        let first = self.plan.number.saturating_mul(children).saturating_add(1);
        // A page that only its kind knows is a leaf of the tree.
        let last = if self.plan.path.is_some() { first } else { first.saturating_add(children) };
        let mut text = Vec::with_capacity(160);
        for page in first..last.min(self.web.config.pages) {
            out.phrase(Phrase::Item);
            text.clear();
            self.reference(page, Form::of(random.below(12)), &mut text, out);
            text.extend_from_slice(b"\">");
            self.web.write_title(self.site, page, &mut text);
            out.text(&text);
            out.phrase(Phrase::ItemEnd);
        }
    }

    fn related(&self, random: &mut Random, out: &mut impl Sink) {
        let page = random.below(self.web.config.pages);
        let chance = random.below(24);
        let mut text = Vec::with_capacity(160);
        out.phrase(Phrase::Related);
        self.reference(page, Form::of(chance), &mut text, out);
        if chance == 23 {
            out.text(&text);
            text.clear();
            out.phrase(Phrase::Nofollow);
        } else {
            text.extend_from_slice(b"\">");
        }
        self.web.write_title(self.site, page, &mut text);
        out.text(&text);
        out.phrase(Phrase::Date);
        text.clear();
        text.push(b'1' + u8::try_from(chance % 9).unwrap_or(0));
        text.extend_from_slice(b"</span></li>");
        out.text(&text);
    }

    /// A link to a page of another site, or of this one if it is alone.
    fn outward(&self, random: &mut Random, out: &mut impl Sink) {
        let other = self.web.site(random.below(self.web.config.hosts));
        let page = random.below(self.web.config.pages);
        let mut text = Vec::with_capacity(160);
        out.phrase(Phrase::Item);
        out.phrase(Phrase::Http);
        text.extend_from_slice(other.authority.as_bytes());
        text.push(b'/');
        self.web.write_path(&other, page, &mut text);
        text.extend_from_slice(b"\">");
        self.web.write_title(&other, page, &mut text);
        out.text(&text);
        out.phrase(Phrase::ItemEnd);
    }

    /// From the page's folder to the root. Ordinary pages but the front page lie one level down.
    fn way_up(&self, text: &mut Vec<u8>) {
        let levels = match &self.plan.path {
            Some(path) => path.matches('/').count().saturating_sub(1),
            None => usize::from(self.plan.number > 0),
        };
        text.extend_from_slice(if levels == 0 { b"./" } else { b"" });
        for _ in 0..levels {
            text.extend_from_slice(b"../");
        }
    }

    /// Appends a reference to `text`; what comes before a phrase goes out first.
    fn reference(&self, page: u32, form: Form, text: &mut Vec<u8>, out: &mut impl Sink) {
        match form {
            Form::FromRoot | Form::Fragment | Form::Tracking => text.push(b'/'),
            Form::Relative => self.way_up(text),
            Form::Absolute | Form::SchemeRelative => {
                if matches!(form, Form::Absolute) {
                    out.phrase(Phrase::Http);
                } else {
                    text.extend_from_slice(b"//");
                }
                text.extend_from_slice(self.site.authority.as_bytes());
                text.push(b'/');
            }
        }
        self.web.write_path(self.site, page, text);
        match form {
            Form::Fragment => text.extend_from_slice(b"#top"),
            Form::Tracking => {
                out.text(text);
                text.clear();
                out.phrase(Phrase::Tracking);
            }
            _ => {}
        }
    }
}
