//! The classifier of tickets where the configuration names none: trained once from the configuration's examples, and stored
//! in the data folder.

use std::{path::PathBuf, time::Instant};

use anyhow::Context as _;
use bulkhead_classifier::pipeline::Pipeline;
use bulkhead_config::Config;
use bulkhead_inference::head::Head;
use bulkhead_models::{Inference, ServedModel};
use bulkhead_triage_configuration::Category;
use sha2::{Digest, Sha256};

use crate::config::TicketSettings;
use crate::triage::Rules;

/// Folder of trained classifiers, in the data folder.
const CLASSIFIERS_DIR: &str = "heads";
/// The prompt of tickets, where the model has it.
const PROMPT: &str = "query";
/// The minimum number of categories with examples.
const MIN_CATEGORIES: usize = 2;

/// Adds the classifier of tickets to `inference`, if the configuration names none and has examples. A stored classifier of the
/// same examples and weights is reused.
///
/// # Errors
/// When training fails.
pub(super) fn add_classifier(
    config: &Config,
    rules: &Rules,
    inference: &mut Inference,
) -> anyhow::Result<()> {
    let name = &config.table::<TicketSettings>()?.head;
    let categories = &rules.configuration().categories;
    let has_examples = |category: &&Category| !category.examples.is_empty();
    let enough = categories.iter().filter(has_examples).count() >= MIN_CATEGORIES;
    if inference.head(name).is_some() || !enough {
        return Ok(());
    }
    let Some(model) = inference.default_model() else { return Ok(()) };
    let file = classifier_file(config, rules, model);
    let stored = Head::load(&file);
    if let Err(error) = &stored
        && file.exists()
    {
        tracing::warn!(file = %file.display(), %error, "the stored classifier cannot be read and is trained again");
    }
    let classifier = match stored.ok().filter(|head| matches_model(head, model)) {
        Some(classifier) => classifier,
        None => {
            let classifier = train(rules, model)
                .context("cannot train a classifier from the examples of tickets.triage")?;
            if let Err(error) = classifier.write(&file) {
                tracing::warn!(%error, "the trained classifier is not stored, every start trains it");
            }
            classifier
        }
    };
    inference.add_head(name, classifier).map_err(Into::into)
}

/// Returns the file of the classifier for these examples and weights.
fn classifier_file(config: &Config, rules: &Rules, model: &ServedModel) -> PathBuf {
    let about = model.model.description();
    let mut digest = Sha256::new();
    for part in [rules.json(), &about.weights_sha256, &about.dtype, env!("CARGO_PKG_VERSION")] {
        digest.update(Sha256::digest(part));
    }
    let mut digest = hex::encode(digest.finalize());
    digest.truncate(16);
    config.data_dir.join(CLASSIFIERS_DIR).join(format!("{digest}.safetensors"))
}

/// Checks whether a classifier belongs to a model.
fn matches_model(head: &Head, model: &ServedModel) -> bool {
    head.record().check(model.model.description()).is_ok()
}

/// Trains a classifier from the examples of the configuration.
fn train(rules: &Rules, model: &ServedModel) -> Result<Head, bulkhead_classifier::error::Error> {
    let since = Instant::now();
    tracing::info!(model = model.id, "training the classifier of tickets from the configuration's examples");
    let prompts = &model.model.description().prompts;
    let pipeline = Pipeline {
        model: &model.model,
        model_id: &model.id,
        prompt: prompts.contains_key(PROMPT).then_some(PROMPT),
        features: None,
        configuration: rules.configuration(),
    };
    let trained = pipeline.train(&[])?;
    let (examples, seconds) = (trained.examples.values().sum::<usize>(), since.elapsed().as_secs_f32());
    tracing::info!(examples, categories = trained.examples.len(), seconds, "classifier trained");
    Ok(trained.head)
}
