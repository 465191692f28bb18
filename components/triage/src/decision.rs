//! From probabilities to a category, or to none with the reason.

#[cfg(test)]
mod tests;

use bulkhead_triage_configuration::Configuration;

/// Categories that are told besides the first.
const MOST_ALTERNATIVES: usize = 3;

/// The most that is told of any probability: a classifier is never certain, whatever rounding makes of it.
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
    /// The confidence that clients and clerks are told, 0 to 0.99.
    pub fn told(&self) -> f32 {
        self.confidence.min(MOST_CERTAIN)
    }
}

/// Why a ticket has no category.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// There is nothing to read.
    Empty,
    /// There are signs, and no word.
    Wordless,
    /// The best category is not probable enough.
    Unsure {
        /// Confidence that it needs.
        threshold: f32,
    },
    /// The best two categories are too close.
    Close {
        /// Distance that they need.
        margin: f32,
    },
    /// The classifier is sure that the ticket belongs to no category.
    Outside,
    /// The classifier cannot be asked.
    Unavailable(Unclassified),
}

/// Why the classifier says nothing, as far as a clerk is told: the log has the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unclassified {
    /// None is loaded.
    Missing,
    /// It fails.
    Silent,
    /// It gave other probabilities than of its categories.
    Unfit,
    /// It knows none of the configured categories.
    Strange,
}

/// What the classifier's probabilities mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// Configured categories by probability, the highest first; never more than three and one.
    pub candidates: Vec<Candidate>,
    /// Why none of them is chosen; `None` when the first is.
    pub refusal: Option<Refusal>,
}

impl Decision {
    /// Nothing can be said.
    pub fn refused(refusal: Refusal) -> Self {
        Self { candidates: Vec::new(), refusal: Some(refusal) }
    }

    /// The first category and how far it is ahead of the second.
    pub fn first(&self) -> Option<(&Candidate, f32)> {
        let first = self.candidates.first()?;
        Some((first, first.confidence - self.candidates.get(1).map_or(0.0, |second| second.confidence)))
    }
}

/// Decides by `probabilities` over `labels`, which need not be in the configuration's order. Labels that are not
/// configured are never chosen, whatever their probability.
pub fn decide(configuration: &Configuration, labels: &[String], probabilities: &[f32]) -> Decision {
    if labels.len() != probabilities.len() || !probabilities.iter().all(|probability| probability.is_finite())
    {
        return Decision::refused(Refusal::Unavailable(Unclassified::Unfit));
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
        return Some(Refusal::Unavailable(Unclassified::Strange));
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
