//! Packs: components with the machine code that they were compiled to, signed by who compiled them.
//!
//! A pack is a component whose last section is a custom one, which other readers of components skip. It holds three parts,
//! each after its length in four bytes, the lowest first: the header as JSON; the signature of the header in minisign's
//! form, or nothing; the code. The header has the digests of the component and of the code, so that the signature covers
//! them. Nothing of the code is read before all of that is right.

#[cfg(feature = "compiler")]
mod signer;
#[cfg(all(test, feature = "compiler"))]
mod tests;

#[cfg(feature = "compiler")]
use std::sync::Arc;

use bulkhead_config::sandbox::Sandbox;
use minisign_verify::{PublicKey, Signature};
use serde::{Deserialize, Serialize};

#[cfg(feature = "compiler")]
pub use self::signer::{PackSigner, PackSignerError};
#[cfg(feature = "compiler")]
use super::process::CompileProcess;
use super::{CompileError, ComponentDigest, MachineCode};
use crate::engine::{CodeSettings, CodeTarget};

/// The version of wasmtime that this program is built with. A test compares it with the lock file.
const WASMTIME: &str = "48.0.8";
/// The name of the custom section, after its length.
const NAME: &[u8] = b"\x0dbulkhead-pack";
/// Magic number and version of a component.
const PREAMBLE_BYTES: usize = 8;
/// Id of custom sections.
const CUSTOM: u8 = 0;
/// Most bytes of a header, and of a signature: several times what they take.
const TEXT_BYTES: usize = 4 << 10;
/// Most characters of a field that a refusal shows.
const SHOWN: usize = 80;

/// The error of a component whose code may not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    /// It is not made up as a pack is.
    #[error("it is damaged; compile it again with `bulkhead component compile`")]
    Malformed,
    /// No key is configured.
    #[error(
        "it is compiled already, and no key may sign such components; name the signer's in sandbox.pack_keys"
    )]
    NoKeys,
    /// It is not signed.
    #[error("it is compiled already and not signed; compile it with `bulkhead component compile --sign`")]
    Unsigned,
    /// It is signed by another key, or its header has changed since.
    #[error(
        "no key of sandbox.pack_keys has signed its header; sign it with one of them, or name its key there"
    )]
    Signature,
    /// It is compiled for another program.
    #[error("it is compiled for {field} {found:?}, and this program has {own:?}; compile it for this one")]
    Other {
        /// What differs.
        field: &'static str,
        /// What it is compiled for.
        found: String,
        /// What this program has.
        own: String,
    },
    /// The component or the code is another one than that of the header.
    #[error("its {0} has changed since it was compiled; compile it again")]
    Changed(&'static str),
    /// wasmtime refuses the code.
    #[error("wasmtime refuses its code: {0}")]
    Refused(String),
}

/// What a pack says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PackHeader {
    /// The version of wasmtime.
    wasmtime: String,
    /// The target triple.
    target: String,
    /// The settings of the engine that the code depends on.
    features: Vec<String>,
    /// Digest of the component without the pack's section.
    component: String,
    /// Digest of the code.
    code: String,
}

impl PackHeader {
    /// Checks that the code is for this program.
    fn check_program(&self, settings: CodeSettings) -> Result<(), PackError> {
        let target = CodeTarget::of_this_program().map_or("another machine", CodeTarget::triple);
        for (field, found, own) in [
            ("wasmtime", &self.wasmtime, WASMTIME.to_owned()),
            ("target", &self.target, target.to_owned()),
            ("features", &self.features.join(" "), settings.features().join(" ")),
        ] {
            if *found != own {
                return Err(PackError::Other { field, found: found.chars().take(SHOWN).collect(), own });
            }
        }
        Ok(())
    }
}

/// A component with its code, neither of which is checked yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pack<'w> {
    component: &'w [u8],
    header: &'w [u8],
    signature: &'w [u8],
    code: &'w [u8],
}

impl<'w> Pack<'w> {
    /// Returns the parts of a pack, or `None` for a component without code.
    pub(super) fn find(wasm: &'w [u8]) -> Option<Result<Self, PackError>> {
        let (start, content) = last_custom_section(wasm)?;
        let (component, parts) = (wasm.get(..start)?, content.strip_prefix(NAME)?);
        Some(Self::of_parts(component, parts).ok_or(PackError::Malformed))
    }

    fn of_parts(component: &'w [u8], parts: &'w [u8]) -> Option<Self> {
        let (header, rest) = split_part(parts)?;
        let (signature, rest) = split_part(rest)?;
        let (code, rest) = split_part(rest)?;
        let is_sound = rest.is_empty() && header.len() <= TEXT_BYTES && signature.len() <= TEXT_BYTES;
        is_sound.then_some(Self { component, header, signature, code })
    }

    /// Checks who compiled it and for what, and returns its code. One of `keys` must have signed it; `None` is for what
    /// is part of this program.
    pub(super) fn open(
        &self,
        keys: Option<&[String]>,
        settings: CodeSettings,
    ) -> Result<MachineCode, PackError> {
        if let Some(keys) = keys {
            self.check_signature(keys)?;
        }
        let header: PackHeader = serde_json::from_slice(self.header).map_err(|_| PackError::Malformed)?;
        header.check_program(settings)?;
        for (part, bytes, digest) in
            [("component", self.component, &header.component), ("code", self.code, &header.code)]
        {
            if ComponentDigest::of(bytes).to_string() != *digest {
                return Err(PackError::Changed(part));
            }
        }
        Ok(MachineCode::new(self.code.to_vec()))
    }

    fn check_signature(&self, keys: &[String]) -> Result<(), PackError> {
        if keys.is_empty() {
            return Err(PackError::NoKeys);
        }
        if self.signature.is_empty() {
            return Err(PackError::Unsigned);
        }
        let text = str::from_utf8(self.signature).map_err(|_| PackError::Signature)?;
        let signature = Signature::decode(text).map_err(|_| PackError::Signature)?;
        let has_signed = |key: &String| {
            PublicKey::from_base64(key).is_ok_and(|key| key.verify(self.header, &signature, true).is_ok())
        };
        keys.iter().any(has_signed).then_some(()).ok_or(PackError::Signature)
    }
}

/// Checks a component as a host with these settings does before it loads any code: of one that is compiled already, who has
/// signed it, for which program it is, and that it is whole.
///
/// # Errors
/// When its code may not run, or it has none and this program has no compiler.
pub fn check_code(wasm: &[u8], sandbox: &Sandbox) -> Result<(), CompileError> {
    let Some(pack) = Pack::find(wasm).transpose()? else {
        return if cfg!(feature = "compiler") { Ok(()) } else { Err(CompileError::NoCompiler) };
    };
    let settings = CodeSettings { stack_bytes: sandbox.stack_bytes, reservation: None };
    pack.open(Some(&sandbox.pack_keys), settings)?;
    Ok(())
}

/// Compiles a component, or that of a pack, for a machine, and returns it as a pack: signed, or else to be built into a
/// program.
///
/// # Errors
/// When it does not compile.
#[cfg(feature = "compiler")]
pub async fn compile_pack(
    wasm: Arc<[u8]>,
    target: CodeTarget,
    sandbox: &Sandbox,
    signer: Option<&PackSigner>,
) -> Result<Vec<u8>, CompileError> {
    let component: Arc<[u8]> = match Pack::find(&wasm).transpose()? {
        Some(pack) => pack.component.into(),
        None => Arc::clone(&wasm),
    };
    // As for an instance pool, which most hosts have.
    let settings = CodeSettings { stack_bytes: sandbox.stack_bytes, reservation: None };
    let process = CompileProcess::new(settings, sandbox).with_target(target);
    let code = process.compile(Arc::clone(&component)).await?;
    let header = PackHeader {
        wasmtime: WASMTIME.to_owned(),
        target: target.triple().to_owned(),
        features: settings.features(),
        component: ComponentDigest::of(&component).to_string(),
        code: ComponentDigest::of(code.as_bytes()).to_string(),
    };
    Ok(attach(&component, &header, code.as_bytes(), signer)?)
}

/// Adds code to a component.
#[cfg(feature = "compiler")]
fn attach(
    component: &[u8],
    header: &PackHeader,
    code: &[u8],
    signer: Option<&PackSigner>,
) -> Result<Vec<u8>, PackError> {
    let header = serde_json::to_vec(header).map_err(|_| PackError::Malformed)?;
    let signature = signer.map(|signer| signer.sign(&header)).unwrap_or_default();
    let mut content = NAME.to_vec();
    for part in [header.as_slice(), signature.as_bytes(), code] {
        // A component has less than 4 GiB.
        content.extend(u32::try_from(part.len()).map_err(|_| PackError::Malformed)?.to_le_bytes());
        content.extend(part);
    }
    let mut size = u32::try_from(content.len()).map_err(|_| PackError::Malformed)?;
    let mut pack = [component, &[CUSTOM]].concat();
    while size > 0x7f {
        pack.push((size & 0x7f) as u8 | 0x80);
        size >>= 7;
    }
    pack.push(size as u8);
    pack.extend(content);
    Ok(pack)
}

/// Returns the offset and the content of a component's last section, if that is a custom one.
fn last_custom_section(wasm: &[u8]) -> Option<(usize, &[u8])> {
    let mut rest = wasm.get(PREAMBLE_BYTES..)?;
    loop {
        let start = wasm.len().checked_sub(rest.len())?;
        let (id, sized) = rest.split_first()?;
        let (size, sized) = split_size(sized)?;
        let (content, after) = sized.split_at_checked(size)?;
        if after.is_empty() {
            return (*id == CUSTOM).then_some((start, content));
        }
        rest = after;
    }
}

/// Splits off the size of a section, a number of at most five bytes with seven bits each, the lowest first.
fn split_size(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut size = 0_usize;
    for (index, byte) in bytes.iter().take(5).enumerate() {
        size |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((size, bytes.get(index + 1..)?));
        }
    }
    None
}

/// Splits off a part of a pack.
fn split_part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)
}
