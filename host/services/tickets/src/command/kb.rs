//! `bulkhead kb`: fills, searches and evaluates the knowledge base that tickets are answered from.

mod evaluate;
mod import;
mod info;
mod progress;
mod question;
mod remove;
mod search;

use std::{path::PathBuf, sync::Arc};

use bulkhead_cli::{Configuration, make_data_folder};
use bulkhead_config::{Config, Flag, HostSpec};
use bulkhead_knowledge::{KnowledgeBase, Mode};
use bulkhead_models::{
    Inference, ServedModel,
    config::{EmbeddingSettings, MODELS},
    models_dir,
};
use bulkhead_service::ServiceCommand;
use bulkhead_telemetry::Metrics;
use clap::Parser;

use crate::config::{TicketSettings, knowledge_url};
use crate::knowledge::{HostReranker, reranking_model};

/// Fill, search and evaluate the knowledge base that tickets are answered from.
#[derive(Debug, Parser)]
#[command(
    name = "kb",
    after_help = "Exit codes: 0 done; 1 failed, or a figure is lower than demanded; 2 wrong arguments."
)]
pub(super) enum Command {
    /// Make the knowledge base match a source: new documents are embedded, deleted ones removed. A host that serves from
    /// the base notices the change.
    Import(import::Import),
    /// Show the passages of the knowledge base on a question, and how relevant each is.
    Search(search::Search),
    /// Measure the search on questions whose answers are known.
    #[command(
        after_help = "Exit codes: 0 done; 1 failed, or a figure is lower than --fail-under-recall or --fail-under-precision; \
                      2 wrong arguments."
    )]
    Evaluate(evaluate::Evaluate),
    /// Remove a source with all of its documents. A host that serves from the base notices the change.
    Remove(remove::Remove),
    /// Show what the knowledge base holds and which model it was embedded with.
    Info(info::Info),
}

/// Names the knowledge base and the folder of models.
#[derive(Debug, clap::Args)]
struct KnowledgeArgs {
    #[command(flatten)]
    configuration: Configuration,
    /// Folder with the folder `models`, and with the base unless a URL names another.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// The knowledge base: sqlite:PATH, or postgres://user@host/name [default: tickets.knowledge.url].
    #[arg(long, value_name = "URL")]
    base: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl KnowledgeArgs {
    fn config(&self, spec: &HostSpec) -> anyhow::Result<Config> {
        let folder = self.data_dir.as_ref().map(|folder| folder.display().to_string());
        let values =
            [("--data-dir", "data_dir", folder), ("--base", "tickets.knowledge.url", self.base.clone())];
        let flags = values.into_iter().filter_map(|(name, path, value)| {
            Some(Flag { name: name.into(), path: path.into(), value: value? })
        });
        Ok(self.configuration.load(spec, flags.collect())?.config)
    }
}

impl ServiceCommand for Command {
    fn run(self, spec: &HostSpec) -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            match self {
                Self::Import(import) => import.run(spec).await,
                Self::Search(search) => search.run(spec).await,
                Self::Evaluate(evaluate) => evaluate.run(spec).await,
                Self::Remove(remove) => remove.run(spec).await,
                Self::Info(info) => info.run(spec).await,
            }
        })
    }
}

/// Opens the knowledge base of a configuration.
async fn open(config: &Config, mode: Mode) -> anyhow::Result<KnowledgeBase> {
    Ok(KnowledgeBase::open(knowledge_url(config)?.expose(), mode).await?)
}

/// Loads one model, the first that is configured if there is no name, and starts threads to embed with.
fn load_model(config: &Config, name: Option<&str>) -> anyhow::Result<(Arc<Inference>, Arc<ServedModel>)> {
    let [default, ..] = MODELS;
    let embedding: &EmbeddingSettings = config.table()?;
    let first = embedding.default_model.as_deref().or(embedding.models.first().map(String::as_str));
    let mut settings = embedding.clone();
    let asked = name.or(first).unwrap_or(default);
    settings.models = vec![asked.to_owned()];
    settings.default_model = None;
    settings.heads.clear();
    settings.graphs.clear();
    settings.aliases.clear();
    settings.default_prompts.clear();
    settings.default_prompt = None;
    let inference = start(config, &settings)?;
    match inference.shared(inference.default_id()) {
        Some(model) => Ok((inference, model)),
        None => {
            let missing = inference.missing().first();
            let remedy = missing.map_or("name it in embedding.models", |missing| missing.remedy.as_str());
            anyhow::bail!("there is no model `{asked}`: {remedy}")
        }
    }
}

/// Loads the configured model that orders what is found, if there is one, and starts threads for it.
fn load_reranker(config: &Config) -> anyhow::Result<Option<HostReranker>> {
    let tickets: &TicketSettings = config.table()?;
    let Some(name) = &tickets.knowledge.reranker else { return Ok(None) };
    // All models: their configuration may give it this name.
    let mut settings = config.table::<EmbeddingSettings>()?.clone();
    settings.heads.clear();
    settings.graphs.clear();
    let inference = start(config, &settings)?;
    let model = reranking_model(Some(&inference), name)?;
    Ok(Some(HostReranker { inference, model }))
}

/// Loads the models of `settings` and starts their threads.
fn start(config: &Config, settings: &EmbeddingSettings) -> anyhow::Result<Arc<Inference>> {
    // Packed weights are written there, and the base may be there, too.
    make_data_folder(&config.data_dir)?;
    let metrics = Metrics::new(config.data_dir.clone(), [])?.set()?;
    Ok(Arc::new(Inference::start(settings, &models_dir(config)?, metrics)?))
}
