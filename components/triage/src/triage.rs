//! Entry point of the component: decides on one ticket with the host's classifier, language model and guard.

mod action;
mod choice;
pub mod prompts;
pub mod reasoning;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use bulkhead_text::clean::{self, MailParts};
use bulkhead_text::language;
use bulkhead_text::window::window;
use bulkhead_ticket_text::extract::date::Date;
use bulkhead_ticket_text::extract::find;
use bulkhead_ticket_text::guarding::{Guarding, Judged, Verdict, found};
use bulkhead_ticket_text::injection;
use bulkhead_ticket_text::llm::{Failure, Question};
use bulkhead_triage_configuration::{Action, Category, Configuration};
use bulkhead_triage_features::{FeatureSettings, MOST_READ, Row, preparser};

use crate::decision::{Candidate, Decision, Refusal, Unclassified};
use crate::evidence::{Evidence, evidence};
use crate::extraction::{Value, extract};
use crate::request;
use reasoning::reasoning;

/// A classifier over embeddings and sparse features.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// Labels in the order of its probabilities.
    pub labels: Vec<String>,
    /// Features it was trained on; `None` if it takes embeddings only.
    pub features: Option<FeatureSettings>,
}

/// The functions that the component needs from its host.
pub trait Host {
    /// Returns the loaded classifier.
    ///
    /// # Errors
    ///
    /// Fails with the reason why there is no classifier.
    fn head(&self) -> Result<Head, Unclassified>;

    /// Returns the probability of each label for a text and its features.
    ///
    /// # Errors
    ///
    /// Fails with the reason why there are no probabilities.
    fn classify(&self, text: &str, features: &Row) -> Result<Vec<f32>, Unclassified>;

    /// Returns the language model's reply to a question.
    ///
    /// # Errors
    ///
    /// Fails with the reason why the model did not reply.
    fn ask(&self, question: &Question) -> Result<String, Failure>;

    /// Returns the guard's verdict on a text.
    fn guard(&self, text: &str) -> Verdict;

    /// Returns today's date in UTC.
    fn today(&self) -> Date;
}

/// How the category is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strategy {
    /// By the classifier.
    #[default]
    Classifier,
    /// By the language model, and by the classifier when that fails.
    Llm,
}

/// The host's policy for tickets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Policy {
    /// How the category is chosen.
    pub strategy: Strategy,
    /// How to treat texts that the guard calls unsafe.
    pub guarding: Guarding,
}

/// Why there is no decision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TriageError {
    /// The guard calls the text unsafe and the policy refuses such texts; holds the guard's labels.
    #[error("{}", found(.0))]
    Unsafe(Vec<String>),
    /// The configuration lacks its default category or action, which a checked one never does.
    #[error("the configuration has no default {0}")]
    Incomplete(&'static str),
}

/// The decision on a ticket.
#[derive(Debug, Clone, PartialEq)]
pub struct Triage {
    /// The text that was classified: shortened by the preparser, else as received.
    pub user_text: String,
    /// Name of the category.
    pub category: String,
    /// Whether answers in it may be published without a clerk: as configured, unless the guard blocks it.
    pub auto_publish: bool,
    /// The action to take.
    pub action: Action,
    /// The reasoning.
    pub reasoning: String,
    /// Calibrated probability of the best category, 0 to 0.99; 1 for a text without words.
    pub confidence: f32,
    /// Extracted values.
    pub extracted_values: BTreeMap<String, Value>,
    /// The next categories after the first.
    pub alternatives: Vec<Candidate>,
    /// ISO 639 code of the text's language, if detected.
    pub language: Option<String>,
    /// The note for clerks, if no other action is taken.
    pub internal_note: Option<String>,
}

/// Decides on a ticket. The result is always a configured category and action, whatever classifier and language model
/// return.
///
/// # Errors
///
/// Fails when the guard calls the text unsafe and the policy refuses such texts, or when the configuration lacks what
/// a checked one has.
pub fn triage(
    host: &impl Host,
    configuration: &Configuration,
    policy: Policy,
    text: &str,
) -> Result<Triage, TriageError> {
    let user_text = preparser::apply(&configuration.preparser, text);
    let read = window(user_text.trim(), MOST_READ);
    let rendered = clean::render(&read);
    let plain = &rendered.plain;
    // Quoted mails hold other people's values; signatures are the sender's own.
    let MailParts { own, unquoted: written, is_automatic } = clean::parts(plain);
    let spoken = if own.is_empty() { &written } else { &own };
    let detected = language::detect(spoken);
    let language = language::answered_in(spoken, detected);
    let injected = policy.strategy == Strategy::Llm && injection::is_injected_ticket(&read, &rendered);
    let choice = choice::choose(host, configuration, policy, &own, &written, language, injected)?;
    let decision = choice.decision;
    let no_category = configuration.no_category().ok_or(TriageError::Incomplete("category"))?;
    let chosen = decision.first().and_then(|(first, _)| configuration.category(&first.name));
    let category = match decision.refusal {
        None => chosen.unwrap_or(no_category),
        Some(_) => no_category,
    };
    // The evidence for the best category also shows why it was not enough.
    let evidence = match chosen {
        Some(chosen) if choice.llm_reasoning.is_none() => evidence(&own, &chosen.examples),
        _ => Evidence::default(),
    };
    let today = host.today();
    let values = find(&written, today);
    let action = if is_automatic {
        configuration.auto_reply()
    } else {
        let facts = request::facts(&written, plain, &values, today);
        configuration.action(action::action_name(configuration, &category.name, &facts))
    };
    let action = action.ok_or(TriageError::Incomplete("action"))?.clone();
    let said = choice.llm_reasoning.map(|said| reasoning::quoted(&said, language));
    let failed = choice.failed.map(|reason| reasoning::fallback_note(reason, language));
    let reasoning = reasoning(&decision, &evidence, language);
    let parts = [failed, Some(reasoning), said, choice.verdict.message(Judged::Message, language)];
    let reasoning = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    Ok(Triage {
        internal_note: note(configuration, category, &action, &reasoning),
        category: category.name.clone(),
        auto_publish: category.auto_publish && choice.verdict.publishes(),
        confidence: confidence(&decision),
        extracted_values: extract(&written, values, today, &category.extract),
        alternatives: alternatives(&decision),
        language: detected.filter(|_| !own.is_empty()).map(str::to_owned),
        user_text,
        action,
        reasoning,
    })
}

/// Returns the confidence to report: an empty message is certain to belong to no category, and without a classifier
/// nothing is certain.
fn confidence(decision: &Decision) -> f32 {
    match (&decision.refusal, decision.candidates.first()) {
        (Some(Refusal::Empty | Refusal::Unwritten | Refusal::Wordless), _) => 1.0,
        (_, Some(first)) => first.reported_confidence(),
        (_, None) => 0.0,
    }
}

/// Returns all candidates but the chosen category; of a refused decision all of them.
fn alternatives(decision: &Decision) -> Vec<Candidate> {
    let chosen = usize::from(matches!(decision.refusal, None | Some(Refusal::Outside)));
    decision.candidates.iter().skip(chosen).cloned().collect()
}

fn note(configuration: &Configuration, category: &Category, action: &Action, reason: &str) -> Option<String> {
    let none = configuration.no_action().is_some_and(|none| none.name == action.name);
    none.then(|| configuration.internal_note(&category.name, &action.name, reason)).flatten()
}
