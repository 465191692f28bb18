//! The triage configuration of an operator: categories, actions, and which action a category leads to.
//!
//! Host and component both read it; the component decides what it means for a ticket.
//!
//! [`Settings`] is the configuration as written, [`Configuration`] the checked one. Names are identities.

mod check;
mod checked;
mod examples;
mod note;
pub mod pattern;
pub mod preparser;
pub mod rules;
#[cfg(test)]
mod tests;
mod violation;

use serde::{Deserialize, Serialize};

use pattern::{Pattern, PatternSettings};
use preparser::PreparserSettings;
use rules::Rule;

pub use check::Gaps;
pub use examples::Examples;
pub use note::NotePlaceholder;
pub use violation::{Invalid, Violation};

/// Default confidence threshold: the break-even between a wrong decision and none.
pub const DEFAULT_THRESHOLD: f32 = 0.5;
/// Default minimum lead of the first category over the second: with a calibrated classifier two closer categories are
/// a coin toss.
pub const DEFAULT_MARGIN: f32 = 0.1;
/// Default maximum number of characters to classify: a long letter that fits an encoder's 512 tokens.
pub const DEFAULT_TEXT_LENGTH: u32 = 2000;

/// A triage configuration as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings<C = CategorySettings> {
    /// The ticket categories; at least one.
    pub categories: Vec<C>,
    /// Name of the category for tickets that fit none or cannot be decided.
    pub no_category_name: String,
    /// The actions a ticket can lead to; at least one.
    pub actions: Vec<Action>,
    /// Name of the action if no rule applies.
    pub no_action_name: String,
    /// Name of the action for mails that programs send, such as bounces and out-of-office notes; `None` for
    /// `no_action_name`. Not written if `None`, so that components that were built before can read the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_reply: Option<String>,
    /// What tickets are sent to, as a language model reads it in its instructions: "a public office" if `None`. Not written
    /// if `None`, so that components that were built before can read the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub office: Option<String>,
    /// Note for clerks if no action is taken; may hold `{category}`, `{action}` and `{reason}`.
    #[serde(default)]
    pub no_action_internal_note: Option<String>,
    /// Rules that map categories to actions; the first rule of a category counts.
    #[serde(default)]
    pub action_rules: Vec<Rule>,
    /// Confidence required of a category without a threshold of its own, 0 to 1.
    #[serde(default = "default_threshold")]
    pub threshold: f32,
    /// Required lead of the first category over the second, 0 to 1.
    #[serde(default = "default_margin")]
    pub margin: f32,
    /// Maximum number of characters to classify; longer texts lose their middle.
    #[serde(default = "default_text_length")]
    pub max_user_text_length: u32,
    /// Selects rows of forms that arrive as tables.
    #[serde(default)]
    pub preparser: PreparserSettings,
}

impl<C> Settings<C> {
    /// Replaces each category.
    fn map_categories<D>(self, category: impl FnMut(C) -> D) -> Settings<D> {
        Settings {
            categories: self.categories.into_iter().map(category).collect(),
            no_category_name: self.no_category_name,
            actions: self.actions,
            no_action_name: self.no_action_name,
            auto_reply: self.auto_reply,
            office: self.office,
            no_action_internal_note: self.no_action_internal_note,
            action_rules: self.action_rules,
            threshold: self.threshold,
            margin: self.margin,
            max_user_text_length: self.max_user_text_length,
            preparser: self.preparser,
        }
    }
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

/// A category as written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CategorySettings {
    /// Its name.
    pub name: String,
    /// Whether answers in it may be published without a clerk.
    #[serde(default)]
    pub auto_publish: bool,
    /// A description; each line is an example for the default classifier.
    #[serde(default)]
    pub description: Option<String>,
    /// Labelled texts.
    #[serde(default)]
    pub examples: Vec<String>,
    /// Required confidence, 0 to 1; `None` for the common threshold.
    #[serde(default)]
    pub threshold: Option<f32>,
    /// Patterns of values to extract from its texts.
    #[serde(default)]
    pub extract: Vec<PatternSettings>,
}

/// Type of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ActionType {
    /// Generates an answer from the knowledge base.
    AIAnswer,
    /// Leaves the ticket to a clerk.
    NoAction,
    /// Sends the configured answer.
    StaticAnswer,
}

/// An action a ticket can lead to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ActionType,
    /// The answer of a `StaticAnswer`.
    #[serde(default)]
    pub answer: Option<String>,
}

/// A checked category.
#[derive(Debug, Clone)]
pub struct Category {
    /// Its name.
    pub name: String,
    /// Whether answers in it may be published without a clerk.
    pub auto_publish: bool,
    /// Required confidence.
    pub threshold: f32,
    /// Labelled texts, then the lines of the description.
    pub examples: Examples,
    /// Patterns of values to extract from its texts.
    pub extract: Vec<Pattern>,
}

/// A checked triage configuration: all names exist, all patterns compile.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// The ticket categories.
    pub categories: Vec<Category>,
    /// Index of the category for tickets that fit none.
    no_category: usize,
    /// The actions a ticket can lead to.
    pub actions: Vec<Action>,
    /// Index of the action if no rule applies.
    no_action: usize,
    /// Index of the action for mails that programs send, if it is another one.
    auto_reply: Option<usize>,
    /// What tickets are sent to, if configured.
    pub office: Option<String>,
    /// Note for clerks if no action is taken.
    no_action_internal_note: Option<String>,
    /// Rules that map categories to actions.
    pub action_rules: Vec<Rule>,
    /// Required lead of the first category over the second.
    pub margin: f32,
    /// Maximum number of characters to classify.
    pub max_user_text_length: usize,
    /// Selects rows of forms.
    pub preparser: PreparserSettings,
}

impl Configuration {
    /// Checks `settings`.
    ///
    /// # Errors
    ///
    /// Fails with all violations at once.
    pub fn new(settings: Settings) -> Result<Self, Invalid> {
        Self::with_gaps(settings, Gaps::default())
    }

    /// Checks `settings` whose reader could not read some names.
    ///
    /// # Errors
    ///
    /// Fails with all violations that do not follow from the `gaps`.
    pub fn with_gaps(settings: Settings, gaps: Gaps) -> Result<Self, Invalid> {
        check::check(settings, Pattern::new, gaps)
    }

    /// Reads and checks a configuration.
    ///
    /// # Errors
    ///
    /// Fails when `json` is not a configuration, or with all violations of the checks.
    pub fn from_json(json: &str) -> Result<Self, Invalid> {
        Self::new(serde_json::from_str(json).map_err(|error| Invalid::whole(error.to_string()))?)
    }

    /// Reads a configuration that the host has already checked. Examples are read and patterns compiled when first
    /// used, because a call needs those of one category only.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::from_json`] does, except for patterns that do not compile, which match nothing, and for examples
    /// that are not text, which are none.
    pub fn from_host(json: &str) -> Result<Self, Invalid> {
        checked::read(json)
    }

    /// Returns the category with this name.
    pub fn category(&self, name: &str) -> Option<&Category> {
        self.categories.iter().find(|category| category.name == name)
    }

    /// Returns the category for tickets that fit none.
    pub fn no_category(&self) -> Option<&Category> {
        self.categories.get(self.no_category)
    }

    /// Returns the action with this name, or the default action.
    pub fn action(&self, name: &str) -> Option<&Action> {
        self.actions.iter().find(|action| action.name == name).or_else(|| self.no_action())
    }

    /// Returns the action if no rule applies.
    pub fn no_action(&self) -> Option<&Action> {
        self.actions.get(self.no_action)
    }

    /// Returns the action for mails that programs send.
    pub fn auto_reply(&self) -> Option<&Action> {
        self.auto_reply.map_or_else(|| self.no_action(), |index| self.actions.get(index))
    }

    /// Returns the filled-in note for clerks if no action is taken.
    pub fn internal_note(&self, category: &str, action: &str, reason: &str) -> Option<String> {
        let template = self.no_action_internal_note.as_deref()?;
        note::fill(template, |placeholder| match placeholder {
            NotePlaceholder::Category => category,
            NotePlaceholder::Action => action,
            NotePlaceholder::Reason => reason,
        })
        .ok()
    }

    /// Returns the categories without examples or description, which the default strategy can never choose.
    pub fn without_examples(&self) -> impl Iterator<Item = &Category> {
        let no_category = self.no_category;
        let others = self.categories.iter().enumerate().filter(move |(index, _)| *index != no_category);
        others.map(|(_, category)| category).filter(|category| category.examples.is_empty())
    }
}
