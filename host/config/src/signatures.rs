//! `[slots.NAME.signatures]`: whose components a slot takes.

use minisign_verify::PublicKey;

use super::reader::Reader;

/// Whether a component must be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Nobody looks at signatures.
    Off,
    /// A signature, where there is one, must be good.
    Optional,
    /// Only signed components may answer, and the one built in.
    Required,
}

/// Who may sign components.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signatures {
    /// Whether one must.
    pub policy: Policy,
    /// minisign public keys in base64.
    pub keys: Vec<String>,
}

impl Signatures {
    /// A file that the configuration names, or an operator with a token, is trusted by that.
    pub const DEFAULT: Self = Self { policy: Policy::Off, keys: Vec::new() };

    pub(super) fn read(reader: &mut Reader) -> Self {
        const POLICIES: [(&str, Policy); 3] =
            [("off", Policy::Off), ("optional", Policy::Optional), ("required", Policy::Required)];
        reader.table("signatures", |r| {
            let policy = r
                .key("policy", "Whether components must be signed with minisign; optional: good or none")
                .choice(&POLICIES, Self::DEFAULT.policy);
            let keys = r
                .key("keys", "Whose signatures are good")
                .list("minisign public keys", key)
                .unwrap_or(Self::DEFAULT.keys);
            if policy != Policy::Off && keys.is_empty() {
                r.problem("policy", "has no key that could be signed with; give signatures.keys");
            }
            Self { policy, keys }
        })
    }
}

fn key(text: &str) -> Result<String, String> {
    match PublicKey::from_base64(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(format!("must be the second line of a minisign.pub, not `{text}`")),
    }
}
