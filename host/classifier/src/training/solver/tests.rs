//! Tests of the solver.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

fn problem(points: &[[f32; 2]]) -> Problem {
    let mut problem = Problem { dims: 2, ..Problem::default() };
    points.iter().for_each(|point| problem.push(point, Row::default()));
    problem
}

/// Returns `0.5 |w|^2 + C sum max(0, 1 - y f(x))^2`.
fn objective(problem: &Problem, weights: &Weights, positive: &[bool], cost: f64) -> f64 {
    let penalty = weights.dense.iter().map(|weight| weight * weight).sum::<f64>() + weights.bias.powi(2);
    let losses = positive.iter().enumerate().map(|(index, positive)| {
        let side = if *positive { 1.0 } else { -1.0 };
        (1.0 - side * weights.score(problem.dense(index), &Row::default())).max(0.0).powi(2)
    });
    0.5 * penalty + cost * losses.sum::<f64>()
}

#[test]
fn separable_examples_are_separated() {
    let problem = problem(&[[2.0, 1.0], [3.0, 2.0], [-1.0, -2.0], [-2.0, 0.0]]);
    let weights = problem.solve(&[true, true, false, false], 10.0);
    assert!(weights.score(&[2.0, 1.0], &Row::default()) > 0.5);
    assert!(weights.score(&[-2.0, 0.0], &Row::default()) < -0.5);
}

#[test]
fn solved_weights_minimise_the_objective() {
    let points = [[1.0, 0.2], [0.8, -0.4], [-0.3, 0.9], [0.1, 0.1], [-1.0, -0.7]];
    let positive = [true, true, false, true, false];
    let problem = problem(&points);
    let solved = problem.solve(&positive, 1.0);
    let best = objective(&problem, &solved, &positive, 1.0);
    for (which, step) in [(0, 0.05), (0, -0.05), (1, 0.05), (1, -0.05), (2, 0.05), (2, -0.05)] {
        let mut moved = solved.clone();
        match which {
            2 => moved.bias += step,
            at => moved.dense[at] += step,
        }
        assert!(objective(&problem, &moved, &positive, 1.0) > best, "coordinate {which}, step {step}");
    }
}

#[test]
fn sparse_columns_weigh_like_dense_ones() {
    let points = [[1.0, 0.2], [0.8, -0.4], [-0.3, 0.9], [-1.0, -0.7]];
    let positive = [true, true, false, false];
    let dense = problem(&points).solve(&positive, 1.0);
    let mut problem = Problem { columns: 2, ..Problem::default() };
    for point in points {
        problem.push(&[], Row { indices: vec![0, 1], values: point.to_vec() });
    }
    let sparse = problem.solve(&positive, 1.0);
    assert_eq!(dense.dense, sparse.sparse);
    assert_eq!(dense.bias, sparse.bias);
}

#[test]
fn a_shuffle_keeps_all_indices() {
    let mut order: Vec<usize> = (0..100).collect();
    Random(1).shuffle(&mut order);
    assert_ne!(order, (0..100).collect::<Vec<_>>());
    order.sort_unstable();
    assert_eq!(order, (0..100).collect::<Vec<_>>());
}
