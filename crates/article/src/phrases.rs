//! Lines that stand in the middle of texts and are none: calls to share, to subscribe, to read something else. Only
//! short lines are looked at, and only at their beginning.

use std::collections::HashSet;
use std::sync::LazyLock;

/// A longer line says more than that.
const LONGEST: usize = 160;

/// Whole lines, without what is not a letter at both ends, separated by bars.
const LINES: &str = "advertisement|advertising|ad|ads|anzeige|werbung|publicidad|publicité|pubblicità|reklama|реклама|\
     reklame|annons|advertentie|publicidade|広告|广告|廣告|광고|share|share this|share this article|\
     share this story|share on facebook|share on twitter|tweet|facebook|twitter|whatsapp|linkedin|\
     pinterest|email|e-mail|print|teilen|drucken|compartir|partager|condividi|imprimer|поделиться|del|\
     dela|copy link|link copied|reddit|telegram|loading|subscribe|subscribe now|sign up|log in|login|\
     sign in|newsletter|read more|more|continue reading|continue reading the main story|\
     story continues below|story continues below advertisement|article continues below|\
     article continues after advertisement|advertisement - continue reading below|weiterlesen|mehr|\
     lire la suite|lire aussi|leer más|leggi anche|lees ook|läs mer|les også|читайте также|lesen sie auch|\
     mehr zum thema|weitere artikel|das könnte sie auch interessieren|zum thema|à lire aussi|\
     sur le même sujet|te puede interesar|lea también|lee también|leia também|leia mais|veja também|\
     czytaj także|zobacz też|czytaj też|related|related articles|related stories|related posts|\
     related content|related news|related links|related topics|more on this story|more from|see also|\
     recommended|recommended for you|most read|most popular|trending|you may also like|\
     you might also like|comments|leave a comment|leave a reply|add a comment|post a comment|no comments|\
     0 comments|kommentare|commentaires|comentarios|view comments|show comments|join the conversation|\
     back to top|top|next|previous|next article|previous article|image|video|photo|photos|gallery|\
     play video|watch video|view gallery|watch|listen|close|menu|search|home|skip to content|enlarge|\
     click to enlarge|hide caption|toggle caption|enlarge this image|getty images|image credit|\
     image source|media caption|image caption|copyright|tags|topics|filed under|follow us|like this|\
     thanks for sharing|embed|report this|\
     report an error|save|bookmark|edit|reply";

/// Beginnings of lines, where the rest may be anything.
const BEGINNINGS: &str = "share this|share on|share via|click to share|click here to|read more:|read more about|read also:|\
     read also|also read:|also read|read next|read:|see also:|related:|related story|related article|\
     more:|watch:|listen:|recommended:|don't miss:|subscribe to|sign up for|sign up to|\
     sign up here|follow us on|follow us|like us on|join us on|follow @|follow me on|get the latest|\
     download our app|download the app|lesen sie auch|lesen sie mehr|mehr zum thema|lire aussi|\
     à lire aussi|a lire aussi|lee también|lea también|leer también|leia também|leggi anche|lees ook|\
     läs också|läs mer:|les også|czytaj także|czytaj też|zobacz także|читайте также|read full|posted in|\
     filed under|tagged with|tagged:|tags:|schlagwörter|categories:|originally published|\
     this article was originally published|this entry was posted|copyright ©|© |all rights reserved|\
     photo by|photo:|photograph:|photo credit|image credit|image:|image source|foto:|picture:|posted by|\
     published by|written by|last updated|last modified|updated:|published:|veröffentlicht am|\
     we use cookies|this website uses cookies|this site uses cookies|story continues below|\
     article continues|continue reading|please enable javascript|you must be logged in|\
     you need to be logged in|already a subscriber|want to read more|leave a comment|notify me of|\
     required fields are marked|your email address will not be published|have something to add|\
     join the conversation|mehr lesen|hier klicken|zum artikel";

/// Both lists, taken apart.
static LISTS: LazyLock<(HashSet<&str>, Vec<&str>)> =
    LazyLock::new(|| (LINES.split('|').collect(), BEGINNINGS.split('|').map(str::trim_end).collect()));

/// Whether a line is nothing but one of those, or leads somewhere and begins like one.
pub(crate) fn is_surely_boilerplate(line: &str, link_density: f32) -> bool {
    link_density > 0.3 && is_boilerplate(line, link_density)
}

/// Whether a line is one of those. A line that is all link is judged more strictly.
pub(crate) fn is_boilerplate(line: &str, link_density: f32) -> bool {
    if line.len() > LONGEST {
        return false;
    }
    let lower = line.to_lowercase();
    let bare = lower.trim_matches(|c: char| !c.is_alphanumeric() && c != ')' && c != '(');
    if bare.is_empty() {
        return true;
    }
    if LISTS.0.contains(bare) {
        return true;
    }
    if !LISTS.1.iter().any(|beginning| bare.starts_with(beginning)) {
        return false;
    }
    // "Read more about him" may begin a sentence; a call is short, or leads somewhere.
    link_density > 0.3 || bare.len() < 90
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_known_and_sentences_are_left_alone() {
        assert!(is_boilerplate("Share this article", 0.0));
        assert!(is_boilerplate("  - Advertisement - ", 0.0));
        assert!(is_boilerplate("Lesen Sie auch: Was der Minister sagt", 0.9));
        assert!(is_boilerplate("***", 0.0));
        assert!(!is_boilerplate("Comments by the minister were not welcome.", 0.0));
        assert!(!is_boilerplate("He said that he would share this article with his wife.", 0.0));
    }
}
