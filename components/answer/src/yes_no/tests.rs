//! Tests of questions of yes or no.

use super::*;

#[test]
fn questions_of_yes_or_no_are_found() {
    for text in [
        "Darf ich im Hafen baden?",
        "Ich habe ein Kanu. Muss ich es anmelden?",
        "Kanu im Hafen: Brauche ich dafür eine Erlaubnis?",
        "Wir kommen spät. Stimmt es, dass dann niemand da ist?",
        "kanu ohne nummer darf ich damit fahren",
        "zelten am steg moeglich",
        "Kostet ein Liegeplatz etwas?",
        "Can I moor at night?",
        "I have a canoe. Do I need a permit?",
    ] {
        assert!(is_asked(text), "{text}");
    }
}

#[test]
fn other_questions_are_left_out() {
    for text in [
        "Was kostet ein Liegeplatz?",
        "Ich darf hier liegen. Was kostet das?",
        "Wann kann ich kommen?",
        "Können Sie mir sagen, was ein Liegeplatz kostet?",
        "Gebühr für einen Liegeplatz?",
        "liegeplatz kosten",
        "Can you tell me how much a berth is?",
        "How long may I stay?",
    ] {
        assert!(!is_asked(text), "{text}");
    }
}

#[test]
fn whole_sentences_answer_yes_or_no() {
    assert!(is_answered_by("Im Hafen darf niemand baden."));
    assert!(is_answered_by("You need a permit if you stay longer."));
    for text in ["Baden nicht erlaubt", "und darf nicht baden.", "Der Hafen hat sieben Stege."] {
        assert!(!is_answered_by(text), "{text}");
    }
}
