//! Whether a write-ahead log is as SQLite has written it.
//!
//! A log is a header, then frames: each a header and a page, with a checksum over all of before. SQLite reads it up to the last
//! commit before the first frame that is wrong, and does not say that something follows.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};

/// Bytes of the header of a log.
const HEADER: usize = 32;
/// Those of them that its checksum covers.
const SUMMED: usize = 24;
/// Bytes of the header of a frame.
const FRAME: usize = 24;
/// How a log begins. The last bit names the byte order of checksums.
const MAGIC: u32 = 0x377f_0682;
/// How many times a log may have been begun again over frames that are still there: each time the first salt grows by one.
const GENERATIONS: u32 = 1 << 24;

/// What a log is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogState {
    /// It ends with a whole frame, with a header whose page a process could not write any more, or before frames of an
    /// earlier log.
    Whole,
    /// It does not begin as a log: SQLite reads nothing of it.
    Headless,
    /// It has more than SQLite reads of it: it was cut or garbled, or its machine lost power during a write.
    Torn,
}

/// Inspects the log at `path`. Another host with its database may have removed or emptied it meanwhile.
pub(super) fn inspect_log(path: &Path) -> io::Result<LogState> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(LogState::Whole),
        file => read(BufReader::new(file?)),
    }
}

fn read(mut log: impl Read) -> io::Result<LogState> {
    let mut header = Vec::new();
    log.by_ref().take(HEADER as u64).read_to_end(&mut header)?;
    if header.is_empty() {
        return Ok(LogState::Whole);
    }
    let magic = number(&header, 0);
    let mut checksum = Checksum { is_big_endian: magic & 1 == 1, sums: [0; 2] };
    checksum.add(header.get(..SUMMED).unwrap_or_default());
    if header.len() < HEADER || magic | 1 != MAGIC | 1 || checksum.sums != numbers(&header, SUMMED) {
        return Ok(LogState::Headless);
    }
    let (page_bytes, salts) = (u64::from(number(&header, 8)), numbers(&header, 16));
    let mut frame = Vec::new();
    loop {
        frame.clear();
        log.by_ref().take(FRAME as u64 + page_bytes).read_to_end(&mut frame)?;
        if frame.is_empty() || frame.len() == FRAME {
            return Ok(LogState::Whole);
        }
        let found = numbers(&frame, 8);
        if found != salts {
            let [first, found_first] = [salts, found].map(|[first, _]| first);
            let is_earlier = found != [0; 2] && (1..=GENERATIONS).contains(&first.wrapping_sub(found_first));
            return Ok(if is_earlier { LogState::Whole } else { LogState::Torn });
        }
        checksum.add(frame.get(..8).unwrap_or_default());
        checksum.add(frame.get(FRAME..).unwrap_or_default());
        if frame.len() as u64 != FRAME as u64 + page_bytes || checksum.sums != numbers(&frame, 16) {
            return Ok(LogState::Torn);
        }
    }
}

/// SQLite's checksum of all bytes that were added.
struct Checksum {
    is_big_endian: bool,
    sums: [u32; 2],
}

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        let [mut first, mut second] = self.sums;
        for eight in bytes.chunks_exact(8) {
            let [even, odd] = numbers(eight, 0).map(|number| match self.is_big_endian {
                true => number,
                false => number.swap_bytes(),
            });
            first = first.wrapping_add(even).wrapping_add(second);
            second = second.wrapping_add(odd).wrapping_add(first);
        }
        self.sums = [first, second];
    }
}

/// Returns two numbers from `at` on.
fn numbers(bytes: &[u8], at: usize) -> [u32; 2] {
    [number(bytes, at), number(bytes, at + 4)]
}

/// Returns the number of four bytes from `at` on, the highest first; 0 where there are none.
fn number(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..).and_then(<[u8]>::first_chunk);
    four.map_or(0, |four| u32::from_be_bytes(*four))
}
