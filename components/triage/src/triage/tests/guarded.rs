//! Tests of the guard's verdicts on tickets.

use super::*;

fn policy(strategy: Strategy, guarding: Guarding) -> Policy {
    Policy { strategy, guarding }
}

fn judged(verdict: Verdict) -> Fixed {
    let advice = r#"{"category": "Abfall", "confidence": 0.9, "reasoning": "Tonne"}"#;
    Fixed { verdict, advice: Ok(advice.to_owned()), ..host(&[0.9, 0.1]) }
}

fn found() -> Verdict {
    Verdict::Unsafe(vec!["prompt_injection".to_owned()])
}

#[test]
fn what_is_safe_is_decided_as_ever() {
    let host = judged(Verdict::Safe);
    let withhold = policy(Strategy::Classifier, Guarding::Withhold);
    let result = super::super::triage(&host, &configuration(), withhold, LETTER).unwrap();
    assert!(result.auto_publish);
    let guarded = host.guarded.borrow();
    assert!(
        guarded.len() == 1 && !guarded[0].contains("Birkenweg 14") && guarded[0].contains("Tonne"),
        "{guarded:?}"
    );
}

#[test]
fn unsafe_ticket_is_classified_without_model() {
    let host = judged(found());
    let withhold = policy(Strategy::Llm, Guarding::Withhold);
    let result = super::super::triage(&host, &configuration(), withhold, LETTER).unwrap();
    assert_eq!((result.category.as_str(), result.auto_publish), ("Abfall", false));
    assert!(host.questions.borrow().is_empty());
    assert!(
        result.reasoning.contains("hat die Nachricht beanstandet (prompt_injection)"),
        "{}",
        result.reasoning
    );
}

#[test]
fn unsafe_text_is_refused_if_configured() {
    let host = judged(found());
    let refuse = policy(Strategy::Llm, Guarding::Refuse);
    let refused = super::super::triage(&host, &configuration(), refuse, LETTER).unwrap_err();
    assert_eq!(refused, TriageError::Unsafe(vec!["prompt_injection".to_owned()]));
    assert_eq!(refused.to_string(), "prompt_injection");
    assert!(host.questions.borrow().is_empty() && host.asked.borrow().is_empty(), "no one else was asked");
}

#[test]
fn unavailable_guard_blocks_only_publication() {
    for guarding in [Guarding::Withhold, Guarding::Refuse] {
        let host = judged(Verdict::Unavailable("it is down".to_owned()));
        let result =
            super::super::triage(&host, &configuration(), policy(Strategy::Llm, guarding), LETTER).unwrap();
        assert_eq!((result.category.as_str(), result.auto_publish), ("Abfall", false));
        assert_eq!(host.questions.borrow().len(), 1, "the model was asked");
        assert!(
            result.reasoning.contains("Die Prüfung antwortet nicht; veröffentlicht wird nichts"),
            "{}",
            result.reasoning
        );
    }
}

#[test]
fn a_blank_text_asks_no_guard() {
    let host = judged(found());
    let refuse = policy(Strategy::Classifier, Guarding::Refuse);
    assert!(super::super::triage(&host, &configuration(), refuse, " ").is_ok());
    assert!(host.guarded.borrow().is_empty());
}

#[test]
fn signs_without_a_word_are_judged() {
    let refuse = policy(Strategy::Llm, Guarding::Refuse);
    let refused = super::super::triage(&judged(found()), &configuration(), refuse, "🔫💣").unwrap_err();
    assert_eq!(refused, TriageError::Unsafe(vec!["prompt_injection".to_owned()]));
    let host = judged(Verdict::Safe);
    let result = super::super::triage(&host, &configuration(), refuse, "🎉").unwrap();
    assert_eq!(result.category, "Sonstiges");
    assert!(host.questions.borrow().is_empty() && host.asked.borrow().is_empty(), "no one else was asked");
}
