//! One state of the base: a repeatable read.

use std::collections::HashMap;

use sqlx::Transaction;

use super::super::{Counts, Entry, EntryRow, Found, FoundRow, Head, HeadRow, Known, Other, known};
use crate::error::Error;

pub(crate) struct PostgresSnapshot {
    transaction: Transaction<'static, sqlx::Postgres>,
}

impl PostgresSnapshot {
    pub(super) fn new(transaction: Transaction<'static, sqlx::Postgres>) -> Self {
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
        Ok(sqlx::query_as("SELECT document, name FROM knowledge_category ORDER BY document, name")
            .fetch_all(&mut *self.transaction)
            .await?)
    }

    pub(crate) async fn languages(&mut self) -> Result<Vec<(i64, String)>, Error> {
        Ok(sqlx::query_as("SELECT number, language FROM knowledge_document WHERE language IS NOT NULL")
            .fetch_all(&mut *self.transaction)
            .await?)
    }

    /// `ts_rank_cd` alone counts occurrences, however common a word is. So each word is ranked for itself,
    /// saturating as in BM25 (normalisation 32), and weighed by how rare it is.
    pub(crate) async fn matches(
        &mut self,
        terms: &[(&str, f32)],
        categories: &[String],
        limit: i64,
    ) -> Result<Vec<(i64, String)>, Error> {
        let (terms, weights): (Vec<String>, Vec<f32>) =
            terms.iter().map(|(term, weight)| (format!("'{term}'"), *weight)).unzip();
        Ok(sqlx::query_as(
            "SELECT p.number, p.terms
            FROM unnest($1::text[], $2::real[]) AS asked (term, weight)
            JOIN knowledge_passage p ON p.words @@ asked.term::tsquery
            WHERE $4::text[] = '{}'
                OR NOT EXISTS (SELECT 1 FROM knowledge_category c WHERE c.document = p.document)
                OR EXISTS (SELECT 1 FROM knowledge_category c
                    WHERE c.document = p.document AND c.name = ANY($4))
            GROUP BY p.number, p.terms
            ORDER BY sum(asked.weight * ts_rank_cd('{0.33, 0.33, 0.33, 1}', p.words, asked.term::tsquery, 32))
                DESC, p.number
            LIMIT $3",
        )
        .bind(terms)
        .bind(weights)
        .bind(limit)
        .bind(categories)
        .fetch_all(&mut *self.transaction)
        .await?)
    }

    pub(crate) async fn found(&mut self, numbers: &[i64]) -> Result<Vec<Found>, Error> {
        let rows: Vec<FoundRow> = sqlx::query_as(
            "SELECT p.number, p.id, d.id AS document, d.title, d.url, d.language, p.text, p.terms, p.vector
            FROM knowledge_passage p JOIN knowledge_document d ON d.number = p.document
            WHERE p.number = ANY($1)",
        )
        .bind(numbers)
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
            WHERE d.source = $1",
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
