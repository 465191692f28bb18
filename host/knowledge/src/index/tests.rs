use super::*;
use crate::provenance::Provenance;

fn index(vectors: &[[f32; 3]]) -> Index {
    let provenance = Provenance {
        model: "toy".into(),
        weights_sha256: "0".into(),
        dtype: "float32".into(),
        prompt: None,
        dims: 3,
    };
    let entries = (0..).zip(vectors).map(|(number, vector)| Entry {
        number: 10 + number,
        document: number / 2,
        terms: "a\nb b".into(),
        vector: encode(&direction(vector).unwrap()),
    });
    Index::new(Head { generation: 1, provenance: Some(provenance) }, &entries.collect::<Vec<_>>()).unwrap()
}

#[test]
fn the_nearest_come_first_and_categories_filter() {
    let mut index =
        index(&[[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 5.0], [-1.0, 0.0, 0.0]]);
    assert_eq!(index.nearest(&[1.0, 0.0, 0.0], &[], 3), [10, 11, 12]);
    assert_eq!(index.nearest(&[1.0, 0.0, 0.0], &[], 99).len(), 5);
    assert_eq!(index.nearest(&[1.0, 0.0, 0.0], &[], 0), [0; 0]);
    index.categories.insert(0, vec!["x".into()]);
    assert_eq!(index.nearest(&[1.0, 0.0, 0.0], &["y".into()], 2), [12, 13]);
    assert_eq!(index.nearest(&[1.0, 0.0, 0.0], &["y".into(), "x".into()], 1), [10]);
    assert!((index.cosine(11, &[1.0, 0.0, 0.0]).unwrap() - 0.5_f32.sqrt()).abs() < 1e-6);
    assert_eq!(index.cosine(9, &[1.0, 0.0, 0.0]), None);
}

#[test]
fn frequencies_count_passages() {
    let index = index(&[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
    assert_eq!(index.frequency("b"), 2);
    assert_eq!(index.frequency("c"), 0);
    assert!((index.mean_length() - 3.0).abs() < 1e-6);
}

#[test]
fn vectors_without_a_direction_or_of_another_length_are_refused() {
    let index = index(&[[1.0, 0.0, 0.0]]);
    for vector in [&[0.0, 0.0, 0.0][..], &[1.0, 0.0], &[f32::NAN, 0.0, 1.0], &[f32::INFINITY, 0.0, 1.0]] {
        assert!(matches!(index.direction(vector), Err(Error::Vector { expected: 3, .. })), "{vector:?}");
    }
    assert!(index.direction(&[2.0, 0.0, 0.0]).is_ok());
}

#[test]
fn products_of_any_length_are_those_of_the_definition() {
    for length in [0, 1, 15, 16, 17, 100, 384] {
        let left: Vec<f32> = (0..length).map(|i| (i % 7) as f32 - 3.0).collect();
        let right: Vec<f32> = (0..length).map(|i| (i % 5) as f32).collect();
        let expected: f32 = left.iter().zip(&right).map(|(a, b)| a * b).sum();
        assert!((dot(&left, &right) - expected).abs() < 1e-3);
    }
}
