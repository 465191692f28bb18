//! `compress=N` and `X-JsonCompressLevel: N`: leaves out members with the replaced server's defaults, and objects that become
//! empty. Only for clients that know the defaults.

use serde_json::value::RawValue;

use super::members::JsonMembers;

/// Members of a section and their defaults, as JSON text.
const DEFAULTS: [(&str, &[(&str, &str)]); 3] = [
    ("database", &[("nodeConnections", "0"), ("clusterStatus", r#""OFF""#), ("logbin", r#""OFF""#)]),
    (
        "processes",
        &[
            ("blocked", "0"),
            ("called", "0"),
            ("confirmed", "0"),
            ("preconfirmed", "0"),
            ("deleted", "0"),
            ("missed", "0"),
            ("parked", "0"),
            ("reserved", "0"),
            ("withExternalUserId", "0"),
            ("confirmedWithExternalUserId", "0"),
            ("lastInsert", "0"),
        ],
    ),
    ("mail", &[("queueCount", "0"), ("oldestSeconds", "0"), ("newestSeconds", "0")]),
];

/// Returns the payload without defaults; `None` when it is not an object.
pub fn compress(payload: &RawValue) -> Option<Box<RawValue>> {
    let JsonMembers(sections) = JsonMembers::of(payload)?;
    let sections = sections.into_iter().filter_map(|(name, section)| {
        let defaults = DEFAULTS.iter().find(|(known, _)| *known == name);
        let Some((_, defaults)) = defaults else { return Some((name, section)) };
        let Some(JsonMembers(mut members)) = JsonMembers::of(&section) else { return Some((name, section)) };
        members.retain(|(member, value)| !defaults.contains(&(member.as_str(), value.get())));
        let left = !members.is_empty();
        left.then(|| JsonMembers(members).object()).flatten().map(|object| (name, object))
    });
    JsonMembers(sections.collect()).object()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn sections_other_than_objects_remain() {
        let payload = RawValue::from_string(r#"{"mail":null,"database":[0]}"#.into()).unwrap();
        assert_eq!(compress(&payload).unwrap().get(), payload.get());
    }

    #[test]
    fn numeric_defaults_are_removed() {
        let payload = r#"{"$schema":"s","database":{"nodeConnections":0.01,"clusterStatus":"OFF","locks":"0"},
            "processes":{"blocked":"0","called":0},"mail":{"queueCount":0},"version":{"major":"2"}}"#;
        let payload = RawValue::from_string(payload.into()).unwrap();
        assert_eq!(
            compress(&payload).unwrap().get(),
            r#"{"$schema":"s","database":{"nodeConnections":0.01,"locks":"0"},"processes":{"blocked":"0"},"version":{"major":"2"}}"#
        );
    }
}
