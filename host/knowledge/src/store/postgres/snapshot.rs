//! One state of the base: a repeatable read.

use std::collections::HashMap;

use super::super::file::FileIdentity;
use super::super::lease::{Lease, in_time};
use super::super::rows::{
    BaseHeader, FoundPassage, FoundPassageRow, IndexEntry, IndexEntryRow, SourceCounts, StoredDocument,
    StoredPassage, StoredPassageRow, json, known,
};
use crate::error::Error;

impl_snapshot!(PostgresSnapshot, sqlx::Postgres, begin: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", numbers: "SELECT value::bigint FROM json_array_elements_text($1::json)");

impl PostgresSnapshot {
    /// Ranks each word separately, saturating as in BM25 (normalisation 32), and weighs it by how rare it is:
    /// `ts_rank_cd` alone counts occurrences, however common a word is.
    pub(crate) async fn matches(
        &mut self,
        terms: &[(&str, f32)],
        categories: &[String],
        limit: i64,
    ) -> Result<Vec<(i64, String)>, Error> {
        let (terms, weights): (Vec<String>, Vec<f32>) =
            terms.iter().map(|(term, weight)| (format!("'{term}'"), *weight)).unzip();
        let query = sqlx::query_as(
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
        .bind(categories);
        self.all(query).await
    }
}
