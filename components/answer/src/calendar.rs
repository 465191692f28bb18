//! The words of calendars, in lower case.

/// Months, but for the English May, which is a verb too.
pub const MONTHS: [&str; 20] = [
    "januar",
    "jänner",
    "februar",
    "märz",
    "april",
    "mai",
    "juni",
    "juli",
    "august",
    "september",
    "oktober",
    "november",
    "dezember",
    "january",
    "february",
    "march",
    "june",
    "july",
    "october",
    "december",
];
/// Days of the week, which compounds begin with.
pub const WEEKDAYS: [&str; 15] = [
    "montag",
    "dienstag",
    "mittwoch",
    "donnerstag",
    "freitag",
    "samstag",
    "sonnabend",
    "sonntag",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];
