//! Formats points in time: RFC 3339 in UTC.

use std::{
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

const SECONDS_PER_DAY: u64 = 86_400;

/// A time that is shown with milliseconds, as in `2026-08-08T09:31:39.000Z`. Times before 1970 become 1970.
pub(crate) struct Rfc3339Millis(pub(crate) SystemTime);

impl fmt::Display for Rfc3339Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = self.0.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        write!(f, "{}.{:03}Z", DateTime(since.as_secs()), since.subsec_millis())
    }
}

/// Formats with milliseconds, as in `2026-08-08T09:31:39.000Z`. Times before 1970 become 1970.
pub fn rfc3339_millis(time: SystemTime) -> String {
    Rfc3339Millis(time).to_string()
}

/// Formats Unix seconds as in `2026-08-08T09:31:39Z`.
pub fn rfc3339_seconds(unix_seconds: u64) -> String {
    format!("{}Z", DateTime(unix_seconds))
}

/// Unix seconds that are shown as date and time of day.
struct DateTime(u64);

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil(self.0 / SECONDS_PER_DAY);
        let second = self.0 % SECONDS_PER_DAY;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
    }
}

/// Returns the Gregorian date of a day counted from 1970-01-01. Years are counted from 1 March, so that the
/// leap day is a year's last and a month's start is linear in its number.
fn civil(days: u64) -> (u64, u64, u64) {
    const DAYS_FROM_0000_03_01: u64 = 719_468;
    const DAYS_PER_400_YEARS: u64 = 146_097;
    let days = days + DAYS_FROM_0000_03_01;
    let (era, day_of_era) = (days / DAYS_PER_400_YEARS, days % DAYS_PER_400_YEARS);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_767_225_600, "2026-01-01T00:00:00Z"),
            (1_786_181_499, "2026-08-08T09:31:39Z"),
            (4_102_444_800, "2100-01-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339_seconds(seconds), text);
        }
    }

    #[test]
    fn known_instants() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_868_799_000, "2000-02-29T23:59:59.000Z"),
            (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (1_786_181_499_000, "2026-08-08T09:31:39.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ];
        for (millis, text) in cases {
            assert_eq!(rfc3339_millis(UNIX_EPOCH + Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn milliseconds_are_padded() {
        let time = UNIX_EPOCH + Duration::from_millis(1_786_181_499_007);
        assert_eq!(rfc3339_millis(time), "2026-08-08T09:31:39.007Z");
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut previous = civil(0);
        for day in 1..150_000 {
            let next = civil(day);
            assert!(next > previous && (1..=12).contains(&next.1) && (1..=31).contains(&next.2));
            previous = next;
        }
    }
}
