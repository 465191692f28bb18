//! Tests of imports.

use serde_json::json;

use super::toy::*;
use crate::{Counts, Error, ImportOptions, ImportReport, KnowledgeBase, Mode, Query, Source, SourceCounts};

#[tokio::test]
async fn repeated_import_embeds_only_changes() {
    let (fixture, model) = (Fixture::new(), Toy::new("toy"));
    let report = fixture.import(&town(), &model, ImportOptions::default()).await.unwrap();
    let first = ImportReport { documents: 4, added: 4, passages: 4, embedded: 4, ..report.clone() };
    assert_eq!(report, first);
    assert_eq!(model.count(), 4);

    let again = fixture.import(&town(), &model, ImportOptions::default()).await.unwrap();
    assert_eq!((again.added, again.changed, again.removed, again.embedded, model.count()), (0, 0, 0, 0, 4));

    let mut documents = town();
    documents.remove(1);
    documents[0]["text"] = json!("Die Hundesteuer beträgt 150 Euro.");
    documents[1]["url"] = json!("https://stadt.example/pass");
    documents.push(document("neu", "Fundbüro", "Fundsachen werden ein halbes Jahr aufbewahrt."));
    let report = fixture.import(&documents, &model, ImportOptions::default()).await.unwrap();
    assert_eq!((report.added, report.changed, report.removed, report.embedded), (1, 2, 1, 2));

    let base = fixture.open().await;
    assert_eq!(base.count().await.unwrap(), Counts { sources: 1, documents: 4, passages: 4 });
    assert_eq!(ids(&base, &words("Parkausweis Bewohner")).await, [""; 0]);
    assert_eq!(ids(&base, &words("Fundsachen")).await, ["neu"]);
    let hits = base.search(&words("Reisepass")).await.unwrap();
    assert_eq!(hits[0].url.as_deref(), Some("https://stadt.example/pass"));
    assert!(base.search(&words("Hundesteuer")).await.unwrap()[0].text.contains("150"));
}

#[tokio::test]
async fn unchanged_passages_of_a_document_stay() {
    let (fixture, model) = (Fixture::new(), Toy::new("toy"));
    let mut sentences: Vec<_> =
        (0..200).map(|n| format!("Satz Nummer {n} über die Stadtbücherei.")).collect();
    let options =
        || ImportOptions { size: crate::ChunkSize { most: 400, overlap: 60 }, ..ImportOptions::default() };
    fixture.import(&[document("lang", "Bücherei", &sentences.join(" "))], &model, options()).await.unwrap();
    let before = model.count();
    assert!(before > 10);

    sentences.push("Ein Nachtrag.".into());
    let report = fixture
        .import(&[document("lang", "Bücherei", &sentences.join(" "))], &model, options())
        .await
        .unwrap();
    assert_eq!((report.changed, report.embedded), (1, 1));
    let base = fixture.open().await;
    assert_eq!(base.count().await.unwrap().passages, report.passages as u64);
    // All passages match, and their document is named once.
    assert_eq!(ids(&base, &both("Stadtbücherei")).await, ["lang"]);
}

#[tokio::test]
async fn interrupted_import_keeps_state_and_vectors() {
    let (fixture, mut model) = (Fixture::new(), Toy::new("toy"));
    fixture.import(&town(), &model, ImportOptions::default()).await.unwrap();
    let many: Vec<_> = (0..200).map(|n| document(&format!("d{n}"), &format!("Titel {n}"), "Text.")).collect();
    model.left = 4 + 150;
    let failed = fixture.import(&many, &model, ImportOptions::default()).await;
    assert!(matches!(&failed, Err(Error::Embedding(text)) if text == "the power went out"), "{failed:?}");
    let base = fixture.open().await;
    assert_eq!(base.count().await.unwrap().documents, 4);
    assert_eq!(ids(&base, &words("Reisepass")).await, ["pass"]);

    let model = Toy::new("toy");
    let report = fixture.import(&many, &model, ImportOptions::default()).await.unwrap();
    assert_eq!((report.resumed, report.embedded, model.count()), (128, 72, 72));
    assert_eq!(ids(&base, &words("Reisepass")).await, [""; 0]);
    assert_eq!(base.count().await.unwrap().documents, 200);
}

#[tokio::test]
async fn another_model_requires_reembedding() {
    let (fixture, old, new) = (Fixture::new(), Toy::new("old"), Toy::new("new"));
    fixture.import(&town(), &old, ImportOptions::default()).await.unwrap();
    let other = document("extra", "Standesamt", "Trauungen finden freitags statt.");
    let named = |reembed| ImportOptions { name: Some("second".into()), reembed, ..ImportOptions::default() };
    let refused = fixture.import(std::slice::from_ref(&other), &new, named(false)).await.unwrap_err();
    assert!(refused.to_string().contains("kb import --reembed"), "{refused}");
    assert_eq!(new.count(), 0);

    let report = fixture.import(&[other], &new, named(true)).await.unwrap();
    assert_eq!((report.added, report.embedded), (1, 5));
    let base = fixture.open().await;
    assert_eq!(base.provenance().unwrap().model, "new");
    assert_eq!(base.count().await.unwrap(), Counts { sources: 2, documents: 5, passages: 5 });
}

#[tokio::test]
async fn base_is_reembedded_without_its_sources() {
    let (fixture, old, new) = (Fixture::new(), Toy::new("old"), Toy::new("new"));
    let base = fixture.open().await;
    let empty = base.reembed(&new, &RecordedProgress::default()).await;
    assert!(matches!(empty, Err(Error::Empty(_))), "{empty:?}");
    fixture.import(&town(), &old, ImportOptions::default()).await.unwrap();
    let other = document("extra", "Standesamt", "Trauungen finden freitags statt.");
    let named = ImportOptions { name: Some("second".into()), ..ImportOptions::default() };
    fixture.import(&[other], &old, named).await.unwrap();
    let sources = base.sources().await.unwrap();

    let report = base.reembed(&new, &RecordedProgress::default()).await.unwrap();
    assert_eq!(report, ImportReport { documents: 5, passages: 5, embedded: 5, ..ImportReport::default() });
    assert_eq!((new.count(), base.provenance().unwrap().model), (5, "new".to_owned()));
    assert_eq!(base.sources().await.unwrap(), sources);
    let question = Query { provenance: base.provenance(), ..both("Was kostet ein Reisepass?") };
    assert_eq!(ids(&base, &question).await[0], "pass");
    let reader = KnowledgeBase::open(&fixture.base(), Mode::Read).await.unwrap();
    let refused = reader.reembed(&new, &RecordedProgress::default()).await;
    assert!(matches!(refused, Err(Error::ReadOnly)), "{refused:?}");
}

#[tokio::test]
async fn renamed_model_keeps_its_vectors() {
    let (fixture, old, renamed) = (Fixture::new(), Toy::new("original/toy"), Toy::new("package/toy"));
    fixture.import(&town(), &old, ImportOptions::default()).await.unwrap();
    let report = fixture.import(&town(), &renamed, ImportOptions::default()).await.unwrap();
    assert_eq!((report.added, report.embedded, renamed.count()), (0, 0, 0));
    let base = fixture.open().await;
    assert_eq!(base.provenance().unwrap().model, "package/toy");
    let question = Query { provenance: base.provenance(), ..both("Was kostet ein Reisepass?") };
    assert_eq!(ids(&base, &question).await[0], "pass");
}

#[tokio::test]
async fn bad_documents_stop_import_unless_skipped() {
    let (fixture, model) = (Fixture::new(), Toy::new("toy"));
    let mut documents = town();
    documents.push(json!({ "id": "bad", "title": "Ohne Text" }));
    let refused = fixture.import(&documents, &model, ImportOptions::default()).await.unwrap_err();
    assert!(refused.to_string().contains("line 5: it needs exactly one of"), "{refused}");
    assert!(refused.to_string().contains("leave them out with --skip-refused"), "{refused}");
    assert_eq!(fixture.open().await.count().await.unwrap(), Counts::default());

    let skip = ImportOptions { skip_refused: true, ..ImportOptions::default() };
    let report = fixture.import(&documents, &model, skip).await.unwrap();
    assert_eq!((report.documents, report.refused[0].name.as_str()), (4, "line 5"));

    let empty = fixture.import(&[], &model, ImportOptions::default()).await;
    assert!(matches!(empty, Err(Error::Empty(_))));
    assert_eq!(fixture.open().await.count().await.unwrap().documents, 4);
}

#[tokio::test]
async fn equal_ids_in_sources_stay_separate() {
    let (fixture, model) = (Fixture::new(), Toy::new("toy"));
    let named = |name: &str| ImportOptions { name: Some(name.into()), ..ImportOptions::default() };
    fixture.import(&town(), &model, named("town")).await.unwrap();
    // One is the same word for word, one only has the id.
    let village = [town()[0].clone(), document("pass", "Bergpass", "Der Pass ist im Winter gesperrt.")];
    let report = fixture.import(&village, &model, named("village")).await.unwrap();
    assert_eq!((report.added, report.embedded, report.removed), (2, 2, 0));
    let base = fixture.open().await;
    assert_eq!(base.count().await.unwrap(), Counts { sources: 2, documents: 6, passages: 6 });
    let found = base.search(&words("Hundesteuer")).await.unwrap();
    let mut sources: Vec<_> = found.iter().map(|passage| (&*passage.source, &*passage.document)).collect();
    sources.sort_unstable();
    assert_eq!(sources, [("town", "hund"), ("village", "hund")]);
    assert_ne!(found[0].id, found[1].id);

    let again = fixture.import(&town(), &model, named("town")).await.unwrap();
    assert_eq!((again.added, again.changed, again.removed, again.embedded), (0, 0, 0, 0));
    // What goes from one source stays in the other, and so does what changes.
    let changed = [document("pass", "Bergpass", "Der Pass ist im Winter wieder offen.")];
    let report = fixture.import(&changed, &model, named("village")).await.unwrap();
    assert_eq!((report.changed, report.removed), (1, 1));
    assert_eq!(ids(&base, &words("Hundesteuer")).await, ["hund"]);
    assert_eq!(ids(&base, &words("biometrisches")).await, ["pass"]);
    base.remove("town").await.unwrap();
    assert_eq!(ids(&base, &both("Hundesteuer Pass offen")).await, ["pass"]);
    assert_eq!(base.count().await.unwrap(), Counts { sources: 1, documents: 1, passages: 1 });
}

#[tokio::test]
async fn unreadable_document_stays_as_it_was() {
    let (fixture, model) = (Fixture::new(), Toy::new("toy"));
    fixture.import(&town(), &model, ImportOptions::default()).await.unwrap();
    let skip = || ImportOptions { skip_refused: true, ..ImportOptions::default() };
    let mut documents = town();
    documents.remove(1);
    documents[0] = json!({ "id": "hund", "title": "Hundesteuer", "text": 120 });
    documents.push(json!({ "id": "neu", "title": "", "text": "Text." }));
    let report = fixture.import(&documents, &model, skip()).await.unwrap();
    assert_eq!((report.documents, report.removed, report.kept), (2, 1, 1));
    let refused: Vec<_> = report.refused.iter().map(|one| (one.id.as_deref(), one.kept)).collect();
    assert_eq!(refused, [(Some("hund"), true), (Some("neu"), false)]);
    let base = fixture.open().await;
    assert_eq!(ids(&base, &words("Hunde")).await, ["hund"]);
    assert_eq!(ids(&base, &words("Parkausweis")).await, [""; 0]);

    // Another model embeds what is kept as well.
    let new = Toy::new("new");
    let report = fixture.import(&documents, &new, ImportOptions { reembed: true, ..skip() }).await.unwrap();
    assert_eq!((report.kept, report.embedded), (1, 3));
    assert_eq!(ids(&base, &words("Hunde")).await, ["hund"]);

    // It is readable again, and then gone.
    let report = fixture.import(&town(), &new, skip()).await.unwrap();
    assert_eq!((report.added, report.changed, report.kept, report.embedded), (1, 0, 0, 1));
    assert_eq!(fixture.import(&town()[1..], &new, skip()).await.unwrap().removed, 1);
}

#[tokio::test]
async fn unidentified_line_removes_no_document() {
    let (fixture, model) = (Fixture::new(), Toy::new("toy"));
    fixture.import(&town(), &model, ImportOptions::default()).await.unwrap();
    let path = fixture.lines(&town()[1..]);
    let lines = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{lines}\n{{\"id\": \"hu")).unwrap();
    let options = ImportOptions { skip_refused: true, ..ImportOptions::default() };
    let report =
        fixture.open().await.import(Source::Lines(path), &model, options, &RecordedProgress::default()).await;
    let report = report.unwrap();
    assert_eq!((report.documents, report.removed, report.kept), (3, 0, 1));
    assert_eq!((report.refused[0].id.as_deref(), report.refused[0].kept), (None, false));
    assert_eq!(ids(&fixture.open().await, &words("Hunde")).await, ["hund"]);
}

#[tokio::test]
async fn removal_takes_exactly_one_source() {
    let (fixture, model) = (Fixture::new(), Toy::new("toy"));
    let named = |name: &str| ImportOptions { name: Some(name.into()), ..ImportOptions::default() };
    fixture.import(&town(), &model, named("town")).await.unwrap();
    fixture.import(&[document("x", "Hundeschule", "Hunde lernen.")], &model, named("school")).await.unwrap();
    let base = fixture.open().await;
    let reader = KnowledgeBase::open(&fixture.base(), Mode::Read).await.unwrap();
    let unknown = base.remove("twon").await.unwrap_err();
    assert_eq!(unknown.to_string(), r#"the knowledge base has no source "twon"; it has "school", "town""#);
    assert!(matches!(reader.remove("town").await, Err(Error::ReadOnly)));
    assert_eq!(base.count().await.unwrap(), Counts { sources: 2, documents: 5, passages: 5 });

    let all = SourceCounts { name: "town".into(), documents: 4, passages: 4 };
    assert_eq!(base.remove("town").await.unwrap(), all);
    let school = SourceCounts { name: "school".into(), documents: 1, passages: 1 };
    assert_eq!(reader.sources().await.unwrap(), [school]);
    assert_eq!(ids(&reader, &both("Hunde Reisepass")).await, ["x"]);
    assert_eq!(ids(&reader, &words("Reisepass")).await, [""; 0]);

    // Nothing is left that another model could not be compared with.
    base.remove("school").await.unwrap();
    assert_eq!((reader.refresh().await.unwrap(), base.sources().await.unwrap().len()), (None, 0));
    fixture.import(&town(), &Toy::new("new"), named("town")).await.unwrap();
    assert_eq!(reader.refresh().await.unwrap().unwrap().model, "new");
}

#[tokio::test]
async fn progress_reports_each_step() {
    let (fixture, model, progress) = (Fixture::new(), Toy::new("toy"), RecordedProgress::default());
    let many: Vec<_> = (0..100).map(|n| document(&format!("d{n}"), &format!("Titel {n}"), "Text.")).collect();
    let source = Source::Lines(fixture.lines(&many));
    fixture.open().await.import(source, &model, ImportOptions::default(), &progress).await.unwrap();
    let states = progress.0.into_inner().unwrap();
    let embedded: Vec<_> = states.iter().map(|state| (state.missing, state.embedded)).collect();
    assert_eq!(embedded, [(100, 0), (100, 64), (100, 100)]);
    assert!(states[2].per_second > 0.0 && states[2].documents == 100);
}

#[tokio::test]
async fn opening_a_missing_base_fails() {
    let fixture = Fixture::new();
    let missing = KnowledgeBase::open(&fixture.base(), Mode::Read).await;
    assert!(matches!(missing, Err(Error::Missing(_))));
    assert!(matches!(KnowledgeBase::open("mysql://x/y", Mode::Read).await, Err(Error::Url)));
    let base = fixture.open().await;
    assert_eq!(base.provenance(), None);
    assert_eq!(ids(&base, &words("irgendwas")).await, [""; 0]);
    let reader = KnowledgeBase::open(&format!("sqlite:{}", fixture.base()), Mode::Read).await.unwrap();
    let source = Source::Lines(fixture.lines(&town()));
    let refused =
        reader.import(source, &Toy::new("toy"), ImportOptions::default(), &RecordedProgress::default()).await;
    assert!(matches!(refused, Err(Error::ReadOnly)));
}

#[tokio::test]
async fn unknown_member_is_reported_once() {
    let mut documents = town();
    for document in &mut documents {
        document["kategorien"] = json!(["pass"]);
    }
    let fixture = Fixture::new();
    assert_eq!(
        notices(&fixture, Source::Lines(fixture.lines(&documents))).await,
        ["the member \"kategorien\" is ignored: \
             a document has id, title, text or html, url, categories, language"]
    );

    let folder = tempfile::tempdir().unwrap();
    for name in ["a.md", "b.md"] {
        let text = "---\ntitle: Foo\nkategorie: x\nauthor: Me\n---\nText.";
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    assert_eq!(
        notices(&fixture, Source::Folder(folder.path().to_path_buf())).await,
        ["author", "kategorie"].map(|name| {
            format!("the member {name:?} is ignored: front matter has title, url, language, categories")
        })
    );
}

#[tokio::test]
async fn many_unknown_members_are_counted() {
    let (fixture, mut documents) = (Fixture::new(), town());
    for number in 10..22 {
        documents[0][format!("m{number}")] = json!(1);
    }
    let seen = notices(&fixture, Source::Lines(fixture.lines(&documents))).await;
    assert!(seen.len() == 11 && seen[9].contains("\"m19\""), "{seen:?}");
    assert_eq!(seen[10], "and 2 more members are ignored");
}

/// Returns the notices of an import of `source`.
async fn notices(fixture: &Fixture, source: Source) -> Vec<String> {
    let progress = RecordedProgress::default();
    fixture.open().await.import(source, &Toy::new("toy"), ImportOptions::default(), &progress).await.unwrap();
    progress.1.into_inner().unwrap()
}
