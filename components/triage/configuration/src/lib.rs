//! What an operator configures of triage: categories, actions, and which action a category leads to.
//!
//! Host and component both read it; what a configuration means for a ticket is the component's business.
//!
//! [`Settings`] is what is written; [`Configuration`] is the same, checked. Names are the identities.

mod check;
mod entry;
mod note;
pub mod pattern;
pub mod preparser;
mod read;
pub mod rules;
#[cfg(test)]
mod tests;
mod violation;

use serde::{Deserialize, Serialize};

use check::Gaps;
use pattern::{Pattern, PatternSettings};
use preparser::PreparserSettings;
use rules::Rule;

pub use note::NotePlaceholder;
pub use read::Reading;
pub use violation::{Invalid, Violation};

/// Confidence below which nothing is decided: at the break-even between a wrong decision and none.
pub const DEFAULT_THRESHOLD: f32 = 0.5;
/// The first category must be ahead of the second by as much: with a calibrated classifier two categories this
/// close are a coin toss.
pub const DEFAULT_MARGIN: f32 = 0.1;
/// Characters of a text that are classified: a long letter, and within an encoder's 512 tokens.
pub const DEFAULT_TEXT_LENGTH: u32 = 2000;

/// A triage configuration as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// What tickets are about; at least one.
    pub categories: Vec<CategorySettings>,
    /// Name of the category of tickets that belong to none or cannot be decided.
    pub no_category_name: String,
    /// What can happen next; at least one.
    pub actions: Vec<Action>,
    /// Name of the action where no rule says otherwise.
    pub no_action_name: String,
    /// Note for clerks when nothing is done; may hold `{category}`, `{action}` and `{reason}`.
    #[serde(default)]
    pub no_action_internal_note: Option<String>,
    /// Which action a category leads to; the first rule of a category counts.
    #[serde(default)]
    pub action_rules: Vec<Rule>,
    /// Confidence that a category needs unless it has a threshold of its own, 0 to 1.
    #[serde(default = "default_threshold")]
    pub threshold: f32,
    /// Distance that the first category needs from the second, 0 to 1.
    #[serde(default = "default_margin")]
    pub margin: f32,
    /// Characters of a text that are classified; longer ones lose their middle.
    #[serde(default = "default_text_length")]
    pub max_user_text_length: u32,
    /// Keeps only named rows of tables, where forms arrive as such.
    #[serde(default)]
    pub preparser: PreparserSettings,
}

fn default_threshold() -> f32 {
    DEFAULT_THRESHOLD
}

fn default_margin() -> f32 {
    DEFAULT_MARGIN
}

fn default_text_length() -> u32 {
    DEFAULT_TEXT_LENGTH
}

/// A category as it is written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CategorySettings {
    /// Its name.
    pub name: String,
    /// Whether answers in it may be published without a clerk.
    #[serde(default)]
    pub auto_publish: bool,
    /// What it is about; each line is an example for the default classifier.
    #[serde(default)]
    pub description: Option<String>,
    /// Labelled texts.
    #[serde(default)]
    pub examples: Vec<String>,
    /// Confidence it needs, 0 to 1; `None` for the common one.
    #[serde(default)]
    pub threshold: Option<f32>,
    /// Values to take out of its texts.
    #[serde(default)]
    pub extract: Vec<PatternSettings>,
}

/// What an action does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ActionType {
    /// An answer is generated from the knowledge base.
    AIAnswer,
    /// A clerk reads the ticket.
    NoAction,
    /// The configured answer is given.
    StaticAnswer,
}

/// What can happen next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What it does.
    #[serde(rename = "type")]
    pub kind: ActionType,
    /// The answer of a `StaticAnswer`.
    #[serde(default)]
    pub answer: Option<String>,
}

/// A category, checked.
#[derive(Debug, Clone)]
pub struct Category {
    /// Its name.
    pub name: String,
    /// Whether answers in it may be published without a clerk.
    pub auto_publish: bool,
    /// Confidence it needs.
    pub threshold: f32,
    /// Labelled texts, the lines of the description last.
    pub examples: Vec<String>,
    /// Values to take out of its texts.
    pub extract: Vec<Pattern>,
}

/// A triage configuration that can be followed: all names exist, all patterns compile.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// What tickets are about.
    pub categories: Vec<Category>,
    /// Index of the category of tickets that belong to none.
    no_category: usize,
    /// What can happen next.
    pub actions: Vec<Action>,
    /// Index of the action where no rule says otherwise.
    no_action: usize,
    /// Note for clerks when nothing is done.
    no_action_internal_note: Option<String>,
    /// Which action a category leads to.
    pub action_rules: Vec<Rule>,
    /// Distance that the first category needs from the second.
    pub margin: f32,
    /// Characters of a text that are classified.
    pub max_user_text_length: usize,
    /// Keeps only named rows of tables.
    pub preparser: PreparserSettings,
}

impl Configuration {
    /// Checks `settings`.
    ///
    /// # Errors
    ///
    /// With all violations at once.
    pub fn new(settings: Settings) -> Result<Self, Invalid> {
        check::check(settings, Pattern::new, Gaps::default())
    }

    /// Reads and checks a configuration.
    ///
    /// # Errors
    ///
    /// When `json` is not a configuration, or violates what one must keep; with all violations at once.
    pub fn from_json(json: &str) -> Result<Self, Invalid> {
        let value = serde_json::from_str(json).map_err(|error| Invalid::whole(error.to_string()))?;
        Reading::new(value).check_all().map(|(_, configuration)| configuration)
    }

    /// Reads a configuration that the host has checked already. A call looks for the patterns of one category, so
    /// none is compiled beforehand.
    ///
    /// # Errors
    ///
    /// As [`Self::from_json`], but for patterns that do not compile: these find nothing.
    pub fn from_host(json: &str) -> Result<Self, Invalid> {
        let settings = serde_json::from_str(json).map_err(|error| Invalid::whole(error.to_string()))?;
        check::check(settings, |pattern| Ok(Pattern::checked(pattern)), Gaps::default())
    }

    /// The category with this name.
    pub fn category(&self, name: &str) -> Option<&Category> {
        self.categories.iter().find(|category| category.name == name)
    }

    /// The category of tickets that belong to none.
    pub fn no_category(&self) -> Option<&Category> {
        self.categories.get(self.no_category)
    }

    /// The action with this name, or the one where no rule says otherwise.
    pub fn action(&self, name: &str) -> Option<&Action> {
        self.actions.iter().find(|action| action.name == name).or_else(|| self.no_action())
    }

    /// The action where no rule says otherwise.
    pub fn no_action(&self) -> Option<&Action> {
        self.actions.get(self.no_action)
    }

    /// The note for clerks when nothing is done, filled in.
    pub fn internal_note(&self, category: &str, action: &str, reason: &str) -> Option<String> {
        let template = self.no_action_internal_note.as_deref()?;
        note::fill(template, |placeholder| match placeholder {
            NotePlaceholder::Category => category,
            NotePlaceholder::Action => action,
            NotePlaceholder::Reason => reason,
        })
        .ok()
    }

    /// Categories that the default strategy can never choose: they have neither examples nor a description.
    pub fn without_examples(&self) -> impl Iterator<Item = &Category> {
        let no_category = self.no_category;
        let others = self.categories.iter().enumerate().filter(move |(index, _)| *index != no_category);
        others.map(|(_, category)| category).filter(|category| category.examples.is_empty())
    }
}
