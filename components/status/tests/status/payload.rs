//! Tests of the payload when figures are missing.

use bulkhead_status::{
    error::Error,
    payload::{Wire, payload},
};
use bulkhead_status_figures::{Figures, Section, Sessions, Sources};

use super::{NOW, clean, collection, golden, unknown};

#[test]
fn payload_without_statistics_has_last_calculation() {
    let figures = Figures { processes: None, slots: None, ..golden() };
    let (typed, _) = payload(&figures, Wire::Typed, "1.0.0").unwrap();
    let expected = concat!(
        r#""processes":{"lastCalculate":"2016-04-01 00:00:00","#,
        r#""lastCalculateSlot":"2016-04-01 00:00:00"},"#,
    );
    assert!(typed.contains(expected), "{typed}");
    let (legacy, _) = payload(&figures, Wire::Legacy, "1.0.0").unwrap();
    assert!(legacy.contains(r#""processes":{"lastCalculate":"2016-04-01 00:00:00"},"#), "{legacy}");
}

#[test]
fn what_is_not_known_is_absent() {
    let figures =
        Figures { mail: clean().mail, collections: vec![collection(Section::Mail, 5.0)], ..unknown() };
    let (typed, collected_at) = payload(&figures, Wire::Typed, "1.0.0").unwrap();
    for member in ["database", "processes", "sources", "useraccounts"] {
        assert!(!typed.contains(member), "{member} is in {typed}");
    }
    assert!(typed.contains("queueCount"), "{typed}");
    assert_eq!(collected_at, 5.0);
    assert!(matches!(payload(&unknown(), Wire::Typed, "1.0.0"), Err(Error::Unknown(_))));
}

#[test]
fn missing_rows_leave_members_out() {
    let figures = Figures {
        sources: Some(Sources::default()),
        processes: None,
        slots: None,
        sessions: Some(Sessions::default()),
        ..clean()
    };
    let (legacy, _) = payload(&figures, Wire::Legacy, "1.0.0").unwrap();
    assert!(!legacy.contains("sources") && !legacy.contains("processes"), "{legacy}");
    assert!(legacy.contains(r#""useraccounts":{"activeSessions":0}"#), "{legacy}");
}

#[test]
fn missing_column_omits_only_its_figure() {
    let mut figures = golden();
    (figures.slots.as_mut().unwrap().outdated, figures.slots.as_mut().unwrap().outdated_oldest) =
        (None, None);
    figures.processes.as_mut().unwrap().external_user_ids = None;
    for wire in [Wire::Typed, Wire::Legacy] {
        let whole = payload(&golden(), wire, "1.0.0").unwrap().0;
        let text = payload(&figures, wire, "1.0.0").unwrap().0;
        for member in ["outdated\"", "outdatedOldest", "withExternalUserId", "confirmedWithExternalUserId"] {
            assert!(whole.contains(member) && !text.contains(member), "{member}: {text}");
        }
        for member in ["freeSlots", "lastCalculate", "confirmed\"", "sinceMidnight"] {
            assert!(text.contains(member), "{member}: {text}");
        }
    }
}

#[test]
fn age_is_the_oldest_section_s() {
    let mut figures = golden();
    for collection in &mut figures.collections {
        collection.succeeded_at = Some(match collection.section {
            Section::Processes => 10.0,
            Section::Mail => 20.0,
            _ => NOW as f64,
        });
    }
    assert_eq!(payload(&figures, Wire::Typed, "1.0.0").unwrap().1, 10.0);
    figures.processes = None;
    assert_eq!(payload(&figures, Wire::Typed, "1.0.0").unwrap().1, 20.0);
}
