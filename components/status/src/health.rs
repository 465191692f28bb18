//! Health findings and their summary line: the replaced server's findings with its blind spots closed.
//!
//! Closed are: an import exactly four hours old, an import or calculation that is not recorded at all, the share of
//! connections (a ratio that was compared with a percentage), and a section, or a figure, that cannot be read.

use bulkhead_status_figures::{Database, Figures, Lacking, Mail, Section, Sources};

/// Age in seconds at which the hourly import is late, and very late.
const IMPORT_LATE: i64 = 7200;
const IMPORT_VERY_LATE: i64 = 14_400;
/// Maximum waiting time of a mail, seconds.
const MAIL_WAITS: i64 = 300;
/// Maximum number of lock waits.
const LOCKS: u64 = 10;
/// Maximum number of connections.
const THREADS: u64 = 30;
/// Maximum share of the connections in use, per cent.
const CONNECTIONS_PERCENT: f64 = 50.0;
/// Age in seconds at which the calculation, which runs every minute, is late.
const CALCULATION_LATE: i64 = 600;

/// Severity, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// All is well.
    Ok,
    /// Needs attention.
    Warning,
    /// Does not work.
    Critical,
    /// Cannot be judged.
    Fatal,
}

impl Level {
    /// Returns the word in the summary line.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Warning => "WARN",
            Self::Critical => "CRIT",
            Self::Fatal => "FATAL",
        }
    }
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Identifies its kind for programs.
    pub code: &'static str,
    /// Its severity.
    pub level: Level,
    /// Its text for people.
    pub text: String,
}

/// The state of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The severity of the worst finding.
    pub level: Level,
    /// One line, the findings joined by `; `.
    pub text: String,
    /// The findings, in the order of the line.
    pub findings: Vec<Finding>,
}

/// Judges all figures. Statistics are collected for other reports only, so that they may be missing.
pub fn health(figures: &Figures) -> Health {
    let mut findings = Findings::default();
    import(figures, &mut findings);
    mail(figures.mail_now().as_ref(), &mut findings);
    database(figures.database.as_ref(), &mut findings);
    calculation(figures, &mut findings);
    columns(&figures.lacking, &mut findings);
    unknown(figures, &mut findings);
    findings.sum_up(figures)
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn warn(&mut self, code: &'static str, text: impl Into<String>) {
        self.add(code, Level::Warning, text);
    }

    fn unknown(&mut self, code: &'static str, section: Section) {
        self.add(code, Level::Fatal, unknown_text(section));
    }

    fn add(&mut self, code: &'static str, level: Level, text: impl Into<String>) {
        self.0.push(Finding { code, level, text: text.into() });
    }

    fn sum_up(self, figures: &Figures) -> Health {
        let Self(findings) = self;
        let Some(level) = findings.iter().map(|finding| finding.level).max() else {
            let (ratio, threads, locks) = figures.database.as_ref().map_or((0.0, 0, 0), |database| {
                (database.connection_ratio(), database.connections, database.lock_waits)
            });
            let percent = (ratio * 100.0).round();
            let text = format!("OK - DB={percent}% Threads={threads} Locks={locks}");
            return Health { level: Level::Ok, text, findings };
        };
        let line = |finding: &Finding| format!("{} - {}", finding.level.as_str(), finding.text);
        let text = findings.iter().map(line).collect::<Vec<_>>().join("; ");
        Health { level, text, findings }
    }
}

fn import(figures: &Figures, findings: &mut Findings) {
    let Some(Sources { last_import, .. }) = &figures.sources else {
        return findings.unknown("sources-unknown", Section::Sources);
    };
    match last_import.as_ref().and_then(|last| figures.age(last)) {
        None => findings.warn("import-unrecorded", "no DLDB import is recorded"),
        Some(age) if age > IMPORT_VERY_LATE => {
            findings.add("import-very-late", Level::Critical, "last DLDB import is more than 4 hours ago");
        }
        Some(age) if age > IMPORT_LATE => {
            findings.warn("import-late", "last DLDB import is more than 2 hours ago");
        }
        Some(_) => {}
    }
}

fn mail(section: Option<&Mail>, findings: &mut Findings) {
    match section {
        None => findings.unknown("mail-unknown", Section::Mail),
        Some(Mail { oldest_seconds: Some(age), .. }) if *age > MAIL_WAITS => {
            findings.warn("mail-late", format!("oldest mail in the queue is {age}s old"));
        }
        Some(_) => {}
    }
}

fn database(section: Option<&Database>, findings: &mut Findings) {
    let Some(database) = section else {
        return findings.unknown("database-unknown", Section::Database);
    };
    if !database.replication_log {
        findings.warn("replication-log-off", "DB connection has no replication log");
    }
    if database.cluster_ready != Some(true) {
        findings.warn("cluster-not-ready", "DB connection is not part of a galera cluster");
    }
    if database.lock_waits > LOCKS {
        findings.warn("many-locks", format!("DB-Locks: {}", database.lock_waits));
    }
    if database.connections > THREADS {
        findings.warn("many-threads", format!("DB-Threads: {}", database.connections));
    }
    if database.connection_ratio() * 100.0 > CONNECTIONS_PERCENT {
        findings.warn("many-connections", "DB connections are over 50%");
    }
}

fn calculation(figures: &Figures, findings: &mut Findings) {
    let Some(Sources { last_calculation, .. }) = &figures.sources else { return };
    match last_calculation.as_ref().and_then(|last| figures.age(last)) {
        None => findings.warn("calculation-unrecorded", "no slot calculation is recorded"),
        Some(age) if age > CALCULATION_LATE => {
            findings.warn("calculation-late", format!("slot calculation is {age} seconds old"));
        }
        Some(_) => {}
    }
}

/// Reports the sections without another finding. A section that was not requested, or not lately, is not a fault: only
/// figures whose collection fails are reported as missing.
fn unknown(figures: &Figures, findings: &mut Findings) {
    let fails = |section| figures.collection(section).is_some_and(|collection| collection.error.is_some());
    if figures.processes.is_none() && fails(Section::Processes) {
        findings.warn("processes-unknown", unknown_text(Section::Processes));
    }
    if figures.slots.is_none() && fails(Section::Slots) {
        findings.warn("slots-unknown", unknown_text(Section::Slots));
    }
    // Sessions are collected for every health check.
    if figures.sessions.is_none() {
        findings.warn("sessions-unknown", unknown_text(Section::Sessions));
    }
}

fn unknown_text(section: Section) -> String {
    format!("the figures of {} are not known", section.as_str())
}

fn columns(lacking: &[Lacking], findings: &mut Findings) {
    for lacking in lacking {
        match lacking {
            Lacking::OutdatedSlots => {
                findings.warn("outdated-slots-lacking", "the DB schema is too old for outdated slots");
            }
            Lacking::ExternalUserIds => {
                findings.warn("external-user-ids-lacking", "the DB schema is too old for external user ids");
            }
        }
    }
}
