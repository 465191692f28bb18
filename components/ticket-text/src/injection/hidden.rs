//! Text of a page that its reader does not see, and a machine does.

/// Styles that show nothing, without white space.
const HIDING: [&str; 4] = ["display:none", "visibility:hidden", "font-size:0", "opacity:0"];
/// Elements that hold no text.
const EMPTY: [&str; 5] = ["img", "input", "br", "link", "meta"];

/// Whether a tag of `text` has a style that hides what it holds.
pub(super) fn has_hidden_text(text: &str) -> bool {
    text.split('<').skip(1).filter_map(|tag| tag.split_once('>')).any(|(tag, _)| hides(tag))
}

fn hides(tag: &str) -> bool {
    let is_empty = |name: &&str| tag.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
    if !tag.starts_with(|letter: char| letter.is_ascii_alphabetic()) || EMPTY.iter().any(is_empty) {
        return false;
    }
    let tag: String = tag.chars().filter(|sign| !sign.is_whitespace()).collect::<String>().to_lowercase();
    // `opacity:0.9` shows something.
    let shows = |rest: &str| rest.starts_with(|sign: char| sign == '.' || sign.is_ascii_digit());
    HIDING.iter().any(|style| tag.split_once(style).is_some_and(|(_, rest)| !shows(rest)))
}
