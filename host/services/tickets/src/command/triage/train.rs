//! `bulkhead triage train`: trains a ticket classifier.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::Context as _;
use bulkhead_classifier::{pipeline::Pipeline, tickets::Ticket};
use bulkhead_cli::{output, share};
use bulkhead_config::HostSpec;
use bulkhead_triage_configuration::Configuration;
use bulkhead_triage_features::FeatureSettings;

use super::{LoadedModel, TriageArgs, labels, read_tickets};
use crate::config::{HEAD, TicketSettings};

/// Folder of classifier heads, in the data folder.
const HEADS_DIR: &str = "heads";
/// The prompt that tickets are embedded with.
const PROMPT: &str = "query";
/// Binary logarithm of the columns of sparse features: few collisions among the words of some ten thousand tickets.
const FEATURE_BITS: u8 = 18;

/// Arguments of `bulkhead triage train`.
#[derive(Debug, clap::Args)]
pub(in crate::command) struct Train {
    #[command(flatten)]
    args: TriageArgs,
    /// Labelled tickets, a JSON object a line: `{"text": ..., "category": ...}`.
    data: Option<PathBuf>,
    /// Name of the head: lower-case letters and digits, and after the first character also dots, dashes and underscores.
    #[arg(long, default_value = HEAD, value_parser = head_name)]
    name: String,
    /// Name of the model's prompt that is put before each text [default: query, if the model has it].
    #[arg(long)]
    prompt: Option<String>,
    /// Leave out tickets of an unknown category.
    #[arg(long)]
    allow_unknown: bool,
    /// Learn from words as well as from embeddings: better with thousands of tickets, worse with few.
    #[arg(long)]
    words: bool,
    /// Fail, and write no head, if the expected calibration error of held-out examples is higher, 0 to 1.
    #[arg(long, value_name = "ERROR", value_parser = share)]
    fail_over_error: Option<f64>,
}

impl Train {
    pub(super) fn run(self, spec: &HostSpec) -> anyhow::Result<()> {
        let categories = self.args.categories()?;
        let tickets = self.tickets(&categories)?;
        let LoadedModel { config, model_id, model } = self.args.load(spec)?;
        let prompt = prompt(self.prompt.as_deref(), &model.description().prompts)?;
        let features =
            self.words.then(|| FeatureSettings { words: 1, ..FeatureSettings::words_only(FEATURE_BITS) });
        let settings: &TicketSettings = config.table()?;
        let pipeline = Pipeline {
            model: &model,
            model_id: &model_id,
            prompt,
            features,
            configuration: &categories,
            background: settings.background,
        };
        let trained = pipeline.train(&tickets)?;
        for (category, examples) in &trained.examples {
            output::stderr_line(format_args!("{examples:6} examples of {category}"));
        }
        for category in categories.without_examples().filter(|c| !trained.examples.contains_key(&c.name)) {
            output::stderr_line(format_args!(
                "    no examples of {}: it will never be chosen",
                category.name
            ));
        }
        for candidate in &trained.candidates {
            let (accuracy, settings) = (candidate.accuracy, &candidate.settings);
            output::stderr_line(format_args!("{accuracy:.4} of held-out examples right {settings}"));
        }
        if settings.background {
            output::stderr_line(format_args!("{:6} built-in texts of no category", trained.background));
        }
        let (accuracy, error) = (trained.accuracy, trained.calibration_error);
        output::stderr_line(format_args!(
            "{accuracy:.4} of held-out examples right in all, expected calibration error {error:.4}"
        ));
        if let Some(most) = self.fail_over_error
            && error > most
        {
            anyhow::bail!("the expected calibration error is {error:.4}, it must be at most {most}");
        }
        let folder = config.data_dir.join(HEADS_DIR);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let file = folder.join(format!("{}.safetensors", self.name));
        trained.head.write(&file)?;
        // In quotes, because a name with a dot would be two keys.
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

    /// Reads the labelled tickets, and checks their categories.
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
        false => {
            Err("a head's name is a lower-case letter or a digit, then more of these, dots, dashes and \
                      underscores"
                .to_owned())
        }
    }
}

/// Returns the name of the prompt that is put before each text: the one that was asked for, which the model must have,
/// else the usual one, if the model has it.
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
    fn head_name_is_one_file_name() {
        for name in ["triage", "2", "a.b", "tickets-2026_v1.2"] {
            assert_eq!(head_name(name).unwrap(), name);
        }
        for name in ["", ".", "..", "../../evil", "a/b", "/a", "a\\b", "-a", "A", "ä", "a b", "a\n"] {
            assert!(head_name(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn requested_prompt_must_exist() {
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
