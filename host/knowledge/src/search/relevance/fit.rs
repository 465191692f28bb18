//! Parameters from passages of which it is known whether they answer their question.

use super::{FEATURES, Features};

/// Steps of the descent; the last ones change nothing that is printed.
const STEPS: usize = 4000;
/// Against weights that few examples would make large, in examples.
const PENALTY: f64 = 1.0;

/// Fits bias and weights by logistic regression. `used` says which features count; the weights of the others are 0.
pub(crate) fn fit(examples: &[(Features, bool)], used: [bool; FEATURES]) -> (f32, [f32; FEATURES]) {
    let count = examples.len().max(1) as f64;
    let rows: Vec<([f64; FEATURES], f64)> = examples
        .iter()
        .map(|(features, right)| (features.array().map(f64::from), f64::from(u8::from(*right))))
        .collect();
    // Features of one spread, so that one step length fits all.
    let spread: Vec<(f64, f64)> = (0..FEATURES)
        .map(|column| {
            let values = rows.iter().filter_map(|(row, _)| row.get(column));
            let mean = values.clone().sum::<f64>() / count;
            let deviation = (values.map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
            (mean, if deviation > 0.0 { deviation } else { 1.0 })
        })
        .collect();
    let (mut bias, mut weights) = (0.0_f64, [0.0_f64; FEATURES]);
    for _ in 0..STEPS {
        let (mut slope, mut slopes) = (0.0, [0.0; FEATURES]);
        for (row, right) in &rows {
            let scaled = row.iter().zip(&spread).map(|(value, (mean, deviation))| (value - mean) / deviation);
            let score: f64 =
                bias + scaled.clone().zip(&weights).map(|(value, weight)| value * weight).sum::<f64>();
            let error = 1.0 / (1.0 + (-score).exp()) - right;
            slope += error;
            slopes.iter_mut().zip(scaled).for_each(|(slope, value)| *slope += error * value);
        }
        bias -= slope / count;
        for ((weight, slope), used) in weights.iter_mut().zip(slopes).zip(used) {
            if used {
                *weight -= (slope + PENALTY * *weight) / count;
            }
        }
    }
    let mut fitted = [0.0; FEATURES];
    for ((fitted, weight), (mean, deviation)) in fitted.iter_mut().zip(weights).zip(spread) {
        *fitted = (weight / deviation) as f32;
        bias -= weight * mean / deviation;
    }
    (bias as f32, fitted)
}
