//! The definition in a `tokenizer.json`, read without building the tokenizer.
//!
//! The small sections are read by the reference's own types, so that a file which the reference would refuse
//! is refused here; the vocabulary is read into plain lists.

use std::collections::HashMap;
use std::fmt;

use base64::Engine;
use serde::de::{DeserializeOwned, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tokenizers::{
    AddedToken, DecoderWrapper, Encoding, NormalizerWrapper, PaddingParams, PostProcessor,
    PostProcessorWrapper, PreTokenizerWrapper, Token, TruncationParams,
};

use super::charsmap;
use super::pair_template::PairTemplate;
use super::reference::guarded;

/// One `tokenizer.json`.
pub(super) struct Definition {
    /// The normaliser as written; `Null` when absent.
    pub(super) normalizer: Value,
    /// The pre-tokenizer as written; `Null` when absent.
    pub(super) pre_tokenizer: Value,
    /// The post-processor as written; `Null` when absent.
    pub(super) post_processor: Value,
    /// The model.
    pub(super) model: Model,
    /// Added tokens in file order, with the ids that the reference gives them.
    pub(super) added: Vec<(AddedToken, u32)>,
    /// Ids of the special tokens before and after a text.
    pub(super) special: (Vec<u32>, Vec<u32>),
    /// The special tokens of two texts; `None` if it takes no pairs.
    pub(super) pair: Option<PairTemplate>,
    /// One more than the greatest id of the vocabulary and the added tokens, and of those and the special tokens.
    pub(super) id_bounds: (u32, u32),
}

/// The model's parameters and vocabulary; which of them count depends on `kind`.
#[derive(Deserialize)]
pub(super) struct Model {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) unk_token: Option<String>,
    pub(super) unk_id: Option<u32>,
    pub(super) continuing_subword_prefix: Option<String>,
    pub(super) max_input_chars_per_word: Option<usize>,
    #[serde(default)]
    pub(super) byte_fallback: Option<bool>,
    pub(super) vocab: Vocabulary,
}

/// A vocabulary: pieces with ids, or, in a list, pieces with scores whose place is their id.
pub(super) enum Vocabulary {
    /// Of WordPiece, WordLevel and BPE; of two equal pieces the last counts.
    Ids(HashMap<String, u32>),
    /// Of Unigram.
    Scores(Vec<(String, f64)>),
}

#[derive(Deserialize)]
struct File {
    version: Option<String>,
    #[serde(default)]
    truncation: Value,
    #[serde(default)]
    padding: Value,
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    #[serde(default)]
    post_processor: Value,
    #[serde(default)]
    decoder: Value,
    model: Model,
}

impl Definition {
    /// Reads a file's text.
    ///
    /// # Errors
    ///
    /// What the reference would refuse, in words.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let file: File = serde_json::from_slice(bytes).map_err(|fault| fault.to_string())?;
        if file.version.is_some_and(|version| version != "1.0") {
            return Err("version is not 1.0".to_owned());
        }
        section::<NormalizerWrapper>("normalizer", &file.normalizer)?;
        section::<TruncationParams>("truncation", &file.truncation)?;
        section::<PaddingParams>("padding", &file.padding)?;
        section::<PreTokenizerWrapper>("pre_tokenizer", &file.pre_tokenizer)?;
        section::<DecoderWrapper>("decoder", &file.decoder)?;
        let (special, pair) = match section::<PostProcessorWrapper>("post_processor", &file.post_processor)? {
            Some(processor) => (special_tokens(&processor)?, PairTemplate::of(&processor)),
            None => (Default::default(), Some(PairTemplate::plain())),
        };
        let added = file.model.vocab.ids_of(file.added_tokens)?;
        let greatest = file.model.vocab.greatest_id()?.max(added.iter().map(|(_, id)| *id).max());
        let of_pairs = pair.iter().flat_map(PairTemplate::ids);
        let special_greatest = special.0.iter().chain(&special.1).copied().chain(of_pairs).max();
        let bound = |id: Option<u32>| id.map_or(Some(0), |id| id.checked_add(1)).ok_or_else(too_many);
        Ok(Self {
            normalizer: file.normalizer,
            pre_tokenizer: file.pre_tokenizer,
            post_processor: file.post_processor,
            model: file.model,
            added,
            special,
            pair,
            id_bounds: (bound(greatest)?, bound(greatest.max(special_greatest))?),
        })
    }

    /// Returns the id of text that the vocabulary does not cover: `unk_id` for Unigram, else that of `unk_token`.
    ///
    /// # Errors
    ///
    /// When the token is not where the reference looks for it: with each text that needs it that would fail.
    pub(super) fn unknown_id(&self) -> Result<Option<u32>, String> {
        let kind = self.model.kind.as_deref();
        if kind == Some("Unigram") {
            return Ok(self.model.unk_id);
        }
        let Some(unknown) = &self.model.unk_token else { return Ok(None) };
        // Byte-level BPE never needs it.
        let by_vocabulary = matches!(kind, Some("WordPiece" | "WordLevel"));
        let mut added = self.added.iter().filter(|(token, _)| !by_vocabulary && token.content == *unknown);
        match added.next().map(|(_, id)| *id).or_else(|| self.model.vocab.id(unknown)) {
            Some(id) => Ok(Some(id)),
            None => Err(format!("unk_token `{unknown}` is not in the vocabulary")),
        }
    }
}

impl Vocabulary {
    /// Returns the id of a piece where pieces have ids; those with scores are in no order that could be searched.
    fn id(&self, piece: &str) -> Option<u32> {
        match self {
            Self::Ids(ids) => ids.get(piece).copied(),
            Self::Scores(_) => None,
        }
    }

    fn greatest_id(&self) -> Result<Option<u32>, String> {
        Ok(match self {
            Self::Ids(ids) => ids.values().copied().max(),
            Self::Scores(pieces) => u32::try_from(pieces.len()).map_err(|_| too_many())?.checked_sub(1),
        })
    }

    fn len(&self) -> usize {
        match self {
            Self::Ids(ids) => ids.len(),
            Self::Scores(pieces) => pieces.len(),
        }
    }

    /// Assigns ids as the reference does: an added token that the vocabulary has keeps its id there, the others
    /// continue from the vocabulary's size. The ids written next to them do not count; of two entries for one token
    /// the last does.
    fn ids_of(&self, tokens: Vec<AddedToken>) -> Result<Vec<(AddedToken, u32)>, String> {
        let mut next = u32::try_from(self.len()).map_err(|_| too_many())?;
        let mut added: Vec<(AddedToken, u32)> = Vec::with_capacity(tokens.len());
        let mut known: HashMap<String, usize> = HashMap::new();
        let places: HashMap<&str, u32> = match self {
            Self::Scores(pieces) => {
                (0u32..).zip(pieces).map(|(id, (piece, _))| (piece.as_str(), id)).collect()
            }
            Self::Ids(_) => HashMap::new(),
        };
        for token in tokens.into_iter().filter(|token| !token.content.is_empty()) {
            let place = known.get(&token.content).copied();
            if let Some((before, _)) = place.and_then(|place| added.get_mut(place)) {
                *before = token;
                continue;
            }
            let piece = self.id(&token.content).or_else(|| places.get(token.content.as_str()).copied());
            let id = match piece {
                Some(id) => id,
                None => {
                    let id = next;
                    next = next.checked_add(1).ok_or_else(too_many)?;
                    id
                }
            };
            known.insert(token.content.clone(), added.len());
            added.push((token, id));
        }
        Ok(added)
    }
}

fn too_many() -> String {
    "more than 2^32 pieces".to_owned()
}

/// Reads a section by the reference's own type; `None` for `Null`.
pub(super) fn section<T: DeserializeOwned>(name: &str, value: &Value) -> Result<Option<T>, String> {
    if !charsmaps_fit(value) {
        return Err(format!("{name}: a character map is cut off or is not text"));
    }
    guarded(|| serde_json::from_value(value.clone()).map_err(|fault| format!("{name}: {fault}")))
}

/// Returns whether each character map within a section is as long as it says: the reference reserves that much memory
/// before it looks.
fn charsmaps_fit(section: &Value) -> bool {
    match section {
        Value::Object(members) => members.iter().all(|(name, value)| match (name.as_str(), value) {
            ("precompiled_charsmap", Value::String(coded)) => {
                let blob = base64::engine::general_purpose::STANDARD.decode(coded);
                blob.is_ok_and(|blob| charsmap::split(&blob).is_some())
            }
            _ => charsmaps_fit(value),
        }),
        Value::Array(steps) => steps.iter().all(charsmaps_fit),
        _ => true,
    }
}

/// Asks the post-processor where it puts the special tokens, with a marker in the text's place.
fn special_tokens(processor: &PostProcessorWrapper) -> Result<(Vec<u32>, Vec<u32>), String> {
    let marker = u32::MAX;
    let text = Encoding::from_tokens(vec![Token::new(marker, "a".to_owned(), (0, 1))], 0);
    let whole = guarded(|| processor.process(text, None, true).map_err(|fault| fault.to_string()))?;
    let mut parts = whole.get_ids().split(|id| *id == marker);
    match (parts.next(), parts.next(), parts.next()) {
        (Some(before), Some(after), None) => Ok((before.to_vec(), after.to_vec())),
        _ => Err("post_processor: the text does not occur in it exactly once".to_owned()),
    }
}

impl<'de> Deserialize<'de> for Vocabulary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Vocabulary;

            fn expecting(&self, text: &mut fmt::Formatter) -> fmt::Result {
                text.write_str("pieces with ids, or a list of pieces with scores")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vocabulary, A::Error> {
                let mut ids = HashMap::new();
                while let Some((piece, id)) = map.next_entry()? {
                    ids.insert(piece, id);
                }
                Ok(Vocabulary::Ids(ids))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vocabulary, A::Error> {
                let mut pieces = Vec::new();
                while let Some(piece) = list.next_element()? {
                    pieces.push(piece);
                }
                Ok(Vocabulary::Scores(pieces))
            }
        }
        deserializer.deserialize_any(Either)
    }
}
