#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

fn rated(document: &str, score: f32) -> Rated {
    let passage = Passage {
        id: document.into(),
        document: document.into(),
        title: String::new(),
        url: None,
        text: String::new(),
        language: None,
        categories: Vec::new(),
        score,
    };
    Rated { passage, features: Features { cosine: score, overlap: 1.0 - score, ..Features::default() } }
}

fn run() -> Run {
    let set = [
        (vec!["a"], vec![rated("a", 0.9), rated("b", 0.2)]),
        (vec!["a", "c"], vec![rated("b", 0.5), rated("c", 0.8)]),
        (vec!["a"], vec![rated("b", 0.4)]),
        (vec![], vec![rated("b", 0.3)]),
        (vec![], vec![]),
        (vec![], vec![rated("c", 0.6)]),
    ];
    let found = set.into_iter().map(|(answers, rated)| {
        let answers = answers.into_iter().map(str::to_owned).collect();
        (Question { question: "?".into(), answers }, rated)
    });
    Run { found: found.collect() }
}

#[test]
fn figures_count_what_they_say() {
    let figures = run().evaluate(0.5);
    assert_eq!((figures.answerable, figures.unanswerable), (3, 3));
    assert!((figures.recall_at_1 - 1.0 / 3.0).abs() < 1e-9);
    assert!((figures.recall_at_5 - 2.0 / 3.0).abs() < 1e-9);
    // Refused: the third, the fourth and the fifth.
    assert!((figures.no_answer_precision - 2.0 / 3.0).abs() < 1e-9);
    assert!((figures.no_answer_recall - 2.0 / 3.0).abs() < 1e-9);
    assert!((figures.answered - 2.0 / 3.0).abs() < 1e-9);
    assert_eq!(run().missed().count(), 1);
}

#[test]
fn the_floor_is_as_high_as_precision_allows() {
    let floor = run().floor();
    assert!((floor - 0.4).abs() < 1e-6, "{floor}");
    assert!(run().evaluate(floor).no_answer_precision >= PRECISION);
}

#[test]
fn fitted_weights_tell_right_from_wrong() {
    let (bias, weights) = run().fit(true);
    let probability =
        |cosine: f32| 1.0 / (1.0 + (-(bias + weights[0] * cosine + weights[2] * (1.0 - cosine))).exp());
    assert!(probability(0.9) > 0.5 && probability(0.2) < 0.5, "{bias} {weights:?}");
    assert!(run().fit(false).1[0].abs() < f32::EPSILON);
}

#[test]
fn lines_that_are_no_questions_are_named() {
    let lines = "{\"question\":\"a\",\"answers\":[],\"language\":\"de\"}\n\n{\"question\":1}";
    assert!(questions(lines).unwrap_err().to_string().starts_with("line 3"));
    assert_eq!(questions("").unwrap().len(), 0);
}
