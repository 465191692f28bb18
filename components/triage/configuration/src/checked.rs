//! Reads a configuration that the host has checked, without the examples of its categories.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::check::{self, Gaps};
use super::{CategorySettings, Configuration, Examples, Invalid, Settings};
use crate::pattern::{Pattern, PatternSettings};

/// A category whose examples are not read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckedCategory {
    name: String,
    #[serde(default)]
    auto_publish: bool,
    #[serde(default)]
    description: Option<Box<RawValue>>,
    #[serde(default)]
    examples: Option<Box<RawValue>>,
    #[serde(default)]
    threshold: Option<f32>,
    #[serde(default)]
    extract: Vec<PatternSettings>,
}

/// Reads a configuration and checks what is read of it.
pub(super) fn read(json: &str) -> Result<Configuration, Invalid> {
    let settings: Settings<CheckedCategory> =
        serde_json::from_str(json).map_err(|error| Invalid::whole(error.to_string()))?;
    let mut unread = Vec::new();
    let settings = settings.map_categories(|category| {
        let CheckedCategory { name, auto_publish, description, examples, threshold, extract } = category;
        unread.push(Examples::checked(examples, description));
        CategorySettings { name, auto_publish, threshold, extract, ..CategorySettings::default() }
    });
    let compile = |pattern| Ok(Pattern::checked(pattern));
    let mut configuration = check::check(settings, compile, Gaps::default())?;
    for (category, examples) in configuration.categories.iter_mut().zip(unread) {
        category.examples = examples;
    }
    Ok(configuration)
}
