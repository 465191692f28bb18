//! A hybrid tokenizer: the `tokenizers` crate's own steps over the vocabulary in its compact form, as a vocabulary
//! costs hundreds of MB there. It is slower than the compact form, but it covers any text and returns the places of
//! the tokens.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokenizers::models::wordlevel::WordLevelTrainer;
use tokenizers::{
    AddedToken, DecoderWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper, TokenizerImpl,
};

use super::definition::{Definition, section};
use super::error::TokenizeError;
use super::model::Model;
use super::packed::Packed;
use super::reference::{guarded, tokens};
use super::token::Token;
use super::{unigram, wordpiece};

/// The steps of a `tokenizer.json` without its model, as a section of the compact form (JSON).
#[derive(Serialize, Deserialize)]
pub(super) struct PipelineConfig {
    normalizer: Value,
    pre_tokenizer: Value,
    post_processor: Value,
    added: Vec<(AddedToken, u32)>,
    unknown: Option<String>,
}

impl PipelineConfig {
    pub(super) fn new(definition: &Definition) -> Self {
        Self {
            normalizer: definition.normalizer.clone(),
            pre_tokenizer: definition.pre_tokenizer.clone(),
            post_processor: definition.post_processor.clone(),
            added: definition.added.clone(),
            unknown: definition.model.unk_token.clone(),
        }
    }
}

/// The tokenizer.
pub(super) struct HybridTokenizer {
    inner: TokenizerImpl<
        Vocabulary,
        NormalizerWrapper,
        PreTokenizerWrapper,
        PostProcessorWrapper,
        DecoderWrapper,
    >,
}

impl HybridTokenizer {
    /// Builds it from an outline and the compact form's other sections; ids must be below `bound`.
    pub(super) fn new(config: &[u8], model: Model, packed: Arc<Packed>, bound: u32) -> Result<Self, String> {
        let config: PipelineConfig = serde_json::from_slice(config).map_err(|fault| fault.to_string())?;
        let PipelineConfig { normalizer, pre_tokenizer, post_processor, added, unknown } = config;
        if added.iter().any(|(_, id)| *id >= bound) {
            return Err("an added token's id is too large".to_owned());
        }
        let ids = added.iter().map(|(token, id)| (token.content.clone(), *id)).collect();
        let vocabulary = Vocabulary { model, packed, ids, unknown: unknown.unwrap_or_default() };
        let normalizer = section::<NormalizerWrapper>("normalizer", &normalizer)?;
        let pre_tokenizer = section::<PreTokenizerWrapper>("pre_tokenizer", &pre_tokenizer)?;
        let post_processor = section::<PostProcessorWrapper>("post_processor", &post_processor)?;
        guarded(|| {
            let mut inner = TokenizerImpl::new(vocabulary);
            inner.with_normalizer(normalizer).map_err(|fault| fault.to_string())?;
            inner.with_pre_tokenizer(pre_tokenizer);
            inner.with_post_processor(post_processor);
            let added = added.into_iter().map(|(token, _)| token);
            inner.add_tokens(added).map_err(|fault| fault.to_string())?;
            Ok(Self { inner })
        })
    }

    /// Appends a text's ids, without special tokens.
    pub(super) fn encode(&self, text: &str, ids: &mut Vec<u32>) -> Result<(), TokenizeError> {
        let encoding = guarded(|| self.inner.encode_fast(text, false).map_err(|fault| fault.to_string()))
            .map_err(TokenizeError::Reference)?;
        ids.extend_from_slice(encoding.get_ids());
        Ok(())
    }

    /// Returns a text's tokens with byte offsets into it.
    pub(super) fn tokens(&self, text: &str, special_tokens: bool) -> Result<Vec<Token>, TokenizeError> {
        guarded(|| self.inner.encode(text, special_tokens).map_err(|fault| fault.to_string()))
            .map(|encoding| tokens(text, &encoding))
            .map_err(TokenizeError::Reference)
    }
}

/// The compact form's pieces behind the crate's interface.
struct Vocabulary {
    model: Model,
    packed: Arc<Packed>,
    /// Of added tokens.
    ids: HashMap<String, u32>,
    unknown: String,
}

impl tokenizers::Model for Vocabulary {
    type Trainer = WordLevelTrainer;

    fn tokenize(&self, word: &str) -> tokenizers::Result<Vec<tokenizers::Token>> {
        let mut tokens = Vec::new();
        let mut start = 0;
        let mut put = |id, len| {
            let stop = start + len;
            let text = word.get(start..stop).unwrap_or_default();
            let value = match &self.model {
                Model::WordPiece(own) if own.is_unknown(id) => self.unknown.clone(),
                Model::WordPiece(_) if start > 0 => format!("##{text}"),
                _ => text.to_owned(),
            };
            tokens.push(tokenizers::Token::new(id, value, (start, stop)));
            start = stop;
        };
        match &self.model {
            Model::WordPiece(parameters) => wordpiece::word(parameters, &self.packed, word, &mut put),
            Model::Unigram(parameters) => unigram::word(parameters, &self.packed, word, &mut put),
        }
        Ok(tokens)
    }

    /// Returns the id of an added token; it is not called for others.
    fn token_to_id(&self, token: &str) -> Option<u32> {
        self.ids.get(token).copied()
    }

    fn id_to_token(&self, _: u32) -> Option<String> {
        None
    }

    fn get_vocab(&self) -> HashMap<String, u32> {
        self.ids.clone()
    }

    fn get_vocab_size(&self) -> usize {
        self.ids.len()
    }

    fn save(&self, _: &Path, _: Option<&str>) -> tokenizers::Result<Vec<PathBuf>> {
        Err("a compact vocabulary is not saved in this form".into())
    }

    fn get_trainer(&self) -> WordLevelTrainer {
        WordLevelTrainer::default()
    }
}
