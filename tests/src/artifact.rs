//! Components as artifacts of OCI registries, put together by hand.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub const IMAGE: &str = "application/vnd.oci.image.manifest.v1+json";
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// `sha256:` and the hex digits.
pub fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

/// A manifest and what it names, as `wkg oci push` makes them.
#[derive(Clone, Debug)]
pub struct Artifact {
    pub manifest: Value,
    pub config: Vec<u8>,
    pub layer: Vec<u8>,
}

impl Artifact {
    pub fn of(component: Vec<u8>) -> Self {
        let config = json!({
            "created": "2026-11-28T00:00:00Z", "architecture": "wasm", "os": "wasip2",
            "layerDigests": [digest(&component)], "component": { "exports": [], "imports": [] },
        });
        let config = config.to_string().into_bytes();
        let descriptor = |kind: &str, bytes: &[u8]| json!({ "mediaType": kind, "digest": digest(bytes), "size": bytes.len() });
        let manifest = json!({
            "schemaVersion": 2, "mediaType": IMAGE,
            "config": descriptor("application/vnd.wasm.config.v0+json", &config),
            "layers": [descriptor("application/wasm", &component)],
            "annotations": { "org.opencontainers.image.version": "1.0.0" },
        });
        Self { manifest, config, layer: component }
    }

    /// The same with the text of a `.minisig` file.
    pub fn signed(mut self, signature: &str) -> Self {
        self.manifest["annotations"]["bulkhead.minisig"] = BASE64_STANDARD.encode(signature).into();
        self
    }

    /// The same with another value in the manifest.
    pub fn with(mut self, pointer: &str, value: Value) -> Self {
        *self.manifest.pointer_mut(pointer).unwrap() = value;
        self
    }

    /// The manifest's bytes.
    pub fn text(&self) -> Vec<u8> {
        self.manifest.to_string().into_bytes()
    }

    /// The manifest's digest.
    pub fn digest(&self) -> String {
        digest(&self.text())
    }
}
