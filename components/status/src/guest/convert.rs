//! Conversions between WIT records and plain types.

use bulkhead_status_figures::{
    Collection, Database, Department, ExternalUserIds, Figures, Lacking, Mail, Moment, Processes, Scope,
    Section, Sessions, Slots, Sources,
};

use super::{appointments as host, found, wit};
use crate::error::Error;
use crate::health::{Finding, Health, Level};
use crate::metrics::{Family, Kind, Sample};
use crate::payload::Wire;

impl From<host::PartialFigures> for Figures {
    fn from(host::PartialFigures { figures, lacking }: host::PartialFigures) -> Self {
        let lacking: Vec<Lacking> = lacking.into_iter().map(Lacking::from).collect();
        let mut processes = figures.processes.map(Processes::from);
        if let Some(section) = processes.as_mut().filter(|_| lacking.contains(&Lacking::ExternalUserIds)) {
            section.external_user_ids = None;
        }
        let mut slots = figures.slots.map(Slots::from);
        if let Some(section) = slots.as_mut().filter(|_| lacking.contains(&Lacking::OutdatedSlots)) {
            (section.outdated, section.outdated_oldest) = (None, None);
        }
        Self {
            now: figures.now.into(),
            database: figures.database.map(Database::from),
            processes,
            slots,
            lacking,
            mail: figures.mail.map(Mail::from),
            sources: figures.sources.map(Sources::from),
            sessions: figures.sessions.map(Sessions::from),
            collections: figures.collections.into_iter().map(Collection::from).collect(),
        }
    }
}

impl From<host::Lacking> for Lacking {
    fn from(lacking: host::Lacking) -> Self {
        match lacking {
            host::Lacking::OutdatedSlots => Self::OutdatedSlots,
            host::Lacking::ExternalUserIds => Self::ExternalUserIds,
        }
    }
}

impl From<host::Section> for Section {
    fn from(section: host::Section) -> Self {
        match section {
            host::Section::Database => Self::Database,
            host::Section::Processes => Self::Processes,
            host::Section::Slots => Self::Slots,
            host::Section::Mail => Self::Mail,
            host::Section::Sources => Self::Sources,
            host::Section::Sessions => Self::Sessions,
        }
    }
}

impl From<host::Collection> for Collection {
    fn from(collection: host::Collection) -> Self {
        let host::Collection { section, succeeded_at, duration_seconds, error, successes, failures } =
            collection;
        Self { section: section.into(), succeeded_at, duration_seconds, error, successes, failures }
    }
}

impl From<host::Moment> for Moment {
    fn from(host::Moment { text, unix_seconds }: host::Moment) -> Self {
        Self { text, unix_seconds }
    }
}

impl From<host::Database> for Database {
    fn from(database: host::Database) -> Self {
        let sizes = database.size_settings.into_iter();
        Self {
            connections: database.connections,
            connection_limit: database.connection_limit,
            lock_waits: database.lock_waits,
            cluster_ready: database.cluster_ready,
            replication_log: database.replication_log,
            size_settings: sizes.map(|setting| (setting.name, setting.bytes)).collect(),
        }
    }
}

impl From<host::Processes> for Processes {
    fn from(processes: host::Processes) -> Self {
        Self {
            total: processes.total,
            blocked: processes.blocked,
            called: processes.called,
            confirmed: processes.confirmed,
            deleted: processes.deleted,
            missed: processes.missed,
            parked: processes.parked,
            pending: processes.pending,
            reserved: processes.reserved,
            preconfirmed: processes.preconfirmed,
            queued: processes.queued,
            processing: processes.processing,
            external_user_ids: Some(ExternalUserIds {
                all: processes.with_external_user_id,
                confirmed: processes.confirmed_with_external_user_id,
            }),
            since_midnight: processes.since_midnight,
            last_seven_days: processes.last_seven_days,
            last_insert: processes.last_insert.map(Moment::from),
        }
    }
}

impl From<host::Slots> for Slots {
    fn from(host::Slots { outdated, outdated_oldest, free }: host::Slots) -> Self {
        Self { outdated: Some(outdated), outdated_oldest: outdated_oldest.map(Moment::from), free }
    }
}

impl From<host::Mail> for Mail {
    fn from(host::Mail { queued, oldest_seconds, newest_seconds }: host::Mail) -> Self {
        Self { queued, oldest_seconds, newest_seconds }
    }
}

impl From<host::Sources> for Sources {
    fn from(host::Sources { last_import, last_calculation }: host::Sources) -> Self {
        Self {
            last_import: last_import.map(Moment::from),
            last_calculation: last_calculation.map(Moment::from),
        }
    }
}

impl From<host::Sessions> for Sessions {
    fn from(host::Sessions { active, departments }: host::Sessions) -> Self {
        let scope =
            |host::Scope { id, name, active_sessions }: host::Scope| Scope { id, name, active_sessions };
        let department = |host::Department { id, name, scopes }: host::Department| Department {
            id,
            name,
            scopes: scopes.into_iter().map(scope).collect(),
        };
        Self { active, departments: departments.into_iter().map(department).collect() }
    }
}

impl From<wit::Wire> for Wire {
    fn from(wire: wit::Wire) -> Self {
        match wire {
            wit::Wire::Typed => Self::Typed,
            wit::Wire::Legacy => Self::Legacy,
        }
    }
}

impl From<Health> for wit::Verdict {
    fn from(Health { level, text, .. }: Health) -> Self {
        let level = match level {
            Level::Ok => wit::Level::Ok,
            Level::Warning => wit::Level::Warning,
            Level::Critical => wit::Level::Critical,
            Level::Fatal => wit::Level::Fatal,
        };
        Self { level, text }
    }
}

impl From<Level> for found::Severity {
    fn from(level: Level) -> Self {
        match level {
            Level::Ok => Self::Ok,
            Level::Warning => Self::Warning,
            Level::Critical => Self::Critical,
            Level::Fatal => Self::Fatal,
        }
    }
}

impl From<Health> for found::Judgement {
    fn from(Health { level, text, findings }: Health) -> Self {
        let finding = |Finding { code, level, text }: Finding| found::Finding {
            code: code.to_owned(),
            severity: level.into(),
            text,
        };
        Self { severity: level.into(), text, findings: findings.into_iter().map(finding).collect() }
    }
}

impl From<Family> for wit::Family {
    fn from(family: Family) -> Self {
        let label = |(name, value): (&str, String)| (name.to_owned(), value);
        let sample =
            |Sample { labels, value }| wit::Sample { labels: labels.into_iter().map(label).collect(), value };
        Self {
            name: family.name.to_owned(),
            help: family.help.to_owned(),
            kind: match family.kind {
                Kind::Counter => wit::Kind::Counter,
                Kind::Gauge => wit::Kind::Gauge,
            },
            samples: family.samples.into_iter().map(sample).collect(),
        }
    }
}

impl From<Error> for wit::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Unknown(text) => Self::Unknown(text),
            Error::Internal(text) => Self::Internal(text),
        }
    }
}
