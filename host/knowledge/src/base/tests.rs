//! Tests of knowledge bases with a toy model.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod at_once;
mod imports;
mod replaced;
mod searches;
mod toy;
