//! A new state of a source, in one transaction.

use sqlx::{Connection, Transaction};

use super::super::{New, Publication};
use super::{Sqlite, json};
use crate::document::Document;
use crate::error::Error;

type Changes<'t> = Transaction<'t, sqlx::Sqlite>;

impl Sqlite {
    pub(crate) async fn publish(&self, publication: &Publication<'_>) -> Result<(), Error> {
        let mut connection = self.write().await?;
        let mut changes = connection.begin_with("BEGIN IMMEDIATE").await?;
        let provenance = publication.provenance;
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
        remove(&mut changes, &publication.vanished, &publication.obsolete).await?;
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
        changes.commit().await?;
        // The log is folded into the file; a reader that is at work leaves that to the next one.
        sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await?;
        Ok(connection.close().await?)
    }
}

async fn remove(changes: &mut Changes<'_>, vanished: &[&str], obsolete: &[&str]) -> Result<(), Error> {
    for statement in [
        "DELETE FROM knowledge_words WHERE rowid IN (
            SELECT p.number FROM knowledge_passage p JOIN knowledge_document d ON d.number = p.document
            WHERE d.id IN (SELECT value FROM json_each($1)) OR p.id IN (SELECT value FROM json_each($2)))",
        "DELETE FROM knowledge_passage WHERE id IN (SELECT value FROM json_each($2)) OR document IN (
            SELECT number FROM knowledge_document WHERE id IN (SELECT value FROM json_each($1)))",
        "DELETE FROM knowledge_category WHERE document IN (
            SELECT number FROM knowledge_document WHERE id IN (SELECT value FROM json_each($1)))",
        "DELETE FROM knowledge_document WHERE id IN (SELECT value FROM json_each($1))",
    ] {
        let query = sqlx::query(statement).bind(json(vanished)?);
        let query = if statement.contains("$2") { query.bind(json(obsolete)?) } else { query };
        query.execute(&mut **changes).await?;
    }
    Ok(())
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
    for category in &document.categories {
        sqlx::query("INSERT INTO knowledge_category (document, name) VALUES ($1, $2)")
            .bind(number)
            .bind(category)
            .execute(&mut **changes)
            .await?;
    }
    Ok(())
}

async fn insert(changes: &mut Changes<'_>, passage: &New<'_>) -> Result<(), Error> {
    let (title, terms) = (passage.title_terms.join(" "), passage.terms.join(" "));
    let number: i64 = sqlx::query_scalar(
        "INSERT INTO knowledge_passage (id, document, place, text, terms, vector)
        SELECT $1, number, $3, $4, $5, $6 FROM knowledge_document WHERE id = $2
        RETURNING number",
    )
    .bind(passage.id)
    .bind(passage.document)
    .bind(passage.place)
    .bind(passage.text)
    .bind(format!("{title}\n{terms}"))
    .bind(passage.vector.as_slice())
    .fetch_one(&mut **changes)
    .await?;
    sqlx::query("INSERT INTO knowledge_words (rowid, title, text) VALUES ($1, $2, $3)")
        .bind(number)
        .bind(title)
        .bind(terms)
        .execute(&mut **changes)
        .await?;
    Ok(())
}
