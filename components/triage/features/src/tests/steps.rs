//! Tests that the work on features grows linearly with a ticket, of which at most 20,000 characters are read.

use bulkhead_steps::assert_linear_text;
use bulkhead_triage_configuration::preparser::{Form, PreparserSettings, TableSettings};

use crate::{FeatureSettings, MOST_READ, preparser};

#[test]
fn table_steps_grow_with_a_ticket() {
    let table = TableSettings { keep_rows: vec!["a".to_owned()], case_sensitive: false, value_column: 1 };
    let settings = PreparserSettings { enabled: true, config: Some(Form::Table(table)) };
    let units =
        [("", "|"), ("", "|a|b|\n"), ("", "\\|"), ("<table>", "<tr><td>a<td>b"), ("<table>", "<table>")];
    let test = concat!(module_path!(), "::table_steps_grow_with_a_ticket");
    assert_linear_text(test, MOST_READ, &units, |text| preparser::apply(&settings, text));
}

#[test]
fn feature_steps_grow_with_a_ticket() {
    let settings = FeatureSettings::words_and_characters(18);
    let units = [("", "a"), ("", "a "), ("", "Tonne "), ("", "\u{308}")];
    let test = concat!(module_path!(), "::feature_steps_grow_with_a_ticket");
    assert_linear_text(test, MOST_READ, &units, |text| settings.row(text));
}
