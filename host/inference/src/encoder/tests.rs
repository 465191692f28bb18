//! Tests of encoders against a plain f64 forward pass.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub(crate) mod reference;
pub(crate) mod toy;

use tempfile::tempdir;

use super::{Dtype, Encoder, EncoderOptions, Scratch};
use crate::error::{EmbedError, LoadError};
use crate::pooling::Pooling;
use bulkhead_kernels::Kernel;
use reference::cosine;
use toy::Toy;

/// Lengths that meet every path: one token, whole panels and not, short and long attention, two tiles.
const LENGTHS: [usize; 8] = [1, 3, 12, 16, 33, 47, 70, 128];

fn options(dtype: Dtype, kernel: Kernel) -> EncoderOptions {
    EncoderOptions { dtype, kernel: Some(kernel), cache: None }
}

fn texts(toy: &Toy, lengths: &[usize]) -> (Vec<u32>, Vec<usize>) {
    let mut ids = Vec::new();
    let mut offsets = vec![0];
    for length in lengths {
        for _ in 0..*length {
            ids.push((ids.len() * 7919 % toy.vocabulary) as u32);
        }
        offsets.push(ids.len());
    }
    (ids, offsets)
}

fn embed(encoder: &Encoder, ids: &[u32], offsets: &[usize], pooling: Pooling) -> Vec<f32> {
    let mut out = vec![0.0; (offsets.len() - 1) * encoder.dims()];
    encoder.embed(ids, offsets, pooling, &mut Scratch::new(), &mut out).unwrap();
    out
}

/// Compares every available kernel with the plain f64 forward pass.
fn agrees(toy: &Toy, least_f32: f64, least_int8: f64) {
    let folder = tempdir().unwrap();
    let weights = toy.write(folder.path());
    let (ids, offsets) = texts(toy, &LENGTHS);
    for pooling in [Pooling::Mean, Pooling::Cls, Pooling::Last] {
        let expected = reference::embed(toy, &weights, &ids, &offsets, pooling);
        for kernel in Kernel::available() {
            for (dtype, least) in [(Dtype::Float32, least_f32), (Dtype::Int8, least_int8)] {
                let encoder = Encoder::open(folder.path(), &options(dtype, kernel)).unwrap();
                let found = embed(&encoder, &ids, &offsets, pooling);
                for (text, (found, expected)) in
                    found.chunks(toy.hidden).zip(expected.chunks(toy.hidden)).enumerate()
                {
                    let cosine = cosine(found, expected);
                    assert!(cosine >= least, "{kernel} {dtype:?} {pooling:?} text {text}: {cosine}");
                }
            }
        }
    }
}

#[test]
fn agrees_with_f64() {
    agrees(&Toy::default(), 0.999_999, 0.99);
}

#[test]
fn sizes_of_no_round_number_agree() {
    agrees(&Toy { hidden: 36, heads: 3, inner: 50, ..Toy::default() }, 0.999_999, 0.98);
    agrees(&Toy { hidden: 4, heads: 2, inner: 7, vocabulary: 14, ..Toy::default() }, 0.999_99, 0.9);
}

#[test]
fn sizes_beyond_one_part_agree() {
    let toy = Toy { hidden: 448, heads: 7, inner: 848, layers: 1, positions: 130, ..Toy::default() };
    agrees(&toy, 0.999_999, 0.99);
}

#[test]
fn wide_heads_agree() {
    agrees(&Toy { hidden: 160, heads: 2, inner: 96, layers: 1, ..Toy::default() }, 0.999_999, 0.99);
}

#[test]
fn roberta_positions_start_after_padding() {
    let toy =
        Toy { architecture: "XLMRobertaModel", model_type: "xlm-roberta", pad: Some(1), ..Toy::default() };
    agrees(&toy, 0.999_999, 0.99);
    let folder = tempdir().unwrap();
    toy.write(folder.path());
    let encoder = Encoder::open(folder.path(), &EncoderOptions::default()).unwrap();
    assert_eq!(encoder.max_tokens(), toy.positions - 2);
}

#[test]
fn prefixes_old_names_and_activations_agree() {
    agrees(&Toy { prefix: "bert.", old_norms: true, ..Toy::default() }, 0.999_999, 0.99);
    agrees(&Toy { prefix: "roberta.", activation: "gelu_new", ..Toy::default() }, 0.999_999, 0.99);
    agrees(&Toy { activation: "relu", types: 0, ..Toy::default() }, 0.999_999, 0.99);
}

/// A vector depends on its text alone, to the last bit: alone, among others, in another order, in used scratch.
#[test]
fn batch_of_one_equals_batch_of_many() {
    let toy = Toy::default();
    let folder = tempdir().unwrap();
    toy.write(folder.path());
    let lengths: Vec<usize> = (0..60).map(|text| 1 + text * 13 % 97).collect();
    let (ids, offsets) = texts(&toy, &lengths);
    for kernel in Kernel::available() {
        for dtype in [Dtype::Float32, Dtype::Int8] {
            let encoder = Encoder::open(folder.path(), &options(dtype, kernel)).unwrap();
            let together = embed(&encoder, &ids, &offsets, Pooling::Mean);
            let mut scratch = Scratch::new();
            for text in (0..lengths.len()).rev() {
                let ids = &ids[offsets[text]..offsets[text + 1]];
                let mut alone = vec![0.0; toy.hidden];
                encoder.embed(ids, &[0, ids.len()], Pooling::Mean, &mut scratch, &mut alone).unwrap();
                let among = &together[text * toy.hidden..(text + 1) * toy.hidden];
                assert_eq!(alone, among, "{kernel} {dtype:?} text {text}");
            }
        }
    }
}

/// Hosts with different processors give one text one vector, if they have a fused product.
#[test]
fn kernels_give_the_same_bits() {
    for toy in [Toy::default(), Toy { hidden: 112, heads: 7, inner: 848, ..Toy::default() }] {
        let folder = tempdir().unwrap();
        toy.write(folder.path());
        let (ids, offsets) = texts(&toy, &LENGTHS);
        for dtype in [Dtype::Float32, Dtype::Int8] {
            let vectors = |kernel: Kernel| {
                let encoder = Encoder::open(folder.path(), &options(dtype, kernel)).unwrap();
                let vectors = embed(&encoder, &ids, &offsets, Pooling::Mean);
                vectors.into_iter().map(f32::to_bits).collect::<Vec<_>>()
            };
            let mut kernels = Kernel::available();
            kernels.retain(|kernel| *kernel != Kernel::Portable);
            for pair in kernels.windows(2) {
                assert_eq!(vectors(pair[0]), vectors(pair[1]), "{} and {}, {dtype:?}", pair[0], pair[1]);
            }
        }
    }
}

#[test]
fn poison_is_a_typed_error() {
    let toy = Toy::default();
    let folder = tempdir().unwrap();
    toy.write(folder.path());
    let encoder = Encoder::open(folder.path(), &EncoderOptions::default()).unwrap();
    let mut out = vec![0.0; 2 * toy.hidden];
    let mut embed = |ids: &[u32], offsets: &[usize]| {
        encoder.embed(ids, offsets, Pooling::Mean, &mut Scratch::new(), &mut out)
    };
    let vocabulary = toy.vocabulary;
    let id = vocabulary as u32;
    assert_eq!(embed(&[1, 2, id], &[0, 2, 3]), Err(EmbedError::Vocabulary { text: 1, id, vocabulary }));
    assert_eq!(
        embed(&[u32::MAX, 1], &[0, 1, 2]).map_err(|fault| fault.to_string()).unwrap_err(),
        format!("text 0: token id 4294967295 is not below the vocabulary's {vocabulary}")
    );
    assert_eq!(embed(&[1], &[0, 1, 1]), Err(EmbedError::Empty { text: 1 }));
    let long = vec![1; toy.positions + 2];
    let (tokens, limit) = (toy.positions + 1, toy.positions);
    assert_eq!(embed(&long, &[0, 1, limit + 2]), Err(EmbedError::TooLong { text: 1, tokens, limit }));
    for offsets in [&[0, 2, 1][..], &[1, 2, 3], &[0, 1, 2], &[0, 3], &[0, 1, 2, 3], &[], &[3], &[0, 7, 3]] {
        assert!(matches!(embed(&[1, 2, 3], offsets), Err(EmbedError::Shape { .. })), "{offsets:?}");
    }
    assert_eq!(embed(&[1, 2, 3], &[0, 2, 3]), Ok(()));
}

#[test]
fn no_text_is_no_vector() {
    let toy = Toy::default();
    let folder = tempdir().unwrap();
    toy.write(folder.path());
    let encoder = Encoder::open(folder.path(), &EncoderOptions::default()).unwrap();
    assert_eq!(encoder.embed(&[], &[0], Pooling::Mean, &mut Scratch::new(), &mut []), Ok(()));
}

fn refusal(toy: &Toy) -> LoadError {
    let folder = tempdir().unwrap();
    toy.write(folder.path());
    Encoder::open(folder.path(), &EncoderOptions::default()).err().expect("a refusal")
}

#[test]
fn other_architectures_are_refused_by_name() {
    for name in ["ElectraModel", "DebertaV2Model", "LlamaForCausalLM", "Nothing"] {
        let fault = refusal(&Toy { architecture: name, ..Toy::default() });
        assert!(
            matches!(&fault, LoadError::Architecture { architecture, .. } if architecture == name),
            "{fault}"
        );
        assert!(fault.to_string().contains("config.json"), "{fault}");
    }
}

#[test]
fn bad_configurations_are_refused() {
    let toy = Toy::default();
    for (found, instead) in [
        ("\"num_attention_heads\":2", "\"num_attention_heads\":0"),
        ("\"num_attention_heads\":2", "\"num_attention_heads\":5"),
        ("\"hidden_size\":64", "\"hidden_size\":18446744073709551615"),
        ("\"hidden_size\":64", "\"hidden_size\":-1"),
        ("\"layer_norm_eps\":1e-12", "\"layer_norm_eps\":0"),
        ("\"hidden_act\":\"gelu\"", "\"hidden_act\":\"swish\""),
        ("\"vocab_size\":100", "\"vocab_size\":101"),
        ("\"intermediate_size\":128", "\"intermediate_size\":129"),
        ("{", "["),
    ] {
        let folder = tempdir().unwrap();
        toy.write(folder.path());
        let path = folder.path().join("config.json");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(found), "{text}");
        std::fs::write(&path, text.replacen(found, instead, 1)).unwrap();
        let fault = Encoder::open(folder.path(), &EncoderOptions::default()).err().expect("a refusal");
        assert!(matches!(fault, LoadError::Malformed { .. }), "{instead}: {fault}");
    }
}

#[test]
fn bad_weights_are_refused() {
    let fault = refusal(&Toy { poison: Some(f32::NAN), ..Toy::default() });
    assert!(fault.to_string().contains("not finite"), "{fault}");
    let folder = tempdir().unwrap();
    Toy::default().write(folder.path());
    let path = folder.path().join("model.safetensors");
    let whole = std::fs::read(&path).unwrap();
    for length in [0, 7, 8, 100, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let fault = Encoder::open(folder.path(), &EncoderOptions::default()).err().expect("a refusal");
        assert!(fault.to_string().contains("model.safetensors"), "{fault}");
    }
    std::fs::remove_file(&path).unwrap();
    assert!(Encoder::open(folder.path(), &EncoderOptions::default()).is_err());
}

#[test]
fn a_kernel_of_another_processor_is_refused() {
    let folder = tempdir().unwrap();
    Toy::default().write(folder.path());
    let available = Kernel::available();
    for kernel in Kernel::ALL {
        let opened = Encoder::open(folder.path(), &options(Dtype::Int8, kernel));
        assert_eq!(opened.is_ok(), available.contains(&kernel));
    }
}
