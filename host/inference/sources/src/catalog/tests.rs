//! Tests of the catalogue.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::HashSet;

use super::*;

#[test]
fn catalogue_entries_are_unique() {
    let mut names = HashSet::new();
    for model in &MODELS {
        assert!(names.insert(model.name) && names.insert(model.id), "{} occurs twice", model.name);
        let named = model.original.unwrap_or(model.id);
        assert_eq!(named.rsplit('/').next(), Some(model.name), "folders are named by the id's last part");
        assert_eq!(model.original.and_then(known), None, "an id names one set of weights");
        assert_eq!(model.wheel_sha256.len(), 64);
        assert!(model.wheel_sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
        assert!(!model.inside.starts_with('/') && !model.inside.ends_with('/'));
    }
    assert_eq!(MODELS[0].id, DEFAULT_MODEL);
}

#[test]
fn models_are_found_by_name_or_id() {
    assert_eq!(known("potion-base-8M"), known("minishlab/potion-base-8M"));
    assert!(known("potion-base-8M").is_some());
    assert_eq!(known("Potion-base-8m"), None);
    assert_eq!(known(""), None);
    assert_eq!(with_id("potion-base-8M"), None);
    assert_eq!(with_id(DEFAULT_MODEL), known("multilingual-e5-small"));
    assert_eq!(repack_of("intfloat/multilingual-e5-small"), Some(&MODELS[0]));
    assert_eq!(repack_of(DEFAULT_MODEL), None);
}

#[test]
fn hub_has_its_own_weights_alone() {
    let on_hub: Vec<&str> = MODELS.iter().filter(|model| model.is_on_hub()).map(|model| model.name).collect();
    assert_eq!(on_hub, ["potion-base-8M", "all-MiniLM-L6-v2"]);
}
