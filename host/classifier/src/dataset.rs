//! Labelled examples as rows of numbers.

use bulkhead_triage_features::Row;

use crate::error::Error;

/// Labelled examples: embeddings, sparse features or both.
#[derive(Debug, Clone, Default)]
pub struct Dataset {
    labels: Vec<String>,
    targets: Vec<usize>,
    dims: usize,
    dense: Vec<f32>,
    columns: usize,
    sparse: Vec<Row>,
}

/// One example as the solver sees it.
#[derive(Debug, Clone, Copy)]
pub struct Example<'d> {
    /// `[dims]`; empty without embeddings.
    pub dense: &'d [f32],
    /// Sparse features; empty without.
    pub sparse: &'d Row,
}

impl Dataset {
    /// Creates an empty set of examples with vectors of `dims` numbers (0 for none) and rows of `columns` (0 for
    /// none). Labels are numbered in the order given; training drops those without examples.
    pub fn new(labels: Vec<String>, dims: usize, columns: usize) -> Self {
        Self { labels, dims, columns, ..Self::default() }
    }

    /// Adds an example of the label with index `target`.
    ///
    /// # Errors
    ///
    /// When the vector is of another length or not finite.
    pub fn push(&mut self, target: usize, dense: &[f32], sparse: Row) -> Result<(), Error> {
        let example = self.targets.len();
        if dense.len() != self.dims {
            return Err(Error::Dims { example, found: dense.len(), expected: self.dims });
        }
        let numbers = dense.iter().chain(&sparse.values);
        if !numbers.into_iter().all(|value| value.is_finite()) {
            return Err(Error::NotFinite(example));
        }
        if target >= self.labels.len() {
            return Err(Error::Predictions(format!(
                "example {example} has label {target}, there are {}",
                self.labels.len()
            )));
        }
        self.targets.push(target);
        self.dense.extend_from_slice(dense);
        self.sparse.push(sparse);
        Ok(())
    }

    /// Returns the labels in the order of their indices.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Returns the index of each example's label.
    pub fn targets(&self) -> &[usize] {
        &self.targets
    }

    /// Returns the length of a vector.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Returns the number of columns of a sparse row.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the number of examples.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Returns whether there are no examples.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Returns how many examples each label has.
    pub fn support(&self) -> Vec<usize> {
        let mut support = vec![0; self.labels.len()];
        for target in &self.targets {
            if let Some(count) = support.get_mut(*target) {
                *count += 1;
            }
        }
        support
    }

    /// Returns all examples, in order.
    pub fn examples(&self) -> impl Iterator<Item = Example<'_>> {
        (0..self.len()).filter_map(|index| self.example(index))
    }

    /// Returns the example with this index.
    pub fn example(&self, index: usize) -> Option<Example<'_>> {
        let dense = self.dense.get(index * self.dims..(index + 1) * self.dims)?;
        Some(Example { dense, sparse: self.sparse.get(index)? })
    }

    /// Returns the examples for whose index `keep` returns true, with all labels.
    pub fn subset(&self, keep: impl Fn(usize) -> bool) -> Self {
        let mut subset = Self::new(self.labels.clone(), self.dims, self.columns);
        for (index, target) in self.targets.iter().enumerate().filter(|(index, _)| keep(*index)) {
            let Some(example) = self.example(index) else { continue };
            subset.targets.push(*target);
            subset.dense.extend_from_slice(example.dense);
            subset.sparse.push(example.sparse.clone());
        }
        subset
    }
}
