//! Tests of folders and JSON lines.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn ids(reading: &Reading) -> Vec<&str> {
    reading.documents.iter().map(|document| document.id.as_str()).collect()
}

#[tokio::test]
async fn folder_yields_documents_with_titles() {
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
async fn outside_links_and_binaries_are_refused() {
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
async fn invalid_address_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let addresses = [
        "javascript:alert(1)",
        "not a url",
        "/relative/page",
        "//host/page",
        "https://",
        "http:host",
        "ftp://host/page",
        "data://text/html,x",
    ];
    for (number, address) in addresses.iter().enumerate() {
        fs::write(
            folder.path().join(format!("{number}.md")),
            format!("---\nurl: {address:?}\n---\n# T\n\nx"),
        )
        .unwrap();
    }
    fs::write(folder.path().join("good.md"), "---\nurl: HTTP://Stadt.Example/größe?a=b#c\n---\n# T\n\nx")
        .unwrap();
    fs::write(folder.path().join("none.md"), "---\nurl: \"\"\n---\n# T\n\nx").unwrap();
    let reading = Source::Folder(folder.path().to_path_buf()).read().await.unwrap();
    assert_eq!(ids(&reading), ["good.md", "none.md"]);
    assert_eq!(reading.documents[0].url.as_deref(), Some("HTTP://Stadt.Example/größe?a=b#c"));
    assert_eq!(reading.refused.len(), addresses.len());
    assert_eq!((reading.refused[0].name.as_str(), reading.refused[0].id.as_deref()), ("0.md", Some("0.md")));
    assert!(reading.refused[0].reason.contains("\"javascript:alert(1)\" is not the address of a page"));

    let lines = folder.path().join("kb.jsonl");
    fs::write(&lines, r#"{"id":"a","title":"A","text":"x","url":"javascript:alert(1)"}"#).unwrap();
    let reading = Source::Lines(lines).read().await.unwrap();
    assert_eq!((reading.refused[0].name.as_str(), reading.refused[0].id.as_deref()), ("line 1", Some("a")));
}

#[tokio::test]
async fn refused_documents_have_known_ids() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kb.jsonl");
    let lines: [&[u8]; 5] = [
        br#"{"id":"a","title":"A","text":5}"#,
        br#"{"url":"https://a.example","title":"","text":"x"}"#,
        b"{\"id\":\"latin\",\"title\":\"Gr\xf6\xdfe\",\"text\":\"x\"}",
        br#"{"title":"C","text":null}"#,
        br#"{"id":"cut"#,
    ];
    fs::write(&path, lines.join(&b'\n')).unwrap();
    let reading = Source::Lines(path).read().await.unwrap();
    let refused: Vec<_> = reading.refused.iter().map(|refused| refused.id.as_deref()).collect();
    assert_eq!(refused, [Some("a"), Some("https://a.example"), Some("latin"), None, None]);
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

#[tokio::test]
async fn byte_order_mark_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kb.jsonl");
    let lines = "\u{feff}{\"id\":\"a\",\"title\":\"A\",\"text\":\"x\",\"kategorien\":[\"p\"]}\n\
                 {\"id\":\"b\",\"titel\":\"B\",\"title\":\"B\",\"text\":\"x\",\"kategorien\":{\"q\":1}}";
    fs::write(&path, lines).unwrap();
    let reading = Source::Lines(path).read().await.unwrap();
    assert_eq!((ids(&reading), reading.refused.as_slice()), (vec!["a", "b"], &[][..]));
    assert!(reading.members_passed_over.iter().eq(["kategorien", "titel"]));
}

#[tokio::test]
async fn invalid_utf8_is_refused_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.html"), b"<meta charset=iso-8859-1><p>Gr\xf6\xdfe").unwrap();
    fs::write(folder.path().join("b.txt"), "Größe").unwrap();
    let reading = Source::Folder(folder.path().to_path_buf()).read().await.unwrap();
    assert_eq!(ids(&reading), ["b.txt"]);
    assert!(reading.refused[0].reason.contains("save it as UTF-8"), "{:?}", reading.refused);
}

#[tokio::test]
async fn front_matter_needs_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "a.md",
        "\u{feff}+++\r\ntitle = \"Mit = und: #\" # c\r\ncategories = [\r\n  \"a\", 'b',\r\n]\r\nurl = 'https://a.example'\r\n\
         date = 2026-05-01\r\n[params]\r\ntitle = \"no\"\r\n+++\r\nText.",
    );
    write("b.md", "\n \n---\ntitle: Leerzeile davor\n---\nText.");
    write("c.md", "---\ntitle: Ohne Ende\n\nText.");
    write("d.md", "+++\ntitle = \"Ohne Ende\"\n\nText.");
    write("e.md", "---\nZwischen Linien\n\n---\n\nText.");
    write("f.md", "---\n\nHinweis: Text.");
    write("g.md", "---\n# nichts\n---\nText.");
    let reading = Source::Folder(folder.path().to_path_buf()).read().await.unwrap();
    let read: Vec<_> = reading
        .documents
        .iter()
        .map(|one| (one.id.as_str(), one.title.as_str(), one.text.as_str()))
        .collect();
    assert_eq!(
        read,
        [
            ("a.md", "Mit = und: #", "Text."),
            ("b.md", "Leerzeile davor", "Text."),
            ("e.md", "e", "Zwischen Linien\n\nText."),
            ("f.md", "f", "Hinweis: Text."),
            ("g.md", "g", "Text."),
        ]
    );
    assert_eq!(reading.documents[0].categories, ["a", "b"]);
    assert_eq!(reading.documents[0].url.as_deref(), Some("https://a.example"));
    let refused: Vec<_> =
        reading.refused.iter().map(|one| (one.name.as_str(), one.reason.as_str())).collect();
    assert_eq!(
        refused,
        [
            ("c.md", "its front matter has no end: a line `---`"),
            ("d.md", "its front matter has no end: a line `+++`")
        ]
    );
}

#[tokio::test]
async fn unknown_front_matter_members_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "a.md",
        "---\nTitle: A\nURL: https://a.example\nLang: de\nCategory: [p]\nkategorie: x\nauthor: &me Me\nby: *me\n\
         params:\n  deep: no\ntags:\n- one\n---\nText.",
    );
    write("b.md", "---\nid: b\nauthor: Me\n# remark: none\n---\nText.");
    write(
        "c.md",
        "+++\nTITLE = \"C\"\ndraft = false\nlist = [\n  'a',\n]\n[menu.main]\ntitle = \"no\"\nrows = [\n[1, 2],\n]\n\
         [[ \"cascade\" ]] # c\n+++\nText.",
    );
    let reading = Source::Folder(folder.path().to_path_buf()).read().await.unwrap();
    assert_eq!(reading.refused, []);
    let a = &reading.documents[0];
    assert_eq!((a.title.as_str(), a.url.as_deref()), ("A", Some("https://a.example")));
    assert_eq!((a.language.as_deref(), a.categories.as_slice()), (Some("de"), &["p".to_owned()][..]));
    assert_eq!(reading.documents[2].title, "C");
    let names: Vec<_> = reading.members_passed_over.iter().map(String::as_str).collect();
    assert_eq!(
        names,
        ["author", "by", "cascade", "draft", "id", "kategorie", "list", "menu", "params", "tags"]
    );
}

#[tokio::test]
async fn empty_member_counts_as_missing() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("a.md", "---\ntitle:\nurl:\nlanguage:\ncategories:\n---\n# Von der Überschrift\n\nx");
    write("b.html", "---\ntitle: \"\"\nlang: ' '\n---\n<html lang=fr><title>Aus dem Titel</title><p>x");
    write("c.txt", "+++\ntitle = \" \"\nurl = ''\n+++\nx");
    write("d.md", "---\ntitle: ~\nurl: null\ncategories: [~, p]\n---\n# Überschrift\n\nx");
    write("e.md", "---\ntitle: \"null\"\ncategory: \"~\"\n---\nx");
    let reading = Source::Folder(folder.path().to_path_buf()).read().await.unwrap();
    assert_eq!(reading.refused, []);
    let titles: Vec<_> = reading.documents.iter().map(|document| document.title.as_str()).collect();
    assert_eq!(titles, ["Von der Überschrift", "Aus dem Titel", "c", "Überschrift", "null"]);
    assert!(reading.documents.iter().all(|document| document.url.is_none()));
    assert_eq!(reading.documents[1].language.as_deref(), Some("fr"));
    let categories: Vec<_> = reading.documents.iter().map(|document| document.categories.join(",")).collect();
    assert_eq!(categories, ["", "", "", "p", "~"]);

    let lines = folder.path().join("kb.jsonl");
    fs::write(&lines, r#"{"id":"a","title":" ","html":"<h1>Von der Seite</h1><p>x"}"#).unwrap();
    let reading = Source::Lines(lines).read().await.unwrap();
    assert_eq!(reading.documents[0].title, "Von der Seite");
}

#[tokio::test]
async fn ignored_files_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in ["a.md", "b.pdf", "c.PDF", "d.docx", "LICENSE", ".hidden", ".hidden.pdf"] {
        fs::write(root.join(name), "# T\n\nx").unwrap();
    }
    symlink(root, root.join("linked")).unwrap();
    let reading = Source::Folder(root.to_path_buf()).read().await.unwrap();
    let counted: Vec<_> =
        reading.files_passed_over.iter().map(|(what, count)| (what.as_str(), *count)).collect();
    assert_eq!(counted, [(".docx", 1), (".pdf", 2), ("links to folders", 1), ("no ending", 1)]);
}
