//! A status component: reports the figures of the appointment system, as the host has collected them.
//!
//! Which figures are reported and what counts as a problem is up to this component: change `judge` and `report`.

use bulkhead_guest::Log;
use serde_json::{Value, json};

use bindings::bulkhead::status::appointments::{self, Collection, Figures, Mail};
use bindings::exports::bulkhead::status::reports::{
    Error, Family, Guest, Kind, Level, Options, Report, Sample, Verdict,
};

/// Bindings generated from the WIT.
mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "bulkhead:status/status", generate_all });

    use super::Component;
    export!(Component);
}

const LOG: Log = Log::new(env!("CARGO_PKG_NAME"));
/// Mails that wait for longer are late, seconds.
const LATE_MAIL_SECONDS: i64 = 900;

struct Component;

fn read(statistics: bool) -> Result<Figures, Error> {
    let appointments::PartialFigures { figures, .. } =
        appointments::read_partial(statistics).map_err(|error| match error {
            appointments::Error::Unavailable(text) => Error::Unknown(text),
        })?;
    Ok(figures)
}

/// Returns when the oldest of the figures were collected.
fn collected_at(figures: &Figures) -> Result<f64, Error> {
    let times = figures.collections.iter().filter_map(|one| one.succeeded_at);
    times.reduce(f64::min).ok_or_else(|| Error::Unknown("no figures have been collected yet".to_owned()))
}

fn judge(mail: Option<&Mail>, collections: &[Collection]) -> Verdict {
    let (mut level, mut findings) = (Level::Ok, Vec::new());
    if let Some(seconds) = mail.and_then(|mail| mail.oldest_seconds)
        && seconds > LATE_MAIL_SECONDS
    {
        level = Level::Warning;
        findings.push(format!("the oldest mail waits for {seconds} s"));
    }
    for one in collections {
        if let Some(error) = &one.error {
            level = Level::Critical;
            findings.push(format!("{:?}: {error}", one.section));
        }
    }
    let text = if findings.is_empty() { "all is well".to_owned() } else { findings.join("; ") };
    Verdict { level, text }
}

fn report(figures: &Figures, version: &str) -> Value {
    let mut data = json!({ "version": version, "time": figures.now.text });
    if let Some(processes) = &figures.processes {
        data["appointments"] = json!({ "total": processes.total, "confirmed": processes.confirmed });
    }
    if let Some(mail) = &figures.mail {
        data["mail"] = json!({ "queued": mail.queued });
    }
    data
}

impl Guest for Component {
    fn status(options: Options) -> Result<Report, Error> {
        LOG.report_panics();
        let figures = read(options.statistics)?;
        let data = report(&figures, &options.version).to_string();
        Ok(Report { data, collected_at: collected_at(&figures)? })
    }

    fn health() -> Result<Verdict, Error> {
        LOG.report_panics();
        let figures = read(false)?;
        Ok(judge(figures.mail.as_ref(), &figures.collections))
    }

    fn metrics(version: String) -> Result<Vec<Family>, Error> {
        LOG.report_panics();
        let gauge = |name: &str, help: &str, labels: Vec<(String, String)>, value: f64| Family {
            name: name.to_owned(),
            help: help.to_owned(),
            kind: Kind::Gauge,
            samples: vec![Sample { labels, value }],
        };
        let figures = read(true)?;
        let labels = vec![("version".to_owned(), version)];
        let mut families = vec![gauge("zms_info", "The deployed system.", labels, 1.0)];
        if let Some(mail) = &figures.mail {
            families.push(gauge("zms_mail_queued", "Mails that wait.", Vec::new(), mail.queued as f64));
        }
        Ok(families)
    }
}

impl bindings::Guest for Component {
    fn self_test() -> Result<(), String> {
        LOG.report_panics();
        let late = Mail { queued: 1, oldest_seconds: Some(LATE_MAIL_SECONDS + 1), newest_seconds: None };
        match judge(Some(&late), &[]).level {
            Level::Warning => Ok(()),
            level => Err(format!("a late mail is {level:?}")),
        }
    }
}
