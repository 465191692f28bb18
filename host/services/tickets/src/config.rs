//! `[tickets]`: ticket triage and answers.

pub mod answer;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::PathBuf};

use bulkhead_config::{
    Config,
    reader::Reader,
    secret::Secret,
    tables::{Context, MissingTable, ServiceTable},
};
use bulkhead_knowledge::ChunkSize;
use bulkhead_models::config::Embedding;

use self::answer::Answer;
use crate::{
    guard::config::Guard,
    knowledge::config::{Knowledge, KnowledgeDatabase},
    llm::config::{self as llm, Llm},
};

/// Shortest key that is accepted, characters: the replaced service's rule.
const KEY_CHARS: usize = 32;
/// A long letter with a quoted thread; held in memory.
pub const BODY_BYTES: usize = 1 << 20;

/// `[tickets]`.
#[derive(Clone, Debug)]
pub struct Tickets {
    /// Categories, actions and rules; none: nothing is triaged.
    pub triage: Option<PathBuf>,
    /// Name of the head that classifies, one of `embedding.heads`.
    pub head: String,
    /// The key that callers need; none: everybody may call.
    pub api_key: Option<Secret>,
    /// Largest request body, bytes.
    pub body_bytes: usize,
    /// How answers are written and published.
    pub answer: Answer,
    /// What answers come from.
    pub knowledge: Knowledge,
    /// What decides on categories.
    pub triage_strategy: Strategy,
    /// The language model that may be asked.
    pub llm: Option<Llm>,
    /// The guardrail service that is asked.
    pub guard: Option<Guard>,
}

/// What decides, or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// The classifier on this machine.
    Classifier,
    /// The language model; the classifier where that fails.
    Llm,
}

/// The head's name where none is given.
pub const HEAD: &str = "triage";

impl ServiceTable for Tickets {
    const NAME: &'static str = "tickets";
    const SETTINGS_FILES: &'static [&'static str] = &["tickets.triage"];

    fn read(reader: &mut Reader, context: &mut Context<'_>) -> Self {
        let heads = context.table::<Embedding>().map(|embedding| embedding.heads.clone());
        reader
            .table(Self::NAME, |r| Self {
                triage: r.key("triage", "Categories, actions and rules, a TOML or JSON file").path(),
                head: r.key("head", "The classifier, one of embedding.heads").parsed(
                    "text",
                    HEAD.to_owned(),
                    |text| Ok(text.to_owned()),
                ),
                api_key: r
                    .key("api_key", "Bearer key of at least 32 characters; none: everybody may call")
                    .secret()
                    .and_then(|key| match key.expose().chars().count() >= KEY_CHARS {
                        true => Some(key),
                        false => {
                            r.problem("api_key", "must have at least 32 characters; make a longer one");
                            None
                        }
                    }),
                body_bytes: r
                    .key("body_bytes", "Largest request body")
                    .unit("bytes")
                    .integer(1024..=1 << 30, BODY_BYTES),
                answer: r.table("answer", Answer::read),
                knowledge: r.table("knowledge", Knowledge::read),
                triage_strategy: r
                    .key(
                        "triage_strategy",
                        "What chooses the category; where tickets.llm fails, the classifier does",
                    )
                    .choice(
                        &[("classifier", Strategy::Classifier), ("llm", Strategy::Llm)],
                        Strategy::Classifier,
                    ),
                llm: r.table("llm", Llm::read),
                guard: r.table("guard", Guard::read),
            })
            .with_checks(reader, &heads.unwrap_or_default())
    }
}

impl Tickets {
    /// A strategy needs what it asks, and a classifier is one that there is.
    fn with_checks(self, reader: &mut Reader, heads: &BTreeMap<String, String>) -> Self {
        if reader.is_set("tickets.head") && !heads.is_empty() && !heads.contains_key(&self.head) {
            let names = heads.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            reader.problem(
                "tickets.head",
                format!("`{}` is none of embedding.heads, which are {names}", self.head),
            );
        }
        let strategies = [
            ("tickets.triage_strategy", self.triage_strategy == Strategy::Llm),
            ("tickets.answer.strategy", self.answer.strategy == answer::Strategy::Llm),
        ];
        let missing = self.llm.is_none() && !reader.is_set("tickets.llm.url");
        for (key, _) in strategies.into_iter().filter(|(_, asks)| *asks && missing) {
            reader.problem(key, "is llm without tickets.llm.url; set one or the other");
        }
        self.check_passages(reader);
        self
    }

    /// What an answer is written from must fit into one call with the answer, or none would ever be the model's.
    fn check_passages(&self, reader: &mut Reader) {
        let Some(llm) = self.llm.as_ref().filter(|_| self.answer.strategy == answer::Strategy::Llm) else {
            return;
        };
        let (limit, longest) = (self.knowledge.limit, ChunkSize::default().most);
        let passages = (u64::from(limit) * longest as u64).div_ceil(llm::BYTES_OF_A_TOKEN);
        let (answer, most) = (llm.max_tokens, llm.tokens_per_call);
        if passages + u64::from(answer) > u64::from(most) {
            reader.problem(
                "tickets.knowledge.limit",
                format!(
                    "is {limit} passages, of {longest} characters about {passages} tokens; with tickets.llm.max_tokens \
                     ({answer}) that is more than tickets.llm.tokens_per_call, {most}; lower the one or raise the other"
                ),
            );
        }
    }
}

/// Returns the URL of the knowledge base, which may hold a password.
///
/// # Errors
/// When the configuration was read without the table of tickets.
pub fn knowledge_url(config: &Config) -> Result<Secret, MissingTable> {
    let embedded = KnowledgeDatabase::embedded(&config.data_dir);
    Ok(config.table::<Tickets>()?.knowledge.url.url(&embedded))
}
