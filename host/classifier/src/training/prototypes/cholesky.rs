//! The Cholesky factorisation of a covariance.

#[cfg(test)]
mod tests;

/// `L`, lower triangular, with `L L^T` the matrix that it was made of.
pub(super) struct Cholesky {
    /// Row `i` has its first `i + 1` numbers.
    rows: Vec<Vec<f64>>,
}

impl Cholesky {
    /// Factors a symmetric, positive definite matrix `[dims, dims]`.
    pub(super) fn of(matrix: Vec<f64>, dims: usize) -> Self {
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(dims);
        for line in matrix.chunks_exact(dims.max(1)) {
            let mut row: Vec<f64> = Vec::with_capacity(rows.len() + 1);
            for (above, value) in rows.iter().zip(line) {
                let known: f64 = row.iter().zip(above).map(|(left, right)| left * right).sum();
                row.push((value - known) / above.last().copied().unwrap_or(1.0));
            }
            let known: f64 = row.iter().map(|value| value * value).sum();
            let diagonal = line.get(row.len()).copied().unwrap_or(1.0) - known;
            row.push(diagonal.max(f64::MIN_POSITIVE).sqrt());
            rows.push(row);
        }
        Self { rows }
    }

    /// Returns `x` with `L L^T x = right`.
    pub(super) fn solve(&self, right: &[f64]) -> Vec<f64> {
        let mut forward: Vec<f64> = Vec::with_capacity(right.len());
        for (row, value) in self.rows.iter().zip(right) {
            let known: f64 = row.iter().zip(&forward).map(|(weight, value)| weight * value).sum();
            forward.push((value - known) / row.last().copied().unwrap_or(1.0));
        }
        for (at, row) in self.rows.iter().enumerate().rev() {
            let Some((done, open)) = forward.split_at_mut_checked(at) else { continue };
            let Some(value) = open.first_mut() else { continue };
            *value /= row.last().copied().unwrap_or(1.0);
            done.iter_mut().zip(row).for_each(|(other, weight)| *other -= weight * *value);
        }
        forward
    }
}
