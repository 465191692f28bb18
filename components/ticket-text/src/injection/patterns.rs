//! What those say who speak to a machine. German and English.

/// A sequence of word beginnings; each step lists what may stand there.
pub(super) type Pattern = &'static [&'static [&'static str]];

/// What drops an order.
const DROP: &[&str] = &[
    "ignor",
    "disregard",
    "forget",
    "overrid",
    "bypass",
    "vergiss",
    "vergess",
    "missacht",
    "umgeh",
    "überschreib",
    "übergeh",
    "violat",
];
/// Which orders: earlier ones, and those of who is spoken to.
const EARLIER: &[&str] = &[
    "previous",
    "prior",
    "earlier",
    "above",
    "preceding",
    "foregoing",
    "your",
    "bisherig",
    "vorherig",
    "vorig",
    "obig",
    "vorangegangen",
    "vorstehend",
    "deine",
];
/// Which orders, where all of them may be meant, or those of an office.
const ANY: &[&str] = &[
    "previous",
    "prior",
    "earlier",
    "above",
    "preceding",
    "foregoing",
    "your",
    "bisherig",
    "vorherig",
    "vorig",
    "obig",
    "vorangegangen",
    "vorstehend",
    "deine",
    "all",
    "alle",
    "sämtliche",
    "ihre",
    "the",
    "die",
];
/// What a machine is told beforehand.
const ORDERS: &[&str] = &[
    "instruction",
    "prompt",
    "directive",
    "guardrail",
    "anweisung",
    "instruktion",
    "systemanweisung",
    "systemprompt",
];
/// The same, in words that are an office's as well.
const RULES: &[&str] = &[
    "instruction",
    "prompt",
    "directive",
    "guardrail",
    "anweisung",
    "instruktion",
    "rule",
    "guideline",
    "anleitung",
    "vorgabe",
    "regel",
    "richtlinie",
];
const TELL: &[&str] = &[
    "reveal",
    "show",
    "print",
    "repeat",
    "output",
    "display",
    "leak",
    "tell",
    "zeig",
    "nenn",
    "verrat",
    "wiederhol",
    "gib",
    "geben",
    "druck",
    "schreib",
];
/// What machines are told to be.
const BEINGS: &[&str] = &[
    "ai",
    "ki",
    "assistant",
    "assistent",
    "admin",
    "developer",
    "entwickler",
    "model",
    "modell",
    "bot",
    "chatbot",
    "gpt",
    "unrestricted",
    "system",
    "mode",
    "modus",
    "character",
    "persona",
    "pirat",
    "hacker",
    "dan",
    "longer",
    "bound",
];
/// What only a machine does at a word.
const PERFORM: &[&str] = &[
    "output",
    "print",
    "approve",
    "publish",
    "say",
    "classify",
    "obey",
    "comply",
    "veröffentlich",
    "genehmig",
    "freigeb",
    "gib",
];
const REPLY: &[&str] = &["reply", "respond", "answer", "antwort"];

/// Said of nobody else.
pub(super) const PATTERNS: &[Pattern] = &[
    &[DROP, EARLIER, ORDERS],
    &[DROP, &["everything", "anything", "alles"], &["above", "before", "oben", "bisher", "vorher", "zuvor"]],
    &[
        DROP,
        &["everything", "anything", "alles"],
        &["you", "dir", "dich", "du"],
        &["told", "been", "were", "know", "gesagt", "gelernt", "weißt", "wurde"],
    ],
    &[
        DROP,
        &["above", "obig", "oben", "previous", "vorherig"],
        &["and", "und", "instead", "stattdessen"],
        PERFORM,
    ],
    &[
        DROP,
        &["above", "obig", "oben", "previous", "vorherig"],
        &["and", "und", "instead", "stattdessen"],
        REPLY,
        &["with", "only", "just", "mit", "nur", "ok", "yes", "ja"],
    ],
    &[TELL, EARLIER, ORDERS],
    &[&["reveal", "leak", "verrat"], EARLIER, RULES],
    &[
        TELL,
        &["system", "hidden", "secret", "initial", "geheim", "versteckt"],
        &["prompt", "instruction", "message", "anweisung", "nachricht"],
    ],
    &[&["you"], &["are"], &["now"], BEINGS],
    &[&["du"], &["bist"], &["jetzt", "nun", "ab"], &["ein", "eine", "kein", "keine", "im", "mein"]],
    &[&["sie"], &["sind"], &["jetzt", "nun", "ab"], BEINGS],
    &[
        &["pretend", "act", "behave"],
        &["to", "as", "like"],
        &["be", "if", "an", "a", "you"],
        &["ai", "assistant", "admin", "developer", "model", "unrestricted", "system"],
    ],
    &[
        &["verhalte", "benimm", "antworte", "tu"],
        &["dich", "so", "als"],
        &["als", "wie", "ob"],
        &["ki", "assistent", "admin", "entwickler", "modell", "system"],
    ],
    &[
        &["developer", "debug", "admin", "god", "entwickler", "wartungs"],
        &["mode", "modus"],
        &["enabled", "activated", "on", "aktiv", "an", "ein"],
    ],
    &[
        &["new", "updated", "neue", "geänderte"],
        &["system"],
        &["prompt", "message", "instruction", "anweisung", "nachricht"],
    ],
    &[
        &["new", "updated", "neue", "geänderte"],
        &["instruction", "anweisung", "instruktion"],
        &["follow", "lautet", "lauten"],
    ],
    &[
        &["new", "updated", "neue", "geänderte"],
        &["instruction", "anweisung", "instruktion"],
        &["you", "du"],
        &["must", "should", "shall", "will", "are", "musst", "sollst", "wirst"],
        PERFORM,
    ],
    &[&["output", "emit"], &["category", "kategorie", "label", "json", "confidence"]],
    &[&["jailbreak", "entwicklermodus", "systemprompt"]],
    &[
        &["from", "ab"],
        &["now", "jetzt", "sofort"],
        &["you", "du"],
        &["only", "nur", "always", "immer", "must", "musst", "will", "wirst"],
        &[
            "answer", "respond", "reply", "output", "obey", "act", "ignore", "approve", "antwort", "ausgeb",
            "sprech",
        ],
    ],
    &[
        &["from", "ab"],
        &["now", "jetzt", "sofort"],
        &["answer", "respond", "reply", "antworte"],
        &["only", "nur", "always", "immer", "with", "mit", "as", "als"],
    ],
    &[
        &["answer", "respond", "reply", "act", "write", "operate", "antworte", "schreib", "handle"],
        &["without", "ohne"],
        &["any", "jede", "deine", "your", "alle"],
        &["restriction", "filter", "safety", "einschränkung", "sicherheits"],
    ],
];

/// Said of others as well, unless it is an order: whoever complains of people that ignore all rules gives none.
pub(super) const ORDERED: &[Pattern] = &[&[DROP, ANY, RULES], &[&["do"], &["anything"], &["now"]]];

/// Forms that are orders wherever they stand; whole words.
pub(super) const IMPERATIVES: &[&str] =
    &["vergiss", "ignoriere", "ignorier", "missachte", "umgehe", "umgeh", "überschreibe", "übergehe"];
/// Words before an order, where it does not begin a sentence.
pub(super) const BEFORE_ORDERS: &[&str] = &[
    "please", "bitte", "and", "und", "then", "dann", "now", "jetzt", "nun", "just", "also", "first",
    "instead", "must", "should", "musst", "sollst",
];
/// Whose earlier words are dropped where people write to people: `ignore my previous instructions`.
pub(super) const OWN: &[&str] = &[
    "i", "ich", "we", "wir", "my", "our", "mein", "meine", "meinen", "meiner", "meinem", "unser", "unsere",
    "unseren", "unserer",
];

/// What only stands where somebody forges the frame of a conversation or of an answer; lower case.
pub(super) const MARKS: &[&str] = &[
    "<|",
    "|>",
    "[inst]",
    "[/inst]",
    "<<sys>>",
    "<system>",
    "</system>",
    "### system",
    "### instruction",
    "begin system",
    "\"auto_publish\"",
    "auto_publish=",
    "auto_publish:",
    "\"role\": \"system\"",
    "\"role\":\"system\"",
    "new instructions:",
    "updated instructions:",
    "neue anweisungen:",
    "neue anweisung:",
    "neue instruktionen:",
];
/// Beginnings of lines that forge a speaker; lower case.
pub(super) const SPEAKERS: &[&str] = &["system:", "assistant:", "developer:", "ai:", "ki:"];
