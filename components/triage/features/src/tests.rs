//! Tests of feature rows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod steps;

use bulkhead_text::tokens::words;

use super::*;

const SETTINGS: FeatureSettings = FeatureSettings::words_and_characters(18);

fn length(row: &Row) -> f32 {
    row.values.iter().map(|value| value * value).sum::<f32>().sqrt()
}

#[test]
fn words_ignore_case_and_digits() {
    assert_eq!(words("Müll-Tonne, 12a/2026!"), ["müll", "tonne", "00a", "0000"]);
    assert_eq!(words(" \n"), Vec::<String>::new());
}

#[test]
fn rows_are_the_same_on_every_machine() {
    let row = FeatureSettings::words_only(18).row("Die Tonne");
    // FNV-1a of "wdie ", "wtonne " and "wdie tonne ", folded to 18 bits.
    let expected = ["wdie ", "wtonne ", "wdie tonne "].map(|text| {
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        (((hash >> 32) ^ hash) & 0x3ffff) as u32
    });
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(row.indices, expected);
    assert!(row.values.iter().all(|value| (value - 1.0 / 3_f32.sqrt()).abs() < 1e-6));
}

#[test]
fn rows_have_length_one_and_ascending_columns() {
    let row = SETTINGS.row("Unsere Tonne, unsere braune Tonne, wurde nicht geleert.");
    assert!((length(&row) - 1.0).abs() < 0.02, "length {}", length(&row));
    assert!(row.indices.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(row.indices.iter().all(|index| (*index as usize) < SETTINGS.columns()));
    assert_eq!(row, SETTINGS.row("unsere TONNE unsere braune tonne wurde nicht geleert"));
}

#[test]
fn wordless_text_has_empty_row() {
    assert_eq!(SETTINGS.row(" --- \n"), Row::default());
}

#[test]
fn misspelt_words_share_character_ngrams() {
    let [right, wrong, other] = ["Sperrmüll", "Spermüll", "Hundesteuer"].map(|text| SETTINGS.row(text));
    let shared = |one: &Row, two: &Row| one.indices.iter().filter(|i| two.indices.contains(i)).count();
    assert!(shared(&right, &wrong) > 6);
    assert_eq!(shared(&right, &other), 0);
}

#[test]
fn rows_become_compressed_sparse_rows() {
    let rows: Rows = [SETTINGS.row("eins"), Row::default(), SETTINGS.row("zwei drei")].into_iter().collect();
    assert_eq!(rows.offsets.len(), 4);
    assert_eq!(rows.offsets[1], rows.offsets[2]);
    assert_eq!(rows.offsets[3] as usize, rows.indices.len());
    assert_eq!(rows.indices.len(), rows.values.len());
}

#[test]
fn settings_are_checked() {
    assert_eq!(SETTINGS.check(), Ok(()));
    assert_eq!(FeatureSettings::words_only(18).check(), Ok(()));
    let other = FeatureSettings { version: 99, ..SETTINGS };
    assert_eq!(other.check(), Err(SettingsError::Version(99)));
    let wide = FeatureSettings { bits: 40, ..SETTINGS };
    assert_eq!(wide.check(), Err(SettingsError::Range { field: "bits", value: 40, least: 4, most: 22 }));
    let crossed = FeatureSettings { shortest: 6, ..SETTINGS };
    assert!(matches!(crossed.check(), Err(SettingsError::Range { field: "shortest", .. })));
}
