//! Tests of the catalogue.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::HashSet;

use super::*;

#[test]
fn catalogue_entries_are_unique() {
    let mut names = HashSet::new();
    for model in &MODELS {
        assert!(names.insert(model.name) && names.insert(model.id), "{} occurs twice", model.name);
        assert_eq!(model.id.rsplit('/').next(), Some(model.name), "folders are named by the id's last part");
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
}
