//! `bulkhead triage train`

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::Context as _;
use bulkhead_classifier::{pipeline::Pipeline, tickets::Ticket};
use bulkhead_triage_configuration::Configuration;
use bulkhead_triage_features::FeatureSettings;

use super::{Loaded, Place, labels, read_tickets};
use crate::{cli::output, distribution::Distribution, services::tickets::config::HEAD};

/// Folder of heads in the data folder.
const HEADS_DIR: &str = "heads";
/// The prompt that tickets are embedded with.
const PROMPT: &str = "query";
/// Columns of sparse features, 2 to the power of this: few collisions among the words of some ten thousand tickets.
const FEATURE_BITS: u8 = 18;

/// Trains a head.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Train {
    #[command(flatten)]
    place: Place,
    /// Labelled tickets: a line each, `{"text": ..., "category": ...}`.
    data: Option<PathBuf>,
    /// Name of the head: small letters, digits, and after the first also dots, dashes and underscores.
    #[arg(long, default_value = HEAD, value_parser = head_name)]
    name: String,
    /// The model's prompt that is put before each text [default: query, where the model has it].
    #[arg(long)]
    prompt: Option<String>,
    /// Leave tickets of a category that is not configured out.
    #[arg(long)]
    allow_unknown: bool,
    /// Learn words as well as meanings: better with thousands of tickets, worse with few.
    #[arg(long)]
    words: bool,
}

impl Train {
    pub(super) fn run(self, distribution: &Distribution) -> anyhow::Result<()> {
        let categories = self.place.categories()?;
        let tickets = self.tickets(&categories)?;
        let Loaded { config, model_id, model } = self.place.load(distribution)?;
        let prompt = prompt(self.prompt.as_deref(), &model.description().prompts)?;
        let features =
            self.words.then(|| FeatureSettings { words: 1, ..FeatureSettings::words_only(FEATURE_BITS) });
        let pipeline =
            Pipeline { model: &model, model_id: &model_id, prompt, features, configuration: &categories };
        let trained = pipeline.train(&tickets)?;
        for (category, examples) in &trained.examples {
            output::aside(format_args!("{examples:6} examples of {category}"));
        }
        for category in categories.without_examples().filter(|c| !trained.examples.contains_key(&c.name)) {
            output::aside(format_args!("    no examples of {}: it will never be chosen", category.name));
        }
        for candidate in &trained.candidates {
            let (accuracy, settings) = (candidate.accuracy, &candidate.settings);
            output::aside(format_args!("{accuracy:.4} of held-out examples right {settings}"));
        }
        let folder = config.data_dir.join(HEADS_DIR);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let file = folder.join(format!("{}.safetensors", self.name));
        trained.head.write(&file)?;
        // In quotes, for a name with a dot is two keys without.
        output::line(format_args!(
            "\n[embedding.heads]\n{:?} = {:?}",
            self.name,
            file.display().to_string()
        ))?;
        if self.name != HEAD {
            output::line(format_args!("\n[tickets]\nhead = {:?}", self.name))?;
        }
        Ok(())
    }

    fn tickets(&self, categories: &Configuration) -> anyhow::Result<Vec<Ticket>> {
        let Some(file) = &self.data else { return Ok(Vec::new()) };
        let tickets = read_tickets(file)?;
        if !self.allow_unknown {
            let known: Vec<&str> = labels::of(categories).collect();
            labels::check(file, &tickets, &known)?;
        }
        Ok(tickets.into_iter().map(|(_, ticket)| ticket).collect())
    }
}

/// Reads the name of a head, which becomes that of a file.
fn head_name(text: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let good = text.bytes().next().is_some_and(plain)
        && text.bytes().all(|byte| plain(byte) || b"._-".contains(&byte));
    match good {
        true => Ok(text.to_owned()),
        false => Err("a head's name is a small letter or a digit, then more of these, dots, dashes and \
                      underscores"
            .to_owned()),
    }
}

/// The prompt that is put before each text: what was asked for, which the model must have, else the usual one.
fn prompt<'p>(asked: Option<&'p str>, prompts: &BTreeMap<String, String>) -> anyhow::Result<Option<&'p str>> {
    let Some(name) = asked else {
        return Ok(prompts.contains_key(PROMPT).then_some(PROMPT));
    };
    if prompts.contains_key(name) {
        return Ok(Some(name));
    }
    let known: Vec<&str> = prompts.keys().map(String::as_str).collect();
    match known.is_empty() {
        true => anyhow::bail!("the model has no prompts; leave --prompt out"),
        false => anyhow::bail!("the model has no prompt {name:?}; it has {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_head_is_a_file_in_its_folder() {
        for name in ["triage", "2", "a.b", "tickets-2026_v1.2"] {
            assert_eq!(head_name(name).unwrap(), name);
        }
        for name in ["", ".", "..", "../../evil", "a/b", "/a", "a\\b", "-a", "A", "ä", "a b", "a\n"] {
            assert!(head_name(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_prompt_that_is_asked_for_must_be_there() {
        let prompts = |names: &[&str]| -> BTreeMap<String, String> {
            names.iter().map(|name| ((*name).to_owned(), String::new())).collect()
        };
        let both = prompts(&["passage", "query"]);
        assert_eq!(prompt(None, &both).unwrap(), Some("query"));
        assert_eq!(prompt(Some("passage"), &both).unwrap(), Some("passage"));
        assert_eq!(prompt(None, &prompts(&["passage"])).unwrap(), None);
        let error = prompt(Some("foo"), &both).unwrap_err().to_string();
        assert_eq!(error, "the model has no prompt \"foo\"; it has passage, query");
        assert!(prompt(Some("query"), &prompts(&[])).unwrap_err().to_string().contains("has no prompts"));
    }
}
