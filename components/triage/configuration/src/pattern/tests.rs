//! Tests of patterns.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

#[test]
fn patterns_that_cannot_be_used_are_refused() {
    let refused = |name: &str, pattern: &str| {
        Pattern::new(PatternSettings { name: name.into(), pattern: pattern.into(), kind: PatternType::Text })
            .unwrap_err()
    };
    assert_eq!(refused(" ", "x"), "has a blank name");
    assert_eq!(refused("a", "("), "does not compile: unclosed group");
    assert!(refused("a", "(?:(?:a{1000}){1000}){1000}").contains("limit"));
}
