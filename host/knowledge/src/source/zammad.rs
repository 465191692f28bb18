//! A knowledge base in Zammad, through its REST API.
//!
//! (Its feed shows the ten newest answers only, so removed ones would stay unnoticed.)

mod locale;
mod remote;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use serde::Deserialize;

use super::{MAX_DOCUMENTS, Reading};
use crate::document::{Document, Refused};
use crate::error::Error;
use crate::text::{self, html};
use locale::Locales;
use remote::Remote;

/// Which knowledge base of which Zammad.
#[derive(Clone)]
pub struct Zammad {
    /// Where Zammad is: `https://tickets.example.org/`.
    pub url: String,
    /// Number of the knowledge base.
    pub base: u64,
    /// Access token of a user who may read it; sent to that address only.
    pub token: String,
    /// Locales in the answers' addresses, such as `de-de`, each for the translations in its language; for other
    /// languages Zammad's own names.
    pub locales: Vec<String>,
    /// Take answers that only agents may read as well; for bases whose answers no customer sees.
    pub internal: bool,
}

impl std::fmt::Debug for Zammad {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { url, base, locales, internal, token: _ } = self;
        let mut shown = formatter.debug_struct("Zammad");
        shown.field("url", url).field("base", base).field("locales", locales).field("internal", internal);
        shown.finish_non_exhaustive()
    }
}

/// `knowledge_bases/ID`.
#[derive(Deserialize)]
struct Overview {
    #[serde(default)]
    answer_ids: Vec<u64>,
}

/// `knowledge_bases/ID/answers/ID`.
#[derive(Deserialize)]
struct AnswerResponse {
    assets: Assets,
}

/// Objects by their ids; those of linked answers among them.
#[derive(Deserialize)]
struct Assets {
    #[serde(rename = "KnowledgeBaseAnswer", default)]
    answers: HashMap<String, Answer>,
    #[serde(rename = "KnowledgeBaseAnswerTranslation", default)]
    translations: HashMap<String, Translation>,
    #[serde(rename = "KnowledgeBaseAnswerTranslationContent", default)]
    contents: HashMap<String, Content>,
}

/// The times at which an answer became visible.
#[derive(Deserialize)]
struct Answer {
    published_at: Option<jiff::Timestamp>,
    internal_at: Option<jiff::Timestamp>,
    archived_at: Option<jiff::Timestamp>,
}

#[derive(Deserialize)]
struct Translation {
    id: u64,
    title: String,
    answer_id: u64,
    content_id: u64,
    /// Number of its locale in the base.
    kb_locale_id: Option<u64>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    body: Option<String>,
}

impl Translation {
    /// Returns the name that errors show.
    fn name(&self) -> String {
        format!("answer {}, translation {}", self.answer_id, self.id)
    }
}

/// A translation with its text, as far as it has one.
struct TranslationText {
    translation: Translation,
    text: String,
}

/// All translations of the base, before their locales are known.
#[derive(Default)]
struct Collected {
    texts: Vec<TranslationText>,
    /// Translations that Zammad gave no content for.
    missing: Vec<Translation>,
}

/// Reads all answers that customers may read, a document a translation.
pub(super) async fn read(zammad: &Zammad) -> Result<Reading, Error> {
    let remote = Remote::new(zammad)?;
    let mut reading = Reading::new(remote.root().to_owned());
    let overview: Overview = remote.get("").await?.ok_or_else(|| remote.error("there is no such base"))?;
    if overview.answer_ids.len() > MAX_DOCUMENTS {
        return Err(Error::TooMany { name: reading.name, limit: MAX_DOCUMENTS });
    }
    let (mut collected, now) = (Collected::default(), jiff::Timestamp::now());
    for id in overview.answer_ids {
        answer(&remote, id, |answer| zammad.shows(answer, now), &mut collected).await?;
    }
    let locales = Locales::of(&collected.texts, &zammad.locales);
    for TranslationText { translation, text } in collected.texts {
        let (name, id) = (translation.name(), zammad.id(&translation));
        if text::visible(&text).is_empty() {
            // A page that is not written yet.
            let reason = "it has no text".to_owned();
            reading.empty.push(Refused { name, id: Some(id), reason, kept: false });
            continue;
        }
        let url = zammad.address(&translation, locales.name(translation.kb_locale_id));
        let document = Document {
            id: id.clone(),
            title: translation.title,
            url: Some(url),
            text,
            ..Document::default()
        };
        reading.add(&name, Some(id), Ok(document));
    }
    for translation in collected.missing {
        let id = zammad.id(&translation);
        reading.refuse(&translation.name(), Some(id), "Zammad gave no text for it".to_owned());
    }
    Ok(reading)
}

/// Adds the answer's translations; none if `shows` says no, or it is gone since the list was read.
async fn answer(
    remote: &Remote,
    id: u64,
    shows: impl Fn(&Answer) -> bool,
    collected: &mut Collected,
) -> Result<(), Error> {
    let Some(AnswerResponse { assets }) = remote.get(&format!("/answers/{id}")).await? else { return Ok(()) };
    if !assets.answers.get(&id.to_string()).is_some_and(shows) {
        return Ok(());
    }
    let mut translations: Vec<_> =
        assets.translations.into_values().filter(|translation| translation.answer_id == id).collect();
    if translations.is_empty() {
        return Ok(());
    }
    translations.sort_unstable_by_key(|translation| translation.id);
    let contents: Vec<_> =
        translations.iter().map(|translation| translation.content_id.to_string()).collect();
    let path = format!("/answers/{id}?include_contents={}", contents.join(","));
    let Some(AnswerResponse { mut assets }) = remote.get(&path).await? else { return Ok(()) };
    for translation in translations {
        match assets.contents.remove(&translation.content_id.to_string()) {
            Some(content) => {
                let text = html::render(&content.body.unwrap_or_default()).text;
                collected.texts.push(TranslationText { translation, text });
            }
            None => collected.missing.push(translation),
        }
    }
    Ok(())
}

impl Zammad {
    fn shows(&self, answer: &Answer, now: jiff::Timestamp) -> bool {
        let is_past = |time: Option<jiff::Timestamp>| time.is_some_and(|time| time <= now);
        let shown = is_past(answer.published_at) || self.internal && is_past(answer.internal_at);
        shown && !is_past(answer.archived_at)
    }

    fn id(&self, translation: &Translation) -> String {
        format!("{}-{}-{}", self.base, translation.answer_id, translation.id)
    }

    fn address(&self, translation: &Translation, locale: &str) -> String {
        let (url, base, answer) = (self.url.trim_end_matches('/'), self.base, translation.answer_id);
        format!("{url}/#knowledge_base/{base}/locale/{locale}/answer/{answer}")
    }
}
