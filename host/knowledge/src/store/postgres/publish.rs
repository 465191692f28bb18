//! A new state of a source, in one transaction.

use std::collections::BTreeMap;
use std::fmt::Write;

use sqlx::Transaction;

use super::super::{New, Publication};
use super::Postgres;
use crate::document::Document;
use crate::error::Error;

type Changes<'t> = Transaction<'t, sqlx::Postgres>;

impl Postgres {
    pub(crate) async fn publish(&self, publication: &Publication<'_>) -> Result<(), Error> {
        let mut changes = self.writer()?.begin().await?;
        let provenance = publication.provenance;
        // The row's lock makes another import wait, and then find another generation.
        let raised = sqlx::query(
            "UPDATE knowledge_base SET generation = generation + 1,
                model = $2, weights_sha256 = $3, dtype = $4, prompt = $5, dims = $6
            WHERE generation = $1",
        )
        .bind(publication.generation)
        .bind(&provenance.model)
        .bind(&provenance.weights_sha256)
        .bind(&provenance.dtype)
        .bind(&provenance.prompt)
        .bind(i64::try_from(provenance.dims).unwrap_or(i64::MAX))
        .execute(&mut *changes)
        .await?;
        if raised.rows_affected() != 1 {
            return Err(Error::Changed);
        }
        // Categories and passages go with their documents.
        sqlx::query("DELETE FROM knowledge_document WHERE id = ANY($1)")
            .bind(&publication.vanished)
            .execute(&mut *changes)
            .await?;
        sqlx::query("DELETE FROM knowledge_passage WHERE id = ANY($1)")
            .bind(&publication.obsolete)
            .execute(&mut *changes)
            .await?;
        for document in &publication.documents {
            put(&mut changes, publication.source, document).await?;
        }
        for passage in &publication.passages {
            insert(&mut changes, passage).await?;
        }
        for (id, place) in &publication.moved {
            sqlx::query("UPDATE knowledge_passage SET place = $2 WHERE id = $1")
                .bind(*id)
                .bind(*place)
                .execute(&mut *changes)
                .await?;
        }
        for (id, vector) in &publication.vectors {
            sqlx::query("UPDATE knowledge_passage SET vector = $2 WHERE id = $1")
                .bind(*id)
                .bind(vector.as_slice())
                .execute(&mut *changes)
                .await?;
        }
        sqlx::query("DELETE FROM knowledge_staged").execute(&mut *changes).await?;
        Ok(changes.commit().await?)
    }
}

async fn put(changes: &mut Changes<'_>, source: &str, document: &Document) -> Result<(), Error> {
    let number: i64 = sqlx::query_scalar(
        "INSERT INTO knowledge_document (id, source, title, url, language) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (id) DO UPDATE SET
            source = excluded.source, title = excluded.title, url = excluded.url, language = excluded.language
        RETURNING number",
    )
    .bind(&document.id)
    .bind(source)
    .bind(&document.title)
    .bind(&document.url)
    .bind(&document.language)
    .fetch_one(&mut **changes)
    .await?;
    sqlx::query("DELETE FROM knowledge_category WHERE document = $1")
        .bind(number)
        .execute(&mut **changes)
        .await?;
    sqlx::query("INSERT INTO knowledge_category (document, name) SELECT $1, * FROM unnest($2::text[])")
        .bind(number)
        .bind(&document.categories)
        .execute(&mut **changes)
        .await?;
    Ok(())
}

async fn insert(changes: &mut Changes<'_>, passage: &New<'_>) -> Result<(), Error> {
    let (title, terms) = (passage.title_terms.join(" "), passage.terms.join(" "));
    let inserted = sqlx::query(
        "INSERT INTO knowledge_passage (id, document, place, text, terms, words, vector)
        SELECT $1, number, $3, $4, $5, $6::text::tsvector, $7 FROM knowledge_document WHERE id = $2",
    )
    .bind(passage.id)
    .bind(passage.document)
    .bind(passage.place)
    .bind(passage.text)
    .bind(format!("{title}\n{terms}"))
    .bind(tsvector(passage))
    .bind(passage.vector.as_slice())
    .execute(&mut **changes)
    .await?;
    if inserted.rows_affected() == 1 { Ok(()) } else { Err(Error::Damaged("lost a document".into())) }
}

/// The passage's terms with their positions, as a `tsvector` is written; terms are letters and digits.
fn tsvector(passage: &New<'_>) -> String {
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
