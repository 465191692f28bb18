use serde_json::json;

use super::toy::*;
use crate::{Counts, Error, ImportOptions, KnowledgeBase, Mode, Report, Source, SourceCounts};

#[tokio::test]
async fn an_import_again_embeds_only_what_is_new_and_removes_what_is_gone() {
    let (place, model) = (Place::new(), Toy::new("toy"));
    let report = place.import(&town(), &model, ImportOptions::default()).await.unwrap();
    let first = Report { documents: 4, added: 4, passages: 4, embedded: 4, ..report.clone() };
    assert_eq!(report, first);
    assert_eq!(model.count(), 4);

    let again = place.import(&town(), &model, ImportOptions::default()).await.unwrap();
    assert_eq!((again.added, again.changed, again.removed, again.embedded, model.count()), (0, 0, 0, 0, 4));

    let mut documents = town();
    documents.remove(1);
    documents[0]["text"] = json!("Die Hundesteuer beträgt 150 Euro.");
    documents[1]["url"] = json!("https://stadt.example/pass");
    documents.push(document("neu", "Fundbüro", "Fundsachen werden ein halbes Jahr aufbewahrt."));
    let report = place.import(&documents, &model, ImportOptions::default()).await.unwrap();
    assert_eq!((report.added, report.changed, report.removed, report.embedded), (1, 2, 1, 2));

    let base = place.open().await;
    assert_eq!(base.count().await.unwrap(), Counts { sources: 1, documents: 4, passages: 4 });
    assert_eq!(ids(&base, &words("Parkausweis Bewohner")).await, [""; 0]);
    assert_eq!(ids(&base, &words("Fundsachen")).await, ["neu"]);
    let hits = base.search(&words("Reisepass")).await.unwrap();
    assert_eq!(hits[0].url.as_deref(), Some("https://stadt.example/pass"));
    assert!(base.search(&words("Hundesteuer")).await.unwrap()[0].text.contains("150"));
}

#[tokio::test]
async fn a_long_document_keeps_the_passages_that_did_not_change() {
    let (place, model) = (Place::new(), Toy::new("toy"));
    let mut sentences: Vec<_> =
        (0..200).map(|n| format!("Satz Nummer {n} über die Stadtbücherei.")).collect();
    let options =
        || ImportOptions { size: crate::ChunkSize { most: 400, overlap: 60 }, ..ImportOptions::default() };
    place.import(&[document("lang", "Bücherei", &sentences.join(" "))], &model, options()).await.unwrap();
    let before = model.count();
    assert!(before > 10);

    sentences.push("Ein Nachtrag.".into());
    let report =
        place.import(&[document("lang", "Bücherei", &sentences.join(" "))], &model, options()).await.unwrap();
    assert_eq!((report.changed, report.embedded), (1, 1));
    let base = place.open().await;
    assert_eq!(base.count().await.unwrap().passages, report.passages as u64);
    // All passages match, and their document is named once.
    assert_eq!(ids(&base, &both("Stadtbücherei")).await, ["lang"]);
}

#[tokio::test]
async fn an_interrupted_import_leaves_the_old_state_and_its_vectors() {
    let (place, mut model) = (Place::new(), Toy::new("toy"));
    place.import(&town(), &model, ImportOptions::default()).await.unwrap();
    let many: Vec<_> = (0..200).map(|n| document(&format!("d{n}"), &format!("Titel {n}"), "Text.")).collect();
    model.left = 4 + 150;
    let failed = place.import(&many, &model, ImportOptions::default()).await;
    assert!(matches!(&failed, Err(Error::Embedding(text)) if text == "the power went out"), "{failed:?}");
    let base = place.open().await;
    assert_eq!(base.count().await.unwrap().documents, 4);
    assert_eq!(ids(&base, &words("Reisepass")).await, ["pass"]);

    let model = Toy::new("toy");
    let report = place.import(&many, &model, ImportOptions::default()).await.unwrap();
    assert_eq!((report.resumed, report.embedded, model.count()), (128, 72, 72));
    assert_eq!(ids(&base, &words("Reisepass")).await, [""; 0]);
    assert_eq!(base.count().await.unwrap().documents, 200);
}

#[tokio::test]
async fn a_base_of_another_model_is_not_mixed_but_embedded_anew_on_demand() {
    let (place, old, new) = (Place::new(), Toy::new("old"), Toy::new("new"));
    place.import(&town(), &old, ImportOptions::default()).await.unwrap();
    let other = document("extra", "Standesamt", "Trauungen finden freitags statt.");
    let named = |reembed| ImportOptions { name: Some("second".into()), reembed, ..ImportOptions::default() };
    let refused = place.import(std::slice::from_ref(&other), &new, named(false)).await.unwrap_err();
    assert!(refused.to_string().contains("kb import --reembed"), "{refused}");
    assert_eq!(new.count(), 0);

    let report = place.import(&[other], &new, named(true)).await.unwrap();
    assert_eq!((report.added, report.embedded), (1, 5));
    let base = place.open().await;
    assert_eq!(base.provenance().unwrap().model, "new");
    assert_eq!(base.count().await.unwrap(), Counts { sources: 2, documents: 5, passages: 5 });
}

#[tokio::test]
async fn bad_documents_stop_the_import_unless_they_may_be_left_out() {
    let (place, model) = (Place::new(), Toy::new("toy"));
    let mut documents = town();
    documents.push(json!({ "id": "bad", "title": "Ohne Text" }));
    let refused = place.import(&documents, &model, ImportOptions::default()).await.unwrap_err();
    assert!(refused.to_string().contains("line 5: it has not exactly one of"), "{refused}");
    assert!(refused.to_string().contains("leave them out with --skip-refused"), "{refused}");
    assert_eq!(place.open().await.count().await.unwrap(), Counts::default());

    let skip = ImportOptions { skip_refused: true, ..ImportOptions::default() };
    let report = place.import(&documents, &model, skip).await.unwrap();
    assert_eq!((report.documents, report.refused[0].name.as_str()), (4, "line 5"));

    let empty = place.import(&[], &model, ImportOptions::default()).await;
    assert!(matches!(empty, Err(Error::Empty(_))));
    assert_eq!(place.open().await.count().await.unwrap().documents, 4);
}

#[tokio::test]
async fn sources_have_documents_of_the_same_ids_and_do_not_touch_each_others() {
    let (place, model) = (Place::new(), Toy::new("toy"));
    let named = |name: &str| ImportOptions { name: Some(name.into()), ..ImportOptions::default() };
    place.import(&town(), &model, named("town")).await.unwrap();
    // One is the same word for word, one only has the id.
    let village = [town()[0].clone(), document("pass", "Bergpass", "Der Pass ist im Winter gesperrt.")];
    let report = place.import(&village, &model, named("village")).await.unwrap();
    assert_eq!((report.added, report.embedded, report.removed), (2, 2, 0));
    let base = place.open().await;
    assert_eq!(base.count().await.unwrap(), Counts { sources: 2, documents: 6, passages: 6 });
    let found = base.search(&words("Hundesteuer")).await.unwrap();
    let mut sources: Vec<_> = found.iter().map(|passage| (&*passage.source, &*passage.document)).collect();
    sources.sort_unstable();
    assert_eq!(sources, [("town", "hund"), ("village", "hund")]);
    assert_ne!(found[0].id, found[1].id);

    let again = place.import(&town(), &model, named("town")).await.unwrap();
    assert_eq!((again.added, again.changed, again.removed, again.embedded), (0, 0, 0, 0));
    // What goes from one source stays in the other, and so does what changes.
    let changed = [document("pass", "Bergpass", "Der Pass ist im Winter wieder offen.")];
    let report = place.import(&changed, &model, named("village")).await.unwrap();
    assert_eq!((report.changed, report.removed), (1, 1));
    assert_eq!(ids(&base, &words("Hundesteuer")).await, ["hund"]);
    assert_eq!(ids(&base, &words("biometrisches")).await, ["pass"]);
    base.remove("town").await.unwrap();
    assert_eq!(ids(&base, &both("Hundesteuer Pass offen")).await, ["pass"]);
    assert_eq!(base.count().await.unwrap(), Counts { sources: 1, documents: 1, passages: 1 });
}

#[tokio::test]
async fn a_document_that_cannot_be_read_today_stays_as_it_was() {
    let (place, model) = (Place::new(), Toy::new("toy"));
    place.import(&town(), &model, ImportOptions::default()).await.unwrap();
    let skip = || ImportOptions { skip_refused: true, ..ImportOptions::default() };
    let mut documents = town();
    documents.remove(1);
    documents[0] = json!({ "id": "hund", "title": "Hundesteuer", "text": 120 });
    documents.push(json!({ "id": "neu", "title": "", "text": "Text." }));
    let report = place.import(&documents, &model, skip()).await.unwrap();
    assert_eq!((report.documents, report.removed, report.kept), (2, 1, 1));
    let refused: Vec<_> = report.refused.iter().map(|one| (one.id.as_deref(), one.kept)).collect();
    assert_eq!(refused, [(Some("hund"), true), (Some("neu"), false)]);
    let base = place.open().await;
    assert_eq!(ids(&base, &words("Hunde")).await, ["hund"]);
    assert_eq!(ids(&base, &words("Parkausweis")).await, [""; 0]);

    // Another model embeds what is kept as well.
    let new = Toy::new("new");
    let report = place.import(&documents, &new, ImportOptions { reembed: true, ..skip() }).await.unwrap();
    assert_eq!((report.kept, report.embedded), (1, 3));
    assert_eq!(ids(&base, &words("Hunde")).await, ["hund"]);

    // It is readable again, and then gone.
    let report = place.import(&town(), &new, skip()).await.unwrap();
    assert_eq!((report.added, report.changed, report.kept, report.embedded), (1, 0, 0, 1));
    assert_eq!(place.import(&town()[1..], &new, skip()).await.unwrap().removed, 1);
}

#[tokio::test]
async fn nothing_is_gone_while_a_line_may_be_any_document() {
    let (place, model) = (Place::new(), Toy::new("toy"));
    place.import(&town(), &model, ImportOptions::default()).await.unwrap();
    let path = place.lines(&town()[1..]);
    let lines = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{lines}\n{{\"id\": \"hu")).unwrap();
    let options = ImportOptions { skip_refused: true, ..ImportOptions::default() };
    let report = place.open().await.import(Source::Lines(path), &model, options, &Course::default()).await;
    let report = report.unwrap();
    assert_eq!((report.documents, report.removed, report.kept), (3, 0, 1));
    assert_eq!((report.refused[0].id.as_deref(), report.refused[0].kept), (None, false));
    assert_eq!(ids(&place.open().await, &words("Hunde")).await, ["hund"]);
}

#[tokio::test]
async fn a_source_is_removed_whole_and_no_other() {
    let (place, model) = (Place::new(), Toy::new("toy"));
    let named = |name: &str| ImportOptions { name: Some(name.into()), ..ImportOptions::default() };
    place.import(&town(), &model, named("town")).await.unwrap();
    place.import(&[document("x", "Hundeschule", "Hunde lernen.")], &model, named("school")).await.unwrap();
    let base = place.open().await;
    let reader = KnowledgeBase::open(&place.base(), Mode::Read).await.unwrap();
    let unknown = base.remove("twon").await.unwrap_err();
    assert_eq!(unknown.to_string(), r#"the knowledge base has no source "twon", but "school", "town""#);
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
    place.import(&town(), &Toy::new("new"), named("town")).await.unwrap();
    assert_eq!(reader.refresh().await.unwrap().unwrap().model, "new");
}

#[tokio::test]
async fn progress_tells_how_far_it_has_come() {
    let (place, model, course) = (Place::new(), Toy::new("toy"), Course::default());
    let many: Vec<_> = (0..100).map(|n| document(&format!("d{n}"), &format!("Titel {n}"), "Text.")).collect();
    let source = Source::Lines(place.lines(&many));
    place.open().await.import(source, &model, ImportOptions::default(), &course).await.unwrap();
    let states = course.0.into_inner().unwrap();
    let embedded: Vec<_> = states.iter().map(|state| (state.missing, state.embedded)).collect();
    assert_eq!(embedded, [(100, 0), (100, 64), (100, 100)]);
    assert!(states[2].per_second > 0.0 && states[2].documents == 100);
}

#[tokio::test]
async fn a_base_is_opened_only_where_there_is_one() {
    let place = Place::new();
    let missing = KnowledgeBase::open(&place.base(), Mode::Read).await;
    assert!(matches!(missing, Err(Error::Missing(_))));
    assert!(matches!(KnowledgeBase::open("mysql://x/y", Mode::Read).await, Err(Error::Url)));
    let base = place.open().await;
    assert_eq!(base.provenance(), None);
    assert_eq!(ids(&base, &words("irgendwas")).await, [""; 0]);
    let reader = KnowledgeBase::open(&format!("sqlite:{}", place.base()), Mode::Read).await.unwrap();
    let source = Source::Lines(place.lines(&town()));
    let refused = reader.import(source, &Toy::new("toy"), ImportOptions::default(), &Course::default()).await;
    assert!(matches!(refused, Err(Error::ReadOnly)));
}

#[tokio::test]
async fn a_member_that_no_document_has_is_told_once() {
    let mut documents = town();
    for document in &mut documents {
        document["kategorien"] = json!(["pass"]);
    }
    let place = Place::new();
    assert_eq!(
        notices(&place, Source::Lines(place.lines(&documents))).await,
        ["the member \"kategorien\" is passed over: \
             a document has id, title, text or html, url, categories, language"]
    );

    let folder = tempfile::tempdir().unwrap();
    for name in ["a.md", "b.md"] {
        let text = "---\ntitle: Foo\nkategorie: x\nauthor: Me\n---\nText.";
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    assert_eq!(
        notices(&place, Source::Folder(folder.path().to_path_buf())).await,
        ["author", "kategorie"].map(|name| {
            format!("the member {name:?} is passed over: front matter has title, url, language, categories")
        })
    );
}

#[tokio::test]
async fn of_many_members_that_no_document_has_some_are_named_and_the_others_counted() {
    let (place, mut documents) = (Place::new(), town());
    for number in 10..22 {
        documents[0][format!("m{number}")] = json!(1);
    }
    let told = notices(&place, Source::Lines(place.lines(&documents))).await;
    assert!(told.len() == 11 && told[9].contains("\"m19\""), "{told:?}");
    assert_eq!(told[10], "and 2 members more are passed over");
}

/// What an import of `source` tells.
async fn notices(place: &Place, source: Source) -> Vec<String> {
    let course = Course::default();
    place.open().await.import(source, &Toy::new("toy"), ImportOptions::default(), &course).await.unwrap();
    course.1.into_inner().unwrap()
}
