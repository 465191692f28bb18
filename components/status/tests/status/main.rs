//! Tests of the status logic on figures with known answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod golden;
mod health;
mod metrics;
mod payload;

use bulkhead_status_figures::{
    Collection, Database, Department, ExternalUserIds, Figures, Mail, Moment, Processes, Scope, Section,
    Sessions, Slots, Sources,
};

/// 2026-08-21 14:05:00 in Berlin.
const NOW: i64 = 1_787_313_900;

fn moment(text: &str, unix_seconds: i64) -> Moment {
    Moment { text: text.into(), unix_seconds: Some(unix_seconds) }
}

fn ago(seconds: i64) -> Option<Moment> {
    Some(moment("some time", NOW - seconds))
}

fn collection(section: Section, at: f64) -> Collection {
    Collection {
        section,
        succeeded_at: Some(at),
        duration_seconds: Some(0.25),
        error: None,
        successes: 3,
        failures: 0,
    }
}

/// Returns figures of which nothing is known or collected.
fn unknown() -> Figures {
    Figures {
        now: moment("2026-08-21 14:05:00", NOW),
        database: None,
        processes: None,
        slots: None,
        mail: None,
        sources: None,
        sessions: None,
        lacking: Vec::new(),
        collections: Vec::new(),
    }
}

/// Returns figures without appointments.
fn nothing() -> Processes {
    Processes { external_user_ids: Some(ExternalUserIds::default()), ..Processes::default() }
}

/// Returns figures with everything collected, nothing wrong and nothing counted.
fn clean() -> Figures {
    let sections = [
        Section::Database,
        Section::Processes,
        Section::Slots,
        Section::Mail,
        Section::Sources,
        Section::Sessions,
    ];
    Figures {
        database: Some(Database {
            connection_limit: Some(100),
            cluster_ready: Some(true),
            replication_log: true,
            ..Database::default()
        }),
        processes: Some(nothing()),
        slots: Some(Slots { outdated: Some(0), ..Slots::default() }),
        mail: Some(Mail::default()),
        sources: Some(Sources { last_import: ago(60), last_calculation: ago(60) }),
        sessions: Some(Sessions::default()),
        collections: sections.map(|section| collection(section, NOW as f64)).into(),
        ..unknown()
    }
}

/// Returns figures of eleven appointments, five slots and six users with known answers.
fn golden() -> Figures {
    let scope = Scope { id: 10, name: Some("Bürgerbüro".into()), active_sessions: 1 };
    let department = |id, name: &str, scopes| Department { id, name: Some(name.into()), scopes };
    Figures {
        database: Some(Database {
            connections: 1,
            connection_limit: Some(151),
            lock_waits: 0,
            cluster_ready: Some(false),
            replication_log: false,
            size_settings: ["tmp_table_size", "max_heap_table_size"]
                .map(|name| (name.to_owned(), 16_777_216))
                .into(),
        }),
        processes: Some(Processes {
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
            last_insert: Some(moment("2026-08-21 14:05:00", NOW)),
            ..Processes::default()
        }),
        slots: Some(Slots {
            outdated: Some(1),
            outdated_oldest: Some(moment("2026-08-21 14:05:00", NOW)),
            free: Some(9),
        }),
        mail: Some(Mail { queued: 2, oldest_seconds: Some(480), newest_seconds: Some(-100) }),
        sources: Some(Sources {
            last_import: Some(moment("2022-04-12T13:22:45+02:00", 1_649_762_565)),
            last_calculation: Some(moment("2016-04-01 00:00:00", 1_459_461_600)),
        }),
        sessions: Some(Sessions {
            active: 1,
            departments: vec![department(1, "Testbehoerde", vec![scope]), department(2, "Leer", vec![])],
        }),
        ..clean()
    }
}
