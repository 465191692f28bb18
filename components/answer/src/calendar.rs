//! Names of months and weekdays, in lower case.

/// Months, without the English May, which is also a verb.
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
/// Weekdays, also as beginnings of compounds.
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
