//! The classifier of tickets where the configuration names none: trained once from the configuration's examples, and stored
//! in the data folder.

use std::{path::PathBuf, time::Instant};

use anyhow::Context as _;
use bulkhead_classifier::{background::TEXTS, pipeline::Pipeline};
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
pub(crate) fn add_classifier(
    config: &Config,
    rules: &Rules,
    inference: &mut Inference,
) -> anyhow::Result<()> {
    let settings = config.table::<TicketSettings>()?;
    let (name, background) = (&settings.head, settings.background);
    let categories = &rules.configuration().categories;
    let has_examples = |category: &&Category| !category.examples.is_empty();
    let enough = categories.iter().filter(has_examples).count() >= MIN_CATEGORIES;
    if inference.head(name).is_some() || !enough {
        return Ok(());
    }
    let Some(model) = inference.default_model() else { return Ok(()) };
    let file = classifier_file(config, rules, model, background);
    let stored = Head::load(&file);
    if let Err(error) = &stored
        && file.exists()
    {
        tracing::warn!(file = %file.display(), %error, "the stored classifier cannot be read and is trained again");
    }
    let classifier = match stored.ok().filter(|head| matches_model(head, model)) {
        Some(classifier) => classifier,
        None => {
            let classifier = train(rules, model, background)
                .context("cannot train a classifier from the examples of tickets.triage")?;
            if let Err(error) = classifier.write(&file) {
                tracing::warn!(%error, "the trained classifier is not stored, every start trains it");
            }
            classifier
        }
    };
    inference.add_head(name, classifier).map_err(Into::into)
}

/// Returns the file of the classifier for these examples and weights, with or without the background.
fn classifier_file(config: &Config, rules: &Rules, model: &ServedModel, background: bool) -> PathBuf {
    let about = model.model.description();
    let texts: &[&str] = if background { TEXTS } else { &[] };
    let mut digest = Sha256::new();
    let parts = [rules.json(), &about.weights_sha256, &about.dtype, env!("CARGO_PKG_VERSION")];
    for part in parts.iter().chain(texts) {
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

/// Trains a classifier from the examples of the configuration, with or without the background.
fn train(
    rules: &Rules,
    model: &ServedModel,
    background: bool,
) -> Result<Head, bulkhead_classifier::error::Error> {
    let since = Instant::now();
    tracing::info!(model = model.id, "training the classifier of tickets from the configuration's examples");
    let prompts = &model.model.description().prompts;
    let pipeline = Pipeline {
        model: &model.model,
        model_id: &model.id,
        prompt: prompts.contains_key(PROMPT).then_some(PROMPT),
        features: None,
        configuration: rules.configuration(),
        background,
    };
    let trained = pipeline.train(&[])?;
    tracing::info!(
        examples = trained.examples.values().sum::<usize>(),
        categories = trained.examples.len(),
        background = trained.background,
        held_out_accuracy = trained.accuracy,
        held_out_calibration_error = trained.calibration_error,
        seconds = since.elapsed().as_secs_f32(),
        "classifier trained"
    );
    Ok(trained.head)
}
