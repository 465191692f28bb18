//! A ticket's way through the component.

mod action;
mod choice;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use bulkhead_ticket_text::clean;
use bulkhead_ticket_text::extract::date::Date;
use bulkhead_ticket_text::guarding::{Guarding, Judged, Verdict, found};
use bulkhead_ticket_text::injection;
use bulkhead_ticket_text::language;
use bulkhead_ticket_text::llm::{Failure, Question};
use bulkhead_ticket_text::window::window;
use bulkhead_triage_configuration::{Action, Category, Configuration};
use bulkhead_triage_features::{FeatureSettings, MOST_READ, Row, preparser};

use crate::decision::{Candidate, Decision, Refusal, Unclassified};
use crate::evidence::{Evidence, evidence};
use crate::extraction::{Value, extract};
use crate::reasoning::{self, reasoning};
use crate::request;

/// A classifier over embeddings and sparse features.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// `[k]`, in the order of its probabilities.
    pub labels: Vec<String>,
    /// Features it was trained on; `None` for embeddings alone.
    pub features: Option<FeatureSettings>,
}

/// What the component asks of its host.
pub trait Host {
    /// The classifier that is loaded.
    ///
    /// # Errors
    ///
    /// With the reason why there is none.
    fn head(&self) -> Result<Head, Unclassified>;

    /// `[k]` probabilities for a text and its features.
    ///
    /// # Errors
    ///
    /// With the reason why there are none now.
    fn classify(&self, text: &str, features: &Row) -> Result<Vec<f32>, Unclassified>;

    /// What the language model answers to a question.
    ///
    /// # Errors
    ///
    /// With the reason why it does not.
    fn ask(&self, question: &Question) -> Result<String, Failure>;

    /// What the guard says of a text.
    fn guard(&self, text: &str) -> Verdict;

    /// Today, in UTC.
    fn today(&self) -> Date;
}

/// What chooses the category.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The classifier.
    #[default]
    Classifier,
    /// The language model; where that fails, the classifier.
    Llm,
}

/// How the host wants tickets decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Policy {
    /// What chooses the category.
    pub strategy: Strategy,
    /// What follows from a guard's objection.
    pub guarding: Guarding,
}

/// Why there is no decision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Undecided {
    /// The guard objects, and what it objects to is to be refused; its words for what it found.
    #[error("{}", found(.0))]
    Unsafe(Vec<String>),
    /// The configuration lacks its own category or action for none, which a checked one never does.
    #[error("the configuration has no {0} for none")]
    Incomplete(&'static str),
}

/// What triage says of a ticket.
#[derive(Debug, Clone, PartialEq)]
pub struct Triage {
    /// The text that the rest is about: cut down by the preparser, else as it came.
    pub user_text: String,
    /// Name of the category.
    pub category: String,
    /// Whether answers in it may be published without a clerk: as configured, unless a guard keeps it from that.
    pub auto_publish: bool,
    /// What happens next.
    pub action: Action,
    /// Why.
    pub reasoning: String,
    /// Calibrated probability of the best category, 0 to 0.99; 1 where there was nothing to read.
    pub confidence: f32,
    /// Typed values; none when nothing was found.
    pub extracted_values: BTreeMap<String, Value>,
    /// The categories behind the first.
    pub alternatives: Vec<Candidate>,
    /// ISO 639 code of the text's language, where it has one.
    pub language: Option<String>,
    /// The note for clerks, where nothing else happens.
    pub internal_note: Option<String>,
}

/// Decides on a ticket. Whatever classifier and language model do, the answer is a configured category and action.
///
/// # Errors
///
/// When a guard's objection is to be followed so, or the configuration lacks what a checked one has.
pub fn triage(
    host: &impl Host,
    configuration: &Configuration,
    policy: Policy,
    text: &str,
) -> Result<Triage, Undecided> {
    let user_text = preparser::apply(&configuration.preparser, text);
    let read = window(user_text.trim(), MOST_READ);
    let rendered = clean::render(&read);
    let plain = &rendered.plain;
    let own = clean::own(plain);
    // What others wrote to them holds others' values; signatures are their own.
    let written = clean::unquoted(plain);
    let language = language::german_or_english(&own);
    let injected = policy.strategy == Strategy::Llm && injection::is_injected_ticket(&read, &rendered);
    let choice = choice::choose(host, configuration, policy, &own, &written, language, injected)?;
    let decision = choice.decision;
    let no_category = configuration.no_category().ok_or(Undecided::Incomplete("category"))?;
    let chosen = decision.first().and_then(|(first, _)| configuration.category(&first.name));
    let category = match decision.refusal {
        None => chosen.unwrap_or(no_category),
        Some(_) => no_category,
    };
    // What speaks for the best category says as much about why it was not enough.
    let evidence = match chosen {
        Some(chosen) if choice.said.is_none() => evidence(&own, &chosen.examples),
        _ => Evidence::default(),
    };
    let today = host.today();
    let name = action::action_name(configuration, &category.name, &request::facts(&written, plain, today));
    let action = configuration.action(name).ok_or(Undecided::Incomplete("action"))?.clone();
    let said = choice.said.map(|said| reasoning::quoted(&said, language));
    let failed = choice.failed.map(|reason| reasoning::fallen_back(reason, language));
    let reasoning = reasoning(&decision, &evidence, language);
    let told = [failed, Some(reasoning), said, choice.verdict.told(Judged::Message, language)];
    let reasoning = told.into_iter().flatten().collect::<Vec<_>>().join(" ");
    Ok(Triage {
        internal_note: note(configuration, category, &action, &reasoning),
        category: category.name.clone(),
        auto_publish: category.auto_publish && choice.verdict.publishes(),
        confidence: confidence(&decision),
        extracted_values: extract(&written, today, &category.extract),
        alternatives: alternatives(&decision),
        language: language::detect(&own).map(str::to_owned),
        user_text,
        action,
        reasoning,
    })
}

/// A message that says nothing is certain to belong nowhere; without a classifier nothing is.
fn confidence(decision: &Decision) -> f32 {
    match (&decision.refusal, decision.candidates.first()) {
        (Some(Refusal::Empty | Refusal::Wordless), _) => 1.0,
        (_, Some(first)) => first.told(),
        (_, None) => 0.0,
    }
}

/// All but the chosen category; of a refused decision the best as well.
fn alternatives(decision: &Decision) -> Vec<Candidate> {
    let chosen = usize::from(matches!(decision.refusal, None | Some(Refusal::Outside)));
    decision.candidates.iter().skip(chosen).cloned().collect()
}

fn note(configuration: &Configuration, category: &Category, action: &Action, reason: &str) -> Option<String> {
    let none = configuration.no_action().is_some_and(|none| none.name == action.name);
    none.then(|| configuration.internal_note(&category.name, &action.name, reason)).flatten()
}
