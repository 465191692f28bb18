//! What a registry wants to see before it gives anything (RFC 9110, section 11; the distribution project's token
//! authentication).

use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};

/// How to prove who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// With a token that is fetched from elsewhere.
    Bearer {
        /// Where from.
        realm: String,
        /// Whom it is for.
        service: Option<String>,
    },
    /// With name and password.
    Basic,
}

impl Challenge {
    /// The challenge that can be met; a token before a password.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let mut known: Vec<Self> = values.filter_map(Self::parse).collect();
        known.sort_by_key(|challenge| *challenge == Self::Basic);
        known.into_iter().next()
    }

    fn parse(text: &str) -> Option<Self> {
        let (scheme, parameters) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let (mut realm, mut service) = (None, None);
        for (name, value) in parse_parameters(parameters) {
            match name.to_ascii_lowercase().as_str() {
                "realm" => realm = Some(value),
                "service" => service = Some(value),
                _ => {}
            }
        }
        Some(Self::Bearer { realm: realm?, service })
    }
}

/// `name=value` or `name="value"`, separated by commas, up to what is not understood.
fn parse_parameters(text: &str) -> Vec<(String, String)> {
    let (mut rest, mut found) = (text.trim_start(), Vec::new());
    while let Some((name, value)) = rest.split_once('=') {
        let (value, after) = match value.strip_prefix('"') {
            Some(quoted) => match unquote(quoted) {
                Some(unquoted) => unquoted,
                None => break,
            },
            None => {
                let end = value.find(',').unwrap_or(value.len());
                let (value, after) = value.split_at_checked(end).unwrap_or((value, ""));
                (value.trim().to_owned(), after)
            }
        };
        found.push((name.trim().to_owned(), value));
        rest = after.trim_start().trim_start_matches(',').trim_start();
    }
    found
}

/// The text up to the closing quote, and what follows it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let (mut value, mut characters) = (String::new(), text.chars());
    loop {
        match characters.next()? {
            '"' => return Some((value, characters.as_str())),
            '\\' => value.push(characters.next()?),
            other => value.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use bulkhead_steps::{Shape, assert_linear, repeated};
    use reqwest::header::HeaderValue;

    use super::*;

    fn challenge(values: &[&'static str]) -> Option<Challenge> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WWW_AUTHENTICATE, HeaderValue::from_static(value));
        }
        Challenge::of(&headers)
    }

    fn bearer(realm: &str, service: Option<&str>) -> Option<Challenge> {
        Some(Challenge::Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) })
    }

    #[test]
    fn challenges_are_read_in_every_form() {
        let usual =
            r#"Bearer realm="https://auth.example/token",service="registry",scope="repository:a,b:pull""#;
        assert_eq!(challenge(&[usual]), bearer("https://auth.example/token", Some("registry")));
        assert_eq!(challenge(&["bearer service=r , REALM=https://x/"]), bearer("https://x/", Some("r")));
        assert_eq!(challenge(&[r#"Bearer realm="a\"b\\c""#]), bearer(r#"a"b\c"#, None));
        assert_eq!(challenge(&["Basic realm=\"r\"", "Bearer realm=\"t\""]), bearer("t", None));
        assert_eq!(challenge(&["Basic"]), Some(Challenge::Basic));
    }

    #[test]
    fn text_without_challenge_gives_none() {
        for text in ["", "Bearer", "Bearer service=\"r\"", "Bearer realm=\"open", "Negotiate abc", "=,=\"\\"]
        {
            assert_eq!(challenge(&[text]), None, "{text}");
        }
        assert_eq!(challenge(&[]), None);
    }

    #[test]
    fn challenge_steps_grow_with_its_length() {
        let shapes: [Shape<'_, String>; 7] = [
            ("parameters", &|bytes| repeated("Bearer ", "a=b,", "", bytes)),
            ("realms", &|bytes| repeated("Bearer ", "realm=\"r\",", "", bytes)),
            ("escapes", &|bytes| repeated("Bearer realm=\"", "\\\"", "\"", bytes)),
            ("open quotes", &|bytes| repeated("Bearer ", "a=\"", "", bytes)),
            ("commas", &|bytes| repeated("Bearer a=b", ",", "", bytes)),
            ("blanks", &|bytes| repeated("Bearer", " ", "a=b", bytes)),
            ("a long name", &|bytes| repeated("Bearer ", "A", "=b", bytes)),
        ];
        let test = concat!(module_path!(), "::challenge_steps_grow_with_its_length");
        assert_linear(test, 1 << 20, &shapes, |text| Challenge::parse(text).is_some());
    }
}
