//! Signatures as hexadecimal text.

use crate::algorithm::Hash;
use crate::error::Error;
use crate::host::Host;

/// Decodes hex in the one spelling that issuers and widgets use. Another spelling of the same bytes would be another
/// text with the same meaning, which replay ids must not allow.
pub fn lower_hex(text: &str) -> Option<Vec<u8>> {
    let upper = text.bytes().any(|byte| byte.is_ascii_uppercase());
    if upper { None } else { hex::decode(text).ok() }
}

/// Returns whether `signature` is the lower-case hex of the HMAC of `data` under the key called `key`. The
/// signature's length selects the hash: protocol v2 names none.
pub fn is_signed(
    host: &dyn Host,
    key: &str,
    key_id: Option<&str>,
    data: &[u8],
    signature: &str,
) -> Result<bool, Error> {
    let Some(tag) = lower_hex(signature) else {
        return Ok(false);
    };
    match Hash::from_tag_length(tag.len()) {
        Some(hash) => host.is_signed(key, key_id, hash, data, &tag),
        None => Ok(false),
    }
}

/// Signs a text that names the key it is signed with: `write` makes the text for a key id. Only signing reveals the
/// id of the current key, so this starts from `guess` and signs again if that was wrong. Returns what `write` made
/// and the signature in hex.
pub fn sign_naming_key<T: AsRef<str>>(
    host: &dyn Host,
    key: &str,
    hash: Hash,
    guess: String,
    mut write: impl FnMut(&str) -> T,
) -> Result<(T, String), Error> {
    let mut key_id = guess;
    // The second round succeeds unless the key is rotated between the two; then the third does.
    for _ in 0..3 {
        let text = write(&key_id);
        let signature = host.sign(key, hash, text.as_ref().as_bytes())?;
        if signature.key_id == key_id {
            return Ok((text, hex::encode(signature.tag)));
        }
        key_id = signature.key_id;
    }
    Err(Error::Internal(format!("key {key} changes with every signature")))
}
