#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn ids(reading: &Reading) -> Vec<&str> {
    reading.documents.iter().map(|document| document.id.as_str()).collect()
}

#[tokio::test]
async fn a_folder_gives_its_known_files_with_titles_from_where_they_stand() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir(root.join("parken")).unwrap();
    fs::write(
        root.join("parken/ausweis.md"),
        "---\ntitle: \"Ausweis: Parken\"\nurl: https://stadt.example/parken\ncategories: [parken, verkehr]\nlanguage: de\nx: {title: no}\n---\n# Anders\n\nText.",
    )
    .unwrap();
    fs::write(root.join("heading.markdown"), "intro\n\n## Von der Überschrift\n\nText.").unwrap();
    fs::write(root.join("page.HTML"), "<title>Aus dem Titel</title><p>Text.").unwrap();
    fs::write(root.join("name.txt"), "nur Text").unwrap();
    fs::write(root.join("photo.png"), [0xff, 0xd8]).unwrap();
    fs::write(root.join(".hidden.md"), "# no").unwrap();

    let reading = Source::Folder(root.to_path_buf()).read().await.unwrap();
    assert_eq!(reading.refused, []);
    assert_eq!(ids(&reading), ["heading.markdown", "name.txt", "page.HTML", "parken/ausweis.md"]);
    let titles: Vec<_> = reading.documents.iter().map(|document| document.title.as_str()).collect();
    assert_eq!(titles, ["Von der Überschrift", "name", "Aus dem Titel", "Ausweis: Parken"]);
    let front = &reading.documents[3];
    assert_eq!(front.url.as_deref(), Some("https://stadt.example/parken"));
    assert_eq!(front.categories, ["parken", "verkehr"]);
    assert_eq!(front.language.as_deref(), Some("de"));
    assert_eq!(front.text, "Anders\n\nText.");
}

#[tokio::test]
async fn links_out_of_the_folder_and_files_that_are_no_text_are_refused_by_name() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("passwd.txt"), "secret").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    symlink(outside.path().join("passwd.txt"), root.join("a.txt")).unwrap();
    symlink(outside.path(), root.join("outside")).unwrap();
    symlink(root, root.join("loop")).unwrap();
    fs::create_dir(root.join("..data")).unwrap();
    fs::write(root.join("..data/mounted.md"), "# Mounted\n\ntext").unwrap();
    symlink("..data/mounted.md", root.join("mounted.md")).unwrap();
    fs::write(root.join("binary.txt"), [0xff, 0xfe]).unwrap();
    fs::write(root.join("empty.md"), "").unwrap();
    fs::write(root.join("yaml.md"), "---\ntitle: [\n---\ntext").unwrap();
    fs::write(root.join("large.txt"), vec![b'a'; 5 << 20]).unwrap();

    let reading = Source::Folder(root.to_path_buf()).read().await.unwrap();
    assert_eq!(ids(&reading), ["mounted.md"]);
    let mut refused: Vec<_> = reading.refused.iter().map(|refused| refused.name.as_str()).collect();
    refused.sort_unstable();
    assert_eq!(refused, ["a.txt", "binary.txt", "empty.md", "large.txt", "yaml.md"]);
    assert!(!reading.refused.iter().any(|refused| refused.reason.contains("secret")));
}

#[tokio::test]
async fn lines_are_documents_or_refused_by_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kb.jsonl");
    let lines = [
        r#"{"id":"b","title":"B","text":"x\u0000y","language":"de-DE","categories":["p"," p",""]}"#,
        "",
        r#"{"title":"A","html":"<p>one<p>two","url":"https://a.example"}"#,
        r#"{"id":"b","title":"again","text":"x"}"#,
        r#"{"id":"c","title":"C"}"#,
        "no json",
        r#"{"id":"d","title":"","text":"x"}"#,
    ];
    fs::write(&path, lines.join("\n")).unwrap();
    let reading = Source::Lines(path).read().await.unwrap();
    assert_eq!(ids(&reading), ["b", "https://a.example"]);
    assert_eq!(reading.documents[0].text, "xy");
    assert_eq!(reading.documents[0].categories, ["p"]);
    assert_eq!(reading.documents[0].language.as_deref(), Some("de"));
    assert_eq!(reading.documents[1].text, "one\n\ntwo");
    let refused: Vec<_> = reading.refused.iter().map(|refused| refused.name.as_str()).collect();
    assert_eq!(refused, ["line 5", "line 6", "line 7", "b"]);
}
