//! The names of models: canonical ids, aliases, segments of `/tei/{model_id}`, and the default model.

use std::{collections::BTreeMap, fmt::Write as _};

/// Names that collide or name no model. Each message names the flag to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Two models with one id.
    #[error("two models have the id `{0}`; give each --model once, or rename one of the folders")]
    DuplicateId(String),
    /// An alias for an unknown model.
    #[error("--model-alias `{0}` names no model; use a value of --model: {1}")]
    UnknownAliasKey(String, String),
    /// One key twice.
    #[error("--model-alias `{0}` is given twice; give it once")]
    DuplicateAlias(String),
    /// One model with two aliases.
    #[error("model `{0}` has several aliases ({1}); give one --model-alias for it")]
    SeveralAliases(String, String),
    /// Two models under one path.
    #[error(
        "models `{0}` and `{1}` would both be served at /tei/{2}; give one of them another --model-alias"
    )]
    SamePath(String, String, String),
    /// A default prompt for an unknown model.
    #[error("embedding.default_prompts names `{0}`, which is no model; use a value of --model: {1}")]
    PromptOfUnknownModel(String, String),
    /// A default prompt that the model does not have.
    #[error("embedding.default_prompts gives `{0}` the prompt `{1}`, which it does not have; it has {2}")]
    UnknownPrompt(String, String, String),
    /// The default names no model.
    #[error("--default-model `{0}` names no model; use a value of --model: {1}")]
    UnknownDefault(String, String),
}

/// A model's configured value and its canonical id.
#[derive(Clone, Copy, Debug)]
pub struct ConfiguredModel<'a> {
    pub value: &'a str,
    pub id: &'a str,
}

impl ConfiguredModel<'_> {
    /// Checks whether a setting names this model.
    fn is(&self, name: &str) -> bool {
        let bare = |path: &str| path.trim_start_matches("./").trim_end_matches('/').to_owned();
        self.id == name || bare(self.value) == bare(name)
    }
}

/// Joins values with commas.
fn list<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for value in values {
        let _ = write!(text, "{}{value}", if text.is_empty() { "" } else { ", " });
    }
    text
}

/// Returns the segment of each model in `/tei/{model_id}`: its alias, else the part of its id after the last `/`. `missing`
/// are models that are configured but not loaded; aliases for them are accepted.
///
/// # Errors
/// See [`NameError`].
pub fn path_names(
    models: &[ConfiguredModel<'_>],
    missing: &[ConfiguredModel<'_>],
    aliases: &[(String, String)],
) -> Result<Vec<String>, NameError> {
    for (index, model) in models.iter().enumerate() {
        if models.iter().take(index).any(|other| other.id == model.id) {
            return Err(NameError::DuplicateId(model.id.to_owned()));
        }
    }
    let mut given: Vec<Vec<&str>> = vec![Vec::new(); models.len()];
    for (index, (key, alias)) in aliases.iter().enumerate() {
        if aliases.iter().take(index).any(|(other, _)| other == key) {
            return Err(NameError::DuplicateAlias(key.clone()));
        }
        let named = models.iter().position(|model| model.value == key);
        match named.or_else(|| models.iter().position(|model| model.is(key))) {
            Some(found) => {
                if let Some(aliases) = given.get_mut(found) {
                    aliases.push(alias);
                }
            }
            None if missing.iter().any(|model| model.is(key)) => {}
            None => {
                let known = list(models.iter().chain(missing).map(|model| model.value));
                return Err(NameError::UnknownAliasKey(key.clone(), known));
            }
        }
    }
    let mut names: Vec<String> = Vec::with_capacity(models.len());
    for (model, aliases) in models.iter().zip(&given) {
        let name = match aliases.as_slice() {
            [] => model.id.rsplit('/').next().unwrap_or(model.id),
            [alias] => alias,
            several => {
                let several = list(several.iter().copied());
                return Err(NameError::SeveralAliases(model.id.to_owned(), several));
            }
        };
        if let Some(clash) = names.iter().position(|other| other == name) {
            let other = models.get(clash).map_or("", |model| model.id);
            return Err(NameError::SamePath(other.to_owned(), model.id.to_owned(), name.to_owned()));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

/// Returns the id of the default model: the named one, else the first configured one, loaded or not.
///
/// # Errors
/// When the named one is not configured.
pub fn default_id(
    named: Option<&str>,
    values: &[String],
    models: &[ConfiguredModel<'_>],
    missing: &[ConfiguredModel<'_>],
) -> Result<String, NameError> {
    let value = match named {
        Some(named) => named,
        None => values.first().map_or("", String::as_str),
    };
    let loaded = models.iter().find(|model| model.is(value));
    match loaded.or_else(|| missing.iter().find(|model| model.is(value))) {
        Some(model) => Ok(model.id.to_owned()),
        None if named.is_none() => Ok(value.to_owned()),
        None => Err(NameError::UnknownDefault(value.to_owned(), list(values.iter().map(String::as_str)))),
    }
}

/// Checks that every default prompt is a prompt of its model. `models` are each with its path name and prompts; default
/// prompts of missing models are accepted.
///
/// # Errors
/// See [`NameError`].
pub fn check_prompts(
    default_prompts: &BTreeMap<String, String>,
    models: &[(ConfiguredModel<'_>, &str, Vec<&str>)],
    missing: &[ConfiguredModel<'_>],
) -> Result<(), NameError> {
    for (name, prompt) in default_prompts {
        let model = models.iter().find(|(model, path_name, _)| model.is(name) || path_name == name);
        match model {
            Some((_, _, prompts)) if prompts.contains(&prompt.as_str()) => {}
            Some((model, _, prompts)) => {
                let known =
                    if prompts.is_empty() { "none".to_owned() } else { list(prompts.iter().copied()) };
                return Err(NameError::UnknownPrompt(model.id.to_owned(), prompt.clone(), known));
            }
            None if missing.iter().any(|model| model.is(name)) => {}
            None => {
                let known = list(models.iter().map(|(model, ..)| model.value));
                return Err(NameError::PromptOfUnknownModel(name.clone(), known));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const LOADED: ConfiguredModel<'_> = ConfiguredModel { value: "/m/potion/", id: "minishlab/potion" };
    const MISSING: ConfiguredModel<'_> = ConfiguredModel { value: "/srv/gone", id: "gone" };

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn missing_model_matches_value_and_id() {
        let values = [LOADED.value.to_owned(), MISSING.value.to_owned()];
        for name in ["/srv/gone", "/srv/gone/", "gone"] {
            let aliases = pairs(&[(name, "g")]);
            assert_eq!(path_names(&[LOADED], &[MISSING], &aliases).unwrap(), ["potion"], "{name}");
            assert_eq!(default_id(Some(name), &values, &[LOADED], &[MISSING]).unwrap(), "gone", "{name}");
        }
        // Without a name the first model is the default, loaded or not, and its path is not shown.
        let first_missing = [MISSING.value.to_owned(), LOADED.value.to_owned()];
        assert_eq!(default_id(None, &first_missing, &[LOADED], &[MISSING]).unwrap(), "gone");
        let unknown = default_id(Some("other"), &values, &[LOADED], &[MISSING]).unwrap_err();
        assert_eq!(unknown, NameError::UnknownDefault("other".into(), "/m/potion/, /srv/gone".into()));
        let unknown = path_names(&[LOADED], &[MISSING], &pairs(&[("other", "o")])).unwrap_err();
        assert_eq!(unknown, NameError::UnknownAliasKey("other".into(), "/m/potion/, /srv/gone".into()));
    }

    #[test]
    fn default_prompt_must_belong_to_its_model() {
        let models = [(LOADED, "p", vec!["passage", "query"])];
        let check = |model: &str, prompt: &str| {
            check_prompts(&pairs(&[(model, prompt)]).into_iter().collect(), &models, &[MISSING])
        };
        for model in ["minishlab/potion", "/m/potion", "p"] {
            assert_eq!(check(model, "query"), Ok(()), "{model}");
        }
        assert_eq!(check("gone", "anything"), Ok(()));
        let known = "passage, query".to_owned();
        let id = LOADED.id.to_owned();
        assert_eq!(check("p", "Query"), Err(NameError::UnknownPrompt(id, "Query".into(), known)));
        let named = NameError::PromptOfUnknownModel("nope".into(), "/m/potion/".into());
        assert_eq!(check("nope", "query"), Err(named));
    }
}
