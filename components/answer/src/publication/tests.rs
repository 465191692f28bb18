//! Tests of the decision on publication.

use super::*;
use crate::tests::sample::configuration;

fn certain(relevance: f32) -> Option<Certainty> {
    Some(Certainty { relevance, margin: None })
}

fn good() -> Record {
    Record {
        certainty: certain(0.9),
        known_language: true,
        own_language: true,
        grounded: true,
        findings: Vec::new(),
    }
}

fn found(category: &str, record: &Record) -> Vec<PublishBlocker> {
    publish_blockers(&configuration(), category, record)
}

#[test]
fn what_everything_speaks_for_is_published() {
    assert_eq!(found("passports", &good()), []);
    assert_eq!(found("passports", &Record { certainty: None, ..good() }), []);
}

#[test]
fn each_blocker_alone_forbids_publication() {
    assert_eq!(found("fines", &good()), [PublishBlocker::Category]);
    assert_eq!(found("unknown", &good()), [PublishBlocker::UnknownCategory]);
    assert_eq!(
        found("passports", &Record { certainty: certain(0.7), ..good() }),
        [PublishBlocker::Uncertain { certainty: Certainty { relevance: 0.7, margin: None }, needed: 0.8 }]
    );
    assert_eq!(found("passports", &Record { own_language: false, ..good() }), [PublishBlocker::Language]);
    let foreign = Record { known_language: false, ..good() };
    assert_eq!(found("passports", &foreign), [PublishBlocker::TicketLanguage]);
    assert_eq!(found("passports", &Record { grounded: false, ..good() }), [PublishBlocker::Ungrounded]);
    let blocked = Record { findings: vec![GuardFinding::TicketInjection], ..good() };
    assert_eq!(found("passports", &blocked), [PublishBlocker::Guard(GuardFinding::TicketInjection)]);
}

#[test]
fn category_threshold_is_the_classifier_s_alone() {
    let mut configuration = configuration();
    for category in &mut configuration.categories {
        category.threshold = 0.95;
    }
    assert_eq!(publish_blockers(&configuration, "passports", &good()), []);
}

#[test]
fn no_number_is_no_certainty() {
    for certainty in [certain(f32::NAN), Some(Certainty { relevance: 0.9, margin: Some(f32::NAN) })] {
        let record = Record { certainty, ..good() };
        assert!(matches!(found("passports", &record).as_slice(), [PublishBlocker::Uncertain { .. }]));
    }
}
