//! Opens the knowledge base that answers come from; brings one with `--demo`.

use std::{fs, path::Path, sync::Arc};

use anyhow::Context as _;
use bulkhead_config::secret::Secret;
use bulkhead_knowledge::{Embedder as _, Error, IgnoreProgress, ImportOptions, KnowledgeBase, Mode, Source};
use bulkhead_models::{Gate, Inference, metrics::InferenceMetrics};
use bulkhead_service::Context;

use crate::config::{Tickets, knowledge_url};
use crate::knowledge::{Knowledge, Prompted, config::KnowledgeDatabase};
use crate::spec::ANSWER;

/// What `--demo` answers from: a town hall's pages, one JSON object a line.
const DEMO: &str = include_str!("../demo/knowledge.jsonl");

/// The base, which need not be there: then every answer says so.
///
/// # Errors
/// When the base was embedded with another model than the one that is loaded, or is none.
pub(crate) async fn open(context: &Context) -> anyhow::Result<Arc<Knowledge>> {
    let (config, inference) = (&context.config, context.extensions.get::<Inference>());
    let tickets: &Tickets = config.table()?;
    let demo = config.demo && matches!(tickets.knowledge.url, KnowledgeDatabase::Embedded);
    let url = match demo {
        true => demonstration(context).await.context("cannot make the demonstration's knowledge base")?,
        false => knowledge_url(config)?,
    };
    let knowledge = Knowledge::new(url, inference.clone());
    let figures = context.metrics.set::<InferenceMetrics>()?.slot(ANSWER);
    let gate = Gate::new(context.slot(ANSWER)?, inference.clone(), figures);
    if let Some(reason) = knowledge.open(&gate).await? {
        let reason = lacking_model(inference.as_deref()).filter(|_| demo).unwrap_or(reason);
        tracing::warn!(reason, "tickets are not answered from a knowledge base");
    }
    Ok(Arc::new(knowledge))
}

/// Why the demonstration has no base, which it makes with the default model.
fn lacking_model(inference: Option<&Inference>) -> Option<String> {
    let Some(inference) = inference else { return Some("no embedding model is loaded".to_owned()) };
    let id = inference.default_id();
    let missing = inference.missing().iter().find(|missing| missing.id == id)?;
    Some(format!("the model `{id}` is not loaded: {}", missing.remedy))
}

/// Brings the demonstration's base up to date: embeds what is new in it, and nothing where nothing is.
async fn demonstration(context: &Context) -> anyhow::Result<Secret> {
    let folder = context.config.data_dir.join("demo");
    fs::create_dir_all(&folder)?;
    let (lines, base) = (folder.join("knowledge.jsonl"), folder.join("knowledge.sqlite"));
    let url = Secret::new(format!("sqlite:{}", base.display()));
    let Some(inference) = context.extensions.get::<Inference>() else { return Ok(url) };
    let Some(model) = inference.shared(inference.default_id()) else { return Ok(url) };
    write(&lines)?;
    let embedder = Prompted::for_passages(Arc::clone(&inference), model);
    let opened = match KnowledgeBase::open(url.expose(), Mode::Write).await {
        // An older program made it, of the same pages.
        Err(Error::Format { .. }) => {
            fs::remove_file(&base)?;
            KnowledgeBase::open(url.expose(), Mode::Write).await?
        }
        opened => opened?,
    };
    let reembed = opened.provenance().is_some_and(|recorded| recorded != embedder.provenance());
    let options = ImportOptions { name: Some("demo".to_owned()), reembed, ..ImportOptions::default() };
    let report = opened.import(Source::Lines(lines), &embedder, options, &IgnoreProgress).await?;
    tracing::info!(
        documents = report.documents,
        embedded = report.embedded,
        "the demonstration's knowledge base is ready"
    );
    Ok(url)
}

fn write(file: &Path) -> std::io::Result<()> {
    match fs::read_to_string(file) {
        Ok(text) if text == DEMO => Ok(()),
        _ => fs::write(file, DEMO),
    }
}
