//! Tests of static models.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;

use super::*;
use crate::toy_tokenizer;
use bulkhead_tokenizers::{EncodeOptions, TruncationSide};

/// Returns the rows of the toy table: token `id` has `[id, 1, -id, 0.5]`.
fn table(ids: usize) -> Vec<f32> {
    (0..ids).flat_map(|id| [id as f32, 1.0, -(id as f32), 0.5]).collect()
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

type Parts<'a> = Vec<(&'a str, Dtype, Vec<usize>, Vec<u8>)>;

fn write_model(path: &Path, parts: &Parts) {
    let views: BTreeMap<_, _> = parts
        .iter()
        .map(|(name, dtype, shape, bytes)| (*name, TensorView::new(*dtype, shape.clone(), bytes).unwrap()))
        .collect();
    std::fs::write(path, safetensors::serialize(views, None).unwrap()).unwrap();
}

/// Creates a folder with the toy WordPiece tokenizer and the given tensors and configuration.
fn folder(parts: &Parts, config: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tokenizer.json"), toy_tokenizer::wordpiece()).unwrap();
    std::fs::write(folder.path().join("config.json"), config).unwrap();
    write_model(&folder.path().join("model.safetensors"), parts);
    folder
}

fn ids() -> usize {
    toy_tokenizer::WORDS.split_whitespace().count()
}

fn plain() -> Parts<'static> {
    vec![("embeddings", Dtype::F32, vec![ids(), 4], f32s(&table(ids())))]
}

fn embed(model: &StaticModel, text: &str, limit: usize) -> Vec<f32> {
    let (mut ids, mut out) = (Vec::new(), vec![9.0; model.dims()]);
    let options = EncodeOptions { limit, side: TruncationSide::Right, special_tokens: false };
    model.tokenizer().encode(text, options, &mut ids).unwrap();
    model.embed(&ids, &mut out).unwrap();
    out
}

fn open(parts: &Parts, config: &str) -> Result<StaticModel, LoadError> {
    open_folder(folder(parts, config).path())
}

fn open_folder(folder: &Path) -> Result<StaticModel, LoadError> {
    StaticModel::open(folder, Tokenizer::open(&layout::find(folder)?.tokenizer)?)
}

#[test]
fn text_is_cut_before_unknown_tokens_drop() {
    let model = open(&plain(), "{}").unwrap();
    assert_eq!((model.dims(), model.dtype()), (4, Dtype::F32));
    // hello 5, world 6; `xyz` is unknown and dropped, but it counts before the cut
    assert_eq!(embed(&model, "hello world", 9), [5.5, 1.0, -5.5, 0.5]);
    assert_eq!(embed(&model, "hello xyz world", 9), [5.5, 1.0, -5.5, 0.5]);
    assert_eq!(embed(&model, "hello xyz world", 2), [5.0, 1.0, -5.0, 0.5]);
    for nothing in ["", "xyz", "  \u{0}\u{301} "] {
        let mut zero = embed(&model, nothing, 9);
        assert_eq!(zero, [0.0; 4]);
        normalize(&mut zero);
        assert_eq!(zero, [0.0; 4]);
    }
}

#[test]
fn every_element_type_and_table_reads() {
    let values = table(ids());
    let wanted = embed(&open(&plain(), "{}").unwrap(), "hello worlds und", 9);
    let cases: [(&str, Dtype, Vec<u8>); 4] = [
        ("0", Dtype::F64, values.iter().flat_map(|value| f64::from(*value).to_le_bytes()).collect()),
        (
            "embedding.weight",
            Dtype::F16,
            values.iter().flat_map(|value| half::f16::from_f32(*value).to_le_bytes()).collect(),
        ),
        (
            "embeddings",
            Dtype::BF16,
            values.iter().flat_map(|value| half::bf16::from_f32(*value).to_le_bytes()).collect(),
        ),
        ("embeddings", Dtype::I8, values.iter().map(|value| *value as i8 as u8).collect()),
    ];
    for (name, dtype, bytes) in cases {
        // an odd tensor before it takes away any alignment
        let parts = vec![("Odd", Dtype::U8, vec![3], vec![1, 2, 3]), (name, dtype, vec![ids(), 4], bytes)];
        let vector = embed(&open(&parts, "{}").unwrap(), "hello worlds und", 9);
        let wanted =
            if dtype == Dtype::I8 { [wanted[0], 1.0, wanted[2], 0.0].to_vec() } else { wanted.clone() };
        assert_eq!(vector, wanted, "{dtype:?}");
    }
}

#[test]
fn mapping_and_weights_apply_by_token() {
    let mut mapping: Vec<i32> = (0..ids() as i32).map(|id| id % 3).collect();
    mapping[6] = 2;
    let mut weights = vec![1.0f64; ids()];
    weights[5] = 0.5;
    let small = |dtype, mapping: Vec<u8>, weights: Vec<u8>| -> Parts<'static> {
        vec![
            ("embeddings", Dtype::F32, vec![3, 4], f32s(&table(3))),
            ("mapping", dtype, vec![ids()], mapping),
            ("weights", Dtype::F64, vec![ids()], weights),
        ]
    };
    let weight_bytes: Vec<u8> = weights.iter().flat_map(|weight| weight.to_le_bytes()).collect();
    let narrow: Vec<u8> = mapping.iter().flat_map(|row| row.to_le_bytes()).collect();
    let wide: Vec<u8> = mapping.iter().flat_map(|row| i64::from(*row).to_le_bytes()).collect();
    for parts in [
        small(Dtype::I32, narrow.clone(), weight_bytes.clone()),
        small(Dtype::I64, wide, weight_bytes.clone()),
    ] {
        let model = open(&parts, "{}").unwrap();
        // hello: row 2 times 0.5; world: row 2
        assert_eq!(embed(&model, "hello world", 9), [1.5, 0.75, -1.5, 0.375]);
    }
    for (row, place) in [(-1i32, 9), (3, 9), (i32::MAX, 0)] {
        let mut bad = mapping.clone();
        bad[place] = row;
        let bad = bad.iter().flat_map(|row| row.to_le_bytes()).collect();
        let fault = open(&small(Dtype::I32, bad, weight_bytes.clone()), "{}").err().unwrap().to_string();
        assert!(fault.contains("model.safetensors") && fault.contains(&format!("row {row}")), "{fault}");
    }
}

#[test]
fn inconsistent_tensors_are_refused_at_load() {
    let cut = |parts: &mut Parts, shape: Vec<usize>| {
        let bytes = shape.iter().product::<usize>() * 4;
        parts[0].3.resize(bytes, 0);
        parts[0].2 = shape;
    };
    let mut few_rows = plain();
    cut(&mut few_rows, vec![ids() - 1, 4]);
    let mut flat = plain();
    cut(&mut flat, vec![ids() * 4]);
    let mut empty = plain();
    cut(&mut empty, vec![ids(), 0]);
    let mut few_weights = plain();
    few_weights.push(("weights", Dtype::F32, vec![ids() - 1], f32s(&vec![1.0; ids() - 1])));
    let mut odd_weights = plain();
    odd_weights.push(("weights", Dtype::I64, vec![1], vec![0; 8]));
    let mut odd_mapping = plain();
    odd_mapping.push(("mapping", Dtype::F32, vec![1], vec![0; 4]));
    let mut square_mapping = plain();
    square_mapping.push(("mapping", Dtype::I32, vec![1, 1], vec![0; 4]));
    let odd_table = vec![("embeddings", Dtype::I64, vec![ids(), 1], vec![0; ids() * 8])];
    let other_name = vec![("table", Dtype::F32, vec![1, 1], vec![0; 4])];
    for parts in
        [few_rows, flat, empty, few_weights, odd_weights, odd_mapping, square_mapping, odd_table, other_name]
    {
        let fault = open(&parts, "{}").err().unwrap().to_string();
        assert!(fault.contains("model.safetensors: "), "{fault}");
    }
    for config in ["", "[1]", r#"{"max_length":-1}"#] {
        assert!(open(&plain(), config).err().unwrap().to_string().contains("config.json: "));
    }
    let nowhere = open_folder(Path::new("/nonexistent")).err().unwrap();
    assert!(nowhere.to_string().contains("/nonexistent"));
}

/// One value among many, at any position and of any type.
#[test]
fn infinite_values_are_refused_at_load() {
    let refused = |parts: &Parts, tensor: &str| {
        let fault = open(parts, "{}").err().unwrap().to_string();
        let wanted = format!("model.safetensors: tensor `{tensor}` has values that are not finite");
        assert!(fault.ends_with(&wanted), "{fault}");
    };
    let encode = |dtype: Dtype, value: f64| match dtype {
        Dtype::F64 => value.to_le_bytes().to_vec(),
        Dtype::F32 => (value as f32).to_le_bytes().to_vec(),
        Dtype::F16 => half::f16::from_f64(value).to_le_bytes().to_vec(),
        _ => half::bf16::from_f64(value).to_le_bytes().to_vec(),
    };
    for dtype in [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::BF16] {
        for place in [0, 5, ids() * 4 - 1] {
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let values = table(ids()).into_iter().enumerate();
                let values = values.map(|(at, value)| if at == place { bad } else { f64::from(value) });
                let bytes = values.flat_map(|value| encode(dtype, value)).collect();
                refused(&vec![("embeddings", dtype, vec![ids(), 4], bytes)], "embeddings");
            }
        }
    }
    // Finite as it is stored, but beyond the range of f32.
    let bytes = (0..ids() * 4).flat_map(|_| 1e300f64.to_le_bytes()).collect();
    refused(&vec![("embeddings", Dtype::F64, vec![ids(), 4], bytes)], "embeddings");
    for bad in [f32::NAN, f32::INFINITY] {
        let mut weights = vec![1.0; ids()];
        weights[7] = bad;
        let mut parts = plain();
        parts.push(("weights", Dtype::F32, vec![ids()], f32s(&weights)));
        refused(&parts, "weights");
    }
}

#[test]
fn overflowing_sum_is_an_error() {
    let bytes = f32s(&vec![3e38; ids() * 4]);
    let model = open(&vec![("embeddings", Dtype::F32, vec![ids(), 4], bytes)], "{}").unwrap();
    assert_eq!(model.embed(&[5, 6], &mut [0.0; 4]), Err(StaticError::NotFinite));
    let mut vector = embed(&model, "hello", 9);
    assert_eq!(vector, [3e38; 4]);
    normalize(&mut vector);
    assert_eq!(vector, [0.5; 4]);
}

#[test]
fn the_configuration_decides_length() {
    for (config, length) in
        [("{}", Some(512)), (r#"{"max_length":64}"#, Some(64)), (r#"{"max_length":null,"other":[1]}"#, None)]
    {
        assert_eq!(open(&plain(), config).unwrap().max_length(), length);
    }
}

#[test]
fn all_layouts_are_found() {
    let fill = |folder: &Path| {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("tokenizer.json"), toy_tokenizer::wordpiece()).unwrap();
        write_model(&folder.join("model.safetensors"), &plain());
    };
    let name = "config_sentence_transformers.json";
    for (model, config, opened) in [
        (".", "config.json".to_owned(), "."),
        (".", name.to_owned(), "."),
        ("0_StaticEmbedding", name.to_owned(), "."),
        ("0_StaticEmbedding", name.to_owned(), "0_StaticEmbedding"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fill(&folder.path().join(model));
        std::fs::write(folder.path().join(config), "{}").unwrap();
        open_folder(&folder.path().join(opened)).unwrap();
    }
}

#[test]
fn ids_from_outside_are_checked() {
    let model = open(&plain(), "{}").unwrap();
    let id = ids() as u32;
    assert_eq!(model.embed(&[5, id], &mut [0.0; 4]), Err(StaticError::Id { id }));
    assert_eq!(model.embed(&[5], &mut [0.0; 3]), Err(StaticError::Dims { dims: 4, given: 3 }));
}

#[test]
fn the_tokenizer_may_be_mapped() {
    let folder = folder(&plain(), "{}");
    let model = open_folder(folder.path()).unwrap();
    let compact = folder.path().join("tokenizer.bin");
    std::fs::write(&compact, model.tokenizer().compact_bytes().unwrap()).unwrap();
    let tokenizer = Tokenizer::open_compact(&compact, &folder.path().join("tokenizer.json")).unwrap();
    let mapped = StaticModel::open(folder.path(), tokenizer).unwrap();
    assert_eq!(embed(&mapped, "hello xyz worlds", 9), embed(&model, "hello xyz worlds", 9));
}
