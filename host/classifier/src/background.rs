//! Texts that belong to no category of any office: thanks, delivery failures, adverts, other trades. German and
//! English, from the files in `background`.

#[cfg(test)]
mod tests;

include!(concat!(env!("OUT_DIR"), "/background.rs"));
