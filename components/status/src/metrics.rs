//! Metric families from figures. A known empty figure is 0; an unknown section has no series.
//!
//! Times are Unix seconds, ages and durations seconds, shares 0 to 1, ON and OFF 1 and 0.

use bulkhead_status_figures::{
    Collection, Database, Figures, Mail, Moment, Processes, Sessions, Slots, Sources,
};

/// Type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only increases.
    Counter,
    /// Increases and decreases.
    Gauge,
}

/// The value of one series.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Label names and values.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: f64,
}

/// All series of one metric name.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The name.
    pub name: &'static str,
    /// The help text.
    pub help: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Its series, one or more.
    pub samples: Vec<Sample>,
}

/// Returns every family that has series.
pub fn families(figures: &Figures, version: &str) -> Vec<Family> {
    let mut page = Page::default();
    page.labelled("zms_build_info", "The deployed version.", [("version", version.to_owned(), 1.0)]);
    if let Some(section) = &figures.processes {
        processes(&mut page, section);
    }
    if let Some(section) = &figures.slots {
        slots(&mut page, section, figures);
    }
    if let Some(section) = figures.mail_now() {
        mail(&mut page, &section);
    }
    if let Some(section) = &figures.sources {
        sources(&mut page, section);
    }
    if let Some(section) = &figures.sessions {
        sessions(&mut page, section);
    }
    if let Some(section) = &figures.database {
        database(&mut page, section);
    }
    collections(&mut page, &figures.collections);
    page.0
}

#[derive(Default)]
struct Page(Vec<Family>);

impl Page {
    fn gauge(&mut self, name: &'static str, help: &'static str, value: f64) {
        let samples = vec![Sample { labels: Vec::new(), value }];
        self.0.push(Family { name, help, kind: Kind::Gauge, samples });
    }

    fn count(&mut self, name: &'static str, help: &'static str, value: u64) {
        self.gauge(name, help, value as f64);
    }

    fn count_some(&mut self, name: &'static str, help: &'static str, value: Option<u64>) {
        if let Some(value) = value {
            self.count(name, help, value);
        }
    }

    fn switch(&mut self, name: &'static str, help: &'static str, on: bool) {
        self.gauge(name, help, if on { 1.0 } else { 0.0 });
    }

    fn time(&mut self, name: &'static str, help: &'static str, moment: Option<&Moment>) {
        if let Some(seconds) = moment.and_then(|moment| moment.unix_seconds) {
            self.gauge(name, help, seconds as f64);
        }
    }

    /// Returns a gauge with one label.
    fn labelled(
        &mut self,
        name: &'static str,
        help: &'static str,
        series: impl IntoIterator<Item = (&'static str, String, f64)>,
    ) {
        let sample = |(label, text, value)| Sample { labels: vec![(label, text)], value };
        let samples: Vec<Sample> = series.into_iter().map(sample).collect();
        if !samples.is_empty() {
            self.0.push(Family { name, help, kind: Kind::Gauge, samples });
        }
    }
}

fn processes(page: &mut Page, section: &Processes) {
    let statuses = section.counted().into_iter().chain(section.uncounted());
    let statuses = statuses.map(|(status, count)| ("status", status.to_owned(), count as f64));
    page.labelled("zms_processes", "Appointments by status.", statuses);
    page.count(
        "zms_processes_confirmed",
        "Confirmed appointments; the same as zms_processes with that status.",
        section.confirmed,
    );
    page.count_some(
        "zms_processes_with_external_user_id",
        "Appointments of any status that are linked to a citizen's account.",
        section.external_user_ids.map(|linked| linked.all),
    );
    page.count_some(
        "zms_processes_confirmed_with_external_user_id",
        "Confirmed appointments that are linked to a citizen's account.",
        section.external_user_ids.map(|linked| linked.confirmed),
    );
    page.count(
        "zms_processes_since_midnight",
        "Appointments that were booked today and are still there.",
        section.since_midnight,
    );
    page.count(
        "zms_processes_last7days",
        "Appointments that were booked today or on the seven days before and are still there.",
        section.last_seven_days,
    );
    page.time(
        "zms_processes_last_insert_timestamp_seconds",
        "Time of the last booking.",
        section.last_insert.as_ref(),
    );
}

fn slots(page: &mut Page, section: &Slots, figures: &Figures) {
    if let Some(outdated) = section.outdated {
        page.count("zms_slots_outdated", "Free slots older than their opening hours.", outdated);
        let age = section.outdated_oldest.as_ref().and_then(|oldest| figures.age(oldest)).unwrap_or(0);
        page.gauge(
            "zms_slots_outdated_oldest_seconds",
            "Age of the oldest change of opening hours that slots lack, 0 when none does.",
            age as f64,
        );
    }
    page.count("zms_slots_free", "Internal capacity of free slots.", section.free.unwrap_or(0));
}

fn mail(page: &mut Page, section: &Mail) {
    page.count("zms_mail_queue_length", "Mails that wait to be sent.", section.queued);
    page.gauge(
        "zms_mail_queue_oldest_seconds",
        "Age of the oldest waiting mail, 0 when none waits.",
        section.oldest_seconds.unwrap_or(0) as f64,
    );
    page.gauge(
        "zms_mail_queue_newest_seconds",
        "Age of the newest waiting mail, 0 when none waits.",
        section.newest_seconds.unwrap_or(0) as f64,
    );
}

fn sources(page: &mut Page, section: &Sources) {
    page.time(
        "zms_sources_dldb_last_import_timestamp_seconds",
        "Time of the last import of services and places.",
        section.last_import.as_ref(),
    );
    page.time(
        "zms_slots_last_calculation_timestamp_seconds",
        "Time of the last calculation of slots.",
        section.last_calculation.as_ref(),
    );
}

fn sessions(page: &mut Page, section: &Sessions) {
    page.count("zms_useraccounts_active_sessions", "Logged-in users.", section.active);
    let departments = section.departments.iter();
    let departments = departments
        .map(|department| ("department_id", department.id.to_string(), department.active_sessions() as f64));
    page.labelled(
        "zms_department_active_sessions",
        "Users logged in at a place of work of a department.",
        departments,
    );
}

fn database(page: &mut Page, section: &Database) {
    page.count("zms_database_threads", "Open connections of the database node.", section.connections);
    page.gauge(
        "zms_database_connection_ratio",
        "Share of the database node's connections in use, 0 to 1.",
        section.connection_ratio(),
    );
    page.count("zms_database_locks", "Locks that somebody waits for.", section.lock_waits);
    page.switch(
        "zms_database_cluster_ready",
        "1 when the database node is a ready member of a cluster.",
        section.cluster_ready == Some(true),
    );
    page.switch(
        "zms_database_replication_log",
        "1 when the database node writes a log that a replica could follow.",
        section.replication_log,
    );
    page.count(
        "zms_database_problems",
        "Settings of the database node that are out of range.",
        section.too_small().count() as u64,
    );
}

fn collections(page: &mut Page, collections: &[Collection]) {
    let section = |collection: &Collection| collection.section.as_str().to_owned();
    let success = |collection: &Collection| match (&collection.error, collection.succeeded_at) {
        (None, Some(_)) => 1.0,
        _ => 0.0,
    };
    page.labelled(
        "zms_collector_success",
        "1 when the last collection of a section succeeded.",
        collections.iter().map(|collection| ("section", section(collection), success(collection))),
    );
    page.labelled(
        "zms_collector_duration_seconds",
        "Time that the last collection of a section took.",
        collections.iter().filter_map(|one| Some(("section", section(one), one.duration_seconds?))),
    );
    page.labelled(
        "zms_collector_last_success_timestamp_seconds",
        "Time of the last collection of a section that succeeded.",
        collections.iter().filter_map(|one| Some(("section", section(one), one.succeeded_at?))),
    );
    let attempts = collections.iter().flat_map(|collection| {
        let sample = |result: &str, count: u64| Sample {
            labels: vec![("section", section(collection)), ("result", result.to_owned())],
            value: count as f64,
        };
        [sample("success", collection.successes), sample("failure", collection.failures)]
    });
    let samples: Vec<Sample> = attempts.collect();
    if !samples.is_empty() {
        let (name, help) = ("zms_collector_attempts_total", "Collections of a section by result.");
        page.0.push(Family { name, help, kind: Kind::Counter, samples });
    }
}
