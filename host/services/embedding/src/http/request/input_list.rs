//! Lists of inputs whose errors name an input that has half of a surrogate pair.

use std::{fmt, marker::PhantomData};

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
/// That of an input, with its index if it has half of a surrogate pair.
pub fn read_inputs<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(mut entries: A) -> Result<Vec<T>, A::Error> {
    let mut inputs = Vec::new();
    loop {
        let entry = entries.next_element::<T>();
        match entry.map_err(|error| naming_half_pair(inputs.len(), error))? {
            Some(input) => inputs.push(input),
            None => return Ok(inputs),
        }
    }
}

/// Replaces the error of input `index` that has half of a surrogate pair, which no parser can point to.
pub fn naming_half_pair<E: de::Error>(index: usize, error: E) -> E {
    naming_half_pair_of(format_args!("input {index}"), error)
}

/// Replaces the error of a member `name` that has half of a surrogate pair.
pub fn naming_half_pair_of<E: de::Error>(name: impl fmt::Display, error: E) -> E {
    match error.to_string().contains("hex escape") {
        true => E::custom(format_args!(
            "{name} has half of a surrogate pair (\\ud800 to \\udfff); send whole characters"
        )),
        false => error,
    }
}
