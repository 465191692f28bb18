//! The source of a folder of Markdown, HTML and plain text.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::Path;

use super::front_matter::{self, MEMBERS};
use super::{MAX_BYTES, MAX_DOCUMENTS, NOT_UTF8, Reading, absolute};
use crate::document::Document;
use crate::error::Error;
use crate::text::{Page, html, markdown};

/// Greatest depth of nested folders.
const MAX_DEPTH: usize = 32;

/// Reads all files with a known extension, and counts the others; hidden files and folders are ignored. A link is
/// followed when it leads to a file in the same folder, as those of mounted volumes do; links to folders are not.
pub(super) fn read(path: &Path) -> Result<Reading, Error> {
    let root = absolute(path)?;
    let mut reading = Reading { members: MEMBERS, ..Reading::new(root.display().to_string()) };
    walk(&root, &root, 0, &mut reading)?;
    Ok(reading)
}

fn walk(root: &Path, folder: &Path, depth: usize, reading: &mut Reading) -> Result<(), Error> {
    let failed = |fault| Error::Read(folder.to_path_buf(), fault);
    let mut entries = fs::read_dir(folder).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().first() == Some(&b'.') {
            continue;
        }
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            if depth >= MAX_DEPTH {
                return Err(Error::TooDeep(path));
            }
            walk(root, &path, depth + 1, reading)?;
        } else if let Some(format) = Format::of(&path) {
            if reading.documents.len() > MAX_DOCUMENTS {
                return Err(Error::TooMany { name: reading.name.clone(), limit: MAX_DOCUMENTS });
            }
            let name = path.strip_prefix(root).unwrap_or(&path);
            let Some(id) = name.to_str().map(|name| name.replace('\\', "/")) else {
                // The shown name is not an id: no document with such a name was ever imported.
                let name = name.display().to_string();
                reading.refuse(&name, Some(name.clone()), "its name is not UTF-8".to_owned());
                continue;
            };
            let others = &mut reading.members_passed_over;
            let document = load(root, &path).and_then(|text| document(&id, &text, format, others));
            reading.add(&id, Some(id.clone()), document);
        } else {
            let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
            let what = match extension {
                _ if kind.is_symlink() && path.is_dir() => "links to folders".to_owned(),
                Some(extension) => format!(".{extension}"),
                None => "no ending".to_owned(),
            };
            *reading.files_passed_over.entry(what).or_default() += 1;
        }
    }
    Ok(())
}

/// Returns whether a folder's file of this name is a page.
pub(super) fn is_page(path: &Path) -> bool {
    Format::of(path).is_some()
}

/// How a file is written.
#[derive(Debug, Clone, Copy)]
enum Format {
    Markdown,
    Html,
    Plain,
}

impl Format {
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "md" | "markdown" => Some(Self::Markdown),
            "html" | "htm" => Some(Self::Html),
            "txt" | "text" => Some(Self::Plain),
            _ => None,
        }
    }

    fn page(self, text: &str) -> Page {
        match self {
            Self::Markdown => markdown::render(text),
            Self::Html => html::render(text),
            Self::Plain => Page { text: text.to_owned(), ..Page::default() },
        }
    }
}

fn load(root: &Path, path: &Path) -> Result<String, String> {
    let real = path.canonicalize().map_err(|fault| fault.to_string())?;
    if !real.starts_with(root) {
        return Err("it is a link that leads out of the folder: copy the file instead".into());
    }
    let metadata = fs::metadata(&real).map_err(|fault| fault.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a file".into());
    }
    // One byte more than is allowed, whatever the file's length was a moment ago.
    let mut bytes = Vec::new();
    let file = fs::File::open(&real).map_err(|fault| fault.to_string())?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|fault| fault.to_string())?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("it has more than {MAX_BYTES} bytes: split it"));
    }
    String::from_utf8(bytes).map_err(|_| NOT_UTF8.to_owned())
}

/// Returns the document of `text`; members of its front matter that no document has are added to `others`.
fn document(id: &str, text: &str, format: Format, others: &mut BTreeSet<String>) -> Result<Document, String> {
    let (front, body) = front_matter::split(text)?;
    others.extend(front.others);
    let page = format.page(body);
    let stem = Path::new(id).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Ok(Document {
        id: id.to_owned(),
        title: front.title.or(page.title).or(stem).unwrap_or_default(),
        url: front.url,
        language: front.language.or(page.language),
        categories: front.categories,
        text: page.text,
    })
}
