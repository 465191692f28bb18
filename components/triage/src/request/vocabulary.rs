//! Vocabulary for requests and their days.

/// Participles for making a request; German ones take endings, as in "mein am 3.5. gestellter Antrag".
pub(super) const MADE: [&str; 41] = [
    "beantragt",
    "eingereicht",
    "abgegeben",
    "abgeschickt",
    "abgesendet",
    "abgesandt",
    "gestellt",
    "stellte",
    "reichte",
    "gesendet",
    "geschickt",
    "schickte",
    "eingesandt",
    "eingeschickt",
    "übersandt",
    "übermittelt",
    "eingeworfen",
    "eingelegt",
    "eingegangen",
    "bestellt",
    "angemeldet",
    "angefragt",
    "angefordert",
    "unterschrieben",
    "unterzeichnet",
    "reklamiert",
    "applied",
    "submitted",
    "handed in",
    "sent",
    "ordered",
    "requested",
    "signed up",
    "registered",
    "filed",
    "lodged",
    "posted",
    "mailed",
    "emailed",
    "signed",
    "raus",
];
/// Endings of participles before a noun.
pub(super) const ENDINGS: [&str; 5] = ["e", "en", "er", "em", "es"];
/// Nouns for requests.
pub(super) const NAMES: [&str; 8] =
    ["antrag", "anfrage", "unterlagen", "anschreiben", "application", "request", "einspruch", "widerspruch"];
/// Words of a request that is still open.
pub(super) const LASTING: [&str; 4] = ["warte", "waiting", "heard", "bearbeit"];
/// The decision on a request; its day counts if the sender objects to it.
pub(super) const DECISION: &str = "bescheid";
pub(super) const OBJECTIONS: [&str; 2] = ["einspruch", "widerspruch"];
/// Things that are also sent and are not requests.
pub(super) const REMINDERS: [&str; 6] =
    ["mahnung", "erinnerung", "nachfrage", "beschwerde", "reminder", "complaint"];
/// Words that negate the following participle: not, almost, only planned.
pub(super) const DENIALS: [&str; 25] = [
    "nicht",
    "nie",
    "niemals",
    "kein",
    "keine",
    "keinen",
    "ohne",
    "wollte",
    "wollten",
    "hätte",
    "hätten",
    "würde",
    "versucht",
    "versuchte",
    "fast",
    "beinahe",
    "not",
    "never",
    "no",
    "without",
    "wanted",
    "tried",
    "would",
    "almost",
    "cannot",
];
/// Words that show that the negation belongs to something else: "not heard of what I sent".
pub(super) const BREAKS: [&str; 11] =
    ["ich", "wir", "i", "we", "sondern", "nur", "only", "obwohl", "although", "got", "had"];
/// Conjunctions of indirect questions and conditions.
pub(super) const IF: [&str; 5] = ["ob", "falls", "wenn", "if", "whether"];
/// First words of a yes-no question.
pub(super) const ASKING: [&str; 15] = [
    "wurde", "wurden", "habe", "haben", "hat", "ist", "sind", "war", "waren", "did", "have", "has", "was",
    "were", "is",
];
/// Pronouns for the recipients of the office's letters, and for the sender.
pub(super) const RECEIVERS: [&str; 4] = ["mir", "uns", "me", "us"];
pub(super) const WRITERS: [&str; 4] = ["ich", "wir", "i", "we"];
/// Prepositions between a request and its subject: "Antrag auf Wohngeld vom 3.5."
pub(super) const REQUESTED: [&str; 4] = [" auf ", " für ", " for ", " to "];
/// Verbs whose clause has a day of its own; without one it shares the day of the clause before it: "war am 3.5. da
/// und den Antrag abgegeben".
pub(super) const FINITE: [&str; 12] =
    ["bin", "ist", "sind", "war", "waren", "wurde", "wurden", "hatte", "hatten", "was", "were", "had"];
/// Verbs of presence, such as for a personal delivery.
pub(super) const BEING: [&str; 4] = ["war", "waren", "was", "were"];
/// Beginning of a clause about the day of the previous clause.
pub(super) const THEN: &str = "da hab";
/// Words before the first day of a period.
pub(super) const SINCE: [&str; 4] = ["seit ", "seit dem ", "since ", "since the "];
/// Conjunctions between clauses without a comma.
pub(super) const JOINTS: [&str; 4] = [" und ", " aber ", " and ", " but "];
/// Auxiliary verbs whose participle may be in another clause: "Am 3.5. habe ich, wie besprochen, den Antrag
/// gestellt".
pub(super) const HAVE: [&str; 6] = ["habe", "hab", "haben", "hat", "have", "has"];
/// Maximum number of words of a clause that is only a date.
pub(super) const BARE: usize = 3;
/// Words before the last day of a period, or before the day a request is for.
pub(super) const UNTIL: [&str; 11] = [
    "bis ",
    "bis zum ",
    "until ",
    "till ",
    "stand ",
    "für den ",
    "ab ",
    "ab dem ",
    "zum ",
    "for ",
    "for the ",
];
/// Prepositions of a purpose: "für den Umzug am 15.12."
pub(super) const FOR: [&str; 4] = [" für ", " zu ", " zur ", " for "];
/// Words between a purpose and its day.
pub(super) const ON: [&str; 3] = [" am ", " on ", " on the "];
/// Maximum number of words of a purpose.
pub(super) const LONGEST_PURPOSE: usize = 4;
/// Rounding of a span: at least this many days, and this share of its length.
pub(super) const LEAST_ROUNDING: i64 = 3;
pub(super) const ROUNDING: i64 = 8;
/// A verb that names its purpose: "I applied for a permit on 3 March".
pub(super) const APPLIED: &str = "applied";
/// Words between "Montag," and its date.
pub(super) const APPOSITION: [&str; 4] = ["", "den", "dem", "the"];
/// Words between the name of a letter and its date.
pub(super) const OF: [&str; 5] = [" vom ", " von ", " of ", " from ", " dated "];
