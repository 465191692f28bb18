//! Tests of time zones.

use super::{NOW, berlin};
use crate::{Clock, Moment};

#[test]
fn times_are_those_of_the_zone() {
    let clock = berlin();
    assert_eq!(clock.text(NOW), "2026-08-21 14:05:00");
    assert_eq!(clock.iso(NOW), "2026-08-21T14:05:00+02:00");
    assert_eq!(clock.iso(1_767_225_600), "2026-01-01T01:00:00+01:00");
    assert!(Clock::new("Europe/Munich").is_none());
}

#[test]
fn midnight_respects_daylight_saving_time() {
    let clock = berlin();
    for (at, days, midnight) in [
        // 29 March 2026 has 23 hours: its afternoon, the evening after, and a week later.
        ("2026-03-29T15:00:00+02:00", 0, "2026-03-29T00:00:00+01:00"),
        ("2026-03-30T00:30:00+02:00", 0, "2026-03-30T00:00:00+02:00"),
        ("2026-04-02T12:00:00+02:00", 7, "2026-03-26T00:00:00+01:00"),
        // 25 October 2026 has 25 hours: both passes of its third hour, and a week later.
        ("2026-10-25T02:30:00+02:00", 0, "2026-10-25T00:00:00+02:00"),
        ("2026-10-25T02:30:00+01:00", 0, "2026-10-25T00:00:00+02:00"),
        ("2026-10-25T23:59:59+01:00", 0, "2026-10-25T00:00:00+02:00"),
        ("2026-10-28T12:00:00+01:00", 7, "2026-10-21T00:00:00+02:00"),
    ] {
        let found = clock.midnight(clock.parse(at).unwrap(), days);
        assert_eq!(clock.iso(found), midnight, "{days} days before {at}");
    }
}

#[test]
fn database_times_are_read_in_every_format() {
    let clock = berlin();
    for text in [
        "2026-08-21T14:05:00+02:00",
        "2026-08-21 12:05:00+00",
        "2026-08-21 14:05:00",
        "2026-08-21 14:05:00.250",
        " 2026-08-21T14:05:00 ",
        "1787313900",
    ] {
        assert_eq!(clock.parse(text), Some(NOW), "{text}");
    }
    for text in ["", "yesterday", "0000-00-00 00:00:00", "2026-13-01 00:00:00"] {
        let foreign = clock.foreign(text.to_owned());
        assert_eq!(foreign, Moment { text: text.to_owned(), unix_seconds: None });
    }
}
