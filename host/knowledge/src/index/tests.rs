//! Tests of the index.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::*;
use crate::embedder::provenance::Provenance;

fn index(vectors: &[[f32; 3]]) -> Index {
    let provenance = Provenance {
        model: "toy".into(),
        weights_sha256: "0".into(),
        dtype: "float32".into(),
        prompt: None,
        dims: 3,
        late_interaction: None,
    };
    let entries = (0..).zip(vectors).map(|(number, vector)| IndexEntry {
        number: 10 + number,
        document: number / 2,
        terms: "a\nb b".into(),
        vector: encode(&direction(vector).unwrap()),
    });
    let header = BaseHeader { generation: 1, provenance: Some(provenance), file: None };
    Index::new(header, &entries.collect::<Vec<_>>(), &HashMap::new()).unwrap()
}

#[test]
fn the_nearest_come_first_and_categories_filter() {
    let mut index =
        index(&[[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 5.0], [-1.0, 0.0, 0.0]]);
    assert_eq!(index.nearest(&[1.0, 0.0, 0.0], &[], 3).rankings[0], [10, 11, 12]);
    assert_eq!(index.nearest(&[1.0, 0.0, 0.0], &[], 99).rankings[0].len(), 5);
    assert_eq!(index.nearest(&[1.0, 0.0, 0.0], &[], 0).rankings[0], [0; 0]);
    index.categories.insert(0, vec!["x".into()]);
    assert_eq!(index.nearest(&[1.0, 0.0, 0.0], &["y".into()], 2).rankings[0], [12, 13]);
    assert_eq!(index.nearest(&[1.0, 0.0, 0.0], &["y".into(), "x".into()], 1).rankings[0], [10]);
    assert!((cosine(&encode(&[0.6, 0.8, 0.0]), &[1.0, 0.0, 0.0]) - 0.6).abs() < 1e-6);
}

/// One passage lies in the question's direction, the others in many others.
#[test]
fn prominence_is_independent_of_base_size() {
    let prominence = |size: usize| {
        let around = (1..size).map(|n| {
            let angle = n as f32 * 2.4;
            [angle.cos(), angle.sin(), 0.05 * (n % 7) as f32]
        });
        let vectors: Vec<_> = [[0.0, 0.0, 1.0]].into_iter().chain(around).collect();
        let index = index(&vectors);
        let question = [0.0, 0.0, 1.0];
        let distribution = index.nearest(&question, &[], 1).distribution;
        (index.prominence(10, &question, distribution), index.prominence(11, &question, distribution))
    };
    for size in [30, 300, 3000] {
        let (right, wrong) = prominence(size);
        assert!(right > 1.0 && wrong < 0.5, "{size}: {right} {wrong}");
    }
    // So few that what is usual decides, and equal ones.
    assert!(prominence(1).0 > 0.5);
    let same = index(&[[1.0, 0.0, 0.0]; 30]);
    let distribution = same.nearest(&[1.0, 0.0, 0.0], &[], 1).distribution;
    assert!(same.prominence(10, &[1.0, 0.0, 0.0], distribution).is_finite());
}

#[test]
fn usual_nearness_is_that_of_mean() {
    let large = index(&[[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]; 20].concat());
    assert!((large.usual_nearness(10, &[0.6, 0.8, 0.0]) - 0.7).abs() < 1e-6);
    let small = index(&[[1.0, 0.0, 0.0]; 3]);
    assert_eq!(small.usual_nearness(10, &[1.0, 0.0, 0.0]), 0.0);
}

#[test]
fn frequencies_count_passages() {
    let index = index(&[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
    assert_eq!(index.frequency("b"), 2);
    assert_eq!(index.frequency("c"), 0);
    assert!((index.mean_length() - 3.0).abs() < 1e-6);
}

#[test]
fn invalid_vectors_are_refused() {
    let index = index(&[[1.0, 0.0, 0.0]]);
    for vector in [&[1.0, 0.0][..], &[f32::NAN, 0.0, 1.0], &[f32::INFINITY, 0.0, 1.0]] {
        assert!(matches!(index.direction(vector), Err(Error::Vector { expected: 3, .. })), "{vector:?}");
    }
    assert_eq!(index.direction(&[2.0, 0.0, 0.0]).unwrap(), [1.0, 0.0, 0.0]);
    assert_eq!(index.direction(&[0.0; 3]).unwrap(), [0.0; 3], "a text without a known word");
}

#[test]
fn products_match_the_definition() {
    for length in [0, 1, 15, 16, 17, 100, 384] {
        let left: Vec<f32> = (0..length).map(|i| (i % 7) as f32 - 3.0).collect();
        let right: Vec<f32> = (0..length).map(|i| (i % 5) as f32).collect();
        let expected: f32 = left.iter().zip(&right).map(|(a, b)| a * b).sum();
        assert!((dot(&left, &right) - expected).abs() < 1e-3);
    }
}

#[test]
fn fixed_point_products_match_floats() {
    for dims in [1_usize, 3, 384, 4096] {
        let vector = |seed: usize| {
            let numbers: Vec<f32> = (0..dims).map(|i| ((i * seed) % 11) as f32 - 4.0).collect();
            direction(&numbers).unwrap()
        };
        for (left, right) in [(3, 3), (3, 7), (5, 2)] {
            let (left, right) = (vector(left), vector(right));
            let opposite: Vec<f32> = left.iter().map(|number| -number).collect();
            for other in [&right, &opposite] {
                let product = dot_fixed(&fixed(&left), &fixed(other));
                assert!((product - dot(&left, other)).abs() < 1e-3, "{dims}: {product}");
            }
        }
    }
}

/// Each language has a direction of its own, and each passage a small one of its own too.
#[test]
fn question_finds_passage_in_another_language() {
    let passage = |n: usize, language: f32| {
        let mut vector = vec![0.0; 32];
        vector[n] = 0.3;
        vector[30] = 1.0 - language;
        vector[31] = language;
        vector
    };
    let provenance = Provenance { dims: 32, ..index(&[[1.0, 0.0, 0.0]]).header.provenance.unwrap() };
    // Passages 0..30 are German and even ones only; 100..130 English, odd ones only.
    let entries =
        (0..30_usize).flat_map(|n| [(n as i64, n - n % 2, 0.0), (100 + n as i64, n - n % 2 + 1, 1.0)]);
    let mut entries: Vec<_> = entries
        .map(|(number, n, language)| IndexEntry {
            number,
            document: number,
            terms: "a\nb".into(),
            vector: encode(&direction(&passage(n, language)).unwrap()),
        })
        .collect();
    entries.sort_by_key(|entry| entry.number);
    let language = |entry: &IndexEntry| if entry.number < 100 { "de" } else { "en" };
    let languages = entries.iter().map(|entry| (entry.document, language(entry).to_owned())).collect();
    let index = Index::new(
        BaseHeader { generation: 1, provenance: Some(provenance), file: None },
        &entries,
        &languages,
    )
    .unwrap();
    // A German question to what only English passages are about.
    let question = direction(&passage(7, 0.0)).unwrap();
    let nearest = index.nearest(&question, &[], 2).rankings;
    assert_eq!(nearest[0], [106, 107]);
    assert!(nearest[1].iter().all(|number| *number < 100) && nearest[2] == [106, 107]);
}

#[test]
fn compounds_and_their_parts_are_related() {
    let mut vocabulary = Vocabulary::default();
    for term in ["bewohnerparkausweis", "parkausweis", "parkhaus", "ausweis", "ausweisen", "weis", "gebühr"]
    {
        vocabulary.count(term);
    }
    assert_eq!(vocabulary.related("parkausweis"), ["ausweis", "bewohnerparkausweis"]);
    assert_eq!(vocabulary.related("ausweis"), ["ausweisen", "bewohnerparkausweis", "parkausweis"]);
    assert_eq!(vocabulary.related("parkgebühr"), ["gebühr"]);
    assert_eq!(vocabulary.related("weis"), [""; 0]);
}
