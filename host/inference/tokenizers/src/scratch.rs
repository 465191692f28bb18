//! Working memory of the compact forms.

use super::lattice::Node;
use super::word_cache::WordCache;

/// Working memory of a text; kept for each thread.
#[derive(Default)]
pub(super) struct Scratch {
    /// The normalised text; see the two `encode` functions.
    pub(super) text: Vec<u8>,
    pub(super) nodes: Vec<Node>,
    pub(super) cache: WordCache,
}
