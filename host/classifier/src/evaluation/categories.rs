//! Precision, recall and F1 by category, and the confusion matrix.

use serde::Serialize;

use super::Decision;

/// Figures of one category.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Category {
    /// Its name.
    pub label: String,
    /// Tickets that belong to it.
    pub support: usize,
    /// Tickets predicted as it.
    pub predicted: usize,
    /// Share of the predicted tickets that belong to it; 0 without any.
    pub precision: f64,
    /// Share of its tickets that were predicted as it; 0 without any.
    pub recall: f64,
    /// Harmonic mean of precision and recall; 0 where both are.
    pub f1: f64,
}

/// Counts tickets `[k, k]`: rows are true labels, columns predicted ones.
pub(super) fn confusion(labels: usize, decisions: &[Decision]) -> Vec<Vec<usize>> {
    let mut confusion = vec![vec![0; labels]; labels];
    for decision in decisions {
        let row = decision.target.and_then(|target| confusion.get_mut(target));
        if let Some(count) = row.and_then(|row| row.get_mut(decision.label)) {
            *count += 1;
        }
    }
    confusion
}

pub(super) fn table(labels: &[String], confusion: &[Vec<usize>]) -> Vec<Category> {
    let column = |at: usize| confusion.iter().filter_map(|row| row.get(at)).sum::<usize>();
    let rows = labels.iter().zip(confusion).enumerate().map(|(at, (label, row))| {
        let (support, predicted) = (row.iter().sum(), column(at));
        let right = row.get(at).copied().unwrap_or_default();
        let (precision, recall) = (share(right, predicted), share(right, support));
        Category {
            label: label.clone(),
            support,
            predicted,
            precision,
            recall,
            f1: share(2 * right, support + predicted),
        }
    });
    rows.collect()
}

pub(super) fn macro_f1(categories: &[Category]) -> f64 {
    let with_tickets: Vec<f64> =
        categories.iter().filter(|category| category.support > 0).map(|category| category.f1).collect();
    with_tickets.iter().sum::<f64>() / with_tickets.len().max(1) as f64
}

/// Returns `part` of `whole`, 0 of nothing.
pub(super) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
