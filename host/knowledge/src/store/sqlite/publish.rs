//! A new state of a source, in one transaction.

use sqlx::Connection;

use super::super::rows::{NewPassage, Publication, json};
use super::Sqlite;
use crate::document::Document;
use crate::error::Error;

impl Sqlite {
    pub(crate) async fn publish(&self, publication: &Publication<'_>) -> Result<(), Error> {
        let mut connection = self.write().await?;
        let mut changes = connection.begin_with("BEGIN IMMEDIATE").await?;
        write(&mut changes, publication).await?;
        changes.commit().await?;
        // The log is folded into the file; a reader that is at work leaves that to the next one.
        sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await?;
        Ok(connection.close().await?)
    }
}

impl_publish!(sqlx::Sqlite);

async fn remove(changes: &mut Changes<'_>, publication: &Publication<'_>) -> Result<(), Error> {
    for statement in [
        "DELETE FROM knowledge_words WHERE rowid IN (
            SELECT p.number FROM knowledge_passage p JOIN knowledge_document d ON d.number = p.document
            WHERE d.source = $1 AND d.id IN (SELECT value FROM json_each($2))
                OR p.id IN (SELECT value FROM json_each($3)))",
        "DELETE FROM knowledge_passage WHERE id IN (SELECT value FROM json_each($3)) OR document IN (
            SELECT number FROM knowledge_document
            WHERE source = $1 AND id IN (SELECT value FROM json_each($2)))",
        "DELETE FROM knowledge_category WHERE document IN (
            SELECT number FROM knowledge_document
            WHERE source = $1 AND id IN (SELECT value FROM json_each($2)))",
        "DELETE FROM knowledge_document WHERE source = $1 AND id IN (SELECT value FROM json_each($2))",
    ] {
        let query = sqlx::query(statement).bind(publication.source).bind(json(&publication.vanished)?);
        let passages = statement.contains("$3");
        let query = if passages { query.bind(json(&publication.obsolete)?) } else { query };
        query.execute(&mut **changes).await?;
    }
    Ok(())
}

async fn insert(changes: &mut Changes<'_>, source: &str, passage: &NewPassage<'_>) -> Result<(), Error> {
    let (title, terms) = (passage.title_terms.join(" "), passage.terms.join(" "));
    let number: i64 = sqlx::query_scalar(
        "INSERT INTO knowledge_passage (id, document, place, text, terms, vector, word_vectors, item_vectors)
        SELECT $1, number, $3, $4, $5, $6, $8, $9 FROM knowledge_document WHERE source = $7 AND id = $2
        RETURNING number",
    )
    .bind(passage.id)
    .bind(passage.document)
    .bind(passage.place)
    .bind(passage.text)
    .bind(format!("{title}\n{terms}"))
    .bind(passage.vectors.text.as_slice())
    .bind(source)
    .bind(passage.vectors.words.as_slice())
    .bind(passage.vectors.items.as_slice())
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
