//! The inputs of a body in the shape of OpenAI: texts or token ids, one or several.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, SeqAccess, Visitor},
};

use super::{EmbedInputs, input_list::push_input, naming_half_pair};

/// The inputs of a body in the shape of OpenAI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenAiInputs {
    /// Texts.
    Texts(EmbedInputs),
    /// The token ids of texts.
    Ids(Vec<Vec<u32>>),
}

impl OpenAiInputs {
    /// Returns the texts, which token ids have none of.
    pub fn texts(&self) -> &[String] {
        match self {
            Self::Texts(EmbedInputs(texts)) => texts,
            Self::Ids(_) => &[],
        }
    }

    /// Returns how many texts there are, as characters or as token ids.
    pub fn count(&self) -> usize {
        match self {
            Self::Texts(EmbedInputs(texts)) => texts.len(),
            Self::Ids(texts) => texts.len(),
        }
    }
}

/// One member of a list.
enum Entry {
    Text(String),
    Id(u32),
    Ids(Vec<u32>),
}

/// Returns a token id.
fn id<E: de::Error>(number: u64) -> Result<u32, E> {
    u32::try_from(number).map_err(|_| E::custom("a token id must be below 4294967296"))
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntryVisitor;

        impl<'de> Visitor<'de> for EntryVisitor {
            type Value = Entry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a token id or an array of token ids")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Entry, E> {
                Ok(Entry::Text(text.to_owned()))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<Entry, E> {
                Ok(Entry::Text(text))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Entry, E> {
                id(number).map(Entry::Id)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Entry, A::Error> {
                let mut ids = Vec::new();
                while let Some(number) = entries.next_element::<u64>()? {
                    ids.push(id(number)?);
                }
                Ok(Entry::Ids(ids))
            }
        }

        deserializer.deserialize_any(EntryVisitor)
    }
}

impl<'de> Deserialize<'de> for OpenAiInputs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InputsVisitor;

        impl<'de> Visitor<'de> for InputsVisitor {
            type Value = OpenAiInputs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an array of strings")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<OpenAiInputs, E> {
                Ok(OpenAiInputs::Texts(EmbedInputs(vec![text.to_owned()])))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<OpenAiInputs, E> {
                Ok(OpenAiInputs::Texts(EmbedInputs(vec![text])))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<OpenAiInputs, A::Error> {
                let (mut texts, mut one, mut several) = (Vec::new(), Vec::new(), Vec::new());
                loop {
                    let entry = entries.next_element::<Entry>();
                    match entry.map_err(|error| naming_half_pair(texts.len(), error))? {
                        Some(Entry::Text(text)) => push_input::<_, A::Error>(&mut texts, text)?,
                        Some(Entry::Id(id)) => one.push(id),
                        Some(Entry::Ids(ids)) => push_input::<_, A::Error>(&mut several, ids)?,
                        None => break,
                    }
                }
                match (texts.is_empty(), one.is_empty(), several.is_empty()) {
                    (_, true, true) => Ok(OpenAiInputs::Texts(EmbedInputs(texts))),
                    (true, false, true) => Ok(OpenAiInputs::Ids(vec![one])),
                    (true, true, false) => Ok(OpenAiInputs::Ids(several)),
                    _ => Err(de::Error::custom("input must have either strings or token ids")),
                }
            }
        }

        deserializer.deserialize_any(InputsVisitor).map_err(|error| naming_half_pair(0, error))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_models::config::MOST_INPUTS;

    use super::*;

    #[test]
    fn texts_and_token_ids_are_distinguished() {
        let texts = |texts: &[&str]| {
            OpenAiInputs::Texts(EmbedInputs(texts.iter().map(|text| (*text).to_owned()).collect()))
        };
        for (json, inputs) in [
            ("\"a\"", texts(&["a"])),
            ("[\"a\",\"b\"]", texts(&["a", "b"])),
            ("[]", texts(&[])),
            ("[4,5]", OpenAiInputs::Ids(vec![vec![4, 5]])),
            ("[[4],[],[5,6]]", OpenAiInputs::Ids(vec![vec![4], vec![], vec![5, 6]])),
        ] {
            assert_eq!(serde_json::from_str::<OpenAiInputs>(json).unwrap(), inputs, "{json}");
        }
        for list in ["\"\",", "[],"] {
            let endless = format!("[{}", list.repeat(MOST_INPUTS + 1));
            let error = serde_json::from_str::<OpenAiInputs>(&endless).unwrap_err().to_string();
            assert!(error.starts_with("more than 1000000 inputs"), "{error}");
        }
        for json in ["[4,\"a\"]", "[[4],5]", "[-1]", "[1.5]", "[4294967296]", "[[[4]]]", "[null]", "7", "{}"]
        {
            assert!(serde_json::from_str::<OpenAiInputs>(json).is_err(), "{json}");
        }
    }
}
