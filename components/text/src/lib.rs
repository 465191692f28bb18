//! Texts of mails and pages, read the same way in the components and in the host: HTML, sentences, clean-up, language,
//! windows and words.
//!
//! It has only what the host reads, too, so that a list of words that components alone use does not rebuild the host.

pub mod abbreviations;
pub mod clean;
pub mod html;
pub mod language;
mod lists;
pub mod pairs;
pub mod sentences;
pub mod texts;
pub mod tokens;
pub mod window;
pub mod words;

#[cfg(test)]
mod tests {
    mod steps;
}
