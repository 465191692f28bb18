//! The special tokens around two texts, and which of all tokens are of the second type.

use serde::{Deserialize, Serialize};
use tokenizers::{Encoding, PostProcessor, PostProcessorWrapper, Token};

use super::reference::guarded;

/// Ids that stand for the two texts while the post-processor is asked; no vocabulary has them.
const MARKERS: [u32; 2] = [u32::MAX, u32::MAX - 1];

/// The special tokens around two texts. Token types are 0 from the first token on and 1 up to the last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PairTemplate {
    pub(super) before: Vec<u32>,
    pub(super) between: Vec<u32>,
    pub(super) after: Vec<u32>,
    /// How many of `between` and of `after` are of type 1; they are the last.
    pub(super) ones: (usize, usize),
    /// Whether the second text's tokens are of type 1.
    pub(super) second_is_one: bool,
}

impl PairTemplate {
    /// Asks the post-processor where it puts the special tokens, with a marker in the place of each text; `None` if it has
    /// no place for two, or types in another order.
    pub(super) fn of(processor: &PostProcessorWrapper) -> Option<Self> {
        let [first, second] = MARKERS;
        let text = |id, kind| Encoding::from_tokens(vec![Token::new(id, "a".to_owned(), (0, 1))], kind);
        let pair = || processor.process(text(first, 0), Some(text(second, 1)), true);
        let whole = guarded(|| pair().map_err(|fault| fault.to_string())).ok()?;
        let (ids, types) = (whole.get_ids(), whole.get_type_ids());
        let places = MARKERS.map(|marker| ids.iter().position(|id| *id == marker));
        let [Some(at), Some(other)] = places else { return None };
        let once = |marker: u32| ids.iter().filter(|id| **id == marker).count() == 1;
        if at > other || !MARKERS.into_iter().all(once) || !types.is_sorted() || types.len() != ids.len() {
            return None;
        }
        if types.iter().any(|kind| *kind > 1) || types.get(at) != Some(&0) {
            return None;
        }
        let part = |from: usize, to: usize| ids.get(from..to).unwrap_or_default().to_vec();
        let ones = |from: usize, to: usize| {
            types.get(from..to).unwrap_or_default().iter().filter(|kind| **kind == 1).count()
        };
        Some(Self {
            before: part(0, at),
            between: part(at + 1, other),
            after: part(other + 1, ids.len()),
            ones: (ones(at + 1, other), ones(other + 1, ids.len())),
            second_is_one: types.get(other) == Some(&1),
        })
    }

    /// Returns the template of a tokenizer without a post-processor: one text after the other.
    pub(super) fn plain() -> Self {
        Self { second_is_one: true, ..Self::default() }
    }

    /// Returns the ids of the special tokens.
    pub(super) fn ids(&self) -> impl Iterator<Item = u32> {
        self.before.iter().chain(&self.between).chain(&self.after).copied()
    }
}
