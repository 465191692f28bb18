//! Rare letters, by the languages that use them.

/// Rare letters and the languages that use them.
pub(super) const LETTERS: &[(&str, &[&str])] = &[
    ("ß", &["de"]),
    ("ä", &["de", "sv", "fi", "sk"]),
    ("ö", &["de", "sv", "fi", "tr", "hu"]),
    ("ü", &["de", "tr", "hu"]),
    ("łąęćńśźż", &["pl"]),
    ("řěů", &["cs"]),
    ("ľĺŕ", &["sk"]),
    ("ășțţ", &["ro"]),
    ("ğış", &["tr"]),
    ("å", &["da", "no", "sv"]),
    ("æø", &["da", "no"]),
    ("ñ¿¡", &["es"]),
    ("ãõ", &["pt"]),
    ("èêîôœù", &["fr", "it"]),
    ("ő", &["hu"]),
    ("ý", &["cs", "sk"]),
    ("čšž", &["cs", "sk", "hr", "lt"]),
    ("đ", &["hr"]),
    ("ė", &["lt"]),
];
