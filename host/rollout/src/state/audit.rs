//! The audit log: an append-only file of JSON lines, one for each move.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use bulkhead_config::slots::SlotId;
use serde::{Deserialize, Serialize};

use super::{Move, Stage, VersionRecord};
use crate::VersionId;

/// Number of bytes at the end that are read for the last lines, which are thousands of moves.
pub(super) const TAIL_BYTES: u64 = 4 << 20;
/// Number of bytes at the end that are read first, which are hundreds of moves: each change looks for its own.
const LAST_BYTES: u64 = 128 << 10;

/// Slot name of lines about the host's configuration.
pub const CONFIGURATION: &str = "config";

/// Slot name of lines about rejected requests.
pub const ACCESS: &str = "access";

/// A line of the audit log: a move of a version, or a rejected request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Time, RFC 3339.
    pub at: String,
    /// The slot.
    pub slot: String,
    /// The slot's generation after the move.
    pub generation: u64,
    /// The version.
    pub version: VersionId,
    /// Its component's digest.
    pub component: String,
    /// The new stage.
    pub stage: Stage,
    /// Who made the move.
    pub actor: String,
    /// Why.
    pub reason: String,
}

impl AuditEntry {
    pub(crate) fn new(slot: SlotId, generation: u64, record: &VersionRecord, step: &Move) -> Self {
        Self {
            at: step.at.clone(),
            slot: slot.as_str().to_owned(),
            generation,
            version: record.id.clone(),
            component: record.component.clone(),
            stage: step.stage,
            actor: step.actor.clone(),
            reason: step.reason.clone(),
        }
    }

    /// Returns whether `other` is the same move; a later attempt to log it may have a later generation.
    pub(super) fn is_same_move(&self, other: &Self) -> bool {
        let earlier = Self { generation: self.generation, ..other.clone() };
        *self == earlier
    }

    /// Returns a line about the host's configuration, whose revision is the version.
    pub(crate) fn of_configuration(revision: VersionId, generation: u64, step: Move) -> Self {
        let Move { stage, at, actor, reason } = step;
        let (slot, component) = (CONFIGURATION.to_owned(), String::new());
        Self { at, slot, generation, version: revision, component, stage, actor, reason }
    }
}

impl AuditEntry {
    /// Returns a line about a rejected request.
    pub fn of_refusal(actor: &str, reason: &str) -> Self {
        let Move { stage, at, actor, reason } = Move::now(Stage::Refused, actor, reason);
        let (slot, component) = (ACCESS.to_owned(), String::new());
        Self { at, slot, generation: 0, version: VersionId::none(), component, stage, actor, reason }
    }
}

/// Appends lines durably, all of them or none; returns the log's length before, if there are any lines.
pub(super) fn append(path: &Path, entries: &[AuditEntry]) -> io::Result<Option<u64>> {
    append_with(path, entries, |file, lines| {
        file.write_all(lines)?;
        file.sync_all()
    })
}

fn append_with(
    path: &Path,
    entries: &[AuditEntry],
    write: impl FnOnce(&mut File, &[u8]) -> io::Result<()>,
) -> io::Result<Option<u64>> {
    if entries.is_empty() {
        return Ok(None);
    }
    let mut file = File::options().create(true).append(true).read(true).mode(0o600).open(path)?;
    let before = file.seek(SeekFrom::End(0))?;
    let mut lines = String::new();
    if ends_mid_line(&mut file)? {
        lines.push('\n');
    }
    for entry in entries {
        lines.push_str(&serde_json::to_string(entry)?);
        lines.push('\n');
    }
    if let Err(error) = write(&mut file, lines.as_bytes()) {
        // A full disk may accept a part of them. If it cannot be cut off, the next write ends its line.
        let _ = shorten(&file, before);
        return Err(error);
    }
    Ok(Some(before))
}

/// Removes the lines after a `length` that [`append`] has returned.
pub(super) fn truncate(path: &Path, length: u64) -> io::Result<()> {
    shorten(&File::options().write(true).open(path)?, length)
}

fn shorten(file: &File, length: u64) -> io::Result<()> {
    file.set_len(length)?;
    file.sync_all()
}

/// Returns whether the last line is incomplete because a host was killed.
fn ends_mid_line(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// Reads the end of the log, at most so many bytes, which begin with a line unless the log is longer.
fn tail(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(bytes)))?;
    let mut tail = Vec::new();
    file.take(bytes).read_to_end(&mut tail)?;
    Ok(tail)
}

/// Returns the last `limit` entries that `wanted` accepts, the oldest first. Skips damaged lines.
pub(super) fn read(
    path: &Path,
    limit: usize,
    wanted: impl Fn(&AuditEntry) -> bool,
) -> io::Result<Vec<AuditEntry>> {
    let last = |tail: &[u8]| -> Vec<AuditEntry> {
        let lines = tail.rsplit(|byte| *byte == b'\n');
        lines.filter_map(|line| serde_json::from_slice(line).ok()).filter(&wanted).take(limit).collect()
    };
    let end = tail(path, LAST_BYTES)?;
    let mut entries = last(&end);
    if entries.len() < limit && end.len() as u64 == LAST_BYTES {
        entries = last(&tail(path, TAIL_BYTES)?);
    }
    entries.reverse();
    Ok(entries)
}

/// Returns how many of the last lines are damaged.
pub(super) fn damaged_lines(path: &Path) -> io::Result<usize> {
    let tail = tail(path, TAIL_BYTES)?;
    // The first line of a long log may begin before its tail.
    let cut = usize::from(tail.len() as u64 == TAIL_BYTES);
    let lines = tail.split(|byte| *byte == b'\n').skip(cut).filter(|line| !line.is_empty());
    Ok(lines.filter(|line| serde_json::from_slice::<AuditEntry>(line).is_err()).count())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use bulkhead_runtime::compile::ComponentDigest;

    use super::*;
    use crate::tests::settings;

    fn entry(generation: u64) -> AuditEntry {
        let record = VersionRecord::new(ComponentDigest::of(b"a"), 1, "a\nb", &settings());
        AuditEntry::new(
            SlotId::new("captcha"),
            generation,
            &record,
            &Move::now(Stage::Active, "ops", "line\nbreak"),
        )
    }

    fn generations(path: &Path, limit: usize) -> Vec<u64> {
        read(path, limit, |_| true).unwrap().iter().map(|entry| entry.generation).collect()
    }

    #[test]
    fn last_appended_lines_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        assert!(generations(&path, 9).is_empty());
        append(&path, &[entry(1), entry(2)]).unwrap();
        append(&path, &[]).unwrap();
        append(&path, &[entry(3)]).unwrap();
        assert_eq!(generations(&path, 9), [1, 2, 3]);
        assert_eq!(generations(&path, 2), [2, 3]);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3, "a line each");
        assert_eq!(read(&path, 9, |entry| entry.generation == 2).unwrap().len(), 1);
    }

    #[test]
    fn long_log_is_read_from_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let entries: Vec<AuditEntry> = (1..=1000).map(entry).collect();
        append(&path, &entries).unwrap();
        assert!(fs::metadata(&path).unwrap().len() > LAST_BYTES);
        assert_eq!(generations(&path, 2), [999, 1000]);
        assert_eq!(generations(&path, 9999), (1..=1000).collect::<Vec<_>>());
        let early = read(&path, 1, |entry| entry.generation <= 2).unwrap();
        assert_eq!(early.iter().map(|entry| entry.generation).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn incomplete_line_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        append(&path, &[entry(1), entry(2)]).unwrap();
        let whole = fs::read(&path).unwrap();
        fs::write(&path, whole.get(..whole.len() - 20).unwrap()).unwrap();
        assert_eq!(damaged_lines(&path).unwrap(), 1);
        append(&path, &[entry(3)]).unwrap();
        assert_eq!((generations(&path, 9), damaged_lines(&path).unwrap()), (vec![1, 3], 1));
    }

    #[test]
    fn damaged_lines_are_skipped_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        assert_eq!(damaged_lines(&path).unwrap(), 0);
        append(&path, &[entry(1), entry(2), entry(3)]).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        assert_eq!(damaged_lines(&path).unwrap(), 0);
        let length = bytes.len();
        for byte in bytes.iter_mut().skip(length / 2 - 5).take(10) {
            *byte = 0;
        }
        // Zeros in place of what was not written.
        bytes.extend([0; 100]);
        fs::write(&path, bytes).unwrap();
        assert_eq!((generations(&path, 9), damaged_lines(&path).unwrap()), (vec![1, 3], 2));
        append(&path, &[entry(4)]).unwrap();
        assert_eq!((generations(&path, 9), damaged_lines(&path).unwrap()), (vec![1, 3, 4], 2));
    }

    #[test]
    fn failed_append_leaves_no_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        append(&path, &[entry(1)]).unwrap();
        let whole = fs::read(&path).unwrap();
        let full = |file: &mut File, lines: &[u8]| {
            file.write_all(lines.get(..lines.len() / 2 + 9).unwrap())?;
            Err(io::ErrorKind::StorageFull.into())
        };
        let refused = append_with(&path, &[entry(2), entry(3)], full).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&path).unwrap(), whole);
        append(&path, &[entry(4)]).unwrap();
        assert_eq!(generations(&path, 9), [1, 4]);
    }

    #[test]
    fn truncated_lines_are_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        assert_eq!(append(&path, &[]).unwrap(), None);
        assert_eq!(append(&path, &[entry(1)]).unwrap(), Some(0));
        let before = append(&path, &[entry(2), entry(3)]).unwrap().unwrap();
        truncate(&path, before).unwrap();
        assert_eq!(generations(&path, 9), [1]);
    }

    #[test]
    fn same_move_is_recognised_in_another_generation() {
        let one = entry(1);
        assert!(one.is_same_move(&AuditEntry { generation: 2, ..one.clone() }));
        assert!(!one.is_same_move(&AuditEntry { reason: "another".to_owned(), ..one.clone() }));
    }
}
