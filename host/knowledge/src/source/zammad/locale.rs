//! The locale of a translation: Zammad gives only its number, and the language is detected from the texts of a
//! locale.

use std::collections::HashMap;

use super::TranslationText;
use crate::text;

/// Zammad's names of the locales of the languages that are detected; the first is that of any other.
const KNOWN: [&str; 6] = ["de-de", "en-us", "fr-fr", "it-it", "es-es", "nl-nl"];
/// Bytes of a text by which its locale is detected: many short pieces are more reliable than one long text.
const PIECE: usize = 400;
/// Bytes of all pieces of a locale.
const SAMPLE: usize = 4000;

/// Names of the locales of a base.
pub(super) struct Locales<'n> {
    by_number: HashMap<Option<u64>, &'n str>,
    default: &'n str,
}

impl<'n> Locales<'n> {
    /// Detects the locales of the translations in `texts`; `given` names take precedence over Zammad's own.
    pub(super) fn of(texts: &[TranslationText], given: &'n [String]) -> Self {
        let mut samples: HashMap<Option<u64>, String> = HashMap::new();
        for TranslationText { translation, text } in texts {
            let sample = samples.entry(translation.kb_locale_id).or_default();
            if sample.len() < SAMPLE {
                let piece = text.get(..text.floor_char_boundary(PIECE)).unwrap_or_default();
                sample.extend([translation.title.as_str(), "\n", piece, "\n"]);
            }
        }
        let by_number =
            samples.into_iter().map(|(number, text)| (number, name(text::language(&text), given)));
        Self { by_number: by_number.collect(), default: name(None, given) }
    }

    /// Returns the name of the locale with this number.
    pub(super) fn name(&self, number: Option<u64>) -> &'n str {
        self.by_number.get(&number).copied().unwrap_or(self.default)
    }
}

fn name<'n>(language: Option<&str>, given: &'n [String]) -> &'n str {
    let mut names = given.iter().map(String::as_str).chain(KNOWN);
    let own =
        language.and_then(|language| names.clone().find(|name| name.split('-').next() == Some(language)));
    own.or_else(|| names.next()).unwrap_or_default()
}
