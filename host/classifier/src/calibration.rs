//! Temperature scaling (Guo et al. 2017, "On calibration of modern neural networks"): one number, fitted on
//! predictions for examples that the weights never saw.

#[cfg(test)]
mod tests;

use crate::model::softmax;

/// The least and the greatest temperature of the search.
const RANGE: (f64, f64) = (0.01, 100.0);
/// Steps of the search: each narrows the range to 62 %, so the last is far below any visible difference.
const STEPS: usize = 60;

/// Returns the temperature with the least log loss. `scores` holds `[k]` scores an example, `targets` the index of
/// its label.
pub fn temperature(scores: &[Vec<f32>], targets: &[usize]) -> f32 {
    // The log loss has one minimum over 1 / temperature, hence over its logarithm too: golden-section search.
    let golden = (5_f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (RANGE.0.ln(), RANGE.1.ln());
    let log_loss = |logarithm: f64| log_loss(scores, targets, logarithm.exp() as f32);
    let mut left = (high - golden * (high - low), 0.0);
    let mut right = (low + golden * (high - low), 0.0);
    left.1 = log_loss(left.0);
    right.1 = log_loss(right.0);
    for _ in 0..STEPS {
        if left.1 <= right.1 {
            high = right.0;
            right = left;
            left.0 = high - golden * (high - low);
            left.1 = log_loss(left.0);
        } else {
            low = left.0;
            left = right;
            right.0 = low + golden * (high - low);
            right.1 = log_loss(right.0);
        }
    }
    f64::midpoint(low, high).exp() as f32
}

/// Returns the mean of `-ln` of the probability that each example's own label got (nats).
pub fn log_loss(scores: &[Vec<f32>], targets: &[usize], temperature: f32) -> f64 {
    let losses = scores.iter().zip(targets).map(|(scores, target)| {
        let probability = softmax(scores, temperature).get(*target).copied().unwrap_or(0.0);
        -f64::from(probability.max(1e-30)).ln()
    });
    losses.sum::<f64>() / scores.len().max(1) as f64
}
