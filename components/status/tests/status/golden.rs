//! Tests of complete payloads, character for character.

use bulkhead_status::payload::{Wire, payload};
use bulkhead_status_figures::{Database, Department, Figures, Sessions};

use super::{clean, golden, nothing};

const VERSION: &str = "2.25.00-muc42";

fn data(figures: &Figures, wire: Wire) -> String {
    payload(figures, wire, VERSION).unwrap().0
}

#[test]
fn the_old_wire() {
    let expected = concat!(
        r#"{"$schema":"https://schema.berlin.de/queuemanagement/status.json","#,
        r#""database":{"nodeConnections":0.01,"clusterStatus":"OFF","logbin":"OFF","#,
        r#""problems":"tmp_table_size should be at least 32MB; max_heap_table_size should be at least 32MB","#,
        r#""locks":"0","threads":"1"},"#,
        r#""processes":{"blocked":"1","called":"0","confirmed":"2","pending":"1","deleted":"1","missed":"0","#,
        r#""parked":"0","reserved":"1","withExternalUserId":"3","confirmedWithExternalUserId":"2","#,
        r#""sinceMidnight":"5","last7days":"6","lastInsert":"2026-08-21 14:05:00","outdated":1,"#,
        r#""outdatedOldest":"2026-08-21 14:05:00","freeSlots":"9","lastCalculate":"2016-04-01 00:00:00"},"#,
        r#""mail":{"queueCount":2,"oldestSeconds":480,"newestSeconds":-100},"#,
        r#""sources":{"dldb":{"last":"2022-04-12T13:22:45+02:00"}},"#,
        r#""useraccounts":{"activeSessions":1,"departments":{"#,
        r#""1":{"activeSessions":1,"name":"Testbehoerde","scopes":{"10":{"activeSessions":1,"name":"Bürgerbüro"}}},"#,
        r#""2":{"activeSessions":0,"name":"Leer","scopes":{"":{"activeSessions":0}}}}},"#,
        r#""version":{"major":"2","minor":"25","patch":"00-muc42"}}"#,
    );
    assert_eq!(data(&golden(), Wire::Legacy), expected);
}

#[test]
fn the_typed_wire() {
    let expected = concat!(
        r#"{"$schema":"https://schema.berlin.de/queuemanagement/status.json","#,
        r#""database":{"nodeConnections":0.01,"nodeConnectionsPercent":1,"clusterStatus":"OFF","logbin":"OFF","#,
        r#""problems":"tmp_table_size should be at least 32MB; max_heap_table_size should be at least 32MB","#,
        r#""locks":0,"threads":1},"#,
        r#""processes":{"blocked":1,"called":0,"confirmed":2,"pending":1,"deleted":1,"missed":0,"parked":0,"#,
        r#""reserved":1,"preconfirmed":1,"queued":1,"processing":1,"other":1,"total":10,"withExternalUserId":3,"#,
        r#""confirmedWithExternalUserId":2,"sinceMidnight":5,"last7days":6,"lastInsert":"2026-08-21 14:05:00","#,
        r#""lastInsertTimestamp":1787313900,"outdated":1,"outdatedOldest":"2026-08-21 14:05:00","freeSlots":9,"#,
        r#""lastCalculate":"2016-04-01 00:00:00","lastCalculateSlot":"2016-04-01 00:00:00"},"#,
        r#""mail":{"queueCount":2,"oldestSeconds":480,"newestSeconds":-100},"#,
        r#""sources":{"dldb":{"last":"2022-04-12T13:22:45+02:00"}},"#,
        r#""useraccounts":{"activeSessions":1,"departments":{"#,
        r#""1":{"activeSessions":1,"name":"Testbehoerde","scopes":{"10":{"activeSessions":1,"name":"Bürgerbüro"}}},"#,
        r#""2":{"activeSessions":0,"name":"Leer","scopes":{}}}},"#,
        r#""version":{"major":2,"minor":25,"patch":"00-muc42"}}"#,
    );
    assert_eq!(data(&golden(), Wire::Typed), expected);
}

/// In the legacy spelling sums over no rows are absent and counters are 0.
#[test]
fn an_empty_database() {
    let golden = golden();
    let department = Department { id: 1, name: Some("Testbehoerde".into()), scopes: Vec::new() };
    let figures = Figures {
        database: Some(Database { ..golden.database.clone().unwrap() }),
        processes: Some(nothing()),
        slots: clean().slots,
        mail: clean().mail,
        sources: golden.sources,
        sessions: Some(Sessions { active: 0, departments: vec![department] }),
        ..clean()
    };
    let legacy = data(&figures, Wire::Legacy);
    let processes = concat!(
        r#""processes":{"blocked":"0","called":"0","confirmed":"0","pending":"0","deleted":"0","missed":"0","#,
        r#""parked":"0","reserved":"0","withExternalUserId":"0","confirmedWithExternalUserId":"0","#,
        r#""outdated":0,"lastCalculate":"2016-04-01 00:00:00"},"mail":{"queueCount":0},"#,
    );
    assert!(legacy.contains(processes), "{legacy}");
    let accounts = concat!(
        r#""useraccounts":{"activeSessions":0,"departments":"#,
        r#"{"1":{"activeSessions":0,"name":"Testbehoerde","scopes":{"":{"activeSessions":0}}}}}"#,
    );
    assert!(legacy.contains(accounts), "{legacy}");
    let typed = data(&figures, Wire::Typed);
    for member in [
        r#""sinceMidnight":0"#,
        r#""last7days":0"#,
        r#""freeSlots":0"#,
        r#""queueCount":0,"oldestSeconds":0,"newestSeconds":0"#,
    ] {
        assert!(typed.contains(member), "{member} is not in {typed}");
    }
    assert!(!typed.contains("lastInsert") && !typed.contains("outdatedOldest"), "{typed}");
}
