//! Tests of the description of models that are loaded for it.

#![allow(clippy::unwrap_used)]

#[path = "../../../src/model/tests/static_toy.rs"]
mod static_toy;

use std::collections::HashMap;

use bulkhead_inference::progress::Silent;
use safetensors::tensor::TensorView;
use tempfile::TempDir;

use self::static_toy::{WORDS, toy_folder, write_toy};
use super::*;

#[test]
fn unservable_model_is_described_with_its_fault() {
    let folder = TempDir::new().unwrap();
    toy_folder(folder.path());
    let about = inspect_and_load(folder.path(), &mut Silent).unwrap();
    assert_eq!((about.dims, about.fault), (4, None));
    let path = folder.path().join("tokenizer.json");
    let tokenizer = std::fs::read_to_string(&path).unwrap();
    for (broken, reason) in [
        (String::new(), "tokenizer.json: "),
        (tokenizer.replace("\"[UNK]\":", "\"[unk]\":"), "unk_token `[UNK]` is not in the vocabulary"),
        (tokenizer.replace("\"day\":7", "\"day\":70"), "the tokenizer has 71 ids, the table 14 rows"),
    ] {
        std::fs::write(&path, broken).unwrap();
        let about = inspect_and_load(folder.path(), &mut Silent).unwrap();
        assert!(about.fault.as_ref().is_some_and(|fault| fault.contains(reason)), "{:?}", about.fault);
    }
    std::fs::write(&path, tokenizer).unwrap();
    write_toy(folder.path(), |_| [f32::NAN; 4]);
    let fault = inspect_and_load(folder.path(), &mut Silent).unwrap().fault.unwrap();
    assert!(fault.contains("model.safetensors: ") && fault.contains("not finite"), "{fault}");
    // A table of no columns has no dimensions to describe.
    let empty = TensorView::new(safetensors::Dtype::F32, vec![WORDS.len(), 0], &[]).unwrap();
    let weights = folder.path().join("model.safetensors");
    safetensors::serialize_to_file(HashMap::from([("embeddings", empty)]), None, &weights).unwrap();
    assert!(inspect_and_load(folder.path(), &mut Silent).unwrap_err().to_string().contains("it is empty"));
}
