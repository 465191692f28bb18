//! `bulkhead triage`: making classifiers and looking at what they are worth.

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
use bulkhead_inference::{model::Model, source};
use clap::Parser;

use super::{Configuration, make_data_folder};
use crate::{
    config::{Config, Flag},
    distribution::{Distribution, ServiceCommand},
    inference::{
        config::{EmbeddingSettings, MODELS},
        load_options, models_dir,
    },
    services::triage::Rules,
};

/// Train and judge ticket classifiers, or move to Bulkhead from zammad-ai.
#[derive(Debug, Parser)]
#[command(name = "triage")]
pub(super) enum Command {
    /// Train a classifier on labelled tickets and on the examples and descriptions of the triage configuration.
    Train(train::Train),
    /// Say what a classifier is worth on labelled tickets.
    Evaluate(evaluate::Evaluate),
    /// Turn zammad-ai's YAML into a triage configuration on standard output; what cannot be carried over goes to
    /// standard error.
    Import {
        /// The YAML file.
        file: PathBuf,
    },
}

/// What texts are turned into rows with.
#[derive(Debug, clap::Args)]
struct Place {
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

/// What a course is held with, loaded.
struct Loaded {
    config: Config,
    model_id: String,
    model: Model,
}

impl Place {
    fn categories(&self) -> anyhow::Result<bulkhead_triage_configuration::Configuration> {
        let rules = Rules::parse_file(&self.triage, &read(&self.triage)?)?;
        Ok(rules.configuration().clone())
    }

    fn load(&self, distribution: &Distribution) -> anyhow::Result<Loaded> {
        let flag = self.data_dir.as_ref().map(|folder| Flag {
            name: "--data-dir".into(),
            path: "data_dir".into(),
            value: folder.display().to_string(),
        });
        let config = self.configuration.load(distribution, flag.into_iter().collect())?.config;
        let models = models_dir(&config)?;
        let embedding: &EmbeddingSettings = config.table()?;
        let [default, ..] = MODELS;
        let wanted = self.model.as_deref().or(embedding.models.first().map(String::as_str));
        let resolved = source::resolve(wanted.unwrap_or(default), &models)?;
        // Weights are packed there, and heads written.
        make_data_folder(&config.data_dir);
        let model = Model::load(&resolved.folder, &load_options(embedding, &models))?;
        Ok(Loaded { config, model_id: resolved.id, model })
    }
}

impl ServiceCommand for Command {
    fn run(self, distribution: &Distribution) -> anyhow::Result<()> {
        match self {
            Self::Train(train) => train.run(distribution),
            Self::Evaluate(evaluate) => evaluate.run(distribution),
            Self::Import { file } => import::run(&file),
        }
    }
}

fn read(file: &Path) -> anyhow::Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Labelled tickets with their lines.
fn read_tickets(file: &Path) -> anyhow::Result<Vec<(usize, Ticket)>> {
    tickets::numbered(&read(file)?).with_context(|| format!("cannot use {}", file.display()))
}
