//! The fuzz targets for files of models. A bad file is an error that names it, never a panic; what must hold for a
//! file that is taken is asserted.

use std::fs;
use std::path::{Path, PathBuf};

use bulkhead_inference::error::LoadError;
use bulkhead_inference::head::{Csr, Head};
use bulkhead_inference::model::{EmbedOptions, LoadOptions, Model, Scratch};
use bulkhead_inference::tensor_shape::{MOST_DIMENSIONS, shape};
use bulkhead_inference::tensors::Tensors;
use bulkhead_inference::tokenizer::{EncodeOptions, Tokenizer, TruncationSide};
use tempfile::TempDir;

/// What is done with a file.
pub type Body = fn(&[u8]);

/// The targets by name.
pub const TARGETS: [(&str, Body); 5] = [
    ("tokenizer_json", tokenizer_json),
    ("safetensors", safetensors),
    ("model2vec_folder", model2vec_folder),
    ("linear_head", linear_head),
    ("tensor_shape", tensor_shape),
];

/// Texts that meet a tokenizer's every part.
const TEXTS: [&str; 6] = [
    "",
    "Hello, worlds! [MASK] <mask>",
    "Straßenbahn über e\u{301}\u{308} 中国 ½ \u{200d}\u{1f3fd}",
    " \t\r\n\u{a0}\u{0}\u{1}\u{feff} a  b ",
    "\u{10ffff}\u{1d165}\u{1d16d} 한 ᄒ\u{1161}\u{11ab}",
    "unbelievableunbelievableunbelievableunbelievableunbelievable",
];

thread_local! {
    static FOLDER: TempDir = TempDir::new().expect("a temporary folder");
}

/// A path in this thread's folder.
fn place(name: &str) -> PathBuf {
    FOLDER.with(|folder| folder.path().join(name))
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = place(name);
    fs::write(&path, bytes).expect("room for the file");
    path
}

/// The value, if the file is taken; a refusal must name a file of the folder.
fn taken<T>(folder: &Path, result: Result<T, LoadError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(fault) => {
            let text = fault.to_string();
            assert!(text.contains(&folder.display().to_string()), "the file is not named: {text}");
            None
        }
    }
}

/// `tokenizer.json`: ids stay below the bound, and the compact form says what the reference says.
pub fn tokenizer_json(data: &[u8]) {
    let path = file("tokenizer.json", data);
    let Some(tokenizer) = taken(&path, Tokenizer::open(&path).map_err(LoadError::from)) else { return };
    let compact = tokenizer.compact_bytes().map(|form| {
        let form = file("tokenizer.compact", form);
        Tokenizer::open_compact(&form, &path).expect("a form just made")
    });
    for text in TEXTS {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for (limit, special_tokens) in [(4, true), (usize::MAX, false)] {
            let options = EncodeOptions { limit, side: TruncationSide::Left, special_tokens };
            let mut ids = Vec::new();
            if let Ok(encoded) = tokenizer.encode(text, options, &mut ids) {
                assert!(encoded.kept == ids.len() && ids.len() <= limit);
                let bound = tokenizer.id_bound(special_tokens);
                assert!(ids.iter().all(|id| *id < bound), "an id of {ids:?} is not below {bound}");
            }
        }
        if tokenizer.encode_by_reference(text, &mut theirs).is_ok()
            && tokenizer.encode_by_compact(text, &mut ours)
        {
            assert_eq!(ours, theirs, "{text:?}");
        }
        if let (Some(compact), Ok(tokens)) = (&compact, tokenizer.tokens(text, true)) {
            assert_eq!(compact.tokens(text, true).ok(), Some(tokens), "{text:?}");
        }
    }
}

/// A safetensors file or, where it begins with `{`, a list of such.
pub fn safetensors(data: &[u8]) {
    let list = data.first() == Some(&b'{');
    let path = match list {
        true => {
            file("model-00001-of-00001.safetensors", include_bytes!("../samples/safetensors/tensors"));
            file("model.safetensors.index.json", data)
        }
        false => file("model.safetensors", data),
    };
    let Some(tensors) = taken(path.parent().unwrap_or(&path), Tensors::open(&path)) else { return };
    for name in tensors.names() {
        let tensor = tensors.get(&name).expect("a tensor that is named");
        let place = tensors.locate(&name).expect("a tensor that is named");
        assert_eq!(tensors.slice(&place), tensor.bytes);
        if let Some(numbers) = tensor.to_f32() {
            assert_eq!(numbers.len(), tensor.shape.iter().product::<usize>());
        }
        assert!(tensors.require(&name, tensor.shape).is_ok());
    }
}

/// A static model: `config.json`, a zero byte, `model.safetensors`; beside a tokenizer that is always the same.
pub fn model2vec_folder(data: &[u8]) {
    let folder = place("model");
    fs::create_dir_all(&folder).expect("a folder");
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let (config, weights) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    file("model/config.json", config);
    file("model/model.safetensors", weights);
    file("model/tokenizer.json", include_bytes!("../samples/tokenizer_json/unigram.json"));
    let Some(model) = taken(&folder, Model::load(&folder, &LoadOptions::default())) else { return };
    for text in TEXTS {
        let options = EmbedOptions::default();
        let ids = model.tokenize(text, &options).expect("a sound tokenizer").ids;
        let mut vector = vec![0.0; model.width()];
        model.embed(&ids, &[0, ids.len()], &mut Scratch::default(), &mut vector).expect("ids of the model");
        assert_eq!(model.finish(&mut vector, &options).len(), model.dims());
    }
}

/// A linear head: whatever is taken gives probabilities, and is the same when written and read again.
pub fn linear_head(data: &[u8]) {
    let path = file("head.safetensors", data);
    let Some(head) = taken(&path, Head::load(&path)) else { return };
    let dims = head.record().dims;
    for number in [0.0, -1.0, f32::MAX] {
        let last = u32::try_from(head.features()).unwrap_or(u32::MAX).saturating_sub(1);
        let features = Csr { indices: &[0, last], values: &[number; 2], offsets: &[0, 2] };
        let sparse = (head.features() > 0).then_some(features);
        let probabilities = head.predict(&vec![number; dims], sparse).expect("input that fits");
        assert_eq!(probabilities.len(), head.record().labels.len());
        assert!(probabilities.iter().all(|one| (0.0..=1.0).contains(one)), "{probabilities:?}");
    }
    let again = place("again.safetensors");
    head.write(&again).expect("room for the file");
    assert_eq!(Head::load(&again).expect("a head just written"), head);
}

/// A tensor's shape: number of dimensions, each as four bytes, bytes of an element, length in eight bytes.
pub fn tensor_shape(data: &[u8]) {
    let Some((count, rest)) = data.split_first() else { return };
    let Some((sizes, rest)) = rest.split_at_checked(usize::from(count % 8) * 4) else { return };
    let dimensions: Vec<u32> = sizes.as_chunks().0.iter().map(|size| u32::from_le_bytes(*size)).collect();
    let Some((element_bytes, length)) = rest.split_first() else { return };
    let (element_bytes, length) =
        (1 << (element_bytes % 4), length.first_chunk().copied().unwrap_or_default());
    let length = usize::from_le_bytes(length);
    let product = dimensions
        .iter()
        .try_fold(element_bytes as u128, |product, size| product.checked_mul(u128::from(*size)));
    let fits = dimensions.len() <= MOST_DIMENSIONS && product == Some(length as u128);
    let found = [
        shape::<0>(&dimensions, element_bytes, length).is_ok(),
        shape::<1>(&dimensions, element_bytes, length).is_ok(),
        shape::<2>(&dimensions, element_bytes, length).is_ok(),
        shape::<3>(&dimensions, element_bytes, length).is_ok(),
        shape::<4>(&dimensions, element_bytes, length).is_ok(),
    ];
    for (wanted, found) in found.into_iter().enumerate() {
        assert_eq!(
            found,
            fits && wanted == dimensions.len(),
            "{dimensions:?} of {element_bytes}, {length} bytes"
        );
    }
}
