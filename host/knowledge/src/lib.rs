//! A knowledge base for answering tickets: documents in passages, found by their words and by their meaning.
//!
//! Layers; each uses only the layers below it:
//!
//! - `evaluation`: figures of a base, and the parameters of its relevance
//! - `base`: an opened knowledge base
//! - `import`: a source as a new state of the base
//! - `reranker`: what a search finds in the order of a model that reads question and passage together
//! - `search`: words and vectors fused into one order, with a calibrated relevance
//! - `late_interaction`: questions and passages compared word by word
//! - `items`: sentences, list items and table rows with vectors of their own
//! - `index`: the in-memory index of one state: vectors, vocabulary, categories
//! - `store`: the tables, in SQLite or PostgreSQL
//! - `source`: where documents come from: folders, JSON lines, Zammad
//! - `relevance`, `chunk`, `words`, `text`: features to a probability; texts to passages, terms and plain text
//! - `document`, `embedder`, `provenance`, `progress`, `error`: shared types

mod base;
mod chunk;
mod document;
mod embedder;
mod error;
pub mod evaluation;
mod import;
mod index;
mod items;
mod late_interaction;
mod progress;
mod provenance;
mod relevance;
mod reranker;
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
pub use import::{ImportOptions, ImportReport};
pub use items::ScoredItem;
pub use progress::{IgnoreProgress, ImportObserver, ImportProgress};
pub use provenance::Provenance;
pub use reranker::{Reranker, candidates, rerank};
pub use search::{Passage, PassageItems, Query};
pub use source::{Source, Zammad};
pub use store::{Counts, SourceCounts};
