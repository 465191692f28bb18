//! Tests of the compact form as a file: it gives the same ids, and damage is harmless.

use std::sync::Arc;

use memmap2::Mmap;
use serde_json::json;

use super::super::toys::{Folder, metaspace, precompiled, unigram, wordpiece};
use super::super::*;
use super::{ALL, ids};

const TEXT: &str = "Hello, worlds! Das Straße unbelievable 中国 e\u{301}½ \u{0}#";

#[test]
fn mapped_form_equals_the_built_one() {
    for definition in [wordpiece(), unigram(precompiled(), metaspace(true), json!([]))] {
        let folder = Folder::new();
        let path = folder.write(&definition);
        let built = Tokenizer::open(&path).unwrap();
        let form = path.with_extension("bin");
        std::fs::write(&form, built.compact_bytes().unwrap()).unwrap();
        let mapped = Tokenizer::open_compact(&form, &path).unwrap();
        // within another file, at an odd place too
        let bytes = built.compact_bytes().unwrap();
        let larger = path.with_extension("large");
        std::fs::write(&larger, [b"12345678", bytes, b"123", bytes].concat()).unwrap();
        #[allow(unsafe_code)]
        // SAFETY: no other process knows the file.
        let map = Arc::new(unsafe { Mmap::map(&std::fs::File::open(&larger).unwrap()) }.unwrap());
        let second = 8 + bytes.len() + 3;
        let parts = [8..8 + bytes.len(), second..second + bytes.len()]
            .map(|place| Tokenizer::from_map(Arc::clone(&map), place, &larger, &path).unwrap());
        for options in [ALL, EncodeOptions { limit: 7, special_tokens: true, ..ALL }] {
            let wanted = ids(&built, TEXT, options);
            for tokenizer in parts.iter().chain([&mapped]) {
                assert_eq!(ids(tokenizer, TEXT, options), wanted);
                assert_eq!(tokenizer.compact_bytes(), built.compact_bytes());
                assert_eq!(tokenizer.tokens(TEXT, true).unwrap(), built.tokens(TEXT, true).unwrap());
                assert_eq!(tokenizer.unknown_id(), built.unknown_id());
                assert_eq!(tokenizer.id_bound(true), built.id_bound(true));
                assert!(!tokenizer.reference_loaded());
            }
        }
        assert!(Tokenizer::from_map(Arc::clone(&map), 8..usize::MAX, &larger, &path).is_err());
    }
}

#[test]
fn a_form_of_another_file_is_refused() {
    let folder = Folder::new();
    let path = folder.write(&wordpiece());
    let form = path.with_extension("bin");
    std::fs::write(&form, Tokenizer::open(&path).unwrap().compact_bytes().unwrap()).unwrap();
    folder.write(&(wordpiece() + " "));
    let fault = Tokenizer::open_compact(&form, &path).err().unwrap().to_string();
    assert!(fault.contains("tokenizer.bin") && fault.contains("tokenizer.json"), "{fault}");
    assert!(Tokenizer::open_compact(&path, &path).err().unwrap().to_string().contains("tokenizer.json"));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(Tokenizer::open_compact(&form, &path), Err(OpenError::Read { .. })));
}

#[test]
fn a_damaged_form_is_refused_or_harmless() {
    for definition in [wordpiece(), unigram(precompiled(), metaspace(true), json!([]))] {
        let folder = Folder::new();
        let path = folder.write(&definition);
        let form = path.with_extension("bin");
        let good = Tokenizer::open(&path).unwrap().compact_bytes().unwrap().to_vec();
        let mut state = 1u64;
        let mut refused = 0;
        for round in 0..600 {
            let mut bytes = good.clone();
            for _ in 0..=round % 5 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // half of the damage to the header, the facts and the first nodes
                let reach = if round % 2 == 0 { 2048.min(good.len()) } else { good.len() };
                bytes[(state >> 33) as usize % reach] = (state >> 20) as u8;
            }
            if round % 7 == 0 {
                bytes.truncate((state >> 33) as usize % good.len());
            }
            std::fs::write(&form, &bytes).unwrap();
            match Tokenizer::open_compact(&form, &path) {
                Err(fault) => {
                    assert!(fault.to_string().contains("tokenizer.bin"), "{fault}");
                    refused += 1;
                }
                Ok(tokenizer) => {
                    let mut ids = Vec::new();
                    let _ = tokenizer.encode(TEXT, ALL, &mut ids);
                    if let Ok(tokens) = tokenizer.tokens(TEXT, true) {
                        ids.extend(tokens.iter().filter(|token| !token.special).map(|token| token.id));
                    }
                    assert!(ids.iter().all(|id| *id < tokenizer.id_bound(true)));
                }
            }
        }
        assert!(refused > 100, "{refused}");
    }
}
