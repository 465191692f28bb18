//! One state of the base: a read transaction.

use std::collections::HashMap;

use sqlx::Transaction;

use super::super::{Counts, Entry, EntryRow, Found, FoundRow, Head, HeadRow, Known, Other, known};
use super::json;
use crate::error::Error;

pub(crate) struct SqliteSnapshot {
    transaction: Transaction<'static, sqlx::Sqlite>,
}

impl SqliteSnapshot {
    pub(super) fn new(transaction: Transaction<'static, sqlx::Sqlite>) -> Self {
        Self { transaction }
    }

    pub(crate) async fn head(&mut self) -> Result<Head, Error> {
        let row: HeadRow = sqlx::query_as(
            "SELECT format, generation, model, weights_sha256, dtype, prompt, dims FROM knowledge_base",
        )
        .fetch_one(&mut *self.transaction)
        .await?;
        Head::from_row(row)
    }

    pub(crate) async fn counts(&mut self) -> Result<Counts, Error> {
        let (sources, documents, passages): (i64, i64, i64) = sqlx::query_as(
            "SELECT (SELECT count(DISTINCT source) FROM knowledge_document),
                (SELECT count(*) FROM knowledge_document), (SELECT count(*) FROM knowledge_passage)",
        )
        .fetch_one(&mut *self.transaction)
        .await?;
        Ok(Counts {
            sources: sources.cast_unsigned(),
            documents: documents.cast_unsigned(),
            passages: passages.cast_unsigned(),
        })
    }

    pub(crate) async fn entries(&mut self) -> Result<Vec<Entry>, Error> {
        let sql = "SELECT number, document, terms, vector FROM knowledge_passage ORDER BY number";
        let rows: Vec<EntryRow> = sqlx::query_as(sql).fetch_all(&mut *self.transaction).await?;
        Ok(rows.into_iter().map(Entry::from).collect())
    }

    pub(crate) async fn categories(&mut self) -> Result<Vec<(i64, String)>, Error> {
        Ok(sqlx::query_as("SELECT document, name FROM knowledge_category")
            .fetch_all(&mut *self.transaction)
            .await?)
    }

    pub(crate) async fn languages(&mut self) -> Result<Vec<(i64, String)>, Error> {
        Ok(sqlx::query_as("SELECT number, language FROM knowledge_document WHERE language IS NOT NULL")
            .fetch_all(&mut *self.transaction)
            .await?)
    }

    /// Terms are letters and digits: quoted, none of them is query syntax. FTS5 weighs them itself.
    pub(crate) async fn matches(
        &mut self,
        terms: &[(&str, f32)],
        categories: &[String],
        limit: i64,
    ) -> Result<Vec<(i64, String)>, Error> {
        let query = terms.iter().map(|(term, _)| format!("\"{term}\"")).collect::<Vec<_>>().join(" OR ");
        let sql = if categories.is_empty() {
            "SELECT p.number, p.terms FROM (
                SELECT rowid FROM knowledge_words WHERE knowledge_words MATCH $1 ORDER BY rank LIMIT $2) w
            JOIN knowledge_passage p ON p.number = w.rowid"
        } else {
            "SELECT p.number, p.terms FROM (
                SELECT rowid FROM knowledge_words WHERE knowledge_words MATCH $1 AND EXISTS (
                SELECT 1 FROM knowledge_passage p WHERE p.number = knowledge_words.rowid AND (
                    NOT EXISTS (SELECT 1 FROM knowledge_category c WHERE c.document = p.document)
                    OR EXISTS (SELECT 1 FROM knowledge_category c WHERE c.document = p.document
                        AND c.name IN (SELECT value FROM json_each($3)))))
                ORDER BY rank LIMIT $2) w
            JOIN knowledge_passage p ON p.number = w.rowid"
        };
        let mut query = sqlx::query_as(sql).bind(query).bind(limit);
        if !categories.is_empty() {
            query = query.bind(json(categories)?);
        }
        Ok(query.fetch_all(&mut *self.transaction).await?)
    }

    pub(crate) async fn found(&mut self, numbers: &[i64]) -> Result<Vec<Found>, Error> {
        let rows: Vec<FoundRow> = sqlx::query_as(
            "SELECT p.number, p.id, d.id AS document, d.title, d.url, d.language, p.text, p.terms, p.vector
            FROM knowledge_passage p JOIN knowledge_document d ON d.number = p.document
            WHERE p.number IN (SELECT value FROM json_each($1))",
        )
        .bind(json(numbers)?)
        .fetch_all(&mut *self.transaction)
        .await?;
        Ok(rows.into_iter().map(Found::from).collect())
    }

    pub(crate) async fn known(&mut self, source: &str) -> Result<HashMap<String, Known>, Error> {
        let documents =
            sqlx::query_as("SELECT id, title, url, language FROM knowledge_document WHERE source = $1")
                .bind(source)
                .fetch_all(&mut *self.transaction)
                .await?;
        let categories = sqlx::query_as(
            "SELECT d.id, c.name FROM knowledge_category c JOIN knowledge_document d ON d.number = c.document
            WHERE d.source = $1 ORDER BY d.number, c.name",
        )
        .bind(source)
        .fetch_all(&mut *self.transaction)
        .await?;
        let passages = sqlx::query_as(
            "SELECT d.id, p.id FROM knowledge_passage p JOIN knowledge_document d ON d.number = p.document
            WHERE d.source = $1 ORDER BY d.number, p.place",
        )
        .bind(source)
        .fetch_all(&mut *self.transaction)
        .await?;
        Ok(known(documents, categories, passages))
    }

    pub(crate) async fn taken(&mut self, source: &str) -> Result<HashMap<String, String>, Error> {
        let rows: Vec<(String, String)> =
            sqlx::query_as("SELECT id, source FROM knowledge_document WHERE source <> $1")
                .bind(source)
                .fetch_all(&mut *self.transaction)
                .await?;
        Ok(rows.into_iter().collect())
    }

    pub(crate) async fn others(&mut self, source: &str) -> Result<Vec<Other>, Error> {
        let rows: Vec<(String, String, String)> = sqlx::query_as(
            "SELECT p.id, d.title, p.text
            FROM knowledge_passage p JOIN knowledge_document d ON d.number = p.document WHERE d.source <> $1",
        )
        .bind(source)
        .fetch_all(&mut *self.transaction)
        .await?;
        Ok(rows.into_iter().map(Other::from).collect())
    }
}
