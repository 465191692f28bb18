//! Linear text classifiers: from labelled vectors to a calibrated model, and what it is worth.
//!
//! Layers, each using only what stands below it:
//!
//! - `selection`: several ways to train, the best by cross-validation
//! - `training`: one way to train; calibration on predictions for held-out examples
//! - `evaluation`: figures, tables and plots of predictions
//! - `calibration`, `model`, `solver`: one temperature; weights to probabilities; one class against the rest
//! - `dataset`, `error`: examples as rows

pub mod calibration;
pub mod dataset;
pub mod error;
pub mod evaluation;
pub mod model;
pub mod selection;
mod solver;
pub mod training;
