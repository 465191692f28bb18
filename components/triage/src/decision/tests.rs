//! Tests of the decision on a category.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

fn configuration() -> Configuration {
    Configuration::from_json(
        r#"{"categories": [{"name": "none"}, {"name": "waste"}, {"name": "dogs"}, {"name": "fines", "threshold": 0.9}],
        "no_category_name": "none", "actions": [{"name": "clerk", "description": "", "type": "NoAction"}],
        "no_action_name": "clerk", "threshold": 0.5, "margin": 0.2}"#,
    )
    .unwrap()
}

fn of(labels: &[&str], probabilities: &[f32]) -> Decision {
    let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
    decide(&configuration(), &labels, probabilities)
}

#[test]
fn the_most_probable_category_is_chosen() {
    let decision = of(&["dogs", "waste", "fines"], &[0.1, 0.85, 0.05]);
    assert_eq!(decision.refusal, None);
    let names: Vec<&str> = decision.candidates.iter().map(|candidate| candidate.name.as_str()).collect();
    assert_eq!(names, ["waste", "dogs", "fines"]);
    let (first, margin) = decision.first().unwrap();
    assert_eq!((first.confidence, margin), (0.85, 0.75));
}

#[test]
fn thresholds_and_margins_refuse() {
    let refusal = |probabilities: [f32; 3]| of(&["dogs", "waste", "fines"], &probabilities).refusal;
    assert_eq!(refusal([0.45, 0.3, 0.25]), Some(Refusal::Unsure { threshold: 0.5 }));
    assert_eq!(refusal([0.5, 0.15, 0.35]), Some(Refusal::Close { margin: 0.2 }));
    assert_eq!(refusal([0.06, 0.06, 0.88]), Some(Refusal::Unsure { threshold: 0.9 }), "its own threshold");
    assert_eq!(refusal([0.05, 0.05, 0.9]), None);
}

#[test]
fn reported_confidence_is_never_certain() {
    for (confidence, reported) in [(1.0, 0.99), (0.99999, 0.99), (0.5, 0.5), (0.0, 0.0)] {
        assert_eq!(Candidate { name: String::new(), confidence }.reported_confidence(), reported);
    }
}

#[test]
fn unknown_labels_are_never_chosen() {
    let decision = of(&["made up", "waste"], &[0.9, 0.1]);
    assert_eq!(decision.candidates.len(), 1);
    assert_eq!(decision.refusal, Some(Refusal::Unsure { threshold: 0.5 }));
    assert!(matches!(of(&["made up"], &[1.0]).refusal, Some(Refusal::Unavailable(_))));
}

#[test]
fn the_category_for_none_can_be_learnt() {
    assert_eq!(of(&["none", "waste"], &[0.9, 0.1]).refusal, Some(Refusal::Outside));
}

#[test]
fn mismatched_probabilities_are_refused() {
    assert!(matches!(of(&["waste"], &[0.5, 0.5]).refusal, Some(Refusal::Unavailable(_))));
    assert!(matches!(of(&["waste"], &[f32::NAN]).refusal, Some(Refusal::Unavailable(_))));
    assert!(matches!(of(&[], &[]).refusal, Some(Refusal::Unavailable(_))));
}
