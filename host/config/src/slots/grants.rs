//! Parses `slots.NAME.grants`, the interfaces that a component may import.

/// Returns the known name that is one edit away from `name`: a character is missing, added, replaced, or swapped with
/// its neighbour.
pub fn near_miss<'a>(name: &str, mut known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known.find(|known| {
        // A name may be long, and the distance takes time in the product of both lengths.
        known.len().abs_diff(name.len()) <= 4 && strsim::osa_distance(known, name) == 1
    })
}

/// Reads a grant, which names one of `interfaces`, and none of `stubs`.
pub(super) fn parse(text: &str, interfaces: &[&str], stubs: &[&str]) -> Result<String, String> {
    if interfaces.contains(&text) {
        return Ok(text.to_owned());
    }
    let name = text.split_once('@').map_or(text, |(name, _)| name);
    if interfaces.contains(&name) {
        return Err(format!("must be without a version: write `{name}`, not `{text}`"));
    }
    if stubs.contains(&name) {
        return Err(format!(
            "names `{name}`, which is a stub: it can be imported without a grant, and does nothing; leave it out"
        ));
    }
    Err(match near_miss(name, interfaces.iter().copied()) {
        Some(near) => format!("names `{text}`, not offered by this host; the nearest is `{near}`"),
        None => format!("names `{text}`, not offered by this host; leave it out"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_offered_interfaces_are_granted() {
        let parse = |text| parse(text, &["wasi:clocks/wall-clock", "wasi:io/poll"], &["wasi:sockets/tcp"]);
        assert_eq!(parse("wasi:io/poll"), Ok("wasi:io/poll".to_owned()));
        for (text, said) in [
            ("wasi:io/pol", "the nearest is `wasi:io/poll`"),
            ("wasi:io/poll@0.2.12", "must be without a version: write `wasi:io/poll`"),
            ("wasi:io/polls@0.2.12", "the nearest is `wasi:io/poll`"),
            ("wasi:http/outgoing-handler", "not offered by this host; leave it out"),
            ("", "not offered by this host; leave it out"),
            ("wasi:sockets/tcp", "is a stub: it can be imported without a grant, and does nothing"),
            ("wasi:sockets/tcp@0.2.0", "names `wasi:sockets/tcp`, which is a stub"),
        ] {
            let refused = parse(text).err().unwrap_or_default();
            assert!(refused.contains(said), "{text}: {refused}");
        }
    }
}
