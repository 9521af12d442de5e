//! Document frequencies of a crawl: a sketch per language, to be stored and added up.

use super::sketch::Sketch;
use crate::language::LanguageCode;
use std::collections::BTreeMap;
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

/// For each language; see [`DocumentFrequencies::with_bytes`].
pub const DEFAULT_BYTES: usize = 4 << 20;
/// More languages than these share one sketch.
const MOST_LANGUAGES: usize = 32;
/// No stored sketch is larger, whatever it says of itself.
const LARGEST_SKETCH: usize = 256 << 20;

const MAGIC: &[u8; 8] = b"argi-df1";
/// The name under which pages without a language are stored, and those of too many languages.
const NO_LANGUAGE: [u8; 2] = *b"--";

/// In how many documents each term was, by language.
///
/// Each worker of a crawl has one, stores what [`DocumentFrequencies::to_bytes`] gives and reads it at its next start. All of
/// them together are had by merging each once into an empty one; merging one twice counts it twice.
#[derive(Clone, PartialEq, Eq)]
pub struct DocumentFrequencies {
    most_bytes: usize,
    by_language: BTreeMap<Option<LanguageCode>, Sketch>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrequenciesError {
    #[error("these are no document frequencies, or of another version")]
    Foreign,
    #[error("the document frequencies are damaged: their checksum is wrong")]
    Damaged,
    #[error("the document frequencies are malformed")]
    Malformed,
}

impl Default for DocumentFrequencies {
    fn default() -> DocumentFrequencies {
        DocumentFrequencies::with_bytes(DEFAULT_BYTES)
    }
}

impl DocumentFrequencies {
    /// With sketches of at most so many bytes per language. They begin with 256 KB.
    pub fn with_bytes(most_bytes: usize) -> DocumentFrequencies {
        DocumentFrequencies { most_bytes: most_bytes.min(LARGEST_SKETCH), by_language: BTreeMap::new() }
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.by_language.values().map(Sketch::bytes).sum()
    }

    /// Documents in a language, as far as they still count.
    pub fn documents(&self, language: Option<LanguageCode>) -> u32 {
        self.sketch(language).map_or(0, Sketch::documents)
    }

    pub(super) fn sketch(&self, language: Option<LanguageCode>) -> Option<&Sketch> {
        match self.by_language.get(&language) {
            None if self.by_language.len() >= MOST_LANGUAGES => self.by_language.get(&None),
            found => found,
        }
    }

    pub(super) fn sketch_mut(&mut self, language: Option<LanguageCode>) -> &mut Sketch {
        let is_full = self.by_language.len() >= MOST_LANGUAGES && !self.by_language.contains_key(&language);
        let key = if is_full { None } else { language };
        let most_bytes = self.most_bytes;
        self.by_language.entry(key).or_insert_with(|| Sketch::new(most_bytes))
    }

    /// Adds what another worker has counted.
    pub fn merge(&mut self, other: DocumentFrequencies) {
        for (language, sketch) in other.by_language {
            self.sketch_mut(language).merge(sketch);
        }
    }

    /// To be stored. Mostly zeros while a crawl is young: whoever stores it may want to compress it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(u8::try_from(self.by_language.len()).unwrap_or(u8::MAX));
        for (language, sketch) in &self.by_language {
            let code = language.and_then(|code| code.as_str().as_bytes().first_chunk().copied());
            bytes.extend_from_slice(&code.unwrap_or(NO_LANGUAGE));
            sketch.write(&mut bytes);
        }
        bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    /// What [`DocumentFrequencies::to_bytes`] gave. A sketch that is larger than `most_bytes` becomes smaller.
    pub fn from_bytes(bytes: &[u8], most_bytes: usize) -> Result<DocumentFrequencies, FrequenciesError> {
        if !bytes.starts_with(MAGIC) {
            return Err(FrequenciesError::Foreign);
        }
        let (content, checksum) = bytes.split_last_chunk().ok_or(FrequenciesError::Malformed)?;
        if xxh3_64(content) != u64::from_le_bytes(*checksum) {
            return Err(FrequenciesError::Damaged);
        }
        let rest = content.get(MAGIC.len()..).unwrap_or_default();
        Self::read(rest, most_bytes).ok_or(FrequenciesError::Malformed)
    }

    fn read(bytes: &[u8], most_bytes: usize) -> Option<DocumentFrequencies> {
        let mut read = DocumentFrequencies::with_bytes(most_bytes);
        let (count, mut rest) = bytes.split_first()?;
        for _ in 0..*count {
            let (code, after) = rest.split_first_chunk::<2>()?;
            let language = match code {
                &NO_LANGUAGE => None,
                code => Some(LanguageCode::of(std::str::from_utf8(code).ok()?)?),
            };
            let (sketch, after) = Sketch::read(after, read.most_bytes, LARGEST_SKETCH)?;
            if read.by_language.insert(language, sketch).is_some() {
                return None;
            }
            rest = after;
        }
        (rest.is_empty() && read.by_language.len() <= MOST_LANGUAGES + 1).then_some(read)
    }
}

impl std::fmt::Debug for DocumentFrequencies {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let documents = self.by_language.iter().map(|(language, sketch)| (language, sketch.documents()));
        formatter.debug_map().entries(documents).finish()
    }
}
