//! From what a mail programme sent to what its writer said.
//!
//! Quoted mails, signatures, disclaimers, salutations and the header lines of forwarded mails say little about
//! a request and a lot about somebody else's. Rules that find them are plain lists of the words that German and
//! English mail programmes and writers use; where taking all of that out would leave nothing, the text stays.

mod closing;
mod hidden;
mod html;
mod quotes;
mod salutation;
#[cfg(test)]
mod tests;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

pub(crate) use closing::closings;

/// A ticket's text as its reader sees it, and what its source keeps from them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// Plain text with nothing taken out that shows.
    pub plain: String,
    /// What the HTML holds and hides: elements with the attribute `hidden`, or with a style that shows nothing
    /// (`display:none`, letters without size and the like). Empty where nothing is hidden; preheaders of newsletters are.
    pub hidden: String,
}

/// A ticket's text without what its writer did not write.
///
/// HTML becomes plain text first; paragraphs stay apart by one empty line. A text of nothing but quotes or
/// signatures comes back whole: better a noisy text than none.
pub fn clean(text: &str) -> String {
    own(&render(text).plain)
}

/// What is left of `plain` text (see [`render`]) without what its writer did not write; all of it where that is
/// nothing.
pub fn own(plain: &str) -> String {
    let own = quotes::remove(plain);
    let own = closing::remove(&own);
    let own = tidy(salutation::remove(&own));
    if own.is_empty() { plain.to_owned() } else { own }
}

/// What is left of `plain` text without quoted mails and the heads of mails; signatures stay, because they hold whom to
/// write to. Empty where the writer quotes and says nothing; of a mail that was forwarded without a word, that mail.
pub fn unquoted(plain: &str) -> String {
    tidy(&quotes::remove(plain))
}

/// `text` as its reader sees it: line ends and spaces made alike, and rendered where it is HTML or hides something.
pub fn render(text: &str) -> Rendered {
    if !text.contains('<') {
        return Rendered { plain: tidy(text), hidden: String::new() };
    }
    let page = html::render(text);
    let hidden = tidy(&page.hidden);
    let is_page = html::is_html(text) || !hidden.is_empty();
    Rendered { plain: tidy(if is_page { &page.text } else { text }), hidden }
}

/// The rows of the tables of an HTML text, cell by cell; none of any other text.
pub fn rows(text: &str) -> Vec<Vec<String>> {
    if !html::is_html(text) {
        return Vec::new();
    }
    let page = html::render(text);
    let cells = |row: &Vec<_>| row.iter().cloned().filter_map(|cell| page.text.get(cell)).map(tidy).collect();
    page.rows.iter().map(cells).collect()
}

/// Lines without spaces at their ends, at most one empty line in a row, no characters that show nothing, and letters
/// with their marks as one character each (NFC): some mail programmes write "u" and two dots.
fn tidy(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let text: String = match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => text.chars().filter_map(visible).collect(),
        _ => text.nfc().filter_map(visible).collect(),
    };
    let mut tidied = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            empty += 1;
            continue;
        }
        if !tidied.is_empty() {
            tidied.push_str(if empty > 0 { "\n\n" } else { "\n" });
        }
        empty = 0;
        tidied.push_str(line);
    }
    tidied
}

/// Spaces of all widths become one kind; soft hyphens, marks of direction and other controls vanish.
pub(crate) fn visible(character: char) -> Option<char> {
    match character {
        '\n' => Some('\n'),
        '\r' | '\u{2028}' | '\u{2029}' => Some('\n'),
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}' | '\u{feff}' => None,
        space if space.is_whitespace() => Some(' '),
        control if control.is_control() => None,
        other => Some(other),
    }
}

/// Whether `line` begins with `start`, letters of either case.
fn begins(line: &str, start: &str) -> bool {
    let mut line = line.chars().flat_map(char::to_lowercase);
    start.chars().flat_map(char::to_lowercase).all(|letter| line.next() == Some(letter))
}
