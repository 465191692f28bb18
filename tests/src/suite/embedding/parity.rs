//! Vectors against references: ONNX Runtime in fp32 for encoders, Python `model2vec` for static models. The texts, the
//! references and the script that made them are in `tests/data/embedding`.

use std::{
    path::Path,
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use bulkhead_inference::{
    encoder::Dtype,
    engine::{Caller, Embedded, Engine, EngineOptions, Input, Request},
    kernels::Kernel,
    model::{EmbedOptions, LoadOptions, Model},
};
use bulkhead_sources::catalog::{KnownModel, known};
use bulkhead_tests::pulled::{TOKENLEARN, models_folder, pulled};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// Texts of a request; one of many.
const MANY: usize = 64;
/// Each such text is also embedded alone.
const ALONE: usize = 5;
/// For the whole of a model's texts on the slowest kernel of a busy machine.
const PATIENCE: Duration = Duration::from_secs(3600);
/// Least cosines, worst and mean: what rounding to f32 leaves, and what eight bits leave.
const EXACT: [f64; 2] = [0.9999, 0.9999];
const EIGHT_BITS: [f64; 2] = [0.99, 0.995];

/// For all tests together: one thread, since other tests want the processors too.
static ENGINE: LazyLock<Engine> =
    LazyLock::new(|| Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap());

/// What a model's texts should come to.
#[derive(Deserialize)]
struct Reference {
    wheel_sha256: String,
    weights_sha256: String,
    texts_sha256: String,
    dims: usize,
    /// Of each text, after the cut.
    tokens: Vec<usize>,
    #[serde(skip)]
    texts: Vec<String>,
    /// `[texts, dims]`, each of length 32767 or 0.
    #[serde(skip)]
    vectors: Vec<i16>,
}

impl Reference {
    fn read(model: &KnownModel) -> Self {
        let file = |name: &str| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/embedding").join(name);
            std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let mut read: Self = serde_json::from_slice(&file(&format!("{}.json", model.name))).unwrap();
        let texts = file("texts.json");
        let remedy = "run tests/data/embedding/reference.py again";
        assert_eq!(read.texts_sha256, hex::encode(Sha256::digest(&texts)), "other texts, {remedy}");
        assert_eq!(read.wheel_sha256, model.wheel_sha256, "another wheel, {remedy}");
        assert_eq!(read.dims, model.dims);
        read.texts = serde_json::from_slice(&texts).unwrap();
        let bytes = file(&format!("{}.i16", model.name));
        read.vectors = bytes.as_chunks().0.iter().map(|bytes| i16::from_le_bytes(*bytes)).collect();
        assert_eq!(
            (read.texts.len(), read.vectors.len()),
            (read.tokens.len(), read.tokens.len() * read.dims)
        );
        assert!(read.texts.len() >= 500);
        read
    }

    /// Places of the texts that a kernel is tried with: all for the one that is served with, else some of
    /// the short ones and the longest.
    fn places(&self, kernel: Kernel) -> Vec<usize> {
        let all = 0..self.texts.len();
        if kernel == Kernel::detect() {
            return all.collect();
        }
        let longest = all.clone().max_by_key(|place| self.tokens[*place]).unwrap();
        let part = all.filter(|place| place % 6 == 0 && self.tokens[*place] <= 40);
        part.chain([longest]).collect()
    }

    /// Asserts that `vectors` of the texts at `places` are as close as `least` says.
    fn assert_close(&self, what: &str, places: &[usize], vectors: &[f32], least: [f64; 2]) {
        assert_eq!(vectors.len(), places.len() * self.dims, "{what}");
        let (mut sum, mut count, mut far) = (0.0, 0, Vec::new());
        for (place, vector) in places.iter().zip(vectors.chunks_exact(self.dims)) {
            let wanted = &self.vectors[place * self.dims..][..self.dims];
            let (wanted, text) = (wanted.iter().map(|x| f64::from(*x)), &self.texts[*place]);
            let found = vector.iter().map(|x| f64::from(*x));
            let square = |vector: &mut dyn Iterator<Item = f64>| vector.map(|x| x * x).sum::<f64>();
            let lengths = [square(&mut wanted.clone()), square(&mut found.clone())];
            if lengths[0] == 0.0 {
                assert_eq!(lengths[1], 0.0, "{what}: {text:?} has no known token");
                continue;
            }
            let cosine =
                wanted.zip(found).map(|(a, b)| a * b).sum::<f64>() / (lengths[0] * lengths[1]).sqrt();
            (sum, count) = (sum + cosine, count + 1);
            // A vector that is not a number is far, too.
            if cosine.is_nan() || cosine < least[0] {
                far.push(format!("{cosine:.5} {text:?}"));
            }
        }
        assert!(far.is_empty(), "{what}: cosine below {}:\n{}", least[0], far.join("\n"));
        let mean = sum / f64::from(count);
        assert!(mean >= least[1], "{what}: mean cosine {mean}, wanted at least {}", least[1]);
    }
}

/// Loads a model, what it packs into `cache`: not where an earlier build may have left it.
fn load(folder: &Path, cache: &TempDir, dtype: Dtype, kernel: Option<Kernel>) -> Arc<Model> {
    let cache = Some(cache.path().to_owned());
    let options = LoadOptions { dtype, kernel, cache, ..LoadOptions::default() };
    Arc::new(Model::load(folder, &options).unwrap())
}

/// Embeds texts in requests of `many`, one request after the other.
fn embed(model: &Arc<Model>, texts: &[&String], many: usize) -> Embedded {
    let mut all = Embedded::default();
    for texts in texts.chunks(many) {
        let texts = texts.iter().map(|text| Input::Text((*text).clone())).collect();
        let deadline = Instant::now() + PATIENCE;
        let options = EmbedOptions::default();
        let request = Request { texts, options, deadline, caller: Caller::HOST };
        let embedded = ENGINE.embed(model, request).unwrap().wait().unwrap();
        all.vectors.extend(embedded.vectors);
        all.tokens += embedded.tokens;
    }
    all
}

/// Compares all that a model does with its reference.
fn assert_parity(what: &str, model: &Arc<Model>, reference: &Reference, kernel: Kernel, least: [f64; 2]) {
    assert_eq!(model.description().weights_sha256, reference.weights_sha256, "{what}");
    let places = reference.places(kernel);
    let texts: Vec<&String> = places.iter().map(|place| &reference.texts[*place]).collect();
    let embedded = embed(model, &texts, MANY);
    let tokens: usize = places.iter().map(|place| reference.tokens[*place]).sum();
    assert_eq!(embedded.tokens, tokens, "{what}");
    reference.assert_close(what, &places, &embedded.vectors, least);

    let rows = embedded.vectors.chunks_exact(reference.dims);
    let some = texts.iter().copied().zip(rows).step_by(ALONE);
    let (texts, rows): (Vec<_>, Vec<_>) = some.unzip();
    let alone = embed(model, &texts, 1);
    let differs = alone.vectors.chunks_exact(reference.dims).zip(&rows).position(|(one, row)| one != *row);
    assert_eq!(differs.map(|place| texts[place]), None, "{what}: its vector depends on its batch");
}

fn assert_tokens(model: &Model, reference: &Reference) {
    for (text, wanted) in reference.texts.iter().zip(&reference.tokens) {
        let found = model.tokenize(text, &EmbedOptions::default()).unwrap().ids.len();
        assert_eq!(found, *wanted, "tokens of {text:?}");
    }
}

fn encoder(name: &str) {
    let model = known(name).unwrap();
    let (reference, folder) = (Reference::read(model), pulled(model));
    let cache = TempDir::new_in(models_folder()).unwrap();
    assert_tokens(&load(&folder, &cache, Dtype::Int8, None), &reference);
    for kernel in Kernel::available() {
        for (dtype, least) in [(Dtype::Int8, EIGHT_BITS), (Dtype::Float32, EXACT)] {
            let what = format!("{name}, {}, {kernel}", dtype.name());
            let model = load(&folder, &cache, dtype, Some(kernel));
            assert_parity(&what, &model, &reference, kernel, least);
        }
    }
}

fn static_model(model: &KnownModel) {
    let (reference, folder) = (Reference::read(model), pulled(model));
    let cache = TempDir::new_in(models_folder()).unwrap();
    let loaded = load(&folder, &cache, Dtype::default(), None);
    assert_tokens(&loaded, &reference);
    assert_parity(model.name, &loaded, &reference, Kernel::detect(), EXACT);
}

#[test]
fn multilingual_e5_small_equals_onnx_runtime() {
    encoder("multilingual-e5-small");
}

#[test]
fn all_minilm_l6_v2_equals_onnx_runtime() {
    encoder("all-MiniLM-L6-v2");
}

#[test]
fn potion_base_8m_is_as_in_model2vec() {
    static_model(known("potion-base-8M").unwrap());
}

#[test]
fn quantised_unigram_model_equals_model2vec() {
    static_model(&TOKENLEARN);
}
