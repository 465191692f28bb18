//! `bulkhead triage`: trains and evaluates ticket classifiers, and imports the configuration of zammad-ai.

mod evaluate;
mod import;
mod labels;
mod train;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use bulkhead_classifier::tickets::{self, Ticket};
use bulkhead_cli::{Configuration, make_data_folder};
use bulkhead_config::{Config, Flag, HostSpec};
use bulkhead_inference::model::Model;
use bulkhead_models::{
    config::{EmbeddingSettings, MODELS},
    load_options, models_dir,
};
use bulkhead_service::ServiceCommand;
use clap::Parser;

use crate::triage::Rules;

/// Train and evaluate ticket classifiers, or move to Bulkhead from zammad-ai.
#[derive(Debug, Parser)]
#[command(
    name = "triage",
    after_help = "Exit codes: 0 done; 1 failed, or a figure is lower than demanded; 2 wrong arguments."
)]
pub(super) enum Command {
    /// Train a classifier on labelled tickets and on the examples and descriptions of the triage configuration.
    Train(train::Train),
    /// Measure a classifier on labelled tickets.
    #[command(
        after_help = "Exit codes: 0 done; 1 failed, or the accuracy is lower than --fail-under; 2 wrong arguments."
    )]
    Evaluate(evaluate::Evaluate),
    /// Convert zammad-ai's YAML into a triage configuration on standard output. Keys that cannot be converted go to
    /// standard error.
    Import {
        /// The YAML file.
        file: PathBuf,
    },
}

/// Names the triage configuration, the embedding model and the data folder.
#[derive(Debug, clap::Args)]
struct TriageArgs {
    #[command(flatten)]
    configuration: Configuration,
    /// Folder with the folders `models` and `heads`.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Categories, actions and rules, as TOML or (with the ending `.json`) JSON.
    #[arg(long, value_name = "FILE")]
    triage: PathBuf,
    /// The embedding model: its name or id, or its folder [default: the first that is configured].
    #[arg(long)]
    model: Option<String>,
}

/// The embedding model, loaded, and the configuration that it was found in.
struct LoadedModel {
    config: Config,
    model_id: String,
    model: Model,
}

impl TriageArgs {
    /// Reads the triage configuration with its categories.
    fn categories(&self) -> anyhow::Result<bulkhead_triage_configuration::Configuration> {
        let rules = Rules::parse_file(&self.triage, &read(&self.triage)?)?;
        Ok(rules.configuration().clone())
    }

    /// Loads the embedding model.
    fn load(&self, spec: &HostSpec) -> anyhow::Result<LoadedModel> {
        let flag = self.data_dir.as_ref().map(|folder| Flag {
            name: "--data-dir".into(),
            path: "data_dir".into(),
            value: folder.display().to_string(),
        });
        let config = self.configuration.load(spec, flag.into_iter().collect())?.config;
        let models = models_dir(&config)?;
        let embedding: &EmbeddingSettings = config.table()?;
        let [default, ..] = MODELS;
        let wanted = self.model.as_deref().or(embedding.models.first().map(String::as_str));
        let resolved = bulkhead_sources::resolve(wanted.unwrap_or(default), &models)?;
        // Packed weights and heads are written there.
        make_data_folder(&config.data_dir)?;
        let model = Model::load(&resolved.folder, &load_options(embedding, &models))?;
        Ok(LoadedModel { config, model_id: resolved.id, model })
    }
}

impl ServiceCommand for Command {
    fn run(self, spec: &HostSpec) -> anyhow::Result<()> {
        match self {
            Self::Train(train) => train.run(spec),
            Self::Evaluate(evaluate) => evaluate.run(spec),
            Self::Import { file } => import::run(&file),
        }
    }
}

fn read(file: &Path) -> anyhow::Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Reads labelled tickets with their line numbers.
fn read_tickets(file: &Path) -> anyhow::Result<Vec<(usize, Ticket)>> {
    tickets::numbered(&read(file)?).with_context(|| format!("cannot use {}", file.display()))
}
