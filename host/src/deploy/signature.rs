use minisign_verify::{PublicKey, Signature};

use crate::config::signatures::{Policy, Signatures};

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

/// Who vouches for `wasm`: the key that signed it.
///
/// # Errors
/// Why it may not answer, and what mends that.
pub(super) fn signer(signatures: &Signatures, wasm: &[u8], proof: &Proof) -> Result<Option<String>, String> {
    let text = match (signatures.policy, proof) {
        (_, Proof::BuiltIn) => return Ok(Some(BUILT_IN.to_owned())),
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
    key.map(Some).ok_or_else(|| {
        "its signature is not that of these bytes by any of the slot's signatures.keys; sign it anew"
            .to_owned()
    })
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
            assert_eq!(found.unwrap().as_deref(), Some(KEY));
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
    fn a_key_that_is_taken_out_takes_its_versions_with_it() {
        let required = |keys: &[&str]| signatures(Policy::Required, keys);
        still(&required(&[OTHER, KEY]), Some(KEY)).unwrap();
        still(&required(&[OTHER]), Some(BUILT_IN)).unwrap();
        still(&required(&[OTHER]), Some(KEY)).unwrap_err();
        still(&required(&[OTHER]), None).unwrap_err();
        still(&signatures(Policy::Off, &[]), None).unwrap();
        still(&signatures(Policy::Optional, &[KEY]), None).unwrap();
    }
}
