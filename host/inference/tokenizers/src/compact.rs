//! The compact forms, built from a definition or mapped from a file.

use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use memmap2::Mmap;
use serde::{Deserialize, Serialize};
use tokenizers::{NormalizedString, Normalizer, NormalizerWrapper};

use super::added::{Added, Part, Pattern};
use super::definition::Definition;
use super::error::OpenError;
use super::hybrid::{HybridTokenizer, PipelineConfig};
use super::model::Model;
use super::packed::Packed;
use super::pair_template::PairTemplate;
use super::reference::guarded;
use super::scratch::Scratch;
use super::{unigram, wordpiece};

/// A tokenizer in compact form.
pub(super) struct Compact {
    packed: Arc<Packed>,
    properties: Properties,
    shape: Shape,
    /// To be found in the text as it is, and in its normalised form.
    added: (Added, Added),
    /// The form's unique number in this process.
    number: u32,
    /// Built when a text needs it.
    hybrid: OnceLock<Option<HybridTokenizer>>,
}

/// Properties of the tokenizer as a whole, as the first section of the form (JSON).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Properties {
    /// Bytes of the `tokenizer.json` that the form was made from.
    pub(super) source_len: u64,
    pub(super) special: (Vec<u32>, Vec<u32>),
    pub(super) pair: Option<PairTemplate>,
    pub(super) unknown_id: Option<u32>,
    pub(super) id_bounds: (u32, u32),
    added: (Vec<Pattern>, Vec<Pattern>),
    model: Model,
}

/// Tables by byte, made from the sections when the form is opened.
enum Shape {
    WordPiece([u8; 128]),
    Unigram([unigram::Ascii; 128]),
}

/// Number of the section that holds the [`PipelineConfig`]: both shapes have four of their own before it.
const CONFIG: usize = 5;

/// Working memory above this many bytes of text is given back.
const KEPT_BYTES: usize = 64 << 10;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Compact {
    /// Builds a form, or says what in the definition has none.
    pub(super) fn build(definition: &Definition, source_len: u64) -> Result<Self, String> {
        let (model, mut sections) = match definition.model.kind.as_deref() {
            Some("WordPiece") => {
                wordpiece::build(definition).map(|(own, sections)| (Model::WordPiece(own), sections))?
            }
            Some("Unigram") => {
                unigram::build(definition).map(|(own, sections)| (Model::Unigram(own), sections))?
            }
            other => return Err(format!("model {}", other.unwrap_or("without type"))),
        };
        let properties = Properties {
            source_len,
            special: definition.special.clone(),
            pair: definition.pair.clone(),
            unknown_id: definition.unknown_id()?,
            id_bounds: definition.id_bounds,
            added: added(definition, &model)?,
            model,
        };
        sections.insert(0, serde_json::to_vec(&properties).map_err(|fault| fault.to_string())?);
        sections
            .push(serde_json::to_vec(&PipelineConfig::new(definition)).map_err(|fault| fault.to_string())?);
        let sections: Vec<&[u8]> = sections.iter().map(Vec::as_slice).collect();
        Self::new(Packed::new(&sections))
    }

    /// Maps a file of this form.
    pub(super) fn open(path: &Path) -> Result<Self, OpenError> {
        Self::new(Packed::open(path)?).map_err(|reason| OpenError::malformed(path, reason))
    }

    /// Takes a part of a mapped file.
    pub(super) fn from_map(map: Arc<Mmap>, place: Range<usize>) -> Result<Self, String> {
        Self::new(Packed::from_map(map, place)?)
    }

    fn new(packed: Packed) -> Result<Self, String> {
        let properties: Properties =
            serde_json::from_slice(packed.section(0)).map_err(|fault| fault.to_string())?;
        let bound = properties.id_bounds.0;
        let broken = || "a section of the compact tokenizer contradicts another".to_owned();
        let sound = match &properties.model {
            Model::WordPiece(parameters) => wordpiece::check(parameters, &packed, bound),
            Model::Unigram(parameters) => unigram::check(parameters, &packed, bound),
        };
        let added = properties.added.0.iter().chain(&properties.added.1);
        let ids = properties.special.0.iter().chain(&properties.special.1).chain(&properties.unknown_id);
        let pair = properties.pair.iter().flat_map(PairTemplate::ids);
        let is_outside = |id| id >= properties.id_bounds.1;
        let outside = ids.copied().chain(pair).chain(added.clone().map(|pattern| pattern.id)).any(is_outside);
        let empty = added.clone().any(|pattern| pattern.content.is_empty());
        if !sound || empty || bound > properties.id_bounds.1 || outside {
            return Err(broken());
        }
        let shape = match &properties.model {
            Model::WordPiece(_) => Shape::WordPiece(wordpiece::ascii(&packed).ok_or_else(broken)?),
            Model::Unigram(parameters) => Shape::Unigram(unigram::ascii(parameters, &packed)),
        };
        let added = (Added::new(properties.added.0.clone()), Added::new(properties.added.1.clone()));
        static NUMBERS: AtomicU32 = AtomicU32::new(1);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        Ok(Self { packed: Arc::new(packed), properties, shape, added, number, hybrid: OnceLock::new() })
    }

    /// Returns the tokenizer for what this form does not cover; `None` if it is damaged.
    pub(super) fn hybrid(&self) -> Option<&HybridTokenizer> {
        let build = || {
            let (model, packed) = (self.properties.model.clone(), Arc::clone(&self.packed));
            HybridTokenizer::new(self.packed.section(CONFIG), model, packed, self.properties.id_bounds.0)
                .inspect_err(|fault| tracing::warn!(fault, "a compact tokenizer does not cover all text"))
                .ok()
        };
        self.hybrid.get_or_init(build).as_ref()
    }

    pub(super) fn properties(&self) -> &Properties {
        &self.properties
    }

    /// Returns the form as it is written to a file.
    pub(super) fn bytes(&self) -> &[u8] {
        self.packed.bytes()
    }

    /// Appends a text's ids without special tokens; `None` (and nothing appended) if the text is not covered.
    pub(super) fn encode(&self, text: &str, ids: &mut Vec<u32>) -> Option<()> {
        let before = ids.len();
        let covered = SCRATCH.with_borrow_mut(|scratch| {
            let covered = match self.added.0.occurs(text.as_bytes()) {
                false => self.encode_part(text, scratch, ids),
                true => self.encode_parts(text, scratch, ids),
            };
            if scratch.text.capacity() > KEPT_BYTES || scratch.nodes.capacity() > KEPT_BYTES {
                (scratch.text, scratch.nodes) = Default::default();
            }
            covered
        });
        if covered.is_none() {
            ids.truncate(before);
        }
        covered
    }

    #[cold]
    fn encode_parts(&self, text: &str, scratch: &mut Scratch, ids: &mut Vec<u32>) -> Option<()> {
        for part in self.added.0.split(text) {
            match part {
                Part::Text(place) => self.encode_part(text.get(place)?, scratch, ids)?,
                Part::Token(id) => ids.push(id),
                Part::Unclear => return None,
            }
        }
        Some(())
    }

    /// Encodes text without added tokens.
    fn encode_part(&self, text: &str, scratch: &mut Scratch, ids: &mut Vec<u32>) -> Option<()> {
        match (&self.properties.model, &self.shape) {
            (Model::WordPiece(parameters), Shape::WordPiece(ascii)) => {
                wordpiece::encode(parameters, &self.packed, ascii, text, scratch, ids)?;
            }
            (Model::Unigram(parameters), Shape::Unigram(ascii)) => {
                unigram::encode(parameters, &self.packed, (ascii, self.number), text, scratch, ids)?;
            }
            _ => return None,
        }
        (!self.added.1.occurs(&scratch.text)).then_some(())
    }
}

/// Returns the added tokens to be found in a text as it is, and those to be found in its normalised form.
fn added(definition: &Definition, model: &Model) -> Result<(Vec<Pattern>, Vec<Pattern>), String> {
    let normalizer: Option<NormalizerWrapper> =
        serde_json::from_value(definition.normalizer.clone()).map_err(|fault| fault.to_string())?;
    let (mut raw, mut normalized) = (Vec::new(), Vec::new());
    for (token, id) in &definition.added {
        let uncovered = || format!("added token `{}`", token.content);
        let mut pattern = Pattern {
            content: token.content.clone(),
            id: *id,
            lstrip: token.lstrip,
            rstrip: token.rstrip,
            single_word: token.single_word,
        };
        if !token.normalized {
            if token.content.trim() != token.content {
                return Err(uncovered());
            }
            raw.push(pattern);
            continue;
        }
        let mut content = NormalizedString::from(token.content.as_str());
        if let Some(normalizer) = &normalizer {
            guarded(|| normalizer.normalize(&mut content).map_err(|fault| fault.to_string()))?;
        }
        let found_as = match model {
            Model::WordPiece(_) => Some(content.get().split_whitespace().collect()),
            Model::Unigram(parameters) => parameters.pattern(content.get()),
        };
        pattern.content = found_as.filter(|text: &String| !text.is_empty()).ok_or_else(uncovered)?;
        normalized.push(pattern);
    }
    Ok((raw, normalized))
}
