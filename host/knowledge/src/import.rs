//! The import of a source as a new state of the base.

mod plan;
pub(crate) mod progress;
mod vectors;

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::document::{Document, Refused};
use crate::embedder::Embedder;
use crate::embedder::provenance::Provenance;
use crate::error::Error;
use crate::source::{Reading, Source};
use crate::store::{BaseHeader, Publication, Store, StoredDocument, StoredPassage, StoredVectors};
use crate::text::chunk::ChunkSize;
use plan::{PassageContent, Plan};
use progress::{ImportObserver, ImportProgress};

/// Members that no document has and that are named.
const NAMED: usize = 10;

/// Settings of an import.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// Name under which the base keeps the source's documents; an import replaces those of the same name.
    /// Without, its absolute path or address.
    pub name: Option<String>,
    /// Leave documents out that cannot be imported, instead of importing nothing.
    pub skip_refused: bool,
    /// Embed all passages again, those of other sources too: the way to another model.
    pub reembed: bool,
    /// How long passages are.
    pub size: ChunkSize,
}

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Name under which the base keeps the documents; empty where all sources were embedded again.
    pub source: String,
    /// Documents of the source.
    pub documents: usize,
    /// Documents that the base did not have.
    pub added: usize,
    /// Documents whose text or members changed.
    pub changed: usize,
    /// Documents that the source no longer has.
    pub removed: usize,
    /// Documents that the source may have and that cannot be read now: they stay as they were.
    pub kept: usize,
    /// Passages of the source.
    pub passages: usize,
    /// Passages that were embedded now.
    pub embedded: usize,
    /// Passages whose vectors an interrupted import had left.
    pub resumed: usize,
    /// Documents that were not imported: left out, or kept as they were.
    pub refused: Vec<Refused>,
    /// How many files of a folder are not documents, by their endings, and how many links lead to folders.
    pub passed_over: BTreeMap<String, usize>,
}

/// The base before the import.
struct PreviousState {
    header: BaseHeader,
    /// The documents of the source, without those that are kept.
    known: HashMap<String, StoredDocument>,
    /// Ids of documents of the source that stay as they are.
    kept: HashSet<String>,
    /// Passages of unchanged documents that are to be embedded again.
    others: Vec<StoredPassage>,
}

/// Imports `source` into `store`.
pub(crate) async fn import(
    store: &Store,
    source: Source,
    embedder: &dyn Embedder,
    options: &ImportOptions,
    progress: &dyn ImportObserver,
) -> Result<ImportReport, Error> {
    let reading = read(source, options).await?;
    report_unknown_members(&reading, progress);
    let provenance = embedder.provenance();
    let previous = previous(store, &reading, &provenance, options.reembed).await?;
    let size = options.size;
    let (reading, plan) = tokio::task::spawn_blocking(move || {
        let plan = Plan::new(&reading.name, &reading.documents, size);
        (reading, plan)
    })
    .await
    .map_err(|fault| Error::Task(fault.to_string()))?;

    let state = ImportProgress {
        documents: reading.documents.len(),
        passages: plan.passages.len(),
        ..ImportProgress::default()
    };
    let passages_to_embed = passages_to_embed(&previous, &reading.documents, &plan, options.reembed);
    let vectors = vectors::make(store, embedder, &provenance, &passages_to_embed, state, progress).await?;
    let mut report =
        ImportReport { embedded: vectors.embedded, resumed: vectors.resumed, ..ImportReport::default() };
    let publication = publication(&previous, &reading, &plan, &provenance, vectors.by_id, &mut report);
    let another = previous.header.provenance.as_ref() != Some(&provenance);
    if another || !publication.is_empty() {
        publish(store, &provenance, &passages_to_embed, publication).await?;
    }
    report.source = reading.name;
    report.documents = reading.documents.len();
    report.passages = plan.passages.len();
    report.kept = previous.kept.len();
    report.passed_over = reading.files_passed_over;
    report.refused = reading.refused.into_iter().chain(reading.empty).collect();
    for refused in &mut report.refused {
        refused.kept = refused.id.as_ref().is_some_and(|id| previous.kept.contains(id));
    }
    Ok(report)
}

/// Embeds all passages of `store` again, which stay as they are otherwise.
pub(crate) async fn reembed(
    store: &Store,
    embedder: &dyn Embedder,
    progress: &dyn ImportObserver,
) -> Result<ImportReport, Error> {
    let provenance = embedder.provenance();
    let mut snapshot = store.snapshot().await?;
    let (header, passages) = (snapshot.header().await?, snapshot.texts().await?);
    snapshot.end().await?;
    if passages.is_empty() {
        return Err(Error::Empty("the knowledge base".to_owned()));
    }
    let documents: HashSet<_> =
        passages.iter().map(|passage| (passage.source.as_str(), passage.document.as_str())).collect();
    let contents = passages.iter();
    let contents: Vec<(&str, PassageContent)> = contents
        .map(|passage| (passage.id.as_str(), PassageContent::new(&passage.title, &passage.text)))
        .collect();
    let (documents, count) = (documents.len(), passages.len());
    let state = ImportProgress { documents, passages: count, ..ImportProgress::default() };
    let vectors = vectors::make(store, embedder, &provenance, &contents, state, progress).await?;
    let report = ImportReport {
        documents,
        passages: count,
        embedded: vectors.embedded,
        resumed: vectors.resumed,
        ..ImportReport::default()
    };
    let mut publication = Publication::new(header.generation, "", Some(&provenance));
    publication.vectors = vectors.by_id.into_iter().collect();
    publish(store, &provenance, &contents, publication).await?;
    Ok(report)
}

/// Publishes a state. If another import was faster, what was embedded for it is kept.
async fn publish(
    store: &Store,
    provenance: &Provenance,
    embedded: &[(&str, PassageContent)],
    publication: Publication<'_>,
) -> Result<(), Error> {
    match store.publish(&publication).await {
        Err(Error::Changed) => {
            vectors::keep(store, provenance, embedded, publication).await?;
            Err(Error::Changed)
        }
        published => published,
    }
}

async fn read(source: Source, options: &ImportOptions) -> Result<Reading, Error> {
    let mut reading = source.read().await?;
    if let Some(name) = &options.name {
        reading.name.clone_from(name);
    }
    if !reading.refused.is_empty() && !options.skip_refused {
        return Err(Error::Refused(reading.refused));
    }
    if reading.documents.is_empty() {
        return Err(Error::Empty(reading.name));
    }
    Ok(reading)
}

/// Reports which members are ignored.
fn report_unknown_members(reading: &Reading, progress: &dyn ImportObserver) {
    for name in reading.members_passed_over.iter().take(NAMED) {
        progress.notice(&format!("the member {name:?} is ignored: {}", reading.members));
    }
    match reading.members_passed_over.len().saturating_sub(NAMED) {
        0 => {}
        1 => progress.notice("and 1 more member is ignored"),
        more => progress.notice(&format!("and {more} more members are ignored")),
    }
}

async fn previous(
    store: &Store,
    reading: &Reading,
    provenance: &Provenance,
    reembed: bool,
) -> Result<PreviousState, Error> {
    let mut snapshot = store.snapshot().await?;
    let header = snapshot.header().await?;
    if let Some(recorded) =
        header.provenance.as_ref().filter(|recorded| !recorded.makes_same_vectors(provenance) && !reembed)
    {
        let (recorded, loaded) = (Box::new(recorded.clone()), Box::new(provenance.clone()));
        return Err(Error::Provenance { recorded, loaded });
    }
    let mut known = snapshot.known(&reading.name).await?;
    let kept = reading.unread(known.keys());
    known.retain(|id, _| !kept.contains(id));
    let mut others = if reembed { snapshot.texts().await? } else { Vec::new() };
    others.retain(|passage| passage.source != reading.name || kept.contains(&passage.document));
    snapshot.end().await?;
    Ok(PreviousState { header, known, kept, others })
}

/// Returns the ids and contents of the passages that need a vector.
fn passages_to_embed<'p>(
    previous: &'p PreviousState,
    documents: &[Document],
    plan: &'p Plan,
    reembed: bool,
) -> Vec<(&'p str, PassageContent)> {
    let there = previous.passages();
    let own = plan.passages.iter().filter(|passage| reembed || !there.contains(passage.id.as_str()));
    let own = own.map(|passage| {
        let title = documents.get(passage.document).map_or("", |document| document.title.as_str());
        (passage.id.as_str(), PassageContent::new(title, &passage.text))
    });
    let others = previous.others.iter();
    let others = others.map(|other| (other.id.as_str(), PassageContent::new(&other.title, &other.text)));
    own.chain(others).collect()
}

/// Computes what has to change, and counts it in `report`.
fn publication<'p>(
    previous: &'p PreviousState,
    reading: &'p Reading,
    plan: &'p Plan,
    provenance: &'p Provenance,
    mut vectors: HashMap<&'p str, StoredVectors>,
    report: &mut ImportReport,
) -> Publication<'p> {
    let mut publication = Publication::new(previous.header.generation, &reading.name, Some(provenance));
    let there = previous.passages();
    for (index, document) in reading.documents.iter().enumerate() {
        let passages = plan.of(index);
        let known = previous.known.get(&document.id);
        let same_text =
            known.is_some_and(|known| passages.iter().map(|passage| &passage.id).eq(&known.passages));
        let same_members = known.is_some_and(|known| known.is_of(document));
        match known {
            None => report.added += 1,
            Some(_) if same_text && same_members => {}
            Some(_) => report.changed += 1,
        }
        if !same_members {
            publication.documents.push(document);
        }
        for passage in passages {
            let id = passage.id.as_str();
            if there.contains(id) {
                if !same_text {
                    publication.moved.push((id, passage.place));
                }
            } else if let Some(vectors) = vectors.remove(id) {
                publication.passages.push(passage.stored(document, vectors));
            }
        }
    }
    let planned: HashSet<&str> = plan.passages.iter().map(|passage| passage.id.as_str()).collect();
    let documents: HashSet<&str> = reading.documents.iter().map(|document| document.id.as_str()).collect();
    publication.vanished =
        previous.known.keys().map(String::as_str).filter(|id| !documents.contains(id)).collect();
    publication.obsolete = there.into_iter().filter(|id| !planned.contains(id)).collect();
    publication.vectors = vectors.into_iter().collect();
    report.removed = publication.vanished.len();
    publication
}

impl PreviousState {
    /// Returns the ids of the passages that the base has of the source, without what is kept.
    fn passages(&self) -> HashSet<&str> {
        self.known.values().flat_map(|known| &known.passages).map(String::as_str).collect()
    }
}
