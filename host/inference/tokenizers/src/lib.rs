//! Tokenization: from text to token ids.
//!
//! The reference is the `tokenizers` crate. Two shapes that matter, WordPiece and Unigram, have a compact form of our
//! own, several times smaller and faster; it answers only where its result is the reference's. For all other text,
//! and for the places of tokens, a hybrid tokenizer combines its vocabulary with the reference's own steps; the
//! reference with its own vocabulary is loaded for other shapes only.

mod added;
mod characters;
mod charsmap;
mod compact;
mod definition;
mod error;
mod hybrid;
mod lattice;
mod model;
mod packed;
mod pair;
mod pair_template;
mod reference;
mod scratch;
#[cfg(test)]
mod steps;
#[cfg(test)]
mod tests;
mod token;
mod tokenizer;
#[cfg(test)]
mod toys;
mod trie;
mod unigram;
mod word_cache;
mod wordpiece;

pub use error::{OpenError, TokenizeError};
pub use pair::EncodedPair;
pub use token::Token;
pub use tokenizer::{EncodeOptions, Encoded, Tokenizer, TruncationSide};
