//! Instants as text.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SECONDS_A_DAY: u64 = 86_400;

/// RFC 3339 in UTC with milliseconds, as in `2026-08-08T09:31:39.000Z`. Times before 1970 become 1970.
pub fn rfc3339_millis(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let (days, second) = (since.as_secs() / SECONDS_A_DAY, since.as_secs() % SECONDS_A_DAY);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let millis = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// The Gregorian date that many days after 1 January 1970.
fn date(days: u64) -> (u64, u64, u64) {
    // The calendar repeats every 400 years.
    let (mut year, mut day) = (1970 + days / 146_097 * 400, days % 146_097);
    while day >= 365 + leap(year) {
        day -= 365 + leap(year);
        year += 1;
    }
    let months = [31, 28 + leap(year), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in months {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    (year, month, day + 1)
}

/// The leap days of a year: 1 or 0.
fn leap(year: u64) -> u64 {
    u64::from(year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
