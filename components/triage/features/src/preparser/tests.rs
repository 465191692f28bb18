//! Tests of the preparser.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

const FORM: &str = "Formular\n\n| Feld | Wert |\n|---|:--:|\n| Anliegen | Tonne voll |\n| Name | Vogel |\n| anliegen | zwei | drei |\n\n| kein | Kopf |";

fn preparser(case_sensitive: bool) -> PreparserSettings {
    let config = TableSettings { keep_rows: vec!["Anliegen".into()], case_sensitive, value_column: 1 };
    PreparserSettings { enabled: true, config: Some(Form::Table(config)) }
}

#[test]
fn named_rows_become_blocks() {
    assert_eq!(apply(&preparser(true), FORM), "## Anliegen\nTonne voll");
    assert_eq!(apply(&preparser(false), FORM), "## Anliegen\nTonne voll\n\n## anliegen\nzwei | drei");
}

#[test]
fn tables_of_html_mails_are_forms() {
    let html = "<p>Formular</p><table><tr><th>Feld</th><th>Wert</th></tr><tr><td>Name</td><td>Max Muster</td></tr>\
                <tr><td>Anliegen</td><td>Mein <b>Pass</b><br>ist weg</td></tr></table>";
    assert_eq!(apply(&preparser(false), html), "## Anliegen\nMein Pass\nist weg");
}

#[test]
fn empty_row_is_dropped() {
    for text in [
        "| Feld | Wert |\n|---|---|\n| Anliegen |  |\n\nDie Tonne ist voll.",
        "<table><tr><td>Anliegen</td><td> </td></tr></table><p>Die Tonne ist voll.</p>",
    ] {
        assert_eq!(apply(&preparser(false), text), text);
    }
}

#[test]
fn other_texts_stay_as_they_are() {
    assert_eq!(apply(&PreparserSettings::default(), FORM), FORM);
    for text in ["Die Tonne ist voll.", "a | b\nAnliegen | x", "| A |\n|---|\n| B |", ""] {
        assert_eq!(apply(&preparser(false), text), text);
    }
}
