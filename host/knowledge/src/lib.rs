//! A knowledge base for answering tickets: documents in passages, found by their words and by their meaning.
//!
//! Layers, each using only what stands below it:
//!
//! - `evaluation`: what a base is worth, and the parameters of its relevance
//! - `base`: an opened knowledge base
//! - `import`: from a source to a new state of the base
//! - `search`: words and vectors fused into one order, with a calibrated relevance
//! - `late_interaction`: questions and passages compared word by word
//! - `index`: what is kept in memory of one state: vectors, vocabulary, categories
//! - `store`: the tables, in SQLite or PostgreSQL
//! - `source`: where documents come from: folders, JSON lines, Zammad
//! - `relevance`, `chunk`, `words`, `text`: features to a probability; texts to passages, terms and plain text
//! - `document`, `embedder`, `provenance`, `progress`, `error`: what all of them speak of

mod base;
mod chunk;
mod document;
mod embedder;
mod error;
pub mod evaluation;
mod import;
mod index;
mod late_interaction;
mod progress;
mod provenance;
mod relevance;
mod search;
mod source;
mod store;
mod text;
mod words;

pub use base::{KnowledgeBase, Mode};
pub use chunk::ChunkSize;
pub use document::{Document, Refused};
pub use embedder::{Embedder, Embedding, TokenVectors};
pub use error::Error;
pub use import::{ImportOptions, Report};
pub use progress::{Progress, Silent, State};
pub use provenance::Provenance;
pub use search::{Passage, Query};
pub use source::{Source, Zammad};
pub use store::{Counts, SourceCounts};
