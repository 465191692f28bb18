//! Vectors of passages: taken from an interrupted import, or embedded and staged.

use std::collections::HashMap;
use std::time::Instant;

use super::plan::PassageContent;
use super::progress::{ImportObserver, ImportProgress};
use crate::embedder::provenance::Provenance;
use crate::embedder::{Embedder, Embedding};
use crate::error::Error;
use crate::index::{direction, encode};
use crate::search::late_interaction;
use crate::store::{Publication, Store, StoredVectors};
use crate::text::items;

/// Passages that are embedded at once, and staged together.
const BATCH: usize = 64;
/// Staged vectors that are looked for at once.
const LOOKUP: usize = 500;

/// Vectors by the passages' ids.
pub(super) struct PassageVectors<'w> {
    pub by_id: HashMap<&'w str, StoredVectors>,
    /// How many were embedded now.
    pub embedded: usize,
    /// How many were staged already.
    pub resumed: usize,
}

/// Makes the vectors of each passage to embed, given by its id and the texts that are embedded for it.
pub(super) async fn make<'w>(
    store: &Store,
    embedder: &dyn Embedder,
    provenance: &Provenance,
    to_embed: &'w [(&'w str, PassageContent)],
    mut state: ImportProgress,
    progress: &dyn ImportObserver,
) -> Result<PassageVectors<'w>, Error> {
    let keyed: Vec<(&str, String, &PassageContent)> =
        to_embed.iter().map(|(id, content)| (*id, content.key(provenance), content)).collect();
    let mut by_key: HashMap<String, StoredVectors> = HashMap::new();
    for part in keyed.chunks(LOOKUP) {
        let keys: Vec<&str> = part.iter().map(|(_, key, _)| key.as_str()).collect();
        by_key.extend(store.staged(&keys).await?);
    }
    let resumed = by_key.len();
    let mut missing: HashMap<&str, &PassageContent> = HashMap::new();
    missing.extend(keyed.iter().map(|(_, key, content)| (key.as_str(), *content)));
    missing.retain(|key, _| !by_key.contains_key(*key));
    let mut missing: Vec<_> = missing.into_iter().collect();
    // Texts of one length together waste the least in a batch.
    missing.sort_unstable_by_key(|(key, content)| (content.passage.len(), *key));
    state.missing = missing.len();
    progress.update(state);

    let began = Instant::now();
    for batch in missing.chunks(BATCH) {
        let vectors = embed(embedder, provenance, batch).await?;
        store.stage(&vectors).await?;
        state.embedded += vectors.len();
        state.per_second = state.embedded as f64 / began.elapsed().as_secs_f64().max(1e-9);
        progress.update(state);
        by_key.extend(vectors.into_iter().map(|(key, vectors)| (key.to_owned(), vectors)));
    }
    let by_id = keyed.iter().filter_map(|(id, key, _)| Some((*id, by_key.get(key)?.clone()))).collect();
    Ok(PassageVectors { by_id, embedded: state.embedded, resumed })
}

/// Stages the vectors of a publication again after another import was faster: its transaction deleted all staged
/// vectors.
pub(super) async fn keep(
    store: &Store,
    provenance: &Provenance,
    to_embed: &[(&str, PassageContent)],
    publication: Publication<'_>,
) -> Result<(), Error> {
    let new = publication.passages.into_iter().map(|passage| (passage.id, passage.vectors));
    let mut by_id: HashMap<&str, StoredVectors> = new.chain(publication.vectors).collect();
    for batch in to_embed.chunks(BATCH) {
        let keyed =
            batch.iter().filter_map(|(id, content)| Some((content.key(provenance), by_id.remove(id)?)));
        let keyed: Vec<(String, StoredVectors)> = keyed.collect();
        let vectors: Vec<_> = keyed.iter().map(|(key, vectors)| (key.as_str(), vectors.clone())).collect();
        store.stage(&vectors).await?;
    }
    Ok(())
}

/// Embeds contents and returns their keys with the vectors.
async fn embed<'k>(
    embedder: &dyn Embedder,
    provenance: &Provenance,
    batch: &[(&'k str, &PassageContent)],
) -> Result<Vec<(&'k str, StoredVectors)>, Error> {
    let passages = batch.iter().map(|(_, content)| content.passage.clone());
    let items = batch.iter().flat_map(|(_, content)| &content.items).map(|item| item.content.clone());
    let texts: Vec<String> = passages.chain(items).collect();
    let expected = texts.len();
    let mut embeddings = embedder.embed(texts).await.map_err(Error::Embedding)?;
    if embeddings.len() != expected {
        let vectors = embeddings.len();
        return Err(Error::Embedding(format!("the model gave {vectors} vectors for {expected} texts")));
    }
    let mut of_items = embeddings.split_off(batch.len()).into_iter();
    let checked = |vector: &[f32]| direction(vector).filter(|vector| vector.len() == provenance.dims);
    let encoded = batch.iter().zip(&embeddings).map(|((key, content), Embedding { vector, tokens })| {
        let text = encode(&checked(vector)?);
        let words = tokens.as_ref().map(late_interaction::encode).unwrap_or_default();
        let items: Option<Vec<_>> =
            content.items.iter().map(|item| Some((item, checked(&of_items.next()?.vector)?))).collect();
        Some((*key, StoredVectors { text, words, items: items::encode(items?) }))
    });
    let encoded: Option<Vec<_>> = encoded.collect();
    encoded.ok_or_else(|| {
        Error::Embedding("the model gave a vector of another length, or one that is not finite".into())
    })
}
