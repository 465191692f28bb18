//! Reads the widget's files from their folder, with integrity hashes and entity tags.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use axum::{body::Bytes, http::HeaderValue};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bulkhead_os::files;
use sha2::{Digest as _, Sha256, Sha384};
use thiserror::Error;

use crate::config::Captcha;

/// Greatest size of all files together, bytes; the package has 5 MB.
const MAX_BYTES: usize = 32 << 20;
/// Most files; the package has about 300.
const MAX_FILES: usize = 4096;
/// Most names of skipped files in a warning.
const MAX_NAMED: usize = 5;

/// Why a folder cannot be served.
#[derive(Debug, Error)]
pub enum WidgetFilesError {
    /// The folder, or a file in it, cannot be read.
    #[error("cannot read {}: {source}; check captcha.widget_dir", path.display())]
    Read {
        /// Path of the folder or file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A symbolic link leads out of the folder.
    #[error("{} leads out of captcha.widget_dir; put the file itself there", .0.display())]
    Outside(PathBuf),
    /// The folder is larger than a widget.
    #[error(
        "captcha.widget_dir has more than {MAX_FILES} files or {MAX_BYTES} bytes; name the widget's folder only"
    )]
    TooLarge,
    /// The folder has no file to serve.
    #[error(
        "captcha.widget_dir has no file that can be served; put the files of the npm package altcha there"
    )]
    Empty,
}

/// A file of the widget.
#[derive(Debug)]
pub struct WidgetFile {
    /// The media type, by file extension.
    pub content_type: &'static str,
    /// The content.
    pub bytes: Bytes,
    /// The value of the attribute `integrity` (W3C Subresource Integrity).
    pub integrity: String,
    /// The entity tag; weak, since the file is also sent compressed.
    pub etag: HeaderValue,
}

/// The files of a folder by their paths in it, with `/` as separator.
#[derive(Debug)]
pub struct WidgetFiles {
    release: String,
    files: BTreeMap<String, WidgetFile>,
    skipped: SkippedFiles,
}

impl WidgetFiles {
    /// Reads the configured folder, if there is one.
    ///
    /// # Errors
    /// Fails when the folder cannot be served.
    pub fn configured(captcha: &Captcha) -> Result<Option<Self>, WidgetFilesError> {
        captcha.widget_dir.as_deref().map(Self::read).transpose()
    }

    /// Reads a folder and those below it. Skips names that begin with a dot, and names that a URL would have to escape,
    /// which [`WidgetFiles::warning`] lists.
    ///
    /// # Errors
    /// Fails when the folder cannot be served.
    fn read(folder: &Path) -> Result<Self, WidgetFilesError> {
        let mut reading = FolderReader {
            root: real_path(folder)?,
            seen: BTreeSet::new(),
            bytes: 0,
            files: BTreeMap::new(),
            skipped: SkippedFiles::default(),
        };
        reading.folder(&reading.root.clone(), "")?;
        let (files, skipped) = (reading.files, reading.skipped);
        if files.is_empty() {
            return Err(WidgetFilesError::Empty);
        }
        let mut digest = Sha256::new();
        for (path, file) in &files {
            digest.update(format!("{path} {}\n", file.integrity));
        }
        let release = hex::encode(digest.finalize()).chars().take(16).collect();
        Ok(Self { release, files, skipped })
    }

    /// Returns a warning about files and folders that are not served because of their names.
    pub fn warning(&self) -> Option<String> {
        let SkippedFiles { count, names } = &self.skipped;
        let more = count - names.len();
        let names = names.iter().cloned().collect::<Vec<_>>().join(", ");
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        (*count > 0).then(|| {
            format!(
                "captcha.widget_dir: not served, since their names have other characters than A-Z a-z 0-9 . _ - @ +: \
                 {names}{more}; rename the files that pages load"
            )
        })
    }

    /// Returns the digest of the folder: 16 hex digits.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// Returns every file with its path, sorted.
    pub fn files(&self) -> impl Iterator<Item = (&str, &WidgetFile)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// Returns the file at a path.
    pub fn file(&self, path: &str) -> Option<&WidgetFile> {
        self.files.get(path)
    }
}

/// Files and folders whose names a URL would have to escape.
#[derive(Debug, Default)]
struct SkippedFiles {
    count: usize,
    /// The first names in alphabetical order, quoted.
    names: BTreeSet<String>,
}

impl SkippedFiles {
    fn add(&mut self, name: String) {
        self.count += 1;
        self.names.insert(name);
        if self.names.len() > MAX_NAMED {
            self.names.pop_last();
        }
    }
}

/// Reads a folder recursively.
struct FolderReader {
    root: PathBuf,
    /// Folders that were read: a link may lead to a parent folder.
    seen: BTreeSet<PathBuf>,
    bytes: usize,
    files: BTreeMap<String, WidgetFile>,
    skipped: SkippedFiles,
}

impl FolderReader {
    fn folder(&mut self, folder: &Path, prefix: &str) -> Result<(), WidgetFilesError> {
        if !self.seen.insert(folder.to_owned()) {
            return Ok(());
        }
        for entry in fs::read_dir(folder).map_err(unreadable(folder))? {
            let entry = entry.map_err(unreadable(folder))?;
            let entry_path = entry.path();
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let Some(plain) = name.to_str().filter(|name| is_plain(name)) else {
                let name = Path::new(prefix).join(&name);
                // Quoted, so that it has no escape sequences for terminals.
                self.skipped.add(format!("{name:?}"));
                continue;
            };
            let path = format!("{prefix}{plain}");
            let target = real_path(&entry_path)?;
            if !target.starts_with(&self.root) {
                return Err(WidgetFilesError::Outside(entry_path));
            }
            match target.is_dir() {
                true => self.folder(&target, &format!("{path}/"))?,
                false => self.file(&target, path)?,
            }
        }
        Ok(())
    }

    fn file(&mut self, target: &Path, path: String) -> Result<(), WidgetFilesError> {
        let bytes = files::read(target, MAX_BYTES - self.bytes).map_err(|source| match source.kind() {
            io::ErrorKind::FileTooLarge => WidgetFilesError::TooLarge,
            _ => unreadable(target)(source),
        })?;
        self.bytes += bytes.len();
        if self.files.len() == MAX_FILES {
            return Err(WidgetFilesError::TooLarge);
        }
        let content_type = content_type(Path::new(&path).extension());
        let integrity = format!("sha384-{}", BASE64_STANDARD.encode(Sha384::digest(&bytes)));
        // Base64 is visible ASCII.
        let etag =
            HeaderValue::try_from(format!("W/\"{integrity}\"")).unwrap_or(HeaderValue::from_static("W/\"\""));
        self.files.insert(path, WidgetFile { content_type, bytes: bytes.into(), integrity, etag });
        Ok(())
    }
}

fn real_path(path: &Path) -> Result<PathBuf, WidgetFilesError> {
    fs::canonicalize(path).map_err(unreadable(path))
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> WidgetFilesError {
    move |source| WidgetFilesError::Read { path: path.to_owned(), source }
}

/// Checks whether a URL can hold a name without escapes.
fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-@+".contains(&byte))
}

fn content_type(extension: Option<&OsStr>) -> &'static str {
    match extension.and_then(OsStr::to_str).map(str::to_ascii_lowercase).as_deref() {
        Some("js" | "mjs" | "cjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("txt" | "md" | "ts") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::{ffi::OsStrExt as _, fs::symlink};

    use tempfile::TempDir;

    use super::*;

    fn folder(files: &[(&str, &str)]) -> TempDir {
        let folder = TempDir::new().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn refusal(folder: &TempDir) -> String {
        WidgetFiles::read(folder.path()).unwrap_err().to_string()
    }

    #[test]
    fn files_have_types_and_integrity() {
        let folder =
            folder(&[("main/altcha.js", "alert('Hello, world.');"), ("a.css", ""), (".hidden/x", "")]);
        let files = WidgetFiles::read(folder.path()).unwrap();
        assert_eq!(files.warning(), None);
        let paths: Vec<&str> = files.files().map(|(path, _)| path).collect();
        assert_eq!(paths, ["a.css", "main/altcha.js"]);
        let script = files.file("main/altcha.js").unwrap();
        assert_eq!(script.content_type, "text/javascript; charset=utf-8");
        // The example of W3C Subresource Integrity, section 3.1.
        let integrity = "sha384-H8BRh8j48O9oYatfu5AZzq6A9RINhZO5H16dQZngK7T62em8MUt1FLm52t+eX6xO";
        assert_eq!(script.integrity, integrity);
        for path in ["", "/a.css", "main", "main/", "../a.css", "main/../a.css", "./a.css", ".hidden/x"] {
            assert!(files.file(path).is_none(), "{path}");
        }
    }

    #[test]
    fn release_depends_on_names_and_contents() {
        let release = |files| WidgetFiles::read(folder(files).path()).unwrap().release().to_owned();
        let first = release(&[("a.js", "1")]);
        assert_eq!(first, release(&[("a.js", "1")]));
        assert_eq!(first.len(), 16);
        assert_ne!(first, release(&[("a.js", "2")]));
        assert_ne!(first, release(&[("b.js", "1")]));
    }

    #[test]
    fn links_must_stay_inside() {
        let outside = folder(&[("secret.txt", "x")]);
        for target in [outside.path().join("secret.txt"), outside.path().to_owned(), "/".into()] {
            let folder = folder(&[("a.js", "")]);
            symlink(&target, folder.path().join("link.js")).unwrap();
            assert!(
                refusal(&folder).contains("link.js leads out of captcha.widget_dir"),
                "{}",
                target.display()
            );
        }
        // As Kubernetes mounts a ConfigMap: links into a hidden folder; and a link to a folder above.
        let folder = folder(&[("..data/a.js", "1"), ("b/c.js", "2")]);
        symlink("..data/a.js", folder.path().join("a.js")).unwrap();
        symlink("..", folder.path().join("b/above")).unwrap();
        let files = WidgetFiles::read(folder.path()).unwrap();
        let paths: Vec<&str> = files.files().map(|(path, _)| path).collect();
        assert_eq!(paths, ["a.js", "b/c.js"]);
    }

    #[test]
    fn odd_names_are_skipped_with_a_warning() {
        let odd = [
            ("a.js", "1"),
            ("main/b.js", "2"),
            ("a b.js", "x"),
            ("main/\u{1b}[31m.js", "x"),
            ("an odd folder/c.js", "x"),
            ("50%.js", "x"),
        ];
        let folder = folder(&odd);
        fs::write(folder.path().join(OsStr::from_bytes(b"caf\xe9.js")), "x").unwrap();
        fs::create_dir(folder.path().join(".git")).unwrap();
        let files = WidgetFiles::read(folder.path()).unwrap();
        let paths: Vec<&str> = files.files().map(|(path, _)| path).collect();
        assert_eq!(paths, ["a.js", "main/b.js"]);
        let warning = files.warning().unwrap();
        for name in
            ["\"50%.js\"", "\"a b.js\"", "\"an odd folder\"", "\"caf\\xE9.js\"", "\"main/\\u{1b}[31m.js\""]
        {
            assert!(warning.contains(name), "{name} {warning}");
        }
        assert!(!warning.contains('\u{1b}') && !warning.contains(".git") && !warning.contains("more;"));
        fs::write(folder.path().join("z z.js"), "x").unwrap();
        let warning = WidgetFiles::read(folder.path()).unwrap().warning().unwrap();
        assert!(warning.contains(" and 1 more;") && !warning.contains("z z.js"), "{warning}");
    }

    #[test]
    fn unfit_folders_are_refused() {
        for files in [&[][..], &[("a b.js", "")], &[(".hidden", "")]] {
            assert!(refusal(&folder(files)).contains("has no file that can be served"), "{files:?}");
        }
        let dangling = folder(&[("a.js", "")]);
        symlink("missing.js", dangling.path().join("b.js")).unwrap();
        assert!(refusal(&dangling).contains("b.js"), "{}", refusal(&dangling));
        let missing = WidgetFiles::read(Path::new("/no/such/folder")).unwrap_err().to_string();
        assert!(missing.contains("/no/such/folder") && missing.contains("captcha.widget_dir"), "{missing}");
    }

    #[test]
    fn extensions_map_to_media_types() {
        for (name, kind) in [
            ("a.min.js", "text/javascript; charset=utf-8"),
            ("a.umd.cjs", "text/javascript; charset=utf-8"),
            ("A.CSS", "text/css; charset=utf-8"),
            ("a.js.map", "application/json"),
            ("a.d.ts", "text/plain; charset=utf-8"),
            ("a.html", "application/octet-stream"),
            ("LICENSE", "application/octet-stream"),
        ] {
            assert_eq!(content_type(Path::new(name).extension()), kind, "{name}");
        }
    }
}
