//! Lists of inputs: so many as a configuration may allow, and errors that name an input with half of a surrogate pair.

use std::{fmt, marker::PhantomData};

use bulkhead_models::config::MOST_INPUTS;
use serde::{
    Deserialize, Deserializer,
    de::{self, SeqAccess, Visitor},
};

/// A list of inputs; see [`read_inputs`].
#[derive(Debug)]
pub struct InputList<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for InputList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
            type Value = InputList<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, entries: A) -> Result<InputList<T>, A::Error> {
                read_inputs(entries).map(InputList)
            }
        }

        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

/// Reads the inputs of a list.
///
/// # Errors
/// That of an input, with its index if it has half of a surrogate pair; when there are too many for any host.
pub fn read_inputs<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(mut entries: A) -> Result<Vec<T>, A::Error> {
    let mut inputs = Vec::new();
    loop {
        let entry = entries.next_element::<T>();
        match entry.map_err(|error| naming_half_pair(inputs.len(), error))? {
            Some(input) => push_input::<_, A::Error>(&mut inputs, input)?,
            None => return Ok(inputs),
        }
    }
}

/// Adds an input to those that have been read. An empty text takes far more memory than its bytes of JSON, so a list ends
/// before it is checked as a whole.
///
/// # Errors
/// When no host takes so many.
pub fn push_input<T, E: de::Error>(inputs: &mut Vec<T>, input: T) -> Result<(), E> {
    if inputs.len() >= MOST_INPUTS {
        return Err(E::custom(format_args!("more than {MOST_INPUTS} inputs")));
    }
    inputs.push(input);
    Ok(())
}

/// Replaces the error of input `index` that has half of a surrogate pair or is not UTF-8, which no parser can point to.
pub fn naming_half_pair<E: de::Error>(index: usize, error: E) -> E {
    naming_half_pair_of(format_args!("input {index}"), error)
}

/// Replaces the error of a member `name` that has half of a surrogate pair or is not UTF-8.
pub fn naming_half_pair_of<E: de::Error>(name: impl fmt::Display, error: E) -> E {
    let reason = error.to_string();
    if reason.contains("hex escape") {
        E::custom(format_args!(
            "{name} has half of a surrogate pair (\\ud800 to \\udfff); send whole characters"
        ))
    } else if reason.starts_with("invalid unicode code point") {
        E::custom(format_args!("{name} is not UTF-8"))
    } else {
        error
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn endless_list_is_refused_while_read() {
        let inputs = format!("[{}", "\"\",".repeat(MOST_INPUTS + 1));
        let error = serde_json::from_str::<InputList<String>>(&inputs).unwrap_err().to_string();
        assert!(error.starts_with("more than 1000000 inputs"), "{error}");
    }
}
