//! Stop words of questions.

/// German and English function words, and phrases of every letter to an office, sorted.
#[rustfmt::skip]
const STOP: &[&str] = &[
    "a", "ab", "aber", "about", "after", "all", "alle", "allem", "allen", "aller", "alles", "als", "also",
    "am", "an", "and", "andere", "anderen", "any", "are", "as", "at", "auch", "auf", "aus", "be", "because",
    "been", "before", "bei", "beim", "being", "bin", "bis", "bitte", "but", "by", "can", "could", "da",
    "dabei", "damit", "danach", "danke", "dann", "daran", "das", "dass", "dazu", "dear", "dein", "dem",
    "den", "denn", "der", "des", "deshalb", "dich", "did", "die", "dies", "diese", "diesem", "diesen",
    "dieser", "dieses", "dir", "do", "doch", "does", "doing", "done", "dort", "du", "durch", "ein", "eine",
    "einem", "einen", "einer", "eines", "er", "es", "etwas", "euch", "euer", "for", "from", "für", "ganz",
    "gar", "gegen", "geht", "gerne", "get", "gets", "gibt", "got", "guten", "hab", "habe", "haben", "had",
    "hallo", "has", "hat", "hatte", "have", "having", "he", "hello", "her", "here", "hier", "him", "hin",
    "his", "how", "hätte", "i", "ich", "if", "ihm", "ihn", "ihnen", "ihr", "ihre", "ihrem", "ihren",
    "ihrer", "im", "immer", "in", "ins", "into", "is", "ist", "it", "its", "ja", "jede", "jedem", "jeden",
    "jeder", "jedes", "jemand", "jetzt", "just", "kann", "kein", "keine", "keinen", "keiner", "know",
    "können", "könnte", "könnten", "lassen", "liebe", "lieber", "like", "mal", "man", "may", "me", "mehr",
    "mein", "meine", "meinem", "meinen", "meiner", "mich", "might", "mir", "mit", "more", "muss", "must",
    "my", "möchte", "möchten", "müssen", "nach", "need", "nicht", "nichts", "no", "noch", "not", "nun",
    "nur", "ob", "oder", "of", "ohne", "on", "one", "or", "our", "out", "per", "please", "schon", "sehr",
    "sein", "seine", "seinem", "seinen", "seiner", "seit", "shall", "she", "should", "sich", "sie", "sind",
    "so", "soll", "sollen", "sollte", "some", "sowie", "such", "tag", "than", "thank", "thanks", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "too", "tun", "um",
    "und", "uns", "unser", "unsere", "unserem", "unseren", "unter", "up", "us", "very", "viel", "vielen",
    "vom", "von", "vor", "wann", "want", "war", "waren", "warum", "was", "we", "weil", "welche", "welchem",
    "welchen", "welcher", "welches", "wenn", "wer", "werde", "werden", "were", "what", "when", "where",
    "which", "while", "who", "whom", "whose", "why", "wie", "wieder", "will", "wir", "wird", "with", "wo",
    "wofür", "woher", "wohin", "wollen", "would", "wurde", "würde", "würden", "you", "your", "zu", "zum",
    "zur", "zwischen", "über",
];

/// Returns whether `word`, in lower case, is one of them.
pub(super) fn contains(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}
