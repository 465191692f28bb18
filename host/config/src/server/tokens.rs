//! Reads `[admin.tokens.NAME]`, the tokens for operating the slots.

use std::collections::BTreeMap;

use crate::reader::Reader;

/// What a token may do; each scope includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Read slots, versions and logs.
    Read,
    /// Change what answers.
    Deploy,
    /// Read the audit log.
    Admin,
}

impl Scope {
    /// Every scope by its name.
    pub const WORDS: [(&'static str, Self); 3] =
        [("read", Self::Read), ("deploy", Self::Deploy), ("admin", Self::Admin)];

    /// Returns the name in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Deploy => "deploy",
            Self::Admin => "admin",
        }
    }
}

/// A bearer token, of which only the hash is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorToken {
    /// What it may do.
    pub scope: Scope,
    /// Its SHA-256: a token is random and long, so that it needs no salt and no stretching.
    pub hash: [u8; 32],
}

pub(super) fn read(reader: &mut Reader) -> BTreeMap<String, OperatorToken> {
    let read = |r: &mut Reader, _: &str| {
        let scope = r.key("scope", "What the token may do").choice(&Scope::WORDS, Scope::Read);
        let key = r.key("hash", "sha256: and the hex digits that `bulkhead admin token` prints").required();
        key.optional("text", hash).map(|hash| OperatorToken { scope, hash })
    };
    let tokens = reader.named_tables("tokens", "NAME", read);
    tokens.into_iter().filter_map(|(name, token)| Some((name, token?))).collect()
}

fn hash(text: &str) -> Result<[u8; 32], String> {
    let digits = text.strip_prefix("sha256:").and_then(|digits| hex::decode(digits).ok());
    // The value may be a token by mistake, so it is not quoted.
    digits
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| "must be sha256: and 64 hex digits, as `bulkhead admin token` prints them".to_owned())
}
