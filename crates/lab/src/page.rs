//! Writes a page: head, navigation, article, related links, footer. The links make a tree of all pages of the site,
//! so that a crawl from the front page finds exactly those, and more links across it.

use crate::answer::PagePlan;
use crate::kinds;
use crate::random::{Random, mix};
use crate::web::{SECTIONS, Site, Web, write_number};

/// Children of a page in the tree of the site.
const CHILDREN: u32 = 20;
const CHILDREN_OF_SMALL: u32 = 8;
/// Links to anywhere on the site, and to other sites.
const RELATED: u32 = 22;
const OUTWARD: u32 = 6;
const OUTWARD_OF_SMALL: u32 = 1;

const ITEM: &[u8] = b"\n<li><a href=\"";
const ITEM_END: &[u8] = b"</a></li>";

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

    fn without_tracking(self) -> Form {
        match self {
            Form::Tracking => Form::FromRoot,
            other => other,
        }
    }
}

pub(crate) fn write(web: &Web, site: &Site, plan: &PagePlan, out: &mut Vec<u8>) {
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
    fn page(&self, random: &mut Random, out: &mut Vec<u8>) {
        let theme = self.web.library.theme(self.site.key);
        out.extend_from_slice(b"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">");
        if let Some(theme) = theme {
            out.extend_from_slice(&theme.head);
        }
        self.head(random, out);
        self.navigation(out);
        self.article_head(random, out);
        // Between 3 and 5 passages: pages differ in size as they do elsewhere.
        let passages = 3 + random.below(3);
        for _ in 0..passages {
            if let Some(passage) = self.web.library.passage(random.next()) {
                out.extend_from_slice(passage);
            }
        }
        out.extend_from_slice(b"\n</article>\n<ul class=\"pages\">");
        self.tree_links(CHILDREN, random, out);
        out.extend_from_slice(b"\n</ul>\n<ul class=\"related\">");
        for _ in 0..RELATED {
            self.related(random, out);
        }
        out.extend_from_slice(b"\n</ul>\n<ul class=\"elsewhere\">");
        for _ in 0..self.web.config.outward.unwrap_or(OUTWARD) {
            self.outward(random, out);
        }
        out.extend_from_slice(b"\n</ul>");
        if let Some(theme) = theme {
            out.extend_from_slice(&theme.footer);
        }
    }

    fn small_page(&self, random: &mut Random, out: &mut Vec<u8>) {
        out.extend_from_slice(b"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        self.head(random, out);
        out.extend_from_slice(b"\n</head>\n<body>");
        self.article_head(random, out);
        out.extend_from_slice(b"\n</article>\n<ul>");
        self.tree_links(CHILDREN_OF_SMALL, random, out);
        for _ in 0..2 {
            self.related(random, out);
        }
        for _ in 0..self.web.config.outward.unwrap_or(OUTWARD_OF_SMALL) {
            self.outward(random, out);
        }
        out.extend_from_slice(b"\n</ul>\n</body>\n</html>\n");
    }

    fn title(&self, out: &mut Vec<u8>) {
        match &self.plan.title {
            Some(title) => out.extend_from_slice(title.as_bytes()),
            None => self.web.write_title(self.site, self.plan.number, out),
        }
    }

    fn url(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.web.scheme().as_bytes());
        out.extend_from_slice(b"://");
        out.extend_from_slice(self.site.authority.as_bytes());
        match &self.plan.path {
            Some(path) => out.extend_from_slice(path.as_bytes()),
            None => {
                out.push(b'/');
                self.web.write_path(self.site, self.plan.number, out);
            }
        }
    }

    fn head(&self, random: &mut Random, out: &mut Vec<u8>) {
        out.extend_from_slice(b"<title>");
        self.title(out);
        out.extend_from_slice(b" &ndash; Site ");
        write_number(self.site.index, out);
        out.extend_from_slice(b"</title>\n<meta name=\"description\" content=\"");
        self.web.vocabulary.run_of_words(random, 16, out);
        out.extend_from_slice(b"\">\n<link rel=\"canonical\" href=\"");
        self.url(out);
        out.extend_from_slice(b"\">");
        if !self.web.small() {
            out.extend_from_slice(b"\n<meta name=\"keywords\" content=\"");
            for position in 0..5 {
                out.extend_from_slice(if position == 0 { b"" } else { b", " });
                out.extend_from_slice(self.web.vocabulary.name(random.next()).as_bytes());
            }
            out.extend_from_slice(b"\">\n<meta name=\"author\" content=\"");
            self.web.write_title(self.site, 1 + random.below(20), out);
            out.extend_from_slice(
                b"\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
            );
        }
        out.extend_from_slice(self.plan.head.as_bytes());
        if !self.web.small() {
            self.open_graph(out);
        }
    }

    fn open_graph(&self, out: &mut Vec<u8>) {
        for name in ["title", "type", "url", "image"] {
            out.extend_from_slice(b"\n<meta property=\"og:");
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\" content=\"");
            match name {
                "title" => self.title(out),
                "url" => self.url(out),
                "image" => out.extend_from_slice(b"/img/cover.png"),
                _ => out.extend_from_slice(b"article"),
            }
            out.extend_from_slice(b"\">");
        }
    }

    fn navigation(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(
            b"</head>\n<body>\n<header id=\"top\"><a class=\"logo\" href=\"/\"><img src=\"/img/logo.png\" alt=\"Home\"></a>\
            \n<nav>\n<ul>",
        );
        for (page, section) in (1..self.web.config.pages).zip(SECTIONS) {
            out.extend_from_slice(ITEM);
            out.push(b'/');
            self.web.write_path(self.site, page, out);
            out.extend_from_slice(b"\">");
            out.extend_from_slice(section.as_bytes());
            out.extend_from_slice(ITEM_END);
        }
        out.extend_from_slice(
            b"\n</ul>\n</nav></header>\n<div class=\"crumbs\"><a href=\"/\">Home</a> &rsaquo; ",
        );
        let parent = self.plan.number.saturating_sub(1) / CHILDREN;
        out.extend_from_slice(b"<a href=\"/");
        self.web.write_path(self.site, parent, out);
        out.extend_from_slice(b"\">");
        self.web.write_title(self.site, parent, out);
        out.extend_from_slice(b"</a></div>\n<main>");
    }

    /// The part of the article that is unique to the page.
    fn article_head(&self, random: &mut Random, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\n<article>\n<h1>");
        self.title(out);
        out.extend_from_slice(b"</h1>\n<p>");
        let words = if self.web.small() { 112 } else { 120 };
        self.web.vocabulary.run_of_words(random, words, out);
        out.extend_from_slice(b"</p>");
        out.extend_from_slice(self.plan.body.as_bytes());
        if self.plan.number == 0 && self.plan.path.is_none() {
            kinds::write_links(self.web, self.site, out);
        }
    }

    fn tree_links(&self, children: u32, random: &mut Random, out: &mut Vec<u8>) {
        let first = self.plan.number.saturating_mul(children).saturating_add(1);
        // A page that only its kind knows is a leaf of the tree.
        let last = if self.plan.path.is_some() { first } else { first.saturating_add(children) };
        for page in first..last.min(self.web.config.pages) {
            out.extend_from_slice(ITEM);
            self.reference(page, Form::of(random.below(12)), out);
            out.extend_from_slice(b"\">");
            self.web.write_title(self.site, page, out);
            out.extend_from_slice(ITEM_END);
        }
    }

    fn related(&self, random: &mut Random, out: &mut Vec<u8>) {
        let page = random.below(self.web.config.pages);
        let chance = random.below(24);
        out.extend_from_slice(b"\n<li class=\"related\"><a class=\"title\" href=\"");
        self.reference(page, Form::of(chance), out);
        out.extend_from_slice(if chance == 23 { b"\" rel=\"nofollow\">" } else { b"\">" });
        self.web.write_title(self.site, page, out);
        out.extend_from_slice(b"</a> <span class=\"date\">2024-0");
        out.push(b'1' + u8::try_from(chance % 9).unwrap_or(0));
        out.extend_from_slice(b"</span></li>");
    }

    /// A link to a page of another site, or of this one if it is alone.
    fn outward(&self, random: &mut Random, out: &mut Vec<u8>) {
        let other = self.web.site(random.below(self.web.config.hosts));
        let page = random.below(self.web.config.pages);
        out.extend_from_slice(ITEM);
        out.extend_from_slice(self.web.scheme().as_bytes());
        out.extend_from_slice(b"://");
        out.extend_from_slice(other.authority.as_bytes());
        out.push(b'/');
        self.web.write_path(&other, page, out);
        out.extend_from_slice(b"\">");
        self.web.write_title(&other, page, out);
        out.extend_from_slice(ITEM_END);
    }

    /// From the page's folder to the root. Ordinary pages but the front page lie one level down.
    fn way_up(&self, out: &mut Vec<u8>) {
        let levels = match &self.plan.path {
            Some(path) => path.matches('/').count().saturating_sub(1),
            None => usize::from(self.plan.number > 0),
        };
        out.extend_from_slice(if levels == 0 { b"./" } else { b"" });
        for _ in 0..levels {
            out.extend_from_slice(b"../");
        }
    }

    fn reference(&self, page: u32, form: Form, out: &mut Vec<u8>) {
        // A URL is requested in the spelling that is found first. Front pages are usually seeds, so that spelling is
        // known.
        let form = if page == 0 && self.web.config.tracking { form } else { form.without_tracking() };
        match form {
            Form::FromRoot | Form::Fragment | Form::Tracking => out.push(b'/'),
            Form::Relative => self.way_up(out),
            Form::Absolute | Form::SchemeRelative => {
                if matches!(form, Form::Absolute) {
                    out.extend_from_slice(self.web.scheme().as_bytes());
                    out.push(b':');
                }
                out.extend_from_slice(b"//");
                out.extend_from_slice(self.site.authority.as_bytes());
                out.push(b'/');
            }
        }
        self.web.write_path(self.site, page, out);
        match form {
            Form::Fragment => out.extend_from_slice(b"#top"),
            Form::Tracking => out.extend_from_slice(b"?utm_source=feed&amp;utm_medium=link"),
            _ => {}
        }
    }
}
