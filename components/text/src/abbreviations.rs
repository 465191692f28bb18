//! Abbreviations: words whose point does not end a sentence.

/// Abbreviations whose point does not end a sentence, in lower case: titles, months, and words before a name or
/// number.
const ABBREVIATIONS: &[&str] = &[
    "abs", "apr", "aug", "az", "bspw", "bzw", "ca", "dec", "dez", "dipl", "dr", "e.g", "evtl", "feb", "febr",
    "fr", "ggf", "h.c", "hr", "i.e", "inkl", "jan", "jän", "jul", "jun", "jur", "mar", "med", "mr", "mrs",
    "ms", "nov", "nr", "oct", "okt", "phil", "prof", "rer", "nat", "sep", "sept", "sog", "st", "str", "tel",
    "u.a", "usw", "vgl", "z.b", "zzgl", "mär", "mrz",
];

/// Returns whether a point at the end of `text` belongs to its last word.
pub fn is_abbreviated(text: &str) -> bool {
    let begin = text.rfind(|letter: char| !letter.is_alphanumeric() && letter != '.').map_or(0, |at| at + 1);
    let word = (begin..text.len()).find_map(|at| text.get(at..)).unwrap_or_default().to_lowercase();
    // A single letter is an initial or an abbreviation: `z. B.`.
    word.chars().count() == 1 && word.chars().all(char::is_alphabetic)
        || ABBREVIATIONS.contains(&word.as_str())
}
