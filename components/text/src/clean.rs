//! Cleans the text of a mail: keeps what its sender wrote.
//!
//! Quoted mails, signatures, disclaimers, salutations and the header lines of forwarded mails say little about a
//! request and much about other people's. The rules are plain lists of words that German and English mail programs
//! and writers use; if nothing would be left, the text stays.

mod automatic;
mod banner;
mod closing;
mod hidden;
mod html;
mod quotes;
mod salutation;
#[cfg(test)]
mod tests;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

pub use closing::closings;

/// A ticket's text as a reader sees it, and the text that its source hides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The complete visible text.
    pub plain: String,
    /// The text that the HTML hides: elements with the attribute `hidden`, or with a style that shows nothing
    /// (`display:none`, letters without size and the like). Preheaders of newsletters are hidden, too.
    pub hidden: String,
}

/// Returns the part of a ticket's text that its sender wrote; empty for a mail that a program sent (see
/// [`MailParts::is_automatic`]).
///
/// HTML becomes plain text first; one empty line separates paragraphs. A mail that the sender forwards with a short
/// comment, or without one, belongs to it. A text of only quotes or closing phrases is returned complete, because a
/// noisy text is better than none.
pub fn clean(text: &str) -> String {
    own(&render(text).plain)
}

/// What a mail is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailParts {
    /// See [`own`].
    pub own: String,
    /// See [`unquoted`].
    pub unquoted: String,
    /// Whether a program sent it: a report of undelivered mail, an out-of-office note, a receipt, an acknowledgement, or an
    /// answer of a calendar.
    pub is_automatic: bool,
}

/// Returns the parts of a mail from its `plain` text (see [`render`]), whose quotes are looked for once.
pub fn parts(plain: &str) -> MailParts {
    let text = banner::remove(plain);
    let split = quotes::split(&text);
    // Someone who answers a note quotes it.
    let is_automatic = automatic::is_automatic(plain, &split.0);
    let own = if is_automatic { String::new() } else { own_of(plain, &text, &split) };
    MailParts { own, unquoted: unquoted_of(&split), is_automatic }
}

/// Returns the part of `plain` text (see [`render`]) that its sender wrote; all of it if that part is empty, unless it
/// is a signature or [automatic](MailParts::is_automatic).
pub fn own(plain: &str) -> String {
    parts(plain).own
}

/// Returns [`own`] of a mail from its `text` without notices, and that text split into what the sender wrote and forwards.
fn own_of(plain: &str, text: &str, (own, forwarded): &(String, String)) -> String {
    let own = tidy(&format!("{}\n\n{}", letter(own), letter(forwarded)));
    if own.is_empty() && !closing::is_signature(text) { plain.to_owned() } else { own }
}

/// Returns what a mail without quotes says, without its salutation, closing phrase and signature.
fn letter(text: &str) -> String {
    tidy(salutation::remove(&closing::remove(text.trim())))
}

/// Returns `plain` text without quoted mails, mail headers and notices of mail servers; signatures stay, because they
/// name the sender. Empty if the sender only quotes; for a mail forwarded without a comment, that mail. A rule is between a
/// comment and its mail: its first line does not name who signs the comment.
pub fn unquoted(plain: &str) -> String {
    unquoted_of(&quotes::split(&banner::remove(plain)))
}

fn unquoted_of((own, forwarded): &(String, String)) -> String {
    let [own, forwarded] = [own, forwarded].map(|part| tidy(part));
    if own.is_empty() || forwarded.is_empty() {
        own + &forwarded
    } else {
        format!("{own}\n\n---\n\n{forwarded}")
    }
}

/// Renders `text` as a reader sees it: normalises line ends and spaces, and renders HTML.
pub fn render(text: &str) -> Rendered {
    if !text.contains('<') {
        return Rendered { plain: tidy(text), hidden: String::new() };
    }
    let page = html::render(text);
    let hidden = tidy(&page.hidden);
    let is_page = html::is_html(text) || !hidden.is_empty();
    Rendered { plain: tidy(if is_page { &page.text } else { text }), hidden }
}

/// Returns the rows of an HTML text's tables, cell by cell; empty for any other text.
pub fn rows(text: &str) -> Vec<Vec<String>> {
    if !html::is_html(text) {
        return Vec::new();
    }
    let page = html::render(text);
    let cells = |row: &Vec<_>| row.iter().cloned().filter_map(|cell| page.text.get(cell)).map(tidy).collect();
    page.rows.iter().map(cells).collect()
}

/// Trims line ends, reduces runs of empty lines to one, removes invisible characters, and composes letters and marks
/// (NFC), because some mail programs write "u" and two dots.
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

/// Normalises spaces of all widths; removes soft hyphens, direction marks and other controls.
pub fn visible(character: char) -> Option<char> {
    match character {
        // Most of a text.
        ' '..='~' => Some(character),
        '\n' => Some('\n'),
        '\r' | '\u{2028}' | '\u{2029}' => Some('\n'),
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}' | '\u{feff}' => None,
        space if space.is_whitespace() => Some(' '),
        control if control.is_control() => None,
        other => Some(other),
    }
}

/// Returns whether `line` begins with `start`, ignoring case.
fn begins(line: &str, start: &str) -> bool {
    let pairs = line.bytes().zip(start.bytes());
    let same = pairs.take_while(|(one, other)| one.is_ascii() && one.eq_ignore_ascii_case(other)).count();
    let [line, start] = [line, start].map(|text| text.get(same..).unwrap_or_default());
    // Most phrases differ in their first letter; only letters beyond ASCII need the tables of Unicode.
    if [line, start].iter().all(|text| text.bytes().next().is_none_or(|byte| byte.is_ascii())) {
        return start.is_empty();
    }
    let mut line = line.chars().flat_map(char::to_lowercase);
    start.chars().flat_map(char::to_lowercase).all(|letter| line.next() == Some(letter))
}
