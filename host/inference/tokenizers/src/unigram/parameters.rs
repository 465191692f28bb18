//! The parameters that the compact form of Unigram keeps of the normalisers and pre-tokenizers that it covers.

use serde_json::Value;

/// The replacement of a space.
pub(super) const META: &str = "▁";

/// The parameters of the form that are not in its sections.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Parameters {
    pub(super) unknown: u32,
    /// Score of an unknown character, as the bits of an f64.
    pub(super) unknown_score: u64,
    /// Bits of the best score of a piece that begins with each byte; empty if a score is above zero.
    pub(super) highest: Vec<u64>,
    pub(super) charsmap: bool,
    /// Characters of ASCII that get a space on both sides.
    pub(super) isolated: String,
    /// The replacement of runs of space.
    pub(super) runs: Runs,
    pub(super) strip_left: bool,
    pub(super) strip_right: bool,
    /// Whether white space separates words.
    pub(super) whitespace: bool,
    /// Whether each `▁` begins a word.
    pub(super) split: bool,
}

/// Replacement of runs of space in the normaliser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub(super) enum Runs {
    /// None.
    #[default]
    Kept,
    /// ` {2,}` by a space.
    Spaces,
    /// `\s+` by a space.
    Whitespace,
}

fn kind(section: &Value) -> Option<&str> {
    section.get("type").and_then(Value::as_str)
}

impl Parameters {
    /// Reads the normaliser. It covers, in this order and each optional: a character map, spaces around single
    /// characters of ASCII, a replacement of runs of space, stripping.
    pub(super) fn read_normalizer(&mut self, section: &Value, blob: &mut Vec<u8>) -> Result<(), String> {
        use base64::Engine;
        let uncovered = || format!("normalizer {}", kind(section).unwrap_or("without type"));
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let first = !self.charsmap && self.isolated.is_empty() && self.runs == Runs::Kept;
        match kind(section) {
            None if section.is_null() => {}
            Some("Sequence") => {
                let steps = section.get("normalizers").and_then(Value::as_array).ok_or_else(uncovered)?;
                for step in steps {
                    self.read_normalizer(step, blob)?;
                }
            }
            Some("Precompiled") if first => {
                let coded = text(section.get("precompiled_charsmap")).ok_or_else(uncovered)?;
                *blob = base64::engine::general_purpose::STANDARD.decode(coded).map_err(|_| uncovered())?;
                self.charsmap = true;
            }
            Some("Replace") if self.runs == Runs::Kept && !self.strip_left && !self.strip_right => {
                let content = text(section.get("content")).ok_or_else(uncovered)?;
                let pattern = section.get("pattern").ok_or_else(uncovered)?;
                match (text(pattern.get("String")), text(pattern.get("Regex"))) {
                    (Some(character), None) if content == format!(" {character} ") => {
                        match *character.as_bytes() {
                            [byte] if byte.is_ascii_graphic() && !self.isolated.contains(&character) => {
                                self.isolated.push_str(&character);
                            }
                            _ => return Err(uncovered()),
                        }
                    }
                    (None, Some(regex)) if content == " " => {
                        self.runs = match regex.as_str() {
                            " {2,}" => Runs::Spaces,
                            r"\s+" => Runs::Whitespace,
                            _ => return Err(uncovered()),
                        };
                    }
                    _ => return Err(uncovered()),
                }
            }
            // only where all white space has become single spaces
            Some("Strip") if self.runs == Runs::Whitespace => {
                let side = |name| section.get(name).and_then(Value::as_bool).ok_or_else(uncovered);
                self.strip_left |= side("strip_left")?;
                self.strip_right |= side("strip_right")?;
            }
            _ => return Err(uncovered()),
        }
        Ok(())
    }

    /// Reads the pre-tokenizer. It covers Metaspace that always prepends, alone or behind WhitespaceSplit.
    pub(super) fn read_pre_tokenizer(&mut self, section: &Value) -> Result<(), String> {
        let uncovered = || format!("pre-tokenizer {}", kind(section).unwrap_or("without type"));
        let steps = match kind(section) {
            Some("Sequence") => {
                section.get("pretokenizers").and_then(Value::as_array).ok_or_else(uncovered)?
            }
            _ => std::slice::from_ref(section),
        };
        let metaspace = match steps {
            [only] => only,
            [first, second] if kind(first) == Some("WhitespaceSplit") => {
                self.whitespace = true;
                second
            }
            _ => return Err(uncovered()),
        };
        let always = metaspace.get("prepend_scheme").is_none_or(|scheme| scheme == "always")
            && metaspace.get("add_prefix_space").is_none_or(|prefix| prefix.is_null() || prefix == true);
        let replacement = metaspace.get("replacement").and_then(Value::as_str);
        if kind(metaspace) != Some("Metaspace") || replacement != Some(META) || !always {
            return Err(uncovered());
        }
        self.split = metaspace.get("split").and_then(Value::as_bool).unwrap_or(true);
        Ok(())
    }

    /// Returns an added token's normalised content as it looks in the text that `encode` leaves; `None` if that is
    /// unknown.
    pub(crate) fn pattern(&self, normalized: &str) -> Option<String> {
        let inner = normalized.trim();
        let words: Vec<&str> = match self.whitespace {
            true => inner.split_whitespace().collect(),
            false => inner.split(' ').collect(),
        };
        let odd = inner.contains(META) || words.iter().any(|word| word.contains(char::is_whitespace));
        (!odd && !inner.is_empty()).then(|| words.join(META))
    }
}
