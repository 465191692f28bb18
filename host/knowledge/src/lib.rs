//! A knowledge base for answering tickets: documents in passages, found by their words and by their meaning.
//!
//! Layers; each uses only the layers below it:
//!
//! - `evaluation`: figures of a base, and the parameters of its relevance
//! - `base`: an opened knowledge base
//! - `import`: a source as a new state of the base
//! - `search`: words and vectors fused into one order, with a calibrated relevance; `late_interaction` compares questions and
//!   passages word by word, `reranker` orders what was found by a model that reads question and passage together
//! - `index`: the in-memory index of one state: vectors, vocabulary, categories
//! - `store`: the tables, in SQLite or PostgreSQL
//! - `source`: where documents come from: folders, JSON lines, Zammad
//! - `document`, `error`, `embedder`: shared types
//! - `text`: plain text; `chunk`, `items` and `words` are its passages, its sentences, list items and table rows, and its terms

mod base;
mod document;
mod embedder;
mod error;
pub mod evaluation;
mod import;
mod index;
mod search;
mod source;
mod store;
mod text;

pub use base::{KnowledgeBase, Mode};
pub use document::{Document, Refused};
pub use embedder::provenance::Provenance;
pub use embedder::{Embedder, Embedding, TokenVectors};
pub use error::Error;
pub use import::progress::{IgnoreProgress, ImportObserver, ImportProgress};
pub use import::{ImportOptions, ImportReport};
pub use search::reranker::{Reranker, candidates, rerank};
pub use search::{Passage, PassageItems, Query};
pub use source::{Source, Zammad};
pub use store::{Counts, SourceCounts};
pub use text::chunk::ChunkSize;
pub use text::items::ScoredItem;
