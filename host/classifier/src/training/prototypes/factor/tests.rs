use super::*;

#[test]
fn solves_what_it_was_made_of() {
    let matrix = vec![4.0, 2.0, 0.6, 2.0, 5.0, 1.0, 0.6, 1.0, 3.0];
    let wanted = [1.0, -2.0, 0.5];
    let right: Vec<f64> =
        matrix.chunks_exact(3).map(|row| row.iter().zip(&wanted).map(|(a, b)| a * b).sum()).collect();
    let found = Factor::of(matrix, 3).solve(&right);
    assert!(found.iter().zip(&wanted).all(|(found, wanted)| (found - wanted).abs() < 1e-12), "{found:?}");
}
