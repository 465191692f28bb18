//! Plain text from authors' formats.

pub(crate) mod chunk;
pub(crate) mod html;
pub(crate) mod items;
pub(crate) mod markdown;
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod words;

/// Text of a page, with the title and language of its markup.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    /// Title element, or the first heading.
    pub title: Option<String>,
    /// The `lang` of the page.
    pub language: Option<String>,
    /// What a reader sees, paragraphs separated by an empty line.
    pub text: String,
}

/// Returns `text` without control characters other than line ends, spaces at the ends of lines, and runs of empty
/// lines.
pub(crate) fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.replace("\r\n", "\n").replace('\r', "\n").lines() {
        let line = line.replace('\t', " ");
        let line = line.trim_end();
        let mut line = line.chars().filter(|c| !c.is_control() && !is_invisible(*c)).peekable();
        if line.peek().is_none() {
            empty += 1;
            continue;
        }
        if !visible.is_empty() {
            visible.push_str(if empty > 0 { "\n\n" } else { "\n" });
        }
        empty = 0;
        visible.extend(line);
    }
    visible
}

/// Returns `text` on one line: runs of white space become one space, control characters are removed.
pub(crate) fn one_line(text: &str) -> String {
    let text: String = text.chars().filter(|c| c.is_whitespace() || !c.is_control()).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether nothing is left of `text` on one line.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c.is_control())
}

/// Detects the language of `text`: ISO 639-1.
pub(crate) fn language(text: &str) -> Option<&'static str> {
    let cut = text.char_indices().nth(4000).map_or(text.len(), |(index, _)| index);
    let detected = whatlang::detect(text.get(..cut)?)?;
    match detected.lang() {
        _ if !detected.is_reliable() => None,
        whatlang::Lang::Deu => Some("de"),
        whatlang::Lang::Eng => Some("en"),
        whatlang::Lang::Fra => Some("fr"),
        whatlang::Lang::Ita => Some("it"),
        whatlang::Lang::Spa => Some("es"),
        whatlang::Lang::Nld => Some("nl"),
        _ => None,
    }
}

/// Marks that change nothing but the direction or the joining of letters, soft hyphens among them.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
