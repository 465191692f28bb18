//! A dense layer: a matrix, a shift and an activation function.

use crate::activation::HeadActivation;
use crate::source::{self, HeadError, TensorSource};

/// A dense layer of n outputs over k inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseLayer {
    /// `[n, k]`.
    weight: Vec<f32>,
    /// `[n]`.
    bias: Vec<f32>,
    inputs: usize,
    activation: HeadActivation,
}

impl DenseLayer {
    /// Reads `NAME.weight` and, where `has_bias`, `NAME.bias`. The weight says how many outputs there are.
    ///
    /// # Errors
    ///
    /// When a tensor is missing or does not fit `inputs`.
    pub fn read(
        tensors: &dyn TensorSource,
        name: &str,
        inputs: usize,
        has_bias: bool,
        activation: HeadActivation,
    ) -> Result<Self, HeadError> {
        let fits = |shape: &[usize]| matches!(shape, [outputs, own] if *outputs > 0 && *own == inputs);
        let wanted = format!("[outputs, {inputs}]");
        let weight = source::read(tensors, &format!("{name}.weight"), &wanted, fits)?;
        let outputs = weight.shape.first().copied().unwrap_or_default();
        let bias = match has_bias {
            true => source::vector(tensors, &format!("{name}.bias"), outputs)?,
            false => vec![0.0; outputs],
        };
        Ok(Self { weight: weight.values, bias, inputs, activation })
    }

    /// Returns the number of outputs.
    pub fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// Returns the outputs for one row of inputs; numbers beyond the inputs are ignored.
    pub fn apply(&self, row: &[f32]) -> Vec<f32> {
        let row = row.get(..self.inputs).unwrap_or(row);
        let outputs = self.weight.chunks_exact(self.inputs.max(1)).zip(&self.bias);
        outputs.map(|(weight, bias)| self.activation.apply(dot(weight, row) + bias)).collect()
    }
}

/// Returns the dot product of two vectors, with sixteen sums side by side, which the compiler keeps in vector registers.
pub fn dot(left: &[f32], right: &[f32]) -> f32 {
    let ((lefts, left_rest), (rights, right_rest)) = (left.as_chunks::<16>(), right.as_chunks::<16>());
    let mut sums = [0.0_f32; 16];
    for (left, right) in lefts.iter().zip(rights) {
        for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
            *sum += left * right;
        }
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    sums.iter().sum::<f32>() + rest
}
