//! Documents as sources give them.

use crate::text;

/// Most bytes of a document's text.
pub(crate) const MAX_TEXT: usize = 4 << 20;
/// Most characters of a title, a URL or a category.
const MAX_MEMBER: usize = 1000;
/// Most categories of a document.
const MAX_CATEGORIES: usize = 64;
/// Most bytes of an id.
const MAX_ID: usize = 512;

/// A document: what is imported, replaced and removed as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Unique in its source.
    pub id: String,
    /// Shown in answers.
    pub title: String,
    /// Where people read it.
    pub url: Option<String>,
    /// ISO 639-1 code of its language; detected from the text where the source has none.
    pub language: Option<String>,
    /// Categories of tickets that it is for; empty for all.
    pub categories: Vec<String>,
    /// Plain text, paragraphs separated by an empty line.
    pub text: String,
}

/// A document that cannot be imported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refused {
    /// Its file, line or address.
    pub name: String,
    /// Its id, where it is known.
    pub id: Option<String>,
    /// What is wrong with it.
    pub reason: String,
    /// Whether the base keeps it as it was imported before.
    pub kept: bool,
}

impl Document {
    /// Returns the document without what no reader sees (control characters, spaces at the edges, empty members) and
    /// with its language detected; the reason if it cannot be imported.
    pub(crate) fn checked(mut self) -> Result<Self, String> {
        if self.text.len() > MAX_TEXT {
            return Err(format!("its text has {} bytes, the limit is {MAX_TEXT}: split it", self.text.len()));
        }
        if self.id.is_empty() || self.id.len() > MAX_ID || self.id.chars().any(char::is_control) {
            return Err(format!("its id is empty, longer than {MAX_ID} bytes or has control characters"));
        }
        self.text = text::visible(&self.text);
        self.title = text::one_line(&self.title);
        self.url = self.url.map(|url| text::one_line(&url)).filter(|url| !url.is_empty());
        self.language = self.language.map(|language| language.trim().to_lowercase());
        let categories = self.categories.iter().map(|category| text::one_line(category));
        self.categories = categories.filter(|category| !category.is_empty()).collect();
        self.categories.sort_unstable();
        self.categories.dedup();
        if self.title.is_empty() {
            return Err("it has no title: give it one, or a heading".into());
        }
        if self.text.is_empty() {
            return Err("it has no text".into());
        }
        if self.categories.len() > MAX_CATEGORIES {
            return Err(format!("it has more than {MAX_CATEGORIES} categories"));
        }
        let members = [&self.title].into_iter().chain(&self.url).chain(&self.categories);
        if members.into_iter().any(|member| member.chars().count() > MAX_MEMBER) {
            return Err(format!("its title, url or a category has more than {MAX_MEMBER} characters"));
        }
        if let Some(url) = self.url.as_deref().filter(|url| !is_web_address(url)) {
            return Err(format!(
                "its url {url:?} is not the address of a page: begin it with https:// or http://"
            ));
        }
        self.language = match self.language.as_deref() {
            None | Some("") => text::language(&self.text).map(str::to_owned),
            // `de-de` and `de_DE` are German.
            Some(tag) => {
                let primary = tag.split(['-', '_']).next().unwrap_or_default();
                if !(2..=3).contains(&primary.len()) || !primary.chars().all(|c| c.is_ascii_alphabetic()) {
                    return Err(format!("its language {tag:?} is not a code such as \"de\""));
                }
                Some(primary.to_owned())
            }
        };
        Ok(self)
    }
}

/// Returns whether a browser that opens the address shows a page and runs no script of the document's author.
fn is_web_address(url: &str) -> bool {
    // The parser alone would forgive `http:host`.
    let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https")) && reqwest::Url::parse(url).is_ok()
}
