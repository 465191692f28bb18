//! The names of models: canonical ids, aliases, the segment of `/tei/{model_id}`, and which is the default.

use std::fmt::Write as _;

/// Names that clash, or that name nothing. Each message names the flag that mends it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Two models with one id.
    #[error("two models have the id `{0}`; give each --model once, or rename one of the folders")]
    DuplicateId(String),
    /// An alias for nothing.
    #[error("--model-alias `{0}` names no model; use a value of --model: {1}")]
    UnknownKey(String, String),
    /// One key twice.
    #[error("--model-alias `{0}` is given twice; give it once")]
    DuplicateKey(String),
    /// One model with two aliases.
    #[error("model `{0}` has several aliases ({1}); give one --model-alias for it")]
    SeveralAliases(String, String),
    /// Two models under one path.
    #[error("models `{0}` and `{1}` would both be served at /tei/{2}; tell them apart with --model-alias")]
    SamePath(String, String, String),
    /// The default is none of the models.
    #[error("--default-model `{0}` is none of the models; use a value of --model: {1}")]
    UnknownDefault(String, String),
}

/// A model as it was configured, and its canonical id.
#[derive(Clone, Copy, Debug)]
pub struct Configured<'a> {
    pub value: &'a str,
    pub id: &'a str,
}

fn list<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for value in values {
        let _ = write!(text, "{}{value}", if text.is_empty() { "" } else { ", " });
    }
    text
}

/// The segment of each model in `/tei/{model_id}`: its alias, else what follows the last `/` of its id. `missing` are
/// the ids of models that are configured and not loaded; an alias for one of them is kept for later.
///
/// # Errors
/// See [`NameError`].
pub fn path_names(
    models: &[Configured<'_>],
    missing: &[&str],
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
            return Err(NameError::DuplicateKey(key.clone()));
        }
        let named = models.iter().position(|model| model.value == key);
        match named.or_else(|| models.iter().position(|model| model.id == key)) {
            Some(found) => {
                if let Some(aliases) = given.get_mut(found) {
                    aliases.push(alias);
                }
            }
            None if missing.contains(&key.as_str()) => {}
            None => {
                return Err(NameError::UnknownKey(key.clone(), list(models.iter().map(|model| model.value))));
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

/// The default model's id: the one that is named, else the first that is configured, whether it is loaded or not.
///
/// # Errors
/// When the named one is not configured.
pub fn default_id(
    named: Option<&str>,
    values: &[String],
    models: &[Configured<'_>],
    missing: &[&str],
) -> Result<String, NameError> {
    let value = match named {
        Some(named) => named,
        None => values.first().map_or("", String::as_str),
    };
    let same = |a: &str, b: &str| a.trim_end_matches('/') == b.trim_end_matches('/');
    let loaded = models.iter().find(|model| model.id == value || same(model.value, value));
    let absent = missing.iter().find(|id| same(id, value));
    match (loaded, absent) {
        (Some(model), _) => Ok(model.id.to_owned()),
        (None, Some(id)) => Ok((*id).to_owned()),
        (None, None) if named.is_none() => Ok(value.to_owned()),
        (None, None) => {
            Err(NameError::UnknownDefault(value.to_owned(), list(values.iter().map(String::as_str))))
        }
    }
}
