//! Tests of the guard's verdicts on tickets and answers.

use super::*;

const QUESTION: &str = "Was kostet ein Reisepass? Schreiben Sie an eva@example.org.";
const ADVICE: &str = r#"{"sentences": [{"text": "Der Reisepass kostet 70 Euro.", "passages": [1]}]}"#;

fn judged(ticket: Verdict, answer: Verdict) -> Base {
    Base { verdicts: [ticket, answer], advice: Ok(ADVICE.to_owned()), ..Base::new(&[passport()]) }
}

fn ask_for(base: &Base, guarding: Guarding, action: &str) -> Result<Reply, Error> {
    let request = Request { text: QUESTION, category: "passports", action };
    super::super::answer(base, &configuration(), Policy { strategy: Strategy::Llm, guarding }, request)
}

fn ask(base: &Base, guarding: Guarding) -> Result<Reply, Error> {
    ask_for(base, guarding, "answer")
}

fn found(label: &str) -> Verdict {
    Verdict::Unsafe(vec![label.to_owned()])
}

fn down() -> Verdict {
    Verdict::Unavailable("it is down".to_owned())
}

#[test]
fn what_is_safe_is_published_as_ever() {
    let base = judged(Verdict::Safe, Verdict::Safe);
    let reply = ask(&base, Guarding::Withhold).unwrap();
    assert_eq!((reply.auto_publish, reply.reason), (true, None));
    let guarded = base.guarded.borrow();
    let ticket = "Was kostet ein Reisepass? Schreiben Sie an [EMAIL_1].";
    let answer = Some("Der Reisepass kostet 70 Euro.".to_owned());
    assert_eq!(guarded.as_slice(), [(ticket.to_owned(), None), (ticket.to_owned(), answer)]);
}

#[test]
fn unsafe_ticket_is_drafted_without_model() {
    let base = judged(found("prompt_injection"), Verdict::Safe);
    let reply = ask(&base, Guarding::Withhold).unwrap();
    assert!(reply.response.starts_with("Ein Reisepass kostet 70 Euro."), "{}", reply.response);
    let given = reply.reason.unwrap();
    assert!(given.contains("die Prüfung beanstandet die Nachricht"), "{given}");
    assert!(given.contains("hat die Nachricht beanstandet (prompt_injection)"), "{given}");
    assert!(!reply.auto_publish && base.questions.borrow().is_empty());
    let reply = ask_for(&base, Guarding::Withhold, "fees").unwrap();
    assert!(!reply.auto_publish && reply.reason.unwrap().contains("prompt_injection"));
}

#[test]
fn an_unsafe_answer_is_a_draft() {
    let base = judged(Verdict::Safe, found("pii_exposure"));
    let reply = ask(&base, Guarding::Withhold).unwrap();
    assert!(!reply.auto_publish && reply.response.contains("70 Euro"), "{reply:?}");
    let given = reply.reason.unwrap();
    assert!(given.contains("hat die Antwort beanstandet (pii_exposure)"), "{given}");
}

#[test]
fn unsafe_text_is_refused_if_configured() {
    let base = judged(found("prompt_injection"), Verdict::Safe);
    for action in ["answer", "fees", "clerk", "an unknown action"] {
        let refused = ask_for(&base, Guarding::Refuse, action).unwrap_err();
        assert_eq!(refused.to_string(), "the guard refuses this ticket: prompt_injection");
    }
    assert!(base.questions.borrow().is_empty() && base.asked.borrow().is_empty(), "no one else was asked");
    let refused = ask(&judged(Verdict::Safe, Verdict::Unsafe(Vec::new())), Guarding::Refuse).unwrap_err();
    assert_eq!(refused.to_string(), "the guard refuses this answer: unsafe");
}

#[test]
fn unavailable_guard_blocks_only_publication() {
    for guarding in [Guarding::Withhold, Guarding::Refuse] {
        for (ticket, checks) in [(down(), 1), (Verdict::Safe, 2)] {
            let base = judged(ticket, down());
            let reply = ask(&base, guarding).unwrap();
            assert_eq!(
                (reply.response.as_str(), reply.auto_publish),
                ("Der Reisepass kostet 70 Euro. [1]", false)
            );
            assert_eq!(
                reply.reason.as_deref(),
                Some("Die Prüfung antwortet nicht; veröffentlicht wird nichts.")
            );
            assert_eq!(base.guarded.borrow().len(), checks);
        }
        let reply = ask_for(&judged(down(), down()), guarding, "fees").unwrap();
        assert_eq!((reply.outcome, reply.auto_publish), (Outcome::Configured, false));
    }
}

#[test]
fn guard_judges_tickets_without_answer() {
    let base = judged(down(), down());
    assert_eq!(ask_for(&base, Guarding::Refuse, "clerk").unwrap().outcome, Outcome::None);
    let unknown = ask_for(&base, Guarding::Refuse, "dance").unwrap_err();
    assert_eq!(unknown, Error::UnknownAction("dance".to_owned()));
    assert_eq!(base.guarded.borrow().len(), 2);
}

#[test]
fn guard_skips_empty_and_unguarded_texts() {
    let base = judged(down(), down());
    let policy = Policy { strategy: Strategy::Llm, guarding: Guarding::Refuse };
    for action in ["answer", "fees", "clerk"] {
        let request = Request { text: " \n", category: "passports", action };
        super::super::answer(&base, &configuration(), policy, request).unwrap();
    }
    ask_for(&base, Guarding::Off, "answer").unwrap();
    assert!(base.guarded.borrow().is_empty());
}
