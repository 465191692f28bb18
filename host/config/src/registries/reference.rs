//! Parses the reference of an artifact in an OCI registry.

use std::fmt;

use url::Url;

/// Longest host and repository together that registries accept (OCI distribution specification, "Pulling manifests").
const NAME_BYTES: usize = 255;
/// Longest tag.
const TAG_BYTES: usize = 128;
/// Hex digits of a SHA-256.
const DIGITS: usize = 64;

/// `oci://HOST[:PORT]/REPOSITORY` with `:TAG`, `@sha256:DIGEST` or both; with both, the digest decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    host: String,
    repository: String,
    tag: Option<String>,
    digest: Option<String>,
}

impl Reference {
    /// The prefix of every reference.
    const SCHEME: &'static str = "oci://";

    /// Returns whether `text` has the scheme of a reference.
    pub fn is_reference(text: &str) -> bool {
        text.starts_with(Self::SCHEME)
    }

    /// Parses a reference, which may not contain `..`, a query, a user or escapes.
    ///
    /// # Errors
    /// A message that says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            "must be oci://HOST[:PORT]/REPOSITORY:TAG or oci://HOST[:PORT]/REPOSITORY@sha256:DIGEST, the repository in \
             lower case"
                .to_owned()
        };
        let (host, rest) =
            text.strip_prefix(Self::SCHEME).and_then(|rest| rest.split_once('/')).ok_or_else(wrong)?;
        let (name, digest) = match rest.split_once('@') {
            Some((name, digest)) => (name, Some(digest)),
            None => (rest, None),
        };
        let (repository, tag) = match name.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (name, None),
        };
        let is_sound = is_host(host)
            && is_repository(repository)
            && host.len() + repository.len() < NAME_BYTES
            && tag.is_none_or(is_tag)
            && digest.is_none_or(is_digest);
        if !is_sound {
            return Err(wrong());
        }
        if tag.is_none() && digest.is_none() {
            return Err("must name a tag or, better, a digest: :TAG or @sha256:DIGEST".to_owned());
        }
        let owned = |part: Option<&str>| part.map(str::to_owned);
        Ok(Self {
            host: host.to_owned(),
            repository: repository.to_owned(),
            tag: owned(tag),
            digest: owned(digest),
        })
    }

    /// Returns the registry's host, with its port unless that is the scheme's default.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the repository.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Returns `sha256:` and the hex digits of its manifest, where they are known.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Returns what the registry is asked for: the digest, or else the tag.
    pub fn tag_or_digest(&self) -> &str {
        self.digest.as_deref().or(self.tag.as_deref()).unwrap_or_default()
    }

    /// Returns the same reference with the digest that its tag was resolved to.
    pub fn with_digest(&self, digest: &str) -> Self {
        Self { digest: Some(digest.to_owned()), ..self.clone() }
    }

    /// Returns whether `known`, which was resolved earlier, is what this reference names. A tag keeps its earlier
    /// meaning.
    pub fn matches_resolved(&self, known: &Self) -> bool {
        let same = self.host == known.host && self.repository == known.repository && known.digest.is_some();
        same && match &self.digest {
            Some(_) => self.digest == known.digest,
            None => self.tag == known.tag,
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}/{}", Self::SCHEME, self.host, self.repository)?;
        self.tag.iter().try_for_each(|tag| write!(f, ":{tag}"))?;
        self.digest.iter().try_for_each(|digest| write!(f, "@{digest}"))
    }
}

/// Returns whether this is a name or an address with or without a port, in the normal form of URLs.
pub(super) fn is_host(host: &str) -> bool {
    let url = format!("https://{host}/");
    !host.contains('@') && Url::parse(&url).is_ok_and(|parsed| parsed.as_str() == url && parsed.has_host())
}

/// Returns whether this is a repository: segments of lower-case letters and digits, joined by `.`, `_`, `__` or dashes.
pub(super) fn is_repository(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let joins = |run: &str| matches!(run, "" | "." | "_" | "__") || run.bytes().all(|byte| byte == b'-');
    name.split('/').all(|segment| {
        segment.starts_with(plain) && segment.ends_with(plain) && segment.split(plain).all(joins)
    })
}

fn is_tag(tag: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.bytes().next().is_some_and(plain)
        && tag.len() <= TAG_BYTES
        && tag.bytes().all(|byte| plain(byte) || b".-".contains(&byte))
}

/// Returns whether this is `sha256:` and 64 hex digits in lower case.
pub fn is_digest(digest: &str) -> bool {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    digest.strip_prefix("sha256:").is_some_and(|digits| digits.len() == DIGITS && digits.bytes().all(hex))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn digest(digit: char) -> String {
        format!("sha256:{}", digit.to_string().repeat(DIGITS))
    }

    fn parse(text: &str) -> Reference {
        Reference::parse(text).unwrap()
    }

    #[test]
    fn reference_is_printed_as_parsed() {
        let pinned = format!("oci://oci.example/town/captcha:2.1@{}", digest('a'));
        for text in [
            "oci://oci.example/town/captcha:2.1",
            "oci://localhost:5000/a:_",
            "oci://127.0.0.1:5000/a.b/c__d/e--f:v1.0.0-rc.1",
            "oci://[::1]:5000/a:b",
            &pinned,
        ] {
            assert_eq!(parse(text).to_string(), text);
        }
        let reference = parse(&pinned);
        assert_eq!((reference.host(), reference.repository()), ("oci.example", "town/captcha"));
        assert_eq!(reference.tag_or_digest(), digest('a'), "the digest counts");
        assert_eq!(parse("oci://oci.example/a:b").tag_or_digest(), "b");
    }

    #[test]
    fn ambiguous_names_are_rejected() {
        let (digest, long) = (digest('a'), "a".repeat(300));
        for text in [
            "",
            "oci.example/a:b",
            "oci://oci.example",
            "oci:///a:b",
            "oci://oci.example/:b",
            "oci://oci.example/a",
            "oci://oci.example/../a:b",
            "oci://oci.example/a/../../b:c",
            "oci://oci.example/a//b:c",
            "oci://oci.example/a%2e%2e:b",
            "oci://oci.example/a?x=y:b",
            "oci://oci.example/a#x:b",
            "oci://oci.example/a\\b:c",
            "oci://oci.example/A:b",
            "oci://oci.example/-a:b",
            "oci://oci.example/a-:b",
            "oci://oci.example/a___b:c",
            "oci://oci.example/a..b:c",
            "oci://oci.example/a:b/../c",
            "oci://oci.example/a:.b",
            "oci://oci.example/a: b",
            "oci://oci.example/a:b:c",
            "oci://oci.example/a:",
            "oci://oci.example/a@sha256:abc",
            "oci://oci.example/a@md5:abc",
            &format!("oci://oci.example/a@{}", digest.to_uppercase()),
            &format!("oci://oci.example/a@{digest}@{digest}"),
            &format!("oci://user:secret@oci.example/a@{digest}"),
            &format!("oci://user@oci.example/a@{digest}"),
            "oci://GHCR.io/a:b",
            "oci://127.1/a:b",
            "oci://oci.example:443/a:b",
            "oci://oci.example:99999/a:b",
            "oci://ghcr io/a:b",
            &format!("oci://oci.example/{long}:b"),
            &format!("oci://oci.example/a:{long}"),
        ] {
            let refused = Reference::parse(text).unwrap_err();
            assert!(!refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn tag_matches_once_resolved_and_digest_itself() {
        let (known, other) =
            (parse("oci://r/a:1").with_digest(&digest('a')), parse("oci://r/a:1").with_digest(&digest('b')));
        assert!(
            parse("oci://r/a:1").matches_resolved(&known) && parse("oci://r/a:1").matches_resolved(&other)
        );
        let named = parse(&format!("oci://r/a@{}", digest('a')));
        assert!(named.matches_resolved(&known) && !named.matches_resolved(&other));
        for text in ["oci://r/a:2", "oci://r/b:1", "oci://s/a:1"] {
            assert!(!parse(text).matches_resolved(&known), "{text}");
        }
        assert!(!parse("oci://r/a:1").matches_resolved(&parse("oci://r/a:1")), "it has not been resolved");
    }
}
