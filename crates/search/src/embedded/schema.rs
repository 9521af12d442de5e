//! The fields of the index. One field, `body`, has every word of a page and decides whether it is found; those beside it
//! decide how high it ranks.

use super::word_tokenizer::WordTokenizer;
use crate::document::{Document, DocumentId, LONGEST_TEXT};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::{Index, IndexSettings, TantivyDocument};

/// Raised whenever the fields or the cutting of words change: an index of another format is built anew.
pub(super) const FORMAT: u32 = 1;
const WORDS: &str = "argiope words";

pub(super) struct Fields {
    pub(super) schema: Schema,
    /// Of job and URL, as one number.
    pub(super) id: Field,
    pub(super) url_key: Field,
    pub(super) job: Field,
    pub(super) body: Field,
    pub(super) title: Field,
    pub(super) anchors: Field,
    pub(super) headings: Field,
    pub(super) site: Field,
    pub(super) language: Field,
    pub(super) status: Field,
    /// The status is one of an error: such pages are found only where a status is asked for.
    pub(super) is_error: Field,
    pub(super) crawled_at: Field,
    pub(super) content: Field,
    pub(super) is_duplicate: Field,
    pub(super) domain: Field,
    pub(super) primary_language: Field,
    pub(super) topics: Field,
    pub(super) url: Field,
    pub(super) host: Field,
    pub(super) shown_title: Field,
    pub(super) description: Field,
    pub(super) text: Field,
}

/// Names of the fields that are read by column.
pub(super) mod columns {
    pub(in crate::embedded) const CONTENT: &str = "content";
    pub(in crate::embedded) const IS_DUPLICATE: &str = "is_duplicate";
    pub(in crate::embedded) const DOMAIN: &str = "domain";
    pub(in crate::embedded) const LANGUAGE: &str = "primary_language";
    pub(in crate::embedded) const TOPICS: &str = "topics";
}

impl Fields {
    pub(super) fn new() -> Fields {
        let mut schema = Schema::builder();
        let words = TextOptions::default().set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer(WORDS)
                .set_index_option(IndexRecordOption::WithFreqsAndPositions),
        );
        let column = TextOptions::default().set_fast("raw");
        Fields {
            id: schema.add_u64_field("id", INDEXED),
            url_key: schema.add_u64_field("url_key", INDEXED),
            job: schema.add_u64_field("job", INDEXED | STORED),
            body: schema.add_text_field("body", words.clone()),
            title: schema.add_text_field("title", words.clone()),
            anchors: schema.add_text_field("anchors", words.clone()),
            headings: schema.add_text_field("headings", words),
            site: schema.add_text_field("site", STRING),
            language: schema.add_text_field("language", STRING),
            status: schema.add_u64_field("status", INDEXED | FAST | STORED),
            is_error: schema.add_bool_field("is_error", INDEXED),
            crawled_at: schema.add_u64_field("crawled_at", FAST | STORED),
            content: schema.add_u64_field(columns::CONTENT, FAST),
            is_duplicate: schema.add_bool_field(columns::IS_DUPLICATE, FAST),
            domain: schema.add_text_field(columns::DOMAIN, column.clone()),
            primary_language: schema.add_text_field(columns::LANGUAGE, column.clone() | STORED),
            topics: schema.add_text_field(columns::TOPICS, column),
            url: schema.add_text_field("url", STORED),
            host: schema.add_text_field("host", STORED),
            shown_title: schema.add_text_field("shown_title", STORED),
            description: schema.add_text_field("description", STORED),
            text: schema.add_text_field("text", STORED),
            schema: schema.build(),
        }
    }

    pub(super) fn document(&self, page: &Document) -> TantivyDocument {
        let mut document = TantivyDocument::default();
        document.add_u64(self.id, number_of(page.id));
        document.add_u64(self.url_key, page.id.url_key);
        document.add_u64(self.job, u64::from(page.id.job.0));
        let text = page.text.get(..page.text.floor_char_boundary(LONGEST_TEXT)).unwrap_or_default();
        // Each in a place of its own, so that no phrase reaches from one into the next.
        for part in [page.title.as_str(), text, page.description.as_str(), page.url.as_str()] {
            document.add_text(self.body, part);
        }
        for part in page.anchors.iter().chain(&page.headings) {
            document.add_text(self.body, part);
        }
        document.add_text(self.title, &page.title);
        page.anchors.iter().for_each(|anchor| document.add_text(self.anchors, anchor));
        page.headings.iter().for_each(|heading| document.add_text(self.headings, heading));
        page.sites().into_iter().for_each(|site| document.add_text(self.site, site));
        let languages = page.languages();
        languages.iter().for_each(|language| document.add_text(self.language, language));
        if let Some(language) = languages.first() {
            document.add_text(self.primary_language, language);
        }
        document.add_u64(self.status, u64::from(page.status));
        document.add_bool(self.is_error, !(200..300).contains(&page.status));
        document.add_u64(self.crawled_at, page.crawled_at.0);
        document.add_u64(self.content, page.content);
        document.add_bool(self.is_duplicate, page.is_duplicate);
        document.add_text(self.domain, &page.root_domain);
        page.topics.iter().for_each(|topic| document.add_text(self.topics, topic));
        for (field, shown) in [
            (self.url, &page.url),
            (self.host, &page.host),
            (self.shown_title, &page.title),
            (self.description, &page.description),
        ] {
            document.add_text(field, shown);
        }
        document.add_text(self.text, text);
        document
    }
}

/// Two ids have the same number as seldom as two URLs have the same key.
pub(super) fn number_of(id: DocumentId) -> u64 {
    // The multiplier of SplitMix64; a job's number alone would change few bits.
    id.url_key ^ u64::from(id.job.0).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// zstd takes half of what lz4 takes, and compressing is a small part of indexing.
pub(super) fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: Compressor::Zstd(ZstdCompressor { compression_level: Some(3) }),
        // On the thread that writes: the index is not to take more cores than one.
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

/// What cuts words is not stored with an index.
pub(super) fn register_words(index: &Index) {
    index.tokenizers().register(WORDS, WordTokenizer::default());
}
