//! The words by which a request and its day are told.

/// What is done with a request on its day; German ones take endings, as in "mein am 3.5. gestellter Antrag".
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
/// Endings of those that stand before a noun.
pub(super) const ENDINGS: [&str; 5] = ["e", "en", "er", "em", "es"];
/// Names of requests.
pub(super) const NAMES: [&str; 8] =
    ["antrag", "anfrage", "unterlagen", "anschreiben", "application", "request", "einspruch", "widerspruch"];
/// Words of one that lasts.
pub(super) const LASTING: [&str; 4] = ["warte", "waiting", "heard", "bearbeit"];
/// What a request is answered with; its day counts where somebody objects to it.
pub(super) const DECISION: &str = "bescheid";
pub(super) const OBJECTIONS: [&str; 2] = ["einspruch", "widerspruch"];
/// What is sent as well, and is no request.
pub(super) const REMINDERS: [&str; 6] =
    ["mahnung", "erinnerung", "nachfrage", "beschwerde", "reminder", "complaint"];
/// Words that take back the participle behind them: it was not, or almost, or only meant to be.
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
/// What shows that they take back something else: "not heard of what I sent".
pub(super) const BREAKS: [&str; 11] =
    ["ich", "wir", "i", "we", "sondern", "nur", "only", "obwohl", "although", "got", "had"];
/// What begins a clause that leaves open whether it is so.
pub(super) const IF: [&str; 5] = ["ob", "falls", "wenn", "if", "whether"];
/// What begins a question whether it is so.
pub(super) const ASKING: [&str; 15] = [
    "wurde", "wurden", "habe", "haben", "hat", "ist", "sind", "war", "waren", "did", "have", "has", "was",
    "were", "is",
];
/// Those whom the office has sent something, and who it is that speaks.
pub(super) const RECEIVERS: [&str; 4] = ["mir", "uns", "me", "us"];
pub(super) const WRITERS: [&str; 4] = ["ich", "wir", "i", "we"];
/// What joins a request's name with what is requested: "Antrag auf Wohngeld vom 3.5."
pub(super) const REQUESTED: [&str; 4] = [" auf ", " für ", " for ", " to "];
/// Verbs without which a clause shares the day of the one before it: "war am 3.5. da und den Antrag abgegeben".
pub(super) const FINITE: [&str; 12] =
    ["bin", "ist", "sind", "war", "waren", "wurde", "wurden", "hatte", "hatten", "was", "were", "had"];
/// Verbs of being somewhere, as one is to hand something in.
pub(super) const BEING: [&str; 4] = ["war", "waren", "was", "were"];
/// What begins a clause that speaks of the day that the one before it tells.
pub(super) const THEN: &str = "da hab";
/// What stands before the first day of what lasts.
pub(super) const SINCE: [&str; 4] = ["seit ", "seit dem ", "since ", "since the "];
/// What joins clauses where no comma sets them apart.
pub(super) const JOINTS: [&str; 4] = [" und ", " aber ", " and ", " but "];
/// Verbs whose participle may stand in another clause: "Am 3.5. habe ich, wie besprochen, den Antrag gestellt".
pub(super) const HAVE: [&str; 6] = ["habe", "hab", "haben", "hat", "have", "has"];
/// Words of the longest clause that has nothing but a date.
pub(super) const BARE: usize = 3;
/// What stands before the last day of something, or before the one that something is requested for.
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
/// What begins a part of a sentence that says what something is requested for: "für den Umzug am 15.12."
pub(super) const FOR: [&str; 4] = [" für ", " zu ", " zur ", " for "];
/// What stands between the last word of such a part and its day.
pub(super) const ON: [&str; 3] = [" am ", " on ", " on the "];
/// Words of the longest such part.
pub(super) const LONGEST_PURPOSE: usize = 4;
/// Days by which a span is rounded at least, and the part of its length.
pub(super) const LEAST_ROUNDING: i64 = 3;
pub(super) const ROUNDING: i64 = 8;
/// Verbs that say themselves what they are for: "I applied for a permit on 3 March".
pub(super) const APPLIED: &str = "applied";
/// What may stand between "Montag," and the date of that day.
pub(super) const APPOSITION: [&str; 4] = ["", "den", "dem", "the"];
/// What stands between the name of a letter and its date.
pub(super) const OF: [&str; 5] = [" vom ", " von ", " of ", " from ", " dated "];
