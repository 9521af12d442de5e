//! The language of a page, from what it declares and from the first 600 bytes of its text.
//!
//! The script decides where it can. Where it cannot, whichlang is asked first: it is quick and right, but knows sixteen
//! languages and takes any other for one of these. So its answer stands if the page declares the same, or if the words
//! that every text has (`stop_words`) are those of the language; else whatlang is asked, which knows seventy: between two
//! languages where the page declares another one, and among all of them where nothing is known.

mod code;
mod script;

pub use code::LanguageCode;

use crate::stop_words::StopWords;
use crate::words::each_word;
use script::{Counted, Script, dominant};
use serde::Serialize;

/// How much of a text is looked at.
pub const SAMPLE_BYTES: usize = 600;
/// Fewer letters than these say nothing.
const LEAST_LETTERS: u32 = 24;
/// Each of these is as much as a syllable or a word.
const LEAST_CHARACTERS: u32 = 8;

/// What a language was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The page declares it, and its text is too short, or in a language that cannot be told, to say otherwise.
    Declaration,
    /// The page declares nothing, or something that its text is not.
    Text,
    /// The page declares it, and its text is in it.
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Language {
    pub code: LanguageCode,
    /// 0 to 1.
    pub confidence: f32,
    pub evidence: Evidence,
}

/// The language of a text without a declaration; none where there is too little of it.
pub fn detect(text: &str) -> Option<Language> {
    page_language(None, text)
}

/// The language of a page that declares `declared` (`<html lang>`, `Content-Language`), by its visible text. None where the
/// page declares none and there is too little text, or its language cannot be told.
pub fn page_language(declared: Option<&str>, text: &str) -> Option<Language> {
    let declared = declared.and_then(LanguageCode::declared);
    let sample = sample_of(text);
    let seen = dominant(sample).filter(is_enough).and_then(|counted| match declared {
        Some(declared) => check(declared, &counted, sample),
        None => guess(&counted, sample),
    });
    match (declared, seen) {
        (Some(declared), None) => {
            Some(Language { code: declared, confidence: 0.5, evidence: Evidence::Declaration })
        }
        (_, seen) => seen,
    }
}

/// The beginning of the text, up to the end of a word where there is one.
fn sample_of(text: &str) -> &str {
    if text.len() <= SAMPLE_BYTES {
        return text;
    }
    let head = text.get(..text.floor_char_boundary(SAMPLE_BYTES)).unwrap_or(text);
    let cut = head.rfind(' ').filter(|at| *at > SAMPLE_BYTES / 2).unwrap_or(head.len());
    head.get(..cut).unwrap_or(head)
}

fn is_enough(counted: &Counted) -> bool {
    let least = match counted.script {
        Script::Han | Script::Kana | Script::Hangul => LEAST_CHARACTERS,
        _ => LEAST_LETTERS,
    };
    counted.letters >= least
}

fn code(code: &str) -> Option<LanguageCode> {
    LanguageCode::of(code)
}

fn by_text(code: LanguageCode, confidence: f32) -> Option<Language> {
    Some(Language { code, confidence, evidence: Evidence::Text })
}

/// The only language of a script, and how sure that is.
fn of_script(counted: &Counted) -> Option<(LanguageCode, f32)> {
    let only = match counted.script {
        Script::Own(code) => code,
        Script::Greek => "el",
        Script::Hangul => "ko",
        Script::Kana => "ja",
        Script::Han => "zh",
        Script::Latin | Script::Cyrillic | Script::Arabic | Script::Hebrew | Script::Devanagari => {
            return None;
        }
    };
    Some((code(only)?, counted.letters as f32 / counted.all.max(1) as f32))
}

/// Languages written in these scripts, beside the first, which is what undeclared text in them mostly is.
fn may_be_written_in(declared: LanguageCode, script: Script) -> bool {
    let others: &[&str] = match script {
        Script::Own("bn") => &["as"],
        Script::Own("am") => &["ti"],
        Script::Own("bo") => &["dz"],
        Script::Hebrew => &["he", "yi"],
        Script::Arabic => {
            &["ar", "fa", "ur", "ps", "ug", "sd", "ku", "ks", "ha", "az", "ms", "pa", "kk", "ky"]
        }
        Script::Devanagari => &["hi", "mr", "ne", "sa", "ks", "sd", "bh"],
        Script::Cyrillic => &[
            "ru", "uk", "be", "bg", "sr", "mk", "kk", "ky", "tg", "mn", "tt", "ba", "cv", "os", "ce", "av",
            "ab", "kv", "cu", "bs", "tk", "uz", "az", "ro",
        ],
        _ => &[],
    };
    others.contains(&declared.as_str())
}

/// Whether a page is in the language that it declares, or in which one it is.
fn check(declared: LanguageCode, counted: &Counted, sample: &str) -> Option<Language> {
    let confirmed = |confidence| Some(Language { code: declared, confidence, evidence: Evidence::Both });
    if let Some((code, confidence)) = of_script(counted) {
        // Headings and names have no kana in Japanese either.
        let may_be_japanese =
            counted.script == Script::Han && counted.letters < 30 && declared.as_str() == "ja";
        if code == declared || may_be_japanese || may_be_written_in(declared, counted.script) {
            return confirmed(confidence);
        }
        return by_text(code, confidence);
    }
    let words = Words::of(sample);
    let ours = words.share(declared);
    if counted.script == Script::Latin
        && ours >= SURE_SHARE
        && !HAS_NEAR_RELATIVES.contains(&declared.as_str())
    {
        return confirmed(0.98);
    }
    let quick = quick_answer(sample)?;
    if quick == declared {
        // A language that the quick detector does not know may be taken for the declared one.
        if counted.script != Script::Latin || ours >= LIKELY_SHARE {
            return confirmed(0.99);
        }
        let info = whatlang::Detector::new().detect(sample);
        let other = info.filter(|info| info.confidence() >= SURE_OF_ANOTHER);
        return match other.and_then(|info| Some((code(of_whatlang(info.lang())?)?, info))) {
            Some((found, info)) if found != declared => by_text(found, confidence_of(&info)),
            _ => confirmed(0.7),
        };
    }
    let Some(known) = to_whatlang(declared) else {
        // A language that nobody here knows: it stands, unless the text is clearly in another.
        let is_alike = counted.script != Script::Latin && may_be_written_in(declared, counted.script);
        if is_alike || is_taken_for(declared, quick) {
            return None;
        }
        return (words.share(quick) >= CLEAR_SHARE).then_some(()).and_then(|()| by_text(quick, 0.9));
    };
    if is_taken_for(declared, quick) && ours >= SURE_SHARE {
        return confirmed(0.8);
    }
    // Which of the two? The quick answer may be the language of neither.
    let theirs = words.share(quick);
    if ours >= SURE_SHARE && ours > theirs * 1.5 {
        return confirmed(0.95);
    }
    if theirs >= CLEAR_SHARE && theirs > ours * 2.0 && !HAS_NEAR_RELATIVES.contains(&quick.as_str()) {
        return by_text(quick, 0.95);
    }
    let info = whatlang::Detector::new().detect(sample)?;
    if info.lang() == known
        || of_whatlang(info.lang()).is_some_and(|found| is_same_family(found, declared.as_str()))
    {
        return confirmed(confidence_of(&info));
    }
    let found = code(of_whatlang(info.lang())?)?;
    by_text(found, confidence_of(&info))
}

/// Texts in other languages have fewer, mostly; menus and lists of names, too.
const LIKELY_SHARE: f32 = 0.20;
/// Less sure than this, another language is no reason to doubt what page and quick detector say.
const SURE_OF_ANOTHER: f64 = 0.6;
/// Of so many of its words a text is sure to be in the language.
const SURE_SHARE: f32 = 0.30;
/// As good as sure: no other language has so many of them by chance.
const CLEAR_SHARE: f32 = 0.40;

/// The language of a page that declares none.
fn guess(counted: &Counted, sample: &str) -> Option<Language> {
    if let Some((code, confidence)) = of_script(counted) {
        return by_text(code, confidence);
    }
    let words = Words::of(sample);
    let english = code("en")?;
    if counted.script == Script::Latin && words.share(english) >= CLEAR_SHARE {
        return by_text(english, 0.97);
    }
    let quick = quick_answer(sample)?;
    if counted.script == Script::Latin
        && !matches!(quick.as_str(), "ar" | "hi" | "ja" | "ko" | "ru" | "zh")
        && words.share(quick) >= LIKELY_SHARE
        && !HAS_NEAR_RELATIVES.contains(&quick.as_str())
    {
        return by_text(quick, 0.97);
    }
    let info = whatlang::Detector::new().detect(sample)?;
    let found = code(of_whatlang(info.lang())?)?;
    // Two that learned differently and agree.
    let confidence = if found == quick { 0.97 } else { confidence_of(&info) };
    by_text(found, confidence)
}

/// The quick detector learns nothing from more than this.
const QUICK_BYTES: usize = 300;

fn quick_answer(sample: &str) -> Option<LanguageCode> {
    let head = sample.get(..sample.floor_char_boundary(QUICK_BYTES)).unwrap_or(sample);
    code(of_whichlang(whichlang::detect_language(head)))
}

fn confidence_of(info: &whatlang::Info) -> f32 {
    info.confidence() as f32
}

/// Languages whose commonest words are those of their neighbours, too.
const HAS_NEAR_RELATIVES: [&str; 20] = [
    "af", "bs", "ca", "cs", "da", "es", "gl", "hr", "id", "ms", "nb", "nl", "nn", "no", "pt", "sk", "sl",
    "sr", "sv", "tr",
];

/// Whether the quick detector, which does not know `declared`, takes it for `quick` with reason.
fn is_taken_for(declared: LanguageCode, quick: LanguageCode) -> bool {
    let relatives: &[&str] = match declared.as_str() {
        "gl" | "an" | "oc" | "ca" => &["es", "pt", "fr", "it"],
        "co" | "sc" | "rm" => &["it"],
        "lb" | "li" | "fy" | "af" | "yi" => &["nl", "de"],
        "fo" | "is" | "da" | "no" | "nb" | "nn" => &["sv"],
        "br" | "wa" | "ht" => &["fr"],
        "az" | "tk" | "ku" | "uz" | "tt" => &["tr"],
        _ => &[],
    };
    relatives.contains(&quick.as_str())
}

const MOST_WORDS: usize = 160;

/// The words of a sample.
struct Words {
    hashes: [u64; MOST_WORDS],
    count: usize,
}

impl Words {
    /// Those of three letters and more: shorter ones are stop words in too many languages.
    fn of(sample: &str) -> Words {
        let mut words = Words { hashes: [0; MOST_WORDS], count: 0 };
        each_word(sample, |word| {
            if word.length > 2
                && let Some(place) = words.hashes.get_mut(words.count)
            {
                *place = word.hash;
                words.count += 1;
            }
        });
        words
    }

    /// What share of them are stop words of a language.
    fn share(&self, code: LanguageCode) -> f32 {
        let stops = StopWords::of(code);
        let found = self.hashes.iter().take(self.count).filter(|hash| stops.contains(**hash)).count();
        found as f32 / self.count.max(1) as f32
    }
}

/// Codes for one language, or for two that only their speakers tell apart.
fn is_same_family(found: &str, declared: &str) -> bool {
    const FAMILIES: [&[&str]; 4] =
        [&["no", "nb", "nn", "da"], &["hr", "bs", "sr"], &["id", "ms"], &["he", "yi"]];
    found == declared || FAMILIES.iter().any(|family| family.contains(&found) && family.contains(&declared))
}

fn of_whichlang(lang: whichlang::Lang) -> &'static str {
    use whichlang::Lang;
    match lang {
        Lang::Ara => "ar",
        Lang::Cmn => "zh",
        Lang::Deu => "de",
        Lang::Eng => "en",
        Lang::Fra => "fr",
        Lang::Hin => "hi",
        Lang::Ita => "it",
        Lang::Jpn => "ja",
        Lang::Kor => "ko",
        Lang::Nld => "nl",
        Lang::Por => "pt",
        Lang::Rus => "ru",
        Lang::Spa => "es",
        Lang::Swe => "sv",
        Lang::Tur => "tr",
        Lang::Vie => "vi",
    }
}

/// The languages of whatlang, as ISO 639-3 and ISO 639-1 name them.
const OF_WHATLANG: &[(&str, &str)] = &[
    ("afr", "af"),
    ("aka", "ak"),
    ("amh", "am"),
    ("ara", "ar"),
    ("aze", "az"),
    ("bel", "be"),
    ("ben", "bn"),
    ("bul", "bg"),
    ("cat", "ca"),
    ("ces", "cs"),
    ("cmn", "zh"),
    ("cym", "cy"),
    ("dan", "da"),
    ("deu", "de"),
    ("ell", "el"),
    ("eng", "en"),
    ("epo", "eo"),
    ("est", "et"),
    ("eus", "eu"),
    ("fin", "fi"),
    ("fra", "fr"),
    ("guj", "gu"),
    ("heb", "he"),
    ("hin", "hi"),
    ("hrv", "hr"),
    ("hun", "hu"),
    ("hye", "hy"),
    ("ind", "id"),
    ("ita", "it"),
    ("jav", "jv"),
    ("jpn", "ja"),
    ("kan", "kn"),
    ("kat", "ka"),
    ("khm", "km"),
    ("kor", "ko"),
    ("lat", "la"),
    ("lav", "lv"),
    ("lit", "lt"),
    ("mal", "ml"),
    ("mar", "mr"),
    ("mkd", "mk"),
    ("mya", "my"),
    ("nep", "ne"),
    ("nld", "nl"),
    ("nob", "no"),
    ("ori", "or"),
    ("pan", "pa"),
    ("pes", "fa"),
    ("pol", "pl"),
    ("por", "pt"),
    ("ron", "ro"),
    ("rus", "ru"),
    ("sin", "si"),
    ("slk", "sk"),
    ("slv", "sl"),
    ("sna", "sn"),
    ("spa", "es"),
    ("srp", "sr"),
    ("swe", "sv"),
    ("tam", "ta"),
    ("tel", "te"),
    ("tgl", "tl"),
    ("tha", "th"),
    ("tuk", "tk"),
    ("tur", "tr"),
    ("ukr", "uk"),
    ("urd", "ur"),
    ("uzb", "uz"),
    ("vie", "vi"),
    ("yid", "yi"),
    ("zul", "zu"),
];

fn of_whatlang(lang: whatlang::Lang) -> Option<&'static str> {
    OF_WHATLANG.iter().find(|(three, _)| *three == lang.code()).map(|(_, two)| *two)
}

fn to_whatlang(code: LanguageCode) -> Option<whatlang::Lang> {
    let two = match code.as_str() {
        "nb" | "nn" => "no",
        two => two,
    };
    let (three, _) = OF_WHATLANG.iter().find(|(_, known)| *known == two)?;
    whatlang::Lang::from_code(*three)
}

#[cfg(test)]
mod tests;
