//! Decides on a category from the classifier's probabilities, or on none with the reason.

#[cfg(test)]
mod tests;

use bulkhead_triage_configuration::Configuration;

/// Maximum number of categories reported besides the first.
const MOST_ALTERNATIVES: usize = 3;

/// Maximum reported probability: a classifier is never certain, even if rounding says so.
const MOST_CERTAIN: f32 = 0.99;

/// A category and its calibrated probability.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Name of the category.
    pub name: String,
    /// 0 to 1.
    pub confidence: f32,
}

impl Candidate {
    /// Returns the confidence to report to clients and clerks, 0 to 0.99.
    pub fn reported_confidence(&self) -> f32 {
        self.confidence.min(MOST_CERTAIN)
    }
}

/// Why a ticket has no category.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// The text is empty.
    Empty,
    /// Nobody wrote the text: a program's mail, or only a signature.
    Unwritten,
    /// The text has no words.
    Wordless,
    /// The best category is not probable enough.
    Unsure {
        /// The required confidence.
        threshold: f32,
    },
    /// The best two categories are too close.
    Close {
        /// The required lead.
        margin: f32,
    },
    /// The classifier is sure that the ticket belongs to no category.
    Outside,
    /// The classifier is unavailable.
    Unavailable(Unclassified),
}

/// Why the classifier gives no result, for a clerk; the log has the details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unclassified {
    /// No classifier is loaded.
    Missing,
    /// The classifier failed.
    Silent,
    /// The probabilities do not match the labels.
    Mismatched,
    /// None of the labels is a configured category.
    UnknownLabels,
}

/// A decision on the classifier's probabilities.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// Configured categories, the most probable first; at most four.
    pub candidates: Vec<Candidate>,
    /// Why none of them is chosen; `None` if the first one is.
    pub refusal: Option<Refusal>,
}

impl Decision {
    /// Creates a decision without candidates.
    pub fn refused(refusal: Refusal) -> Self {
        Self { candidates: Vec::new(), refusal: Some(refusal) }
    }

    /// Returns the first category and its lead over the second.
    pub fn first(&self) -> Option<(&Candidate, f32)> {
        let first = self.candidates.first()?;
        Some((first, first.confidence - self.candidates.get(1).map_or(0.0, |second| second.confidence)))
    }
}

/// Decides by `probabilities` of `labels`, in any order. Labels that are not configured are never chosen, whatever
/// their probability.
pub fn decide(configuration: &Configuration, labels: &[String], probabilities: &[f32]) -> Decision {
    if labels.len() != probabilities.len() || !probabilities.iter().all(|probability| probability.is_finite())
    {
        return Decision::refused(Refusal::Unavailable(Unclassified::Mismatched));
    }
    let known = labels.iter().zip(probabilities).filter(|(label, _)| configuration.category(label).is_some());
    let mut candidates: Vec<Candidate> = known
        .map(|(name, confidence)| Candidate { name: name.clone(), confidence: confidence.clamp(0.0, 1.0) })
        .collect();
    candidates.sort_by(|one, other| other.confidence.total_cmp(&one.confidence));
    candidates.truncate(MOST_ALTERNATIVES + 1);
    let refusal = refusal(configuration, &candidates);
    Decision { candidates, refusal }
}

fn refusal(configuration: &Configuration, candidates: &[Candidate]) -> Option<Refusal> {
    let Some(first) = candidates.first() else {
        return Some(Refusal::Unavailable(Unclassified::UnknownLabels));
    };
    let threshold = configuration.category(&first.name).map_or(1.0, |category| category.threshold);
    let second = candidates.get(1).map_or(0.0, |second| second.confidence);
    if first.confidence < threshold {
        Some(Refusal::Unsure { threshold })
    } else if first.confidence - second < configuration.margin {
        Some(Refusal::Close { margin: configuration.margin })
    } else {
        let outside = configuration.no_category().is_some_and(|none| none.name == first.name);
        outside.then_some(Refusal::Outside)
    }
}
