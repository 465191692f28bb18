//! Tests of preparser settings.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

#[test]
fn settings_have_the_names_of_old_configurations() {
    let read: PreparserSettings =
        serde_json::from_str(r#"{"enabled": true, "config": {"type": "table", "keep_rows": ["Anliegen"]}}"#)
            .unwrap();
    let config = TableSettings { keep_rows: vec!["Anliegen".into()], case_sensitive: false, value_column: 1 };
    assert_eq!(read, PreparserSettings { enabled: true, config: Some(Form::Table(config)) });
    assert!(serde_json::from_str::<PreparserSettings>(r#"{"config": {"type": "list"}}"#).is_err());
}
