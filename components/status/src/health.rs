//! Health in one line: the replaced server's findings with its blind spots closed.
//!
//! Closed are: an import exactly four hours old, an import or calculation that is not recorded at all, the share
//! of connections (a ratio that was compared with a percentage), and a section that cannot be read.

use crate::figures::{Database, Figures, Mail, Section, Sources};

/// Seconds after which the hourly import is late, and very late.
const IMPORT_LATE: i64 = 7200;
const IMPORT_VERY_LATE: i64 = 14_400;
/// Seconds that a mail may wait.
const MAIL_WAITS: i64 = 300;
/// Lock waits at once.
const LOCKS: u64 = 10;
/// Connections at once.
const THREADS: u64 = 30;
/// Percent of the connections.
const CONNECTIONS_PERCENT: f64 = 50.0;
/// Seconds after which the calculation, which runs every minute, is late.
const CALCULATION_LATE: i64 = 600;

/// How bad it is; the worst is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// All is well.
    Ok,
    /// To be looked at.
    Warning,
    /// Out of order.
    Critical,
    /// Nothing can be said.
    Fatal,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The worst finding's level.
    pub level: Level,
    /// One line, the findings joined by `; `.
    pub text: String,
}

/// Judges figures that were collected without statistics.
pub fn health(figures: &Figures) -> Health {
    let mut findings = Findings::default();
    import(figures, &mut findings);
    mail(figures.mail.as_ref(), &mut findings);
    database(figures.database.as_ref(), &mut findings);
    calculation(figures, &mut findings);
    findings.sum_up(figures)
}

#[derive(Default)]
struct Findings {
    worst: Option<Level>,
    texts: Vec<String>,
}

impl Findings {
    fn warn(&mut self, text: impl Into<String>) {
        self.add(Level::Warning, "WARN", text.into());
    }

    fn fatal(&mut self, section: Section) {
        let text = format!("the figures of {} are not known", section.as_str());
        self.add(Level::Fatal, "FATAL", text);
    }

    fn add(&mut self, level: Level, word: &str, text: String) {
        self.worst = self.worst.max(Some(level));
        self.texts.push(format!("{word} - {text}"));
    }

    fn sum_up(self, figures: &Figures) -> Health {
        let Some(level) = self.worst else {
            let (ratio, threads, locks) = figures.database.as_ref().map_or((0.0, 0, 0), |database| {
                (database.connection_ratio(), database.connections, database.lock_waits)
            });
            let percent = (ratio * 100.0).round();
            return Health {
                level: Level::Ok,
                text: format!("OK - DB={percent}% Threads={threads} Locks={locks}"),
            };
        };
        Health { level, text: self.texts.join("; ") }
    }
}

fn import(figures: &Figures, findings: &mut Findings) {
    let Some(Sources { last_import, .. }) = &figures.sources else {
        return findings.fatal(Section::Sources);
    };
    match last_import.as_ref().and_then(|last| figures.age(last)) {
        None => findings.warn("no DLDB import is recorded"),
        Some(age) if age > IMPORT_VERY_LATE => {
            findings.add(Level::Critical, "CRIT", "last DLDB import is more than 4 hours ago".into());
        }
        Some(age) if age > IMPORT_LATE => findings.warn("last DLDB import is more than 2 hours ago"),
        Some(_) => {}
    }
}

fn mail(section: Option<&Mail>, findings: &mut Findings) {
    match section {
        None => findings.fatal(Section::Mail),
        Some(Mail { oldest_seconds: Some(age), .. }) if *age > MAIL_WAITS => {
            findings.warn(format!("oldest mail in the queue is {age}s old"));
        }
        Some(_) => {}
    }
}

fn database(section: Option<&Database>, findings: &mut Findings) {
    let Some(database) = section else {
        return findings.fatal(Section::Database);
    };
    if !database.replication_log {
        findings.warn("DB connection has no replication log");
    }
    if database.cluster_ready != Some(true) {
        findings.warn("DB connection is not part of a galera cluster");
    }
    if database.lock_waits > LOCKS {
        findings.warn(format!("DB-Locks: {}", database.lock_waits));
    }
    if database.connections > THREADS {
        findings.warn(format!("DB-Threads: {}", database.connections));
    }
    if database.connection_ratio() * 100.0 > CONNECTIONS_PERCENT {
        findings.warn("DB connections are over 50%");
    }
}

fn calculation(figures: &Figures, findings: &mut Findings) {
    let Some(Sources { last_calculation, .. }) = &figures.sources else { return };
    match last_calculation.as_ref().and_then(|last| figures.age(last)) {
        None => findings.warn("no slot calculation is recorded"),
        Some(age) if age > CALCULATION_LATE => {
            findings.warn(format!("slot calculation is {age} seconds old"));
        }
        Some(_) => {}
    }
}
