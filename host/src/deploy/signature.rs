//! Who vouches for a component: signatures in minisign's form, and the policy that asks for them.

use std::time::{SystemTime, UNIX_EPOCH};

use minisign_verify::{PublicKey, Signature};

use super::Vault;
use crate::{
    compile::ComponentDigest,
    config::{
        signatures::{Policy, Signatures},
        slots::SlotId,
    },
};

/// Stands for a signer where the component is the binary's own.
const BUILT_IN: &str = "built in";

/// What speaks for a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It is part of the binary.
    BuiltIn,
    /// The text of its `.minisig` file.
    Signature(String),
    /// Nothing.
    None,
}

/// A signature's date may be so far ahead of this host's clock, seconds.
const AHEAD: u64 = 24 * 60 * 60;

/// Who vouches for a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The key that signed it, or `built in`.
    pub by: String,
    /// When, Unix seconds, by the word that the signature covers.
    pub at: Option<u64>,
}

/// Who vouches for `wasm`.
///
/// A signature must be dated, so that an old one that somebody has kept is told from a new one: minisign's own trusted
/// comment is `timestamp:` and the Unix seconds, and is signed with the rest.
///
/// # Errors
/// Why it may not answer, and what mends that.
pub fn signer(signatures: &Signatures, wasm: &[u8], proof: &Proof) -> Result<Option<Signed>, String> {
    let text = match (signatures.policy, proof) {
        (_, Proof::BuiltIn) => return Ok(Some(Signed { by: BUILT_IN.to_owned(), at: None })),
        (Policy::Off, _) | (Policy::Optional, Proof::None) => return Ok(None),
        (Policy::Required, Proof::None) => {
            return Err(
                "it is not signed, and the slot takes signed components only; sign it with `minisign -S`"
                    .into(),
            );
        }
        (Policy::Optional | Policy::Required, Proof::Signature(text)) => text,
    };
    let signature =
        Signature::decode(text).map_err(|error| format!("its signature is malformed: {error}"))?;
    let signed_by = |key: &&String| {
        PublicKey::from_base64(key).is_ok_and(|key| key.verify(wasm, &signature, true).is_ok())
    };
    let key = signatures.keys.iter().find(signed_by).cloned();
    let by = key.ok_or(
        "its signature is not that of these bytes by any of the slot's signatures.keys; sign it anew",
    )?;
    let at = timestamp(signature.trusted_comment()).ok_or(
        "its signature is not dated, so that it cannot be told from an old one; sign it with minisign's own trusted \
         comment, `timestamp:` and the Unix seconds",
    )?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    if at > now.saturating_add(AHEAD) {
        return Err("its signature is dated in the future; set the signer's clock and sign it anew".into());
    }
    Ok(Some(Signed { by, at: Some(at) }))
}

fn timestamp(comment: &str) -> Option<u64> {
    comment.split_ascii_whitespace().find_map(|part| part.strip_prefix("timestamp:"))?.parse().ok()
}

/// Whether a signature of this date may come as a new one to a slot that has taken one of `newest`.
///
/// # Errors
/// Why not, and what mends that.
pub(super) fn fresh(at: Option<u64>, newest: u64) -> Result<(), String> {
    match at {
        Some(at) if at < newest => Err(format!(
            "it was signed at {at} and the slot has taken what was signed at {newest}: an old signature that comes as \
             new is refused; roll back or swap to a version that the slot remembers, or sign it anew"
        )),
        _ => Ok(()),
    }
}

impl Proof {
    /// The text of the `.minisig` file, where there is one.
    pub(super) fn signature(self) -> Option<String> {
        match self {
            Self::Signature(text) => Some(text),
            Self::BuiltIn | Self::None => None,
        }
    }

    /// The same, where a component without a signature may be the binary's own: its digest says so, wherever it came from.
    pub(super) fn or_built_in(self, vault: &Vault, slot: SlotId, component: ComponentDigest) -> Self {
        match self {
            Self::None if vault.carries(slot, &component.to_string()) => Self::BuiltIn,
            proof => proof,
        }
    }
}

/// Whether a version that was taken then may still answer.
///
/// # Errors
/// Why not, and what mends that.
pub(super) fn still(signatures: &Signatures, signer: Option<&str>) -> Result<(), String> {
    let known =
        signer.is_some_and(|signer| signer == BUILT_IN || signatures.keys.iter().any(|key| key == signer));
    match signatures.policy {
        Policy::Required if !known => {
            Err("it is not signed by any of the slot's signatures.keys; sign it and push it again".to_owned())
        }
        Policy::Off | Policy::Optional | Policy::Required => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    /// The key, and its signatures of `test`, from minisign's own documentation.
    const KEY: &str = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
    const OTHER: &str = "RWQgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    const SIGNATURE: &str = "untrusted comment: signature from minisign secret key\n\
        RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=\n\
        trusted comment: timestamp:1556193335\tfile:test\n\
        y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==\n";

    fn signatures(policy: Policy, keys: &[&str]) -> Signatures {
        Signatures { policy, keys: keys.iter().map(|key| (*key).to_owned()).collect() }
    }

    fn proof(text: &str) -> Proof {
        Proof::Signature(text.to_owned())
    }

    #[test]
    fn a_good_signature_names_its_key() {
        for policy in [Policy::Optional, Policy::Required] {
            let found = signer(&signatures(policy, &[OTHER, KEY]), b"test", &proof(SIGNATURE));
            assert_eq!(found.unwrap(), Some(Signed { by: KEY.into(), at: Some(1_556_193_335) }));
        }
    }

    #[test]
    fn other_bytes_other_keys_and_other_texts_are_refused() {
        let comment = SIGNATURE.replace("file:test", "file:best");
        let cases = [
            (&b"Test"[..], KEY, SIGNATURE),
            (b"test", OTHER, SIGNATURE),
            (b"test", KEY, &comment),
            (b"test", KEY, "garbage"),
            (b"test", KEY, ""),
        ];
        for policy in [Policy::Optional, Policy::Required] {
            for (wasm, key, text) in cases {
                signer(&signatures(policy, &[key]), wasm, &proof(text)).unwrap_err();
            }
        }
    }

    #[test]
    fn without_a_signature_the_policy_decides() {
        let none = |policy| signer(&signatures(policy, &[KEY]), b"test", &Proof::None);
        assert_eq!((none(Policy::Off), none(Policy::Optional)), (Ok(None), Ok(None)));
        assert!(none(Policy::Required).unwrap_err().contains("minisign -S"));
        let built_in = signer(&signatures(Policy::Required, &[KEY]), b"test", &Proof::BuiltIn);
        assert!(built_in.unwrap().is_some());
    }

    #[test]
    fn what_is_older_than_the_newest_is_no_news() {
        for (at, newest, is_fresh) in
            [(None, 9, true), (Some(9), 0, true), (Some(9), 9, true), (Some(8), 9, false)]
        {
            assert_eq!(fresh(at, newest).is_ok(), is_fresh, "{at:?} after {newest}");
        }
        let refusal = fresh(Some(8), 9).unwrap_err();
        assert!(refusal.contains("roll back or swap"), "{refusal}");
    }

    #[test]
    fn a_date_is_read_from_the_trusted_comment() {
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
    fn a_key_that_is_taken_out_takes_its_versions_with_it() {
        let required = |keys: &[&str]| signatures(Policy::Required, keys);
        still(&required(&[OTHER, KEY]), Some(KEY)).unwrap();
        still(&required(&[OTHER]), Some(BUILT_IN)).unwrap();
        still(&required(&[OTHER]), Some(KEY)).unwrap_err();
        still(&required(&[OTHER]), None).unwrap_err();
        still(&signatures(Policy::Off, &[]), None).unwrap();
        still(&signatures(Policy::Optional, &[KEY]), None).unwrap();
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
