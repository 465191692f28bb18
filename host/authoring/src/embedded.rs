//! The files that the binary carries for authors: WIT, templates and the source of `components/guest`.

/// A file that the binary carries.
#[derive(Debug)]
pub(crate) struct EmbeddedFile {
    /// Its path below the embedded folder.
    pub(crate) path: &'static str,
    /// Its content.
    pub(crate) bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
