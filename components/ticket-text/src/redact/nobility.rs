//! Particles of names, and the words after them that are not part of a name.

use crate::calendar::is_month;
use crate::lists::nobility;

/// Returns `name` without words of the sentence: "Petra Vogel" of "Petra Vogel vom Wohnungsamt".
pub(super) fn own(name: &str) -> &str {
    let mut end = 0;
    let mut particle = None;
    let mut at = 0;
    for word in name.split_inclusive(char::is_whitespace) {
        at += word.len();
        let word = word.trim_end();
        if nobility::PARTICLES.contains(&word) {
            particle = Some(word);
        } else if !(particle.is_some() && nobility::ARTICLES.contains(&word)) {
            // A name may begin with a particle, whatever follows.
            if end > 0 && particle.is_some_and(|particle| is_other(particle, word)) {
                break;
            }
            particle = None;
            end = at;
        }
    }
    name.get(..end).unwrap_or(name).trim_end()
}

fn is_other(particle: &str, word: &str) -> bool {
    let word = word.to_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|end| word.ends_with(end));
    let with_article = matches!(particle, "zum" | "zur" | "vom");
    nobility::WORDS.contains(&word.as_str())
        || is_month(&word)
        || ends(nobility::ENDINGS)
        || (with_article && ends(nobility::ABSTRACT))
}
