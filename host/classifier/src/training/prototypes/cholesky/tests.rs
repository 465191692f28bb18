//! Tests of the Cholesky factorisation.

use super::*;

#[test]
fn factor_solves_its_matrix() {
    let matrix = vec![4.0, 2.0, 0.6, 2.0, 5.0, 1.0, 0.6, 1.0, 3.0];
    let wanted = [1.0, -2.0, 0.5];
    let right: Vec<f64> =
        matrix.chunks_exact(3).map(|row| row.iter().zip(&wanted).map(|(a, b)| a * b).sum()).collect();
    let found = Cholesky::of(matrix, 3).solve(&right);
    assert!(found.iter().zip(&wanted).all(|(found, wanted)| (found - wanted).abs() < 1e-12), "{found:?}");
}
