//! A knowledge base in Zammad, through its REST API.
//!
//! (Its feed shows the ten newest answers only, so nothing could be told about those that are gone.)

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{MAX_BYTES, MAX_DOCUMENTS, Reading};
use crate::document::{Document, Refused};
use crate::error::Error;
use crate::text::html;

/// How long a connection may take, and an answer.
const CONNECT: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(60);

/// Which knowledge base of which Zammad.
#[derive(Clone)]
pub struct Zammad {
    /// Where Zammad is: `https://tickets.example.org/`.
    pub url: String,
    /// Number of the knowledge base.
    pub base: u64,
    /// Access token of a user who may read it; sent to that address only.
    pub token: String,
    /// Locale in the answers' addresses, such as `de-de`.
    pub locale: String,
    /// Take answers that only agents may read as well; for bases whose answers no customer sees.
    pub internal: bool,
}

impl std::fmt::Debug for Zammad {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { url, base, locale, internal, token: _ } = self;
        let mut shown = formatter.debug_struct("Zammad");
        shown.field("url", url).field("base", base).field("locale", locale).field("internal", internal);
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
struct Shown {
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

/// Since when an answer is shown to whom.
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
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    body: Option<String>,
}

/// Reads all answers that customers may read, a document a translation.
pub(super) async fn read(zammad: &Zammad) -> Result<Reading, Error> {
    let remote = Remote::new(zammad)?;
    let mut reading = Reading::new(remote.root.clone());
    let overview: Overview = remote.get("").await?.ok_or_else(|| remote.error("there is no such base"))?;
    if overview.answer_ids.len() > MAX_DOCUMENTS {
        return Err(Error::TooMany { name: reading.name, limit: MAX_DOCUMENTS });
    }
    for id in overview.answer_ids {
        remote.answer(id, &mut reading).await?;
    }
    Ok(reading)
}

/// The knowledge base at the other end.
struct Remote<'z> {
    zammad: &'z Zammad,
    /// Address of the knowledge base.
    root: String,
    client: Client,
    authorization: HeaderValue,
    now: jiff::Timestamp,
}

impl<'z> Remote<'z> {
    fn new(zammad: &'z Zammad) -> Result<Self, Error> {
        let root = format!("{}/api/v1/knowledge_bases/{}", zammad.url.trim_end_matches('/'), zammad.base);
        let fault = |reason: &str| Error::Zammad { url: root.clone(), reason: reason.to_owned() };
        let mut authorization = HeaderValue::from_str(&format!("Token token={}", zammad.token))
            .map_err(|_| fault("the token has characters that no token has"))?;
        authorization.set_sensitive(true);
        // The token goes where it was meant to go, and nowhere that answer points to.
        let client = Client::builder().redirect(Policy::none()).connect_timeout(CONNECT).timeout(ANSWER);
        let client = client.build().map_err(|error| fault(&error.to_string()))?;
        Ok(Self { zammad, client, authorization, now: jiff::Timestamp::now(), root })
    }

    /// The answer's translations; nothing if it is gone since the list was read.
    async fn answer(&self, id: u64, reading: &mut Reading) -> Result<(), Error> {
        let Some(shown) = self.get::<Shown>(&format!("/answers/{id}")).await? else { return Ok(()) };
        let visible = shown.assets.answers.get(&id.to_string()).is_some_and(|answer| self.is_visible(answer));
        let mut translations: Vec<_> = shown.assets.translations.into_values().collect();
        translations.retain(|translation| visible && translation.answer_id == id);
        if translations.is_empty() {
            return Ok(());
        }
        translations.sort_unstable_by_key(|translation| translation.id);
        let contents: Vec<_> =
            translations.iter().map(|translation| translation.content_id.to_string()).collect();
        let path = format!("/answers/{id}?include_contents={}", contents.join(","));
        let Some(mut shown) = self.get::<Shown>(&path).await? else { return Ok(()) };
        for translation in translations {
            let name = format!("answer {id}, translation {}", translation.id);
            match shown.assets.contents.remove(&translation.content_id.to_string()) {
                Some(content) => reading.add(&name, Ok(self.document(translation, content))),
                None => {
                    let reason = "Zammad gave no text for it".to_owned();
                    reading.refused.push(Refused { name, reason });
                }
            }
        }
        Ok(())
    }

    fn is_visible(&self, answer: &Answer) -> bool {
        let is_past = |time: Option<jiff::Timestamp>| time.is_some_and(|time| time <= self.now);
        let shown = is_past(answer.published_at) || self.zammad.internal && is_past(answer.internal_at);
        shown && !is_past(answer.archived_at)
    }

    fn document(&self, translation: Translation, content: Content) -> Document {
        let Zammad { url, base, locale, .. } = self.zammad;
        let (url, answer) = (url.trim_end_matches('/'), translation.answer_id);
        Document {
            id: format!("{base}-{answer}-{}", translation.id),
            title: translation.title,
            url: Some(format!("{url}/#knowledge_base/{base}/locale/{locale}/answer/{answer}")),
            text: html::render(&content.body.unwrap_or_default()).text,
            ..Document::default()
        }
    }

    /// What stands at `path` below the base; `None` if nothing does. Every other failure is one: an answer that
    /// cannot be read must not look as if it were gone.
    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Error> {
        let request = self.client.get(format!("{}{path}", self.root));
        let answer = request.header(AUTHORIZATION, self.authorization.clone()).send().await;
        let mut answer = answer.map_err(|error| self.error(&error.without_url().to_string()))?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(self.error("it refuses the token: give one of a user who may read the base"));
            }
            status => return Err(self.error(&format!("it answered {status} to {path:?}"))),
        }
        let mut body = Vec::new();
        while let Some(part) =
            answer.chunk().await.map_err(|error| self.error(&error.without_url().to_string()))?
        {
            body.extend_from_slice(&part);
            if body.len() as u64 > MAX_BYTES {
                return Err(self.error(&format!("its answer to {path:?} has more than {MAX_BYTES} bytes")));
            }
        }
        let read = serde_json::from_slice(&body);
        read.map(Some)
            .map_err(|error| self.error(&format!("its answer to {path:?} is not understood: {error}")))
    }

    fn error(&self, reason: &str) -> Error {
        Error::Zammad { url: self.root.clone(), reason: reason.to_owned() }
    }
}
