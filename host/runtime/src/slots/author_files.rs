//! The files that a service has for authors of components.

/// A file that is part of the binary.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedFile {
    /// Its path, with `/` between its parts.
    pub path: &'static str,
    /// Its content.
    pub bytes: &'static [u8],
}

/// The WIT of a service, and templates of components for its worlds.
#[derive(Clone, Copy, Debug)]
pub struct AuthorFiles {
    /// Its packages, a folder each, such as `greeter/greeter.wit`.
    pub wit: &'static [EmbeddedFile],
    /// Its templates by language and world, such as `rust/greeter/src/lib.rs`. The file `template` of each names the world.
    pub templates: &'static [EmbeddedFile],
}

impl AuthorFiles {
    /// No files.
    pub const NONE: Self = Self { wit: &[], templates: &[] };
}

/// Embeds the named files below a folder, which is relative to the folder of the crate.
#[macro_export]
macro_rules! embedded_files {
    ($folder:literal: $($path:literal),* $(,)?) => {
        &[$($crate::slots::EmbeddedFile {
            path: $path,
            bytes: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $folder, "/", $path)),
        }),*]
    };
}
