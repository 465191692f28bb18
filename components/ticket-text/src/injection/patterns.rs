//! Patterns of prompt injections in German and English.

/// A sequence of word prefixes; each step lists alternatives.
pub(super) type Pattern = &'static [&'static [&'static str]];

/// Verbs that revoke instructions.
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
/// Attributes of instructions: earlier ones, and those of the addressee.
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
/// Attributes of instructions in general, also of an office's.
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
/// Nouns for a model's instructions.
const ORDERS: &[&str] = &[
    "instruction",
    "prompt",
    "directive",
    "direction",
    "guardrail",
    "anweisung",
    "instruktion",
    "systemanweisung",
    "systemprompt",
];
/// Nouns for instructions that offices have, too.
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
/// Roles that a model is to play.
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
/// Verbs of performing a role.
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
/// Names that only machines have.
const MACHINES: &[&str] = &["ai", "ki", "llm", "gpt", "chatgpt", "sprachmodell", "chatbot", "bot"];
/// Names that machines and people have.
const ASSISTANTS: &[&str] =
    &["ai", "ki", "llm", "gpt", "chatgpt", "sprachmodell", "chatbot", "bot", "assistant", "assistent"];
/// Prepositions before an addressee.
const FOR: &[&str] = &["an", "ans", "für", "to", "for"];
/// Imperatives to write.
pub(super) const COMMANDS: &[&str] = &[
    "answer",
    "respond",
    "reply",
    "write",
    "output",
    "print",
    "say",
    "sag",
    "sage",
    "ignore",
    "approve",
    "publish",
    "reveal",
    "obey",
    "antworte",
    "schreibe",
    "gib",
    "ignoriere",
    "vergiss",
    "genehmige",
    "veröffentliche",
];
/// Verbs of instructing a model.
const SAID: &[&str] =
    &["text", "everything", "anything", "words", "conversation", "alles", "wörter", "wortlaut", "inhalt"];
/// Words for the place of its instructions.
const BEFORE: &[&str] =
    &["above", "before", "previous", "preceding", "oben", "obig", "davor", "vorherig", "bisherig"];
/// Verbs of revealing them.
const SAY_AGAIN: &[&str] = &["repeat", "output", "print", "reveal", "wiederhol", "gib", "geben"];

/// Patterns that only address machines.
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
    &[&["instruction", "anweisung", "instruktion", "befehl", "command"], &["an", "ans", "to"], MACHINES],
    &[&["instruction", "command", "note", "message"], FOR, &["language"], &["model"]],
    &[&["as"], &["language"], &["model"], &["you"]],
    &[&["als"], MACHINES, &["sollst", "musst", "darfst", "kannst", "wirst", "hast", "bist"]],
    &[&["as"], MACHINES, &["you"], &["must", "should", "shall", "will"]],
    &[&["wenn", "falls"], &["du", "sie"], MACHINES, &["bist", "sind"], COMMANDS],
    &[&["wenn", "falls"], MACHINES, &["liest", "verarbeitet"], COMMANDS],
    &[&["if"], &["you"], &["are", "re"], MACHINES, COMMANDS],
    &[&["if"], &["you"], &["are", "re"], &["language"], &["model"], COMMANDS],
    &[&["dear", "liebe", "lieber"], MACHINES, COMMANDS],
    &[
        &["an", "to", "for", "für", "attention", "achtung"],
        MACHINES,
        &["reading", "processing", "liest", "verarbeitet"],
    ],
    &[
        &["ab", "von"],
        &["jetzt", "nun", "sofort"],
        &["bist"],
        &["du"],
        &["ein", "eine", "kein", "keine", "im", "mein"],
    ],
    &[&["ab", "von"], &["jetzt", "nun", "sofort"], &["heißt", "antwortest", "schreibst"], &["du"]],
    &[&["ab", "von"], &["jetzt", "nun", "sofort"], &["sind"], &["sie"], BEINGS],
    &[&["from"], &["now"], &["you"], &["are"], &["a", "an", "ai", "dan", "unrestricted", "called", "named"]],
    &[&["you"], &["will"], &["now"], &["act", "behave", "speak"], &["as", "like"]],
    &[&["du"], &["antwortest"], &["immer", "nur", "mit", "ausschließlich"]],
    &[&["your", "deine"], &["new", "neue"], &["task", "aufgabe", "role", "rolle"]],
    &[&["category", "kategorie"], &["confidence", "konfidenz"]],
    &[&["confidence", "konfidenz"], &["category", "kategorie"]],
    &[&["set", "setze", "report"], &["confidence", "konfidenz"]],
    &[&["return", "gib"], &["json"]],
    &[EARLIER, RULES, &["gelten", "apply"], &["nicht", "not", "no"]],
    &[
        &["schreib", "antworte", "write", "say"],
        &["in"],
        &["deine", "your"],
        &["antwort", "answer", "reply", "response"],
    ],
    &[
        &["ignorez", "oubliez", "ignore", "oublie"],
        &["toutes", "les", "vos", "tes"],
        &["instruction", "consigne"],
    ],
];

/// Patterns that count only as imperatives: a complaint about people who ignore all rules does not match.
pub(super) const ORDERED: &[Pattern] = &[
    &[DROP, ANY, RULES],
    &[&["do"], &["anything"], &["now"]],
    &[&["antworte", "reply", "respond", "answer"], &["nur", "only", "just"], &["mit", "with"]],
    &[SAY_AGAIN, SAID, BEFORE],
    &[SAY_AGAIN, BEFORE, SAID],
    &[&["instruction", "anweisung", "note", "message", "hinweis", "nachricht"], FOR, MACHINES],
    &[&["you", "du"], &["are", "bist"], ASSISTANTS],
    &[&["pretend"], &["you"], &["are"]],
    &[&["tu"], &["so"], &["als"]],
    &[&["verhalte", "benimm"], &["dich"], &["wie", "als"]],
    &[&["set", "setze", "choose", "select", "assign", "wähle", "ordne"], &["category", "kategorie"]],
    &[
        &["classify", "klassifizier"],
        &["this", "ticket", "message", "diese", "nachricht", "text"],
        &["as", "als"],
    ],
];

/// Imperative forms anywhere in a sentence; whole words.
pub(super) const IMPERATIVES: &[&str] =
    &["vergiss", "ignoriere", "ignorier", "missachte", "umgehe", "umgeh", "überschreibe", "übergehe"];
/// Words before an imperative that does not begin a sentence.
pub(super) const BEFORE_ORDERS: &[&str] = &[
    "please", "bitte", "and", "und", "then", "dann", "now", "jetzt", "nun", "just", "also", "first",
    "instead", "must", "should", "musst", "sollst",
];
/// Possessives of people who write to people: `ignore my previous instructions`.
pub(super) const OWN: &[&str] = &[
    "i", "ich", "we", "wir", "my", "our", "mein", "meine", "meinen", "meiner", "meinem", "unser", "unsere",
    "unseren", "unserer",
];

/// Marks that forge the frame of a conversation or of an answer; lower case.
pub(super) const MARKS: &[&str] = &[
    "<|",
    "|>",
    "begin system",
    "autopublish",
    "new instructions:",
    "updated instructions:",
    "neue anweisungen:",
    "neue anweisung:",
    "neue instruktionen:",
];
/// Marks compared without spaces.
pub(super) const FRAMES: &[&str] = &[
    "[inst]",
    "[/inst]",
    "<<sys>>",
    "[system]",
    "[/system]",
    "<system>",
    "</system>",
    "#system#",
    "=system=",
    "###system",
    "[assistant]",
    "<assistant>",
    "#assistant#",
    "=assistant=",
    "###assistant",
    "###instruction",
    "systemprompt:",
    "systemoverride:",
    "\"role\":\"system\"",
    "auto_publish",
    "auto-publish",
];
/// Beginnings of lines that forge a speaker; lower case.
pub(super) const SPEAKERS: &[&str] = &["assistant:", "developer:", "ai:", "ki:", "bot:", "chatbot:"];
/// A speaker that messages of programs have, too: it is forged only before an imperative.
pub(super) const SYSTEM: &str = "system:";
