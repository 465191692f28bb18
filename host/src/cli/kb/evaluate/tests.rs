use super::figures::{Asked, Figures};

fn asked(answers: &[&str], found: &[(&str, f32)]) -> Asked {
    let found = found.iter().map(|(document, score)| ((*document).to_owned(), *score)).collect();
    Asked { answers: answers.iter().map(|one| (*one).to_owned()).collect(), found, ..Asked::default() }
}

#[test]
fn figures_are_counted_over_what_they_are_about() {
    let asked = [
        asked(&["a"], &[("a", 0.9), ("b", 0.2)]),
        asked(&["a", "c"], &[("b", 0.7), ("c", 0.6)]),
        asked(&["a"], &[("b", 0.3)]),
        asked(&[], &[("b", 0.4)]),
        asked(&[], &[("b", 0.8)]),
    ];
    let figures = Figures::new(&asked, 0.5);
    assert_eq!((figures.questions, figures.answerable), (5, 3));
    assert_eq!((figures.recall_at_1, figures.recall_at_5), (1.0 / 3.0, 2.0 / 3.0));
    assert_eq!(figures.mean_reciprocal_rank, 0.5);
    // Declined: the third, which has an answer, and the fourth, which has none.
    assert_eq!(figures.no_answer_precision, Some(0.5));
    assert_eq!(figures.no_answer_recall, Some(0.5));
    assert_eq!(figures.answer_precision, Some(1.0 / 3.0));
    assert!(figures.text().contains("recall@5"));
}

#[test]
fn a_share_of_nothing_is_none() {
    let figures = Figures::new(&[], 0.5);
    assert_eq!((figures.no_answer_precision, figures.answer_precision), (None, None));
    assert_eq!(figures.recall_at_5, 0.0);
}
