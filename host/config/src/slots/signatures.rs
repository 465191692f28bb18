//! Reads `[slots.NAME.signatures]`: who may sign a slot's components.

use minisign_verify::PublicKey;

use crate::reader::Reader;

/// Whether a component must be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignaturePolicy {
    /// Signatures are not checked.
    Off,
    /// A signature, where there is one, must be good.
    Optional,
    /// Only signed components may answer, and the embedded one.
    Required,
}

/// Who may sign components.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signatures {
    /// Whether a component must be signed.
    pub policy: SignaturePolicy,
    /// minisign public keys in base64.
    pub keys: Vec<String>,
}

impl Signatures {
    /// A file named by the configuration, or an operator with a token, is trusted without a signature.
    pub const DEFAULT: Self = Self { policy: SignaturePolicy::Off, keys: Vec::new() };

    pub(super) fn read(reader: &mut Reader) -> Self {
        const POLICIES: [(&str, SignaturePolicy); 3] = [
            ("off", SignaturePolicy::Off),
            ("optional", SignaturePolicy::Optional),
            ("required", SignaturePolicy::Required),
        ];
        reader.table("signatures", |r| {
            let policy = r
                .key("policy", "Whether components must be signed with minisign; optional: good or none")
                .choice(&POLICIES, Self::DEFAULT.policy);
            let keys = r
                .key("keys", "Public keys whose signatures are accepted")
                .list("minisign public keys", key)
                .unwrap_or(Self::DEFAULT.keys);
            if policy != SignaturePolicy::Off && keys.is_empty() {
                r.problem("policy", "needs at least one public key; give signatures.keys");
            }
            Self { policy, keys }
        })
    }
}

/// Parses a public key.
pub(crate) fn key(text: &str) -> Result<String, String> {
    match PublicKey::from_base64(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(format!("must be the second line of a minisign.pub, not `{text}`")),
    }
}
