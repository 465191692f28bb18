//! `bulkhead triage train`

use std::{fs, path::PathBuf};

use anyhow::Context as _;
use bulkhead_classifier::course::Course;
use bulkhead_triage::features::FeatureSettings;

use super::{Loaded, Place, read_tickets};
use crate::cli::output;

/// Folder of heads in the data folder.
const HEADS_DIR: &str = "heads";
/// Columns of sparse features, 2 to the power of this: few collisions among the words of some ten thousand tickets.
const FEATURE_BITS: u8 = 18;

/// Trains a head.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Train {
    #[command(flatten)]
    place: Place,
    /// Labelled tickets: a line each, `{"text": ..., "category": ...}`.
    data: Option<PathBuf>,
    /// Name of the head.
    #[arg(long, default_value = "triage")]
    name: String,
    /// The model's prompt that is put before each text.
    #[arg(long, default_value = "query")]
    prompt: String,
    /// Learn words as well as meanings: better with thousands of tickets, worse with few.
    #[arg(long)]
    words: bool,
}

impl Train {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let tickets = self.data.as_deref().map(read_tickets).transpose()?.unwrap_or_default();
        let Loaded { config, categories, model_id, model } = self.place.load()?;
        let prompt = model.description().prompts.contains_key(&self.prompt).then_some(self.prompt.as_str());
        let features =
            self.words.then(|| FeatureSettings { words: 1, ..FeatureSettings::words_only(FEATURE_BITS) });
        let course =
            Course { model: &model, model_id: &model_id, prompt, features, configuration: &categories };
        let taught = course.train(&tickets)?;
        for (category, examples) in &taught.examples {
            output::line(format_args!("{examples:6} examples of {category}"))?;
        }
        for category in categories.without_examples().filter(|c| !taught.examples.contains_key(&c.name)) {
            output::line(format_args!("    no examples of {}: it will never be chosen", category.name))?;
        }
        for candidate in &taught.tried {
            output::line(format_args!(
                "{:.4} of held-out examples right: {:?}",
                candidate.accuracy, candidate.settings
            ))?;
        }
        let folder = config.data_dir.join(HEADS_DIR);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let file = folder.join(format!("{}.safetensors", self.name));
        taught.head.write(&file)?;
        output::line(format_args!("\n[embedding.heads]\n{} = {:?}", self.name, file.display().to_string()))?;
        Ok(())
    }
}
