//! Tests of the files that the services have for authors of components.

use std::{collections::BTreeSet, fs, path::Path};

use crate::{services::list::BULKHEAD, slots::EmbeddedFile};

/// Returns the paths of the files below `folder`, relative to it, without following links.
fn files(folder: &str) -> BTreeSet<String> {
    fn walk(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = format!("{prefix}{}", entry.file_name().into_string().unwrap());
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                walk(&entry.path(), &format!("{path}/"), found);
            } else if kind.is_file() {
                found.insert(path);
            }
        }
    }
    let mut found = BTreeSet::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder), "", &mut found);
    found
}

fn paths(files: impl Iterator<Item = &'static [EmbeddedFile]>) -> BTreeSet<String> {
    files.flatten().map(|file| file.path.to_owned()).collect()
}

#[test]
fn services_name_every_package_and_template() {
    let of_services = || BULKHEAD.services.iter().map(|service| service.author_files());
    let mut wit = files("wit");
    wit.retain(|path| path.ends_with(".wit") && !path.starts_with("deps/") && !path.starts_with("host/"));
    assert_eq!(paths(of_services().map(|files| files.wit)), wit);
    let mut templates = files("components/templates");
    templates.retain(|path| !["every-world", "http"].contains(&path.split('/').nth(1).unwrap()));
    assert_eq!(paths(of_services().map(|files| files.templates)), templates);
}
