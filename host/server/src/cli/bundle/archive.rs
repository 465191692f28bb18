//! The form of a bundle: a tar file (POSIX ustar) of plain files, whose names are below the folder that they are unpacked in.

use std::io::{self, Read, Write};

use anyhow::{Context as _, bail, ensure};
use sha2::{Digest as _, Sha256};

/// Bytes of a block: a header, or a part of a file's contents.
const BLOCK: usize = 512;
/// Bytes of the two parts of a name in a header: its end, and what comes before.
const NAME: usize = 100;
const PREFIX: usize = 155;
/// Where fields of a header begin.
const SIZE: usize = 124;
const CHECKSUM: usize = 148;
const KIND: usize = 156;
const MAGIC: usize = 257;
const PREFIX_AT: usize = 345;
/// The largest file, bytes: eleven octal digits.
const MOST_BYTES: u64 = 0o777_7777_7777;
/// The most bytes of zeros after the last file.
const MOST_PADDING: u64 = 1 << 20;

/// Returns whether a name is that of a file below the folder, whatever folder that is: its parts are neither empty, `.` nor
/// `..`, and have no backslash or control character.
pub(super) fn is_plain(name: &str) -> bool {
    let is_part = |part: &str| {
        !matches!(part, "" | "." | "..")
            && !part.contains(|letter: char| letter == '\\' || letter.is_control())
    };
    name.split('/').all(is_part)
}

/// Returns the SHA-256 of what a reader returns, in hexadecimal digits, and how many bytes there are.
pub(super) fn digest(content: &mut impl Read) -> io::Result<(String, u64)> {
    copy(content, &mut io::sink())
}

/// Copies to `to`; returns digest and length.
fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<(String, u64)> {
    let (mut hash, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 16]);
    loop {
        let length = from.read(&mut buffer)?;
        let Some(read) = buffer.get(..length).filter(|read| !read.is_empty()) else { break };
        hash.update(read);
        to.write_all(read)?;
        bytes += length as u64;
    }
    Ok((hex::encode(hash.finalize()), bytes))
}

/// Writes a bundle.
pub(super) struct ArchiveWriter<W>(W);

impl<W: Write> ArchiveWriter<W> {
    pub(super) const fn new(out: W) -> Self {
        Self(out)
    }

    /// Adds a file that must have this many bytes; returns its digest.
    pub(super) fn add(&mut self, name: &str, bytes: u64, content: &mut impl Read) -> anyhow::Result<String> {
        let header = header(name, bytes)
            .with_context(|| format!("{name} has a name that is too long, or is too large"))?;
        self.0.write_all(&header)?;
        let (digest, copied) = copy(&mut content.take(bytes), &mut self.0)?;
        ensure!(copied == bytes, "{name} has changed meanwhile; export again");
        self.0.write_all(&vec![0; padding(bytes)])?;
        Ok(digest)
    }

    /// Ends the bundle.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.0.write_all(&[0; 2 * BLOCK])?;
        Ok(self.0)
    }
}

/// Returns the bytes that fill the last block of a file.
fn padding(bytes: u64) -> usize {
    let over = usize::try_from(bytes % BLOCK as u64).unwrap_or_default();
    (BLOCK - over) % BLOCK
}

/// Returns the header of a file; `None` if it has no room for the name or the length.
fn header(name: &str, bytes: u64) -> Option<Vec<u8>> {
    let (prefix, end) = match name.len() {
        ..=NAME => ("", name),
        length => {
            let at = name.get(length - NAME - 1..)?.find('/')? + length - NAME - 1;
            (name.get(..at)?, name.get(at + 1..)?)
        }
    };
    if prefix.len() > PREFIX || bytes > MOST_BYTES {
        return None;
    }
    let mut block = Vec::with_capacity(BLOCK);
    let mut field = |text: &str, length: usize| {
        let end = block.len() + length;
        block.extend_from_slice(text.as_bytes());
        block.resize(end, 0);
    };
    field(end, NAME);
    field("0000644", 8);
    field("0000000", 8);
    field("0000000", 8);
    field(&format!("{bytes:011o}"), 12);
    field("00000000000", 12);
    field("        ", 8);
    field("0", 1);
    field("", NAME);
    field("ustar\0", 6);
    field("00", 2);
    field("", 64);
    field("0000000", 8);
    field("0000000", 8);
    field(prefix, PREFIX);
    field("", 12);
    let sum = format!("{:06o}\0 ", checksum(&block));
    drop(block.splice(CHECKSUM..CHECKSUM + 8, sum.bytes()));
    Some(block)
}

/// Returns the sum of the bytes of a header, with blanks in place of the sum.
fn checksum(block: &[u8]) -> u32 {
    let sums = CHECKSUM..CHECKSUM + 8;
    block.iter().enumerate().map(|(at, byte)| if sums.contains(&at) { 32 } else { u32::from(*byte) }).sum()
}

/// A file of a bundle whose contents are read next.
pub(super) struct Member {
    pub(super) name: String,
    pub(super) bytes: u64,
}

/// Reads a bundle.
pub(super) struct ArchiveReader<R>(R);

impl<R: Read> ArchiveReader<R> {
    pub(super) const fn new(source: R) -> Self {
        Self(source)
    }

    /// Returns the next file, whose contents must be copied before the one after it; `None` at the end, behind which there is
    /// nothing.
    pub(super) fn next_member(&mut self) -> anyhow::Result<Option<Member>> {
        let mut block = [0; BLOCK];
        self.0.read_exact(&mut block).context("the bundle ends too early")?;
        if block == [0; BLOCK] {
            let mut rest = Vec::new();
            (&mut self.0).take(MOST_PADDING + 1).read_to_end(&mut rest)?;
            ensure!(
                rest.len() as u64 <= MOST_PADDING && rest.iter().all(|byte| *byte == 0),
                "something follows the end of the bundle"
            );
            return Ok(None);
        }
        let field = |at: usize, length: usize| block.get(at..at + length).unwrap_or_default();
        let number = |at: usize, length: usize| {
            let digits = std::str::from_utf8(field(at, length)).ok()?;
            u64::from_str_radix(digits.trim_matches(['\0', ' ']), 8).ok()
        };
        ensure!(
            field(MAGIC, 5) == b"ustar" && number(CHECKSUM, 8) == Some(checksum(&block).into()),
            "the bundle has a header that is damaged, or not one of `bundle export`"
        );
        let text = |at: usize, length: usize| {
            let bytes = field(at, length).split(|byte| *byte == 0).next().unwrap_or_default();
            std::str::from_utf8(bytes).context("the bundle has a name that is not UTF-8")
        };
        let name = match (text(PREFIX_AT, PREFIX)?, text(0, NAME)?) {
            ("", name) => name.to_owned(),
            (prefix, name) => format!("{prefix}/{name}"),
        };
        if !matches!(field(KIND, 1), b"0" | b"\0") {
            bail!("the bundle has {name:?}, which is a link, a folder or a device");
        }
        ensure!(is_plain(&name), "the bundle has {name:?}, which is not below its own folder");
        let bytes = number(SIZE, 12).context("the bundle has a length that is not a number")?;
        Ok(Some(Member { name, bytes }))
    }

    /// Copies the contents of the file that [`ArchiveReader::next_member`] has returned; returns its digest.
    pub(super) fn copy(&mut self, member: &Member, to: &mut impl Write) -> anyhow::Result<String> {
        let (digest, copied) = copy(&mut (&mut self.0).take(member.bytes), to)?;
        ensure!(copied == member.bytes, "the bundle ends in {}", member.name);
        let mut rest = vec![0; padding(member.bytes)];
        self.0.read_exact(&mut rest).context("the bundle ends too early")?;
        Ok(digest)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ArchiveWriter::new(Vec::new());
        for (name, content) in files {
            writer.add(name, content.len() as u64, &mut &content[..]).unwrap();
        }
        writer.finish().unwrap()
    }

    fn read(archive: &[u8]) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
        let (mut reader, mut files) = (ArchiveReader::new(archive), Vec::new());
        while let Some(member) = reader.next_member()? {
            let mut content = Vec::new();
            assert_eq!(reader.copy(&member, &mut content)?, digest(&mut &content[..])?.0);
            files.push((member.name, content));
        }
        Ok(files)
    }

    fn refused(archive: &[u8], expected: &str) {
        let error = format!("{:#}", read(archive).unwrap_err());
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn files_are_read_back() {
        let long = format!("{}/{}/c.wasm", "a".repeat(100), "b".repeat(90));
        let files: [(&str, &[u8]); 4] = [("a", b""), ("b/c", &[7; BLOCK]), (&long, &[8; 700]), ("d", b"x")];
        let archive = archive(&files);
        assert_eq!(archive.len() % BLOCK, 0);
        let files = files.map(|(name, content)| (name.to_owned(), content.to_vec()));
        assert_eq!(read(&archive).unwrap(), files);
    }

    #[test]
    fn too_long_names_are_refused() {
        let mut writer = ArchiveWriter::new(Vec::new());
        for name in ["a".repeat(101), format!("{}/b", "a".repeat(156)), format!("b/{}", "a".repeat(101))] {
            writer.add(&name, 0, &mut io::empty()).unwrap_err();
        }
        assert!(writer.add("short", 2, &mut &b"x"[..]).unwrap_err().to_string().contains("has changed"));
    }

    #[test]
    fn names_stay_below_the_folder() {
        for name in ["../a", "a/../b", "/a", "a//b", "./a", "a/", "a\\b", "a\nb", ".."] {
            assert!(!is_plain(name), "{name:?}");
            refused(&archive(&[(name, b"x")]), "not below its own folder");
        }
        for name in ["a", "a/b.wasm", "a/..b", "a/.b"] {
            assert!(is_plain(name), "{name:?}");
        }
    }

    /// Changes a header, and corrects its sum.
    fn changed(mut archive: Vec<u8>, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
        change(&mut archive[..BLOCK]);
        let sum = format!("{:06o}\0 ", checksum(&archive[..BLOCK]));
        drop(archive.splice(CHECKSUM..CHECKSUM + 8, sum.bytes()));
        archive
    }

    #[test]
    fn links_and_folders_are_refused() {
        for kind in b"1234567xgLK" {
            let archive = changed(archive(&[("a", b"x")]), |header| header[KIND] = *kind);
            refused(&archive, "a link, a folder or a device");
        }
        assert!(read(&changed(archive(&[("a", b"x")]), |header| header[KIND] = 0)).is_ok());
    }

    #[test]
    fn damaged_archives_are_refused() {
        let whole = archive(&[("a", &[1; 600]), ("b", b"x")]);
        for length in [0, 100, BLOCK, BLOCK + 100, 2 * BLOCK, 3 * BLOCK, 4 * BLOCK + 1, 5 * BLOCK] {
            read(&whole[..length]).unwrap_err();
        }
        let mut other = whole.clone();
        other[3] = b'x';
        refused(&other, "a header that is damaged");
        refused(&changed(whole.clone(), |header| header[SIZE] = b'9'), "not a number");
        refused(&[whole, archive(&[("c", b"x")])].concat(), "follows the end");
    }
}
