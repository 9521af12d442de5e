//! The script of a text says its language, or which languages are left.

/// Scripts that matter for telling languages apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    Latin,
    Cyrillic,
    Greek,
    Arabic,
    Hebrew,
    Devanagari,
    Han,
    Kana,
    Hangul,
    /// Written by one language, of which this is the code, as good as alone.
    Own(&'static str),
}

/// Blocks of Unicode with letters, from the first to the last character, sorted.
const BLOCKS: &[(u32, u32, Script)] = &[
    (0x41, 0x24f, Script::Latin),
    (0x370, 0x3ff, Script::Greek),
    (0x400, 0x52f, Script::Cyrillic),
    (0x531, 0x58f, Script::Own("hy")),
    (0x591, 0x5f4, Script::Hebrew),
    (0x600, 0x6ff, Script::Arabic),
    (0x750, 0x77f, Script::Arabic),
    (0x780, 0x7bf, Script::Own("dv")),
    (0x900, 0x97f, Script::Devanagari),
    (0x980, 0x9ff, Script::Own("bn")),
    (0xa00, 0xa7f, Script::Own("pa")),
    (0xa80, 0xaff, Script::Own("gu")),
    (0xb00, 0xb7f, Script::Own("or")),
    (0xb80, 0xbff, Script::Own("ta")),
    (0xc00, 0xc7f, Script::Own("te")),
    (0xc80, 0xcff, Script::Own("kn")),
    (0xd00, 0xd7f, Script::Own("ml")),
    (0xd80, 0xdff, Script::Own("si")),
    (0xe00, 0xe7f, Script::Own("th")),
    (0xe80, 0xeff, Script::Own("lo")),
    (0xf00, 0xfff, Script::Own("bo")),
    (0x1000, 0x109f, Script::Own("my")),
    (0x10a0, 0x10ff, Script::Own("ka")),
    (0x1100, 0x11ff, Script::Hangul),
    (0x1200, 0x139f, Script::Own("am")),
    (0x1780, 0x17ff, Script::Own("km")),
    (0x1e00, 0x1eff, Script::Latin),
    (0x1f00, 0x1fff, Script::Greek),
    (0x3041, 0x30ff, Script::Kana),
    (0x3400, 0x4dbf, Script::Han),
    (0x4e00, 0x9fff, Script::Han),
    (0xac00, 0xd7af, Script::Hangul),
    (0xf900, 0xfaff, Script::Han),
    (0xfb50, 0xfdff, Script::Arabic),
    (0xfe70, 0xfeff, Script::Arabic),
    (0xff66, 0xff9f, Script::Kana),
    (0x2_0000, 0x3_ffff, Script::Han),
];

fn block_of(character: char) -> Option<Script> {
    let code = u32::from(character);
    let at = BLOCKS.partition_point(|(_, last, _)| *last < code);
    let (first, _, script) = BLOCKS.get(at)?;
    (code >= *first && !matches!(code, 0xd7 | 0xf7 | 0x80..=0xbf)).then_some(*script)
}

/// How many letters a text has of the script that it has most of.
pub(super) struct Counted {
    pub(super) script: Script,
    pub(super) letters: u32,
    /// Of all scripts.
    pub(super) all: u32,
}

const MOST_SCRIPTS: usize = 8;

/// None where there is no letter.
pub(super) fn dominant(text: &str) -> Option<Counted> {
    let ascii = text.bytes().filter(u8::is_ascii_alphabetic).count();
    let mut counts: Vec<(Script, u32)> = Vec::with_capacity(MOST_SCRIPTS);
    counts.push((Script::Latin, u32::try_from(ascii).unwrap_or(u32::MAX)));
    if ascii < text.len() && !text.is_ascii() {
        let mut last = 0;
        for character in text.chars().filter(|c| !c.is_ascii()) {
            let Some(script) = block_of(character) else { continue };
            // Mostly the one before.
            match counts.get_mut(last) {
                Some((known, count)) if *known == script => *count += 1,
                _ => match counts.iter().position(|(known, _)| *known == script) {
                    Some(at) => {
                        last = at;
                        if let Some((_, count)) = counts.get_mut(at) {
                            *count += 1;
                        }
                    }
                    None if counts.len() < MOST_SCRIPTS => {
                        last = counts.len();
                        counts.push((script, 1));
                    }
                    None => {}
                },
            }
        }
    }
    let all = counts.iter().map(|(_, count)| count).sum();
    let count_of =
        |wanted| counts.iter().find(|(script, _)| *script == wanted).map_or(0, |(_, count)| *count);
    let (kana, han) = (count_of(Script::Kana), count_of(Script::Han));
    let (mut script, mut letters) = counts.iter().copied().max_by_key(|(_, count)| *count)?;
    // Japanese mixes both; Chinese has no kana but in names of brands.
    let together = kana + han;
    if kana * 12 > together && together > letters.saturating_sub(letters.min(together)) {
        let rest = all - together;
        if together >= rest {
            (script, letters) = (Script::Kana, together);
        }
    }
    (letters > 0).then_some(Counted { script, letters, all })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_with_most_letters_counts() {
        let of = |text| dominant(text).map(|counted| counted.script);
        assert_eq!(of("plain English"), Some(Script::Latin));
        assert_eq!(of("Größe"), Some(Script::Latin));
        assert_eq!(of("Русский text"), Some(Script::Cyrillic));
        assert_eq!(of("これは日本語の文章です"), Some(Script::Kana));
        assert_eq!(of("日本語文章漢字多用の例"), Some(Script::Kana));
        assert_eq!(of("这是中文的句子"), Some(Script::Han));
        assert_eq!(of("한국어 문장"), Some(Script::Hangul));
        assert_eq!(of("ภาษาไทย"), Some(Script::Own("th")));
        assert_eq!(of("123 !?"), None);
        assert_eq!(of(""), None);
    }

    #[test]
    fn blocks_do_not_overlap() {
        assert!(BLOCKS.is_sorted_by_key(|(first, _, _)| *first));
        assert!(BLOCKS.windows(2).all(|pair| pair[0].1 < pair[1].0 && pair[0].0 < pair[0].1));
    }
}
