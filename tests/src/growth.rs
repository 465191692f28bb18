//! Whether a series of samples grows, beyond its noise and a bound.

/// Samples that a line is laid through; of more, medians of neighbours are taken.
const POINTS: usize = 400;

/// How a series changes over its second half; the first is for filling caches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// The line's value at the half, and at the end.
    pub line: [f64; 2],
    /// What it may grow: the bound and the noise.
    pub allowed: f64,
}

impl Growth {
    /// Lays a line through the second half of samples that were taken at equal intervals: its slope is the median of the
    /// slopes between any two of them (Theil and Sen), which a few outliers do not move. The noise is twice the median
    /// distance from the line.
    pub fn of(samples: &[f64], bound: f64) -> Self {
        let half = &samples[samples.len() / 2..];
        let points: Vec<f64> = half.chunks(half.len().div_ceil(POINTS).max(1)).map(median).collect();
        let last = points.len().saturating_sub(1);
        let between =
            |one: usize| points[..one].iter().enumerate().map(move |(other, value)| (one, other, *value));
        let slopes: Vec<f64> = (0..points.len())
            .flat_map(between)
            .map(|(one, other, value)| (points[one] - value) / (one - other) as f64)
            .collect();
        let slope = if slopes.is_empty() { 0.0 } else { median(&slopes) };
        let flat: Vec<f64> = points.iter().enumerate().map(|(at, value)| value - slope * at as f64).collect();
        let start = median(&flat);
        let distances: Vec<f64> = flat.iter().map(|value| (value - start).abs()).collect();
        Self { line: [start, start + slope * last as f64], allowed: bound + 2.0 * median(&distances) }
    }

    /// How much the line rises.
    pub fn rise(&self) -> f64 {
        self.line[1] - self.line[0]
    }

    /// Whether it rises by more than is allowed.
    pub fn is_too_much(&self) -> bool {
        self.rise() > self.allowed
    }
}

/// The middle value, or the mean of the two in the middle; 0 of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many samples around 100 that spread by 5 and rise by `rise` over the second half.
    fn samples(count: usize, rise: f64) -> Vec<f64> {
        let noise = |at: usize| (at * 7919 % 11) as f64 - 5.0;
        (0..count).map(|at| 100.0 + noise(at) + 2.0 * rise * at as f64 / count as f64).collect()
    }

    #[test]
    fn noise_is_no_growth() {
        for count in [2, 40, 180, 5000] {
            assert!(!Growth::of(&samples(count, 0.0), 4.0).is_too_much(), "{count}");
        }
    }

    #[test]
    fn slow_rise_is_growth() {
        for count in [180, 5000] {
            let growth = Growth::of(&samples(count, 20.0), 4.0);
            assert!(growth.is_too_much() && (18.0..22.0).contains(&growth.rise()), "{count}: {growth:?}");
        }
    }

    #[test]
    fn start_and_outliers_do_not_count() {
        let mut samples = samples(200, 0.0);
        (0..100).for_each(|at| samples[at] = at as f64);
        [120, 150, 197, 198, 199].into_iter().for_each(|at| samples[at] = 10_000.0);
        assert!(!Growth::of(&samples, 4.0).is_too_much());
    }

    #[test]
    fn bound_is_allowed_on_top_of_noise() {
        let samples = samples(400, 10.0);
        assert!(Growth::of(&samples, 1.0).is_too_much());
        assert!(!Growth::of(&samples, 12.0).is_too_much());
    }
}
