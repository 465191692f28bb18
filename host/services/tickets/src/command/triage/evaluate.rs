//! `bulkhead triage evaluate`: measures a classifier on labelled tickets.

use std::{fs, path::PathBuf};

use anyhow::Context as _;
use bulkhead_classifier::{pipeline::Pipeline, tickets::Ticket};
use bulkhead_cli::{output, share};
use bulkhead_config::HostSpec;
use bulkhead_inference::head::Head;
use bulkhead_triage_features::FeatureSettings;

use super::{LoadedModel, TriageArgs, labels, read_tickets};

/// Arguments of `bulkhead triage evaluate`.
#[derive(Debug, clap::Args)]
pub(in crate::command) struct Evaluate {
    #[command(flatten)]
    args: TriageArgs,
    /// Labelled tickets, a JSON object a line: `{"text": ..., "category": ...}`.
    data: PathBuf,
    /// The head's file.
    #[arg(long, value_name = "FILE")]
    head: PathBuf,
    /// Count tickets of an unknown category as tickets without a category.
    #[arg(long)]
    allow_unknown: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Draw calibration and coverage into this SVG file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Fail if the accuracy is lower, 0 to 1.
    #[arg(long, value_name = "ACCURACY", value_parser = share)]
    fail_under: Option<f64>,
}

impl Evaluate {
    pub(super) fn run(self, spec: &HostSpec) -> anyhow::Result<()> {
        let tickets = read_tickets(&self.data)?;
        let categories = self.args.categories()?;
        anyhow::ensure!(
            self.head.exists(),
            "there is no head at {}; `bulkhead triage train` makes one",
            self.head.display()
        );
        let head = Head::load(&self.head)?;
        if !self.allow_unknown {
            labels::check(&self.data, &tickets, &labels::of(&categories).collect::<Vec<_>>())?;
        }
        let tickets: Vec<Ticket> = tickets.into_iter().map(|(_, ticket)| ticket).collect();
        let LoadedModel { model_id, model, .. } = self.args.load(spec)?;
        head.record().check(model.description())?;
        let features: Option<FeatureSettings> =
            head.record().sparse.clone().map(serde_json::from_value).transpose()?;
        let prompt = head.record().prompt.as_ref().map(|prompt| prompt.name.as_str());
        let pipeline = Pipeline {
            model: &model,
            model_id: &model_id,
            prompt,
            features,
            configuration: &categories,
            background: false,
        };
        let report = pipeline.evaluate(&head, &tickets)?;
        if let Some(file) = &self.svg {
            fs::write(file, report.svg()).with_context(|| format!("cannot write {}", file.display()))?;
        }
        if self.json {
            output::json(&serde_json::to_value(&report)?)?;
        } else {
            output::text(report.text())?;
        }
        match self.fail_under {
            Some(least) if report.accuracy < least => {
                anyhow::bail!("the accuracy is {:.4}, it must be at least {least}", report.accuracy)
            }
            _ => Ok(()),
        }
    }
}
