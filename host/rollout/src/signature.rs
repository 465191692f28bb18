//! Signatures of components in minisign's format, and the policies that require them.

mod reader;

use std::time::{SystemTime, UNIX_EPOCH};

use bulkhead_config::{
    signatures::{SignaturePolicy, Signatures},
    slots::SlotId,
};
use bulkhead_runtime::compile::ComponentDigest;
use minisign_verify::{PublicKey, Signature};

use super::LocalStore;

pub use self::reader::{FileSignature, SignedReader};

/// Name of the signer of the binary's own component.
const BUILT_IN: &str = "built in";

/// The proof of a component's origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It is part of the binary.
    BuiltIn,
    /// The text of its `.minisig` file.
    Signature(String),
    /// The component is not signed.
    None,
}

/// How far a signature's date may be ahead of this host's clock, seconds.
const MAX_CLOCK_SKEW: u64 = 24 * 60 * 60;
/// Unix seconds, before the first host of this kind: a clock that shows less has not been set, as after a power cut on a
/// machine without a battery.
const CLOCK_IS_SET: u64 = 1_700_000_000;

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedSignature {
    /// The key that signed it, or `built in`.
    pub by: String,
    /// Date of the signature, Unix seconds, as the signature covers it.
    pub at: Option<u64>,
}

/// Verifies the signature of `wasm` under a slot's rules; returns `None` if the rules do not need one.
///
/// A signature must be dated, so that an old one is distinguished from a new one: minisign's own trusted comment is
/// `timestamp:` and the Unix seconds, and the signature covers it.
///
/// # Errors
/// Why the component may not answer, and how to fix that.
pub fn verify(
    signatures: &Signatures,
    wasm: &[u8],
    proof: &Proof,
) -> Result<Option<VerifiedSignature>, String> {
    let text = match (signatures.policy, proof) {
        (_, Proof::BuiltIn) => return Ok(Some(VerifiedSignature { by: BUILT_IN.to_owned(), at: None })),
        (SignaturePolicy::Off, _) | (SignaturePolicy::Optional, Proof::None) => return Ok(None),
        (SignaturePolicy::Required, Proof::None) => {
            return Err(
                "it is not signed, and the slot accepts signed components only; sign it with `minisign -S`"
                    .into(),
            );
        }
        (SignaturePolicy::Optional | SignaturePolicy::Required, Proof::Signature(text)) => text,
    };
    let signature =
        Signature::decode(text).map_err(|error| format!("its signature is malformed: {error}"))?;
    let signed_by = |key: &&String| {
        PublicKey::from_base64(key).is_ok_and(|key| key.verify(wasm, &signature, true).is_ok())
    };
    let key = signatures.keys.iter().find(signed_by).cloned();
    let by = key.ok_or(
        "its signature is not that of these bytes by any of the slot's signatures.keys; sign it again",
    )?;
    let at = timestamp(signature.trusted_comment()).ok_or(
        "its signature is not dated, so that an old one cannot be recognised; sign it with minisign's own trusted \
         comment, `timestamp:` and the Unix seconds",
    )?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    check_not_ahead(at, now)?;
    Ok(Some(VerifiedSignature { by, at: Some(at) }))
}

/// Checks that a signature is not dated in the future. A host whose clock is not set cannot know, and accepts it.
fn check_not_ahead(at: u64, now: u64) -> Result<(), String> {
    if now < CLOCK_IS_SET || at <= now.saturating_add(MAX_CLOCK_SKEW) {
        return Ok(());
    }
    Err("its signature is dated in the future; set the signer's clock and sign it again, or set the clock of this host"
        .into())
}

fn timestamp(comment: &str) -> Option<u64> {
    comment.split_ascii_whitespace().find_map(|part| part.strip_prefix("timestamp:"))?.parse().ok()
}

/// Checks that a new signature is not older than the `newest` one that the slot has accepted.
///
/// # Errors
/// Why it is rejected, and how to fix that.
pub(super) fn check_not_older(at: Option<u64>, newest: u64) -> Result<(), String> {
    match at {
        Some(at) if at < newest => Err(format!(
            "it was signed at {at} and the slot has accepted a signature of {newest}: an old signature in a new push is \
             refused; roll back or swap to a version that the slot remembers, or sign it again"
        )),
        _ => Ok(()),
    }
}

impl Proof {
    /// Returns the text of the `.minisig` file, if there is one.
    pub(super) fn signature(self) -> Option<String> {
        match self {
            Self::Signature(text) => Some(text),
            Self::BuiltIn | Self::None => None,
        }
    }

    /// Returns [`Proof::BuiltIn`] for an unsigned component with the digest of the binary's own, wherever it came
    /// from.
    pub(super) fn or_built_in(self, store: &LocalStore, slot: SlotId, component: ComponentDigest) -> Self {
        match self {
            Self::None if store.is_built_in(slot, &component.to_string()) => Self::BuiltIn,
            proof => proof,
        }
    }
}

/// Checks that a version accepted earlier may still answer.
///
/// # Errors
/// Why it may not, and how to fix that.
pub(super) fn check_signer(signatures: &Signatures, signer: Option<&str>) -> Result<(), String> {
    let known =
        signer.is_some_and(|signer| signer == BUILT_IN || signatures.keys.iter().any(|key| key == signer));
    match signatures.policy {
        SignaturePolicy::Required if !known => {
            Err("it is not signed by any of the slot's signatures.keys; sign it and push it again".to_owned())
        }
        SignaturePolicy::Off | SignaturePolicy::Optional | SignaturePolicy::Required => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    /// A key and its signature of `test`, from minisign's documentation.
    const KEY: &str = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
    const OTHER: &str = "RWQgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    const SIGNATURE: &str = "untrusted comment: signature from minisign secret key\n\
        RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=\n\
        trusted comment: timestamp:1556193335\tfile:test\n\
        y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==\n";

    fn signatures(policy: SignaturePolicy, keys: &[&str]) -> Signatures {
        Signatures { policy, keys: keys.iter().map(|key| (*key).to_owned()).collect() }
    }

    fn proof(text: &str) -> Proof {
        Proof::Signature(text.to_owned())
    }

    #[test]
    fn valid_signature_names_its_key() {
        for policy in [SignaturePolicy::Optional, SignaturePolicy::Required] {
            let found = verify(&signatures(policy, &[OTHER, KEY]), b"test", &proof(SIGNATURE));
            assert_eq!(found.unwrap(), Some(VerifiedSignature { by: KEY.into(), at: Some(1_556_193_335) }));
        }
    }

    #[test]
    fn signature_of_other_bytes_is_rejected() {
        let comment = SIGNATURE.replace("file:test", "file:best");
        let cases = [
            (&b"Test"[..], KEY, SIGNATURE),
            (b"test", OTHER, SIGNATURE),
            (b"test", KEY, &comment),
            (b"test", KEY, "garbage"),
            (b"test", KEY, ""),
        ];
        for policy in [SignaturePolicy::Optional, SignaturePolicy::Required] {
            for (wasm, key, text) in cases {
                verify(&signatures(policy, &[key]), wasm, &proof(text)).unwrap_err();
            }
        }
    }

    #[test]
    fn policy_decides_on_unsigned_components() {
        let none = |policy| verify(&signatures(policy, &[KEY]), b"test", &Proof::None);
        assert_eq!((none(SignaturePolicy::Off), none(SignaturePolicy::Optional)), (Ok(None), Ok(None)));
        assert!(none(SignaturePolicy::Required).unwrap_err().contains("minisign -S"));
        let built_in = verify(&signatures(SignaturePolicy::Required, &[KEY]), b"test", &Proof::BuiltIn);
        assert!(built_in.unwrap().is_some());
    }

    #[test]
    fn older_signature_is_rejected() {
        for (at, newest, is_fresh) in
            [(None, 9, true), (Some(9), 0, true), (Some(9), 9, true), (Some(8), 9, false)]
        {
            assert_eq!(check_not_older(at, newest).is_ok(), is_fresh, "{at:?} after {newest}");
        }
        let refusal = check_not_older(Some(8), 9).unwrap_err();
        assert!(refusal.contains("roll back or swap"), "{refusal}");
    }

    #[test]
    fn future_date_is_rejected_by_set_clock() {
        const NOW: u64 = 1_800_000_000;
        for (at, now, is_accepted) in [
            (NOW, NOW, true),
            (NOW + MAX_CLOCK_SKEW, NOW, true),
            (NOW + MAX_CLOCK_SKEW + 1, NOW, false),
            (NOW, 0, true),
            (NOW, 3600, true),
            (u64::MAX, NOW, false),
        ] {
            assert_eq!(check_not_ahead(at, now).is_ok(), is_accepted, "{at} at {now}");
        }
    }

    #[test]
    fn date_is_read_from_trusted_comment() {
        for (comment, at) in [
            ("timestamp:1556193335\tfile:test", Some(1_556_193_335)),
            ("timestamp:7\tfile:a b\thashed", Some(7)),
            ("file:timestamp:7", None),
            ("timestamp:", None),
            ("timestamp:-1", None),
            ("our release", None),
        ] {
            assert_eq!(timestamp(comment), at, "{comment}");
        }
    }

    #[test]
    fn versions_of_a_removed_key_are_rejected() {
        let required = |keys: &[&str]| signatures(SignaturePolicy::Required, keys);
        check_signer(&required(&[OTHER, KEY]), Some(KEY)).unwrap();
        check_signer(&required(&[OTHER]), Some(BUILT_IN)).unwrap();
        check_signer(&required(&[OTHER]), Some(KEY)).unwrap_err();
        check_signer(&required(&[OTHER]), None).unwrap_err();
        check_signer(&signatures(SignaturePolicy::Off, &[]), None).unwrap();
        check_signer(&signatures(SignaturePolicy::Optional, &[KEY]), None).unwrap();
    }

    #[test]
    fn signature_steps_grow_with_its_length() {
        let (first, rest) = SIGNATURE.split_once('\n').unwrap();
        let (second, rest) = rest.split_once('\n').unwrap();
        let (_, last) = rest.split_once('\n').unwrap();
        let head = format!("{first}\n{second}\ntrusted comment: ");
        let shapes: [Shape<'_, String>; 6] = [
            ("a comment", &|bytes| {
                repeated("untrusted comment: ", "a", &format!("\n{second}\n{rest}"), bytes)
            }),
            ("a trusted comment", &|bytes| repeated(&head, "file:a ", &format!("\n{last}"), bytes)),
            ("dates", &|bytes| repeated(&head, "timestamp: ", &format!("\n{last}"), bytes)),
            ("base64", &|bytes| repeated(&format!("{first}\n"), "AAAA", &format!("\n{rest}"), bytes)),
            ("lines", &|bytes| repeated(SIGNATURE, "a\n", "", bytes)),
            ("empty lines", &|bytes| repeated("", "\n", "", bytes)),
        ];
        let test = concat!(module_path!(), "::signature_steps_grow_with_its_length");
        assert_linear(test, 1 << 20, &shapes, |text| {
            let trusted = text.lines().nth(2).unwrap_or_default();
            (Signature::decode(text).is_ok(), timestamp(trusted))
        });
    }
}
