//! Tests of the evaluation.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

fn scored(document: &str, score: f32) -> ScoredPassage {
    let passage = Passage {
        id: document.into(),
        source: "town".into(),
        document: document.into(),
        title: String::new(),
        url: None,
        text: String::new(),
        language: None,
        categories: Vec::new(),
        score,
    };
    let features = Features { cosine: score, words: 1.0 - score, ..Features::default() };
    ScoredPassage { passage, features, item_vectors: Vec::new() }
}

fn run() -> Run {
    let set = [
        (vec!["a"], vec![scored("a", 0.9), scored("b", 0.2)]),
        (vec!["a", "c"], vec![scored("b", 0.5), scored("c", 0.8)]),
        (vec!["a"], vec![scored("b", 0.4)]),
        (vec![], vec![scored("b", 0.3)]),
        (vec![], vec![]),
        (vec![], vec![scored("c", 0.6)]),
    ];
    let results = set.into_iter().map(|(answers, scored)| {
        let answers = answers.into_iter().map(str::to_owned).collect();
        QuestionResult {
            question: Question { question: "?".into(), answers },
            scored,
            took: Duration::from_millis(3),
        }
    });
    Run { results: results.collect() }
}

#[test]
fn figures_count_what_they_say() {
    let figures = run().evaluate(0.5);
    assert_eq!((figures.questions, figures.answerable), (6, 3));
    assert_eq!((figures.recall_at_1, figures.recall_at_5), (Some(1.0 / 3.0), Some(2.0 / 3.0)));
    assert_eq!(figures.mean_reciprocal_rank, Some(0.5));
    // Refused: the third, the fourth and the fifth.
    assert_eq!((figures.no_answer_precision, figures.no_answer_recall), (Some(2.0 / 3.0), Some(2.0 / 3.0)));
    assert_eq!((figures.answered, figures.answer_precision), (Some(2.0 / 3.0), Some(1.0 / 3.0)));
    assert!((figures.median_ms - 3.0).abs() < 1e-9 && figures.text().contains("recall@5"));
    assert_eq!(run().missed().count(), 1);
}

#[test]
fn share_of_zero_is_undefined() {
    let figures = Run { results: Vec::new() }.evaluate(0.5);
    assert_eq!(
        (figures.recall_at_5, figures.no_answer_precision, figures.answer_precision),
        (None, None, None)
    );
}

#[test]
fn nearness_floor_keeps_the_precision() {
    let result = |answers: &[&str], cosine: f32| QuestionResult {
        question: Question { question: "?".into(), answers: answers.iter().map(|&id| id.into()).collect() },
        scored: vec![scored("a", cosine)],
        took: Duration::ZERO,
    };
    let near = (0..100).map(|n| result(&["a"], 0.8 + n as f32 / 1000.0));
    let far = (0..100).map(|n| result(&[], 0.6 + n as f32 / 400.0));
    let run = Run { results: near.chain(far).collect() };
    let (weights, least) = run.fit_nearness();
    assert!((0.75..0.82).contains(&(least / weights[0])) && weights[1] == 0.0, "{weights:?} {least}");
    // The same cosines say nothing.
    let same = (0..100).map(|n| result(if n % 2 == 0 { &["a"] } else { &[] }, 0.8 + n as f32 / 1000.0));
    let (weights, least) = Run { results: same.collect() }.fit_nearness();
    let lowest = (0..100).map(|n| weights[0] * (0.8 + n as f32 / 1000.0)).fold(f32::INFINITY, f32::min);
    assert!(least < lowest, "{weights:?} {least}");
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
fn invalid_question_lines_are_named() {
    let lines = "{\"question\":\"a\",\"answers\":[],\"language\":\"de\"}\n\n{\"question\":1}";
    assert!(questions(lines).unwrap_err().to_string().starts_with("line 3"));
    for nothing in ["", " ", "🎉"] {
        let fault =
            questions(&format!("{{\"question\":\"{nothing}\",\"answers\":[]}}")).unwrap_err().to_string();
        assert!(fault.contains("line 1") && fault.contains("no word"), "{fault}");
    }
    assert_eq!(questions("").unwrap().len(), 0);
}
