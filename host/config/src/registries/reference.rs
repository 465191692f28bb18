//! The name of an artifact in an OCI registry.

use std::fmt;

use url::Url;

/// Longest host and repository together: what registries take (OCI distribution specification, "Pulling manifests").
const NAME_BYTES: usize = 255;
/// Longest tag.
const TAG_BYTES: usize = 128;
/// Hex digits of a SHA-256.
const DIGITS: usize = 64;

/// `oci://HOST[:PORT]/REPOSITORY` with `:TAG`, `@sha256:DIGEST` or both, of which the digest counts then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    host: String,
    repository: String,
    tag: Option<String>,
    digest: Option<String>,
}

impl Reference {
    /// What every reference begins with.
    pub const SCHEME: &'static str = "oci://";

    /// Whether `text` is meant to be a reference.
    pub fn is_one(text: &str) -> bool {
        text.starts_with(Self::SCHEME)
    }

    /// Reads a reference, which names nothing but what it says: no step up, no query, no user, no escapes.
    ///
    /// # Errors
    /// What is wrong with it.
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

    /// The registry's host, with its port where that is not the scheme's own.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The repository.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// `sha256:` and the hex digits of its manifest, where they are known.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// What the registry is asked for: the digest, or else the tag.
    pub fn wanted(&self) -> &str {
        self.digest.as_deref().or(self.tag.as_deref()).unwrap_or_default()
    }

    /// The same with the digest that its tag has led to.
    pub fn pinned(&self, digest: &str) -> Self {
        Self { digest: Some(digest.to_owned()), ..self.clone() }
    }

    /// Whether `known`, which a registry once gave, is what this one names. A tag means what it meant then.
    pub fn is_met_by(&self, known: &Self) -> bool {
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

/// A name or an address with or without a port, in the one form that URLs have for it.
pub(super) fn is_host(host: &str) -> bool {
    let url = format!("https://{host}/");
    !host.contains('@') && Url::parse(&url).is_ok_and(|parsed| parsed.as_str() == url && parsed.has_host())
}

/// Segments of lower-case letters and digits; between these `.`, `_`, `__` or any number of `-`.
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

/// Whether this is `sha256:` and its hex digits in lower case.
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
    fn references_are_read_and_written_alike() {
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
        assert_eq!(reference.wanted(), digest('a'), "the digest counts");
        assert_eq!(parse("oci://oci.example/a:b").wanted(), "b");
    }

    #[test]
    fn names_that_mean_something_else_are_refused() {
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
    fn a_tag_means_what_it_meant_once_and_a_digest_itself() {
        let (known, other) =
            (parse("oci://r/a:1").pinned(&digest('a')), parse("oci://r/a:1").pinned(&digest('b')));
        assert!(parse("oci://r/a:1").is_met_by(&known) && parse("oci://r/a:1").is_met_by(&other));
        let named = parse(&format!("oci://r/a@{}", digest('a')));
        assert!(named.is_met_by(&known) && !named.is_met_by(&other));
        for text in ["oci://r/a:2", "oci://r/b:1", "oci://s/a:1"] {
            assert!(!parse(text).is_met_by(&known), "{text}");
        }
        assert!(!parse("oci://r/a:1").is_met_by(&parse("oci://r/a:1")), "it has not been resolved");
    }
}
