//! The classifier of tickets where the configuration names none: trained from the configuration's own examples, once,
//! and kept in the data folder.

use std::{path::PathBuf, time::Instant};

use anyhow::Context as _;
use bulkhead_classifier::pipeline::Pipeline;
use bulkhead_config::Config;
use bulkhead_inference::head::Head;
use bulkhead_models::{Inference, ServedModel};
use bulkhead_triage_configuration::Category;
use sha2::{Digest, Sha256};

use crate::config::Tickets;
use crate::triage::Rules;

/// Folder of trained heads, in the data folder.
const HEADS: &str = "heads";
/// The prompt that tickets are embedded with, where the model has it.
const PROMPT: &str = "query";
/// Fewer categories are nothing to tell apart.
const LEAST_CATEGORIES: usize = 2;

/// Gives `inference` the head that tickets are classified with, if the configuration names none and has examples.
/// A head of the same examples and the same weights is found again.
///
/// # Errors
/// When training fails, or what was trained cannot be kept.
pub(super) fn teach(config: &Config, rules: &Rules, inference: &mut Inference) -> anyhow::Result<()> {
    let name = &config.table::<Tickets>()?.head;
    let categories = &rules.configuration().categories;
    let exemplified = |category: &&Category| !category.examples.is_empty();
    let enough = categories.iter().filter(exemplified).count() >= LEAST_CATEGORIES;
    if inference.head(name).is_some() || !enough {
        return Ok(());
    }
    let Some(model) = inference.default_model() else { return Ok(()) };
    let file = place(config, rules, model);
    let head = match Head::load(&file).ok().filter(|head| fits(head, model)) {
        Some(head) => head,
        None => {
            let head = train(rules, model)
                .context("cannot train a classifier from the examples of tickets.triage")?;
            head.write(&file)
                .context("cannot keep the trained classifier; set data_dir to a writable folder")?;
            head
        }
    };
    inference.add_head(name, head).map_err(Into::into)
}

/// One file for each set of examples and weights.
fn place(config: &Config, rules: &Rules, model: &ServedModel) -> PathBuf {
    let about = model.model.description();
    let mut digest = Sha256::new();
    for part in [rules.json(), &model.id, &about.weights_sha256, &about.dtype, env!("CARGO_PKG_VERSION")] {
        digest.update(Sha256::digest(part));
    }
    let mut digest = hex::encode(digest.finalize());
    digest.truncate(16);
    config.data_dir.join(HEADS).join(format!("{digest}.safetensors"))
}

fn fits(head: &Head, model: &ServedModel) -> bool {
    head.record().check(&model.id, model.model.description()).is_ok()
}

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
