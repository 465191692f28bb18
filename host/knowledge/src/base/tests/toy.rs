//! Fixtures: a base, documents and a toy model.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    Embedder, Embedding, Error, ImportObserver, ImportOptions, ImportProgress, ImportReport, KnowledgeBase,
    Mode, Provenance, Query, Source, TokenVectors,
};

pub(super) const DIMS: usize = 32;

/// Counts letters: texts with the same words are alike. Its weights are named by what follows the last `/` of the model.
/// Counts and limits passages, not their items, whose texts are a title or begin with one and a colon.
pub(super) struct Toy {
    pub model: &'static str,
    pub embedded: AtomicUsize,
    pub left: usize,
    /// Whether it makes vectors of words too.
    pub word_by_word: bool,
}

impl Toy {
    pub(super) fn new(model: &'static str) -> Self {
        Self { model, embedded: AtomicUsize::new(0), left: usize::MAX, word_by_word: false }
    }

    pub(super) fn count(&self) -> usize {
        self.embedded.load(Ordering::Relaxed)
    }
}

pub(super) fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.1; DIMS];
    for byte in text.to_lowercase().bytes() {
        vector[usize::from(byte) % DIMS] += 1.0;
    }
    vector
}

/// Returns a one-hot vector a word, whatever surrounds its letters: equal words have equal vectors. Longer words
/// weigh more.
pub(super) fn tokens(text: &str) -> TokenVectors {
    const DIMS: usize = 101;
    let words: Vec<String> = text
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let vector = |word: &String| {
        let index = word.bytes().fold(0_usize, |sum, byte| sum * 31 % 7919 + usize::from(byte)) % DIMS;
        (0..DIMS).map(move |at| if at == index { 1.0 } else { 0.0 })
    };
    TokenVectors {
        vectors: words.iter().flat_map(vector).collect(),
        dims: DIMS,
        importance: words.iter().map(|word| word.len() as f32).collect(),
    }
}

impl Embedder for Toy {
    fn provenance(&self) -> Provenance {
        Provenance {
            model: self.model.into(),
            weights_sha256: format!("5e1f-{}", self.model.rsplit('/').next().unwrap()),
            dtype: "float32".into(),
            prompt: Some("passage: ".into()),
            dims: DIMS,
            late_interaction: self.word_by_word.then(|| "a11ce".into()),
        }
    }

    fn embed<'a>(&'a self, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<Embedding>, String>> {
        Box::pin(async move {
            let is_passage = |text: &&String| text.contains(['.', '\n']) && !text.contains(": ");
            let passages = texts.iter().filter(is_passage).count();
            let before = self.embedded.fetch_add(passages, Ordering::Relaxed);
            if before + passages > self.left {
                return Err("the power went out".into());
            }
            let tokens = |text: &str| self.word_by_word.then(|| tokens(text));
            let embedding = |text: &String| Embedding { vector: vector(text), tokens: tokens(text) };
            Ok(texts.iter().map(embedding).collect())
        })
    }
}

/// Keeps all states.
#[derive(Default)]
pub(super) struct RecordedProgress(pub Mutex<Vec<ImportProgress>>, pub Mutex<Vec<String>>);

impl ImportObserver for RecordedProgress {
    fn update(&self, state: ImportProgress) {
        self.0.lock().unwrap().push(state);
    }

    fn notice(&self, notice: &str) {
        self.1.lock().unwrap().push(notice.to_owned());
    }
}

/// A folder for a base and its source.
pub(super) struct Fixture {
    folder: TempDir,
}

impl Fixture {
    pub(super) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(super) fn base(&self) -> String {
        self.folder.path().join("kb.sqlite").display().to_string()
    }

    pub(super) async fn open(&self) -> KnowledgeBase {
        KnowledgeBase::open(&self.base(), Mode::Write).await.unwrap()
    }

    pub(super) fn lines(&self, documents: &[Value]) -> PathBuf {
        let path = self.folder.path().join("kb.jsonl");
        write(&path, documents);
        path
    }

    pub(super) async fn import(
        &self,
        documents: &[Value],
        model: &Toy,
        options: ImportOptions,
    ) -> Result<ImportReport, Error> {
        let base = self.open().await;
        base.import(Source::Lines(self.lines(documents)), model, options, &RecordedProgress::default()).await
    }
}

pub(super) fn write(path: &Path, documents: &[Value]) {
    let lines: Vec<_> = documents.iter().map(Value::to_string).collect();
    fs::write(path, lines.join("\n")).unwrap();
}

pub(super) fn document(id: &str, title: &str, text: &str) -> Value {
    json!({ "id": id, "title": title, "text": text, "language": "de" })
}

pub(super) fn town() -> Vec<Value> {
    vec![
        document(
            "hund",
            "Hundesteuer",
            "Die Hundesteuer beträgt 120 Euro im Jahr. Hunde sind binnen zwei Wochen anzumelden.",
        ),
        document(
            "park",
            "Bewohnerparkausweis",
            "Der Parkausweis für Bewohner kostet 30 Euro und gilt zwei Jahre.",
        ),
        document(
            "pass",
            "Reisepass",
            "Ein Reisepass kostet 70 Euro. Bringen Sie ein biometrisches Foto mit.",
        ),
        document("sperr", "Sperrmüll", "Sperrmüll wird nach Anmeldung abgeholt; Termine gibt es online."),
    ]
}

pub(super) fn words(text: &str) -> Query {
    Query { text: text.into(), limit: 5, ..Query::default() }
}

pub(super) fn both(text: &str) -> Query {
    Query { embedding: Some(vector(text).into()), ..words(text) }
}

pub(super) async fn ids(base: &KnowledgeBase, query: &Query) -> Vec<String> {
    base.search(query).await.unwrap().into_iter().map(|passage| passage.document).collect()
}
