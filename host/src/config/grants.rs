//! Interfaces that `slots.NAME.grants` may name.

/// Every interface of this host, without its version; a test holds it to the table of capabilities.
pub const INTERFACES: [&str; 20] = [
    "wasi:clocks/wall-clock",
    "wasi:clocks/monotonic-clock",
    "wasi:io/poll",
    "wasi:random/random",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:logging/logging",
    "wasi:config/store",
    "bulkhead:host/keys",
    "bulkhead:host/pow",
    "bulkhead:host/ledger",
    "bulkhead:host/appointments",
    "wasi:nn/errors",
    "wasi:nn/tensor",
    "wasi:nn/inference",
    "wasi:nn/graph",
    "bulkhead:host/embeddings",
    "bulkhead:host/search",
    "bulkhead:host/llm",
    "bulkhead:host/guard",
];

/// The known name that is one edit away from `name`: a character that is missing, surplus, another, or in its neighbour's
/// place.
pub fn near_miss<'a>(name: &str, mut known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known.find(|known| {
        // A name may be long; the distance takes the product of both lengths.
        known.len().abs_diff(name.len()) <= 4 && strsim::osa_distance(known, name) == 1
    })
}

/// Reads a grant.
pub(super) fn parse(text: &str) -> Result<String, String> {
    if INTERFACES.contains(&text) {
        return Ok(text.to_owned());
    }
    let name = text.split_once('@').map_or(text, |(name, _)| name);
    if INTERFACES.contains(&name) {
        return Err(format!("must be without a version: write `{name}`, not `{text}`"));
    }
    Err(match near_miss(name, INTERFACES.into_iter()) {
        Some(near) => format!("names `{text}`, not offered by this host; the nearest is `{near}`"),
        None => format!("names `{text}`, not offered by this host; leave it out"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_offered_interfaces_are_granted() {
        assert_eq!(parse("wasi:io/poll"), Ok("wasi:io/poll".to_owned()));
        for (text, said) in [
            ("wasi:io/pol", "the nearest is `wasi:io/poll`"),
            ("wasi:io/poll@0.2.12", "must be without a version: write `wasi:io/poll`"),
            ("wasi:io/polls@0.2.12", "the nearest is `wasi:io/poll`"),
            ("wasi:http/outgoing-handler", "not offered by this host; leave it out"),
            ("", "not offered by this host; leave it out"),
        ] {
            let refused = parse(text).err().unwrap_or_default();
            assert!(refused.contains(said), "{text}: {refused}");
        }
    }
}
