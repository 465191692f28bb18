//! Tests of the figures of a known database.

use std::time::Duration;

use tempfile::TempDir;

use super::{NOW, collector, fill};
use crate::{
    Clock, CollectError, Department, ExternalUserIds, Lacking, Mail, Processes, Scope, Section, Sessions,
    Slots, Sources, connection::Connections, queries, section::Collected,
};

/// Eleven appointments, five slots, six users: their figures are known.
const ROWS: &str = "
INSERT INTO buerger (BuergerID, status, istFolgeterminvon, IPTimeStamp, StandortID, vorlaeufigeBuchung, Abholer,
    external_user_id) VALUES
    (1, 'confirmed', NULL, 1787313900, 10, 0, 0, 'u1'),
    (2, 'confirmed', 1, 1787313900, 10, 0, 0, 'u1'),
    (3, 'preconfirmed', 0, 1787054700, 10, 0, 0, ''),
    (4, 'deleted', NULL, 1787317500, 10, 1, 0, NULL),
    (5, 'blocked', NULL, 0, 0, 0, 0, NULL),
    (6, 'reserved', NULL, 1787313900, 10, 1, 0, NULL),
    (7, 'queued', NULL, 1787313900, 10, 0, 0, NULL),
    (8, 'processing', NULL, 1787313900, 10, 0, 0, NULL),
    (9, NULL, NULL, 1787313900, 10, 0, 0, NULL),
    (10, 'CONFIRMED ', NULL, 1787313900, 10, 0, 0, 'x'),
    (11, 'pending', NULL, 1787313900, 10, 0, 1, 'x');
INSERT INTO oeffnungszeit (OeffnungszeitID, updated_at) VALUES (1, '2026-08-21 14:05:00');
INSERT INTO slot (availabilityID, intern, status, updateTimestamp) VALUES
    (1, 3, 'free', '2026-08-21 13:05:00'),
    (1, 2, 'free', '2026-08-21 15:05:00'),
    (1, 5, 'full', '2026-08-21 13:05:00'),
    (99, 4, 'free', '2026-08-21 13:05:00'),
    (1, NULL, 'free', '2026-08-21 14:05:00');
INSERT INTO behoerde VALUES (1, 'Testbehoerde'), (2, 'Leer');
INSERT INTO standort VALUES (10, 1, 'Testdienststelle');
INSERT INTO nutzer (Name, SessionID, StandortID, sessionExpiry) VALUES
    ('a', 'k1', 10, '2020-01-01 00:00:00'),
    ('b', 'k2', 0, NULL),
    ('c', 'k3', 10, '2026-08-21 15:05:00'),
    ('d', '', 0, '2026-08-21 15:05:00'),
    ('e', 'k5', 0, '2025-10-23 00:02:53'),
    ('f', 'k6', 0, '2025-10-23 00:02:53');
INSERT INTO mailqueue (createTimestamp, subject) VALUES (1787313420, 'a'), (1787314000, 'b');
INSERT INTO config VALUES ('sources_dldb_last', '2022-04-12T13:22:45+02:00'),
    ('status__calculateSlotsLastRun', '2016-04-01 00:00:00');
";

async fn collect(rows: &str, section: Section) -> Result<Collected, CollectError> {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("appointments.sqlite");
    fill(&file, rows).await;
    let location = crate::DatabaseLocation::Sqlite(file);
    let connections = Connections::new(&location, Duration::from_secs(5)).unwrap();
    let collected = queries::collect(section, &connections, &super::berlin(), NOW).await;
    connections.close().await;
    collected
}

#[tokio::test]
async fn appointments_count_once_and_by_their_status() {
    let expected = Processes {
        total: 10,
        blocked: 1,
        confirmed: 2,
        deleted: 1,
        pending: 1,
        reserved: 1,
        preconfirmed: 1,
        queued: 1,
        processing: 1,
        external_user_ids: Some(ExternalUserIds { all: 3, confirmed: 2 }),
        since_midnight: 5,
        last_seven_days: 6,
        // Not the cancelled appointment's, which lies ahead.
        last_insert: Some(super::berlin().moment(NOW)),
        ..Processes::default()
    };
    assert_eq!(collect(ROWS, Section::Processes).await, Ok(Collected::Processes(expected)));
    let none = Some(ExternalUserIds::default());
    let nothing = Collected::Processes(Processes { external_user_ids: none, ..Processes::default() });
    assert_eq!(collect("", Section::Processes).await, Ok(nothing));
}

#[tokio::test]
async fn slots_are_outdated_by_their_opening_hours() {
    let outdated_oldest = Some(super::berlin().moment(NOW));
    let expected = Slots { outdated: Some(1), outdated_oldest, free: Some(9) };
    assert_eq!(collect(ROWS, Section::Slots).await, Ok(Collected::Slots(expected)));
    let nothing = Slots { outdated: Some(0), ..Slots::default() };
    assert_eq!(collect("", Section::Slots).await, Ok(Collected::Slots(nothing)));
}

/// Applies `change` to the tables, and returns slots, appointments and lacking figures.
async fn left_by(change: &str) -> (Slots, Processes, Vec<Lacking>) {
    let rows = format!("{ROWS} {change}");
    let slots = collect(&rows, Section::Slots).await.unwrap();
    let processes = collect(&rows, Section::Processes).await.unwrap();
    let database = collect(&rows, Section::Database).await.unwrap();
    match (slots, processes, database) {
        (Collected::Slots(slots), Collected::Processes(processes), Collected::Database(_, lacking)) => {
            (slots, processes, lacking)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn former_column_name_is_read() {
    let today = left_by("").await;
    assert_eq!(today.2, []);
    let renamed = left_by("ALTER TABLE oeffnungszeit RENAME updated_at TO updateTimestamp").await;
    assert_eq!(renamed, today);
}

#[tokio::test]
async fn a_missing_column_costs_its_figures_only() {
    let (slots, processes, _) = left_by("").await;
    let (left, same, lacking) = left_by("ALTER TABLE oeffnungszeit DROP COLUMN updated_at").await;
    assert_eq!(left, Slots { outdated: None, outdated_oldest: None, ..slots.clone() });
    assert_eq!((same, lacking), (processes.clone(), vec![Lacking::OutdatedSlots]));
    let (same, left, lacking) = left_by("ALTER TABLE buerger DROP COLUMN external_user_id").await;
    assert_eq!(left, Processes { external_user_ids: None, ..processes });
    assert_eq!((same, lacking), (slots, vec![Lacking::ExternalUserIds]));
}

#[tokio::test]
async fn sessions_count_until_they_expire() {
    let scope = Scope { id: 10, name: Some("Testdienststelle".into()), active_sessions: 1 };
    let department = |id, name: &str, scopes| Department { id, name: Some(name.into()), scopes };
    let departments = vec![department(1, "Testbehoerde", vec![scope]), department(2, "Leer", vec![])];
    let expected = Sessions { active: 1, departments };
    assert_eq!(collect(ROWS, Section::Sessions).await, Ok(Collected::Sessions(expected)));
}

#[tokio::test]
async fn mails_and_sources_have_times() {
    let mail = Mail { queued: 2, oldest_seconds: Some(480), newest_seconds: Some(-100) };
    assert_eq!(collect(ROWS, Section::Mail).await, Ok(Collected::Mail(mail)));
    let clock = Clock::new("Europe/Berlin").unwrap();
    let moment = |text: &str| Some(clock.foreign(text.into()));
    let sources = Sources {
        last_import: moment("2022-04-12T13:22:45+02:00"),
        last_calculation: moment("2016-04-01 00:00:00"),
    };
    assert_eq!(collect(ROWS, Section::Sources).await, Ok(Collected::Sources(sources)));
}

#[tokio::test]
async fn missing_column_differs_from_missing_file() {
    let lacking = collect("ALTER TABLE buerger DROP COLUMN status", Section::Processes).await;
    assert_eq!(lacking.unwrap_err().as_str(), "schema");
    let folder = TempDir::new().unwrap();
    let absent = collector(&folder.path().join("none"), Duration::from_secs(1), Duration::from_secs(1));
    absent.refresh(false).await;
    let collections = absent.collections();
    let errors: Vec<_> = collections.iter().filter_map(|collection| collection.error.as_deref()).collect();
    assert_eq!(errors, ["unreachable"; 4]);
}
