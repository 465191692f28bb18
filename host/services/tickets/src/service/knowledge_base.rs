//! Opens the knowledge base of a host, and creates that of `--demo`.

use std::{fs, path::Path, sync::Arc, time::Duration};

use anyhow::Context as _;
use bulkhead_config::secret::Secret;
use bulkhead_knowledge::{Embedder as _, Error, IgnoreProgress, ImportOptions, KnowledgeBase, Mode, Source};
use bulkhead_models::{Inference, ServedModel, SlotModelAccess, metrics::InferenceMetrics};
use bulkhead_service::ServiceContext;

use crate::config::{TicketSettings, knowledge_url};
use crate::knowledge::{
    Knowledge, PromptEmbedder, RerankerError, config::KnowledgeDatabase, reranking_model,
};
use crate::spec::ANSWER;

/// The documents of `--demo`: a town hall's pages, one JSON object per line.
const DEMO: &str = include_str!("../demo/knowledge.jsonl");

/// The check of a base that cannot be read, in the readiness report.
const CHECK: &str = "knowledge base";
/// Time between two attempts to read it.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// Opens the configured knowledge base. Where it does not exist yet or cannot be read, every answer reports that.
///
/// # Errors
/// When the base was embedded with another model than the loaded one, or the model that is to order what is found
/// ranks no texts.
pub(crate) async fn open(context: &ServiceContext) -> anyhow::Result<Arc<Knowledge>> {
    let (config, inference) = (&context.config, context.extensions.get::<Inference>());
    let tickets: &TicketSettings = config.table()?;
    let demo = config.demo && matches!(tickets.knowledge.url, KnowledgeDatabase::Embedded);
    let url = match demo {
        true => prepare_demo(context).await.context("cannot make the demonstration's knowledge base")?,
        false => knowledge_url(config)?,
    };
    let name = tickets.knowledge.reranker.as_deref();
    let reranker = name.map(|name| reranker(inference.as_deref(), name)).transpose()?.flatten();
    let metrics = context.metrics.set::<InferenceMetrics>()?.slot(ANSWER);
    let access = SlotModelAccess::new(context.slot(ANSWER)?, inference.clone(), metrics);
    if let Some(model) = &reranker {
        access.init_metrics(model);
    }
    let knowledge = Knowledge::new(url, inference.clone(), reranker);
    if let Some(reason) = knowledge.open(&access).await? {
        let reason = missing_model_reason(inference.as_deref()).filter(|_| demo).unwrap_or(reason);
        tracing::warn!(reason, "tickets are not answered from a knowledge base");
    }
    let knowledge = Arc::new(knowledge);
    if knowledge.is_unreadable().await {
        report_unreadable(context, &knowledge);
    }
    Ok(knowledge)
}

/// Reports that the base cannot be read, until it can.
fn report_unreadable(context: &ServiceContext, knowledge: &Arc<Knowledge>) {
    let reason = "it cannot be read, and tickets are not answered from it; the log has the reason. If its file is damaged, \
                  move it away and import again with `bulkhead kb import`";
    let (health, knowledge) = (Arc::clone(&context.health), Arc::downgrade(knowledge));
    health.set_faults(CHECK, [(CHECK.to_owned(), reason.to_owned())]);
    tokio::spawn(async move {
        while let Some(knowledge) = knowledge.upgrade() {
            if !knowledge.is_unreadable().await {
                health.set_faults(CHECK, None);
                return;
            }
            drop(knowledge);
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    });
}

/// Returns the model that orders what is found, if it is loaded.
fn reranker(inference: Option<&Inference>, name: &str) -> Result<Option<Arc<ServedModel>>, RerankerError> {
    match reranking_model(inference, name) {
        Err(reason @ RerankerError::NotLoaded { .. }) => {
            tracing::warn!(%reason, "passages keep the order of the search");
            Ok(None)
        }
        found => found.map(Some),
    }
}

/// Returns why the knowledge base of `--demo` cannot be created with the default model, if so.
fn missing_model_reason(inference: Option<&Inference>) -> Option<String> {
    let Some(inference) = inference else { return Some("no embedding model is loaded".to_owned()) };
    let id = inference.default_id();
    let missing = inference.missing().iter().find(|missing| missing.id == id)?;
    Some(format!("the model `{id}` is not loaded: {}", missing.remedy))
}

/// Creates or updates the knowledge base of `--demo`, and returns its URL. Only new documents are embedded.
async fn prepare_demo(context: &ServiceContext) -> anyhow::Result<Secret> {
    let folder = context.config.data_dir.join("demo");
    fs::create_dir_all(&folder)?;
    let (lines, base) = (folder.join("knowledge.jsonl"), folder.join("knowledge.sqlite"));
    let url = Secret::new(format!("sqlite:{}", base.display()));
    let Some(inference) = context.extensions.get::<Inference>() else { return Ok(url) };
    let Some(model) = inference.shared(inference.default_id()) else { return Ok(url) };
    write_documents(&lines)?;
    let embedder = PromptEmbedder::for_passages(Arc::clone(&inference), model);
    let opened = match KnowledgeBase::open(url.expose(), Mode::Write).await {
        // Another version of the program created it from the same pages.
        Err(Error::Format { .. } | Error::Newer { .. }) => {
            fs::remove_file(&base)?;
            KnowledgeBase::open(url.expose(), Mode::Write).await?
        }
        opened => opened?,
    };
    let reembed =
        opened.provenance().is_some_and(|recorded| !recorded.makes_same_vectors(&embedder.provenance()));
    let options = ImportOptions { name: Some("demo".to_owned()), reembed, ..ImportOptions::default() };
    let report = opened.import(Source::Lines(lines), &embedder, options, &IgnoreProgress).await?;
    tracing::info!(
        documents = report.documents,
        embedded = report.embedded,
        "the demonstration's knowledge base is ready"
    );
    Ok(url)
}

/// Writes the documents, unless the file holds them already.
fn write_documents(file: &Path) -> std::io::Result<()> {
    match fs::read_to_string(file) {
        Ok(text) if text == DEMO => Ok(()),
        _ => fs::write(file, DEMO),
    }
}
