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

    /// The text of the file of the secret key, without a password.
    pub fn secret_key(&self) -> String {
        // The seed is the octet string within the octet string of the private key.
        const BEFORE: [u8; 4] = [4, 0x22, 4, 0x20];
        let der = self.0.serialized_der();
        let at = der.windows(BEFORE.len()).position(|window| window == BEFORE).unwrap() + BEFORE.len();
        let (seed, public) = (&der[at..at + 32], self.0.der_bytes());
        let key = [b"Ed\0\0B2".as_slice(), &[0; 48], &KEY_ID, seed, public, &[0; 32]].concat();
        format!("untrusted comment: a test's secret key\n{}\n", BASE64_STANDARD.encode(key))
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
