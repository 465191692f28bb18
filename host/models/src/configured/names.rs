//! The names of models: canonical ids, aliases, segments of `/tei/{model_id}`, and the default model.

use std::{collections::BTreeMap, fmt::Write as _};

use bulkhead_sources::catalog;

/// Names that collide or name no model. Each message names the flag to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Two models with one id.
    #[error("two models have the id `{0}`; give each --model once, or rename one of the folders")]
    DuplicateId(String),
    /// An alias for an unknown model.
    #[error("--model-alias `{0}` names no model; use a value of --model: {1}")]
    UnknownAliasKey(String, String),
    /// One alias twice.
    #[error("--model-alias `{0}` is given twice; give it once")]
    DuplicateAlias(String),
    /// An alias that is the id of a model.
    #[error("--model-alias gives a model the name `{0}`, which is the id of a model; give it another name")]
    AliasIsId(String),
    /// Two models with one alias.
    #[error("models `{0}` and `{1}` would both be called `{2}`; give that --model-alias to one of them")]
    SameAlias(String, String, String),
    /// Two models under one path.
    #[error(
        "models `{0}` and `{1}` would both be served at /tei/{2}; give one of them another --model-alias"
    )]
    SamePath(String, String, String),
    /// A default prompt for an unknown model.
    #[error(
        "embedding.default_prompts names `{0}`, which is not a loaded model; use a value of --model: {1}"
    )]
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

/// The names of a model besides its id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelNames {
    /// Segments in `/tei/{model_id}`; the first is shown. Requests may give them as `model` too.
    pub segments: Vec<String>,
    /// Names for `model` alone: those with a slash.
    pub others: Vec<String>,
}

impl ModelNames {
    /// Returns all names.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().chain(&self.others).map(String::as_str)
    }
}

/// Returns the names of each model: its aliases, where none is a segment also the part of its id after the last `/`, and the
/// short name of a known model unless another model has that. `missing` are models that are configured but not loaded;
/// aliases for them are accepted.
///
/// # Errors
/// See [`NameError`].
pub fn model_names(
    models: &[ConfiguredModel<'_>],
    missing: &[ConfiguredModel<'_>],
    aliases: &[(String, String)],
) -> Result<Vec<ModelNames>, NameError> {
    for (index, model) in models.iter().enumerate() {
        if models.iter().take(index).any(|other| other.id == model.id) {
            return Err(NameError::DuplicateId(model.id.to_owned()));
        }
    }
    let mut names: Vec<ModelNames> = Vec::with_capacity(models.len());
    let mut derived = Vec::new();
    for (index, (model, given)) in models.iter().zip(given_aliases(models, missing, aliases)?).enumerate() {
        let (others, mut segments): (Vec<String>, Vec<String>) =
            given.into_iter().partition(|alias| alias.contains('/'));
        if let Some(alias) =
            others.iter().find(|alias| models.iter().chain(missing).any(|other| other.id == **alias))
        {
            return Err(NameError::AliasIsId(alias.clone()));
        }
        if segments.is_empty() {
            segments.push(model.id.rsplit('/').next().unwrap_or(model.id).to_owned());
            derived.push(index);
        }
        let own = ModelNames { segments, others };
        check_clash(model, &own, models.iter().zip(&names))?;
        names.push(own);
    }
    for index in derived {
        let short = models.get(index).and_then(|model| catalog::with_id(model.id)).map(|known| known.name);
        let Some(short) =
            short.filter(|short| !names.iter().any(|names| names.all().any(|name| name == *short)))
        else {
            continue;
        };
        if let Some(names) = names.get_mut(index) {
            names.segments.insert(0, short.to_owned());
        }
    }
    Ok(names)
}

/// Returns the configured aliases of each model.
fn given_aliases(
    models: &[ConfiguredModel<'_>],
    missing: &[ConfiguredModel<'_>],
    aliases: &[(String, String)],
) -> Result<Vec<Vec<String>>, NameError> {
    let mut given: Vec<Vec<String>> = vec![Vec::new(); models.len()];
    for (key, alias) in aliases {
        let named = models.iter().position(|model| model.value == key);
        match named.or_else(|| models.iter().position(|model| model.is(key))) {
            Some(found) => {
                let Some(aliases) = given.get_mut(found) else { continue };
                if aliases.contains(alias) {
                    return Err(NameError::DuplicateAlias(format!("{key}={alias}")));
                }
                aliases.push(alias.clone());
            }
            None if missing.iter().any(|model| model.is(key)) => {}
            None => {
                let known = list(models.iter().chain(missing).map(|model| model.value));
                return Err(NameError::UnknownAliasKey(key.clone(), known));
            }
        }
    }
    Ok(given)
}

/// Checks that no name of `own` is one of another model.
fn check_clash<'m>(
    model: &ConfiguredModel<'_>,
    own: &ModelNames,
    others: impl Iterator<Item = (&'m ConfiguredModel<'m>, &'m ModelNames)>,
) -> Result<(), NameError> {
    for (other, names) in others {
        let clash =
            |mine: &[String], theirs: &[String]| mine.iter().find(|name| theirs.contains(*name)).cloned();
        if let Some(segment) = clash(&own.segments, &names.segments) {
            return Err(NameError::SamePath(other.id.to_owned(), model.id.to_owned(), segment));
        }
        if let Some(alias) = clash(&own.others, &names.others) {
            return Err(NameError::SameAlias(other.id.to_owned(), model.id.to_owned(), alias));
        }
    }
    Ok(())
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

/// Checks that every default prompt is a prompt of its model. `models` are each with its names and prompts; default
/// prompts of missing models are accepted.
///
/// # Errors
/// See [`NameError`].
pub fn check_prompts(
    default_prompts: &BTreeMap<String, String>,
    models: &[(ConfiguredModel<'_>, &ModelNames, Vec<&str>)],
    missing: &[ConfiguredModel<'_>],
) -> Result<(), NameError> {
    for (name, prompt) in default_prompts {
        let model =
            models.iter().find(|(model, names, _)| model.is(name) || names.all().any(|other| other == name));
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

    /// Returns all names of each model.
    fn names(models: &[ConfiguredModel<'_>], aliases: &[(String, String)]) -> Vec<Vec<String>> {
        let names = model_names(models, &[MISSING], aliases).unwrap();
        names.iter().map(|names| names.all().map(str::to_owned).collect()).collect()
    }

    fn pulled(id: &str) -> ConfiguredModel<'_> {
        ConfiguredModel { value: id, id }
    }

    #[test]
    fn model_takes_several_aliases() {
        let given = pairs(&[("minishlab/potion", "a"), ("/m/potion", "org/b"), ("minishlab/potion", "c")]);
        assert_eq!(names(&[LOADED], &given), [["a", "c", "org/b"]]);
        // A name with a slash is not a segment of a path, so that the derived one stays.
        assert_eq!(names(&[LOADED], &pairs(&[("minishlab/potion", "org/b")])), [["potion", "org/b"]]);
        let models = [LOADED, pulled("org/other")];
        for (aliases, refused) in [
            (pairs(&[("minishlab/potion", "a"), ("/m/potion/", "a")]), "given twice"),
            (pairs(&[("minishlab/potion", "other")]), "/tei/other"),
            (pairs(&[("minishlab/potion", "org/other")]), "the id of a model"),
            (pairs(&[("minishlab/potion", "x/y"), ("org/other", "x/y")]), "both be called `x/y`"),
        ] {
            let error = model_names(&models, &[MISSING], &aliases).unwrap_err().to_string();
            assert!(error.contains(refused) && error.contains("--model-alias"), "{error}");
        }
    }

    #[test]
    fn short_name_is_the_originals_if_loaded() {
        let (repack, original) = (pulled(catalog::DEFAULT_MODEL), pulled("intfloat/multilingual-e5-small"));
        let both = ["multilingual-e5-small", "multilingual-e5-small-q4"];
        assert_eq!(names(&[repack], &[]), [both.to_vec()]);
        for order in [[repack, original], [original, repack]] {
            let found = model_names(&order, &[], &[]).unwrap();
            let of = |id: &str| order.iter().zip(&found).find(|(model, _)| model.id == id).unwrap().1.clone();
            assert_eq!(of(original.id).segments, ["multilingual-e5-small"]);
            assert_eq!(of(repack.id).segments, ["multilingual-e5-small-q4"]);
        }
        let named = pairs(&[(repack.id, "e5")]);
        assert_eq!(names(&[repack], &named), [["e5"]], "an alias replaces derived names");
    }

    #[test]
    fn missing_model_matches_value_and_id() {
        let values = [LOADED.value.to_owned(), MISSING.value.to_owned()];
        for name in ["/srv/gone", "/srv/gone/", "gone"] {
            let aliases = pairs(&[(name, "g")]);
            assert_eq!(names(&[LOADED], &aliases), [["potion"]], "{name}");
            assert_eq!(default_id(Some(name), &values, &[LOADED], &[MISSING]).unwrap(), "gone", "{name}");
        }
        // Without a name the first model is the default, loaded or not, and its path is not shown.
        let first_missing = [MISSING.value.to_owned(), LOADED.value.to_owned()];
        assert_eq!(default_id(None, &first_missing, &[LOADED], &[MISSING]).unwrap(), "gone");
        let unknown = default_id(Some("other"), &values, &[LOADED], &[MISSING]).unwrap_err();
        assert_eq!(unknown, NameError::UnknownDefault("other".into(), "/m/potion/, /srv/gone".into()));
        let unknown = model_names(&[LOADED], &[MISSING], &pairs(&[("other", "o")])).unwrap_err();
        assert_eq!(unknown, NameError::UnknownAliasKey("other".into(), "/m/potion/, /srv/gone".into()));
    }

    #[test]
    fn default_prompt_must_belong_to_its_model() {
        let names = ModelNames { segments: vec!["p".to_owned()], others: Vec::new() };
        let models = [(LOADED, &names, vec!["passage", "query"])];
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
