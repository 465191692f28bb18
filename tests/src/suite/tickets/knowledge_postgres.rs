//! Knowledge bases in PostgreSQL: the same answers as in SQLite, all or nothing, seen by every host.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bulkhead_knowledge::{
    Counts, Embedder, Embedding, Error, IgnoreProgress, ImportOptions, ImportReport, KnowledgeBase, Mode,
    Provenance, Query, Source, TokenVectors,
};
use bulkhead_tests::servers::postgres::Postgres;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

const DIMS: usize = 32;

/// Counts letters; gives up after `left` texts.
struct Letters {
    model: &'static str,
    embedded: AtomicUsize,
    left: usize,
}

fn letters(model: &'static str, left: usize) -> Letters {
    Letters { model, embedded: AtomicUsize::new(0), left }
}

fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.1; DIMS];
    for byte in text.to_lowercase().bytes() {
        vector[usize::from(byte) % DIMS] += 1.0;
    }
    vector
}

/// One of the text, and one of each of its words.
fn embedding(text: &str) -> Embedding {
    let words: Vec<Vec<f32>> = text.split_whitespace().map(vector).collect();
    let length = |word: &Vec<f32>| word.iter().map(|number| number * number).sum::<f32>().sqrt();
    let tokens = TokenVectors {
        vectors: words.iter().flat_map(|word| word.iter().map(|number| number / length(word))).collect(),
        dims: DIMS,
        importance: words.iter().map(length).collect(),
    };
    Embedding { vector: vector(text), tokens: Some(tokens) }
}

impl Embedder for Letters {
    fn provenance(&self) -> Provenance {
        Provenance {
            model: self.model.into(),
            weights_sha256: format!("5e1f-{}", self.model),
            dtype: "float32".into(),
            prompt: None,
            dims: DIMS,
            late_interaction: Some("a11ce".into()),
        }
    }

    fn embed<'a>(&'a self, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<Embedding>, String>> {
        Box::pin(async move {
            let before = self.embedded.fetch_add(texts.len(), Ordering::Relaxed);
            let vectors = texts.iter().map(|text| embedding(text)).collect();
            if before + texts.len() > self.left { Err("the model is gone".into()) } else { Ok(vectors) }
        })
    }
}

async fn import(
    url: &str,
    documents: &[Value],
    model: &Letters,
    options: ImportOptions,
) -> Result<ImportReport, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kb.jsonl");
    fs::write(&path, documents.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")).unwrap();
    // The file's folder is another one each time.
    let options = ImportOptions { name: Some(options.name.unwrap_or("town".into())), ..options };
    let base = KnowledgeBase::open(url, Mode::Write).await?;
    base.import(Source::Lines(path), model, options, &IgnoreProgress).await
}

fn document(id: &str, title: &str, text: &str, categories: &[&str]) -> Value {
    json!({ "id": id, "title": title, "text": text, "language": "de", "categories": categories })
}

fn town() -> Vec<Value> {
    vec![
        document("hund", "Hundesteuer", "Die Hundesteuer beträgt 120 Euro im Jahr.", &["steuern"]),
        document(
            "park",
            "Bewohnerparkausweis",
            "Der Ausweis für Bewohner kostet 30 Euro.",
            &["verkehr", "steuern"],
        ),
        document(
            "pass",
            "Reisepass",
            "Ein Reisepass kostet 70 Euro. Bringen Sie ein Foto mit.",
            &["ausweise"],
        ),
        document(
            "evil",
            "'; DROP TABLE knowledge_base; --",
            "'a' & !b | c:*A \\ \" \u{0} ' <-> NEAR(x)",
            &[],
        ),
    ]
}

fn query(text: &str, categories: &[&str], with_vector: bool) -> Query {
    Query {
        text: text.into(),
        embedding: with_vector.then(|| embedding(text)),
        categories: categories.iter().map(|category| (*category).to_owned()).collect(),
        limit: 5,
        ..Query::default()
    }
}

async fn ids(base: &KnowledgeBase, query: &Query) -> Vec<String> {
    base.search(query).await.unwrap().into_iter().map(|passage| passage.document).collect()
}

#[tokio::test]
async fn other_hosts_see_incremental_imports() {
    let postgres = Postgres::start();
    let url = postgres.url();
    let missing = KnowledgeBase::open(&url, Mode::Read).await;
    assert!(matches!(missing, Err(Error::NotInitialized)));

    let model = letters("letters", usize::MAX);
    let report = import(&url, &town(), &model, ImportOptions::default()).await.unwrap();
    assert_eq!((report.added, report.embedded), (4, 4));
    let reader = KnowledgeBase::open(&url, Mode::Read).await.unwrap();
    assert_eq!(ids(&reader, &query("Reisepässe", &[], false)).await, ["pass"]);
    assert_eq!(ids(&reader, &query("Hundesteuern 120", &[], true)).await[0], "hund");

    let mut changed = town();
    changed.remove(2);
    changed[0]["text"] = json!("Die Hundesteuer beträgt 150 Euro.");
    changed.push(document("neu", "Fundbüro", "Fundsachen werden ein halbes Jahr aufbewahrt.", &[]));
    let report = import(&url, &changed, &model, ImportOptions::default()).await.unwrap();
    assert_eq!((report.added, report.changed, report.removed, report.embedded), (1, 1, 1, 2));
    assert_eq!(ids(&reader, &query("Reisepass", &[], false)).await, [""; 0]);
    assert_eq!(ids(&reader, &query("Fundsachen", &[], false)).await, ["neu"]);
    assert!(reader.search(&query("Hundesteuer", &[], true)).await.unwrap()[0].text.contains("150"));

    let again = import(&url, &changed, &model, ImportOptions::default()).await.unwrap();
    assert_eq!((again.added, again.changed, again.removed, again.embedded), (0, 0, 0, 0));
    assert_eq!(reader.count().await.unwrap(), Counts { sources: 1, documents: 4, passages: 4 });
}

#[tokio::test]
async fn categories_filter_without_query_syntax() {
    let postgres = Postgres::start();
    let model = letters("letters", usize::MAX);
    import(&postgres.url(), &town(), &model, ImportOptions::default()).await.unwrap();
    let base = KnowledgeBase::open(&postgres.url(), Mode::Read).await.unwrap();
    for with_vector in [false, true] {
        let mut found = ids(&base, &query("120 Euro Reisepass drop table", &["steuern"], with_vector)).await;
        found.sort_unstable();
        assert_eq!(found, ["evil", "hund", "park"]);
        assert_eq!(ids(&base, &query("Euro drop", &["' OR true --"], with_vector)).await, ["evil"]);
        for text in
            ["'", "a & !b", "x <-> y", "hund:*", "\\", "\0", "'; DROP TABLE knowledge_passage; --", ""]
        {
            ids(&base, &query(text, &[], with_vector)).await;
        }
    }
    assert_eq!(base.count().await.unwrap().documents, 4);
}

#[tokio::test]
async fn interrupted_import_is_resumed() {
    let mut postgres = Postgres::start();
    let url = postgres.url();
    import(&url, &town(), &letters("letters", usize::MAX), ImportOptions::default()).await.unwrap();
    let many: Vec<_> =
        (0..200).map(|n| document(&format!("d{n}"), &format!("Titel {n}"), "Text.", &[])).collect();
    // Enough for the passages and items of one batch of 128 documents.
    let failed = import(&url, &many, &letters("letters", 390), ImportOptions::default()).await;
    assert!(matches!(failed, Err(Error::Embedding(_))), "{failed:?}");
    postgres.crash();
    postgres.restart();

    let base = KnowledgeBase::open(&url, Mode::Read).await.unwrap();
    assert_eq!(base.count().await.unwrap().documents, 4);
    let report =
        import(&url, &many, &letters("letters", usize::MAX), ImportOptions::default()).await.unwrap();
    assert_eq!((report.resumed, report.embedded, report.removed), (128, 72, 4));
    assert_eq!(base.count().await.unwrap().documents, 200);
}

#[tokio::test]
async fn another_model_is_refused_or_embeds_all() {
    let postgres = Postgres::start();
    let url = postgres.url();
    import(&url, &town(), &letters("old", usize::MAX), ImportOptions::default()).await.unwrap();
    let extra = [document("extra", "Standesamt", "Trauungen finden freitags statt.", &[])];
    let second = |reembed| ImportOptions { name: Some("second".into()), reembed, ..ImportOptions::default() };
    let refused = import(&url, &extra, &letters("new", usize::MAX), second(false)).await.unwrap_err();
    assert!(refused.to_string().contains("kb import --reembed"), "{refused}");
    let report = import(&url, &extra, &letters("new", usize::MAX), second(true)).await.unwrap();
    assert_eq!((report.added, report.embedded), (1, 5));
    let base = KnowledgeBase::open(&url, Mode::Read).await.unwrap();
    assert_eq!(base.provenance().unwrap().model, "new");
}

#[tokio::test]
async fn source_is_removed_alone() {
    let postgres = Postgres::start();
    let (url, model) = (postgres.url(), letters("letters", usize::MAX));
    import(&url, &town(), &model, ImportOptions::default()).await.unwrap();
    let second = ImportOptions { name: Some("Second".into()), ..ImportOptions::default() };
    import(&url, &[document("extra", "Standesamt", "Freitags.", &["ehe"])], &model, second).await.unwrap();
    let base = KnowledgeBase::open(&url, Mode::Write).await.unwrap();
    let unknown = base.remove("third").await.unwrap_err().to_string();
    assert!(unknown.contains(r#""Second", "town""#), "{unknown}");
    assert_eq!(base.remove("town").await.unwrap().documents, 4);
    assert_eq!(ids(&base, &query("Hundesteuer Freitags", &[], true)).await, ["extra"]);
    assert_eq!(base.count().await.unwrap(), Counts { sources: 1, documents: 1, passages: 1 });
    assert_eq!(postgres.sql("SELECT count(*) FROM knowledge_category"), "1");
    base.remove("Second").await.unwrap();
    assert_eq!(base.refresh().await.unwrap(), None);
}

#[tokio::test]
async fn sources_may_have_equal_ids() {
    let postgres = Postgres::start();
    let (url, model) = (postgres.url(), letters("letters", usize::MAX));
    import(&url, &town(), &model, ImportOptions::default()).await.unwrap();
    let second = || ImportOptions { name: Some("second".into()), ..ImportOptions::default() };
    let village = [town()[0].clone(), document("pass", "Bergpass", "Der Pass ist gesperrt.", &["wege"])];
    let report = import(&url, &village, &model, second()).await.unwrap();
    assert_eq!((report.added, report.removed), (2, 0));
    let base = KnowledgeBase::open(&url, Mode::Write).await.unwrap();
    assert_eq!(base.count().await.unwrap(), Counts { sources: 2, documents: 6, passages: 6 });
    let found = base.search(&query("Hundesteuer", &[], false)).await.unwrap();
    let mut sources: Vec<_> = found.iter().map(|passage| passage.source.as_str()).collect();
    sources.sort_unstable();
    assert_eq!(sources, ["second", "town"]);
    let report = import(&url, &village[1..], &model, second()).await.unwrap();
    assert_eq!((report.changed, report.removed), (0, 1));
    assert_eq!(ids(&base, &query("Hundesteuer", &[], false)).await, ["hund"]);
    base.remove("town").await.unwrap();
    assert_eq!(ids(&base, &query("Hundesteuer Pass", &[], true)).await, ["pass"]);
}

#[tokio::test]
async fn unreadable_documents_are_embedded_as_stored() {
    let postgres = Postgres::start();
    let url = postgres.url();
    import(&url, &town(), &letters("old", usize::MAX), ImportOptions::default()).await.unwrap();
    let mut broken = town();
    broken[0]["text"] = json!(120);
    let options = ImportOptions { skip_refused: true, reembed: true, ..ImportOptions::default() };
    let report = import(&url, &broken, &letters("new", usize::MAX), options).await.unwrap();
    assert_eq!((report.documents, report.kept, report.removed, report.embedded), (3, 1, 0, 4));
    let base = KnowledgeBase::open(&url, Mode::Read).await.unwrap();
    assert_eq!(ids(&base, &query("Hundesteuern 120", &[], true)).await[0], "hund");
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_database_holds_neither_search_nor_connection() {
    let postgres = Postgres::start();
    import(&postgres.url(), &town(), &letters("letters", usize::MAX), ImportOptions::default())
        .await
        .unwrap();
    let base = Arc::new(KnowledgeBase::open(&postgres.url(), Mode::Read).await.unwrap());
    // More than there are connections.
    let all_at_once = || async {
        let search =
            |base: Arc<KnowledgeBase>| async move { base.search(&query("Hundesteuer", &[], true)).await };
        let searches: Vec<_> = (0..20).map(|_| tokio::spawn(search(Arc::clone(&base)))).collect();
        let mut answers = Vec::new();
        for search in searches {
            answers.push(search.await.unwrap());
        }
        answers
    };
    assert!(all_at_once().await.iter().all(Result::is_ok));
    postgres.freeze();
    let frozen = tokio::time::timeout(Duration::from_secs(60), all_at_once()).await;
    let frozen = frozen.expect("no search waits for ever");
    assert!(frozen.iter().all(|answer| matches!(answer, Err(Error::Timeout))), "{frozen:?}");
    let url = postgres.url();
    let opened = tokio::time::timeout(Duration::from_secs(60), KnowledgeBase::open(&url, Mode::Read));
    assert!(matches!(opened.await.expect("nor does who opens it"), Err(Error::Timeout)));
    postgres.thaw();
    let answered = all_at_once().await;
    assert!(answered.iter().all(Result::is_ok), "{answered:?}");
}

#[tokio::test]
async fn both_databases_find_the_same_words() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/knowledge");
    let (postgres, folder) = (Postgres::start(), tempfile::tempdir().unwrap());
    let file = folder.path().join("kb.sqlite").display().to_string();
    let mut bases = Vec::new();
    for url in [postgres.url(), file] {
        let base = KnowledgeBase::open(&url, Mode::Write).await.unwrap();
        let source = Source::Lines(data.join("passages.jsonl"));
        base.import(source, &letters("letters", usize::MAX), ImportOptions::default(), &IgnoreProgress)
            .await
            .unwrap();
        bases.push(base);
    }
    let questions = fs::read_to_string(data.join("questions-dev.jsonl")).unwrap();
    for line in questions.lines() {
        let question: Value = serde_json::from_str(line).unwrap();
        let asked = query(question["question"].as_str().unwrap(), &[], false);
        let (left, right) = (bases[0].search(&asked).await.unwrap(), bases[1].search(&asked).await.unwrap());
        let scored = |passages: &[bulkhead_knowledge::Passage]| {
            passages.iter().map(|passage| (passage.id.clone(), passage.score)).collect::<Vec<_>>()
        };
        assert_eq!(scored(&left), scored(&right), "{}", asked.text);
    }
}
