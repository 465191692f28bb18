//! The source of JSON lines.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{MAX_BYTES, MAX_DOCUMENTS, NOT_UTF8, Reading, absolute};
use crate::document::Document;
use crate::error::Error;
use crate::text::{html, is_blank};

/// The text that lists the known members.
const MEMBERS: &str = "a document has id, title, text or html, url, categories, language";
/// The byte order mark with which some editors begin a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A line.
#[derive(Deserialize)]
struct Line {
    id: Option<String>,
    title: Option<String>,
    text: Option<String>,
    html: Option<String>,
    url: Option<String>,
    language: Option<String>,
    #[serde(default)]
    categories: Vec<String>,
    /// Other members: they are ignored and reported.
    #[serde(flatten)]
    others: BTreeMap<String, IgnoredAny>,
}

/// Reads a document a line; empty lines are skipped.
pub(super) fn read(path: &Path) -> Result<Reading, Error> {
    let path = absolute(path)?;
    let failed = |fault| Error::Read(path.clone(), fault);
    let mut file = BufReader::new(File::open(&path).map_err(failed)?);
    let mut reading = Reading { members: MEMBERS, ..Reading::new(path.display().to_string()) };
    let mut number = 0;
    loop {
        let mut line = Vec::new();
        if (&mut file).take(MAX_BYTES + 1).read_until(b'\n', &mut line).map_err(failed)? == 0 {
            return Ok(reading);
        }
        number += 1;
        if number == 1 && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        if line.len() as u64 > MAX_BYTES {
            file.skip_until(b'\n').map_err(failed)?;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if reading.documents.len() > MAX_DOCUMENTS {
            return Err(Error::TooMany { name: reading.name, limit: MAX_DOCUMENTS });
        }
        let document = parsed(&line).and_then(|mut line| {
            reading.members_passed_over.extend(std::mem::take(&mut line.others).into_keys());
            document(line)
        });
        let id = document.as_ref().map_or_else(|_| id(&line), |document| Some(document.id.clone()));
        reading.add(&format!("line {number}"), id, document);
    }
}

fn parsed(line: &[u8]) -> Result<Line, String> {
    if line.len() as u64 > MAX_BYTES {
        return Err(format!("it has more than {MAX_BYTES} bytes: split it"));
    }
    let line = std::str::from_utf8(line).map_err(|_| NOT_UTF8.to_owned())?;
    serde_json::from_str(line).map_err(|fault| fault.to_string())
}

fn document(line: Line) -> Result<Document, String> {
    let (page, text) = match (line.html, line.text) {
        (None, Some(text)) => (None, text),
        (Some(page), None) => {
            let page = html::render(&page);
            (page.title, page.text)
        }
        _ => return Err("it needs exactly one of `text` and `html`".into()),
    };
    let title = line.title.filter(|title| !is_blank(title)).or(page).unwrap_or_default();
    let id = line.id.or_else(|| line.url.clone()).unwrap_or_else(|| digest(&title, &text));
    Ok(Document { id, title, url: line.url, language: line.language, categories: line.categories, text })
}

/// Returns the id in a line that is not a document, if one can be read.
fn id(line: &[u8]) -> Option<String> {
    let line: Value = serde_json::from_str(&String::from_utf8_lossy(line)).ok()?;
    let member = |name| line.get(name).and_then(Value::as_str).map(str::to_owned);
    member("id").or_else(|| member("url"))
}

/// Returns an id for a document that has neither id nor address.
fn digest(title: &str, text: &str) -> String {
    let digest = Sha256::new().chain_update(title).chain_update([0]).chain_update(text).finalize();
    hex::encode(digest.get(..16).unwrap_or(&digest))
}
