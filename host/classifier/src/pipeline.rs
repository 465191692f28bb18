//! The pipeline from labelled tickets to a head, and from a head to its evaluation.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use bulkhead_inference::head::{Csr, Head};
use bulkhead_inference::model::{EmbedOptions, Model, Scratch};
use bulkhead_text::clean::clean;
use bulkhead_text::window::window;
use bulkhead_triage_configuration::Configuration;
use bulkhead_triage_features::{FeatureSettings, MOST_READ, Row, preparser};

use crate::artefact::{self, HeadSource};
use crate::background;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::evaluation::{Prediction, Report, evaluate};
use crate::selection::{Candidate, compare, parameter_grid};
use crate::tickets::Ticket;
use crate::training::{Settings, train_with_background};

/// Turns texts into rows, for training and evaluation as in the component.
pub struct Pipeline<'c> {
    /// The embedding model.
    pub model: &'c Model,
    /// Its canonical id.
    pub model_id: &'c str,
    /// Name of its prompt that is put before each text.
    pub prompt: Option<&'c str>,
    /// Sparse features in addition to the embedding, if any.
    pub features: Option<FeatureSettings>,
    /// The settings by which texts are cut.
    pub configuration: &'c Configuration,
    /// Whether training adds the built-in texts that belong to no category.
    pub background: bool,
}

/// A trained head and the record of its training.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainedHead {
    /// The head.
    pub head: Head,
    /// All candidates with their figures on held-out examples, the chosen one first.
    pub candidates: Vec<Candidate>,
    /// Examples by label.
    pub examples: BTreeMap<String, usize>,
    /// How many of the built-in texts of no category it knows.
    pub background: usize,
    /// Share of the held-out examples that were right, 0 to 1, with the background.
    pub accuracy: f64,
    /// Expected calibration error of the held-out examples, 0 to 1, with the background.
    pub calibration_error: f64,
}

/// A text as numbers.
struct TextRow {
    dense: Vec<f32>,
    sparse: Row,
}

impl Pipeline<'_> {
    /// Trains on `tickets` and on the examples and descriptions of the configuration. Categories that neither
    /// names are left out; so are tickets of categories that are not configured.
    ///
    /// # Errors
    ///
    /// When fewer than two categories have examples, or a text cannot be embedded.
    pub fn train(&self, tickets: &[Ticket]) -> Result<TrainedHead, Error> {
        let categories = &self.configuration.categories;
        let labels: Vec<String> = categories.iter().map(|category| category.name.clone()).collect();
        let configured = categories
            .iter()
            .enumerate()
            .flat_map(|(target, category)| category.examples.iter().map(move |text| (target, text.as_str())));
        let labelled = tickets.iter().filter_map(|ticket| {
            let target = labels.iter().position(|label| *label == ticket.category)?;
            Some((target, ticket.text.as_str()))
        });
        let columns = self.features.as_ref().map_or(0, FeatureSettings::columns);
        let mut examples = Dataset::new(labels.clone(), self.model.dims(), columns);
        let mut scratch = Scratch::new();
        for (target, text) in labelled.chain(configured) {
            let TextRow { dense, sparse } = self.row(text, &mut scratch)?;
            examples.push(target, &dense, sparse)?;
        }
        let candidates = compare(&examples, &parameter_grid(&examples))?;
        let settings = candidates.first().map(|candidate| candidate.settings).ok_or(Error::Empty)?;
        let is_labelled =
            !tickets.is_empty() || categories.iter().any(|category| category.examples.labelled() > 0);
        let background = self.background(&settings, is_labelled, &mut scratch)?;
        let trained = train_with_background(&examples, &background, &settings)?;
        let origin = HeadSource {
            model_id: self.model_id,
            model: self.model.description(),
            prompt: self.prompt,
            features: self.features,
        };
        let support = labels.into_iter().zip(examples.support()).filter(|(_, count)| *count > 0);
        Ok(TrainedHead {
            head: artefact::head(&trained.model, &origin)?,
            candidates,
            examples: support.collect(),
            background: trained.background,
            accuracy: trained.held_out.accuracy(),
            calibration_error: trained.held_out.calibration_error(trained.model.temperature),
        })
    }

    /// Returns the vectors of the background under the name of the category for tickets that fit none; no vectors if
    /// there is no background, the method takes none, or no example `is_labelled`: lines of descriptions are less like
    /// tickets than the background is. A text that the model cannot embed is left out.
    fn background(
        &self,
        settings: &Settings,
        is_labelled: bool,
        scratch: &mut Scratch,
    ) -> Result<Dataset, Error> {
        let taken = self.background && is_labelled && matches!(settings, Settings::Prototypes(_));
        let none = self.configuration.no_category().filter(|_| taken);
        let labels = none.map(|category| category.name.clone()).into_iter().collect();
        let mut background = Dataset::new(labels, self.model.dims(), 0);
        for text in background::TEXTS.iter().filter(|_| none.is_some()) {
            let Ok(dense) = self.embed(text, scratch) else { continue };
            background.push(0, &dense, Row::default())?;
        }
        Ok(background)
    }

    /// Evaluates `head` on labelled tickets. A ticket of the category for those that fit none, or of one that the head
    /// does not know, counts as one without a category, which is right to be refused.
    ///
    /// # Errors
    ///
    /// When a text cannot be embedded, the head does not fit, or it knows no ticket's category.
    pub fn evaluate(&self, head: &Head, tickets: &[Ticket]) -> Result<Report, Error> {
        let labels: Vec<String> = head.labels().map(str::to_owned).collect();
        let none = self.configuration.no_category();
        let none = none.and_then(|none| labels.iter().position(|label| *label == none.name));
        let mut scratch = Scratch::new();
        let mut predictions = Vec::with_capacity(tickets.len());
        for ticket in tickets {
            let TextRow { dense, sparse } = self.row(&ticket.text, &mut scratch)?;
            let Row { indices, values } = sparse;
            let offsets = [0, indices.len()];
            let csr = Csr { indices: &indices, values: &values, offsets: &offsets };
            let probabilities = head.predict(&dense, self.features.map(|_| csr));
            let probabilities = probabilities.map_err(|error| Error::Predictions(error.to_string()))?;
            let target = labels.iter().position(|label| *label == ticket.category);
            let target = target.filter(|target| Some(*target) != none);
            predictions.push(Prediction { probabilities, target });
        }
        evaluate(&labels, &predictions, none)
    }

    /// Turns a text into numbers as the component does.
    fn row(&self, text: &str, scratch: &mut Scratch) -> Result<TextRow, Error> {
        let read = window(&preparser::apply(&self.configuration.preparser, text), MOST_READ);
        let own = clean(&read);
        // The component classifies no mail that no one wrote. Here it counts as its text.
        let own = if own.is_empty() { read } else { own };
        let text = window(&own, self.configuration.max_user_text_length);
        let dense = self.embed(&text, scratch)?;
        Ok(TextRow { dense, sparse: self.features.map_or_else(Row::default, |features| features.row(&own)) })
    }

    /// Embeds a text after the prompt.
    fn embed(&self, text: &str, scratch: &mut Scratch) -> Result<Vec<f32>, Error> {
        let prompt = self.prompt.and_then(|name| self.model.description().prompts.get(name));
        let options =
            EmbedOptions { prompt: prompt.map(|text| Arc::from(text.as_str())), ..EmbedOptions::default() };
        let failed =
            |error: &dyn std::fmt::Display| Error::Text(text.chars().take(40).collect(), error.to_string());
        let ids = self.model.tokenize(text, &options).map_err(|error| failed(&error))?.ids;
        let mut vector = vec![0.0; self.model.dims()];
        let embedded = self.model.embed(&ids, &[0, ids.len()], scratch, &mut vector);
        embedded.map_err(|error| failed(&error))?;
        Ok(self.model.finish(&mut vector, &options).to_vec())
    }
}
