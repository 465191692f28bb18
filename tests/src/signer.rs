//! Signs components as minisign does: the older form, over the bytes themselves.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use rcgen::{KeyPair, PKCS_ED25519, PublicKeyData as _, SigningKey as _};

/// Tells the key from others; any eight bytes do.
const KEY_ID: [u8; 8] = *b"bulkhead";

/// A key of a test's own.
pub struct Signer(KeyPair);

impl Signer {
    pub fn new() -> Self {
        Self(KeyPair::generate_for(&PKCS_ED25519).unwrap())
    }

    /// The public key, as `signatures.keys` takes it.
    pub fn key(&self) -> String {
        BASE64_STANDARD.encode([b"Ed".as_slice(), &KEY_ID, self.0.der_bytes()].concat())
    }

    /// The text of a `.minisig` file that was made at `seconds` after 1970.
    pub fn sign(&self, wasm: &[u8], seconds: u64) -> String {
        self.sign_with(wasm, &format!("timestamp:{seconds}\tfile:component.wasm"))
    }

    /// The same with another trusted comment.
    pub fn sign_with(&self, wasm: &[u8], comment: &str) -> String {
        let signature = self.0.sign(wasm).unwrap();
        let global = self.0.sign(&[&signature, comment.as_bytes()].concat()).unwrap();
        let line = BASE64_STANDARD.encode([b"Ed".as_slice(), &KEY_ID, &signature].concat());
        let global = BASE64_STANDARD.encode(global);
        format!("untrusted comment: a test's\n{line}\ntrusted comment: {comment}\n{global}\n")
    }
}

impl Default for Signer {
    fn default() -> Self {
        Self::new()
    }
}
