//! Linear text classifiers: from labelled vectors to a calibrated model and its evaluation.
//!
//! Layers; each uses only the layers below it:
//!
//! - `pipeline`: from labelled tickets to a head, and from a head to a report
//! - `artefact`: a model as the head that a host serves
//! - `selection`: several settings, the best by cross-validation
//! - `training`: training with one setting, one class against the rest, and a background; calibration on predictions for held-out
//!   examples
//! - `evaluation`: figures, tables and plots of predictions
//! - `calibration`, `model`: one temperature; weights to probabilities
//! - `background`, `dataset`, `tickets`, `error`: texts of no category, examples as rows, tickets as lines

pub mod artefact;
pub mod background;
pub mod calibration;
pub mod dataset;
pub mod error;
pub mod evaluation;
pub mod model;
pub mod pipeline;
pub mod selection;
pub mod tickets;
pub mod training;
