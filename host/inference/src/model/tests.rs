//! Tests of loaded models, and the toy models of other tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod static_toy;

use std::path::Path;

use tempfile::TempDir;

use self::static_toy::{toy_folder, write_toy};
use super::*;
use crate::encoder::tests::toy::Toy;
use crate::late_interaction::{self, tests::toy_file};
use crate::toy_tokenizer;

/// Loads the toy model as it is.
pub(crate) fn toy() -> Model {
    let folder = TempDir::new().unwrap();
    toy_folder(folder.path());
    Model::load(folder.path(), &LoadOptions::default()).unwrap()
}

/// Loads the toy model with vectors so long that the sum of two overflows.
pub(crate) fn huge() -> Model {
    let folder = TempDir::new().unwrap();
    write_toy(folder.path(), |_| [3e38; 4]);
    Model::load(folder.path(), &LoadOptions::default()).unwrap()
}

/// Loads the toy model in batches: `boom` panics, `fail` is an error.
pub(crate) fn faulty() -> Model {
    let Model { network: Network::Static(model), .. } = toy() else { panic!() };
    Model { network: Network::Faulty { model, panics_at: 12, fails_at: 13 }, ..toy() }
}

/// Loads an encoder with random weights.
pub(crate) fn encoder() -> Model {
    loaded(|_| {})
}

/// Loads the same, with vectors of tokens.
pub(crate) fn word_by_word() -> Model {
    loaded(|folder| std::fs::write(folder.join(late_interaction::FILE), toy_file(64)).unwrap())
}

fn loaded(prepare: impl FnOnce(&Path)) -> Model {
    let folder = TempDir::new().unwrap();
    Toy::default().write(folder.path());
    std::fs::write(folder.path().join("tokenizer.json"), toy_tokenizer::wordpiece()).unwrap();
    prepare(folder.path());
    Model::load(folder.path(), &LoadOptions::default()).unwrap()
}

fn embed(model: &Model, text: &str, options: &EmbedOptions) -> Vec<f32> {
    let ids = model.tokenize(text, options).unwrap().ids;
    let mut vector = vec![0.0; model.dims()];
    model.embed(&ids, &[0, ids.len()], &mut Scratch::default(), &mut vector).unwrap();
    model.finish(&mut vector, options).to_vec()
}

#[test]
fn static_model_is_described() {
    let model = toy();
    let about = model.description();
    assert_eq!((about.dims, about.max_input_length, about.pooling), (4, 512, "mean"));
    assert_eq!((about.dtype.as_str(), about.normalize), ("f32", false));
    assert_eq!(about.weights_sha256.len(), 64);
}

#[test]
fn a_caller_chooses_scale_length_and_prompt() {
    let model = toy();
    let plain = EmbedOptions::default();
    assert_eq!(embed(&model, "hello world", &plain), [4.5, 1.0, -4.5, 0.5]);
    let scaled = embed(&model, "hello", &EmbedOptions { normalize: Some(true), ..plain.clone() });
    assert!((scaled.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-6);
    let short = EmbedOptions { normalize: Some(true), dimensions: Some(2), ..plain.clone() };
    let cut = embed(&model, "hello", &short);
    assert_eq!(cut.len(), 2);
    assert!((cut.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-6, "scaled after the cut");
    let prompted = EmbedOptions { prompt: Some("hello ".into()), ..plain.clone() };
    assert_eq!(embed(&model, "world", &prompted), embed(&model, "hello world", &plain));
}

#[test]
fn long_text_is_cut_or_refused() {
    let folder = TempDir::new().unwrap();
    toy_folder(folder.path());
    let options = LoadOptions { max_input_length: Some(2), ..LoadOptions::default() };
    let model = Model::load(folder.path(), &options).unwrap();
    let plain = EmbedOptions::default();
    let cut = model.tokenize("hello world good", &plain).unwrap();
    assert_eq!((cut.ids.as_slice(), cut.truncated), ([4, 5].as_slice(), true));
    let left = EmbedOptions { side: TruncationSide::Left, ..plain.clone() };
    assert_eq!(model.tokenize("hello world good", &left).unwrap().ids, [5, 6]);
    let refused = EmbedOptions { refuse_long: true, ..plain };
    let error = model.tokenize("hello world good", &refused).unwrap_err();
    assert_eq!(error, TextError::TooLong { count: Some(3), limit: 2 });
    assert_eq!(error.to_string(), "it has 3 tokens, the limit is 2");
    // Not read to its end, so that the number of tokens is unknown.
    let error = model.tokenize(&"hello ".repeat(100_000), &refused).unwrap_err();
    assert_eq!(error.to_string(), "it has more than 2 tokens, the limit is 2");
    assert!(!model.tokenize("hello world", &refused).unwrap().truncated);
}

#[test]
fn broken_compact_tokenizer_is_replaced() {
    let (folder, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    toy_folder(folder.path());
    let options = LoadOptions { cache: Some(cache.path().to_owned()), ..LoadOptions::default() };
    let load =
        || embed(&Model::load(folder.path(), &options).unwrap(), "fair winds", &EmbedOptions::default());
    let first = load();
    let kept: Vec<_> = std::fs::read_dir(cache.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let whole = std::fs::read(&kept[0]).unwrap();
    assert_eq!(load(), first);
    std::fs::write(&kept[0], &whole[..whole.len() / 2]).unwrap();
    assert_eq!(load(), first);
    assert_eq!(std::fs::read(&kept[0]).unwrap(), whole);
}
