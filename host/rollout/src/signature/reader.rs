//! Verifies the signature of a file while the file is read.

use std::io::{self, Cursor, Read};

use minisign_verify::{Error, PublicKey, Signature, StreamVerifier};

/// Most bytes of a file whose signature is of the bytes themselves, as those of minisign before 0.10 are: they are read at
/// once.
const WHOLE_BYTES: u64 = 256 << 20;
/// Why no key fits.
const FOREIGN: &str = "its signature is not that of these bytes by any of the keys; sign it again, or name the key of its signer";

/// The signature of a file, and the keys that are accepted.
pub struct FileSignature {
    keys: Vec<PublicKey>,
    signature: Signature,
}

impl FileSignature {
    /// Reads the text of a `.minisig` file, and keys in base64.
    ///
    /// # Errors
    /// Why one of them is malformed.
    pub fn parse(text: &str, keys: &[String]) -> Result<Self, String> {
        let signature =
            Signature::decode(text).map_err(|error| format!("its signature is malformed: {error}"))?;
        let key = |text: &String| {
            let malformed =
                |_| format!("`{text}` is no minisign key; give the second line of a minisign.pub");
            PublicKey::from_base64(text).map_err(malformed)
        };
        let keys = keys.iter().map(key).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { keys, signature })
    }

    /// Returns a reader of the signed file.
    ///
    /// # Errors
    /// That no key has made the signature, or that the file cannot be read.
    pub fn reader<'s>(&'s self, mut file: impl Read + 's) -> Result<SignedReader<'s>, String> {
        for key in &self.keys {
            match key.verify_stream(&self.signature) {
                Ok(verifier) => return Ok(SignedReader { source: Box::new(file), verifier: Some(verifier) }),
                Err(Error::UnsupportedLegacyMode) => {
                    let mut bytes = Vec::new();
                    let read = file.by_ref().take(WHOLE_BYTES + 1).read_to_end(&mut bytes);
                    read.map_err(|error| error.to_string())?;
                    if bytes.len() as u64 > WHOLE_BYTES {
                        return Err("it is too large for a signature of its bytes; sign it with minisign 0.10 or later".into());
                    }
                    let mut fitting = self.keys.iter();
                    if !fitting.any(|key| key.verify(&bytes, &self.signature, true).is_ok()) {
                        return Err(FOREIGN.into());
                    }
                    return Ok(SignedReader { source: Box::new(Cursor::new(bytes)), verifier: None });
                }
                Err(_) => {}
            }
        }
        Err(FOREIGN.into())
    }
}

/// A file whose signature is verified while it is read. What was read must not be used before [`SignedReader::finish`].
pub struct SignedReader<'s> {
    source: Box<dyn Read + 's>,
    /// `None` where the whole file was verified before.
    verifier: Option<StreamVerifier<'s>>,
}

impl Read for SignedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.source.read(buffer)?;
        if let (Some(verifier), Some(read)) = (&mut self.verifier, buffer.get(..length)) {
            verifier.update(read);
        }
        Ok(length)
    }
}

impl SignedReader<'_> {
    /// Reads the rest, and verifies the signature of all bytes.
    ///
    /// # Errors
    /// That it is not the signature of these bytes, or that they cannot be read.
    pub fn finish(mut self) -> Result<(), String> {
        io::copy(&mut self, &mut io::sink()).map_err(|error| error.to_string())?;
        match self.verifier.take() {
            Some(mut verifier) => verifier.finalize().map_err(|_| FOREIGN.into()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    /// A key and its signatures of `test`, from minisign's documentation: of the digest of the bytes, and of the bytes.
    const KEY: &str = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
    const OTHER: &str = "RWQgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    const SIGNATURES: [&str; 2] = [
        "untrusted comment: signature from minisign secret key\n\
        RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=\n\
        trusted comment: timestamp:1556193335\tfile:test\n\
        y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==\n",
        "untrusted comment: signature from minisign secret key\n\
        RWQf6LRCGA9i59SLOFxz6NxvASXDJeRtuZykwQepbDEGt87ig1BNpWaVWuNrm73YiIiJbq71Wi+dP9eKL8OC351vwIasSSbXxwA=\n\
        trusted comment: timestamp:1555779966\tfile:test\n\
        QtKMXWyYcwdpZAlPF7tE2ENJkRd1ujvKjlj1m9RtHTBnZPa5WKU5uWRs5GoP5M/VqE81QFuMKI5k/SfNQUaOAA==\n",
    ];

    /// Reads `taken` bytes of a file, and then the rest of it.
    fn verify(keys: &[&str], signature: &str, file: &[u8], taken: usize) -> Result<Vec<u8>, String> {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        let signed = FileSignature::parse(signature, &keys)?;
        let mut reader = signed.reader(file)?;
        let mut read = vec![0; taken];
        reader.read_exact(&mut read).unwrap();
        reader.finish().map(|()| read)
    }

    #[test]
    fn signed_file_is_read_and_verified() {
        for signature in SIGNATURES {
            for taken in 0..=4 {
                let read = verify(&[OTHER, KEY], signature, b"test", taken);
                assert_eq!(read.unwrap(), b"test".get(..taken).unwrap());
            }
        }
    }

    #[test]
    fn other_bytes_or_keys_are_refused() {
        for signature in SIGNATURES {
            for file in [&b"tesT"[..], b"tes", b"test "] {
                verify(&[KEY], signature, file, 0).unwrap_err();
            }
            assert!(verify(&[OTHER], signature, b"test", 0).unwrap_err().contains("by any of the keys"));
            assert!(verify(&[], signature, b"test", 0).is_err());
            let comment = signature.replace("file:test", "file:best");
            verify(&[KEY], &comment, b"test", 4).unwrap_err();
        }
        assert!(verify(&["key"], SIGNATURES[0], b"test", 0).unwrap_err().contains("no minisign key"));
        assert!(verify(&[KEY], "garbage", b"test", 0).unwrap_err().contains("malformed"));
    }
}
