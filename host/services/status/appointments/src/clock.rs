//! Converts times between Unix seconds and the appointment system's time zone.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::{Timestamp, ToSpan as _, civil::DateTime, tz::TimeZone};

use super::Moment;

/// The clock of one time zone.
#[derive(Clone, Debug)]
pub struct Clock {
    zone: TimeZone,
}

impl Clock {
    /// Returns the clock of an IANA time zone such as `Europe/Berlin`; `None` for an unknown name.
    pub fn new(zone: &str) -> Option<Self> {
        TimeZone::get(zone).ok().map(|zone| Self { zone })
    }

    /// Returns the current Unix seconds.
    pub fn now() -> i64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
    }

    /// Formats a time as `2026-08-21 14:05:00`.
    pub fn text(&self, unix_seconds: i64) -> String {
        self.format(unix_seconds, "%Y-%m-%d %H:%M:%S")
    }

    /// Formats a time as `2026-08-21T14:05:00+02:00`.
    pub fn iso(&self, unix_seconds: i64) -> String {
        self.format(unix_seconds, "%Y-%m-%dT%H:%M:%S%:z")
    }

    /// Returns the moment of Unix seconds.
    pub fn moment(&self, unix_seconds: i64) -> Moment {
        Moment { text: self.text(unix_seconds), unix_seconds: Some(unix_seconds) }
    }

    /// Returns the moment of a database's text.
    pub fn foreign(&self, text: String) -> Moment {
        Moment { unix_seconds: self.parse(&text), text }
    }

    /// Returns the Unix seconds at which a day began, `days` days before the day of `unix_seconds`.
    pub fn midnight(&self, unix_seconds: i64, days: i32) -> i64 {
        let day = self.timestamp(unix_seconds).to_zoned(self.zone.clone()).date();
        let day = day.checked_sub(days.days()).unwrap_or(day);
        day.to_zoned(self.zone.clone()).map_or(unix_seconds, |midnight| midnight.timestamp().as_second())
    }

    /// Returns the Unix seconds of a time in a database: with an offset, in this time zone, or as Unix seconds.
    pub fn parse(&self, text: &str) -> Option<i64> {
        let text = text.trim();
        if let Ok(seconds) = text.parse() {
            return Some(seconds);
        }
        if let Ok(timestamp) = text.parse::<Timestamp>() {
            return Some(timestamp.as_second());
        }
        let local: DateTime = text.parse().ok()?;
        local.to_zoned(self.zone.clone()).ok().map(|zoned| zoned.timestamp().as_second())
    }

    fn timestamp(&self, unix_seconds: i64) -> Timestamp {
        Timestamp::from_second(unix_seconds).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn format(&self, unix_seconds: i64, form: &str) -> String {
        self.timestamp(unix_seconds).to_zoned(self.zone.clone()).strftime(form).to_string()
    }
}
