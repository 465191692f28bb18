//! `[tickets]`: ticket triage and answers.

pub mod answer;
#[cfg(test)]
mod configured;
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
use bulkhead_models::config::EmbeddingSettings;

use self::answer::{AnswerSettings, AnswerStrategy};
use crate::{
    guard::config::GuardSettings,
    knowledge::config::{KnowledgeDatabase, KnowledgeSettings},
    llm::config::{BYTES_OF_A_TOKEN, LlmSettings},
};

/// The minimum characters of a key, as in the replaced service.
const KEY_CHARS: usize = 32;
/// Bytes for a long letter with a quoted thread; held in memory.
pub const BODY_BYTES: usize = 1 << 20;

/// `[tickets]`.
#[derive(Clone, Debug)]
pub struct TicketSettings {
    /// File of categories, actions and rules; absent: tickets are not triaged.
    pub triage: Option<PathBuf>,
    /// Name of the classifier, one of `embedding.heads`.
    pub head: String,
    /// Whether training adds built-in texts that belong to no category.
    pub background: bool,
    /// The key of callers; absent: everybody may call.
    pub api_key: Option<Secret>,
    /// Largest request body, bytes.
    pub body_bytes: usize,
    /// Settings of answers.
    pub answer: AnswerSettings,
    /// Settings of the knowledge base.
    pub knowledge: KnowledgeSettings,
    /// What chooses the category.
    pub triage_strategy: TriageStrategy,
    /// Settings of the language model, if one is configured.
    pub llm: Option<LlmSettings>,
    /// Settings of the guardrail service, if one is configured.
    pub guard: Option<GuardSettings>,
}

/// What chooses the category of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriageStrategy {
    /// The classifier on this machine.
    Classifier,
    /// The language model, and the classifier where it fails.
    Llm,
}

/// The default name of the classifier.
pub(crate) const HEAD: &str = "triage";

impl ServiceTable for TicketSettings {
    const NAME: &'static str = "tickets";
    const SETTINGS_FILES: &'static [&'static str] = &["tickets.triage"];

    fn read(reader: &mut Reader, context: &mut Context<'_>) -> Self {
        let heads = context.table::<EmbeddingSettings>().map(|embedding| embedding.heads.clone());
        reader
            .table(Self::NAME, |r| Self {
                triage: r.key("triage", "Categories, actions and rules, a TOML or JSON file").path(),
                head: r.key("head", "The classifier, one of embedding.heads").parsed(
                    "text",
                    HEAD.to_owned(),
                    |text| Ok(text.to_owned()),
                ),
                background: r
                    .key(
                        "background",
                        "Whether a classifier of few examples also learns built-in texts of no category",
                    )
                    .flag(true),
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
                answer: r.table("answer", AnswerSettings::read),
                knowledge: r.table("knowledge", KnowledgeSettings::read),
                triage_strategy: r
                    .key(
                        "triage_strategy",
                        "What chooses the category; where tickets.llm fails, the classifier does",
                    )
                    .choice(
                        &[("classifier", TriageStrategy::Classifier), ("llm", TriageStrategy::Llm)],
                        TriageStrategy::Classifier,
                    ),
                llm: r.table("llm", LlmSettings::read),
                guard: r.table("guard", GuardSettings::read),
            })
            .with_checks(reader, &heads.unwrap_or_default())
    }
}

impl TicketSettings {
    /// Checks that the classifier exists, that strategies have a language model, and that passages fit into a call.
    fn with_checks(self, reader: &mut Reader, heads: &BTreeMap<String, String>) -> Self {
        if reader.is_set("tickets.head") && !heads.is_empty() && !heads.contains_key(&self.head) {
            let names = heads.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            reader.problem(
                "tickets.head",
                format!("`{}` is not one of embedding.heads, which are {names}", self.head),
            );
        }
        let strategies = [
            ("tickets.triage_strategy", self.triage_strategy == TriageStrategy::Llm),
            ("tickets.answer.strategy", self.answer.strategy == AnswerStrategy::Llm),
        ];
        let missing = self.llm.is_none() && !reader.is_set("tickets.llm.url");
        for (key, _) in strategies.into_iter().filter(|(_, uses_llm)| *uses_llm && missing) {
            reader.problem(key, "is llm without tickets.llm.url; set one or the other");
        }
        self.check_passages(reader);
        self
    }

    /// Checks that the passages of an answer and the answer fit into one call of the language model.
    fn check_passages(&self, reader: &mut Reader) {
        let Some(llm) = self.llm.as_ref().filter(|_| self.answer.strategy == AnswerStrategy::Llm) else {
            return;
        };
        let (limit, longest) = (self.knowledge.limit, ChunkSize::default().most);
        let passages = (u64::from(limit) * longest as u64).div_ceil(BYTES_OF_A_TOKEN);
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
pub(crate) fn knowledge_url(config: &Config) -> Result<Secret, MissingTable> {
    let embedded = KnowledgeDatabase::embedded(&config.data_dir);
    Ok(config.table::<TicketSettings>()?.knowledge.url.url(&embedded))
}
