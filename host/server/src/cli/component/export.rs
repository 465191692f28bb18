//! Writes a version's component to a file.

use std::path::Path;

use anyhow::Context as _;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bulkhead_cli::{client::Remote, output};
use bulkhead_config::slots::SlotId;
use bulkhead_os::files;
use bulkhead_runtime::compile::ComponentDigest;
use serde_json::{Value, json};

use super::slot_path;

/// The header field with the SHA-256 of the bytes that are sent (RFC 9530).
const CONTENT_DIGEST: &str = "content-digest";
/// The file name that means standard output.
const STANDARD_OUTPUT: &str = "-";

/// Writes the component of a version, or of the active version, to `file` after checking its digest.
pub(super) fn export(
    remote: &Remote,
    slot: SlotId,
    version: Option<&str>,
    file: &Path,
) -> anyhow::Result<()> {
    let version = match version {
        Some(version) => version.to_owned(),
        None => answering(remote, slot)?,
    };
    let name: String = form_urlencoded::byte_serialize(version.as_bytes()).collect();
    let (headers, wasm) = remote.download(&slot_path(slot, &format!("/versions/{name}/component")))?;
    let digest = ComponentDigest::of(&wasm);
    let sent = headers.get(CONTENT_DIGEST).and_then(|value| value.to_str().ok());
    let expected = format!("sha-256=:{}:", BASE64_STANDARD.encode(digest.as_bytes()));
    let named = version
        .strip_prefix("sha256:")
        .is_none_or(|digits| hex::encode(digest.as_bytes()).starts_with(digits));
    anyhow::ensure!(
        sent == Some(expected.as_str()) && named,
        "the host has sent {digest}, which is not the expected component; nothing is written, export it again"
    );
    if file == Path::new(STANDARD_OUTPUT) {
        return Ok(output::bytes(&wasm)?);
    }
    files::output_path(file)
        .and_then(|path| files::replace(&path, &[&wasm]))
        .with_context(|| format!("cannot write {}", file.display()))?;
    if remote.json {
        let (file, bytes) = (file.display().to_string(), wasm.len());
        return Ok(output::json(&json!({ "file": file, "component": digest.to_string(), "bytes": bytes }))?);
    }
    output::stderr_line(format_args!("{}: {} bytes, {digest}", file.display(), wasm.len()));
    Ok(())
}

/// Returns the id of the active version.
fn answering(remote: &Remote, slot: SlotId) -> anyhow::Result<String> {
    let answer = remote.get(&slot_path(slot, ""))?;
    let id = answer.pointer("/active/id").and_then(Value::as_str).map(str::to_owned);
    id.context("nothing answers; name a version of the slot's history, or `embedded`")
}
