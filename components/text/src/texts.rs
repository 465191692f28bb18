//! Texts for people in the languages of answers.

use std::fmt::{Display, Write as _};

use crate::language::Language;

/// A text in German and English, with `{}` where its values go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text {
    german: &'static str,
    english: &'static str,
}

impl Text {
    /// Creates a text of its two forms.
    pub const fn new(german: &'static str, english: &'static str) -> Self {
        Self { german, english }
    }

    /// Returns the text in `language`.
    pub fn of(self, language: Language) -> &'static str {
        match language {
            Language::German => self.german,
            Language::English => self.english,
        }
    }

    /// Returns the text in `language` with its values.
    pub fn with(self, language: Language, values: &[&dyn Display]) -> String {
        let mut text = String::new();
        let mut values = values.iter();
        for (place, part) in self.of(language).split("{}").enumerate() {
            if place > 0
                && let Some(value) = values.next()
            {
                // Writing to a text does not fail.
                let _ = write!(text, "{value}");
            }
            text.push_str(part);
        }
        text
    }
}

/// Rounds a share to whole per cent, but never up to 100.
pub fn percent(share: f32) -> u32 {
    let rounded = (share * 100.0).round() as u32;
    if rounded == 100 && share < 1.0 { 99 } else { rounded }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_where_the_text_says() {
        let text = Text::new("{} von {}.", "{} of {}.");
        assert_eq!(text.with(Language::German, &[&1, &"{}"]), "1 von {}.");
        assert_eq!(text.with(Language::English, &[&"one"]), "one of .");
        assert_eq!(Text::new("nein", "no").with(Language::English, &[&1]), "no");
    }

    #[test]
    fn share_is_not_rounded_up_to_all() {
        assert_eq!((percent(0.999), percent(1.0), percent(0.004)), (99, 100, 0));
    }
}
