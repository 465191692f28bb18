//! Tests of findings, each at its threshold and beyond it.

use std::collections::BTreeSet;

use bulkhead_status::health::{Level, health};
use bulkhead_status_figures::{Database, Figures, Lacking, Mail, Moment, Section, Sources};

use super::{ago, clean, unknown};

fn with_sources(last_import: Option<Moment>, last_calculation: Option<Moment>) -> Figures {
    Figures { sources: Some(Sources { last_import, last_calculation }), ..clean() }
}

fn with_database(change: impl FnOnce(&mut Database)) -> Figures {
    let mut figures = clean();
    change(figures.database.as_mut().unwrap());
    figures
}

fn found(figures: &Figures) -> (Level, String) {
    let health = health(figures);
    (health.level, health.text)
}

#[test]
fn all_is_well() {
    assert_eq!(found(&clean()), (Level::Ok, "OK - DB=0% Threads=0 Locks=0".into()));
    let busy = with_database(|database| {
        (database.connections, database.connection_limit, database.lock_waits) = (3, Some(100), 2);
    });
    assert_eq!(found(&busy).1, "OK - DB=3% Threads=3 Locks=2");
}

#[test]
fn an_import_is_late_without_a_gap() {
    for (age, level, text) in [
        (-3600, Level::Ok, "OK"),
        (7200, Level::Ok, "OK"),
        (7201, Level::Warning, "WARN - last DLDB import is more than 2 hours ago"),
        (14_400, Level::Warning, "WARN - last DLDB import is more than 2 hours ago"),
        (14_401, Level::Critical, "CRIT - last DLDB import is more than 4 hours ago"),
    ] {
        let (found, said) = found(&with_sources(ago(age), ago(0)));
        assert_eq!(found, level, "{age}: {said}");
        assert!(said.starts_with(text), "{age}: {said}");
    }
}

#[test]
fn what_is_not_recorded_is_not_well() {
    let nonsense = Moment { text: "yesterday".into(), unix_seconds: None };
    for last in [None, Some(nonsense)] {
        let (level, text) = found(&with_sources(last.clone(), ago(0)));
        assert_eq!((level, text.as_str()), (Level::Warning, "WARN - no DLDB import is recorded"));
        let (level, text) = found(&with_sources(ago(0), last));
        assert_eq!((level, text.as_str()), (Level::Warning, "WARN - no slot calculation is recorded"));
    }
}

#[test]
fn each_threshold_is_strict() {
    let mail = |oldest| Figures {
        mail: Some(Mail { queued: 1, oldest_seconds: Some(oldest), newest_seconds: Some(0) }),
        ..clean()
    };
    let share = |connections| {
        with_database(|database| {
            (database.connections, database.connection_limit) = (connections, Some(50));
        })
    };
    for (well, not_well, text) in [
        (mail(300), mail(301), "WARN - oldest mail in the queue is 301s old"),
        (
            with_database(|database| database.lock_waits = 10),
            with_database(|database| database.lock_waits = 11),
            "WARN - DB-Locks: 11",
        ),
        (
            with_database(|database| database.connections = 30),
            with_database(|database| database.connections = 31),
            "WARN - DB-Threads: 31",
        ),
        (share(25), share(26), "WARN - DB connections are over 50%"),
        (
            with_sources(ago(0), ago(600)),
            with_sources(ago(0), ago(601)),
            "WARN - slot calculation is 601 seconds old",
        ),
        (
            clean(),
            with_database(|database| database.replication_log = false),
            "WARN - DB connection has no replication log",
        ),
        (
            clean(),
            with_database(|database| database.cluster_ready = None),
            "WARN - DB connection is not part of a galera cluster",
        ),
    ] {
        assert_eq!(found(&well).0, Level::Ok, "{text}");
        assert_eq!(found(&not_well), (Level::Warning, text.into()));
    }
}

#[test]
fn findings_keep_the_old_server_s_order() {
    let figures = Figures {
        database: Some(Database {
            connections: 51,
            connection_limit: Some(100),
            lock_waits: 11,
            ..Database::default()
        }),
        mail: Some(Mail { queued: 1, oldest_seconds: Some(400), newest_seconds: Some(400) }),
        ..with_sources(ago(3 * 3600), ago(14_400))
    };
    let (level, text) = found(&figures);
    assert_eq!(level, Level::Warning);
    let words = ["DLDB", "400s", "replication", "galera", "Locks: 11", "Threads: 51", "50%", "14400 seconds"];
    let findings: Vec<&str> = text.split("; ").collect();
    assert_eq!(findings.len(), words.len(), "{text}");
    for (finding, word) in findings.iter().zip(words) {
        assert!(finding.starts_with("WARN - ") && finding.contains(word), "{finding} lacks {word}");
    }
}

#[test]
fn unknown_section_is_fatal() {
    let (level, text) = found(&unknown());
    assert_eq!(level, Level::Fatal);
    for section in ["sources", "mail", "database"] {
        assert!(text.contains(&format!("FATAL - the figures of {section} are not known")), "{text}");
    }
}

/// Returns figures without `processes` and `slots`; `fails` says whether their last collections failed.
fn without_statistics(fails: bool) -> Figures {
    let mut figures = Figures { processes: None, slots: None, ..clean() };
    let statistics = [Section::Processes, Section::Slots];
    for collection in &mut figures.collections {
        if fails && statistics.contains(&collection.section) {
            collection.error = Some("failed".into());
        }
    }
    figures
}

#[test]
fn failing_collection_warns() {
    let figures = Figures { sessions: None, ..without_statistics(true) };
    let said = ["processes", "slots", "sessions"]
        .map(|section| format!("WARN - the figures of {section} are not known"));
    assert_eq!(found(&figures), (Level::Warning, said.join("; ")));
    let health = health(&figures);
    let codes: Vec<&str> = health.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["processes-unknown", "slots-unknown", "sessions-unknown"]);
}

#[test]
fn failure_with_known_figures_is_no_finding() {
    let figures = Figures { collections: without_statistics(true).collections, ..clean() };
    assert_eq!(found(&figures).0, Level::Ok);
}

#[test]
fn unrequested_statistics_are_not_reported() {
    let never = Figures { collections: Vec::new(), ..without_statistics(false) };
    for figures in [without_statistics(false), never] {
        assert_eq!(found(&figures).0, Level::Ok);
    }
}

#[test]
fn mail_age_grows_between_collections() {
    let mut figures = clean();
    figures.mail = Some(Mail { queued: 1, oldest_seconds: Some(250), newest_seconds: Some(250) });
    assert_eq!(found(&figures).0, Level::Ok);
    for collection in &mut figures.collections {
        collection.succeeded_at = collection.succeeded_at.map(|at| at - 60.0);
    }
    assert_eq!(found(&figures).1, "WARN - oldest mail in the queue is 310s old");
}

#[test]
fn missing_column_warns() {
    let figures = Figures { lacking: vec![Lacking::OutdatedSlots, Lacking::ExternalUserIds], ..clean() };
    let expected = "WARN - the DB schema is too old for outdated slots; WARN - the DB schema is too old for external user ids";
    assert_eq!(found(&figures), (Level::Warning, expected.into()));
}

/// Programs depend on the codes: each kind of finding has its own, and none changes.
#[test]
fn finding_codes_are_unique() {
    let database =
        Database { connections: 51, connection_limit: Some(100), lock_waits: 11, ..Database::default() };
    let late = Some(Mail { queued: 1, oldest_seconds: Some(400), newest_seconds: Some(400) });
    let unwell = Figures {
        database: Some(database),
        mail: late,
        lacking: vec![Lacking::OutdatedSlots, Lacking::ExternalUserIds],
        ..with_sources(ago(3 * 3600), ago(14_400))
    };
    let cases = [
        unwell,
        with_sources(ago(14_401), None),
        with_sources(None, ago(0)),
        unknown(),
        without_statistics(true),
        clean(),
    ];
    let mut codes = BTreeSet::new();
    for figures in cases {
        let health = health(&figures);
        assert_eq!(
            health.findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok),
            health.level
        );
        let texts: Vec<&str> = health.findings.iter().map(|finding| finding.text.as_str()).collect();
        if !texts.is_empty() {
            let said: Vec<&str> =
                health.text.split("; ").map(|part| part.split_once(" - ").unwrap().1).collect();
            assert_eq!(texts, said, "the line and the findings say the same");
        }
        codes.extend(health.findings.iter().map(|finding| finding.code));
    }
    let expected = [
        "calculation-late",
        "calculation-unrecorded",
        "cluster-not-ready",
        "database-unknown",
        "external-user-ids-lacking",
        "import-late",
        "import-unrecorded",
        "import-very-late",
        "mail-late",
        "mail-unknown",
        "many-connections",
        "many-locks",
        "many-threads",
        "outdated-slots-lacking",
        "processes-unknown",
        "replication-log-off",
        "sessions-unknown",
        "slots-unknown",
        "sources-unknown",
    ];
    let page = include_str!("../../../../host/services/status/README.md");
    for code in &codes {
        assert!(page.contains(&format!("`{code}`")), "the status service's page says nothing of {code}");
    }
    assert_eq!(codes.into_iter().collect::<Vec<_>>(), expected);
}
