//! One-versus-rest classification: a linear support vector machine with squared hinge loss and L2 penalty.
//!
//! Dual coordinate descent (Hsieh et al. 2008, "A dual coordinate descent method for large-scale linear SVM"),
//! the method of liblinear's solver 1. The order of the examples comes from a fixed seed: the same examples
//! give the same weights.

use bulkhead_triage_features::Row;

#[cfg(test)]
mod tests;

/// The limit of passes over the examples.
const MOST_PASSES: usize = 300;
/// The solver stops when the projected gradients of a pass differ by less than this (liblinear's default): further
/// passes change hardly a prediction and take most of the time.
const TOLERANCE: f64 = 0.1;

/// Examples prepared for solving: scaled, with their squared lengths.
#[derive(Debug, Default)]
pub(crate) struct Problem {
    pub(crate) dims: usize,
    pub(crate) columns: usize,
    /// `[n, dims]`
    pub(crate) dense: Vec<f32>,
    pub(crate) sparse: Vec<Row>,
    /// `[n]`, the constant feature of the bias included.
    pub(crate) squared_lengths: Vec<f64>,
}

/// Weights of one class.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weights {
    pub(crate) dense: Vec<f64>,
    pub(crate) sparse: Vec<f64>,
    pub(crate) bias: f64,
}

impl Weights {
    fn score(&self, dense: &[f32], sparse: &Row) -> f64 {
        let products = self.dense.iter().zip(dense).map(|(weight, value)| weight * f64::from(*value));
        let columns = sparse
            .iter()
            .filter_map(|(column, value)| Some(self.sparse.get(column as usize)? * f64::from(value)));
        products.sum::<f64>() + columns.sum::<f64>() + self.bias
    }

    fn add(&mut self, step: f64, dense: &[f32], sparse: &Row) {
        for (weight, value) in self.dense.iter_mut().zip(dense) {
            *weight += step * f64::from(*value);
        }
        for (column, value) in sparse.iter() {
            if let Some(weight) = self.sparse.get_mut(column as usize) {
                *weight += step * f64::from(value);
            }
        }
        self.bias += step;
    }
}

impl Problem {
    pub(crate) fn push(&mut self, dense: &[f32], sparse: Row) {
        let numbers = dense.iter().chain(&sparse.values);
        self.squared_lengths.push(numbers.map(|value| f64::from(*value).powi(2)).sum::<f64>() + 1.0);
        self.dense.extend_from_slice(dense);
        self.sparse.push(sparse);
    }

    fn dense(&self, index: usize) -> &[f32] {
        self.dense.get(index * self.dims..(index + 1) * self.dims).unwrap_or_default()
    }

    /// Returns weights that separate the examples with `positive` from the others; `cost` is what an example on the
    /// wrong side costs, against the penalty on the weights.
    pub(crate) fn solve(&self, positive: &[bool], cost: f64) -> Weights {
        let mut weights = Weights { dense: vec![0.0; self.dims], sparse: vec![0.0; self.columns], bias: 0.0 };
        let mut duals = vec![0.0; self.sparse.len()];
        let mut order: Vec<usize> = (0..self.sparse.len()).collect();
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for _ in 0..MOST_PASSES {
            random.shuffle(&mut order);
            if self.pass(&order, positive, cost, &mut duals, &mut weights) < TOLERANCE {
                break;
            }
        }
        weights
    }

    /// Takes one step for each example and returns the spread of the projected gradients.
    fn pass(
        &self,
        order: &[usize],
        positive: &[bool],
        cost: f64,
        duals: &mut [f64],
        weights: &mut Weights,
    ) -> f64 {
        let diagonal = 0.5 / cost;
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for &index in order {
            let (Some(dual), Some(sparse)) = (duals.get_mut(index), self.sparse.get(index)) else { continue };
            let side = if positive.get(index) == Some(&true) { 1.0 } else { -1.0 };
            let dense = self.dense(index);
            let gradient = side * weights.score(dense, sparse) - 1.0 + diagonal * *dual;
            let projected = if *dual == 0.0 { gradient.min(0.0) } else { gradient };
            least = least.min(projected);
            most = most.max(projected);
            if projected.abs() > 1e-12 {
                let length = self.squared_lengths.get(index).unwrap_or(&1.0) + diagonal;
                let old = *dual;
                *dual = (old - gradient / length).max(0.0);
                weights.add((*dual - old) * side, dense, sparse);
            }
        }
        most - least
    }
}

/// xorshift64: an order for the examples, not a secret.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    fn shuffle(&mut self, order: &mut [usize]) {
        for end in (1..order.len()).rev() {
            let other = self.below(end + 1);
            order.swap(end, other);
        }
    }
}
