//! A new state of a source, in one transaction.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::super::rows::{NewPassage, Publication};
use super::Postgres;
use crate::document::Document;
use crate::error::Error;

impl Postgres {
    pub(crate) async fn publish(&self, publication: &Publication<'_>) -> Result<(), Error> {
        let mut changes = self.writer()?.begin().await?;
        write(&mut changes, publication).await?;
        Ok(changes.commit().await?)
    }
}

impl_publish!(sqlx::Postgres);

/// Deletes documents and passages. Categories and passages go with their documents.
async fn remove(changes: &mut Changes<'_>, publication: &Publication<'_>) -> Result<(), Error> {
    sqlx::query("DELETE FROM knowledge_document WHERE source = $1 AND id = ANY($2)")
        .bind(publication.source)
        .bind(publication.vanished.as_slice())
        .execute(&mut **changes)
        .await?;
    sqlx::query("DELETE FROM knowledge_passage WHERE id = ANY($1)")
        .bind(publication.obsolete.as_slice())
        .execute(&mut **changes)
        .await?;
    Ok(())
}

async fn insert(changes: &mut Changes<'_>, source: &str, passage: &NewPassage<'_>) -> Result<(), Error> {
    let (title, terms) = (passage.title_terms.join(" "), passage.terms.join(" "));
    let inserted = sqlx::query(
        "INSERT INTO knowledge_passage (id, document, place, text, terms, words, vector, word_vectors, item_vectors)
        SELECT $1, number, $3, $4, $5, $6::text::tsvector, $7, $9, $10 FROM knowledge_document
        WHERE source = $8 AND id = $2",
    )
    .bind(passage.id)
    .bind(passage.document)
    .bind(passage.place)
    .bind(passage.text)
    .bind(format!("{title}\n{terms}"))
    .bind(tsvector(passage))
    .bind(passage.vectors.text.as_slice())
    .bind(source)
    .bind(passage.vectors.words.as_slice())
    .bind(passage.vectors.items.as_slice())
    .execute(&mut **changes)
    .await?;
    if inserted.rows_affected() == 1 { Ok(()) } else { Err(Error::Damaged("lost a document".into())) }
}

/// Returns the passage's terms with their positions, as a `tsvector` is written; terms are letters and digits.
fn tsvector(passage: &NewPassage<'_>) -> String {
    let mut positions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let titles = passage.title_terms.iter().map(|term| (term, "A"));
    let terms = passage.terms.iter().map(|term| (term, ""));
    for (position, (term, weight)) in titles.chain(terms).enumerate() {
        positions.entry(term).or_default().push(format!("{}{weight}", position + 1));
    }
    let mut written = String::new();
    for (term, positions) in positions {
        let _ = write!(written, "'{term}':{} ", positions.join(","));
    }
    written
}
