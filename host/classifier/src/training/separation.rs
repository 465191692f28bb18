//! One-versus-rest separation of the labels.

use std::thread;

use serde::{Deserialize, Serialize};

use super::scaling::Scaling;
use super::solver::{Problem, Weights};
use crate::dataset::Dataset;
use crate::model::Model;

/// Settings of the separation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Separation {
    /// The cost of an example on the wrong side against the penalty on the weights (liblinear's C).
    pub cost: f64,
    /// Root mean square length of the centred embeddings.
    pub dense_scale: f64,
    /// Root mean square length of the weighted sparse features.
    pub sparse_scale: f64,
}

impl Default for Separation {
    fn default() -> Self {
        Self { cost: 1.0, dense_scale: 1.0, sparse_scale: 1.0 }
    }
}

pub(super) fn fit(examples: &Dataset, settings: &Separation) -> Model {
    let scaling = Scaling::of(examples, settings.dense_scale, settings.sparse_scale);
    let mut problem = Problem { dims: examples.dims(), columns: examples.columns(), ..Problem::default() };
    for example in examples.examples() {
        let (dense, sparse) = scaling.apply(example);
        problem.push(&dense, sparse);
    }
    let weights = solve_all(&problem, examples, settings.cost);
    scaling.fold(examples.labels().to_vec(), &weights)
}

/// Solves the weights of every label, in order, on as many threads as there are processors.
fn solve_all(problem: &Problem, examples: &Dataset, cost: f64) -> Vec<Weights> {
    let solve = |label: usize| {
        let positive: Vec<bool> = examples.targets().iter().map(|target| *target == label).collect();
        problem.solve(&positive, cost)
    };
    let labels = examples.labels().len();
    let threads = thread::available_parallelism().map_or(1, usize::from).min(labels);
    let share = |first: usize| -> Vec<(usize, Weights)> {
        (first..labels).step_by(threads).map(|label| (label, solve(label))).collect()
    };
    let share = &share;
    let mut solved: Vec<(usize, Weights)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|first| scope.spawn(move || share(first))).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, Vec<(usize, Weights)>>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().flat_map(join).collect()
    });
    solved.sort_by_key(|(label, _)| *label);
    solved.into_iter().map(|(_, weights)| weights).collect()
}
